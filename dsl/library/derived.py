"""Rows of distributions that are made of another one: their signatures, and what still holds.

A signature says how its row is made, so that the row is found from it alone: a distribution that is
cut to a range has its ends as further arguments, others have a word before their name, and in a
mixture every argument has one more axis, `Part`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .rows import Distribution

RANGE_ENDS = {"at_least": "low", "at_most": "high"}
"""The ends of a range as arguments of a distribution that is cut to it."""

WRITTEN_ENDS = {"at_least": "lower", "at_most": "upper"}
"""What they are called where they are written."""

MIXTURE, ZERO_INFLATED, CENSORED = "MixtureOf", "ZeroInflatedOf", "CensoredOf"
WEIGHTS = "weights: simplex[Part], "
ZEROS = "zeros: unit, "

_TYPE = re.compile(r": (?!dim\b)(\w+(?:\([^)]*\))?)(?:\[([^\]]*)\])?")


def truncated_text(text: str, ends: Iterable[str]) -> str:
    """The signature of a row whose draws are cut to a range."""
    arguments, arrow, result = text.rpartition(") -> ")
    return arguments + "".join(f", {end}: real" for end in ends) + arrow + result


def mixture_text(text: str) -> str:
    """One distribution for each member of `Part`, of which a draw has one."""
    arguments, arrow, result = text.rpartition(") -> ")
    arguments = _TYPE.sub(_with_part, arguments).replace("(", f"({WEIGHTS}", 1)
    return MIXTURE + arguments + arrow + result


def _with_part(type_: re.Match[str]) -> str:
    axes = ", ".join(filter(None, ("Part", type_[2])))
    return f": {type_[1]}[{axes}]"


def zero_inflated_text(text: str) -> str:
    return ZERO_INFLATED + text.replace("(", f"({ZEROS}", 1)


def censored_text(text: str) -> str:
    """That of a distribution that is cut to a range, but keeps what lies outside at the ends."""
    return CENSORED + text


def made_of(text: str, row_of: Callable[[str], Distribution]) -> Distribution | None:
    """The row with this signature, where another one is inside; `row_of` finds that."""
    if text.startswith(MIXTURE):
        inner = text.removeprefix(MIXTURE).replace(WEIGHTS, "", 1)
        return _mixture(row_of(inner.replace("[Part, ", "[").replace("[Part]", "")), text)
    if text.startswith(ZERO_INFLATED):
        inner = text.removeprefix(ZERO_INFLATED).replace(ZEROS, "", 1)
        return _zero_inflated(row_of(inner), text)
    if text.startswith(CENSORED):
        return _censored(row_of(text.removeprefix(CENSORED)), text)
    whole = text
    for end in RANGE_ENDS:
        whole = whole.replace(f", {end}: real", "")
    return _truncated(row_of(whole), text) if whole != text else None


def _truncated(row: Distribution, text: str) -> Distribution:
    """What still holds of a distribution within other ends; above all, that it is one."""
    kind = "TruncatedCount" if row.discrete else "Truncated"
    moving = tuple(end for end in RANGE_ENDS if f", {end}: real" in text)
    ends = [f"{RANGE_ENDS[end]}={end}" for end in moving]
    tails = [f"tails={row.tails}"] if row.tails else []
    return Distribution(
        text,
        f"{kind}({', '.join([row.numpyro, *ends, *tails])})",
        f"{row.doc}, cut to a range",
        reparametrised=row.reparametrised,
        ascending=moving if len(moving) == 2 else (),
        edges=(*row.edges, *moving),
        kinked=row.kinked,
        cdf=True,
        quantile=not row.discrete,
        moments=False,
        helpers=_helpers(kind, row),
        absent={"moments": "it is cut to a range, and there no formula is known"},
    )


def _mixture(row: Distribution, text: str) -> Distribution:
    """Which one is drawn moves with the weights by jumps, so there is no path."""
    jumps = "which of its parts is drawn jumps as the weights move"
    has_cdf = row.single and (row.cdf or row.quantile or bool(row.tails))
    tails = f", tails={row.tails}" if row.tails else ""
    return Distribution(
        text,
        f"Mixture(weights, {row.numpyro}{tails})",
        f"one of several draws of {row.name}, each with its weight",
        edges=row.edges,
        kinked=row.kinked,
        lengths=row.lengths,
        on_the_line=row.on_the_line,
        cdf=has_cdf,
        moments=row.moments,
        helpers=_helpers("Mixture", row),
        absent={
            "reparametrised": jumps,
            "quantile": "its distribution function has no formula for the inverse",
        },
    )


def _zero_inflated(row: Distribution, text: str) -> Distribution:
    return Distribution(
        text,
        f"ZeroInflated(zeros, {row.numpyro})",
        f"0 with a probability, else a draw of {row.name}",
        edges=row.edges,
        kinked=row.kinked,
        masses=not row.discrete,
        moments=row.moments,
        helpers=_helpers("ZeroInflated", row),
        absent={"reparametrised": "whether it is 0 jumps as the probability moves"},
    )


def _censored(row: Distribution, text: str) -> Distribution:
    return Distribution(
        text,
        f"Censored({row.numpyro})",
        f"{row.doc}, where what lies outside is put at its ends",
        edges=row.edges,
        kinked=row.kinked,
        masses=not row.discrete,
        moments=False,
        helpers=_helpers("Censored", row),
        absent={"moments": "it is censored, and there no formula is known"},
    )


def _helpers(kind: str, row: Distribution) -> tuple[str, ...]:
    """The class of ours, and what the row inside needs."""
    added = row.name if row.added else ""
    return tuple(dict.fromkeys(filter(None, (kind, row.tails, added, *row.helpers))))
