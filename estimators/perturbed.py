"""Perturbed maxima: F(theta) = E[max_y <theta + s Z, y>], of gradient E[y*(theta + s Z)] (CV20-23).

The Jacobian of the argmax has two estimates, nu being minus the log density of the noise: by score
E[y*(theta + s Z) grad nu(Z)^T] / s, by value E[max_y <theta + s Z, y> (grad nu(Z) grad nu(Z)^T -
hess nu(Z))] / s^2. Both subtract what they would be without noise, which costs nothing in
expectation. Noise has mean zero: with Gumbel noise over one-hot vectors F is s softmax(theta / s)
and the argmax is softargmax(theta / s).
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .box import lean, magic_box

Maximiser = Callable[[Array], Array]
Jacobian = Literal["score", "value"]


class Noise(NamedTuple):
    """`energy` is minus the log density of each number, but for a constant."""

    sample: Callable[[Array, tuple[int, ...], jnp.dtype], Array]
    energy: Callable[[Array], Array]


GAUSSIAN = Noise(jax.random.normal, lambda z: z * z / 2)
GUMBEL = Noise(
    lambda key, shape, dtype: jax.random.gumbel(key, shape, dtype) - np.euler_gamma,
    lambda z: z + jnp.exp(-(z + np.euler_gamma)),
)


def perturbed_argmax(
    maximiser: Maximiser,
    theta: Array,
    key: Array,
    scale: Array | float = 1.0,
    samples: int = 1,
    noise: Noise = GUMBEL,
    jacobian: Jacobian = "score",
) -> Array:
    """E[y*(theta + s Z)] from this many samples, with unbiased derivatives of every order."""
    return _argmax(_sampled(maximiser, theta, key, scale, samples, noise), jacobian)


def perturbed_max(
    maximiser: Maximiser,
    theta: Array,
    key: Array,
    scale: Array | float = 1.0,
    samples: int = 1,
    noise: Noise = GUMBEL,
    jacobian: Jacobian = "score",
) -> Array:
    """E[max_y <theta + s Z, y>]; its gradient is the perturbed argmax of the same samples."""
    run = _sampled(maximiser, theta, key, scale, samples, noise)
    noises = (run.points - run.theta) / run.scale
    radial = jnp.mean(run.boxes(run.theta) * _inner(noises, run.choices))
    along_theta = jnp.sum(lean(run.theta, _argmax(run, jacobian)))
    return jnp.mean(run.values) + along_theta + lean(run.scale, radial)


class _Sampled(NamedTuple):
    """Points theta + s Z with their choices and values, and those without noise; constants."""

    theta: Array
    scale: Array
    noise: Noise
    points: Array
    choices: Array
    values: Array
    still_choice: Array
    still_value: Array

    def boxes(self, theta: Array) -> Array:
        """The magic box of the density of each point."""
        energy = self.noise.energy((self.points - theta) / self.scale)
        return magic_box(-jnp.sum(energy, range(1, energy.ndim)) - theta.size * jnp.log(self.scale))


def _sampled(
    maximiser: Maximiser, theta: Array, key: Array, scale: Array | float, samples: int, noise: Noise
) -> _Sampled:
    theta = jnp.asarray(theta)
    scale = jnp.asarray(scale, theta.dtype)
    still = jax.lax.stop_gradient(theta)
    drawn = noise.sample(key, (samples, *theta.shape), theta.dtype)
    points = still + jax.lax.stop_gradient(scale) * drawn
    choices = jax.lax.stop_gradient(jnp.asarray(jax.vmap(maximiser)(points), theta.dtype))
    choice = jax.lax.stop_gradient(jnp.asarray(maximiser(still), theta.dtype))
    values, value = _inner(points, choices), jnp.sum(still * choice)
    return _Sampled(theta, scale, noise, points, choices, values, choice, value)


def _inner(points: Array, choices: Array) -> Array:
    return jnp.sum(points * choices, range(1, points.ndim))


def _argmax(run: _Sampled, jacobian: Jacobian) -> Array:
    """The mean choice, with the derivatives of one of the two estimates."""
    if jacobian == "score":
        extra = run.choices - run.still_choice
        boxes = jnp.expand_dims(run.boxes(run.theta), range(1, extra.ndim))
        return run.still_choice + jnp.mean(boxes * extra, 0)
    if jacobian != "value":
        raise ValueError(
            "the Jacobian of a perturbed argmax is estimated by 'score' or by 'value', not by "
            f"{jacobian!r}"
        )
    gradient: Array = jax.grad(
        lambda theta: jnp.mean(run.boxes(theta) * (run.values - run.still_value))
    )(run.theta)
    found: Array = jnp.mean(run.choices, 0) + (gradient - jax.lax.stop_gradient(gradient))
    return found
