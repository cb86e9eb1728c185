"""A chain: p(x) ~ exp(sum_t unary[t, x_t] + sum_t pair[t, x_t, x_{t+1}]); -inf is a zero.

Callers give `log_unary` [..., T, K] and `log_pair` [K, K] (the same at every step), [T-1, K, K],
[..., T-1, K, K] or [..., 1, K, K]; leading axes are a batch and run as one. `length` [...] says how
many steps of each sequence are real: what lies beyond them is ignored. Where `fresh` [..., T] is
given, a row holds several sequences: it is True where one starts, and what is given back is of all
of them. Inside this folder the batch is one axis, after time, but before it in pair potentials,
which are large and are read where they lie.
"""

from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import dynamic_index_in_dim

from ...errors import InferenceError

Array = jax.Array
ArrayLike = Any


class Chain(NamedTuple):
    """`unary` [T, B, K], `pair` [1 or B, 1 or T-1, K, K]; `inside` [T, B, 1] is False in the
    padding (None: no padding), `fresh` [T, B, 1] True where a sequence starts (None: one a row).
    """

    unary: Array
    pair: Array
    inside: Array | None
    fresh: Array | None = None

    @property
    def steps(self) -> int:
        return int(self.unary.shape[0])

    @property
    def states(self) -> int:
        return int(self.unary.shape[-1])

    @property
    def same_pair(self) -> bool:
        """One pair potential for all steps."""
        return bool(self.pair.shape[1] == 1)

    @property
    def shared_pair(self) -> bool:
        """One pair potential for the whole batch."""
        return bool(self.pair.shape[0] == 1)


class Laid(NamedTuple):
    """A chain, and the batch axes that its results get back."""

    chain: Chain
    batch: tuple[int, ...]


def lay_out(
    log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike = None, fresh: ArrayLike = None
) -> Laid:
    """Time first, batch axes merged into one, padding made harmless."""
    unary, pair = as_floats(log_unary, log_pair)
    if unary.ndim < 2 or 0 in unary.shape[-2:]:
        raise InferenceError(
            f"log_unary has shape {unary.shape}; it needs [..., T, K] with T and K at least 1"
        )
    steps, states = unary.shape[-2:]
    fits = pair.ndim >= 2 and pair.shape[-2:] == (states, states)
    if fits and pair.ndim > 2:
        fits = pair.shape[-3] in (1, steps - 1)
    if not fits:
        raise InferenceError(
            f"log_pair has shape {pair.shape}; with log_unary {unary.shape} it needs "
            f"({states}, {states}) or [..., {steps - 1}, {states}, {states}], "
            "or 1 for the steps if all are the same"
        )
    batch = np.broadcast_shapes(unary.shape[:-2], pair.shape[:-3])
    inside = inside_of(length, batch, unary.shape[-2])
    unary = jnp.moveaxis(
        jnp.broadcast_to(unary, (*batch, *unary.shape[-2:])).reshape(-1, *unary.shape[-2:]), 0, 1
    )
    if inside is not None:
        unary = jnp.where(inside, unary, jnp.zeros((), unary.dtype))
    return Laid(
        Chain(unary, pair_by_batch(pair, batch), inside, starts_of(fresh, batch, unary.shape[0])),
        batch,
    )


def as_floats(*arrays: ArrayLike) -> list[Array]:
    """All in one floating dtype: the widest among them."""
    given = [jnp.asarray(a) for a in arrays]
    dtype = jnp.result_type(
        *[a.dtype for a in given],
        *([] if any(jnp.issubdtype(a.dtype, jnp.floating) for a in given) else [float]),
    )
    return [a.astype(dtype) for a in given]


def pair_by_batch(pair: Array, batch: tuple[int, ...]) -> Array:
    """[batch or 1, time or 1, K, K]; zeros that nothing reads where there is no transition."""
    if pair.ndim > 2 and pair.shape[-3] == 0:
        return jnp.zeros((1, 1, *pair.shape[-2:]), pair.dtype)
    if prod(pair.shape[:-3]) == 1:
        return pair.reshape(1, 1 if pair.ndim == 2 else pair.shape[-3], *pair.shape[-2:])
    return jnp.broadcast_to(pair, (*batch, *pair.shape[-3:])).reshape(prod(batch), *pair.shape[-3:])


