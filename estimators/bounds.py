"""Bounds on the evidence: (1 / (1 - a)) log mean_k w_k^(1 - a), w_k = p(x, z_k) / q(z_k).

a = 0 is the importance-weighted bound, a -> 1 the evidence lower bound. Costs below draws sum to
log w. Where these are sums over elements that share nothing, each element has a bound of its own,
which is tighter. Costs that are certain are added to it. With F the bound and S_k the log
probability of all that has a score in sample k, the surrogate is F * prod_k box(S_k) + sum_k (1 -
box(S_k)) * F without sample k, where the last, for draws that have a baseline, is F with the mean
of the other log w in its place (VIMCO).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpyro

from .axes import Labelled, Placed, contract
from .box import magic_box
from .errors import EstimatorError
from .program import Cost, Step, Upto
from .run import Drawn, ProgramRun, cost_term

Shared = dict[str, int]


class EvidenceBound(NamedTuple):
    alpha: float
    samples: int


def bound_surrogate(
    steps: Iterable[Step], key: jax.Array, bound: EvidenceBound, copies: int = 1
) -> jax.Array:
    """The mean of this many independent estimates of the bound, plus all costs that are certain."""
    program = list(steps)

    def one(key: jax.Array) -> jax.Array:
        run = ProgramRun(program, bound.samples, {})
        with numpyro.validation_enabled(False):
            for number, step in enumerate(program):
                run.take(step, jax.random.fold_in(key, number))
            return _estimate(run, bound)

    return jnp.mean(jax.vmap(one)(jax.random.split(key, copies)))


def _estimate(run: ProgramRun, bound: EvidenceBound) -> jax.Array:
    for drawn in run.drawn.values():
        if drawn.weights is not None or drawn.axes != (0,):
            raise EstimatorError(
                f"{drawn.name} is drawn once for each sample of the bound: by pathwise, sfe or "
                "rloo, without samples="
            )
    certain = [pair for pair in run.costs if not run.above[pair[0].name]]
    random = [pair for pair in run.costs if run.above[pair[0].name]]
    shared = _shared_axis(random, run)
    log_weights = sum(
        _along(cost_term(cost, value), _place(cost, shared)) for cost, value in random
    )
    total = sum((contract([cost_term(cost, value)]) for cost, value in certain), jnp.zeros(()))
    baseline = any(drawn.baseline for drawn in run.drawn.values())
    return total + jnp.sum(
        _bounded(jnp.asarray(log_weights), _scores(run, shared), bound, baseline)
    )


def _bounded(
    log_weights: jax.Array, scores: jax.Array | None, bound: EvidenceBound, baseline: bool
) -> jax.Array:
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


def _mean(log_weights: jax.Array, bound: EvidenceBound) -> jax.Array:
    power = 1 - bound.alpha
    return (jax.nn.logsumexp(power * log_weights, 0) - jnp.log(bound.samples)) / power


def _scores(run: ProgramRun, shared: Shared | None) -> jax.Array | None:
    found = [_score(drawn, shared) for drawn in run.drawn.values() if drawn.log_prob is not None]
    return jnp.asarray(sum(found)) if found else None


def _score(drawn: Drawn, shared: Shared | None) -> jax.Array:
    assert drawn.log_prob is not None
    kept = None if shared is None else shared[drawn.name]
    return jnp.sum(drawn.log_prob, tuple(1 + k for k in range(drawn.plates) if k != kept))


# ---- elements that share nothing


def _shared_axis(costs: Sequence[tuple[Cost, Placed]], run: ProgramRun) -> Shared | None:
    """The axis along which all costs follow a draw, for draws and costs; None without one."""
    found: Shared = {}
    for cost, _ in costs:
        place = _common_place(cost, run, found)
        if place is None:
            return None
        found[cost.name] = place
        for name in run.above[cost.name]:
            found[name] = next(own for own, theirs in cost.follows[name].items() if theirs == place)
    return found if set(run.drawn) <= set(found) else None


def _common_place(cost: Cost, run: ProgramRun, found: Shared) -> int | None:
    for place in range(cost.plates):
        axes = {name: _exact(cost, name, place) for name in run.above[cost.name]}
        if all(axis is not None and found.get(name, axis) == axis for name, axis in axes.items()):
            return place
    return None


def _exact(cost: Cost, name: str, place: int) -> int | None:
    along = cost.follows.get(name, {})
    return next(
        (own for own, theirs in along.items() if theirs == place and not isinstance(theirs, Upto)),
        None,
    )


def _place(cost: Cost, shared: Shared | None) -> int | None:
    return None if shared is None else shared[cost.name]


def _along(term: Labelled, place: int | None) -> jax.Array:
    """The log weights of every sample, and of every element where these share nothing."""
    return contract([term], [0] if place is None else [0, ("plate", place)])
