"""Contrastive divergence: minus the log-likelihood has the gradient E[score'] less the data's; E by
a few Gibbs sweeps.

Its value is the difference of scores, whose gradient is the estimate; it is no likelihood and falls
to nothing in particular. It vanishes in expectation where the sweeps leave the data's distribution
as it is. With many sweeps the estimate tends to the gradient of minus the log-likelihood.
"""

import jax
import jax.numpy as jnp
import numpy as np

from ..engines.approximate.layout import greedy_colours
from ..engines.tree.structure import Structure
from ..optimise.method import Array
from .conditionals import conditional_logits
from .scores import Tables, score


def contrastive_loss(
    structure: Structure,
    tables: Tables,
    states: Array,
    key: Array,
    sweeps: int = 1,
    weights: Array | None = None,
) -> Array:
    """sum over rows of score(after `sweeps` sweeps) - score(row), the sweeps held constant."""
    held = [jax.lax.stop_gradient(table) for table in tables]
    after = sweep_gibbs(structure, held, states, key, sweeps)
    losses = score(structure, tables, after) - score(structure, tables, states)
    return jnp.sum(losses if weights is None else weights * losses)


def sweep_gibbs(
    structure: Structure, tables: Tables, states: Array, key: Array, sweeps: int
) -> Array:
    """Sweeps of Gibbs sampling from each row; a colour shares no factor, so is drawn at once."""
    scopes = [scope for group in structure.groups for scope in group.scopes.tolist()]
    colours = greedy_colours(len(structure.sizes), scopes)
    classes = [colours == c for c in range(colours.max(initial=-1) + 1)]

    def sweep(number: int, states: Array) -> Array:
        for c, members in enumerate(classes):
            own = jax.random.fold_in(jax.random.fold_in(key, number), c)
            states = draw(structure, tables, states, own, members)
        return states

    return jax.lax.fori_loop(0, sweeps, sweep, states)


def draw(
    structure: Structure, tables: Tables, states: Array, key: Array, members: np.ndarray
) -> Array:
    logits = conditional_logits(structure, tables, states, members)[..., np.flatnonzero(members), :]
    drawn = jax.random.categorical(key, logits).astype(states.dtype)
    return states.at[..., np.flatnonzero(members)].set(drawn)
