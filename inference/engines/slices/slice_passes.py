"""One slice enters: the steps of a plan in an algebra (scaled, log, max-plus), and back."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import optimization_barrier, scan

from ...factors.semirings import first_max
from ..path.layout import Array
from ..path.scaled import finite_top, inverse, log_or_zero, normalise, sum_out
from .slice_plan import Scope, SliceBlock, SlicePlan, Var

Logs = tuple[Array, ...]
Choice = Callable[[Array, Array], Array]


class Algebra(NamedTuple):
    """`contract` sums message[c, e, r] table[c, e, b] over e; `settle` gives size one, log-size."""

    lift: Callable[[Array], Array]
    to_log: Callable[[Array], Array]
    mul: Callable[[Array, Array], Array]
    contract: Callable[[Array, Array], Array]
    total: Callable[[Array, int], Array]
    settle: Callable[[Array], tuple[Array, Array]]


def settle_scaled(message: Array) -> tuple[Array, Array]:
    whole = jnp.sum(message)
    return message * inverse(whole), log_or_zero(whole)


def settle_logs(message: Array) -> tuple[Array, Array]:
    flat, whole = normalise(message.reshape(-1))
    return flat.reshape(message.shape), whole[0]


def settle_max(message: Array) -> tuple[Array, Array]:
    top = jnp.max(message)
    return message - jnp.where(jnp.isneginf(top), 0.0, top), top


def contract_scaled(message: Array, table: Array) -> Array:
    if message.shape[0] == 1:
        return jnp.tensordot(message[0], table[0], ((0,), (0,)))[None]
    return jnp.einsum("cer,ceb->crb", message, table)


def contract_by(total: Callable[[Array, int], Array]) -> Callable[[Array, Array], Array]:
    return lambda message, table: total(message[:, :, :, None] + table[:, :, None, :], 1)


def log_total(x: Array, axis: int) -> Array:
    return sum_out(x, (axis,))  # type: ignore[no-any-return]


def max_total(x: Array, axis: int) -> Array:
    return first_max(x, (axis,), jnp)  # type: ignore[no-any-return]


def unchanged(x: Array) -> Array:
    return x


SCALED = Algebra(jnp.exp, jnp.log, jnp.multiply, contract_scaled, jnp.sum, settle_scaled)
LOGS = Algebra(unchanged, unchanged, jnp.add, contract_by(log_total), log_total, settle_logs)
MAX = Algebra(unchanged, unchanged, jnp.add, contract_by(max_total), max_total, settle_max)


def on_axes(logs: Array, scope: Scope, axes: Scope) -> Array:
    """Values on `scope` as an array that broadcasts over `axes`."""
    order = [scope.index(var) for var in axes if var in scope]
    shape = [logs.shape[scope.index(var)] if var in scope else 1 for var in axes]
    return jnp.transpose(logs, order).reshape(shape)


def table_of(
    plan: SlicePlan, block: SliceBlock, logs: Logs, algebra: Algebra
) -> tuple[Array, Array]:
    """The block's factors as [kept, summed, local, born], each axis merged; and the top taken."""
    total = log_product(plan, block.table, block.factors, logs)
    top = finite_top(total, tuple(range(total.ndim)))
    shape = [prod(plan.shape(part)) for part in (block.kept, block.summed, block.local, block.born)]
    return algebra.lift((total - top).reshape(shape)), top.reshape(())


