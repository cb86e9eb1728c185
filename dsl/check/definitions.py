"""Statements that define variables: `~`, `=`, `:=` and `factor`."""

from collections.abc import Sequence
from functools import reduce
from itertools import product

from ..diagnostics import Label
from ..graph import core as c
from ..graph import types as t
from ..graph.breaks import is_soft
from ..graph.typed import Cut, Definition, Piece, cut_axis, interval
from ..library.distributions import distributions_by_name
from ..text import syntax as s
from .calls import require_type
from .context import Context
from .declared import resolve_type
from .expressions import bind_all, infer, infer_where, join_types, without_bounds
from .indexing import check_index
from .laws import ENDS, infer_law
from .matching import DOMAINS, show_kind
from .modules import FlatStmt, binder_names, mentions
from .settings import check_distribution_settings, check_settings, smoothed
from .symbols import KINDS, Symbol
from .tables import infer_table_distribution
from .truncation import truncated, within_range


def check_definition(symbol: Symbol, declared: t.Type | None, ctx: Context) -> Definition | None:
    """All pieces of one variable; its type goes to `ctx.facts`, even after a mistake."""
    axes = target_axes(symbol, declared, ctx)
    reported = len(ctx.facts.report)
    pieces = [p for flat in symbol.pieces if (p := _check_piece(flat, symbol, declared, axes, ctx))]
    type_ = declared or _type_of_pieces(symbol, axes, pieces, ctx)
    if declared is None:
        ctx.facts.types_of(ctx.guide)[symbol.name] = type_
    if len(pieces) < len(symbol.pieces) or not type_.known:
        return None
    is_sound = len(ctx.facts.report) == reported and symbol.name not in ctx.facts.symbols.broken
    if symbol.kind != "factor" and is_sound:
        check_coverage(symbol, type_.shape, pieces, ctx)
    own = symbol.name, symbol.kind, type_, symbol.span, symbol.module.source
    return Definition(*own, tuple(pieces), symbol.is_kept)


def target_axes(symbol: Symbol, declared: t.Type | None, ctx: Context) -> list[t.Dim | None]:
    """The dim of every index of the target: from the declaration, or from a piece's binder."""
    targets = [flat.definition.target for flat in symbol.pieces]
    count = max(len(target.indices) for target in targets)
    if declared and declared.known:
        count = min(count, len(declared.shape))
    axes: list[t.Dim | None] = [None] * count
    if declared:
        known = declared.shape[:count]
        axes[: len(known)] = [axis if isinstance(axis, t.Dim) else None for axis in known]
    for target in targets:
        for k, index in enumerate(target.indices[:count]):
            if axes[k] is None and isinstance(index, s.Binder):
                axes[k] = ctx.dim(index.range.dim.name)
    return axes


def _check_target(
    target: s.Target, axes: Sequence[t.Dim | None], ctx: Context
) -> tuple[tuple[c.Bind | c.Core, ...] | None, Context]:
    """Binders bind, fixed indices are constants in range."""
    if len(target.indices) != len(axes):
        own = _count(len(axes), "axis", "axes")
        here = _count(len(target.indices), "index", "indices")
        dims = [index.range.dim.name for index in target.indices if isinstance(index, s.Binder)]
        is_longer = len(dims) == len(target.indices) > len(axes)
        help = f"declare it `{target.name.name}[{', '.join(dims)}]`" if is_longer else ""
        ctx.error("E0512", f"`{target.name.name}` has {own}, but {here} here", target.span, help)
        return None, ctx.bind(**dict.fromkeys(binder_names(target.indices), t.UNKNOWN))
    found: list[c.Bind | c.Core] = []
    inside = ctx
    for index, axis in zip(target.indices, axes, strict=True):
        checked, inside = _check_target_index(index, axis, ctx, inside)
        if checked is not None:
            found.append(checked)
    return (tuple(found) if len(found) == len(axes) else None), inside


