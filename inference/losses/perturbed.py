"""Perturb-and-MAP: log Z <= E[max_x score(x) + sum_v G_v(x_v)], G Gumbel noise of mean zero (CV20,
CV21).

The gradient of the bound is the frequency of the entries that the perturbed modes read. Modes must
be certain for it to be a bound. Noise enters as evidence, so that any engine that finds a mode
given log-evidence serves.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ..engines.tree.structure import Structure
from ..optimise.method import Array
from .scores import Tables, score, verify_tables

Solve = Callable[[Tables, Array], Array]


def perturbed_log_partition(
    structure: Structure, solve: Solve, tables: Tables, key: Array, samples: int = 10
) -> Array:
    """The mean of `samples` perturbed maxima; `solve(tables, log_evidence)` gives a mode."""
    verify_tables(structure, tables)
    held = [jax.lax.stop_gradient(table) for table in tables]
    shape = samples, len(structure.sizes), structure.most_states
    noise = jax.random.gumbel(key, shape, jnp.result_type(*tables)) - np.euler_gamma
    modes = jax.lax.map(lambda own: solve(held, own), noise)
    extra = jnp.sum(jnp.take_along_axis(noise, modes[..., None], axis=-1), axis=(-2, -1))
    return jnp.mean(score(structure, tables, modes) + extra)


def perturbed_loss(
    structure: Structure,
    solve: Solve,
    tables: Tables,
    states: Array,
    key: Array,
    samples: int = 10,
    weights: Array | None = None,
) -> Array:
    """sum over rows of the bound of log Z - score(row), above -log-likelihood on average."""
    losses = perturbed_log_partition(structure, solve, tables, key, samples) - score(
        structure, tables, states
    )
    return jnp.sum(losses if weights is None else weights * losses)