def log_product(plan: SlicePlan, axes: Scope, chosen: tuple[int, ...], logs: Logs) -> Array:
    """The sum of log-factors over `axes`; halves of the variables are summed up first, as they are
    small. The barrier keeps the compiler from doing their work again at every entry.
    """
    total = jnp.zeros(plan.shape(axes), logs[0].dtype)
    numbers = sorted({v for _, v in axes})
    early = set(numbers[: len(numbers) // 2])
    for is_early in (True, False):
        half = tuple(v for v in axes if (v[1] in early) == is_early)
        within = tuple(i for i in chosen if set(plan.scopes[i]) <= set(half))
        if len(within) > 1 and len(half) < len(axes):
            chosen = tuple(i for i in chosen if i not in within)
            part = optimization_barrier(log_product(plan, half, within, logs))
            total = total + on_axes(part, half, axes)
    for i in chosen:
        total = total + on_axes(logs[i], plan.scopes[i], axes)
    return total


def merged(plan: SlicePlan, block: SliceBlock, message: Array) -> Array:
    """[kept, summed, rest], each merged into one axis."""
    parts = (block.kept, block.summed, block.rest)
    order = [block.before.index(var) for part in parts for var in part]
    moved = jnp.transpose(message.reshape(plan.shape(block.before)), order)
    return moved.reshape([prod(plan.shape(part)) for part in parts])


def apply_block(
    plan: SlicePlan, block: SliceBlock, message: Array, logs: Logs, algebra: Algebra
) -> tuple[Array, Array]:
    """The message on `block.after`, and the log of what was taken out."""
    table, taken = table_of(plan, block, logs, algebra)
    message = algebra.contract(merged(plan, block, message), algebra.total(table, 2))
    message = message.reshape(plan.shape(block.after))
    for i in block.touches:
        top = finite_top(logs[i], tuple(range(logs[i].ndim)))
        factor = on_axes(algebra.lift(logs[i] - top), plan.scopes[i], block.after)
        message = algebra.mul(message, factor)
        taken = taken + top.reshape(())
    return message, taken


def advance(plan: SlicePlan, algebra: Algebra, message: Array, logs: Logs) -> tuple[Array, Array]:
    """The message after one more slice, of unit size, and the log of its size."""
    taken = jnp.zeros((), message.dtype)
    axes = plan.entry
    for block in plan.blocks:
        message, top = apply_block(plan, block, message, logs, algebra)
        taken, axes = taken + top, block.after
    message = jnp.transpose(message, [axes.index(var) for var in plan.leave])
    message, size = algebra.settle(message)
    return message, taken + size


def run_slices(
    plan: SlicePlan, algebra: Algebra, logs: Logs, keep: bool
) -> tuple[Array, Array, Any]:
    """The last message, all log-sizes [T], and if asked the message before each [T, ...]."""

    def step(message: Array, read: Logs) -> tuple[Array, tuple[Array, Array | None]]:
        new, size = advance(plan, algebra, message, read)
        return new, (size, message if keep else None)

    # Before the first slice all is in state 0, which no factor sees.
    shape = plan.shape(plan.entry)
    first = jnp.full(shape, -jnp.inf, logs[0].dtype).reshape(-1).at[0].set(0.0).reshape(shape)
    last, (sizes, messages) = scan(step, algebra.lift(first), logs)
    return last, sizes, messages


def pull_back(
    plan: SlicePlan, algebra: Algebra, logs: Logs, messages: Array, weight: Array
) -> Logs:
    """The gradient of the sum of log-sizes: each slice done again from its message, reversed."""

    def step(change: Array, read: tuple[Array, Logs]) -> tuple[Array, Logs]:
        message, values = read
        _, reverse = jax.vjp(lambda m, v: advance(plan, algebra, m, v), message, values)
        back, found = reverse((change, weight))
        return back, found

    return scan(step, jnp.zeros_like(messages[0]), (messages, logs), reverse=True)[1]


def decode(plan: SlicePlan, algebra: Algebra, logs: Logs, choose: Choice, uniforms: Array) -> Array:
    """States [T, draws, variables], the last slice first: each block's choice among what it summed
    is made again. `uniforms` [T + 1, blocks, draws].
    """
    draws = uniforms.shape[-1]
    last, _, messages = run_slices(plan, algebra, logs, keep=True)

    def terms(block: SliceBlock, message: Array, values: Logs, known: dict[Var, Array]) -> Array:
        """[draws, states of `summed` and `local`], given all that the block leaves."""

        def position(scope: Scope) -> Array:
            """On merged axes, of the states of each draw."""
            found = jnp.zeros(draws, int)
            for var in scope:
                found = found * plan.sizes[var[1]] + known[var]
            return found

        table, _ = table_of(plan, block, values, algebra)
        kept, rest, born = position(block.kept), position(block.rest), position(block.born)
        rows = algebra.to_log(merged(plan, block, message)[kept, :, rest])[:, :, None]
        return (rows + algebra.to_log(table[kept, :, :, born])).reshape(draws, -1)

    def step(states: dict[Var, Array], read: tuple[Array, Logs, Array]) -> Any:
        message, values, uniform = read
        known = {(lag - 1, v): x for (lag, v), x in states.items()}
        before = [message]
        for block in plan.blocks[:-1]:
            before.append(apply_block(plan, block, before[-1], values, algebra)[0])
        for k, block in reversed(list(enumerate(plan.blocks))):
            chosen = choose(terms(block, before[k], values, known), uniform[k])
            known |= unravel(plan, block.summed + block.local, chosen)
        found = jnp.stack([known[0, v] for v in range(len(plan.sizes))], axis=-1)
        return {var: known[var] for var in plan.entry}, found

    flat = jnp.broadcast_to(algebra.to_log(last).reshape(-1), (draws, last.size))
    first = unravel(plan, plan.entry, choose(flat, uniforms[-1, 0]))
    _, states = scan(step, first, (messages, logs, uniforms[:-1]), reverse=True)
    return jnp.asarray(states)


def unravel(plan: SlicePlan, scope: Scope, position: Array) -> dict[Var, Array]:
    if scope:
        return dict(zip(scope, jnp.unravel_index(position, plan.shape(scope)), strict=True))
    return {}