def _check_target_index(
    index: s.Binder | s.Expr, axis: t.Dim | None, ctx: Context, inside: Context
) -> tuple[c.Bind | c.Core | None, Context]:
    if isinstance(index, s.Binder):
        binds, inside = bind_all((index,), inside)
        bind = binds[0] if binds else None
        if bind and axis and not t.same_axis(bind.dim, axis):
            help = f"write `{bind.name} in {axis}`"
            ctx.error("E0512", f"this axis is `{axis}`, not `{bind.dim}`", index.span, help=help)
            return None, inside
        return bind, inside
    if isinstance(index, s.Name) and not _is_known(index.name, axis, ctx):
        if index.name not in ctx.facts.symbols.broken:
            help = f"write `{index.name} in {axis or 'D'}`"
            ctx.error("E0513", f"nothing says what `{index.name}` runs over", index.span, help=help)
        return None, inside.bind(**{index.name: t.UNKNOWN})
    if axis is None:
        help = "bind it: `x[i in D]`"
        ctx.error("E0513", "nothing says which dim this index belongs to", index.span, help)
        return None, inside
    core = check_index(infer(index, ctx, axis), axis, ctx)
    if not isinstance(core, c.Const):
        help = ""
        if isinstance(index, s.Name):
            help = f"write `{index.name} in {axis}` to define it for all of `{axis}`"
        if core.type.known:
            ctx.error("E0513", "an index on the left is a binder or a constant", index.span, help)
        return None, inside
    return (core if isinstance(core.type.domain, t.IndexOf) else None), inside


def unbound_index(symbol: Symbol, ctx: Context) -> s.Name | None:
    """The first index of a target that is neither bound nor known: `z[t] ~ Normal(z[t-1], 1)`."""
    indices = (i for flat in symbol.pieces for i in flat.definition.target.indices)
    names = (i for i in indices if isinstance(i, s.Name))
    return next((name for name in names if not _is_known(name.name, None, ctx)), None)


def _is_known(name: str, axis: t.Dim | None, ctx: Context) -> bool:
    symbol = ctx.symbol(name)
    if "." in name or name in ctx.variables or (axis is not None and name in axis.labels):
        return True
    return symbol is not None and symbol.kind != "broken"


def _count(number: int, one: str, many: str) -> str:
    return f"{number or 'no'} {one if number == 1 else many}"


def _check_piece(
    flat: FlatStmt, symbol: Symbol, declared: t.Type | None, axes: list[t.Dim | None], ctx: Context
) -> Piece | None:
    statement = flat.definition
    indices, inside = _check_target(statement.target, axes, ctx)
    condition = statement.target.where
    if condition and symbol.kind not in ("observed", "factor"):
        help = "leave `where` out, or give the other elements a value with `if ... then ... else`"
        message = f"`where` would leave elements of `{symbol.name}` undefined"
        ctx.error("E0514", message, condition.span, help)
    where = infer_where(condition, inside)
    settings = check_settings(statement.annotations, flat.soft, KINDS[type(statement)], ctx)
    inside = inside.replace(soft=is_soft(settings))
    body: c.Core | c.Law | None
    if isinstance(statement, s.DrawStmt):
        body = _check_draw(statement, declared, inside)
        if body:
            binders = [index for index in indices or () if isinstance(index, c.Bind)]
            check_distribution_settings(body, settings, binders, statement.distribution.span, ctx)
            _check_masses(body, symbol, ctx)
    else:
        body = smoothed(infer(statement.value, inside), settings)
    if body is None or indices is None or not body.type.known:
        return None
    _check_written_type(statement, body, declared, len(axes), inside)
    if isinstance(statement, s.FactorStmt):
        require_number(body, "a factor", inside)
    return Piece(statement.span, indices, where, body, settings)


