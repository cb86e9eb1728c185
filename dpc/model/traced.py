"""What JAX traces, told apart without loading JAX: a one-shot question answers without it."""

import sys
from collections.abc import Mapping
from typing import Any


def is_traced(value: Any) -> bool:
    """Whether it is, or holds, something that a transformation of JAX follows."""
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    if isinstance(value, Mapping):
        return any(map(is_traced, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(is_traced, value))
    return isinstance(value, jax.core.Tracer)


def is_masked(value: Any) -> bool:
    """Whether it is an array of NumPy whose mask hides an entry: what is there is no value."""
    import numpy as np  # not for `dpc info`, which has no values

    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def is_jax_array(value: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)
