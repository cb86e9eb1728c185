"""A chain: p(x) ~ exp(sum_t unary[t, x_t] + sum_t pair[t, x_t, x_{t+1}]); -inf is a zero.

Callers give `log_unary` [..., T, K] and `log_pair` [K, K] (the same at every step), [T-1, K, K],
[..., T-1, K, K] or [..., 1, K, K]; leading axes are a batch and run as one. `length` [...] says how
many steps of each sequence are real: what lies beyond them is ignored. Where `fresh` [..., T] is
given, a row holds several sequences: it is True where one starts, and what is given back is of all
of them. Inside this folder the batch is one axis, after time, but before it in pair potentials,
which are large and are read where they lie.
"""

from collections.abc import Callable
from math import exp, prod
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.lax import dynamic_index_in_dim

from ...errors import InferenceError

Array = jax.Array
ArrayLike = Any
Domain = Literal["auto", "scaled", "log", "checked"]
WIDE, HALF, NARROW = 0.6, 0.5, 0.45
FEW_STATES = 8  # up to which a sum of products is faster than small products of matrices


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
    unary = jnp.broadcast_to(unary, (*batch, steps, states)).reshape(-1, steps, states)
    unary = jnp.moveaxis(unary, 0, 1)
    inside = starts = None
    if length is not None:
        lengths = jnp.broadcast_to(jnp.asarray(length), batch).reshape(-1)
        inside = jnp.arange(steps)[:, None, None] < lengths[None, :, None]
        unary = jnp.where(inside, unary, jnp.zeros((), unary.dtype))
    if fresh is not None:
        starts = jnp.broadcast_to(jnp.asarray(fresh), (*batch, steps)).reshape(-1, steps)
        starts = starts.T[..., None]
    return Laid(Chain(unary, pair_by_batch(pair, batch), inside, starts), batch)


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


# ---- Which arithmetic a pass runs in: scaled numbers where nothing can underflow, else logarithms
#
# Scaled messages lose what falls below the smallest number of the dtype. That is harmless if (a)
# no pair potential is zero and none spans more than WIDE of the exponent range: what is lost
# before a step can count for at most exp(range of the pair potential) times its share after it,
# whatever the unary potentials are; it does not happen if (b) the finite potentials of a step
# span at most NARROW of the range, and no non-zero entry of any message came below HALF of it.
# (a) is read off the potentials; (b) off the messages, and only where (a) fails, as it does with
# zeros in the pair potentials. Where both fail the same questions are answered in logarithms.
# To compile both ways takes twice as long as one. The domain "checked" is for those who may ask
# again: the scaled way alone, and NaN in place of log Z where "auto" would answer in logarithms.


def verify_domain(domain: Domain, *, of_log_partition: bool = False) -> None:
    known = [one for one in get_args(Domain) if one != "checked" or of_log_partition]
    if domain not in known:
        raise InferenceError(f"domain is one of {', '.join(known)}, not {domain!r}")


def exponent_range(dtype: Any) -> float:
    """-log of the smallest normal number: 87 in float32, 708 in float64."""
    return float(-np.log(np.finfo(dtype).tiny))


def lowest_finite(logs: Array) -> Array:
    """The least log-weight that is not -inf (0 if none is); tops are already subtracted."""
    return jnp.min(jnp.where(jnp.isneginf(logs), 0.0, logs), initial=0.0)


def lowest_positive(values: Array) -> Array:
    return jnp.min(jnp.where(values > 0, values, 1.0), initial=1.0)


def nothing_lost(spans: Array, messages: Array) -> Array:
    """(b): `spans` is the sum of the ranges of the finite potentials of the widest step."""
    limit = exponent_range(messages.dtype)
    return (spans <= NARROW * limit) & (lowest_positive(messages) >= exp(-HALF * limit))


@custom_vmap
def everywhere(flag: Array) -> Array:
    """The flag; under vmap, whether all are set, so that `lax.cond` runs one branch, not both."""
    return flag


@everywhere.def_vmap
def everywhere_in_batch(axis_size: int, in_batched: list[bool], flag: Array) -> tuple[Array, bool]:
    return jnp.all(flag), False


def choose_domain(
    domain: Domain, safe: Callable[[], Array], scaled: Callable[[], Any], logs: Callable[[], Any]
) -> Any:
    """In scaled numbers if asked or `safe`, else in logarithms; log Z is the first of it."""
    if domain == "auto":
        return jax.lax.cond(everywhere(safe()), scaled, logs)
    if domain == "checked":
        (log_z, *rest), structure = jax.tree.flatten(scaled())
        return jax.tree.unflatten(structure, [jnp.where(safe(), log_z, jnp.nan), *rest])
    return scaled() if domain == "scaled" else logs()


# ---- d log Z = sum_t p(x_t) d unary_t + sum_t p(x_t, x_{t+1}) d pair_t, for each sequence
#
# The pair marginals, T K K numbers a sequence, are never kept, but made from two sides where they
# are used: in scaled numbers p(i, j) = left_i exp(pair_ij - top) right_j, in logarithms p(i, j) =
# exp(left_i + pair_ij + right_j). Where all steps share a potential, their sum over the steps is
# enough; where the batch shares it, the first is a product of matrices; where each has its own,
# there is one exponential to take for each number, and the second is as fast, and always safe.


class Sides(NamedTuple):
    """[T-1, B, K] each, as scaled numbers or as logarithms."""

    left: Array
    right: Array
    is_scaled: Array


class Statistics(NamedTuple):
    """`unary` [T, B, K]; of pairs `counts` [B, K, K] where steps share a potential, or `sides`."""

    unary: Array
    counts: Array | None = None
    sides: Sides | None = None


def sum_of_outer(left: Array, right: Array) -> Array:
    """sum_t left[t, b, i] right[t, b, j]."""
    if left.shape[-1] > FEW_STATES:
        return jnp.einsum("tbi,tbj->bij", left, right)
    return jnp.sum(left[..., :, None] * right[..., None, :], axis=0)


def has_own_pairs(chain: Chain) -> bool:
    """A pair potential for each step of each sequence."""
    return not chain.same_pair and bool(chain.pair.shape[0] == chain.unary.shape[1])


def change_by_pair(chain: Chain, sides: Sides, weights: Array, change: Array) -> Array:
    """`weights` are exp(pair - top), and `change` has the shape of the pair potentials; [B]."""
    if has_own_pairs(chain):
        return change_by_logs(chain, sides, change)
    # what the second branch computes from its arguments is not to be kept in case it is needed
    by_logs = jax.checkpoint(change_by_logs)
    scaled = everywhere(sides.is_scaled)

    def by_products() -> Array:
        """The batch shares the potentials of every step."""
        moved = jnp.einsum("tbi,tij->tbj", sides.left, (weights * change)[0])
        return jnp.sum(moved * sides.right, axis=(0, 2))

    return jax.lax.cond(scaled, by_products, lambda: by_logs(chain, sides, change))  # type: ignore[no-any-return]


def change_by_logs(chain: Chain, sides: Sides, change: Array) -> Array:
    left, right = jnp.swapaxes(sides.left, 0, 1), jnp.swapaxes(sides.right, 0, 1)
    marginals = jnp.exp(left[..., :, None] + masked_pair(chain) + right[..., None, :])
    return jnp.sum(marginals * change, axis=(1, 2, 3))
