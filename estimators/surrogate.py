"""A surrogate of the whole program: it and its derivatives estimate those of E[sum of costs].

For a cost c with the draws D(c) above it, summed over all samples and elements, sum_c prod_{d in
D(c)} weight_d * c + sum_w prod_{d in D(w)} weight_d * (1 - box(log p_w)) * b_w, where the second
sum is over the draws w that have a baseline b_w. Only costs below a draw weigh its score, and a
baseline is boxed with the log probabilities of earlier draws only: both sums have the right
derivatives of every order.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpyro
from jax import Array

from .box import magic_box
from .methods.method import EstimatorError, Method, SeenCosts
from .program import Block, Cost, Draw, Score, Step, Upto
from .run import BaselineState, Drawn, Labelled, ProgramRun, contract, cost_term

Shared = dict[str, int]


class Estimate(NamedTuple):
    """`value` estimates the expected cost, its derivatives too; `state` is the baselines'."""

    value: Array
    state: BaselineState


def surrogate(
    steps: Iterable[Step], key: Array, particles: int = 1, state: BaselineState | None = None
) -> Estimate:
    """One estimate from this many particles, samples of all draws without a number of own."""
    if particles < 1:
        raise EstimatorError(f"{particles} samples have no mean: draw at least one")
    with numpyro.validation_enabled(False):
        return _Sums(_take_all(list(steps), key, particles, dict(state or {}))).estimate()


def _take_all(steps: list[Step], key: Array, samples: int, state: BaselineState) -> ProgramRun:
    run = ProgramRun(steps, samples, state)
    for number, step in enumerate(steps):
        run.take(step, jax.random.fold_in(key, number))
    return run


def initial_state(steps: Iterable[Step]) -> BaselineState:
    """What baselines remember before anything was drawn."""
    parts: list[Step | Score] = []
    for step in steps:
        parts += step.scores if isinstance(step, Block) else [step]
    scored = [part for part in parts if isinstance(part, Draw | Score)]
    return starting_state({part.name: part.method for part in scored})


def starting_state(methods: Mapping[str, Method]) -> BaselineState:
    """The same, from the methods of draws and scores by their names."""
    found = {}
    for name, method in methods.items():
        if method.baseline and method.baseline.start is not None:
            found[name] = jnp.asarray(method.baseline.start, float)
    return found


def least_particles(methods: Iterable[Method]) -> int:
    """How many samples every baseline can do with."""
    return max((method.baseline.needs for method in methods if method.baseline), default=1)


