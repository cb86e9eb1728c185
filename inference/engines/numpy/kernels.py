"""One product of two tensors summed over what the output lacks.

Letters fall into four groups: batch b (in both and kept), inner k (in both and summed), rows m
(left alone), columns n (right alone). Small products are left to einsum as they are. Large ones are
worth a transpose: to a matrix product per batch, or to a loop whose innermost group is long; einsum
over many short axes spends its time between the axes.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import NamedTuple

import numpy as np

from ...factors.factor_graph import Floats

try:  # the loop itself: np.einsum reads its options for longer than a small product takes
    from numpy._core.multiarray import c_einsum
except ImportError:
    c_einsum = np.einsum
einsum: Callable[..., Floats] = c_einsum
LARGE = 2048
ONE_THREAD = 1 << 18  # OpenBLAS uses more threads for larger products
# nanoseconds
MATRIX_CALL, MATRIX_TERM, COPIED_ENTRY, LOOP_TERM, LOOP_TURN = 250.0, 0.2, 4.0, 0.8, 20.0
FAR, FAR_ENTRY = 1 << 20, 12.0  # entries beyond the cache, and what copying one then takes


class Groups(NamedTuple):
    batch: str
    inner: str
    rows: str
    columns: str


class Gemm(NamedTuple):
    """out[b, m, n] = sum_k left[b, m, k] right[b, k, n], axes grouped by transpose and reshape. The
    rows are split into blocks small enough for the matrix library to stay on one thread: on a busy
    machine its threads wait for each other far longer than they compute.
    """

    left_axes: tuple[int, ...]
    left_shape: tuple[int, ...]
    left_turn: tuple[int, ...]
    right_axes: tuple[int, ...]
    right_shape: tuple[int, ...]
    right_turn: tuple[int, ...]
    shape: tuple[int, ...]
    subscripts: str

    def run(self, left: Floats, right: Floats) -> Floats:
        a = left.transpose(self.left_axes).reshape(self.left_shape).transpose(self.left_turn)
        b = right.transpose(self.right_axes).reshape(self.right_shape).transpose(self.right_turn)
        out: Floats = np.matmul(a, b).reshape(self.shape)
        return out


class EinsumLoop(NamedTuple):
    """einsum on grouped axes, the longest group innermost."""

    left_axes: tuple[int, ...]
    left_shape: tuple[int, ...]
    right_axes: tuple[int, ...]
    right_shape: tuple[int, ...]
    expression: str
    shape: tuple[int, ...]
    subscripts: str

    def run(self, left: Floats, right: Floats) -> Floats:
        a = left.transpose(self.left_axes).reshape(self.left_shape)
        b = right.transpose(self.right_axes).reshape(self.right_shape)
        return einsum(self.expression, a, b).reshape(self.shape)


Kernel = Gemm | EinsumLoop


def choose_kernel(left: str, right: str, out: str, sizes: Mapping[str, int]) -> Kernel | None:
    """The kernel that should be fastest (with an axis order of its own); None for einsum."""
    groups = group_letters(left, right, out)
    if groups is None:
        return None
    b, k, m, n = (prod([sizes[x] for x in group]) for group in groups)
    work = b * k * m * n
    copied = (COPIED_ENTRY if b * k * max(m, n) < FAR else FAR_ENTRY) * b * k * (m + n)
    plain = plain_cost(left, right, out, sizes, work)
    matrices = b * MATRIX_CALL + work * MATRIX_TERM + copied if m > 1 and n > 1 else plain
    loop = work * (LOOP_TERM + LOOP_TURN / max(b, k, m, n)) + copied
    if plain <= min(matrices, loop):
        return None
    if matrices < loop:
        return make_gemm(left, right, groups, sizes)
    return make_loop(left, right, groups, sizes)


def group_letters(left: str, right: str, out: str) -> Groups | None:
    """The four groups, each in the axis order of the larger tensor that has it."""
    in_out, in_right, in_left = set(out), set(right), set(left)
    larger, in_other = (left, in_right) if len(left) >= len(right) else (right, in_left)
    batch = "".join([x for x in larger if x in in_other and x in in_out])
    inner = "".join([x for x in larger if x in in_other and x not in in_out])
    rows = "".join([x for x in left if x not in in_right])
    columns = "".join([x for x in right if x not in in_left])
    if not in_out.issuperset(rows + columns):
        return None
    return Groups(batch, inner, rows, columns)


def plain_cost(left: str, right: str, out: str, sizes: Mapping[str, int], work: int) -> float:
    """Nanoseconds of einsum as it is: it runs along last axes that all three step alike."""
    tensors = (left, right, out)
    widest = max(tensors, key=len)
    run = sizes[widest[-1]]
    for x, y in zip(widest[-2::-1], widest[:0:-1], strict=True):
        if not all(
            (x in s) == (y in s) and (x not in s or s.index(x) + 1 == s.index(y)) for s in tensors
        ):
            break
        run *= sizes[x]
    scattered = any(widest[-1] in s[:-1] for s in tensors)
    return work * ((3 if scattered else 1) * LOOP_TERM + LOOP_TURN / run)


def axes_and_shape(
    subscripts: str, order: list[str], sizes: Mapping[str, int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The transpose that puts the groups in order, and the shape with each group as one axis."""
    axes = tuple([subscripts.index(x) for group in order for x in group])
    return axes, tuple([prod([sizes[x] for x in group]) for group in order])


