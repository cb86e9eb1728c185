"""Estimators side by side: for one draw after the other, what each method gives and costs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from dpc.dsl.diagnostics import DpError, did_you_mean
from dpc.dsl.library.annotations import GRAD_METHODS
from dpc.dsl.record import Record
from dpc.estimators.methods.method import EstimatorError

from ..exits import UsageError
from ..show.answer import Answer, AnswerTable
from .gradient import Estimates, Estimator, verify_objective, verify_samples
from .reference import Reference, find_reference, tangent

if TYPE_CHECKING:
    from ..model.model import Model

TURNS = 3
SPLIT = "split"
"""No method of its own: what the model does with a draw that something below it compares."""


class Variant(Record):
    """One draw with one method. `biased` is what the method says of itself.

    `within` is the mean gradient along what the parameters are allowed to do.
    """

    draw: str
    method: str
    estimates: Estimates
    biased: str
    within: dict[str, np.ndarray]

    @property
    def variance(self) -> float:
        """Of one estimate, summed over all entries of the gradient."""
        return float(sum(m.variance.sum() for m in self.estimates.gradient.values()))

    def bias(self, reference: Reference) -> tuple[float, float]:
        """The distance of the mean gradient from the reference, and what chance would give."""
        square, chance = 0.0, 0.0
        for name, m in self.estimates.gradient.items():
            known = ~np.isnan(reference.gradient[name])
            away = self.within[name] - reference.gradient[name]
            square += float((away[known] ** 2).sum())
            chance += float((m.error[known] ** 2 + reference.error[name][known] ** 2).sum())
        return square**0.5, chance**0.5

    @property
    def micro(self) -> float:
        """Microseconds of one estimate."""
        return self.estimates.seconds * 1e6


class Refused(Record):
    draw: str
    method: str
    reason: str


class Comparison(Answer, Record):
    """What each method gives: its distance from `reference`, its variance and its time."""

    title: str
    variants: list[Variant]
    refused: list[Refused]
    reference: Reference
    samples: int

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(f"not for `{r.draw}`: {r.method}, {r.reason}" for r in self.refused)

    def tables(self) -> list[AnswerTable]:
        measures = ("|bias|", "± by chance", "variance", "time, us", "variance x time")
        head = ("draw", "method", *measures, "")
        formats = {"|bias|": ".2g", "± by chance": "± .2g", "variance": ".4g", "time, us": ".3g"}
        rows = [self._row(variant) for variant in self.variants]
        return [AnswerTable(head, rows, {**formats, "variance x time": ".3g"})]

    def _row(self, variant: Variant) -> tuple[Any, ...]:
        bias, chance = variant.bias(self.reference)
        design = "biased by design" if variant.biased else ""
        cost = variant.variance * variant.micro
        measures = (bias, f"± {chance:.2g}", variant.variance, variant.micro, cost)
        return (variant.draw, variant.method, *measures, design)

    def after(self) -> list[str]:
        return [f"{self.samples} estimates each; bias is against {self.reference.about}"]

    def to_dict(self) -> dict[str, Any]:
        reference = self.reference
        refused = [{name: getattr(r, name) for name in Refused.fields} for r in self.refused]
        return {
            "estimates": self.samples,
            "reference": {
                "about": reference.about,
                "gradient": {name: _numbers(g) for name, g in reference.gradient.items()},
                "standard_errors": {name: e.tolist() for name, e in reference.error.items()},
            },
            "compared": [self._variant(variant) for variant in self.variants],
            "refused": refused,
        }

    def _variant(self, variant: Variant) -> dict[str, Any]:
        bias, chance = variant.bias(self.reference)
        gradient = variant.estimates.gradient
        return {
            "draw": variant.draw,
            "method": variant.method,
            "bias": bias,
            "bias_by_chance": chance,
            "declared_bias": variant.biased,
            "variance": variant.variance,
            "seconds": variant.estimates.seconds,
            "gradient": {name: m.mean.tolist() for name, m in gradient.items()},
        }

    def plot(self, path: str) -> None:
        """Bars for each measure, a row for each method: .svg or .png."""
        from ..show.draw.chart import Panel, row_chart, write_chart

        measures = {
            "|bias|": [v.bias(self.reference)[0] for v in self.variants],
            "variance": [v.variance for v in self.variants],
            "time, us": [v.micro for v in self.variants],
            "variance x time": [v.variance * v.micro for v in self.variants],
        }
        panels = [
            Panel(name, tuple(values), tuple(f"{value:.3g}" for value in values))
            for name, values in measures.items()
        ]
        names = [f"{v.draw}: {v.method}" for v in self.variants]
        title = f"{self.title}: gradient estimators"
        write_chart(row_chart(title, self.after()[0], names, panels), path)


def _numbers(array: np.ndarray) -> Any:
    """As JSON has them: what was not looked at is null."""
    return np.where(np.isnan(array), None, array).tolist()  # type: ignore[call-overload]


def compare(
    model: Model, params: Any, data: Any, methods: str, samples: int, seed: int
) -> Comparison:
    """For every draw of the objective, each of these methods, or `all`."""
    verify_objective(model)
    verify_samples(samples)
    choices = model.estimator_choices(data)
    if not choices:
        why = "its gradient is exact, and there is nothing to compare"
        raise UsageError(f"nothing in the objective is random: {why}")
    run = _Run(model, params, data, samples, seed)
    variants, refused = [], []
    for choice in choices:
        for method in wanted_methods(methods, choice):
            found: Variant | Refused
            if method == SPLIT != choice.method:
                found = Refused(choice.name, method, "the model does not split it")
            else:
                found = run.measure(choice.name, method)
            variants += [found] if isinstance(found, Variant) else []
            refused += [found] if isinstance(found, Refused) else []
    if not variants:
        what = f"none of these methods is for a draw of {model.title}"
        raise UsageError(f"{what}: {refused[0].reason}")
    reference = find_reference(model, params, data, samples, seed)
    return Comparison(model.title, variants, refused, reference, samples)


# ---- the methods


def wanted_methods(text: str, choice: Any) -> Iterator[str]:
    """`all`, or methods as after `grad=`; without samples of their own, those of the draw."""
    known = {method.name: method for method in GRAD_METHODS}
    words = [word.strip() for word in re.split(r",(?![^(]*\))", text)]
    samples = dict(choice.options).get("samples")
    if choice.method == SPLIT or SPLIT in words:
        yield SPLIT
    for word in known if text == "all" else words:
        if word == SPLIT:
            continue
        name = word.partition("(")[0]
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"there is no method `{name}` to compare{hint and f'; {hint}'}")
        takes = samples is not None and "samples" in known[name].options
        yield f"{word}(samples={samples})" if takes and word == name else word


class _Run(Record):
    """The point at which estimators are compared, and how often each estimates."""

    model: Model
    params: Any
    data: Any
    samples: int
    seed: int

    def measure(self, draw: str, method: str) -> Variant | Refused:
        """One draw by one method, the others as they are; a split draw as the model has it."""
        try:
            own = self.model
            if method != SPLIT:
                own = own.with_settings({f"{draw}.grad": method})
            estimator = Estimator(own, self.params, self.data, self.samples)
            biased = "" if method == SPLIT else own.objective(self.data).methods[draw].bias
        except DpError as error:
            return Refused(draw, method, next(d.message for d in error.diagnostics if d.is_error))
        except EstimatorError as error:
            return Refused(draw, method, str(error))
        found = estimator.estimate(jax.random.key(self.seed), self.samples, TURNS)
        within = {
            name: tangent(self.model.graph[name], np.asarray(self.params[name]), m.mean)
            for name, m in found.gradient.items()
        }
        return Variant(draw, method, found, biased, within)
