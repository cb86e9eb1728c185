"""What new data do not say, by case: P(z | data) and its mode, E[y] and sd[y]."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.passes.joined import join_cases, place_name
from dpc.dsl.graph.passes.parts import without_draws
from dpc.dsl.graph.passes.tables import tables_as_parameters
from dpc.dsl.graph.types import Axis
from dpc.dsl.record import Record

from ..data.errors import problem
from ..finite.discrete import KnownArrays, states_of
from ..model.given import random_ancestors
from ..show.answer import Answer
from ..show.table import Table
from .cases import Cases
from .choose import NotApplicable
from .likelihood import Likelihood
from .means import HiddenMeans, Means, why_no_mean
from .read_cases import read_cases
from .result import Learned, learned, plain

Values = dict[str, Any]
Array = np.ndarray[Any, Any]
MOST_ROWS = 40
MORE = "-o out.csv has them all"


class Predicted(Record):
    """A draw by case: jointly best states and [shape, states] of probabilities, or mean and sd."""

    axes: tuple[Axis, ...]
    states: tuple[str, ...]
    best: list[Array]
    spread: list[Array]

    def cells(self, case: int, place: tuple[int, ...]) -> list[Any]:
        """What is known of one entry: its best state and all probabilities, or mean and sd."""
        best, spread = self.best[case][place], self.spread[case][place]
        if self.states:
            return [self.states[int(best)], *map(float, spread)]
        return [float(best), float(spread)]


class Predictions(Answer, Record):
    """Draws by name; `cases` has a name for each case, `notes` say what could not be predicted."""

    draws: dict[str, Predicted]
    cases: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Predicted:
        return self.draws[name]

    def before(self) -> list[str]:
        nothing = (
            "the data leave nothing open: what they have no column for, or an empty cell, is "
            "predicted"
        )
        return [] if self.draws else [nothing]

    def after(self) -> list[str]:
        return [f"note: {note}" for note in self.notes]

    def tables(self) -> list[Table]:
        """A table for the draws of each shape: a row for each case and place."""
        shapes: dict[tuple[str, ...], list[str]] = {}
        for name, own in self.draws.items():
            shapes.setdefault(tuple(map(str, own.axes)), []).append(name)
        return [self._table(axes, names) for axes, names in shapes.items()]

    def _table(self, axes: tuple[str, ...], names: list[str]) -> Table:
        head = ["case"] if len(self.cases) > 1 else []
        head += axes
        for name in names:
            states = self.draws[name].states
            own = [f"{name}={state}" for state in states] if states else [f"{name}.sd"]
            head += [name, *own]
        return Table(tuple(head), list(self._rows(axes, names)), most=MOST_ROWS, more=MORE)

    def _rows(self, axes: tuple[str, ...], names: list[str]) -> Iterator[tuple[Any, ...]]:
        for number, case in enumerate(self.cases):
            for place in np.ndindex(np.shape(self.draws[names[0]].best[number])):
                start = [case] if len(self.cases) > 1 else []
                start += [self._label(axis, k) for axis, k in zip(axes, place, strict=True)]
                cells = [cell for name in names for cell in self.draws[name].cells(number, place)]
                yield (*start, *cells)

    def _label(self, axis: str, k: int) -> Any:
        return self.labels[axis][k] if axis in self.labels else k

    def to_dict(self) -> dict[str, Any]:
        return {
            "cases": list(self.cases),
            "draws": {name: _as_dict(found) for name, found in self.draws.items()},
            "notes": list(self.notes),
        }


class CaseLikelihoods(Answer, Record):
    """How probable each case is."""

    cases: tuple[str, ...]
    each: Array

    def tables(self) -> list[Table]:
        rows = list(zip(self.cases, self.each.tolist(), strict=True))
        return [Table(("case", "log p"), rows, most=MOST_ROWS, more=MORE)]

    def to_dict(self) -> dict[str, Any]:
        return {"cases": list(self.cases), "log_likelihood": plain(self.each)}


def _as_dict(found: Predicted) -> dict[str, Any]:
    best, spread = (list(map(plain, part)) for part in (found.best, found.spread))
    if found.states:
        return {"states": list(found.states), "best": best, "probabilities": spread}
    return {"mean": best, "sd": spread}


def predict(
    graph: Graph,
    fit: Any,
    *sources: Any,
    by: str | None = None,
    ask: Collection[str] | None = None,
    externs: Mapping[str, Callable[..., Any]] | None = None,
) -> Predictions:
    """All draws that the data do not give, or leave open in places; or those that are asked for."""
    known = learned(fit)
    graph = with_learned_tables(graph, known.params)
    verify_same_model(graph, known)
    cases = cases_for(graph, known, sources, by)
    wanted = open_draws(graph, cases, known)
    finite = {node.name for node in finite_draws(graph)}
    notes = {
        name: why
        for name in sorted(wanted - finite)
        if (why := why_no_mean(graph, name, wanted, finite))
    }
    if ask is not None:
        verify_asked(ask, wanted, notes, graph)
        wanted &= set(ask)
    likelihood = Likelihood(without(graph, wanted_means(graph, cases, known)), cases, externs)
    verify_parameters(likelihood, known.params)
    found: dict[str, Predicted] = {}
    if wanted & finite:
        found |= finite_predictions(likelihood, known.params, sorted(wanted & finite))
    for name in sorted(wanted - finite - notes.keys()):
        found[name] = mean_prediction(graph, likelihood, known.params, name)
    said = tuple(
        f"no prediction of `{name}`: {why}" for name, why in notes.items() if name in wanted
    )
    return Predictions(found, names_of(cases), cases.labels, said)


def log_likelihoods(
    graph: Graph,
    fit: Any,
    *sources: Any,
    by: str | None = None,
    externs: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[tuple[str, ...], Array]:
    """The log-likelihood of each case; raises DataError if they lack a draw of the fit."""
    known = learned(fit)
    graph = with_learned_tables(graph, known.params)
    verify_same_model(graph, known)
    cases = read_cases(graph, *sources, *([known.dims] if known.dims else []), by=by, join=False)
    for name in known.given - cases.given:
        raise problem(
            name,
            f"the data lack `{name}`, whose probability was learned",
            "add it to these data, too",
        )
    likelihood = Likelihood(without(graph, wanted_means(graph, cases, known)), cases, externs)
    verify_parameters(likelihood, known.params)
    found = np.concatenate([np.asarray(each) for each in likelihood.by_case(known.params)])
    return names_of(cases), found[np.argsort(cases.numbers)]


def names_of(cases: Cases) -> tuple[str, ...]:
    return cases.names or tuple(map(str, range(1, cases.count + 1)))


def with_learned_tables(graph: Graph, params: Values) -> Graph:
    """Tables of constants are parameters where a fit has learned them."""
    found = graph if all(name in graph.by_name for name in params) else tables_as_parameters(graph)
    for name in params:
        if name not in found.by_name:
            raise NotApplicable(
                f"the fit has values of `{name}`, which is nothing in the model: it is of another "
                "one"
            )
    return found


def verify_same_model(graph: Graph, known: Learned) -> None:
    """Raises NotApplicable for a fit whose draws, or labels and their order, are others."""
    draws = {node.name for node in graph.of_kind(Kind.DRAW)}
    for name in sorted(known.given - draws):
        raise NotApplicable(
            f"the fit was learned from `{name}`, which the model does not draw: it is of another "
            "one"
        )
    dims = {dim.name: dim for dim in graph.dims}
    for name, own in known.dims.items():
        if name not in dims:
            raise NotApplicable(
                f"the fit has a dim `{name}`, and the model has none: it is of another one"
            )
        labels, size = dims[name].labels, dims[name].size
        count = own if isinstance(own, int) else len(own)
        if labels and not isinstance(own, int) and tuple(own) != labels:
            both = f"{', '.join(own)} in the fit, and {', '.join(labels)} in the model"
            raise NotApplicable(f"the labels of `{name}` are {both}: fit this model anew")
        if size is not None and size != count:
            raise NotApplicable(
                f"`{name}` has {count} members in the fit, and {size} in the model: fit this "
                "model anew"
            )


def cases_for(graph: Graph, known: Learned, sources: tuple[Any, ...], by: str | None) -> Cases:
    """Joined where every open draw can be cut into cases again."""
    named = *sources, *([known.dims] if known.dims else [])
    cases = read_cases(graph, *named, by=by)
    if all(
        str(next(iter(graph[name].type.shape), "")) == cases.joined
        for name in open_draws(graph, cases, known)
    ):
        return cases
    return read_cases(graph, *named, by=by, join=False) if cases.joined else cases


def open_draws(graph: Graph, cases: Cases, known: Learned) -> set[str]:
    """Draws that are not parameters and that some case has no value for."""
    draws = {node.name for node in graph.of_kind(Kind.DRAW)} - known.params.keys()
    return (draws - cases.given) | {name for group in cases.groups for name in group.missing}


def wanted_means(graph: Graph, cases: Cases, known: Learned) -> set[str]:
    """Continuous draws that no data give: what nothing depends on integrates to one."""
    finite = {node.name for node in finite_draws(graph)}
    return (
        {node.name for node in graph.of_kind(Kind.DRAW)}
        - finite
        - cases.given
        - known.params.keys()
    )


def without(graph: Graph, names: set[str]) -> Graph:
    """Without these draws; raises NotApplicable if other draws depend on them."""
    gone = {node.name for node in graph.nodes if names & graph.ancestors([node.name])}
    for node in graph.nodes:
        if node.name in gone - names and node.kind in (Kind.DRAW, Kind.FACTOR):
            cause = min(names & graph.ancestors([node.name]))
            raise NotApplicable(
                f"`{node.name}` depends on `{cause}`, which the data do not give: give it, or use "
                "`dpc posterior`"
            )
    return without_draws(graph, names)


def verify_asked(
    ask: Collection[str], wanted: set[str], notes: Mapping[str, str], graph: Graph
) -> None:
    for name in ask:
        if name not in wanted:
            known = name in graph.by_name and graph[name].kind is Kind.DRAW
            hint = did_you_mean(name, sorted(wanted))
            why = (
                "the data, or the fit, give its values"
                if known
                else f"the model draws nothing of that name{hint and f'; {hint}'}"
            )
            raise NotApplicable(f"`{name}` cannot be predicted: {why}")
        if name in notes:
            raise NotApplicable(f"`{name}` cannot be predicted: {notes[name]}")


def verify_parameters(likelihood: Likelihood, params: Values) -> None:
    start = likelihood.start()
    needed = {name: np.shape(value) for name, value in start.items()}
    for name, shape in needed.items():
        if name not in params:
            raise NotApplicable(
                f"the fit has no `{name}`: it is of another model, or of other data"
            )
        if np.shape(params[name]) != shape:
            raise NotApplicable(
                f"`{name}` has shape {shape} here, and {np.shape(params[name])} in the fit"
            )
        if np.isnan(params[name]).any():
            raise NotApplicable(f"`{name}` in the fit is not a number")


# ---- finite draws


def finite_predictions(
    likelihood: Likelihood, params: Values, names: list[str]
) -> dict[str, Predicted]:
    def answers(known: Values, sizes: Mapping[str, int]) -> Any:
        own, data, given = likelihood.known(params, known, sizes)
        chances, best = (
            ask(own, data, given) for ask in (likelihood.model.marginals, likelihood.model.mode)
        )
        return {name: (best[name], chances[name]) for name in names if name in best}

    found = by_case(likelihood, answers)
    graph, cases = likelihood.roles.graph, likelihood.cases
    setting = KnownArrays({}, cases.groups[0].sizes, cases.labels)
    states = {name: states_of(graph[name], setting) for name in names}
    best, spread = ({name: [one[name][k] for one in found] for name in names} for k in (0, 1))
    return {
        name: Predicted(graph[name].type.shape, states[name], best[name], spread[name])
        for name in names
    }


# ---- other draws


def mean_prediction(graph: Graph, likelihood: Likelihood, params: Values, name: str) -> Predicted:
    """Where the data have a value it is that, with no spread."""
    moments = moments_of(graph, likelihood, name)

    def answers(known: Values, sizes: Mapping[str, int]) -> Any:
        mean, sd = moments(*likelihood.known(params, known, sizes), sizes)
        if name not in known:
            return mean, sd
        present = known[f"{name}.present"]
        return jax.numpy.where(present, known[name], mean), jax.numpy.where(present, 0.0, sd)

    found = by_case(likelihood, answers)
    return Predicted(
        graph[name].type.shape, (), [one[0] for one in found], [one[1] for one in found]
    )


def moments_of(graph: Graph, likelihood: Likelihood, name: str) -> Callable[..., tuple[Any, Any]]:
    """By the distribution where its parents are known, else summed over hidden draws."""
    hidden = {*likelihood.open, *(node.name for node in likelihood.roles.summed)}
    if not hidden & {*random_ancestors(graph, name)}:
        means = Means(graph, name, likelihood.externs)
        return lambda params, data, given, sizes: means(params, data, given)
    joined = likelihood.cases.joined
    node = (join_cases(graph, joined) if joined else graph)[name]
    return HiddenMeans(likelihood.model.graph, node, likelihood.externs)


# ---- cases


def by_case(likelihood: Likelihood, answers: Callable[..., Any]) -> list[Any]:
    """The answers for each case, in the order of the sources."""
    found = [
        one
        for group in range(len(likelihood.cases.groups))
        for one in _of_group(likelihood, group, answers)
    ]
    order = np.argsort(likelihood.cases.numbers)
    return [found[k] for k in order]


def _of_group(likelihood: Likelihood, number: int, answers: Callable[..., Any]) -> Iterator[Any]:
    cases, arrays = likelihood.cases, likelihood.arrays[number]
    group = cases.groups[number]
    found = jax.tree.map(
        np.asarray, jax.jit(lambda own: likelihood.map_cases(group, own, answers))(arrays)
    )
    if cases.joined:
        starts = np.flatnonzero(group.shared[place_name(cases.joined)] == 0)
        for place in np.split(np.arange(group.sizes[cases.joined]), starts[1:]):
            yield jax.tree.map(lambda array, place=place: array[place], found)
    elif arrays.stacked:
        for k in range(group.count):
            yield jax.tree.map(lambda array, k=k: array[k], found)
    else:
        yield found