class _Sums:
    """The two sums of the surrogate."""

    def __init__(self, run: ProgramRun):
        self.run = run
        self.state = run.state

    def estimate(self) -> Estimate:
        totals = []
        for cost, value in self.run.costs:
            weights = self.run.weights(sorted(self.run.above[cost.name]), cost.follows)
            terms = [cost_term(cost, value), *weights]
            totals.append(contract(terms) / self.run.count(terms))
        for drawn in self.run.drawn.values():
            if drawn.baseline or drawn.critic:
                totals.append(self._baseline_term(drawn))
        return Estimate(jnp.asarray(sum(totals)), self.state)

    def _baseline_term(self, drawn: Drawn) -> Array:
        """sum over samples and elements of weight * (1 - box(log p)) * b: 0 in value and mean."""
        assert drawn.log_prob is not None
        costs = self._costs_below(drawn)
        if costs is None:
            return jnp.zeros(())
        baseline = jax.lax.stop_gradient(self._critic(drawn, costs) + self._baseline(drawn, costs))
        weighed = _expand_to(1 - magic_box(drawn.log_prob), costs.ndim) * baseline
        labels = (*drawn.axes, *(("plate", k) for k in range(drawn.plates)))
        trailing = (None,) * (costs.ndim - len(labels))
        earlier = sorted(self.run.above[drawn.name] - {drawn.name})
        weights = self.run.weights(earlier, drawn.follows)
        terms = [Labelled(weighed, (*labels, *trailing)), *weights]
        return contract(terms) / self.run.count(terms)

    def _critic(self, drawn: Drawn, costs: Array) -> Array:
        """The value that the draw's critic expects, for each of its samples and elements."""
        if drawn.critic is None:
            return jnp.zeros(())
        if drawn.name in self.run.above[drawn.critic]:
            raise EstimatorError(
                f"{drawn.critic} depends on {drawn.name}, so it cannot be the baseline of its costs"
            )
        value, axes = self.run.values[drawn.critic]
        if not set(axes) <= set(drawn.axes):
            raise EstimatorError(
                f"{drawn.critic} depends on draws that {drawn.name} does not depend on"
            )
        missing = [k for k, axis in enumerate(drawn.axes) if axis not in axes]
        return _expand_to(jnp.expand_dims(value, missing), costs.ndim)

    def _baseline(self, drawn: Drawn, costs: Array) -> Array:
        """What other samples, or earlier estimates, say about the costs less the critic's."""
        if drawn.baseline is None:
            return jnp.zeros(())
        have = 1 if drawn.own is None else self.run.sizes[drawn.own]
        if have < drawn.baseline.needs:
            raise EstimatorError(
                f"the baseline of {drawn.name} is made of other samples, and it has only {have}: "
                f"draw at least {drawn.baseline.needs} particles, or give the draw a number of "
                "samples"
            )
        costs = costs - self._critic(drawn, costs)
        own = None if drawn.own is None else drawn.axes.index(drawn.own)
        squares = None if drawn.squares is None else _expand_to(drawn.squares, costs.ndim)
        state = self.state.get(drawn.name, drawn.baseline.start)
        found = drawn.baseline.values(SeenCosts(costs, own, squares, state))
        if drawn.name in self.state:
            after = drawn.baseline.update(costs, self.state[drawn.name])
            self.state[drawn.name] = jax.lax.stop_gradient(after)
        return found

    def _costs_below(self, drawn: Drawn) -> Array | None:
        """All costs below each element of a draw, without derivatives, for each of its samples."""
        found = []
        for cost, value in self.run.costs:
            if drawn.name not in self.run.above[cost.name]:
                continue
            between = self.run.above[cost.name] - self.run.above[drawn.name] - {drawn.name}
            weights = self.run.weights(sorted(between), cost.follows, boxed=False)
            terms = [cost_term(cost, value), *weights]
            terms = [Labelled(jax.lax.stop_gradient(term.array), term.labels) for term in terms]
            along = {theirs: own for own, theirs in cost.follows.get(drawn.name, {}).items()}
            plates = [("plate", theirs) for theirs in sorted(along, key=lambda k: along[k])]
            present = {label for term in terms for label in term.labels}
            axes = [axis for axis in drawn.axes if axis in present]
            total = contract(terms, [*axes, *plates]) / self.run.count(terms, drawn.axes)
            missing = [k for k, axis in enumerate(drawn.axes) if axis not in present]
            missing += [len(drawn.axes) + k for k in range(drawn.plates) if k not in along.values()]
            total = jnp.expand_dims(total, missing)
            for axis, own in along.items():
                if isinstance(axis, Upto):
                    total = jax.lax.cumsum(total, len(drawn.axes) + own, reverse=True)
            found.append(total)
        return jnp.asarray(sum(found)) if found else None


def _expand_to(array: Array, rank: int) -> Array:
    return jnp.expand_dims(array, range(array.ndim, rank))


# ---- Bounds on the evidence: (1 / (1 - a)) log mean_k w_k^(1 - a), w_k = p(x, z_k) / q(z_k)
#
# a = 0 is the importance-weighted bound, a -> 1 the evidence lower bound. Costs below draws sum
# to log w. Where these are sums over elements that share nothing, each element has a bound of its
# own, which is tighter. Costs that are certain are added to it. With F the bound and S_k the log
# probability of all that has a score in sample k, the surrogate is F * prod_k box(S_k) + sum_k (1
# - box(S_k)) * F without sample k, where the last, for draws that have a baseline, is F with the
# mean of the other log w in its place (VIMCO).


