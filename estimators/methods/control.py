"""Control variates: E[f - a (h - E[h])] = E[f] for every a that is independent of h (DI14).

The mean is the exact E[h], as a function of the parameters: derivatives of all orders then stay
right. Inside a program this is a cost like any other, f and h being functions of the same draws.
"""

import jax
import jax.numpy as jnp


def control_variate(
    cost: jax.Array, variate: jax.Array, mean: jax.Array, coefficient: jax.Array | float
) -> jax.Array:
    return cost - coefficient * (variate - mean)


def leave_one_out_coefficient(costs: jax.Array, variates: jax.Array, axis: int = 0) -> jax.Array:
    """a_i = cov(f, h) / var(h) over the other samples, of least variance; 0 if h is constant."""
    count = costs.shape[axis]
    if count < 3:
        raise ValueError(
            "a coefficient without one's own sample takes at least 3 samples, and there are "
            f"{count}"
        )
    f, h = jax.lax.stop_gradient((costs - jnp.mean(costs, axis, keepdims=True), variates))
    h = h - jnp.mean(h, axis, keepdims=True)
    joint = _without_own(f, h, axis)
    own = _without_own(h, h, axis)
    return jnp.where(own > 0, joint / jnp.where(own > 0, own, 1), 0)


def _without_own(f: jax.Array, h: jax.Array, axis: int) -> jax.Array:
    """sum_{j != i} (f_j - mean f)(h_j - mean h) with means over j != i, for centred f and h."""
    count = f.shape[axis]
    return jnp.sum(f * h, axis, keepdims=True) - f * h * count / (count - 1)
