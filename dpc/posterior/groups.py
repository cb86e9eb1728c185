"""What belongs to a posterior besides its draws: likelihoods, predictions, prior, data."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.missing import present_name
from dpc.dsl.graph.passes.noncentered import is_noncentered
from dpc.dsl.graph.types import Dim
from dpc.inference.mcmc.container import Coordinates, container, dataset, group, has_group
from dpc.inference.mcmc.run import key_for, over_draws

from ..data.bound import Data
from ..exits import UsageError

Values = dict[str, Any]


def posterior_values(found: Any) -> Values:
    """Draws by name, from a container or a dictionary."""
    is_container = hasattr(found, "groups") and has_group(found, "posterior")
    if isinstance(found, Mapping) and not is_container:
        return dict(found)
    return {str(name): array.values for name, array in group(found, "posterior").data_vars.items()}


GROUPS = (
    *("posterior", "posterior_predictive", "log_likelihood", "sample_stats"),
    *("prior", "prior_predictive"),
)


def all_groups(
    model: Any,
    values: Values,
    data: Data,
    seed: int,
    stats: Values,
    attributes: Values,
    prior: int | bool,
    predictive: bool,
    likelihood: bool,
) -> Any:
    """`prior` may be a number of draws, True for as many as of the posterior."""
    graph: Graph = model.graph
    keys = jax.random.split(key_for("groups", seed), 3)
    hidden = model.posteriors.as_written.sites.hidden
    named = {n.name: values[n.name] for n in graph.nodes if n.name in values}
    if not hidden <= set(named):
        named |= _finite_values(model, named, data, keys[0])
    visible = {n: v for n, v in named.items() if _is_site(graph, n) and n not in hidden}
    groups: dict[str, Values] = {"posterior": named, "sample_stats": stats}
    known, program = model.functions.with_sizes(data), model.posteriors.as_written
    if predictive and not any(node.undirected for node in graph.of_kind(Kind.DRAW)):
        predicted = over_draws(partial(program.predict, known), visible, keys[2])
        groups["posterior_predictive"] = predicted
    if likelihood:
        groups["log_likelihood"] = over_draws(partial(program.log_likelihood, known), visible)
    if prior:
        chains, draws = next(iter(named.values())).shape[:2]
        count = int(chains * draws) if prior is True else prior
        groups["prior"], groups["prior_predictive"] = _prior(model, data, keys[1], count)
    inputs = {n.name: data[n.name] for n in graph.of_kind(Kind.INPUT) if "." not in n.name}
    observed = {n.name: _with_gaps(n.name, data) for n in graph.nodes if n.observed}
    dims = {node.name: dims_of(node) for node in graph.nodes}
    labels = Coordinates(dims, coords_of(graph, data.labels))
    sets = {name: dataset(groups.get(name, {}), labels) for name in GROUPS}
    sets["observed_data"] = dataset(observed, labels, ())
    sets["constant_data"] = dataset(inputs, labels, ())
    return container(sets, **attributes)


def _with_gaps(name: str, data: Data) -> Any:
    """What was observed; what is missing is not a number."""
    array = np.asarray(data[name])
    if present_name(name) not in data:
        return array
    present = np.asarray(data[present_name(name)])
    wide = present.reshape(*present.shape, *[1] * (array.ndim - present.ndim))
    return np.where(wide, array, np.nan)


def _is_site(graph: Graph, name: str) -> bool:
    """Noise of draws that are `noncentered` is none of the file's."""
    return name in graph.by_name and graph[name].kind in (Kind.DRAW, Kind.PARAMETER)


def _given(model: Any, values: Values, data: Data) -> tuple[Values, Data, Values]:
    """Parameters, data, and values of draws that are not summed over."""
    graph: Graph = model.graph
    hidden = model.posteriors.as_written.sites.hidden
    params = {n.name: values[n.name] for n in graph.of_kind(Kind.PARAMETER)}
    latent = [n.name for n in graph.of_kind(Kind.DRAW) if not n.observed and n.name not in hidden]
    return params, data, {name: values[name] for name in latent}


