"""From terms with plates to factors over single variables, once data is known."""

from collections.abc import Callable, Iterator
from itertools import accumulate
from math import inf, lgamma, prod
from typing import Any

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.evaluate import Array, Evaluator
from dpc.dsl.graph.forms import both, compare, entry, index_of, pair
from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import BOOL, REAL, Type
from dpc.dsl.record import Record

from .slots import Expander, NotTabular, Slot, Slotter

# ---- log p(x) = sum over terms of term(its slots): each a table over few finite variables
#
# Plates stay symbolic: a term has one table for every place of its binders.


class FiniteTerm(Record):
    """Of the node `name`: a log potential, or a law taken at `value`, whose slot is `child`."""

    name: str
    binders: tuple[c.Bind, ...]
    where: c.Core | None
    body: c.Core | c.Law
    value: c.Core | None
    slots: tuple[Slot, ...]
    child: int | None = None

    @property
    def axes(self) -> tuple[c.Bind, ...]:
        return (*self.binders, *(slot.bind for slot in self.slots))

    def table(self, evaluator: Evaluator) -> Array:
        """For every place of its binders and every value of its slots."""
        return evaluator.table(self.body, self.value, self.where, self.axes)

    @property
    def is_shared(self) -> bool:
        """Whether one table serves all places of the binders: it does not depend on time."""
        own = {bind.name for bind in self.binders}
        parts = [*c.walk(self.body), *(() if self.value is None else c.walk(self.value))]
        mentioned = {part.name for part in parts if isinstance(part, c.Var)}
        return bool(self.slots) and not own & mentioned


class TermGroup(Record):
    """Factors of one shape: row n of `scopes` are the variables that table n is about, as numbers.
    `places` are the rows of the term's table, flattened over its binders, that the group takes;
    `diagonal` is the group's axis of each slot, when two slots can be one variable.
    """

    scopes: Array
    places: Array
    diagonal: tuple[int, ...]


class Tabulator:
    """Finds the terms of a graph in which `finite` nodes are summed over, all else given, and what
    variables their tables are about. Elements are numbered in the order of the file.
    """

    def __init__(self, graph: Graph, finite: tuple[Node, ...], evaluator: Evaluator):
        self.graph = graph
        self.finite = {node.name: node for node in finite}
        self.evaluator, self.sizes = evaluator, evaluator.sizes
        self.expander = Expander(graph, frozenset(self.finite))
        self.shapes = {n.name: tuple(map(self.sizes.of, n.type.shape)) for n in finite}
        counts = accumulate((prod(shape) for shape in self.shapes.values()), initial=0)
        self.starts = dict(zip(self.shapes, counts, strict=False))

    def terms(self, names: frozenset[str]) -> Iterator[FiniteTerm]:
        """The terms of these draws and factors."""
        for node in self.graph.nodes:
            if node.name in names:
                for piece in node.pieces:
                    yield from self._density_terms(node, piece)

    def values(self, node: Node) -> Iterator[FiniteTerm]:
        """A computed number as a sum of terms: the tables hold values."""
        body = node.pieces[0].body
        assert isinstance(body, c.Core)
        for part in split_sum(self.expander.expand(body, {}), self.expander.depends):
            yield self._term(node, part.binders, part.where, part.body)

    def _density_terms(self, node: Node, piece: Piece) -> Iterator[FiniteTerm]:
        if any(setting.name in ("soft", "smooth") for setting in piece.settings):
            # A table would hold the hard meaning, which is another model's.
            what = f"`{node.name}` is smoothed, and tables hold only what is not"
            raise NotTabular(f"{what}: ask without `with soft` or `with smooth`")
        binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
        where = None if piece.where is None else self.expander.expand(piece.where, {})
        if where is not None and self.expander.depends(where):
            what = f"the `where` of `{node.name}` depends on finite variables"
            raise NotTabular(f"{what}: write an `if` in its place")
        body = self.expander.expand(piece.body, {})
        if isinstance(body, c.Law):
            yield self._term(node, binders, where, body, entry(node, piece))
            if any(setting.name == "ordered" for setting in piece.settings):
                yield self._order_term(node, binders)
            return
        for part in split_sum(body, self.expander.depends):
            yield self._term(node, binders + part.binders, both(where, part.where), part.body)

    def _order_term(self, node: Node, binders: tuple[c.Bind, ...]) -> FiniteTerm:
        """K draws kept in order: log K! where they increase, impossible elsewhere."""
        *outer, last = binders
        span = last.span
        step = last.replace(name=f"{last.name}.next", low=last.low.shift(1))
        index = index_of(step)
        one = c.Const(span, index.type, 1)
        before = c.Apply(span, index.type, "subtract", pair(index, one))
        places = tuple(map(index_of, outer))
        whole, type_ = c.Ref(node.span, node.type, node.name), Type(node.type.domain)
        here, there = (c.At(node.span, type_, whole, (*places, at)) for at in (index, before))
        increasing = c.Reduce(span, BOOL, "all", (step,), None, compare("greater", here, there))
        count = len(self.sizes.places(last))
        some, none = (c.Const(span, REAL, value) for value in (lgamma(count + 1), -inf))
        body = c.If(span, REAL, increasing, some, none)
        return FiniteTerm(node.name, tuple(outer), None, body, None, ())

    def _term(
        self,
        node: Node,
        binders: tuple[c.Bind, ...],
        where: c.Core | None,
        body: c.Core | c.Law,
        value: c.Core | None = None,
    ) -> FiniteTerm:
        """The slot of the value comes first."""
        slotter = Slotter(self.finite, self.sizes)
        value = None if value is None else slotter.rewrite(value)
        child = 0 if slotter.slots else None
        body = slotter.rewrite(body)
        slots = tuple(slotter.slots.values())
        return FiniteTerm(node.name, binders, where, body, value, slots, child)

    def groups(self, term: FiniteTerm) -> list[TermGroup]:
        """The factors of a term; where `where` fails there is none."""
        lengths = [len(self.sizes.places(bind)) for bind in term.binders]
        scopes = np.stack([self._numbers(slot, term, lengths) for slot in term.slots], -1)
        places = np.arange(len(scopes))
        if term.where is not None:
            holds = self.evaluator.value(term.where, term.binders)
            holds = np.broadcast_to(holds, lengths).reshape(-1)
            scopes, places = scopes[holds], places[holds]
        return list(_by_coincidence(scopes, places)) if len(scopes) else []

    def _numbers(self, slot: Slot, term: FiniteTerm, lengths: list[int]) -> Array:
        """The number of the slot's variable at every place of the binders."""
        total = np.zeros(lengths, int)
        for index, size in zip(slot.indices, self.shapes[slot.node], strict=True):
            place = np.asarray(self.evaluator.value(index, term.binders), int)
            total = total * size + np.where(place < 0, place + size, place)
        return (total + self.starts[slot.node]).reshape(-1)


