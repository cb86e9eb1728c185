"""Where a fit begins: near zero knows nothing of the data, so the data say where.

Hidden finite draws are assigned by k-means++ of what each emits, and the parameters are the best
for these assignments: the second half of a step of EM. Hidden normal draws are zero at first: the
other parameters are the best for that, and those that are left take the best of many powers of ten.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Bool, IndexOf
from dpc.inference.engines.tree.model import each_table
from dpc.inference.losses.fields import score as score_of_states
from dpc.inference.optimise.em import step
from dpc.inference.optimise.lbfgs import value_and_gradient
from dpc.inference.optimise.units import plain_units

from ..data.bind import BoundData
from ..finite.discrete import states_of
from .cases import CaseGroup, shape_of
from .choose import MethodChoice, halves, scaled_losses
from .clusters import assign
from .likelihood import Arrays, Likelihood
from .result import FitOptions
from .roles import find_updates, sweep

Values = dict[str, Any]
Array = np.ndarray[Any, Any]

RESTARTS = 8
"""Where finite draws are hidden: of three clusters k-means++ hits all at once in most tries."""
SWEEPS = 3
NEAR_ZERO = 0.1
"""How far starts are apart in what the data do not say."""
ASSIGNED = 0.9
"""Of the weight; the rest is for random states, or a transition that is not seen is lost for ever.
"""
POWERS = 10.0 ** np.arange(-8, 9)
WIDEST = 100
"""Numbers that one hidden draw emits up to which each is a feature; of more, their mean."""


def starts(
    likelihood: Likelihood,
    choice: MethodChoice,
    options: FitOptions,
    given: Mapping[str, Any],
    data: list[Arrays],
) -> list[Values]:
    """Unconstrained, the caller's own values first; `restarts` of them, or as many as pay."""
    nodes = likelihood.roles.unknowns
    own = {node.name for node in nodes if node.default is not None or node.name in given}
    is_hidden = choice.method == "em" and not likelihood.is_complete
    free = len(own) < len(nodes)
    count = options.restarts or (RESTARTS if is_hidden and free else 1)
    first = likelihood.start(jax.random.key(options.seed), given)
    raw = likelihood.unconstrain(first)
    found = []
    for number in range(count):
        rng = np.random.default_rng([options.seed, number])
        kept = own if number == 0 or options.restarts is None else set(given)
        if number:
            pushes = {n: NEAR_ZERO * rng.normal(size=v.shape) for n, v in raw.items()}
            raw = {n: v if n in kept else v + pushes[n] for n, v in raw.items()}
        params = likelihood.constrain(raw)
        if len(kept) < len(nodes):
            fixed = {name: params[name] for name in kept}
            params = from_data(likelihood, choice, params, rng, data) | fixed
        found.append(likelihood.unconstrain(params))
    return found


def from_data(
    likelihood: Likelihood,
    choice: MethodChoice,
    params: Values,
    rng: np.random.Generator,
    data: list[Arrays],
) -> Values:
    """The parameters as they were where the data do not say."""
    found = params
    if choice.method == "em" and not likelihood.is_complete:
        found = from_clusters(likelihood, params, rng, data)
    elif likelihood.roles.integrated and choice.loss == "likelihood":
        found = from_spread(likelihood, params, data)
    elif likelihood.is_complete and choice.method in ("newton", "lbfgs"):
        found = near_enough(likelihood, choice, params, data)
    is_finite = all(np.isfinite(value).all() for value in found.values())
    return found if is_finite else params


# ---- hidden finite draws


def from_clusters(
    likelihood: Likelihood, params: Values, rng: np.random.Generator, data: list[Arrays]
) -> Values:
    expected = None
    for share, states in (
        (ASSIGNED, assigned_states(likelihood, rng)),
        (1 - ASSIGNED, random_states(likelihood, rng)),
    ):
        found = indicators(likelihood, params, states, data)
        weighted = jax.tree.map(lambda table, share=share: share * table, found)
        expected = weighted if expected is None else jax.tree.map(jnp.add, expected, weighted)
    _, maximise = halves(likelihood.checked)
    raw = likelihood.unconstrain(params)
    for _ in range(SWEEPS):
        raw = step(maximise, data, raw, expected)
    return likelihood.constrain(raw)


