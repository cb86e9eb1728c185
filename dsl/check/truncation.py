"""Draws with a declared range: their distribution is cut to it and renormalised, or refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor, isfinite

from ..graph import core as c
from ..graph import types as t
from ..graph.constraints import IMPLIED
from ..graph.ranges import Interval
from ..library.derived import WRITTEN_ENDS, truncated_text
from ..library.distributions import DISTRIBUTIONS
from .context import Context


def within_range(law: c.Law, name: str, declared: Iterable[t.Type], ctx: Context) -> c.Law:
    """The same distribution without what lies outside of the declared range."""
    low, high = lowest, highest = _support(law)
    for wanted in declared:
        problem, help = _misfit(law, wanted)
        if problem:
            message = f"`{name}` is declared {wanted}, but {problem}"
            ctx.error("E0415", message, law.span, help)
            return law
        if _is_range(law, wanted):
            least, most = _ends(wanted)
            low, high = max(low, least), min(high, most)
    ends = {"at_least": low} if low > lowest else {}
    if high < highest:
        ends["at_most"] = high
    numbers = {name: c.Const(law.span, t.REAL, end) for name, end in ends.items()}
    return _cut(law, numbers, (low, high)) if (low, high) != law.type.bounds else law


def truncated(law: c.Law, ends: dict[str, c.Core], ctx: Context) -> c.Law | None:
    """The distribution between ends that are expressions: `Truncated(D, lower=, upper=)`."""
    if law.is_truncated:
        help = "give both ends at once: `Truncated(D, lower=0, upper=1)`"
        ctx.error("E0415", f"{law.name} is cut to a range twice", law.span, help)
        return None
    low, high = _support(law)
    if "lower" in ends:
        low = max(low, ends["lower"].type.bounds[0])
    if "upper" in ends:
        high = min(high, ends["upper"].type.bounds[1])
    if not law.facts.can_be_truncated:
        message = f"{law.name} cannot be cut to a range"
        ctx.error("E0415", message, law.span, _that_can_be_cut(law))
        return None
    if low >= high:
        message = f"no draw of {law.name} lies between these ends"
        ctx.error("E0415", message, law.span, "change an end, or the distribution")
        return None
    written = {end: ends[word] for end, word in WRITTEN_ENDS.items() if word in ends}
    return _cut(law, written, (low, high))


def _cut(law: c.Law, ends: Mapping[str, c.Core], bounds: Interval) -> c.Law:
    low, high = bounds
    return law.replace(
        row=truncated_text(law.row, ends) if ends else law.row,
        arguments=(*law.arguments, *ends.items()),
        type=law.type.replace(domain=law.type.domain.replace(lower=low, upper=high)),
    )


def _misfit(law: c.Law, wanted: t.Type) -> tuple[str, str]:
    """Why draws cannot be kept to what is declared, and what to do; nothing where they can."""
    if wanted.constraint:
        known = {wanted.constraint, *IMPLIED.get(wanted.constraint, ())}
        help = "take the type away, or draw it from a distribution of that kind"
        return ("", "") if law.type.constraint in known else (f"{law.name} is not", help)
    if not _is_range(law, wanted):
        return "", ""
    (low, high), (lowest, highest) = _ends(wanted), _support(law)
    if low <= lowest and high >= highest:
        return "", ""
    is_apart = low > highest or high < lowest
    if is_apart or (not wanted.whole and (low == highest or high == lowest)):
        return f"no draw of {law.name} lies there", "change the range, or the distribution"
    if law.facts.can_be_truncated:
        return "", ""
    help = f"take the range away, or {_that_can_be_cut(law)}"
    return f"{law.name} cannot be cut to a range", help


def _that_can_be_cut(law: c.Law) -> str:
    rows = [r for r in DISTRIBUTIONS if r.can_be_truncated and r.discrete == law.type.whole]
    return f"draw from one that can be cut: {', '.join(sorted({row.name for row in rows}))}"


def _is_range(law: c.Law, wanted: t.Type) -> bool:
    is_number = isinstance(wanted.domain, t.Real | t.Int)
    return is_number and type(law.type.domain) is type(wanted.domain) and not wanted.constraint


def _ends(wanted: t.Type) -> Interval:
    low, high = wanted.bounds
    if not wanted.whole:
        return low, high
    return (ceil(low) if isfinite(low) else low), (floor(high) if isfinite(high) else high)


def _support(law: c.Law) -> Interval:
    """The range of a draw as far as it is known here; a count goes up to its number of trials."""
    low, high = law.type.bounds
    highest = dict(law.arguments).get(law.facts.highest)
    return low, (high if highest is None else min(high, highest.type.bounds[1]))