def recover(model: Any, values: Values, data: Data, question: str, seed: int) -> Values:
    if not model.posteriors.as_written.sites.hidden:
        raise UsageError("no finite variable was summed over: there is nothing to recover")
    answers = {
        "marginals": lambda v, key: model.marginals(*_given(model, v, data)),
        "mode": lambda v, key: model.mode(*_given(model, v, data)),
        "sample": lambda v, key: model.questions.known(*_given(model, v, data)).sample(key, None),
    }
    if question not in answers:
        raise UsageError(f"{question!r} is not one of {', '.join(answers)}")
    known = {name: value for name, value in values.items() if _is_site(model.graph, name)}
    found: Values = over_draws(answers[question], known, key_for("groups", seed))
    return found


def _finite_values(model: Any, values: Values, data: Data, key: Any) -> Values:
    """Joint draws of what was summed over, and kept nodes that depend on them."""
    sites = model.posteriors.as_written.sites
    known = {name: value for name, value in values.items() if _is_site(model.graph, name)}
    kept = [n.name for n in model.graph.of_kind(Kind.FUNCTION) if n.kept and n.name in sites.veiled]

    def one(values: Values, key: Any) -> Values:
        params, _, latent = known = _given(model, values, data)
        drawn = model.questions.known(*known).sample(key, None)
        if not kept:
            return dict(drawn)
        computed = model.evaluate(params, data, {**latent, **drawn})
        return {**drawn, **{name: computed[name] for name in kept}}

    found: Values = over_draws(one, known, key)
    return found


def _prior(model: Any, data: Data, key: Any, count: int) -> tuple[Values, Values]:
    """Draws from the prior and of data from it; parameters or factors have no prior."""
    graph: Graph = model.graph
    undirected = any(n.undirected for n in graph.of_kind(Kind.DRAW))
    if undirected or graph.of_kind(Kind.PARAMETER, Kind.FACTOR):
        return {}, {}
    sampled = model.sample(key, {}, data, n=count)
    drawn = {name: np.asarray(value)[None] for name, value in sampled.items()}
    seen = {n.name for n in graph.nodes if n.observed}
    kept = [n.name for n in graph.of_kind(Kind.FUNCTION) if n.kept]

    def computed(values: Values) -> Values:
        latent = {name: value for name, value in values.items() if name not in seen}
        known = {**model.functions.with_sizes(data), **{name: values[name] for name in seen}}
        found = model.evaluate({}, known, latent)
        return {name: found[name] for name in kept}

    latent = {name: value for name, value in drawn.items() if name not in seen}
    latent |= over_draws(computed, drawn) if kept else {}
    return latent, {name: drawn[name] for name in drawn if name in seen}


RESERVED = ("chain", "draw")


def dims_of(node: Node) -> tuple[str, ...]:
    """The names of its axes: a second one gets a number, one without a name the node's."""
    found: list[str] = []
    for place, axis in enumerate(node.type.shape):
        name = axis.name if isinstance(axis, Dim) else f"{node.name}_dim_{place}"
        count = sum(other == name or other.startswith(f"{name}_") for other in found)
        name = f"{name}_{count + 1}" if count else name
        found.append(f"{name}_" if name in RESERVED else name)
    return tuple(found)


def coords_of(graph: Graph, labels: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """The labels of every dim that has some, also under its second name."""
    known = {dim.name: labels.get(dim.name) or dim.labels for dim in graph.dims}
    found: dict[str, list[str]] = {}
    for node in graph.nodes:
        for axis, name in zip(node.type.shape, dims_of(node), strict=True):
            if isinstance(axis, Dim) and known.get(axis.name):
                found[name] = list(known[axis.name])
    return found


def centred_draws(graph: Graph) -> tuple[str, ...]:
    """Latent draws over a dim, of random scale: those that `noncentered` is for."""
    found = []
    for node in graph.of_kind(Kind.DRAW):
        scales = [s for law in node.laws for s in law.given(law.facts.location_scale[1:])]
        varies = any(graph[name].random for name in nodes_read(*scales))
        if node.plates and varies and not node.observed and not is_noncentered(node):
            found.append(node.name)
    return tuple(found)