class EvidenceBound(NamedTuple):
    alpha: float
    samples: int


def bound_surrogate(
    steps: Iterable[Step], key: Array, bound: EvidenceBound, copies: int = 1
) -> Array:
    """The mean of this many independent estimates of the bound, plus all costs that are certain."""
    program = list(steps)

    def one(key: Array) -> Array:
        with numpyro.validation_enabled(False):
            return _estimate(_take_all(program, key, bound.samples, {}), bound)

    return jnp.mean(jax.vmap(one)(jax.random.split(key, copies)))


def _estimate(run: ProgramRun, bound: EvidenceBound) -> Array:
    drawn = run.drawn.values()
    for one in drawn:
        if one.weights is not None or one.axes != (0,):
            raise EstimatorError(
                f"{one.name} is drawn once for each sample of the bound: by pathwise, sfe or "
                "rloo, without samples="
            )
    terms = [(cost, cost_term(cost, value)) for cost, value in run.costs]
    certain = [contract([term]) for cost, term in terms if not run.above[cost.name]]
    random = [(cost, term) for cost, term in terms if run.above[cost.name]]
    shared = _shared_axis([cost for cost, _ in random], run)

    scores: list[Array] = []
    for one in drawn:
        if one.log_prob is not None:
            kept = None if shared is None else shared[one.name]
            others = tuple(1 + k for k in range(one.plates) if k != kept)
            scores.append(jnp.sum(one.log_prob, others))
    plates = [[] if shared is None else [("plate", shared[cost.name])] for cost, _ in random]
    logs = [contract([term], [0, *own]) for (_, term), own in zip(random, plates, strict=True)]
    score = jnp.asarray(sum(scores)) if scores else None
    found = _bound(jnp.asarray(sum(logs)), score, bound, any(one.baseline for one in drawn))
    return sum(certain, jnp.zeros(())) + jnp.sum(found)


def _bound(log_weights: Array, scores: Array | None, bound: EvidenceBound, baseline: bool) -> Array:
    """The surrogate for each element; samples are along the first axis."""
    value = _mean(log_weights, bound)
    if scores is None:
        return value
    weighed = value * magic_box(jnp.sum(scores, 0))
    if bound.samples == 1 or not baseline:
        return weighed
    others = (jnp.sum(log_weights, 0) - log_weights) / (bound.samples - 1)
    one = jnp.expand_dims(jnp.eye(bound.samples), range(2, 1 + log_weights.ndim))
    replaced = log_weights + one * (others - log_weights)
    without = jax.lax.stop_gradient(jax.vmap(lambda weights: _mean(weights, bound))(replaced))
    return weighed + jnp.sum((1 - magic_box(scores)) * without, 0)


def _mean(log_weights: Array, bound: EvidenceBound) -> Array:
    power = 1 - bound.alpha
    return (jax.nn.logsumexp(power * log_weights, 0) - jnp.log(bound.samples)) / power


def _shared_axis(costs: Sequence[Cost], run: ProgramRun) -> Shared | None:
    """The axis along which all costs follow a draw, for draws and costs; None without one."""
    found: Shared = {}
    for cost in costs:
        names = run.above[cost.name]
        for place in range(cost.plates):
            axes = {name: _exact(cost, name, place) for name in names}
            if all(
                axis is not None and found.get(name, axis) == axis for name, axis in axes.items()
            ):
                break
        else:
            return None
        found[cost.name] = place
        for name in names:
            found[name] = next(own for own, theirs in cost.follows[name].items() if theirs == place)
    return found if set(run.drawn) <= set(found) else None


def _exact(cost: Cost, name: str, place: int) -> int | None:
    for own, theirs in cost.follows.get(name, {}).items():
        if theirs == place and not isinstance(theirs, Upto):
            return own
    return None
