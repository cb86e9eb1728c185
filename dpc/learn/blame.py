"""Why data have no density, or one without bounds: the entries that are to blame, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.evaluate import Sizes
from dpc.dsl.graph.graph import Kind
from dpc.dsl.graph.passes.joined import place_name

from ..finite.ground import FiniteTerm
from .cases import CaseGroup
from .likelihood import Likelihood

Values = dict[str, Any]
Place = tuple[int, ...]


def blame(likelihood: Likelihood, params: Values) -> str:
    """Why the data have no density: the first bad entry of each draw and input, in words."""
    first = 0
    said: dict[str, str] = {}
    for group, arrays in zip(likelihood.cases.groups, likelihood.arrays, strict=True):
        teller = Teller(likelihood, params, group, first)
        tables = term_tables(likelihood, params, group, arrays)
        for name, words in (*teller.impossible(*tables), *teller.infinite()):
            said.setdefault(name, words)
        first += group.count
    return "; ".join(said.values())


def term_tables(
    likelihood: Likelihood, params: Values, group: CaseGroup, arrays: Any
) -> tuple[list[FiniteTerm], list[Any]]:
    """The terms of log p for a group of cases, with their tables by case."""
    terms: list[FiniteTerm] = []

    def tables(known: Values, sizes: Mapping[str, int]) -> list[Any]:
        """Draws that are integrated out are zero: their distributions are normal."""
        own, data, given = likelihood.known(params, known, sizes)
        blocks = likelihood._blocks(sizes).shapes if likelihood.roles.integrated else {}
        hidden = {name: jnp.zeros(shape) for name, shape in blocks.items()}
        part = likelihood.model.questions.known(own, data, {**given, **hidden})
        terms[:] = part.finite.grounded.terms
        return part.term_tables

    # NumPyro refuses what is not traced.
    run = jax.jit(lambda arrays: likelihood.map_cases(group, arrays, tables))
    found = [np.asarray(table) for table in run(arrays)]
    return terms, found if arrays.stacked else [table[None] for table in found]


class Teller:
    """Words for entries of a group whose first case has the number `first`."""

    def __init__(self, likelihood: Likelihood, params: Values, group: CaseGroup, first: int):
        self.cases, self.graph = likelihood.cases, likelihood.roles.graph
        self.params, self.group, self.first = params, group, first

    def impossible(self, terms: list[FiniteTerm], tables: list[Any]) -> Iterator[tuple[str, str]]:
        """A term over hidden finite draws is impossible where all of their values are."""
        for term, table in zip(terms, tables, strict=True):
            best = table.max(axis=tuple(range(table.ndim - len(term.slots), table.ndim)))
            bad = np.argwhere(~np.isfinite(best))
            if len(bad):
                case, *at = map(int, bad[0])
                value = f"{best[tuple(bad[0])]:g}"
                place = self._place(term, tuple(at))
                name = self._draw_of(term)
                entry, there = self._entry(name, case, place)
                words = f"`{entry}` is {value}{there}"
                if isinstance(term.body, c.Law) or name != term.name:
                    own = self._value(name, case, place)
                    under = f" under {term.body.name}" if isinstance(term.body, c.Law) else ""
                    words = f"`{entry}`{own}{there} has log density {value}{under}"
                yield name, words

    def _draw_of(self, term: FiniteTerm) -> str:
        """Where entries are missing, the density of `y` is a factor of its own, `y.density`."""
        owner = term.name.removesuffix(".density")
        return owner if owner in self.graph.by_name else term.name

    def _place(self, term: FiniteTerm, at: Place) -> Place:
        """Indices of the element that the term is about."""
        sizes = Sizes(self.group.sizes)
        found = {bind.name: sizes.places(bind)[k] for bind, k in zip(term.binders, at, strict=True)}
        if isinstance(term.value, c.At):
            known = [
                found[i.name] if isinstance(i, c.Var) else i.value
                for i in term.value.indices
                if isinstance(i, c.Var | c.Const)
            ]
            if len(known) == len(term.value.indices):
                return tuple(map(int, known))
        return tuple(found.values())

    def infinite(self) -> Iterator[tuple[str, str]]:
        """Inputs may be infinite, as a bound that is none; what is computed from them may not."""
        for node in self.graph.of_kind(Kind.INPUT):
            own = self.group.stacked.get(node.name, self.group.shared.get(node.name))
            if own is None or own.dtype.kind != "f":
                continue
            bad = np.argwhere(np.isinf(own))
            if len(bad):
                place = tuple(map(int, bad[0]))
                value, case = own[place], 0
                if node.name in self.group.stacked:
                    case, place = place[0], place[1:]
                entry, there = self._entry(node.name, case, place)
                yield node.name, f"`{entry}`{there} is {value:g}"

    def _value(self, name: str, case: int, place: Place) -> str:
        array = self.group.shared.get(name, self.params.get(name))
        if name in self.group.stacked:
            array = self.group.stacked[name][case]
        value = None if array is None else np.asarray(array)[place]
        return f" = {value:.6g}" if value is not None and value.ndim == 0 else ""

    def _entry(self, name: str, case: int, place: Place) -> tuple[str, str]:
        """The entry, and its case, as the caller knows them: joined cases stand in one array."""
        axes, joined = self.graph[name].type.shape, self.cases.joined
        if place and joined and axes and str(axes[0]) == joined:
            own = self.group.shared[place_name(joined)]
            case = int((own[: place[0] + 1] == 0).sum()) - 1
            place = (int(own[place[0]]), *place[1:])
        entry = f"{name}[{', '.join(map(str, place))}]" if place else name
        if self.cases.count == 1:
            return entry, ""
        number = self.cases.numbers[self.first + case]
        return entry, f" in case {self.cases.names[number] if self.cases.names else number + 1}"
