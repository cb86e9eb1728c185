"""Maximum likelihood is moment matching (PL21, PL22): grad A(natural) = mean of T.

From mean to natural parameters <natural, mean> - A(natural), which is concave, is maximised (PL20).
The distribution of maximum entropy on finitely many points with given moments is such a fit.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import linprog

from ..errors import InferenceError
from .family import (
    Array,
    Family,
    NoMaximumError,
    NotConvergedError,
    OutsideSupportError,
    floats,
    over_leading,
)
from .features import contains, statistic

STEPS = 100
HALVINGS = 60
Stepped = tuple[Array, Array, Array]  # the point, how many steps led to it, whether to go on


class Certificate(NamedTuple):
    """How near the natural parameters are to the maximum of <natural, mean> - A(natural).
    `gradient_norm` is |g| = |grad A(natural) - mean|; `gap` half the squared Newton decrement, g'
    Fisher^-1 g / 2, in nats per observation, is the Fenchel-Young gap up to third order; `interior`
    says that the mean is inside the set of means, so that a maximum exists.
    """

    gradient_norm: Array
    gap: Array
    interior: Array

    @property
    def holds(self) -> Array:
        """Within rounding of the maximum of the log-likelihood per observation."""
        return self.interior & (self.gap <= 4 * float(np.finfo(self.gap.dtype).eps))


@partial(jax.jit, static_argnums=0)
def to_natural(family: Family, mean: Array) -> tuple[Array, Certificate]:
    """(grad A)^-1 (mean) and its certificate, to be verified; NaN outside the set of means."""
    natural, certificate = over_leading(partial(invert, family), (floats(mean), 1))
    return natural, Certificate(*certificate)


def invert(family: Family, mean: Array) -> tuple[Array, Certificate]:
    interior = jnp.isfinite(mean).all() & (family.slack(mean) > 8 * float(np.finfo(mean.dtype).eps))
    found = family.natural_of_mean(mean) if family.natural_of_mean else solve(family, mean)
    natural = jnp.where(interior, found, jnp.nan)
    gradient = jax.grad(family.log_partition)(natural) - mean
    gap = gradient @ newton_step(family, natural, gradient) / 2
    return natural, Certificate(jnp.linalg.norm(gradient), gap, interior)


def newton_step(family: Family, natural: Array, gradient: Array) -> Array:
    return jnp.linalg.solve(jax.hessian(family.log_partition)(natural), gradient)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def solve(family: Family, mean: Array) -> Array:
    """Newton's method; a step is halved until A(natural) - <natural, mean> falls enough."""
    assert family.start is not None
    state = family.start(mean), jnp.asarray(0), jnp.asarray(True)
    step = partial(advance, family, mean)
    natural, _, _ = jax.lax.while_loop(lambda s: s[2] & (s[1] < STEPS), step, state)
    return natural


@solve.defjvp
def solve_jvp(family: Family, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """d natural = Fisher^-1 d mean, by the inverse function theorem."""
    natural = solve(family, *primals)
    return natural, newton_step(family, natural, *tangents)


def advance(family: Family, mean: Array, state: Stepped) -> Stepped:
    """One damped step, or a full one once values differ by less than rounding; whether to go on."""
    natural, count, _ = state
    value, own_mean = jax.value_and_grad(family.log_partition)(natural)
    gradient = own_mean - mean
    step = newton_step(family, natural, gradient)
    decrement = gradient @ step

    def too_long(trial: tuple[Array, Array]) -> Array:
        size, halvings = trial
        there = natural - size * step
        rise = family.log_partition(there) - value + size * (step @ mean)
        enough = (rise <= -0.1 * size * decrement) | (decrement < 1e-3)
        return ~(family.in_domain(there) & enough) & (halvings < HALVINGS)

    start = jnp.ones((), natural.dtype), jnp.asarray(0)
    size, _ = jax.lax.while_loop(too_long, lambda trial: (trial[0] / 2, trial[1] + 1), start)
    more = decrement > float(np.finfo(natural.dtype).eps)
    return natural - size * step, count + 1, more


class MomentFit(NamedTuple):
    """The natural parameters of highest likelihood, the mean they match, and how well."""

    natural: Array
    mean: Array
    certificate: Certificate


def fit_to_data(family: Family, values: Array, weights: Array | None = None) -> MomentFit:
    """argmax_natural sum_i w_i log p(x_i), i the last axis before those of one value. Under a trace
    nothing can be raised: natural parameters are then NaN where no maximum exists.
    """
    values = floats(values)
    verify_support(family, values)
    statistics = statistic(family, values)
    if weights is None:
        return fit_to_moments(family, statistics.mean(axis=-2))
    shares = floats(weights) / floats(weights).sum(axis=-1, keepdims=True)
    return fit_to_moments(family, (shares[..., None] * statistics).sum(axis=-2))


def fit_to_moments(family: Family, moments: Array) -> MomentFit:
    """The member with E T(X) = moments, of the highest entropy relative to the base (PL21)."""
    natural, certificate = to_natural(family, moments)
    verify_certificate(family, floats(moments), certificate)
    return MomentFit(natural, floats(moments), certificate)


def verify_support(family: Family, values: Array) -> None:
    if isinstance(values, jax.core.Tracer):
        return
    if not all(values.shape):
        raise NoMaximumError(
            f"no observation to fit {family.name} to: the array of values has shape {values.shape}"
        )
    inside = np.asarray(contains(family, values))
    if not inside.all():
        where = first(~inside)
        spot = f"index {list(where)}" if where else "the only place"
        value = f"value {np.asarray(values)[where].tolist()} at {spot}"
        raise OutsideSupportError(f"{value}: the support of {family.name} is {family.support}")


def verify_certificate(family: Family, moments: Array, certificate: Certificate) -> None:
    if isinstance(certificate.gap, jax.core.Tracer):
        return
    if not np.all(certificate.interior):
        where = first(~np.asarray(certificate.interior))
        raise NoMaximumError(
            f"{family.name}: no maximum exists, because the mean of the statistics{at(where)}, "
            f"{np.asarray(moments)[where].tolist()}, is not inside the set of means but on its "
            "boundary or beyond; no parameters reach it, the likelihood only approaches its "
            "supremum. More varied observations, or a prior, give it a maximum"
        )
    if not np.all(certificate.holds):
        where = first(~np.asarray(certificate.holds))
        norm, gap = np.asarray(certificate.gradient_norm)[where], np.asarray(certificate.gap)[where]
        raise NotConvergedError(
            f"{family.name}: no certificate for the moments{at(where)}: the gradient norm is "
            f"{norm:.2g}, the gap {gap:.2g}; they are near the boundary of what {moments.dtype} "
            "can resolve"
        )


def first(mask: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])


