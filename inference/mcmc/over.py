"""A function of one draw for all draws of all chains, compiled once, in portions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PORTION = 100


def over_draws(function: Callable[..., Any], values: dict[str, Any], key: Any = None) -> Any:
    """function(values of one draw), or with a key of its own too, as [chain, draw, ...]."""
    chains, draws = next(iter(values.values())).shape[:2]
    flat = {
        name: jnp.reshape(value, (chains * draws, *value.shape[2:]))
        for name, value in values.items()
    }
    if key is None:
        found = jax.jit(lambda v: jax.lax.map(function, v, batch_size=PORTION))(flat)
    else:
        keys = jax.random.split(key, chains * draws)
        found = jax.jit(
            lambda v, k: jax.lax.map(lambda pair: function(*pair), (v, k), batch_size=PORTION)
        )(flat, keys)
    return jax.tree.map(lambda x: np.asarray(x).reshape(chains, draws, *x.shape[1:]), found)
