"""Operators: which operands agree, and the type and range of the result."""

from math import inf

from ..graph import core as c
from ..graph import types as t
from ..graph.ranges import OPERATORS
from ..source import Span
from .context import Context
from .matching import show_kind

COMPARISONS = {
    "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
    "==": "equal", "!=": "not_equal",
}  # fmt: skip
FUNCTION_OF_OPERATOR = COMPARISONS | {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "^": "power", "@": "matmul",
    "and": "and", "or": "or",
}  # fmt: skip


def infer_binary(operator: str, left: c.Core, right: c.Core, span: Span, ctx: Context) -> c.Core:
    rule = _RULES.get(operator, _infer_arithmetic)
    is_known = left.type.known and right.type.known
    type_ = rule(operator, left, right, span, ctx) if is_known else t.UNKNOWN
    return c.Apply(span, type_, FUNCTION_OF_OPERATOR[operator], (("a", left), ("b", right)))


def infer_unary(operator: str, operand: c.Core, span: Span, ctx: Context) -> c.Core:
    if not operand.type.known:
        return operand
    if operator == "not":
        _require_bool(operand, "not", ctx)
        type_ = t.Type(operand.type.domain, operand.type.shape)
        return c.Apply(span, type_, "not", (("a", operand),))
    _require_number(operand, ctx)
    lower, upper = operand.type.bounds
    type_ = t.number_type(operand.type.whole, -upper, -lower, operand.type.shape)
    if isinstance(operand, c.Const):
        return c.Const(span, type_, -operand.value)
    return c.Apply(span, type_, "negate", (("a", operand),))


def joint_shape(
    left: t.Type, right: t.Type, span: Span, ctx: Context, operator: str = ""
) -> t.Shape | None:
    """A number goes with any array; two arrays must have the same axes. Nothing is broadcast."""
    if not left.shape or not right.shape:
        return left.shape or right.shape
    if t.same_shape(left.shape, right.shape):
        return t.named(left.shape, right.shape)
    message = f"the shapes {t.show_shape(left.shape)} and {t.show_shape(right.shape)} do not agree"
    help = "index both over the same binders: `[i in D] a[i] + b[i]`"
    if operator == "*" and t.same_axis(left.shape[-1], right.shape[0]):
        help = "`*` is elementwise; the matrix product is `A @ b`"
    ctx.error("E0203", message, span, help=help)
    return None


def _infer_arithmetic(
    operator: str, left: c.Core, right: c.Core, span: Span, ctx: Context
) -> t.Type:
    shifted = _shifted_index(operator, left, right)
    if shifted:
        return shifted
    if not (_require_number(left, ctx) and _require_number(right, ctx)):
        return t.UNKNOWN
    shape = joint_shape(left.type, right.type, span, ctx, operator)
    if shape is None:
        return t.UNKNOWN
    whole = left.type.whole and right.type.whole and operator in "+-*"
    lower, upper = OPERATORS[FUNCTION_OF_OPERATOR[operator]](left.type.bounds, right.type.bounds)
    is_even = operator == "^" and isinstance(right, c.Const) and right.value % 2 == 0
    if is_even or (operator == "*" and left == right):
        lower = max(lower, 0)
    return t.number_type(whole, lower, upper, shape)


def _shifted_index(operator: str, left: c.Core, right: c.Core) -> t.Type | None:
    """A binder plus a whole number is a shifted position of its dim: the ground of `z[t-1]`."""
    domain = left.type.domain
    is_shift = isinstance(left, c.Apply) and left.function in ("add", "subtract")
    is_binder = isinstance(left, c.Var) or is_shift
    if operator not in "+-" or not is_binder or not isinstance(domain, t.IndexOf):
        return None
    if not isinstance(right, c.Const) or not isinstance(right.type.domain, t.Int):
        return None
    by = int(right.value) if operator == "+" else -int(right.value)
    return t.Type(t.IndexOf(domain.dim, domain.low.shift(by), domain.high.shift(by)))


def infer_matmul(operator: str, left: c.Core, right: c.Core, span: Span, ctx: Context) -> t.Type:
    a, b = left.type.shape, right.type.shape
    if not (1 <= len(a) <= 2 and 1 <= len(b) <= 2) or not t.same_axis(a[-1], b[0]):
        both = f"{t.show_shape(a)}, {t.show_shape(b)}"
        message = f"`@` needs the last axis on its left to be the first on its right: {both}"
        ctx.error("E0204", message, span, help="for numbers and elementwise products write `*`")
        return t.UNKNOWN
    return t.number_type(left.type.whole and right.type.whole, -inf, inf, a[:-1] + b[1:])


def _infer_comparison(
    operator: str, left: c.Core, right: c.Core, span: Span, ctx: Context
) -> t.Type:
    is_comparison = isinstance(left, c.Apply) and left.function in COMPARISONS.values()
    if is_comparison and left.span.start == span.start:
        ctx.error("E0205", "comparisons do not chain", span, help="write `a < b and b < c`")
        return t.UNKNOWN
    shape = joint_shape(left.type, right.type, span, ctx)
    if shape is None:
        return t.UNKNOWN
    if t.join_domains(left.type.domain, right.type.domain) is None:
        a, b = show_kind(t.Type(left.type.domain)), show_kind(t.Type(right.type.domain))
        ctx.error("E0206", f"{a} and {b} cannot be compared", span, _comparison_help(left, right))
    is_hard = left.type.whole and right.type.whole
    found = t.Type(t.Bool(), shape)
    return found.softened if ctx.soft and not is_hard else found


def _comparison_help(left: c.Core, right: c.Core) -> str:
    for side in (left, right):
        dim = side.type.domain.dim if isinstance(side.type.domain, t.IndexOf) else None
        if isinstance(dim, t.Dim) and dim.labels:
            return f"a value of `{dim}` is compared with its labels: {', '.join(dim.labels[:6])}"
    if isinstance(left.type.domain, t.IndexOf) and isinstance(right.type.domain, t.IndexOf):
        return "positions in different dims have nothing to do with each other"
    return ""


def _infer_logic(operator: str, left: c.Core, right: c.Core, span: Span, ctx: Context) -> t.Type:
    _require_bool(left, operator, ctx)
    _require_bool(right, operator, ctx)
    shape = joint_shape(left.type, right.type, span, ctx)
    if shape is None:
        return t.UNKNOWN
    is_soft = any(isinstance(side.type.domain, t.Truth) for side in (left, right))
    return t.Type(t.TRUTH if is_soft else t.Bool(), shape)


def _require_bool(operand: c.Core, operator: str, ctx: Context) -> None:
    if operand.type.known and not ctx.is_truth(operand.type):
        help = truth_help(operand.type) or "compare it with something, as in `x > 0`"
        message = f"`{operator}` needs true or false, but this is {show_kind(operand.type)}"
        ctx.error("E0206", message, operand.span, help=help)


def truth_help(type_: t.Type) -> str:
    if not isinstance(type_.domain, t.Truth):
        return ""
    why = "a soft statement made it a number between 0 and 1"
    return f"{why}: write `with soft(...)` here, too, or compare it, as in `b > 0.5`"


def _require_number(operand: c.Core, ctx: Context) -> bool:
    if operand.type.numeric:
        return True
    dim = operand.type.domain
    message = f"this is a label of `{dim}`, not a number"
    ctx.error("E0206", message, operand.span, "index an array with it, or compare it with a label")
    return False


_RULES = {
    **dict.fromkeys(COMPARISONS, _infer_comparison),
    **dict.fromkeys(("and", "or"), _infer_logic),
    "@": infer_matmul,
}