def inside_of(length: ArrayLike, batch: tuple[int, ...], steps: int) -> Array | None:
    if length is None:
        return None
    lengths = jnp.broadcast_to(jnp.asarray(length), batch).reshape(-1)
    return jnp.arange(steps)[:, None, None] < lengths[None, :, None]


def starts_of(fresh: ArrayLike, batch: tuple[int, ...], steps: int) -> Array | None:
    if fresh is None:
        return None
    return jnp.broadcast_to(jnp.asarray(fresh), (*batch, steps)).reshape(-1, steps).T[..., None]


def batch_first(x: Array, batch: tuple[int, ...]) -> Array:
    """[T, B, ...] to [..., T, ...]."""
    moved = jnp.moveaxis(x, 0, 1)
    return moved.reshape(*batch, *moved.shape[1:])


def states_by_time(states: ArrayLike, laid: Laid) -> tuple[Array, tuple[int, ...]]:
    """[draws..., batch..., T] to [T, draws, B], and the axes of one number per sequence."""
    given = jnp.asarray(states)
    if not jnp.issubdtype(given.dtype, jnp.integer) or given.shape[-1:] != (laid.chain.steps,):
        raise InferenceError(
            f"states are integers [..., {laid.chain.steps}], not {given.dtype} {given.shape}"
        )
    shape = np.broadcast_shapes(given.shape[:-1], laid.batch)
    rows = jnp.broadcast_to(given, (*shape, laid.chain.steps))
    return jnp.moveaxis(rows.reshape(-1, laid.chain.unary.shape[1], laid.chain.steps), -1, 0), shape


class Transition(NamedTuple):
    """What a scan over transitions reads; `pair` if one potential a step serves the batch."""

    time: Array
    pair: Array | None
    inside: Array | None
    fresh: Array | None


def transitions(chain: Chain) -> Transition:
    pair = None if chain.same_pair or not chain.shared_pair else chain.pair[0][:, None]
    inside, fresh = (None if mask is None else mask[1:] for mask in (chain.inside, chain.fresh))
    return Transition(jnp.arange(chain.steps - 1), pair, inside, fresh)


def linked(step: Transition) -> Array | None:
    """Whether both ends of a transition are of one sequence; None where all are."""
    if step.inside is None or step.fresh is None:
        return step.inside if step.fresh is None else ~step.fresh
    return step.inside & ~step.fresh


def pair_at(chain: Chain, step: Transition) -> Array:
    """The pair potential of one step, [1 or B, K, K]; 0 in the padding, whatever it holds."""
    if chain.same_pair:
        return chain.pair[:, 0]
    pair: Array | None = step.pair
    if pair is None:
        pair = dynamic_index_in_dim(chain.pair, step.time, 1, keepdims=False)
    if step.inside is None:
        return pair
    real = jnp.any(step.inside, axis=0, keepdims=True) if chain.shared_pair else step.inside
    return jnp.where(real[:, :, None], pair, jnp.zeros((), pair.dtype))


def masked_pair(chain: Chain) -> Array:
    """All pair potentials, 0 in the padding."""
    if chain.inside is None or chain.same_pair:
        return chain.pair
    inside = jnp.swapaxes(chain.inside[1:], 0, 1)
    real = jnp.any(inside, axis=0, keepdims=True) if chain.shared_pair else inside
    return jnp.where(real[..., None], chain.pair, jnp.zeros((), chain.pair.dtype))


def keep_padding(inside: Array | None, new: Array, old: ArrayLike) -> Array:
    """The new message, and the old one in the padding."""
    return new if inside is None else jnp.where(inside, new, old)


def start_anew(fresh: Array | None, new: Array, first: Array) -> Array:
    """The new message, and the first one of a sequence that starts here."""
    return new if fresh is None else jnp.where(fresh, first, new)
