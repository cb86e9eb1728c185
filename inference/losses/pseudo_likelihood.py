"""Pseudo-likelihood: minus the sum over rows and variables of log p(x_v | rest).

No partition function: each conditional is normalised over the states of one variable. Its minimum
tends to that of minus the log-likelihood as rows grow, and is the same function where variables are
independent.
"""

from collections.abc import Collection

import jax
import jax.numpy as jnp
import numpy as np

from ..engines.tree.structure import Structure
from ..optimise.method import Array
from .conditionals import conditional_logits
from .scores import Tables, verify_states, verify_tables


def pseudo_likelihood(
    structure: Structure,
    tables: Tables,
    states: Array,
    weights: Array | None = None,
    predicted: Collection[int] | None = None,
) -> Array:
    """`weights` of the rows; `predicted` are the variables not always given, or all."""
    verify_tables(structure, tables)
    verify_states(structure, states)
    chosen = np.array(range(len(structure.sizes)) if predicted is None else sorted(predicted), int)
    wanted = np.isin(np.arange(len(structure.sizes)), chosen)
    logits = conditional_logits(structure, tables, states, wanted)[..., chosen, :]
    own = jnp.take_along_axis(logits, states[..., chosen, None], axis=-1)[..., 0]
    losses = jnp.sum(jax.nn.logsumexp(logits, axis=-1) - own, axis=-1)
    return jnp.sum(losses if weights is None else weights * losses)
