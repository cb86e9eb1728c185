"""Indices: what may index an axis, and the proof that it is in range."""

from ..diagnostics import did_you_mean
from ..graph import core as c
from ..graph import types as t
from ..source import Span
from ..text import syntax as s
from .context import Context


def check_index(index: c.Core, axis: t.Axis, ctx: Context) -> c.Core:
    """An index of this axis and no other; constants and shifted binders are proved in range."""
    domain = index.type.domain
    if not index.type.known:
        return index
    if index.type.shape:
        message = f"an index is one value, but this is {index.type}"
        ctx.error("E0303", message, index.span, help="bind it: `[i in D] a[b[i]]`")
        return index
    if isinstance(index, c.Const) and isinstance(domain, t.Int):
        place = t.anchored(int(index.value), axis.size)
        index = index.replace(type=t.Type(t.IndexOf(axis, place, place)), value=place.offset)
        domain = index.type.domain
    if not isinstance(domain, t.IndexOf):
        help = f"declare the index with type `{axis}`, as in `data k[Obs] : {axis}`"
        help = help if isinstance(axis, t.Dim) else ""
        ctx.error("E0301", f"`{axis}` cannot be indexed by {index.type}", index.span, help)
    elif not t.same_axis(domain.dim, axis):
        help = f"use an index of `{axis}`; an array over `{domain.dim}` can be indexed by this one"
        ctx.error("E0302", f"an index of `{domain.dim}` cannot index `{axis}`", index.span, help)
    else:
        _prove_in_range(index, domain, axis, ctx)
    return index


def _prove_in_range(index: c.Core, domain: t.IndexOf, axis: t.Axis, ctx: Context) -> None:
    size = axis.size
    low, high = domain.low, domain.high
    if size is not None:
        low, high = (t.Place(x.offset + size * x.from_end) for x in (low, high))
    if not low.from_end and low.offset < 0:
        help = _later_start(index, axis, -low.offset)
        message = f"this index can be {low.offset}, before the start of `{axis}`"
        ctx.error("E0304", message, index.span, help)
    elif high.from_end and high.offset >= 0:
        help = f"end the binder earlier: `in {axis}[..-{high.offset + 1}]`"
        ctx.error("E0304", f"this index can run past the end of `{axis}`", index.span, help=help)
    elif size is not None and high.offset >= size:
        verb = "is" if isinstance(index, c.Const) else "can be"
        members = f"`{axis}` has {size} members, 0 to {size - 1}"
        ctx.error("E0304", f"this index {verb} {high.offset}, but {members}", index.span)
    elif isinstance(index, c.Const) and isinstance(axis, t.Dim) and not high.from_end:
        least = ctx.facts.least_sizes
        least[axis.name] = max(least.get(axis.name, 0), high.offset + 1)


def _later_start(index: c.Core, axis: t.Axis, steps: int) -> str:
    """How to write the binder so that the index stays in range."""
    for part in c.walk(index):
        domain = part.type.domain
        if isinstance(part, c.Var) and isinstance(domain, t.IndexOf):
            start = f"`{part.name} in {axis}[{domain.low.offset + steps}..]`"
            return "" if domain.low.from_end else f"start the binder later: {start}"
    return ""


def check_binder(binder: s.Binder, ctx: Context) -> c.Bind | None:
    """`i in D[a..b]`, or None after a report."""
    name, range_ = binder.name.name, binder.range
    dim = ctx.dim(range_.dim.name)
    if dim is None:
        report_not_a_dim(range_.dim.name, range_.dim.span, ctx)
        return None
    if name in ctx.variables or (ctx.symbol(name) and name not in ctx.module.aliases):
        help = "choose another index name"
        ctx.error("E0103", f"`{name}` already means something here", binder.name.span, help)
    end = t.Place(0, from_end=True) if dim.size is None else t.Place(dim.size)
    low = _bound(range_.low, t.Place(0), dim, ctx)
    high = _bound(range_.high, end, dim, ctx)
    is_empty = low.from_end == high.from_end and low.offset >= high.offset
    leaves = dim.size is not None and not (low.offset >= 0 and high.offset <= dim.size)
    if is_empty:
        message = f"the range is empty: it starts at {low} and ends before {high}"
        runs = f"`{dim}[a..b]` runs from a up to, but not including, b"
        sized = f"`{dim}` has {dim.size} members; {runs}"
        help = "`D[a..b]` leaves out b" if dim.size is None else sized
        ctx.error("E0306", message, range_.span, help)
    elif leaves:
        ctx.error("E0306", f"the range leaves `{dim}`, which has {dim.size} members", range_.span)
    if is_empty or leaves:
        return None
    return c.Bind(binder.span, name, dim, low, high.shift(-1))


def _bound(bound: s.Bound | None, default: t.Place, dim: t.Dim, ctx: Context) -> t.Place:
    if bound is None:
        return default
    if not isinstance(bound.value, int):
        ctx.error("E0306", "the bounds of a range are whole numbers", bound.span)
        return t.Place(0)
    return t.anchored(bound.value, dim.size)


def report_not_a_dim(name: str, span: Span, ctx: Context) -> None:
    symbol = ctx.symbol(name)
    if symbol and symbol.kind == "broken":
        return
    dims = [d.name for d in ctx.facts.symbols.dims()]
    help = did_you_mean(name, dims) or f"declare it: `dim {name}`"
    what = f"`{name}` is not a dim" if symbol else f"there is no dim `{name}`"
    ctx.error_once("E0106", what, name, span, help)