def _check_masses(law: c.Law, symbol: Symbol, ctx: Context) -> None:
    """No sampler and no gradient knows of values with a probability among those with a density."""
    if law.facts.masses and symbol.kind != "observed":
        message = f"`{symbol.name}` has values with a probability, and others with a density"
        help = f"declare it `observed {symbol.name}`, or draw what is not cut and take `clip(...)`"
        ctx.error("E0417", message, law.span, help)


def require_number(value: c.Core | c.Law, what: str, ctx: Context) -> None:
    if value.type.known and (value.type.shape or not value.type.numeric):
        help = "add the elements up: `sum(...)`, or bind an index"
        if not value.type.numeric:
            help = "a label is no number: index an array with it, or compare it"
        message = f"{what} is one number, but this is {show_kind(value.type)}"
        ctx.error("E0216", message, value.span, help)


def _check_draw(statement: s.DrawStmt, declared: t.Type | None, ctx: Context) -> c.Law | None:
    types = [type_ for type_ in (_written_type(statement, ctx), declared) if type_]
    domain = types[0].domain if types else None
    dim = domain.dim if isinstance(domain, t.IndexOf) else None
    distribution = statement.distribution
    if isinstance(distribution, s.Table):
        expected = domain if isinstance(domain, t.Bool) else dim
        return infer_table_distribution(distribution, expected, ctx)
    if not isinstance(distribution, s.Call):
        help = "write a distribution, as in `x ~ Normal(0, 1)`, or `=` for a value"
        ctx.error("E0401", "this is not a distribution", distribution.span, help=help)
        return None
    law = infer_law(distribution, dim if isinstance(dim, t.Dim) else None, ctx)
    if law and statement.type and _has_computed_bounds(statement.type, ctx):
        law = _between_computed_bounds(law, statement.type, ctx)
    return law and within_range(law, statement.target.name.name, types, ctx)


def _written_type(statement: s.DrawStmt | s.LetStmt, ctx: Context) -> t.Type | None:
    """What stands after the colon; bounds of a draw that are computed belong to its law."""
    written = statement.type
    if written is None:
        return None
    if isinstance(statement, s.DrawStmt) and _has_computed_bounds(written, ctx):
        written = written.replace(arguments=())
    type_ = resolve_type(written, (), ctx)
    return type_ if type_.known else None


def _inside(statement: s.DrawStmt | s.LetStmt, ctx: Context) -> Context:
    """With the binders of the target, of whatever type."""
    return ctx.bind(**dict.fromkeys(binder_names(statement.target.indices), t.UNKNOWN))


def _has_computed_bounds(written: s.TypeExpr, ctx: Context) -> bool:
    """`real(lower=0, upper=1 - a)`: a bound mentions a variable."""
    names = {found.name for argument in written.arguments for found in mentions(argument.value)}
    symbols = [ctx.symbol(name) for name in names - ctx.variables.keys()]
    return bool(names & ctx.variables.keys()) or any(own and own.is_node for own in symbols)


def _between_computed_bounds(law: c.Law, written: s.TypeExpr, ctx: Context) -> c.Law | None:
    ends = {str(argument.name): infer(argument.value, ctx) for argument in written.arguments}
    if not ends.keys() <= set(ENDS) or len(ends) < len(written.arguments):
        help = "as in `real(lower=0)`"
        ctx.error("E0215", "a type takes `lower=` and `upper=`", written.span, help)
        return None
    before = len(ctx.facts.report)
    for name, end in ends.items():
        require_type(end, t.REAL, f"`{name}`", ctx)
    known = all(end.type.known for end in ends.values())
    return truncated(law, ends, ctx) if known and len(ctx.facts.report) == before else None


