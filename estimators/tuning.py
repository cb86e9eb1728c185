"""The numbers of a method that change its variance and nothing else are learned from its own
estimates.

d E|g|^2 = E[2 g dg], because E[g] does not depend on them: a descent on it makes the estimates of g
vary less.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

Tunables = TypeVar("Tunables")


def variance_gradient(gradient_of: Callable[[Tunables], Any], tunables: Tunables) -> Tunables:
    """An estimate of d E|g|^2 / d tunables from one estimate g at fixed draws."""

    def squared_length(tunables: Tunables) -> jax.Array:
        return jnp.asarray(
            sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(gradient_of(tunables)))
        )

    found: Tunables = jax.grad(squared_length)(tunables)
    return found
