"""From a start to a maximum with a certificate in units of the data, over saddles and away from
states that nothing is left of.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from dpc.inference.optimise.lbfgs import value_and_gradient
from dpc.inference.optimise.method import (
    Minimised,
    Minimiser,
    State,
    asked_of,
    minimise,
    tolerance_for,
)
from dpc.inference.optimise.stochastic import Stochastic
from dpc.inference.optimise.units import Units, find_units, plain_units, to_free, to_raw

from .choose import MethodChoice, scaled_losses, stages
from .likelihood import Arrays, Likelihood
from .result import STEPS, FitOptions

Values = dict[str, Any]
Watch = Callable[[int, str, State, Units], None]
Load = Callable[[Any], Any]

EM_STEPS = 200
TRY_STEPS = 50
"""Of each start; the best goes on to its maximum."""
ROUNDS = 3
"""Times that the last method runs again, where units at its end are others than at its start."""
SLACK = 10.0
"""A gradient in units that are known roughly."""
STANDARD_ERRORS = 1e-5
"""How near the maximum is, where rounding lets no step come nearer."""
NUDGE, NUDGES = 0.1, 5
STAGES = 100
"""Numbers of stages that each start may take."""


class StartedFit:
    """The methods for one likelihood, and the units they work in."""

    def __init__(
        self,
        likelihood: Likelihood,
        choice: MethodChoice,
        options: FitOptions,
        data: list[Arrays],
        watch: Watch | None = None,
        load: Load | None = None,
    ):
        self.likelihood, self.choice, self.options, self.data = likelihood, choice, options, data
        self.methods = stages(likelihood, choice, options)
        self.safe, self.quick = scaled_losses(likelihood, choice)
        self.watch, self.load = watch, load
        self.steps = STEPS if options.steps is None else options.steps
        given = likelihood.cases.groups
        draws = sorted(likelihood.cases.given)
        arrays = [g.stacked.get(n, g.shared.get(n)) for g in given for n in draws]
        self.count = max(1, sum(np.size(array) for array in arrays if array is not None))

    @property
    def is_scaled(self) -> bool:
        return not isinstance(self.methods[0], Stochastic)

    def best_first(self, raws: list[Values]) -> list[Values]:
        """After some steps from each start; what has no value comes last."""
        if len(raws) == 1:
            return raws
        found: list[tuple[float, int, Values]] = []
        for raw in raws:
            result = self._stage(self.methods[0], raw, min(TRY_STEPS, self.steps))
            value = result.value if np.isfinite(result.value) else np.inf
            found.append((value, len(found), result.raw))
        return [raw for _, _, raw in sorted(found, key=lambda own: own[:2])]

    def run(self, raw: Values, first: int) -> Minimised:
        """One method after the other, until one has a certificate or has taken all steps."""
        number, kept = 0, None
        if self.load is not None:
            stage = int(self.load((0,))[0])
            if stage >= first + STAGES:
                # A later start was under way: of this one nothing is wanted any more.
                return Minimised(raw, np.inf, np.inf, 0, False, "", "", None)
            number = stage - first
            method = self._method(number)
            _, units, state = self.load((0, plain_units(raw), self._ready(method, raw).like(raw)))
            kept, self.load = (units, state), None
        while True:
            method = self._method(number)
            is_last = number >= len(self.methods) - 1
            limit = self.steps if is_last else min(EM_STEPS, self.steps)
            result = self._stage(method, raw, limit, first + number, kept)
            raw, kept = result.raw, None
            rounds = number - len(self.methods) + 1
            if result.steps >= self.steps or not self.is_scaled:
                return result
            result = self._certified(result, is_last)
            number += 1
            if result.converged or (is_last and rounds >= ROUNDS) or not np.isfinite(result.value):
                return result
            if is_last and not result.reason.startswith(UNITS):
                return result

    def _method(self, number: int) -> Minimiser:
        return self.methods[min(number, len(self.methods) - 1)]

    def _ready(self, method: Minimiser, raw: Values) -> Minimiser:
        found: Minimiser = replace(method, data=(plain_units(raw), self.data))  # type: ignore[type-var]
        return found

    def _stage(
        self,
        method: Minimiser,
        raw: Values,
        limit: int,
        number: int | None = None,
        kept: tuple[Units, State] | None = None,
    ) -> Minimised:
        units, state = (self._units_for(method, raw), None) if kept is None else kept
        ready: Minimiser = replace(method, data=(units, self.data))  # type: ignore[type-var]
        seen = None
        if self.watch is not None and number is not None:
            seen = partial(_watched, self.watch, number, method.name, units)
        result = minimise(ready, to_free(raw, units), limit, seen, state)
        return result._replace(raw=to_raw(result.raw, units))

    def _units_for(self, method: Minimiser, raw: Values) -> Units:
        """EM and stochastic gradients work in the parameters' own."""
        if method is not self.methods[-1] or not self.is_scaled:
            return plain_units(raw)
        return self.units_at(raw)

    def units_at(self, raw: Values) -> Units:
        """What has bounds is on a scale without units already."""
        nodes = {node.name: node for node in self.likelihood.roles.unknowns}
        largest = {}
        for name, value in raw.items():
            type_ = nodes[name].type
            is_free = not type_.constraint and type_.bounds == (-np.inf, np.inf)
            largest[name] = np.full(np.shape(value), np.inf if is_free else 1.0)
        return find_units(self._loss_at(raw), raw, self.data, self.count, largest)

    def _loss_at(self, raw: Values) -> Callable[..., Any]:
        """The quick one is NaN where it would need logarithms."""
        value, _ = value_and_gradient(self.quick, raw, (plain_units(raw), self.data))
        return self.quick if np.isfinite(value) else self.safe

    def _certified(self, result: Minimised, is_last: bool) -> Minimised:
        """With the gradient in the units of the point that was found."""
        is_stuck = not result.converged and is_last
        if not np.isfinite(result.value) or not (result.converged or is_stuck):
            return result
        units = self.units_at(result.raw)
        free = jax.tree.map(np.zeros_like, result.raw)
        loss = self._loss_at(result.raw)
        _, gradient = value_and_gradient(loss, free, (units, self.data))
        norm = max((float(np.abs(leaf).max(initial=0)) for leaf in gradient.values()), default=0.0)
        tolerance = tolerance_for(result.raw, self.options.tolerance)
        asked = SLACK * float(asked_of(np.asarray(result.value), tolerance))
        if result.converged and norm <= asked:
            return result
        distance = norm / self.count**0.5
        if is_stuck and ROUNDED in result.reason and distance <= STANDARD_ERRORS:
            near = f"the maximum is nearer than {distance:.2g} standard errors"
            return result._replace(converged=True, reason=f"{near}, and rounding hides the rest")
        if result.converged:
            return result._replace(converged=False, reason=f"{UNITS} {norm:.2g}")
        return result

    def escape(self, result: Minimised) -> Minimised:
        """From a saddle every push leads down, and from a minimum none."""
        rng = np.random.default_rng(self.options.seed)
        for _ in range(NUDGES):
            units = self.units_at(result.raw)
            push = {n: NUDGE * rng.normal(size=np.shape(v)) for n, v in result.raw.items()}
            found = self._stage(self.methods[-1], to_raw(push, units), self.steps)
            found = self._certified(found, is_last=True)
            gain = result.value - found.value
            least = 1e-6 * max(1.0, abs(result.value))
            if not (found.converged and gain > least):
                break
            result = found
        return result


UNITS = "the gradient is small, but not in units of the data: it is"
ROUNDED = "all rounding"


def _watched(watch: Watch, number: int, name: str, units: Units, state: State) -> None:
    watch(number, name, state, units)


def is_stationary(result: Minimised, tolerance: float | None) -> bool:
    asked = float(asked_of(np.asarray(result.value), tolerance_for(result.raw, tolerance)))
    return bool(np.isfinite(result.value)) and result.gradient_norm <= asked