def _check_written_type(
    statement: s.DrawStmt | s.LetStmt | s.FactorStmt,
    body: c.Core | c.Law,
    declared: t.Type | None,
    count: int,
    ctx: Context,
) -> None:
    """What stands after the colon, or in the declaration, must agree with the body."""
    written = None if isinstance(statement, s.FactorStmt) else _written_type(statement, ctx)
    for wanted in (written, declared and declared.replace(shape=declared.shape[count:])):
        if wanted and wanted.known and not agrees(body.type, wanted):
            what = f"a draw of {body.name}" if isinstance(body, c.Law) else "its value"
            declared_as = f"`{statement.target.name.name}` is declared {wanted}"
            message = f"{declared_as}, but {what} is {show_kind(body.type)}"
            ctx.error("E0217", message, body.span, _type_help(statement.target, body.type, wanted))
            return


def _type_help(target: s.Target, given: t.Type, wanted: t.Type) -> str:
    if not t.same_shape(given.shape, wanted.shape):
        if given.shape and not wanted.shape:
            return _element_help(target, given.shape[0])
        if target.indices or given.shape or not wanted.shape:
            return "bind one index for each axis, as in `x[i in D] ~ ...`"
        pairs = zip("ijklmn", wanted.shape, strict=False)
        binders = ", ".join(f"{name} in {axis}" for name, axis in pairs)
        return f"bind one index for each axis: `{target.name.name}[{binders}] ...`"
    return f"declare it `: {show_kind(given.replace(shape=()))}`"


def _element_help(target: s.Target, axis: t.Axis) -> str:
    """One number is wanted: an element of an array, or a sum of products."""
    for index in target.indices:
        if isinstance(index, s.Binder) and index.range.dim.name == str(axis):
            i = index.name.name
            return f"take its element: `x[{i}]` for `x`, or `(A @ b)[{i}]` for `A @ b`"
    return "a sum of products is `dot(x, b)`; else bind one index for each axis: `x[i in D] ~ ...`"


def agrees(given: t.Type, wanted: t.Type) -> bool:
    """The same kind of value in the same shape; bounds are not compared."""
    if not t.same_shape(given.shape, wanted.shape):
        return False
    if isinstance(given.domain, t.Int) and isinstance(wanted.domain, t.Real):
        return given.domain.lower == given.domain.upper
    if isinstance(given.domain, t.IndexOf) and isinstance(wanted.domain, t.IndexOf):
        return t.same_axis(given.domain.dim, wanted.domain.dim)
    return given.domain.word == wanted.domain.word


def _type_of_pieces(
    symbol: Symbol, axes: Sequence[t.Dim | None], pieces: list[Piece], ctx: Context
) -> t.Type:
    """The axes of the target, then those of the body; all pieces of one type."""
    own = [flat.definition for flat in symbol.pieces]
    typed = [each for each in own if not isinstance(each, s.FactorStmt)]
    written = [found for each in typed if (found := _written_type(each, _inside(each, ctx)))]
    if None in axes or not (pieces or written):
        return t.UNKNOWN
    if not pieces:
        return written[0].replace(shape=tuple(axis for axis in axes if axis) + written[0].shape)
    bodies = [c.Const(p.body.span, p.body.type, 0) for p in pieces]
    body = join_types(list(bodies), f"the parts of `{symbol.name}`", ctx)
    if not body.known:
        return t.UNKNOWN
    domain, shape, constraint = body.domain, body.shape, body.constraint
    if written:
        if not t.same_shape(written[0].shape, body.shape):
            return t.UNKNOWN  # told by its piece
        shape = t.named(written[0].shape, body.shape)
        # Draws keep to what is written for them; values are proved to keep to it, all of them.
        is_draw = isinstance(pieces[0].body, c.Law)
        if not is_draw:
            domain, constraint = written[0].domain, written[0].constraint or constraint
    return t.Type(domain, tuple(axis for axis in axes if axis) + shape, constraint)


