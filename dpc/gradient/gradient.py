"""The gradient of an expected objective: estimates, standard errors, and how it was found."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from dpc.dsl.graph.graph import Kind
from dpc.dsl.record import Record

from ..exits import UsageError
from ..model.room import verify_room
from ..show.answer import Answer, AnswerTable, entry_names
from .choose import EstimatorChoice
from .smoothed import SmoothingErrors, another_rule
from .undefined import verify_numbers

if TYPE_CHECKING:
    from ..model.model import Model

TOGETHER = 128


class EstimateMoments(Record):
    """Of `count` estimates of an array: the mean, and the variance of one estimate."""

    mean: np.ndarray
    variance: np.ndarray
    count: int

    @property
    def error(self) -> np.ndarray:
        """The standard error of the mean."""
        return np.sqrt(self.variance / self.count)


class Estimates(Record):
    """`gradient` by parameter, `hessian` by pairs; `seconds` is the time of one estimate."""

    value: EstimateMoments
    gradient: dict[str, EstimateMoments]
    hessian: dict[tuple[str, str], EstimateMoments]
    seconds: float


class Estimator:
    """Estimates of an objective at these parameters, in batches, by one compiled program."""

    def __init__(self, model: Any, params: Any, data: Any, together: int, hessian: bool = False):
        def one(key: Any) -> Any:
            if not hessian:
                return *model.value_and_grad(key, params, data), {}

            def surrogate(p: Any) -> Any:
                return model.surrogate(key, p, data, order=2)

            return *jax.value_and_grad(surrogate)(params), jax.hessian(surrogate)(params)

        self.entries = 1 + sum(np.size(value) for value in params.values())
        self.together = min(together, TOGETHER)
        keys = jax.random.split(jax.random.key(0), self.together)
        self.batch = jax.jit(jax.vmap(one)).lower(keys).compile()

    def estimate(self, key: Any, count: int, turns: int = 1) -> Estimates:
        """`count` estimates; the time is the best of this many turns."""
        verify_room(count, "samples", self.entries)
        batches = -(-count // self.together)
        keys = jax.random.split(key, (batches, self.together))
        found, seconds = self._timed(keys, turns)
        value, gradient, second = jax.tree.map(
            lambda *parts: moments(np.concatenate(parts)[:count]), *found
        )
        pairs = {(a, b): m for a, row in second.items() for b, m in row.items()}
        return Estimates(value, gradient, pairs, seconds / (batches * self.together))

    def _timed(self, keys: Any, turns: int) -> tuple[list[Any], float]:
        best = float("inf")
        for _ in range(turns):
            start = time.perf_counter()
            found = jax.block_until_ready([self.batch(own) for own in keys])
            best = min(best, time.perf_counter() - start)
        return found, best


def moments(array: Any) -> EstimateMoments:
    """Estimates are along the first axis."""
    array = np.asarray(array)
    variance = array.var(0, ddof=1) if len(array) > 1 else np.zeros(array.shape[1:])
    return EstimateMoments(array.mean(0), variance, len(array))


# ---- many estimates


class Gradient(Answer, Mapping[str, Any], Record):
    """The estimated gradient by parameter; an exact one has no errors, and `exact` says why.

    `estimates` hold the value, the gradient and the Hessian with the variance of one estimate;
    `choices` say how every draw was differentiated; `names` are those of every entry.
    """

    objective: str
    estimates: Estimates
    choices: list[EstimatorChoice]
    exact: str
    names: dict[str, list[str]]
    smoothing: SmoothingErrors | None = None

    @property
    def value(self) -> float:
        return float(self.estimates.value.mean)

    def __getitem__(self, name: str) -> Any:
        return self.estimates.gradient[name].mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates.gradient)

    def __len__(self) -> int:
        return len(self.estimates.gradient)

    # ---- as tables

    def tables(self) -> list[AnswerTable]:
        head = ("", "exact") if self.exact else ("", "estimate", "± standard error")
        rows: list[tuple[Any, ...]] = []
        for text, moments, place in self._numbers():
            error = () if self.exact else (f"± {float(np.ravel(moments.error)[place]):.2g}",)
            rows.append((text, float(np.ravel(moments.mean)[place]), *error))
        return [AnswerTable(head, rows)]

    def _numbers(self) -> Iterator[tuple[str, EstimateMoments, int]]:
        """The value, its derivatives, and the second ones of each pair once."""
        yield self.objective, self.estimates.value, 0
        for name, moments in self.estimates.gradient.items():
            for place, entry in enumerate(self.names[name]):
                yield f"d/d {entry}", moments, place
        order = {entry: k for k, entry in enumerate(e for own in self.names.values() for e in own)}
        for (a, b), moments in self.estimates.hessian.items():
            pairs = [(x, y) for x in self.names[a] for y in self.names[b]]
            for place, (x, y) in enumerate(pairs):
                if order[x] <= order[y]:
                    yield f"d²/d {x} d {y}", moments, place

    def after(self) -> list[str]:
        how = f"{self.estimates.value.count} independent estimates"
        if self.exact:
            how = f"exact: {self.exact}"
        elif any(np.any(moments.error == 0) for moments in self.estimates.gradient.values()):
            how += "; ± 0: all of them agree, so what none has met, a rare event, does not show"
        notes = [how, *(self.smoothing.lines() if self.smoothing else [])]
        if not self.choices:
            return notes
        rows = [(choice.name, str(choice), choice.reason) for choice in self.choices]
        return [*notes, "", *AnswerTable(("draw", "estimator", "why"), rows).lines()]

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.smoothing.warnings if self.smoothing else ()

    def to_dict(self) -> dict[str, Any]:
        estimates = self.estimates
        found: dict[str, Any] = {
            "objective": self.objective,
            "value": self.value,
            "gradient": {name: m.mean.tolist() for name, m in estimates.gradient.items()},
            "exact": bool(self.exact),
        }
        errors: dict[str, Any] = {
            "value": float(estimates.value.error),
            "gradient": {name: m.error.tolist() for name, m in estimates.gradient.items()},
        }
        if estimates.hessian:
            found["hessian"], errors["hessian"] = {}, {}
            for (a, b), m in estimates.hessian.items():
                found["hessian"].setdefault(a, {})[b] = m.mean.tolist()
                errors["hessian"].setdefault(a, {})[b] = m.error.tolist()
        if not self.exact:
            found |= {"standard_errors": errors, "estimates": estimates.value.count}
        if self.smoothing:
            found["smoothing_errors"] = dict(self.smoothing)
        return {**found, "estimators": [choice.to_dict() for choice in self.choices]}


def find_gradient(
    model: Model, params: Any, data: Any, samples: int, seed: int, hessian: bool
) -> Gradient:
    verify_objective(model)
    verify_samples(samples)
    objective = model.objectives.objective(data or {}, order=2 if hessian else 1)
    if hessian and objective.missed_twice:
        raise UsageError(objective.missed_twice)
    choices = objective.choices_by_draw
    exact = exactness(choices)
    count = 1 if exact else samples

    def estimated(own: Model) -> Estimates:
        estimator = Estimator(own, params, data, count, hessian)
        return estimator.estimate(jax.random.key(seed), count)

    found, twin = estimated(model), another_rule(model)
    cost = model.graph.of_kind(Kind.COST)[0].name
    if np.isnan(found.value.mean) and not model.graph.guide:
        # A draw that is not a number is named where it is drawn.
        model.draws(100, params=params, data=data, seed=seed)
    verify_numbers(model, params, data, found)
    labels = getattr(data, "labels", {})
    names = {
        name: entry_names(name, model.graph[name].type, m.mean.shape, labels)
        for name, m in found.gradient.items()
    }
    errors = SmoothingErrors(_means(cost, found), _means(cost, estimated(twin))) if twin else None
    return Gradient(cost, found, choices, exact, names, errors)


def _means(cost: str, estimates: Estimates) -> dict[str, Any]:
    """The numbers of an answer under the names that it shows."""
    found = {cost: estimates.value.mean}
    found |= {f"d/d {name}": m.mean for name, m in estimates.gradient.items()}
    return found | {f"d²/d {a} d {b}": m.mean for (a, b), m in estimates.hessian.items()}


def exactness(choices: list[EstimatorChoice]) -> str:
    """Why there is nothing to sample, if so."""
    if not choices:
        return "nothing in the objective is random"
    return "every draw is summed" if all(c.exact for c in choices) else ""


def verify_objective(model: Model) -> None:
    if not model.graph.of_kind(Kind.COST):
        raise UsageError(f"{model.title} has no objective: add `minimize` or `maximize`")
    if not model.graph.of_kind(Kind.PARAMETER):
        raise UsageError(f"{model.title} has no `param` to differentiate by")


def verify_samples(samples: int) -> None:
    if samples < 2:
        raise UsageError("`samples=` takes a number from 2 up: one estimate has no standard error")
