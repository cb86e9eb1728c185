"""Which names an expression mentions, with which indices: dependencies before types are known."""

from collections.abc import Iterator

from ..record import Record
from ..source import Span
from ..text import syntax as s
from ..text.parser import children


class Mention(Record):
    """`indices` is None where the name stands without brackets."""

    name: str
    span: Span
    indices: tuple[s.Expr, ...] | None = None


def mentions(node: s.SyntaxNode, bound: frozenset[str] = frozenset()) -> Iterator[Mention]:
    if isinstance(node, s.Name):
        if node.name not in bound:
            yield Mention(node.name, node.span)
    elif isinstance(node, s.Index) and isinstance(base := node.base, s.Name):
        if base.name not in bound:
            yield Mention(base.name, base.span, node.indices)
        for index in node.indices:
            yield from mentions(index, bound)
    elif isinstance(node, s.Reduction | s.Comprehension):
        yield from _mentions_of(node, bound | binder_names(node.binders))
    elif isinstance(node, s.LoopExpr):
        yield from mentions(node.start, bound)
        inside = bound | {node.variable.name}
        for part in (node.condition, node.limit, node.body):
            yield from mentions(part, inside)
    elif isinstance(node, s.Binder):
        yield from mentions(node.range, bound)
    elif isinstance(node, s.Target):
        for index_or_where in (*node.indices, *filter(None, [node.where])):
            yield from mentions(index_or_where, bound)
    elif not isinstance(node, s.Bound):
        yield from _mentions_of(node, bound)


def _mentions_of(node: s.SyntaxNode, bound: frozenset[str]) -> Iterator[Mention]:
    for child in children(node):
        yield from mentions(child, bound)


def binder_names(indices: tuple[s.Binder | s.Expr, ...]) -> frozenset[str]:
    return frozenset(i.name.name for i in indices if isinstance(i, s.Binder))


def read_offset(expr: s.Expr) -> tuple[str | None, int] | None:
    """A binder plus a whole number, or a whole number alone: `t`, `t - 1`, `0`; None for others."""
    if isinstance(expr, s.Group):
        return read_offset(expr.inner)
    if isinstance(expr, s.Name):
        return expr.name, 0
    if isinstance(expr, s.Number) and isinstance(expr.value, int):
        return None, expr.value
    if isinstance(expr, s.Binary) and expr.operator in "+-" and isinstance(expr.right, s.Number):
        base = read_offset(expr.left)
        if base and isinstance(expr.right.value, int):
            sign = 1 if expr.operator == "+" else -1
            return base[0], base[1] + sign * expr.right.value
    return None


# ---- how many steps back a statement looks along each axis, as it is written


def lags_of(target: s.Target, mention: Mention) -> tuple[int | None, ...]:
    if mention.indices is None:
        return ()
    pairs = zip(target.indices, mention.indices, strict=False)
    return tuple(_lag(index, read_offset(used)) for index, used in pairs)


def _lag(index: s.Binder | s.Expr, used: tuple[str | None, int] | None) -> int | None:
    if used is None:
        return None
    binder, value = used
    if isinstance(index, s.Binder):
        if binder == index.name.name:
            return -value
        low = index.range.low.value if index.range.low else 0
        is_earlier = binder is None and isinstance(low, int) and low > value
        return int(low) - value if is_earlier else None
    fixed = read_offset(index)
    is_fixed = fixed is not None and fixed[0] is None and binder is None
    return fixed[1] - value if fixed and is_fixed else None