def preliminary_type(symbol: Symbol, members: frozenset[str], ctx: Context) -> t.Type | None:
    """The type of a member of a recurrence, from a piece that does not need the recurrence."""
    axes = target_axes(symbol, None, ctx)
    if None in axes:
        return None
    leading: t.Shape = tuple(axis for axis in axes if axis)
    events = [_event_type(flat, symbol, axes, members, ctx) for flat in symbol.pieces]
    known = [event for event in events if event and event.known]
    if not known:
        return None
    event = known[0]
    if isinstance(symbol.pieces[0].statement, s.DrawStmt):
        # The first draw does not bound the later ones, nor does what is written for it.
        joined = reduce(_joined, (other.domain for other in known))
        is_whole = len(known) == len(events)
        event = event.replace(domain=joined) if is_whole else without_bounds(event)
    return t.Type(event.domain, leading + event.shape, event.constraint)


def _joined(a: t.Domain, b: t.Domain) -> t.Domain:
    return t.join_domains(a, b) or a


def _event_type(
    flat: FlatStmt, symbol: Symbol, axes: list[t.Dim | None], members: frozenset[str], ctx: Context
) -> t.Type | None:
    statement = flat.definition
    if not isinstance(statement, s.FactorStmt):
        written = _written_type(statement, _inside(statement, ctx))
        if written:
            return written
    if isinstance(statement, s.DrawStmt) and isinstance(statement.distribution, s.Call):
        # Most distributions have one support, whatever their arguments.
        rows = distributions_by_name().get(statement.distribution.function.name, ())
        result = rows[0].signature.result if rows else None
        if result and not result.axes and result.domain in DOMAINS:
            return t.Type(DOMAINS[result.domain])
    used = {found.name for m in mentions(statement) if (found := ctx.symbol(m.name))}
    if used & members:
        return None
    piece = _check_piece(flat, symbol, None, axes, ctx)
    # The first value of a recurrence does not bound the later ones.
    return without_bounds(piece.body.type) if piece else None


# ---- coverage: each element is defined exactly once
#
# The ends of all pieces cut every axis into ranges; a cell is one range of every axis.

Box = tuple[tuple[Cut, Cut], ...]


def check_coverage(symbol: Symbol, shape: t.Shape, pieces: list[Piece], ctx: Context) -> None:
    boxes = [tuple(map(interval, piece.indices)) for piece in pieces]
    axes = zip(zip(*boxes, strict=True), shape, strict=False)
    for cell in product(*(cut_axis(intervals, axis.size) for intervals, axis in axes)):
        owners = [piece for piece, box in zip(pieces, boxes, strict=True) if _contains(box, cell)]
        if len(owners) > 1:
            first, second = owners[:2]
            is_draw = isinstance(second.body, c.Law)
            help = "a variable has one value: remove one of the two, or make the ranges disjoint"
            if first.indices:
                help = "make the ranges disjoint: `z[0] ...`, then `z[t in T[1..]] ...`"
            elif is_draw:
                log = "add terms to its log density with `factor name : ...`"
                help = f"a variable is drawn once: {log}"
            message = f"`{symbol.name}` is {'drawn' if is_draw else 'defined'} twice"
            ctx.error("E0501", message, second.span, help, also=(Label(first.span, "first here"),))
            return
        if not owners:
            position = ", ".join(_show(interval) for interval in cell)
            sign = "~" if isinstance(pieces[0].body, c.Law) else "="
            help = f"add a statement for it: `{symbol.name}[{position}] {sign} ...`"
            if ".." in position:
                help = "add a statement for that part"
            ctx.error("E0502", f"nothing defines `{symbol.name}[{position}]`", pieces[0].span, help)
            return


def _contains(box: Box, cell: Box) -> bool:
    pairs = zip(box, cell, strict=True)
    return all(low <= start and stop <= high for (low, high), (start, stop) in pairs)


def _show(interval: tuple[Cut, Cut]) -> str:
    (from_end, low), (to_end, high) = interval
    if from_end == to_end and high == low + 1:
        return str(low)
    return f"{low or ''}..{high if (to_end, high) != (True, 0) else ''}"
