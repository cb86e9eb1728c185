"""Fenchel-Young losses: L(theta, y) = Omega*(theta) + Omega(y) - <theta, y> >= 0, zero iff y is
predicted (DU07, DU08).

The prediction is grad Omega*(theta) = argmax_p <theta, p> - Omega(p), and the gradient of the loss
prediction - y. With the negative Shannon entropy it is the logistic loss, with Gini's the sparsemax
loss, with Tsallis' the entmax losses, with the expected maximum of noisy scores the perturbed loss.
All are along the last axis, the others being rows.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..optimise.method import Array
from .entmax import entmax


class Regulariser(NamedTuple):
    """`omega(p)`, finite on the simplex, and `predict(theta)` = argmax_p <theta, p> - omega(p)."""

    name: str
    omega: Callable[[Array], Array]
    predict: Callable[[Array], Array]


def minus_entropy(p: Array) -> Array:
    """sum p log p, with 0 log 0 = 0."""
    return jnp.sum(jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p, 1)), 0), axis=-1)


def minus_tsallis(p: Array, alpha: float) -> Array:
    """(sum p^alpha - 1) / (alpha (alpha - 1)): Gini's at 2, minus Shannon's entropy near 1."""
    return (jnp.sum(p**alpha, axis=-1) - 1) / (alpha * (alpha - 1))


SHANNON = Regulariser("Shannon", minus_entropy, jax.nn.softmax)


def tsallis(alpha: float) -> Regulariser:
    return Regulariser(
        f"Tsallis {alpha}", partial(minus_tsallis, alpha=alpha), partial(entmax, alpha=alpha)
    )


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
    """Mean of max_y <theta + scale Z, y> over Gaussian Z, less <theta, target>; less Omega(target),
    free of theta.

    `solve(theta)` gives the y of the largest <theta, y>, of theta's shape, and is not
    differentiated: the gradient is the mean of the solutions less the target. Its minimum over
    theta is minus Omega(target), not zero.
    """
    noise = scale * jax.random.normal(key, (samples, *theta.shape), theta.dtype)
    points = theta[None] + noise
    chosen = jax.lax.stop_gradient(
        jnp.asarray(jax.vmap(solve)(jax.lax.stop_gradient(points)), theta.dtype)
    )
    return jnp.mean(jnp.sum(points * chosen, axis=tuple(range(1, points.ndim)))) - jnp.sum(
        theta * target
    )
