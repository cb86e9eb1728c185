"""The smoothed meaning of hard operations, where a statement is `with soft(...)`."""

from collections.abc import Callable
from typing import Any

from ..graph import core as c
from ..graph.types import Bool, IndexOf, Real, Truth
from .arrays import lower_at
from .code import Code, call, const, function, infix, name, negative, number, summed
from .scope import Scope, Value, align, joint_axes
from .shapes import Lower, as_array, call_aligned, call_mapped, full, is_whole, mapped


def lower_soft(core: c.Core, scope: Scope, lower: Lower) -> Value | None:
    """None where softness changes nothing."""
    if isinstance(core.type.domain, Bool) and not isinstance(core, c.Const):
        return _hard(core, scope, lower)
    if isinstance(core, c.If) and isinstance(core.type.domain, IndexOf):
        return lower(core, scope.replace(soft=None))
    if isinstance(core, c.Apply) and core.function == "branch_variance":
        return _variance(core.arguments[0][1], scope, lower)
    if isinstance(core, c.Apply) and core.function in _APPLY:
        return _APPLY[core.function](core, scope, lower)
    if isinstance(core, c.If) and isinstance(core.condition.type.domain, Truth):
        values = [lower(part, scope) for part in c.parts(core)]
        return call_aligned(scope.needs.helper("soft_if"), values, len(core.type.shape), scope)
    if isinstance(core, c.Loop):
        from .expressions import lower_loop

        return lower_loop(core, scope, "soft_loop")
    if isinstance(core, c.At) and any(map(_is_soft_index, core.indices)):
        return _soft_at(core, scope, lower)
    if isinstance(core, c.Const) and isinstance(core.value, bool):
        return Value(const(float(core.value)))
    if isinstance(core, c.Reduce) and core.where and isinstance(core.where.type.domain, Truth):
        return lower(_weighed(core, core.where), scope)
    if isinstance(core, c.Reduce) and core.operator in ("all", "any"):
        inside = scope.inside(*core.binders)
        own = tuple(b.name for b in core.binders)
        body = lower(core.body, inside)
        outer = tuple(a for a in joint_axes([body], inside.order) if a not in own)
        code = full(body, outer + own, 0, inside, ()).code
        for _ in own:
            code = call(
                scope.needs.helper(f"soft_{core.operator}_{_option(scope, 'logic', 'product')}"),
                code,
            )
        return Value(code, outer, 0)
    return None


def _weighed(core: c.Reduce, where: c.Core) -> c.Core:
    """sum[k where c] x = sum[k] (if c then x else 0): the condition is a weight (CF15)."""
    outside = c.Const(core.span, core.body.type, c.WEIGHED[core.operator])
    body = c.If(core.span, core.type, where, core.body, outside)
    return core.replace(where=None, body=body)


def _option(scope: Scope, key: str, default: object) -> Any:
    return dict(scope.soft.options if scope.soft else ()).get(key, default)


def _scale(scope: Scope) -> Code:
    return const(_option(scope, "scale", 1.0))


def _kind(scope: Scope) -> str:
    return scope.soft.method if scope.soft else ""


def _operands(core: c.Apply, scope: Scope, lower: Lower) -> tuple[list[Code], tuple[str, ...], int]:
    values = []
    for _, argument in core.arguments:
        value = lower(argument, scope)
        is_real = isinstance(argument.type.domain, Real | Bool) or is_whole(value)
        values.append(value if is_real else _real(value))
    axes = joint_axes(values, scope.order)
    rank = max(v.rank for v in values)
    return [align(v, axes, rank).code for v in values], axes, rank


def _real(value: Value) -> Value:
    return value.replace(code=as_array(value.code, "float"))


def _soft_apply(core: c.Apply, scope: Scope, lower: Lower) -> Value:
    """Comparisons and logic; step(x) is x > 0, and sign(x) = 2 step(x) - 1."""
    word = core.function
    if word == "not":
        operand = lower(core.arguments[0][1], scope)
        return operand.replace(code=_one_less(operand.code))
    is_equality = word in ("equal", "not_equal")
    operands, axes, rank = _operands(core, scope, lower)
    if word in _OF_TRUTHS and all(_is_truth(value) for _, value in core.arguments):
        return Value(_of_truths(word, operands, scope), axes, rank)
    if word in ("and", "or"):
        path = scope.needs.helper(f"soft_{word}_{_option(scope, 'logic', 'product')}")
        return Value(call(path, *operands), axes, rank)
    if word in ("less", "less_equal"):
        operands.reverse()
    elif word in ("step", "sign"):
        operands.append(const(0.0))
    kind = "equal" if is_equality else "greater"
    path = scope.needs.helper(f"soft_{kind}_{_kind(scope)}")
    code = call(path, *operands, _scale(scope))
    if word == "sign":
        code = infix(infix(const(2), "*", code), "-", const(1))
    return Value(_one_less(code) if word == "not_equal" else code, axes, rank)


def _of_truths(word: str, operands: list[Code], scope: Scope) -> Code:
    """a == b is `if a then b else not b`, and a < b is `if a then false else b`: of two truths,
    independent of each other (CF12, CF16).
    """
    a, b = operands
    chosen = {"same": b, "other": _one_less(b), "true": const(1.0), "false": const(0.0)}
    then, otherwise = (chosen[choice] for choice in _OF_TRUTHS[word])
    return call(scope.needs.helper("soft_if"), a, then, otherwise)


