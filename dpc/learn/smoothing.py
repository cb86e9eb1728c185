"""What is added to the counts of a table: A to each cell, or N / cells, the prior of BDeu."""

from __future__ import annotations

from math import inf, prod

from dpc.dsl.record import Record

BDEU = "bdeu:"


class Smoothing(Record):
    """`amount` goes to each cell of a table, or is spread evenly over all of them."""

    amount: float
    is_spread: bool = False

    def of(self, shape: tuple[int, ...]) -> float:
        """For each cell of a table of this shape."""
        return self.amount / prod(shape) if self.is_spread else self.amount


def read_smoothing(value: float | str | None) -> Smoothing:
    """From a number or text: `0.5`, `bdeu:10`; raises ValueError for others."""
    is_spread = isinstance(value, str) and value.startswith(BDEU)
    try:
        amount = float(str(value).removeprefix(BDEU)) if value is not None else 0.0
    except ValueError:
        amount = -1.0
    if not 0 <= amount < inf:
        raise ValueError(
            "`smoothing=` is a number from 0 up, or `bdeu:N` with the equivalent sample size N, not "
            f"{value}"
        )
    return Smoothing(amount, is_spread)
