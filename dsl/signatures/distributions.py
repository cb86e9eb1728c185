"""The distributions of the language: one row for each way of giving the parameters, no code.

`numpyro` is the constructor that means the same: a Python expression in the names of the row, constructors of
`numpyro.distributions` and functions of the language. A dim stands for its size there.

A parameter's name says what it is:

    mean, sd            the mean and the standard deviation of the draw itself
    location, scale     where the draw is centred and how far it is stretched, when those are not its moments
    rate                1 / scale, or the expected number of events
    shape               the power that the density has at 0 or in its tail
    concentration       how closely draws gather round their centre
    df                  degrees of freedom
    p, logits           a probability, and the log of its odds (of many: the log up to a constant)
    n                   the number of trials
    lower, upper        the ends of the support
    cov, chol, precision    a covariance matrix, its lower Cholesky factor, its inverse
"""

from __future__ import annotations

from functools import cache

from .distributions_continuous import CONTINUOUS
from .distributions_discrete import DISCRETE
from .distributions_multivariate import MULTIVARIATE
from .rows import Distribution

__all__ = ["DISTRIBUTIONS", "Distribution", "distributions_by_name"]

DISTRIBUTIONS: tuple[Distribution, ...] = CONTINUOUS + MULTIVARIATE + DISCRETE


@cache
def distributions_by_name() -> dict[str, tuple[Distribution, ...]]:
    """Rows of one name are alternatives: the first takes positional arguments, others are told by name."""
    table: dict[str, tuple[Distribution, ...]] = {}
    for row in DISTRIBUTIONS:
        table[row.name] = (*table.get(row.name, ()), row)
    return table
