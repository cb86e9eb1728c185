"""Fenchel-Young losses L(theta, y) = Omega*(theta) + Omega(y) - <theta, y> >= 0 (DU07, DU08).

Zero iff y is predicted: the prediction is grad Omega*(theta) = argmax_p <theta, p> - Omega(p), and
the gradient of the loss prediction - y. With the negative Shannon entropy it is the logistic loss,
with Gini's the sparsemax loss, with Tsallis' the entmax losses, with the expected maximum of noisy
scores the perturbed loss. All are along the last axis, the others being rows.

Entmax, p_i = [(alpha - 1) theta_i - tau]_+ ^ (1 / (alpha - 1)) with tau such that they sum to one,
is softargmax as alpha falls to 1, sparsemax (the projection onto the simplex) at 2, and has zeros
at every alpha above 1. Sorting finds tau exactly for 2 and 1.5, bisection for others. Its Jacobian
is diag(s) - s s' / sum(s) with s = p ^ (2 - alpha) on the support, by the implicit function.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..errors import InferenceError
from ..optimise.method import Array

HALVINGS = 60


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def entmax(theta: Array, alpha: float) -> Array:
    """Along the last axis."""
    if not 1 < alpha <= 2:
        raise InferenceError(
            f"alpha of entmax is above 1 and at most 2, not {alpha}; softargmax is the limit at 1"
        )
    x = (alpha - 1) * (theta - jnp.max(theta, axis=-1, keepdims=True))
    tau = sorted_threshold(x, alpha) if alpha in (1.5, 2) else bisected_threshold(x, alpha)
    p = power(x - tau, alpha)
    return p / jnp.sum(p, axis=-1, keepdims=True)


@entmax.defjvp
def entmax_jvp(alpha: float, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    p = entmax(*primals, alpha)
    (change,) = tangents
    s = jnp.where(p > 0, jnp.where(p > 0, p, 1) ** (2 - alpha), 0)
    mean = jnp.sum(s * change, axis=-1, keepdims=True) / jnp.sum(s, axis=-1, keepdims=True)
    return p, s * (change - mean)


def power(x: Array, alpha: float) -> Array:
    return jnp.maximum(x, 0) ** (1 / (alpha - 1))


def sorted_threshold(x: Array, alpha: float) -> Array:
    """The threshold tau of the largest k entries, for the largest k with all of them above it: the
    sum over them of x - tau is 1 (alpha 2), or of (x - tau)^2, where a tau has so small a sum.
    """
    high_first = -jnp.sort(-x, axis=-1)
    counts = jnp.broadcast_to(jnp.arange(1, x.shape[-1] + 1, dtype=x.dtype), x.shape)
    sums = jnp.cumsum(high_first, axis=-1)
    if alpha == 2:
        thresholds = (sums - 1) / counts
    else:
        mean = sums / counts
        scatter = jnp.cumsum(high_first**2, axis=-1) - counts * mean**2
        inside = (1 - scatter) / counts
        square = mean - jnp.sqrt(jnp.maximum(inside, 0))
        thresholds = jnp.where(inside >= 0, square, jnp.inf)
    size = jnp.sum(thresholds < high_first, axis=-1, keepdims=True)
    return jnp.take_along_axis(thresholds, size - 1, axis=-1)


def bisected_threshold(x: Array, alpha: float) -> Array:
    """Between -1, where the largest entry (zero) gives one, and -n^(1 - alpha), n equal ones."""

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = (low + high) / 2
        too_low = jnp.sum(power(x - middle, alpha), axis=-1, keepdims=True) >= 1
        return jnp.where(too_low, middle, low), jnp.where(too_low, high, middle)

    low = jnp.full_like(x[..., :1], -1)
    high = jnp.full_like(low, -(float(x.shape[-1]) ** (1 - alpha)))
    low, high = jax.lax.fori_loop(0, HALVINGS, halve, (low, high))
    return (low + high) / 2


class Regulariser(NamedTuple):
    """`omega(p)`, finite on the simplex, and `predict(theta)` = argmax_p <theta, p> - omega(p)."""

    name: str
    omega: Callable[[Array], Array]
    predict: Callable[[Array], Array]


def minus_entropy(p: Array) -> Array:
    """sum p log p, with 0 log 0 = 0."""
    return jnp.sum(jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p, 1)), 0), axis=-1)


SHANNON = Regulariser("Shannon", minus_entropy, jax.nn.softmax)


def tsallis(alpha: float) -> Regulariser:
    """(sum p^alpha - 1) / (alpha (alpha - 1)): Gini's at 2, minus Shannon's entropy near 1."""

    def omega(p: Array) -> Array:
        return (jnp.sum(p**alpha, axis=-1) - 1) / (alpha * (alpha - 1))

    return Regulariser(f"Tsallis {alpha}", omega, partial(entmax, alpha=alpha))


GINI = tsallis(2.0)._replace(name="Gini")


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def conjugate(regulariser: Regulariser, theta: Array) -> Array:
    """Omega*(theta) = max_p <theta, p> - Omega(p)."""
    p = regulariser.predict(theta)
    return jnp.sum(jnp.where(p > 0, theta, 0) * p, axis=-1) - regulariser.omega(p)


@conjugate.defjvp
def conjugate_jvp(
    regulariser: Regulariser, primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    """By the envelope theorem its gradient is the prediction, which has derivatives of its own."""
    (theta,), (change,) = primals, tangents
    return conjugate(regulariser, theta), jnp.sum(regulariser.predict(theta) * change, axis=-1)


def fenchel_young(regulariser: Regulariser, theta: Array, target: Array) -> Array:
    """The loss of each row; targets are points of the simplex, one-hot or not."""
    inner = jnp.sum(jnp.where(target == 0, 0, theta) * target, axis=-1)
    return conjugate(regulariser, theta) + regulariser.omega(target) - inner


def perturbed_loss(
    solve: Callable[[Array], Array],
    theta: Array,
    target: Array,
    key: Array,
    samples: int = 1,
    scale: float = 1.0,
) -> Array:
    """Mean of max_y <theta + scale Z, y> over Gaussian Z, less <theta, target>. `solve(theta)`
    gives the y of the largest <theta, y> and is not differentiated: the gradient is the mean of the
    solutions less the target. Omega(target) is left out: the minimum is minus that.
    """
    noise = scale * jax.random.normal(key, (samples, *theta.shape), theta.dtype)
    points = theta[None] + noise
    solved = jax.vmap(solve)(jax.lax.stop_gradient(points))
    chosen = jax.lax.stop_gradient(jnp.asarray(solved, theta.dtype))
    best = jnp.sum(points * chosen, axis=tuple(range(1, points.ndim)))
    return jnp.mean(best) - jnp.sum(theta * target)