def at(where: tuple[int, ...]) -> str:
    return f" at index {list(where)}" if where else ""


def finite(statistics: Array, log_base: Array | None = None) -> Family:
    """The family on the points 0 to n - 1 with statistics as rows: A = log sum h exp(statistics
    theta). `maximise_entropy` says whether moments are inside the polytope of the rows.
    """
    statistics = floats(statistics)
    size = statistics.shape[0]
    base = jnp.zeros(size, statistics.dtype) if log_base is None else floats(log_base)

    def probs(theta: Array) -> Array:
        return jax.nn.softmax(statistics @ theta + base)

    def from_probs(probs: Array) -> Array:
        """Least squares, exact for a member of the family."""
        centred = statistics - statistics.mean(axis=0, keepdims=True)
        logits = jnp.log(probs) - base
        return jnp.linalg.lstsq(centred, logits - logits.mean())[0]

    return Family(
        name="Finite",
        support=f"whole numbers from 0 to {size - 1}",
        statistic=lambda x: statistics[x.astype(int)],
        log_base=lambda x: base[x.astype(int)],
        mean_log_base=lambda theta: probs(theta) @ base,
        contains=lambda x: (x >= 0) & (x < size) & (x == jnp.floor(x)),
        log_partition=lambda theta: jax.nn.logsumexp(statistics @ theta + base),
        slack=lambda mean: jnp.ones_like(mean[0]),
        from_usual=from_probs,
        to_usual=lambda theta: {"probs": probs(theta)},
        examples=({"probs": [1 / size] * size},),
        start=jnp.zeros_like,
    )


def maximise_entropy(
    statistics: Array, moments: Array, log_base: Array | None = None
) -> tuple[Array, MomentFit]:
    """argmax_p H(p) + <p, log_base> such that p' statistics = moments; one row of `statistics` to a
    point. p = softargmax(statistics natural + log_base), natural the Lagrange multipliers.
    """
    verify_independent(np.asarray(statistics))
    verify_inside(np.asarray(statistics), np.asarray(moments))
    family = finite(statistics, log_base)
    fit = fit_to_moments(family, moments)
    return family.to_usual(fit.natural)["probs"], fit


def verify_independent(statistics: Any) -> None:
    centred = statistics - statistics.mean(axis=0)
    rank = int(np.linalg.matrix_rank(centred))
    if rank < statistics.shape[1]:
        raise InferenceError(
            f"{statistics.shape[1]} statistics of which only {rank} are affinely independent: some "
            "moment is fixed by the others, or is a constant; leave it out"
        )


def verify_inside(statistics: Any, moments: Any) -> None:
    """Inside the rows' polytope: max t with p >= t, sum p = 1, p' statistics = moments is > 0."""
    size, count = statistics.shape
    if moments.shape != (count,):
        raise InferenceError(
            f"{count} statistics need moments of shape ({count},), not {moments.shape}"
        )
    scale = np.abs(statistics - moments).max(axis=0)
    rows = np.vstack([((statistics - moments) / scale).T, np.ones(size)])
    with_t = np.hstack([rows, rows.sum(axis=1, keepdims=True)])
    goal, sums = np.append(np.zeros(size), -1.0), np.append(np.zeros(count), 1.0)
    found = linprog(goal, A_eq=with_t, b_eq=sums, method="highs")
    least = found.x[-1] if found.status == 0 else -np.inf
    if least <= 8 * np.finfo(statistics.dtype).eps:
        raise NoMaximumError(
            f"no maximum exists: the moments {moments.tolist()} are not inside the polytope of the "
            "statistics but on its boundary or outside, so that some point has probability zero "
            "or no distribution has these moments"
        )
