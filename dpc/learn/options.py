"""What can be asked of a fit, and which method has a use for it."""

from math import inf, prod

from dpc.dsl.record import Record


class NotApplicable(ValueError):
    """A method or option that was asked for, on a model it does not suit."""


class FitOptions(Record):
    """`smoothing` is added to every count, or with "bdeu:N" shared out over each table; `tolerance`
    is of the gradient, relative to the value; at most 1000 `steps`; `rate` (0.01) and `batch`, the
    cases of a step (all), are for stochastic gradients.
    """

    method: str = "auto"
    loss: str = "likelihood"
    rate: float | None = None
    batch: int | None = None
    steps: int | None = None
    tolerance: float | None = None
    smoothing: float | str | None = None
    seed: int = 0
    errors: bool = True


STEPS, RATE = 1000, 0.01
USED = {"counts": {"smoothing"}, "stochastic": {"rate", "batch", "steps"}}
UNUSED = {
    "smoothing": "is added to counts, and `{method}` counts nothing: write a prior in the file",
    "rate": "is for stochastic gradients, and this is `{method}`",
    "batch": "is for stochastic gradients, and this is `{method}`",
    "tolerance": "has no meaning for `{method}`, which has no gradient to judge by",
    "steps": "has no meaning for `{method}`, which takes one",
}


def verify_options(options: FitOptions, method: str) -> None:
    """Raises NotApplicable for an option that the method would ignore."""
    used = USED.get(method, {"tolerance", "steps"})
    for name, why in UNUSED.items():
        if getattr(options, name) is not None and name not in used:
            raise NotApplicable(f"`{name}` {why.format(method=method)}")


# ---- what is added to counts


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
        takes = "a number from 0 up, or `bdeu:N` with the equivalent sample size N"
        raise ValueError(f"`smoothing=` is {takes}, not {value}")
    return Smoothing(amount, is_spread)