class Summand(Record):
    """`body` for every place of `binders` where `where` holds."""

    body: c.Core
    binders: tuple[c.Bind, ...] = ()
    where: c.Core | None = None


def split_sum(core: c.Core, depends: Callable[[c.Core], bool]) -> Iterator[Summand]:
    """sum of the summands = core; what does not depend on finite variables is left whole."""
    if not depends(core):
        yield Summand(core)
    elif isinstance(core, c.Reduce) and core.operator == "sum":
        for inner in split_sum(core.body, depends):
            where = both(core.where, inner.where)
            yield Summand(inner.body, core.binders + inner.binders, where)
    elif isinstance(core, c.Apply) and (linear := _linear_parts(core, depends)):
        for argument, around in linear:
            for inner in split_sum(argument, depends):
                yield inner.replace(body=around(inner.body))
    else:
        yield Summand(core)


Part = tuple[c.Core, Callable[[c.Core], c.Core]]


def _linear_parts(core: c.Apply, depends: Callable[[c.Core], bool]) -> list[Part]:
    """The arguments that the form is linear in, each with what stands around it."""
    arguments = [argument for _, argument in core.arguments]

    def with_argument(place: int) -> Part:
        def around(part: c.Core) -> c.Core:
            given = list(core.arguments)
            given[place] = (given[place][0], part)
            return core.replace(arguments=tuple(given))

        return arguments[place], around

    def negated(part: c.Core) -> c.Core:
        return c.Apply(part.span, part.type, "negate", (("x", part),))

    if core.function == "add":
        return [(argument, lambda part: part) for argument in arguments]
    if core.function == "subtract":
        return [(arguments[0], lambda part: part), (arguments[1], negated)]
    if core.function == "negate":
        return [(arguments[0], negated)]
    if core.function in ("multiply", "divide") and not depends(arguments[1]):
        return [with_argument(0)]
    if core.function == "multiply" and not depends(arguments[0]):
        return [with_argument(1)]
    return []


def _by_coincidence(scopes: Array, places: Array) -> Iterator[TermGroup]:
    """Rows in which the same slots are one variable make a group: its tables are diagonals."""
    arity = scopes.shape[1]
    same = np.argmax(scopes[:, :, None] == scopes[:, None, :], axis=2)
    if not np.any(same != np.arange(arity)):
        yield TermGroup(scopes, places, tuple(range(arity)))
        return
    for pattern in np.unique(same, axis=0):
        chosen = np.all(same == pattern, axis=1)
        firsts = sorted(set(pattern.tolist()))
        diagonal = tuple(firsts.index(first) for first in pattern.tolist())
        yield TermGroup(scopes[chosen][:, firsts], places[chosen], diagonal)


def tables_of(group: TermGroup, table: Any, binders: int, numpy: Any = np) -> Any:
    """The tables of a group, stacked, one for all stays one; slots that coincide share an axis."""
    rows = table.reshape((-1, *table.shape[binders:]))
    # Whether the group takes all rows of the table, in their order.
    is_whole = len(group.places) == len(rows) and (group.places == np.arange(len(rows))).all()
    flat = rows if len(rows) == 1 or is_whole else rows[group.places]
    if len(set(group.diagonal)) == len(group.diagonal):
        return flat
    letters = "".join(chr(ord("a") + axis) for axis in group.diagonal)
    kept = "".join(dict.fromkeys(letters))
    return numpy.einsum(f"...{letters}->...{kept}", flat)