def indicators(
    likelihood: Likelihood, params: Values, states: list[Values], data: list[Arrays]
) -> list[Any]:
    """What `Likelihood.expect` gives, where the states of all finite draws are known."""

    found: list[Any] = _indicator(likelihood)(params, data, states)
    return found


def _indicator(likelihood: Likelihood) -> Callable[..., Any]:
    """The gradient of the score of known states; the same function whenever it is asked for."""

    def of_case(params: Values, known: Values, sizes: Mapping[str, int], values: Values) -> Any:
        part = likelihood.model.questions.known(*likelihood.known(params, known, sizes))
        structure, chosen = part.finite.structure, part.finite.states(values)

        def score(tables: Any) -> Any:
            return score_of_states(structure, each_table(structure, tables), chosen)

        return jax.grad(score)(part.tables()[1])

    @jax.jit
    def run(params: Values, data: list[Arrays], states: list[Values]) -> list[Any]:
        own = partial(of_case, params)
        groups = zip(likelihood.cases.groups, data, states, strict=True)
        return [likelihood.map_cases(group, arrays, own, v) for group, arrays, v in groups]

    return likelihood.losses.setdefault("indicators", run)


def hidden_draws(likelihood: Likelihood) -> list[Node]:
    graph = likelihood.roles.graph
    return [*likelihood.roles.summed, *(graph[name] for name in sorted(likelihood.open))]


def count_of_states(likelihood: Likelihood, node: Node) -> int:
    cases = likelihood.cases
    return len(states_of(node, BoundData(cases.groups[0].sizes, cases.labels, {})))


def random_states(likelihood: Likelihood, rng: np.random.Generator) -> list[Values]:
    found: list[Values] = [{} for _ in likelihood.cases.groups]
    for node in hidden_draws(likelihood):
        count = count_of_states(likelihood, node)
        for own, group in zip(found, likelihood.cases.groups, strict=True):
            own[node.name] = rng.integers(0, count, _whole_shape(node, group))
    return [_as_values(likelihood, own) for own in found]


def assigned_states(likelihood: Likelihood, rng: np.random.Generator) -> list[Values]:
    groups = likelihood.cases.groups
    found: list[Values] = [{} for _ in groups]
    for node in hidden_draws(likelihood):
        count = count_of_states(likelihood, node)
        shapes = [_whole_shape(node, group) for group in groups]
        parts = [emitted(likelihood, node, group) for group in groups]
        known = [_known_states(likelihood, node, group) for group in groups]
        chosen = assign(np.concatenate(parts), np.concatenate(known), count, rng)
        cuts = np.cumsum([prod(shape) for shape in shapes])[:-1]
        for own, shape, part in zip(found, shapes, np.split(chosen, cuts), strict=True):
            own[node.name] = part.reshape(shape)
    return [_as_values(likelihood, own) for own in found]


def _as_values(likelihood: Likelihood, states: Values) -> Values:
    graph = likelihood.roles.graph
    return {name: own + int(graph[name].type.bounds[0]) for name, own in states.items()}


def _known_states(likelihood: Likelihood, node: Node, group: CaseGroup) -> Array:
    """Where some entries are given: their states; -1 for what is hidden."""
    shape = _whole_shape(node, group)
    values = group.stacked.get(node.name, group.shared.get(node.name))
    if values is None:
        return np.full(prod(shape), -1)
    missing = group.missing.get(node.name, np.zeros(values.shape, bool))
    states = np.where(missing, -1, values.astype(int) - int(node.type.bounds[0]))
    return np.broadcast_to(states, shape).reshape(-1)


def _whole_shape(node: Node, group: CaseGroup) -> tuple[int, ...]:
    lead = (group.count,) if group.stacked else ()
    return (*lead, *shape_of(node, group.sizes))


def emitted(likelihood: Likelihood, node: Node, group: CaseGroup) -> Array:
    """Features of each entry of a hidden draw: the observed numbers that stand under it."""
    shape = _whole_shape(node, group)
    columns = [np.zeros((prod(shape), 0))]
    for draw in emissions(likelihood.roles.graph, node, likelihood.cases.given):
        columns.append(_features(draw, node, group, shape))
    return np.concatenate(columns, axis=1)


