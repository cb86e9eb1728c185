"""Parameters and data for a question: checked, in the precision of the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from dpc.dsl.diagnostics import did_you_mean

from ..data.bound import Data
from ..exits import UsageError

if TYPE_CHECKING:
    from .model import Model


def known_inputs(
    model: Model, params: Mapping[str, Any], sources: Sequence[Any], seed: int, partial: bool
) -> tuple[dict[str, Any], Data]:
    """Parameters where they start, but for those that are given, and bound data."""
    data = sources[0] if _is_bound(sources) else model.bind(*sources, partial=partial)
    try:
        found = model.init(jax.random.key(seed), data)
    except ValueError as error:
        raise UsageError(str(error)) from None
    for name, value in params.items():
        if name not in found:
            hint = did_you_mean(name, found)
            raise UsageError(f"the model has no parameter `{name}`{hint and f'; {hint}'}")
        if jnp.shape(value) != found[name].shape:
            shapes = f"{found[name].shape}, but `params=` gives {jnp.shape(value)}"
            raise UsageError(f"`{name}` has shape {shapes}")
        found[name] = jnp.asarray(value, float)
    return found, data


def _is_bound(sources: Sequence[Any]) -> bool:
    return len(sources) == 1 and isinstance(sources[0], Data)
