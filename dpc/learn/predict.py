"""What new data do not say, by case: P(z | data) and its mode, E[y] and sd[y]."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph import core as c
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.joined import join_cases, place_name
from dpc.dsl.graph.passes.moments import tilt_moment
from dpc.dsl.graph.passes.parts import compute_only, without_draws
from dpc.dsl.graph.passes.tables import tables_as_parameters
from dpc.dsl.graph.types import REAL, Axis, Dim
from dpc.dsl.library.rows import why_not
from dpc.dsl.lower.run import run_graph
from dpc.dsl.record import Record

from ..data.bind import BoundData
from ..data.errors import problem
from ..finite.discrete import states_of
from ..model.check import random_ancestors
from ..model.model import Model
from ..show.answer import Answer, AnswerTable
from .cases import Cases, first_dim, read_cases, shape_of
from .family import SPARSE_LOSSES, SparseChances
from .likelihood import Likelihood
from .result import Learned, NotApplicable, learned, plain

Values = dict[str, Any]
Array = np.ndarray[Any, Any]
Externs = Mapping[str, Callable[..., Any]]
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

    def tables(self) -> list[AnswerTable]:
        """A table for the draws of each shape: a row for each case and place."""
        shapes: dict[tuple[str, ...], list[str]] = {}
        for name, own in self.draws.items():
            shapes.setdefault(tuple(map(str, own.axes)), []).append(name)
        return [self._table(axes, names) for axes, names in shapes.items()]

    def _table(self, axes: tuple[str, ...], names: list[str]) -> AnswerTable:
        head = ["case"] if len(self.cases) > 1 else []
        head += axes
        for name in names:
            states = self.draws[name].states
            own = [f"{name}={state}" for state in states] if states else [f"{name}.sd"]
            head += [name, *own]
        rows = []
        for number, case in enumerate(self.cases):
            for place in np.ndindex(np.shape(self.draws[names[0]].best[number])):
                row: list[Any] = [case] if len(self.cases) > 1 else []
                for axis, k in zip(axes, place, strict=True):
                    row.append(self.labels[axis][k] if axis in self.labels else k)
                for name in names:
                    row += self.draws[name].cells(number, place)
                rows.append(tuple(row))
        return AnswerTable(tuple(head), rows, most=MOST_ROWS, more=MORE)

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

    def tables(self) -> list[AnswerTable]:
        rows = list(zip(self.cases, self.each.tolist(), strict=True))
        return [AnswerTable(("case", "log p"), rows, most=MOST_ROWS, more=MORE)]

    def to_dict(self) -> dict[str, Any]:
        return {"cases": list(self.cases), "log_likelihood": plain(self.each)}


def _as_dict(found: Predicted) -> dict[str, Any]:
    best, spread = (list(map(plain, part)) for part in (found.best, found.spread))
    if found.states:
        return {"states": list(found.states), "best": best, "probabilities": spread}
    return {"mean": best, "sd": spread}


def predict(
    model: Model, fit: Any, *sources: Any, by: str | None, ask: Collection[str] | None
) -> Predictions:
    """All draws that the data do not give, or leave open in places; or those that are asked for."""
    with jax.enable_x64(True):
        return _predict(model, fit, sources, by, ask)


def _predict(
    model: Model, fit: Any, sources: tuple[Any, ...], by: str | None, ask: Collection[str] | None
) -> Predictions:
    graph, known = same_model(model.graph, fit)
    cases = cases_for(graph, known, sources, by)
    wanted = open_draws(graph, cases, known)
    finite = {node.name for node in finite_draws(graph)}
    reasons = {name: why_no_mean(graph, name, wanted, finite) for name in sorted(wanted - finite)}
    notes = {name: why for name, why in reasons.items() if why}
    if ask is not None:
        verify_asked(ask, wanted, notes, graph)
        wanted &= set(ask)
    likelihood = likelihood_of(graph, cases, known, model.externs)
    found: dict[str, Predicted] = {}
    if wanted & finite:
        found |= finite_predictions(likelihood, known, sorted(wanted & finite))
    for name in sorted(wanted - finite - notes.keys()):
        found[name] = mean_prediction(graph, likelihood, known.params, name)
    said = [f"no prediction of `{name}`: {why}" for name, why in notes.items() if name in wanted]
    return Predictions(found, names_of(cases), cases.labels, tuple(said))


def log_likelihoods(
    model: Model, fit: Any, *sources: Any, by: str | None
) -> tuple[tuple[str, ...], Array]:
    """The log-likelihood of each case; raises DataError if they lack a draw of the fit."""
    with jax.enable_x64(True):
        return _log_likelihoods(model, fit, sources, by)


def _log_likelihoods(
    model: Model, fit: Any, sources: tuple[Any, ...], by: str | None
) -> tuple[tuple[str, ...], Array]:
    graph, known = same_model(model.graph, fit)
    cases = read_cases(graph, *sources, *known.as_sources, by=by, join=False)
    for name in known.given - cases.given:
        message = f"the data lack `{name}`, whose probability was learned"
        raise problem(name, message, "add it to these data, too")
    likelihood = likelihood_of(graph, cases, known, model.externs)
    found = np.concatenate([np.asarray(each) for each in likelihood.by_case(known.params)])
    return names_of(cases), found[np.argsort(cases.numbers)]


def likelihood_of(graph: Graph, cases: Cases, known: Learned, externs: Externs) -> Likelihood:
    """Without continuous draws that no data give: what nothing depends on integrates to one."""
    finite = {node.name for node in finite_draws(graph)}
    draws = {node.name for node in graph.of_kind(Kind.DRAW)}
    unseen = draws - finite - cases.given - known.params.keys()
    likelihood = Likelihood(without(graph, unseen), cases, externs)
    for name, value in likelihood.start().items():
        if name not in known.params:
            what = f"the fit has no `{name}`"
            raise NotApplicable(f"{what}: it is of another model, or of other data")
        here, there = np.shape(value), np.shape(known.params[name])
        if here != there:
            raise NotApplicable(f"`{name}` has shape {here} here, and {there} in the fit")
        if np.isnan(known.params[name]).any():
            raise NotApplicable(f"`{name}` in the fit is not a number")
    return likelihood


def names_of(cases: Cases) -> tuple[str, ...]:
    return cases.names or tuple(map(str, range(1, cases.count + 1)))


def same_model(graph: Graph, fit: Any) -> tuple[Graph, Learned]:
    """The graph with learned tables as parameters; NotApplicable for a fit of another model."""
    known = learned(fit)
    # Arrays of JAX: an index that is traced cannot look into one of NumPy.
    params = {name: jnp.asarray(value, float) for name, value in known.params.items()}
    known = known.replace(params=params)
    if not all(name in graph.by_name for name in known.params):
        graph = tables_as_parameters(graph)
    other = "it is of another one"
    for name in known.params:
        if name not in graph.by_name:
            what = f"the fit has values of `{name}`, which is nothing in the model"
            raise NotApplicable(f"{what}: {other}")
    for name in sorted(known.given - {node.name for node in graph.of_kind(Kind.DRAW)}):
        what = f"the fit was learned from `{name}`, which the model does not draw"
        raise NotApplicable(f"{what}: {other}")
    dims = {dim.name: dim for dim in graph.dims}
    for name, own in known.dims.items():
        if name not in dims:
            raise NotApplicable(f"the fit has a dim `{name}`, and the model has none: {other}")
        verify_dim(dims[name], own)
    return graph, known


def verify_dim(dim: Dim, own: Any) -> None:
    """`own` are the labels of the fit, or their number."""
    count = own if isinstance(own, int) else len(own)
    if dim.labels and not isinstance(own, int) and tuple(own) != dim.labels:
        both = f"{', '.join(own)} in the fit, and {', '.join(dim.labels)} in the model"
        raise NotApplicable(f"the labels of `{dim.name}` are {both}: fit this model anew")
    if dim.size is not None and dim.size != count:
        both = f"{count} members in the fit, and {dim.size} in the model"
        raise NotApplicable(f"`{dim.name}` has {both}: fit this model anew")


def cases_for(graph: Graph, known: Learned, sources: tuple[Any, ...], by: str | None) -> Cases:
    """Joined where every open draw can be cut into cases again."""
    named = *sources, *known.as_sources
    cases = read_cases(graph, *named, by=by)
    firsts = {first_dim(graph[name]) for name in open_draws(graph, cases, known)}
    if not cases.joined or firsts <= {cases.joined}:
        return cases
    return read_cases(graph, *named, by=by, join=False)


def open_draws(graph: Graph, cases: Cases, known: Learned) -> set[str]:
    """Draws that are not parameters and that some case has no value for."""
    draws = {node.name for node in graph.of_kind(Kind.DRAW)} - known.params.keys()
    return (draws - cases.given) | {name for group in cases.groups for name in group.missing}


def without(graph: Graph, names: set[str]) -> Graph:
    """Without these draws; raises NotApplicable if other draws depend on them."""
    for node in graph.of_kind(Kind.DRAW, Kind.FACTOR):
        causes = names & graph.ancestors([node.name])
        if causes and node.name not in names:
            what = f"`{node.name}` depends on `{min(causes)}`, which the data do not give"
            raise NotApplicable(f"{what}: give it, or use `dpc posterior`")
    return without_draws(graph, names)


def verify_asked(
    ask: Collection[str], wanted: set[str], notes: Mapping[str, str], graph: Graph
) -> None:
    for name in ask:
        why = notes.get(name, "")
        if name not in wanted:
            hint = did_you_mean(name, sorted(wanted))
            why = f"the model draws nothing of that name{hint and f'; {hint}'}"
            if name in graph.by_name and graph[name].kind is Kind.DRAW:
                why = "the data, or the fit, give its values"
        if why:
            raise NotApplicable(f"`{name}` cannot be predicted: {why}")


def finite_predictions(
    likelihood: Likelihood, known: Learned, names: list[str]
) -> dict[str, Predicted]:
    cases = likelihood.cases
    is_sparse = known.loss in SPARSE_LOSSES
    answers = sparse_answers(likelihood, known, names) if is_sparse else None
    found = by_case(likelihood, answers or exact_answers(likelihood, known.params, names))
    setting = BoundData(cases.groups[0].sizes, cases.labels, {})
    predicted = {}
    for name in names:
        node = likelihood.roles.graph[name]
        best, chances = ([one[name][k] for one in found] for k in (0, 1))
        predicted[name] = Predicted(node.type.shape, states_of(node, setting), best, chances)
    return predicted


Answers = Callable[[Values, Mapping[str, int]], Any]


def exact_answers(likelihood: Likelihood, params: Values, names: list[str]) -> Answers:
    model = likelihood.model

    def answers(known: Values, sizes: Mapping[str, int]) -> Any:
        given = likelihood.known(params, known, sizes)
        best, chances = model.mode(*given), model.marginals(*given)
        return {name: (best[name], chances[name]) for name in names if name in best}

    return answers


def sparse_answers(likelihood: Likelihood, learned: Learned, names: list[str]) -> Answers:
    """By the loss that was learned with: it gives draws one by one, not together."""
    graph = likelihood.model.graph
    for name in names:
        if open_parents := sorted(set(random_ancestors(graph, name)) & set(names)):
            what = f"`{name}` depends on `{open_parents[0]}`, which is not known either"
            raise NotApplicable(f"{what}: {learned.loss!r} predicts draws one by one, so give it")
    own = {
        name: SparseChances(graph, name, learned.loss, likelihood.externs)
        for name in names
        if any(law.facts.natural for law in graph[name].laws)
    }
    others = exact_answers(likelihood, learned.params, [n for n in names if n not in own])

    def answers(known: Values, sizes: Mapping[str, int]) -> Any:
        params, data, given = likelihood.known(learned.params, known, sizes)
        found = others(known, sizes) if len(own) < len(names) else {}
        for name, chances_of in own.items():
            chances = chances_of(params, data, given, shape_of(graph[name], sizes))
            if name in known:
                seen = jax.nn.one_hot(known[name], chances.shape[-1])
                chances = jnp.where((known[name] >= 0)[..., None], seen, chances)
            found[name] = jnp.argmax(chances, axis=-1), chances
        return found

    return answers


def mean_prediction(graph: Graph, likelihood: Likelihood, params: Values, name: str) -> Predicted:
    """Where the data have a value it is that, with an sd of zero."""
    # By the distribution where its parents are known, else summed over hidden draws.
    hidden = {*likelihood.open, *(node.name for node in likelihood.roles.summed)}
    moments: Means | HiddenMeans
    if hidden & {*random_ancestors(graph, name)}:
        joined = likelihood.cases.joined
        node = (join_cases(graph, joined) if joined else graph)[name]
        moments = HiddenMeans(likelihood.model.graph, node, likelihood.externs)
    else:
        moments = Means(graph, name, likelihood.externs)

    def answers(known: Values, sizes: Mapping[str, int]) -> Any:
        mean, sd = moments(*likelihood.known(params, known, sizes), sizes)
        if name not in known:
            return mean, sd
        present = known[f"{name}.present"]
        return jnp.where(present, known[name], mean), jnp.where(present, 0.0, sd)

    means, sds = map(list, zip(*by_case(likelihood, answers), strict=True))
    return Predicted(graph[name].type.shape, (), means, sds)


def by_case(likelihood: Likelihood, answers: Callable[..., Any]) -> list[Any]:
    """The answers for each case, in the order of the sources."""
    cases, found = likelihood.cases, []
    for group, arrays in zip(cases.groups, likelihood.arrays, strict=True):
        run = jax.jit(lambda own, group=group: likelihood.map_cases(group, own, answers))
        whole = jax.tree.map(np.asarray, run(arrays))
        cuts: list[Any] = [...]
        if cases.joined:
            starts = np.flatnonzero(group.shared[place_name(cases.joined)] == 0)
            cuts = np.split(np.arange(group.sizes[cases.joined]), starts[1:])
        elif arrays.stacked:
            cuts = list(range(group.count))
        found += [jax.tree.map(lambda array, cut=cut: array[cut], whole) for cut in cuts]
    return [found[k] for k in np.argsort(cases.numbers)]


# ---- moments of draws that are not finite


def why_no_mean(graph: Graph, name: str, hidden: set[str], finite: set[str]) -> str:
    """Why there is no mean of a draw given the finite draws it depends on; empty if there is."""
    node, parents = graph[name], random_ancestors(graph, name)
    if name in parents or any(name in group.members for group in graph.recurrences):
        return f"the entries of `{name}` depend on each other"
    for parent in parents:
        if parent in hidden - finite:
            return f"`{name}` depends on `{parent}`, which is not known either"
    if any(setting.name == "ordered" for setting in node.settings) or node.undirected:
        return f"the entries of `{name}` are not drawn one by one"
    if hidden & {*parents} and any(
        len(piece.indices) != len(node.type.shape) for piece in node.pieces
    ):
        return f"rows of `{name}` are drawn together, and depend on draws that are hidden"
    if without := [law.facts for law in node.laws if not law.facts.moments]:
        return f"no moments of {without[0].name}: {why_not(without[0], 'moments')}"
    return ""


class Means:
    """Mean and sd of the draw `name`, as a function of parameters, data and other draws."""

    def __init__(self, graph: Graph, name: str, externs: Externs):
        self.names = f"{name}.mean", f"{name}.variance"
        moments = [_moment_node(graph[name], own.rpartition(".")[2]) for own in self.names]
        self.evaluate = run_graph(compute_only(graph, moments, ()), externs)["evaluate"]

    def __call__(
        self, params: Values, data: Mapping[str, Any], values: Values, _: Mapping[str, int]
    ) -> tuple[Any, Any]:
        found = self.evaluate(params, values, dict(data))
        mean, variance = (found[name] for name in self.names)
        return mean, jnp.sqrt(variance)


def _moment_node(node: Node, moment: str) -> Node:
    """A moment of the distribution of every entry of a draw, as a computed node."""
    pieces = []
    for law, piece in zip(node.laws, node.pieces, strict=True):
        value = c.Moment(law.span, REAL.replace(shape=law.type.shape), law, moment)
        pieces.append(piece.replace(body=value, settings=()))
    place = REAL.replace(shape=node.type.shape), node.span, node.source
    return Node(f"{node.name}.{moment}", Kind.FUNCTION, *place, tuple(pieces), node.parents)


class HiddenMeans:
    """E[y] = E[E[y | z]], Var[y] = E[Var[y | z]] + Var[E[y | z]] over hidden finite draws z.

    The sums over z are derivatives of a log-partition: with s[t] f[t](z) added to the score,

        d log Z / d s[t] at s = 0  =  E[f[t](z) | case]

    for f = E[y[t] | z], and then for f = Var[y[t] | z] + (E[y[t] | z] - E[y[t]])^2, which has
    nothing to cancel. `graph` says what else a case gives, and need not have the draw itself.
    """

    def __init__(self, graph: Graph, node: Node, externs: Externs):
        self.node = node
        self.mean, self.variance = (
            Model(tilt_moment(graph, node, moment), "", externs)
            for moment in ("mean", "squared distance")
        )

    def __call__(
        self, params: Values, data: Mapping[str, Any], given: Values, sizes: Mapping[str, int]
    ) -> tuple[Any, Any]:
        shape = shape_of(self.node, sizes)

        def expected(model: Model, centre: Any) -> Any:
            def log_partition(tilt: Any) -> Any:
                name = self.node.name
                tilted = {**data, f"{name}.tilt": tilt, f"{name}.centre": centre}
                return model.log_partition(params, tilted, given)

            return jax.grad(log_partition)(jnp.zeros(shape))

        mean = expected(self.mean, jnp.zeros(shape))
        return mean, jnp.sqrt(expected(self.variance, mean))
