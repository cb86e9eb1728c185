"""Branches that are not taken contribute nothing: not even 0 times the derivative of sqrt(-1).

`where(c, f(x), g(x))` computes both branches, and backwards the one that is not taken has a
cotangent of 0, which an infinite derivative turns into NaN. So what a branch reads is guarded:
where the branch is not taken it is a constant, whatever stands between.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from ..graph import core as c
from ..graph.breaks import COMPARISONS
from ..graph.forms import both, compare
from ..graph.passes.solve import as_branches
from ..graph.types import REAL, Bool, Real

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


def guarded_entries(core: c.Lookup, sizes: Sequence[int]) -> list[c.Core]:
    """The entries of a table, each without derivatives where another one is taken."""
    found = []
    for number, entry in enumerate(core.entries):
        if not _perhaps_infinite(entry):
            found.append(entry)
            continue
        is_taken, rest = None, number
        for parent, size in reversed([*zip(core.parents, sizes, strict=True)]):
            rest, place = divmod(rest, size)
            value = bool(place) if isinstance(parent.type.domain, Bool) else place
            own = compare("equal", parent, c.Const(parent.span, parent.type, value))
            is_taken = own if is_taken is None else both(own, is_taken)
        assert is_taken is not None
        found.append(guarded(entry, is_taken))
    return found


MOST_PARTS = 60

INFINITE_SLOPES = {
    **dict.fromkeys(("sqrt", "log", "log2", "log10", "power", "pow", "divide"), (0,)),
    **dict.fromkeys(("acos", "asin", "atanh", "erfinv", "acosh"), (-1, 1)),
    "logit": (0, 1),
    "log1p": (-1,),
}
"""Where derivatives are infinite."""


def without_cut(core: c.Apply) -> c.Core | None:
    """sqrt(max(x, 0)) as a branch: 0 times the infinite derivative of sqrt at 0 is not a number.

    Branches of branches write all that is inside twice, and twice again: not of what is long.
    """
    places = INFINITE_SLOPES.get(core.function, ())
    if not places or core.type.shape or len(list(islice(c.walk(core), MOST_PARTS))) == MOST_PARTS:
        return None
    only = {"divide": 1, "power": 0, "pow": 0}.get(core.function)
    for number, (name, value) in enumerate(core.arguments):
        if only is not None and number != only:
            continue
        inside = c.parts(value) if isinstance(value, c.Apply) else []
        if any(isinstance(part, c.Const) and part.value in places for part in inside):
            branches = as_branches(value, kinks=True)
            if isinstance(branches, c.If):
                return _around(branches, core, number, name)
    return None


def _around(branches: c.Core, core: c.Apply, number: int, name: str) -> c.Core:
    """The function of every branch, in the place of the branches."""
    if isinstance(branches, c.If):
        ways = (_around(x, core, number, name) for x in (branches.then, branches.otherwise))
        return c.If(core.span, core.type, branches.condition, *ways)
    before, after = core.arguments[:number], core.arguments[number + 1 :]
    return core.replace(arguments=(*before, (name, branches), *after))


def negation(condition: c.Core) -> c.Core:
    return c.Apply(condition.span, condition.type, "not", (("a", condition),))
