"""The mean of an objective with finite draws as the sum over all their values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpc
from dpc.dsl.graph.graph import Kind
from dpc.dsl.graph.types import Bool


def joint_values(model: dpc.Model) -> dict[str, Any]:
    """All values of all draws, along a first axis."""
    draws = model.graph.of_kind(Kind.DRAW)
    shapes = [tuple(axis.size for axis in node.type.shape) for node in draws]
    counts = [
        2 if isinstance(node.type.domain, Bool) else node.type.domain.dim.size for node in draws
    ]
    each = [
        list(itertools.product(range(n), repeat=int(np.prod(s))))
        for n, s in zip(counts, shapes, strict=True)
    ]
    found = {}
    for node, shape, column in zip(
        draws, shapes, zip(*itertools.product(*each), strict=True), strict=True
    ):
        values = np.array(column).reshape(-1, *shape)
        found[node.name] = values.astype(bool) if isinstance(node.type.domain, Bool) else values
    return found


def brute_force(model: dpc.Model) -> Callable[[Any], jax.Array]:
    values = joint_values(model)

    def mean(params: Any) -> jax.Array:
        mass = jax.vmap(lambda v: jnp.exp(model.log_prob(params, v)))(values)
        return jnp.sum(mass * jax.vmap(lambda v: model.value(params, None, v))(values))

    return mean
