"""Which arrays are proved to be a simplex, a covariance matrix, a Cholesky factor, or ordered."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from . import core as c
from .facts import Facts, summed
from .linear import add_linear

IMPLIED = {
    "covariance": frozenset({"covariance", "correlation"}),
    "cholesky": frozenset({"cholesky", "corr_cholesky"}),
    "ordered": frozenset({"ordered", "positive_ordered"}),
}
"""Which constraints each one follows from, besides itself."""

TOLERANCE = 1e-6


class Constraints:
    """Of the expressions of one program."""

    def __init__(self, facts: Facts):
        self.facts = facts

    def keeps(self, core: c.Core, word: str) -> bool:
        """Whether it is proved to be a simplex, a covariance matrix, and so on."""
        if isinstance(core, c.Lookup):
            return self._all_keep(core.entries, word)
        if core.type.constraint in {word, *IMPLIED.get(word, ())}:
            return True
        if isinstance(core, c.Ref | c.At):
            ref = core.base if isinstance(core, c.At) else core
            pieces = self.facts.pieces.get(ref.name, ()) if isinstance(ref, c.Ref) else ()
            bodies = [p.body for p in pieces if isinstance(p.body, c.Core)]
            # An element that has no axis left over is not an array any more.
            whole = [body for body in bodies if len(body.type.shape) >= len(core.type.shape)]
            return bool(whole) and len(whole) == len(pieces) and self._all_keep(whole, word)
        if isinstance(core, c.If):
            return self._all_keep([core.then, core.otherwise], word)
        rule = _RULES.get(word)
        return rule is not None and rule(self, core)

    def _all_keep(self, cores: Iterable[c.Core], word: str) -> bool:
        return all(self.keeps(core, word) for core in cores)

    def is_simplex(self, core: c.Core) -> bool:
        """Items that sum to one, or any that are divided by their sum."""
        if isinstance(core, c.Stack):
            if core.type.shape[1:]:
                return self._all_keep(core.items, "simplex")
            is_positive = all(self.facts.range_of(x)[0] >= 0 for x in core.items)
            return is_positive and sums_to_one(core.items)
        if isinstance(core, c.Build) and isinstance(core.body, c.Apply):
            if core.body.type.shape:
                return self.keeps(core.body, "simplex")
            return core.body.function == "divide" and self._divides_by_its_sum(core)
        if isinstance(core, c.Apply) and core.function == "divide":
            (_, part), (_, whole) = core.arguments
            if _is_even(part, whole):
                return True
            is_sum = summed(self.facts.defined(whole)) == part
            return is_sum and len(part.type.shape) == 1 and self.facts.range_of(part)[0] >= 0
        is_permuted = isinstance(core, c.Apply) and core.function in ("reverse", "sort")
        return is_permuted and self.keeps(core.arguments[0][1], "simplex")  # type: ignore[attr-defined]

    def _divides_by_its_sum(self, core: c.Build) -> bool:
        """[k in K] w[k] / sum(w)."""
        assert isinstance(core.body, c.Apply)
        (_, part), (_, whole) = core.body.arguments
        array = summed(self.facts.defined(whole))
        names = [bind.name for bind in core.binders[-1:]]
        is_entry = isinstance(part, c.At) and part.base == array
        own = [x.name for x in part.indices if isinstance(x, c.Var)] if is_entry else []  # type: ignore[attr-defined]
        return own == names and self.facts.range_of(part)[0] >= 0

    def is_covariance(self, core: c.Core) -> bool:
        """Sums of covariances, positive multiples of one, and what is positive on a diagonal."""
        if not isinstance(core, c.Apply):
            return False
        values = [value for _, value in core.arguments]
        if core.function == "add":
            return self._all_keep(values, "covariance")
        if core.function == "multiply":
            numbers = [value for value in values if not value.type.shape]
            matrices = [value for value in values if value.type.shape]
            scaled = len(numbers) == 1 and self.facts.range_of(numbers[0])[0] >= 0
            return scaled and self._all_keep(matrices, "covariance")
        if core.function == "divide":
            scaled = not values[1].type.shape and self.facts.range_of(values[1])[0] >= 0
            return scaled and self.keeps(values[0], "covariance")
        if core.function == "diag":
            return self.facts.range_of(values[0])[0] >= 0
        if core.function in ("inv", "transpose"):
            return self.keeps(values[0], "covariance")
        return core.function == "matmul" and _is_transpose(values[1], values[0])

    def is_cholesky(self, core: c.Core) -> bool:
        if not isinstance(core, c.Apply):
            return False
        values = [value for _, value in core.arguments]
        if core.function == "diag":
            return self.facts.range_of(values[0])[0] >= 0
        if core.function == "multiply":
            numbers = [value for value in values if not value.type.shape]
            scaled = len(numbers) == 1 and self.facts.range_of(numbers[0])[0] >= 0
            return scaled and all(self.keeps(x, "cholesky") for x in values if x.type.shape)
        return core.function == "matmul" and self._all_keep(values, "cholesky")

    def is_ordered(self, core: c.Core) -> bool:
        """Constants that increase, and sums of what is above 0."""
        if isinstance(core, c.Stack):
            ranges = [self.facts.range_of(item) for item in core.items]
            return all(a[1] < b[0] for a, b in pairwise(ranges))
        is_sum = isinstance(core, c.Apply) and core.function == "cumsum"
        return is_sum and self.facts.range_of(core.arguments[0][1])[0] >= 0  # type: ignore[attr-defined]


_RULES = {
    "simplex": Constraints.is_simplex,
    "covariance": Constraints.is_covariance,
    "cholesky": Constraints.is_cholesky,
    "ordered": Constraints.is_ordered,
    "positive_ordered": Constraints.is_ordered,
}


def sums_to_one(cores: Iterable[c.Core]) -> bool:
    """Whether all that is not a number cancels, and the numbers sum to one."""
    total: dict[c.Core | None, float] = {}
    for core in cores:
        add_linear(core, 1.0, total)
    constant = total.pop(None, 0.0)
    cancels = all(abs(weight) < TOLERANCE for weight in total.values())
    return cancels and abs(constant - 1) < TOLERANCE


def _is_even(part: c.Core, whole: c.Core) -> bool:
    """ones(K) / size(K)."""
    if not (isinstance(part, c.Apply) and isinstance(whole, c.Apply)):
        return False
    dims = [value for _, value in (*part.arguments, *whole.arguments)]
    return (part.function, whole.function) == ("ones", "size") and dims[0] == dims[-1]


def _is_transpose(core: c.Core, of: c.Core) -> bool:
    return isinstance(core, c.Apply) and core.function == "transpose" and core.arguments[0][1] == of
