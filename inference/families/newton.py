"""From mean to natural parameters: maximise <natural, mean> - A(natural), concave (PL20)."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .family import Array, Family
from .special import floats, over_leading

STEPS = 100
HALVINGS = 60


class Certificate(NamedTuple):
    """How near the natural parameters are to the maximum of <natural, mean> - A(natural).

    `gradient_norm` is |grad A(natural) - mean|. `gap` is half the squared Newton decrement, g'
    Fisher^-1 g / 2: the Fenchel-Young gap A(natural) + A*(mean) - <natural, mean>, in nats per
    observation, up to third order in g. `interior` says that the mean is inside the set of means,
    without which no maximum exists.
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
    """(grad A)^-1 (mean), with its certificate; NaN where the mean is not inside the set of means.

    Raises nothing, so that it may be traced: `fits.py` turns a certificate that does not hold into
    an error.
    """
    natural, certificate = over_leading(partial(invert, family), (floats(mean), 1))
    return natural, Certificate(*certificate)


def invert(family: Family, mean: Array) -> tuple[Array, Certificate]:
    interior = is_interior(family, mean)
    found = family.natural_of_mean(mean) if family.natural_of_mean else solve(family, mean)
    natural = jnp.where(interior, found, jnp.nan)
    gradient = jax.grad(family.log_partition)(natural) - mean
    gap = gradient @ newton_step(family, natural, gradient) / 2
    return natural, Certificate(jnp.linalg.norm(gradient), gap, interior)


def is_interior(family: Family, mean: Array) -> Array:
    """A slack of a few roundings is on the boundary: it may be all rounding."""
    return jnp.isfinite(mean).all() & (family.slack(mean) > 8 * float(np.finfo(mean.dtype).eps))


def newton_step(family: Family, natural: Array, gradient: Array) -> Array:
    return jnp.linalg.solve(jax.hessian(family.log_partition)(natural), gradient)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def solve(family: Family, mean: Array) -> Array:
    """Newton's method; a step is halved until A(natural) - <natural, mean> falls enough."""
    assert family.start is not None
    state = family.start(mean), jnp.asarray(0), jnp.asarray(True)
    natural, _, _ = jax.lax.while_loop(
        lambda s: s[2] & (s[1] < STEPS), partial(advance, family, mean), state
    )
    return natural


@solve.defjvp
def solve_jvp(family: Family, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """d natural = Fisher^-1 d mean, by the inverse function theorem."""
    natural = solve(family, *primals)
    return natural, newton_step(family, natural, *tangents)


def advance(
    family: Family, mean: Array, state: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """One damped step; the last entry says whether to go on.

    The full step is taken once the decrement is small: by then the values differ by less than their
    rounding.
    """
    natural, count, _ = state
    value, slope = jax.value_and_grad(family.log_partition)(natural)
    gradient = slope - mean
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
