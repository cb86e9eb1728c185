"""The k best sequences of a chain, in order: Viterbi on lists of length k."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.lax import scan

from ..errors import InferenceError
from .decode import Sequences, pair_rows
from .functionals import score_by_time
from .layout import Array, ArrayLike, Chain, Transition, lay_out, pair_at, transitions
from .scaled import finite_top


def kbest(log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike | None = None, *, k: int) -> Sequences:
    """The k best sequences, best first: `states` [k, ..., T] and `score` [k, ...], minus infinity where there are fewer."""
    if k < 1:
        raise InferenceError(f"k is at least 1, not {k}")
    laid = lay_out(log_unary, log_pair, length)
    chain = laid.chain
    values = lists_to_go(chain, k)
    first = select(values[0][:, :, :, None], k)
    states = follow_lists(chain, values, first)
    if chain.inside is not None:
        states = jnp.where(chain.inside[:, None, :, 0], states, 0)
    scores = jnp.where(first.value[:, :, 0] > -inf, score_by_time(chain, states), -inf)
    shape = (k, *laid.batch)
    return Sequences(jnp.moveaxis(states, 0, -1).reshape(*shape, chain.steps), scores.reshape(shape))


class Selected(NamedTuple):
    """The k best of lists that are sorted along axis 0, one list per position along axis -2: [k, ...]."""

    value: Array
    position: Array
    rank: Array


def select(lists: Array, k: int) -> Selected:
    """k times: the best head of all lists (the first if they tie), whose list moves up by one."""
    index = lax.broadcasted_iota(jnp.int32, lists.shape[1:], lists.ndim - 3)
    taken = jnp.zeros_like(index)
    found = []
    for _ in range(k):
        head = lists[0]
        value = jnp.max(head, axis=-2, keepdims=True)
        position = jnp.min(jnp.where(head == value, index, lists.shape[-2] - 1), axis=-2, keepdims=True)
        here = index == position
        rank = jnp.sum(jnp.where(here, taken, 0), axis=-2)
        found.append((value[..., 0, :], position[..., 0, :], rank))
        taken = jnp.where(here, taken + 1, taken)
        lists = jnp.where(here[None], lists[1:], lists[:-1]) if len(lists) > 1 else jnp.where(here[None], -inf, lists)
    return Selected(*(jnp.stack(column) for column in zip(*found, strict=True)))


def lists_to_go(chain: Chain, k: int) -> Array:
    """v_t(i) = the k best of unary[t, i] + pair[t, i, j] + v_{t+1}(j)[r] over j and r; [T, k, B, K]."""
    alone = jnp.full((chain.steps, k - 1, *chain.unary.shape[1:]), -inf, chain.unary.dtype)
    single = jnp.concatenate([chain.unary[:, None], alone], axis=1)

    def retreat(ahead: Array, read: tuple[Array, Transition]) -> tuple[Array, Array]:
        single, step = read
        turned = jnp.swapaxes(pair_at(chain, step), 1, 2)[None]
        new = select(ahead[..., None] + turned, k).value + single[:1]
        new = new - finite_top(new[:1], (-1,))
        new = new if step.inside is None else jnp.where(step.inside[None], new, single)
        return new, new

    _, values = scan(retreat, single[-1], (single[:-1], transitions(chain)), reverse=True)
    return jnp.concatenate([values, single[-1:]])


def follow_lists(chain: Chain, values: Array, first: Selected) -> Array:
    """Path p goes on to the entry of its list that it stands for; [T, k, B]."""
    k = values.shape[1]

    def advance(place: tuple[Array, Array], read: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        (state, rank), (time, ahead) = place, read
        rows = pair_rows(chain, time, state)
        chosen = select((ahead[:, None] + rows[None])[..., None], k)
        new = tuple(jnp.take_along_axis(x[..., 0], rank[None], axis=0)[0] for x in (chosen.position, chosen.rank))
        return (new[0], new[1]), new[0]

    state, rank = first.position[:, :, 0], first.rank[:, :, 0]
    _, rest = scan(advance, (state, rank), (jnp.arange(chain.steps - 1), values[1:]))
    return jnp.concatenate([state[None], rest])
