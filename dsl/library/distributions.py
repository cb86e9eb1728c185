"""The distributions of the language: one row for each way of giving the parameters, no code.

`numpyro` is the constructor that means the same: a Python expression in the names of the row,
constructors of `numpyro.distributions` and functions of the language. A dim stands for its size
there.

A parameter's name says what it is:

    mean, sd            the mean and the standard deviation of the draw itself
    location, scale     where the draw is centred and how far it is stretched, if not by its moments
    rate                1 / scale, or the expected number of events
    shape               the power that the density has at 0 or in its tail
    concentration       how closely draws gather round their centre
    df                  degrees of freedom
    p, logits           a probability, and the log of its odds (of many: the log up to a constant)
    n                   the number of trials
    lower, upper        the ends of the support
    cov, chol, precision    a covariance matrix, its lower Cholesky factor, its inverse
"""

from collections.abc import Callable, Iterable
from typing import Any

from .distributions_continuous import CONTINUOUS
from .distributions_discrete import DISCRETE
from .distributions_multivariate import MULTIVARIATE
from .rows import Distribution

DISTRIBUTIONS: list[Distribution] = [*CONTINUOUS, *MULTIVARIATE, *DISCRETE]
"""All rows; `add_distribution` appends."""

RANGE_ENDS = {"at_least": "low", "at_most": "high"}
"""The ends of a declared range as arguments of a distribution that is cut to it."""

_BY_TEXT: dict[str, Distribution] = {}
_BY_NAME: dict[str, tuple[Distribution, ...]] = {}


def distributions_by_name() -> dict[str, tuple[Distribution, ...]]:
    """Rows of one name: the first takes positional arguments, the others are chosen by name."""
    return _BY_NAME


def row_of(text: str) -> Distribution:
    """The row with this signature, or that of a distribution cut to a declared range."""
    if text in _BY_TEXT:
        return _BY_TEXT[text]
    whole = text
    for end in RANGE_ENDS:
        whole = whole.replace(f", {end}: real", "")
    if whole not in _BY_TEXT:
        raise LookupError(f"{text} was taken away: a model that draws from it is of no use")
    return _truncated(_BY_TEXT[whole], text)


def truncated_text(text: str, ends: Iterable[str]) -> str:
    """The signature of a row whose draws are cut to a declared range."""
    arguments, arrow, result = text.rpartition(") -> ")
    return arguments + "".join(f", {end}: real" for end in ends) + arrow + result


def _truncated(row: Distribution, text: str) -> Distribution:
    """What still holds of a distribution within other ends; above all, that it is one."""
    kind = "TruncatedCount" if row.discrete else "Truncated"
    ends = [f"{word}={end}" for end, word in RANGE_ENDS.items() if f", {end}: real" in text]
    tails = [f"tails={row.tails}"] if row.tails else []
    moving = tuple(end for end in RANGE_ENDS if f", {end}: real" in text)
    return Distribution(
        text,
        f"{kind}({', '.join([row.numpyro, *ends, *tails])})",
        f"{row.doc}, cut to a range",
        reparametrised=row.reparametrised,
        edges=(*row.edges, *moving),
        kinked=row.kinked,
        cdf=True,
        quantile=not row.discrete,
        moments=False,
        helpers=tuple(filter(None, (*row.helpers, kind, row.tails))),
        added=row.added,
        absent={"moments": "it is cut to a declared range, and there no formula is known"},
    )


def names_with(fact: str) -> list[str]:
    """The distributions that have a fact in one of their forms, in order of the alphabet."""
    return sorted({row.name for row in DISTRIBUTIONS if row.has(fact)})


def add_row(row: Distribution) -> None:
    """One more row; a name may have several, told apart by the names of their arguments."""
    if row.text in _BY_TEXT:
        raise ValueError(f"there is a distribution `{row.text}` already")
    DISTRIBUTIONS.append(row)
    _enter(row)


def remove_row(text: str) -> None:
    row = _BY_TEXT.pop(text)
    DISTRIBUTIONS.remove(row)
    left = tuple(other for other in _BY_NAME[row.name] if other is not row)
    if left:
        _BY_NAME[row.name] = left
    else:
        del _BY_NAME[row.name]


def added_constructor(name: str) -> Callable[..., Any] | None:
    """What makes a distribution that was added from outside."""
    return next((row.added for row in _BY_NAME.get(name, ()) if row.added), None)


def _enter(row: Distribution) -> None:
    _BY_TEXT[row.text] = row
    _BY_NAME[row.name] = (*_BY_NAME.get(row.name, ()), row)


for _row in DISTRIBUTIONS:
    _enter(_row)