def emissions(graph: Graph, node: Node, given: frozenset[str]) -> Iterator[Node]:
    """The observed draws whose law depends on the draw, with its axes before their own."""
    axes = tuple(map(str, node.type.shape))
    for draw in graph.of_kind(Kind.DRAW):
        above = graph.ancestors(draw.parents, stop=given)
        fits = tuple(map(str, draw.type.shape))[: len(axes)] == axes
        if draw.name in given and node.name in above and fits:
            yield draw


def _features(draw: Node, node: Node, group: CaseGroup, shape: tuple[int, ...]) -> Array:
    own = shape_of(draw, group.sizes)
    lead = (group.count,) if group.stacked else ()
    values = group.stacked.get(draw.name)
    if values is None:
        values = np.broadcast_to(group.shared[draw.name], (*lead, *own))
    mask = np.broadcast_to(group.missing.get(draw.name, False), values.shape)
    is_label = isinstance(draw.type.domain, IndexOf) and not isinstance(draw.type.domain, Bool)
    numbers = np.where(mask, np.nan, values.astype(float))
    if is_label:
        labels = np.arange(int(np.nanmax(numbers, initial=0)) + 1)
        numbers = np.where(mask[..., None], np.nan, numbers[..., None] == labels)
    wide = numbers.reshape(prod(shape), -1)
    if wide.shape[1] > WIDEST:
        wide = wide.mean(axis=1, keepdims=True)
    return wide


# ---- hidden normal draws


def from_spread(likelihood: Likelihood, params: Values, data: list[Arrays]) -> Values:
    graph, given = likelihood.roles.graph, likelihood.cases.given
    read: set[str] = set()
    for name in given:
        read |= graph.ancestors(
            graph[name].parents, stop={n.name for n in graph.of_kind(Kind.DRAW)}
        )
    nodes = {node.name: node for node in likelihood.roles.unknowns}
    updates = {n: u for n, u in find_updates(likelihood.roles).items() if n in read}

    def score(arrays: list[Arrays], params: Values) -> Any:
        """Of what is observed, hidden draws being zero."""

        def of_case(known: Values, sizes: Mapping[str, int]) -> Any:
            own, inputs, values = likelihood.known(params, known, sizes)
            blocks = likelihood._blocks(sizes).shapes
            hidden = {name: jnp.zeros(shape) for name, shape in blocks.items()}
            return likelihood.model.log_prob(own, {**values, **hidden}, inputs)

        groups = zip(likelihood.cases.groups, arrays, strict=True)
        each = [jnp.sum(likelihood.map_cases(group, own, of_case)) for group, own in groups]
        return sum(each, jnp.zeros(()))

    @jax.jit
    def better(arrays: list[Arrays], params: Values) -> Values:
        return params | sweep(partial(score, arrays), params, nodes, updates)

    for _ in range(SWEEPS):
        params = better(data, params)
    return in_proportion(likelihood, params, data)


def in_proportion(likelihood: Likelihood, params: Values, data: list[Arrays]) -> Values:
    """Each free or positive unknown times the power of ten that explains the data best."""
    for node in likelihood.roles.unknowns:
        if node.type.constraint or node.type.bounds not in ((-np.inf, np.inf), (0, np.inf)):
            continue
        tried = [params | {node.name: power * params[node.name]} for power in POWERS]
        losses = np.array([float(likelihood.loss(own, data)) for own in tried])
        if np.isfinite(losses).any():
            params = tried[int(np.nanargmin(losses))]
    return params


# ---- nothing hidden


def near_enough(
    likelihood: Likelihood, choice: MethodChoice, params: Values, data: list[Arrays]
) -> Values:
    """Nearer to zero where that explains the data better: exp(b x) overflows for large x."""
    raw = likelihood.unconstrain(params)
    loss, _ = scaled_losses(likelihood, choice)
    tried = [jax.tree.map(lambda leaf, p=power: p * leaf, raw) for power in POWERS[:9]]
    known = plain_units(raw), data
    losses = np.array([float(value_and_gradient(loss, own, known)[0]) for own in tried])
    if not np.isfinite(losses).any():
        return params
    return likelihood.constrain(tried[int(np.nanargmin(losses))])
