"""The pieces of a variable must define each of its elements exactly once.

Along every axis the ends of all pieces cut the axis into ranges; a cell is one range of every axis.
"""

from itertools import product

from ..diagnostics import Label
from ..graph import core as c
from ..graph.typed import Cut, Piece, cut_axis, interval
from ..graph.types import Shape
from .context import Context
from .symbols import Symbol

Box = tuple[tuple[Cut, Cut], ...]


def check_coverage(symbol: Symbol, shape: Shape, pieces: list[Piece], ctx: Context) -> None:
    boxes = [tuple(map(interval, piece.indices)) for piece in pieces]
    axes = zip(zip(*boxes, strict=True), shape, strict=False)
    for cell in product(*(cut_axis(intervals, axis.size) for intervals, axis in axes)):
        owners = [piece for piece, box in zip(pieces, boxes, strict=True) if _contains(box, cell)]
        if len(owners) > 1:
            return _report_overlap(symbol, owners[0], owners[1], ctx)
        if not owners:
            return _report_gap(symbol, cell, pieces[0], ctx)
    return None


def _contains(box: Box, cell: Box) -> bool:
    pairs = zip(box, cell, strict=True)
    return all(low <= start and stop <= high for (low, high), (start, stop) in pairs)


def _report_overlap(symbol: Symbol, first: Piece, second: Piece, ctx: Context) -> None:
    is_draw = isinstance(second.body, c.Law)
    help = "a variable has one value: remove one of the two, or make the ranges disjoint"
    if first.indices:
        help = "make the ranges disjoint: `z[0] ...`, then `z[t in T[1..]] ...`"
    elif is_draw:
        help = "a variable is drawn once: add terms to its log density with `factor name : ...`"
    message = f"`{symbol.name}` is {'drawn' if is_draw else 'defined'} twice"
    ctx.error("E0501", message, second.span, help, also=(Label(first.span, "first here"),))


def _report_gap(symbol: Symbol, cell: Box, piece: Piece, ctx: Context) -> None:
    position = ", ".join(_show(interval) for interval in cell)
    sign = "~" if isinstance(piece.body, c.Law) else "="
    help = f"add a statement for it: `{symbol.name}[{position}] {sign} ...`"
    if ".." in position:
        help = "add a statement for that part"
    ctx.error("E0502", f"nothing defines `{symbol.name}[{position}]`", piece.span, help)


def _show(interval: tuple[Cut, Cut]) -> str:
    (from_end, low), (to_end, high) = interval
    if from_end == to_end and high == low + 1:
        return str(low)
    return f"{low or ''}..{high if (to_end, high) != (True, 0) else ''}"
