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

from collections.abc import Callable
from typing import Any

from .derived import made_of
from .distributions_continuous import CONTINUOUS
from .distributions_discrete import DISCRETE
from .distributions_multivariate import MULTIVARIATE
from .rows import Distribution

DISTRIBUTIONS: list[Distribution] = [*CONTINUOUS, *MULTIVARIATE, *DISCRETE]
"""All rows; `add_distribution` appends."""

_BY_TEXT: dict[str, Distribution] = {}
_BY_NAME: dict[str, tuple[Distribution, ...]] = {}
_DERIVED: dict[str, Distribution] = {}


def distributions_by_name() -> dict[str, tuple[Distribution, ...]]:
    """Rows of one name: the first takes positional arguments, the others are chosen by name."""
    return _BY_NAME


def row_of(text: str) -> Distribution:
    """The row with this signature, or one that is made of another one."""
    found = _BY_TEXT.get(text) or _DERIVED.get(text)
    if found is None:
        found = made_of(text, row_of)
        if found is None:
            raise LookupError(f"{text} was taken away: a model that draws from it is of no use")
        _DERIVED[text] = found
    return found


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
    _DERIVED.clear()
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
