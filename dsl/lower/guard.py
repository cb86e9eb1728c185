"""Branches that are not taken contribute nothing: not even 0 times the derivative of sqrt(-1).

`where(c, f(x), g(x))` computes both branches, and backwards the one that is not taken has a
cotangent of 0, which an infinite derivative turns into NaN. So what a branch reads is guarded:
where the branch is not taken it is a constant, whatever stands between.
"""

from __future__ import annotations

from typing import Any

from ..graph import core as c
from ..graph.breaks import COMPARISONS
from ..graph.types import REAL, Real

GUARDED = "guarded(is_taken: bool, x: real) -> real"

FINITE = COMPARISONS | {
    *("add", "subtract", "multiply", "negate", "and", "or", "not", "matmul", "sum", "mean", "dot"),
    *("sin", "cos", "tanh", "atan", "erf", "erfc", "Phi", "logistic", "softplus", "square"),
    *("abs", "relu", "min", "max", "clip", "sign", "step", "floor", "ceil", "round", "trunc"),
    *("argmax", "argmin", "one_hot", "ones", "zeros", "eye", "size", "guarded", "is_above"),
}
"""Functions whose derivatives are finite wherever their arguments are."""


def guarded(core: Any, is_taken: c.Core, other: c.Core | None = None) -> Any:
    """The same expression, which has no derivatives where it is not taken.

    What the other branch computes too needs no guard: it is taken one way or the other.
    """
    both = _perhaps_infinite(other) if other is not None else []
    needed = any(part not in both for part in _perhaps_infinite(core))
    return _guard(core, is_taken) if needed else core


def _perhaps_infinite(core: c.Core) -> list[c.Core | c.Law]:
    return [
        part
        for part in c.walk(core)
        if isinstance(part, c.CallFn | c.Law)
        or (isinstance(part, c.Apply) and part.function not in FINITE)
    ]


def _guard(core: Any, is_taken: c.Core) -> Any:
    if isinstance(core, c.Ref | c.Var) or (isinstance(core, c.At) and isinstance(core.base, c.Ref)):
        if not isinstance(core.type.domain, Real):
            return core
        arguments = (("is_taken", is_taken), ("x", core))
        type_ = core.type.replace(domain=REAL.domain)
        return c.Apply(core.span, type_, "guarded", arguments, GUARDED)
    return c.map_parts(core, lambda part: _guard(part, is_taken))


def negation(condition: c.Core) -> c.Core:
    return c.Apply(condition.span, condition.type, "not", (("a", condition),))
