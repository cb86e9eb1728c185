"""Fitting a file with an objective: stochastic optimisation of what it is on average."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpc.dsl.files import write_whole
from dpc.dsl.graph.graph import Kind
from dpc.inference.optimise.stochastic import CHUNK, LEAST_STEPS

from ..exits import UsageError
from ..gradient import optimise as opt
from ..gradient.optimise import OptimisePlan, OptimiseState
from ..model.keeper import Keeper, digest
from ..model.model import Model
from ..show.answer import Answer, AnswerTable, entry_names
from .run import FitRequest


class ObjectiveFit(Answer):
    """The parameters that a run came to; `value` is the mean objective there, with its error."""

    def __init__(self, model: Model, state: OptimiseState, plan: OptimisePlan, data: Any):
        objective = model.graph.of_kind(Kind.COST)[0]
        sign = 1.0 if objective.minimize else -1.0
        self.title = model.title
        self.objective = objective.name
        self.losses = sign * state.losses
        self.params = {n: np.asarray(v) for n, v in model.constrain(state.raw).items()}
        self.value, self.error = opt.value_at(model, data, plan, state)
        self.steps = state.step
        self.converged = opt.has_converged(state.losses)
        self.seed = plan.seed
        self.types = {name: model.graph[name].type for name in self.params}
        self.labels = getattr(data, "labels", {})
        self._left = "" if self.converged else _what_is_left(state)

    @property
    def warnings(self) -> tuple[str, ...]:
        return (self._left,) if self._left else ()

    def tables(self) -> list[AnswerTable]:
        rows: list[tuple[Any, ...]] = []
        for name, value in self.params.items():
            entries = entry_names(name, self.types[name], value.shape, self.labels)
            rows += zip(entries, value.ravel().tolist(), strict=True)
        return [AnswerTable(("parameter", "value"), rows)]

    def after(self) -> list[str]:
        mean = f"{self.objective} {self.value:.6g} ± {self.error:.2g}"
        return [f"{mean} at these parameters, after {self.steps} steps"]

    def to_dict(self) -> dict[str, Any]:
        return {
            "objective": self.objective,
            "value": self.value,
            "standard_error": self.error,
            "params": {name: value.tolist() for name, value in self.params.items()},
            "steps": self.steps,
            "converged": self.converged,
            "seed": self.seed,
        }

    def save(self, path: str | Path) -> None:
        """Everything as JSON, with the loss of every step."""
        found = {**self.to_dict(), "losses": self.losses.tolist()}
        write_whole(str(path), (json.dumps(found) + "\n").encode())

    def plot(self, path: str) -> None:
        """The learning curve: .svg or .png."""
        from ..show.draw.chart import Series, curve_chart, write_chart

        curves = []
        for name, losses in (
            ("every step", self.losses),
            (f"mean of {CHUNK}", opt.smoothed(self.losses)),
        ):
            points = tuple((k + 1.0, float(x)) for k, x in enumerate(losses))
            curves.append(Series(name, points, pale=losses is self.losses))
        title = f"{self.title}: learning curve"
        write_chart(curve_chart(title, "step", self.objective, curves), path)


def _what_is_left(state: OptimiseState) -> str:
    if len(state.losses) < LEAST_STEPS:
        told = f"whether it converged can be told from {LEAST_STEPS} on"
        return f"stopped after {state.step} steps; {told}"
    left = opt.progress(state.losses)
    word = "fell" if left.fall > 0 else "rose"
    change = f"the loss still {word} by {abs(left.fall):.3g} ± {left.error:.2g}"
    help = "more `steps=`, or another `rate=`, may help"
    return f"not converged after {state.step} steps: {change} within the last half; {help}"


def fit_objective(
    model: Model, params: Mapping[str, Any], data: Any, plan: OptimisePlan, request: FitRequest
) -> ObjectiveFit:
    """On the way, and whatever stops it, the state is kept where `checkpoint` says."""
    if not model.graph.of_kind(Kind.PARAMETER):
        raise UsageError(f"{model.title} has no `param` to fit")
    state = opt.start(model, params, data, plan)
    # What a run depends on, but for its number of steps.
    objective = model.objective(data)
    words = [objective.text, repr(list(objective.choices.values())), repr(plan._replace(steps=0))]
    run = digest(words, sorted([*params.items(), *data.items()]))
    keeper = Keeper(request.checkpoint, request.resume, run)
    if request.resume:
        state = OptimiseState(*keeper.load(tuple(state)))
        state = state._replace(step=int(state.step))
    try:
        for reached in opt.optimise(model, data, plan, state):
            state = reached
            keeper.keep(state.step, tuple(state))
            if request.watch is not None:
                request.watch(0, plan.optimizer, state)
    finally:
        keeper.keep(state.step, tuple(state), now=True)
        keeper.release()
    return ObjectiveFit(model, state, plan, data)
