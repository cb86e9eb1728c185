"""The error that is left in smoothed statements: how far off their means are by another rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpc.dsl.graph.passes.smoothing import by_another_rule, is_smoothed

if TYPE_CHECKING:
    from ..model.model import Model

LARGE = 1e-3
"""A difference worth a warning, relative to one plus the size of the number."""
MARGIN = 2.0
"""The other rule has an error too, and may by chance be off to the same side."""


def another_rule(model: Model) -> Model | None:
    """The model with other means over noise, if it has any."""
    from ..model.model import Model

    if not any(map(is_smoothed, model.graph.nodes)):
        return None
    return Model(by_another_rule(model.graph), externs=model.externs)


class SmoothingErrors(dict[str, float]):
    """By the name of a number, how far off it may be: from its largest difference by two rules."""

    def __init__(self, found: Mapping[str, Any], other: Mapping[str, Any]):
        super().__init__({n: MARGIN * _difference(found[n], other[n]) for n in other})
        sizes = {name: 1 + _largest(found[name]) for name in other}
        self.large = [
            name
            for name, error in self.items()
            if not (np.isfinite(error) and error <= LARGE * sizes[name])
        ]

    def lines(self) -> list[str]:
        if not self:
            return []
        said = ", ".join(f"{name} by {error:.1g}" for name, error in self.items())
        return [f"means over noise, by another rule, change {said}"]

    @property
    def warnings(self) -> tuple[str, ...]:
        mend = "ask for more `panels=`, or more `samples=`, in `smooth(...)`"
        return tuple(
            f"`{name}` is off by about {self[name]:.1g}, as two rules for its mean over noise "
            f"differ: {mend}; or it has no mean, if it grows as fast as the noise falls"
            for name in self.large
        )


def _difference(one: Any, other: Any) -> float:
    """With what rounding leaves in both; of what is infinite by either rule nothing is known."""
    first, second = np.asarray(one), np.asarray(other)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return float("inf")
    eps = np.finfo(first.dtype if first.dtype.kind == "f" else float).eps
    return _largest(first - second) + 4 * float(eps) * _largest(first)


def _largest(array: Any) -> float:
    return float(np.max(np.abs(np.asarray(array, float)), initial=0))