_OF_TRUTHS = {
    "equal": ("same", "other"),
    "not_equal": ("other", "same"),
    "less": ("false", "same"),
    "less_equal": ("same", "true"),
    "greater": ("other", "false"),
    "greater_equal": ("true", "other"),
}
"""What a comparison is where the first truth holds, and where it does not."""


def _is_truth(core: c.Core) -> bool:
    """A truth value, or the number of one."""
    is_zero_or_one = isinstance(core, c.Const) and core.type.whole and core.value in (0, 1)
    return isinstance(core.type.domain, Bool | Truth) or is_zero_or_one


def _one_less(code: Code) -> Code:
    return infix(const(1), "-", code)


def _hard(core: c.Core, scope: Scope, lower: Lower) -> Value:
    """Labels and truth values are equal or not: nothing to smooth."""
    return _real(lower(core, scope.replace(soft=None)))


def _variance(core: c.Core, scope: Scope, lower: Lower) -> Value:
    """Var = E[Var of the branch] + Var[mean of the branch]; 0 without branches (CF16, CF20)."""
    if isinstance(core, c.At) and _is_soft_index(core.indices[-1]):
        return _at_weights(core, "soft_get_variance", scope, lower)
    if not isinstance(core, c.If):
        return Value(const(0.0))
    rank = len(core.type.shape)
    weight, *means = (lower(part, scope) for part in c.parts(core))
    path = scope.needs.helper("soft_if_variance")
    between = call_aligned(path, [weight, *means], rank, scope)
    inner = [_variance(part, scope, lower) for part in (core.then, core.otherwise)]
    if all(number(value.code) == 0 for value in inner):
        return between
    within = call_aligned(scope.needs.helper("soft_if"), [weight, *inner], rank, scope)
    axes = joint_axes([between, within], scope.order)
    parts = (align(value, axes, rank).code for value in (within, between))
    return Value(summed([*parts]), axes, rank)


def _is_soft_index(index: c.Core) -> bool:
    """An index that is the best of several: softly, a distribution over all of them."""
    if isinstance(index, c.Reduce):
        return index.operator in ("argmax", "argmin")
    return isinstance(index, c.Apply) and index.function in ("argmax", "argmin")


def _weights(index: c.Core, scope: Scope, lower: Lower) -> Value:
    """The weight of every member, along one axis of the value itself (CF20)."""
    if isinstance(index, c.Reduce):
        (bind,) = index.binders
        inside = scope.inside(bind)
        scores = lower(index.body, inside)
        outer = tuple(axis for axis in joint_axes([scores], inside.order) if axis != bind.name)
        scores = full(scores, (*outer, bind.name), 0, inside, ()).replace(axes=outer, rank=1)
        lowest = index.operator == "argmin"
    else:
        assert isinstance(index, c.Apply)
        scores = lower(index.arguments[0][1], scope)
        lowest = index.function == "argmin"
    helper = scope.needs.helper(f"soft_argmax_{_kind(scope)}")
    best = negative(scores.code) if lowest else scores.code
    if not scores.axes:
        return Value(call(helper, best, _scale(scope)), (), 1)
    one = function(["x"], call(helper, name("x"), _scale(scope)))
    return Value(call(mapped(one, [scores], scores.axes), best), scores.axes, 1)


def _soft_at(core: c.At, scope: Scope, lower: Lower) -> Value:
    """sum_j p_j l_j: the element at a soft index is the mean over the index (DS04)."""
    last = max(place for place, index in enumerate(core.indices) if _is_soft_index(index))
    if last < len(core.indices) - 1:
        shape = core.base.type.shape[last + 1 :]
        inner = core.replace(type=core.type.replace(shape=shape), indices=core.indices[: last + 1])
        return lower_at(core.replace(base=inner, indices=core.indices[last + 1 :]), scope, lower)
    return _at_weights(core, "soft_get", scope, lower)


def _at_weights(core: c.At, helper: str, scope: Scope, lower: Lower) -> Value:
    """A helper of the elements and their weights, where the last index is soft."""
    weights = _weights(core.indices[-1], scope, lower)
    rows = core.replace(indices=core.indices[:-1]) if len(core.indices) > 1 else core.base
    base = lower(rows, scope)
    rank = len(core.type.shape)
    values = [base.replace(rank=rank + 1), weights]
    return call_mapped(scope.needs.helper(helper), values, rank, scope)


def _soft_list(core: c.Apply, scope: Scope, lower: Lower) -> Value | None:
    """get, set and insert at a soft index are means over the index (DS04-DS06)."""
    arguments = [value for _, value in core.arguments]
    soft = next((value for value in arguments if _is_soft_index(value)), None)
    if soft is None:
        return None
    values = [_weights(v, scope, lower) if v is soft else lower(v, scope) for v in arguments]
    path = scope.needs.helper(f"soft_{core.function}")
    return call_mapped(path, values, len(core.type.shape), scope)


def _soft_lookup(core: c.Apply, scope: Scope, lower: Lower) -> Value:
    """The value of the nearest key becomes a mean weighted by a kernel of the distances (DS10)."""
    values = [lower(v, scope) for _, v in core.arguments]
    given = ("keys", "values", "key")
    helper = scope.needs.helper("soft_lookup")
    one = function(given, call(helper, *map(name, given), _scale(scope)))
    return call_mapped(one, values, len(core.type.shape), scope)


_APPLY: dict[str, Callable[[c.Apply, Scope, Lower], Value | None]] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), _soft_apply),
    **dict.fromkeys(("equal", "not_equal", "and", "or", "not", "step", "sign"), _soft_apply),
    **dict.fromkeys(("get", "set", "insert"), _soft_list),
    "lookup": _soft_lookup,
}
