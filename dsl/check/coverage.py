"""The pieces of a variable must define each of its elements exactly once.

Along every axis the ends of all pieces cut the axis into stretches; a cell is one stretch of every
axis. Places counted from the start come before places counted from the end: a dim is taken to be
long enough for the program.
"""

from itertools import pairwise, product

from ..diagnostics import Label
from ..graph import core as c
from ..graph.typed import Piece
from ..graph.types import IndexOf, Place, Shape
from .context import Context
from .symbols import Symbol

Cut = tuple[int, int]  # (0, k): k from the start; (1, -k): k from the end
Interval = tuple[Cut, Cut]


def check_coverage(symbol: Symbol, shape: Shape, pieces: list[Piece], ctx: Context) -> None:
    boxes = [tuple(map(_interval, piece.indices)) for piece in pieces]
    sizes = [axis.size for axis in shape[: len(boxes[0])]]
    cuts = [_cuts([box[k] for box in boxes], size) for k, size in enumerate(sizes)]
    for cell in product(*([*pairwise(cut)] for cut in cuts)):
        owners = [k for k, box in enumerate(boxes) if _contains(box, cell)]
        if len(owners) > 1:
            return _report_overlap(symbol, pieces[owners[0]], pieces[owners[1]], ctx)
        if not owners:
            return _report_gap(symbol, cell, shape, pieces[0], ctx)
    return None


def _interval(index: c.Bind | c.Core) -> Interval:
    if isinstance(index, c.Bind):
        return _cut(index.low), _cut(index.high.shift(1))
    assert isinstance(index.type.domain, IndexOf)
    place = index.type.domain.low
    return _cut(place), _cut(place.shift(1))


def _cut(place: Place) -> Cut:
    return int(place.from_end), place.offset


def _cuts(intervals: list[Interval], size: int | None) -> list[Cut]:
    """All places where something starts or ends, in order, from the very start to the very end."""
    end = (1, 0) if size is None else (0, size)
    return sorted({(0, 0), end, *(cut for interval in intervals for cut in interval)})


def _contains(box: tuple[Interval, ...], cell: tuple[Interval, ...]) -> bool:
    return all(
        low <= start and stop <= high for (low, high), (start, stop) in zip(box, cell, strict=True)
    )


def _report_overlap(symbol: Symbol, first: Piece, second: Piece, ctx: Context) -> None:
    is_draw = isinstance(second.body, c.Law)
    help = "a variable has one value: remove one of the two, or make the ranges disjoint"
    if first.indices:
        help = "make the ranges disjoint: `z[0] ...`, then `z[t in T[1..]] ...`"
    elif is_draw:
        help = "a variable is drawn once: add terms to its log density with `factor name : ...`"
    message = f"`{symbol.name}` is {'drawn' if is_draw else 'defined'} twice"
    ctx.error("E0501", message, second.span, help, also=(Label(first.span, "first here"),))


def _report_gap(
    symbol: Symbol, cell: tuple[Interval, ...], shape: Shape, piece: Piece, ctx: Context
) -> None:
    position = ", ".join(_show(interval) for interval in cell)
    sign = "~" if isinstance(piece.body, c.Law) else "="
    help = f"add a statement for it: `{symbol.name}[{position}] {sign} ...`"
    if ".." in position:
        help = "add a statement for that part"
    ctx.error("E0502", f"nothing defines `{symbol.name}[{position}]`", piece.span, help)


def _show(interval: Interval) -> str:
    (from_end, low), (to_end, high) = interval
    if from_end == to_end and high == low + 1:
        return str(low)
    return f"{low if (from_end, low) != (0, 0) else ''}..{high if (to_end, high) != (1, 0) else ''}"