def make_gemm(left: str, right: str, groups: Groups, sizes: Mapping[str, int]) -> Gemm:
    batch, inner, rows, columns = groups
    left_turned, right_turned = left[-1] in rows, right[-1] in inner
    left_order = [batch, inner, rows] if left_turned else [batch, rows, inner]
    right_order = [batch, columns, inner] if right_turned else [batch, inner, columns]
    left_axes, left_shape = axes_and_shape(left, left_order, sizes)
    right_axes, right_shape = axes_and_shape(right, right_order, sizes)
    m = prod([sizes[x] for x in rows])
    block = block_rows(m, right_shape[1] * right_shape[2])
    split = (m // block, block)
    result = batch + rows + columns
    return Gemm(
        left_axes,
        (*left_shape[:2], *split) if left_turned else (left_shape[0], *split, left_shape[2]),
        (0, 2, 3, 1) if left_turned else (0, 1, 2, 3),
        right_axes,
        (right_shape[0], 1, *right_shape[1:]),
        (0, 1, 3, 2) if right_turned else (0, 1, 2, 3),
        tuple([sizes[x] for x in result]),
        result,
    )


def block_rows(rows: int, work: int) -> int:
    """The largest divisor of `rows` that keeps rows * work on one thread, or all of them."""
    most = min(rows, ONE_THREAD // work)
    return next((d for d in range(most, 0, -1) if rows % d == 0), rows)


def make_loop(left: str, right: str, groups: Groups, sizes: Mapping[str, int]) -> EinsumLoop:
    named = dict(zip("bkmn", groups, strict=True))
    longest = max(named, key=lambda g: prod([sizes[x] for x in named[g]]))
    left_order, right_order, out_order = (
        [g for g in order if g != longest] + ([longest] if longest in order else [])
        for order in ("bmk", "bkn", "bmn")
    )
    left_axes, left_shape = axes_and_shape(left, [named[g] for g in left_order], sizes)
    right_axes, right_shape = axes_and_shape(right, [named[g] for g in right_order], sizes)
    expression = f"{''.join(left_order)},{''.join(right_order)}->{''.join(out_order)}"
    result = "".join([named[g] for g in out_order])
    shape = tuple([sizes[x] for x in result])
    return EinsumLoop(left_axes, left_shape, right_axes, right_shape, expression, shape, result)
