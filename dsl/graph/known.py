"""What is known where an expression stands: under a condition, inside a function, in a loop."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from ..record import NOTHING, Record
from . import core as c
from .linear import Form, linear_form, opposite
from .ranges import Interval, meet


class Known(Record):
    """`ranges` are of variables by name, and of expressions that a condition compares.

    `differences` are of what is compared with each other, less what it is compared with; those in
    `apart` are not 0. In a soft statement all branches are taken, each with its weight, so that a
    comparison of real numbers says nothing of them.
    """

    ranges: Mapping[str | c.Core, Interval] = NOTHING  # type: ignore[assignment]
    differences: Mapping[Form, Interval] = NOTHING  # type: ignore[assignment]
    apart: frozenset[tuple[Form, float]] = frozenset()
    is_soft: bool = False

    def with_ranges(self, ranges: Mapping[str | c.Core, Interval]) -> Known:
        return self.replace(ranges={**self.ranges, **ranges})

    def with_difference(self, core: c.Core, interval: Interval) -> Known:
        """An expression lies in an interval, and so does what differs from it by a constant."""
        found = linear_form(core)
        if found is None or not found[0]:
            return self
        form, constant = found
        own = interval[0] - constant, interval[1] - constant
        whole = meet(self.differences.get(form, own), own)
        return self.replace(differences={**self.differences, form: whole})

    def without_zero(self, core: c.Core) -> Known:
        found = linear_form(core)
        return self if found is None else self.replace(apart=self.apart | {found})

    def of_difference(self, core: c.Core) -> Interval:
        """What is known of an expression that conditions compare to 0, in other words."""
        found = linear_form(core) if self.differences else None
        if found is None:
            return -inf, inf
        form, constant = found
        low, high = self.differences.get(form, (-inf, inf))
        least, most = self.differences.get(opposite(form), (-inf, inf))
        return max(low, -most) + constant, min(high, -least) + constant

    def keeps_from_zero(self, core: c.Core) -> bool:
        found = linear_form(core) if self.apart else None
        if found is None:
            return False
        form, constant = found
        return found in self.apart or (opposite(form), -constant) in self.apart


NOTHING_KNOWN = Known()
IN_SOFT_STATEMENT = Known(is_soft=True)
