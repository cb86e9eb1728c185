"""What may stand after `with`: one row for each annotation, and one for each method it can name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..record import Record
from .rows import Distribution


class Method(Record):
    """`options` are the arguments a method takes, with the domain word of each, or the words it can
    be.

    `needs` is the fact that a distribution must have; without one it is for all.
    """

    name: str
    doc: str
    options: dict[str, str | tuple[str, ...]] = {}  # noqa: RUF012  (records are frozen, and this one is never changed)
    needs: str = ""
    smooth: bool = False
    """Its density must be smooth too."""
    along: Literal["", "path", "score"] = ""
    """Derivatives pass along the path of a draw, or weigh its score: each is blind to something."""
    weighed: bool = False
    """It draws once for each sample of a bound of several, such as `iwae`."""
    stepwise: bool = False
    """It is for draws of recurrences and under conditions, too."""

    def fits(self, row: Distribution) -> bool:
        """Whether it is for draws of this distribution."""
        has_fact = not self.needs or row.has(self.needs)
        return has_fact and not (self.smooth and row.symmetric != "smooth")


class AnnotationRow(Record):
    """A row without methods is a flag. `call` annotations are written soft(kind, ...), the others
    grad=kind(...).
    """

    name: str
    on: frozenset[str]
    doc: str
    methods: Sequence[Method] = ()
    call: bool = False


_SAMPLES: dict[str, str | tuple[str, ...]] = {"samples": "positive count"}
_SOFT: dict[str, str | tuple[str, ...]] = {
    "scale": "positive",
    "logic": ("product", "extremum", "lukasiewicz"),
}
_NOISE: dict[str, str | tuple[str, ...]] = {
    "scale": "positive",
    "over": "names",
    "panels": "positive count",
    "samples": "positive count",
    "seed": "count",
}
_RELAXED: dict[str, str | tuple[str, ...]] = {
    "temperature": "positive",
    "samples": "positive count",
}

_BASELINE: dict[str, str | tuple[str, ...]] = {
    "baseline": ("none", "moving", "optimal"),
    "constant": "real",
    "control": "name",
}

GRAD_METHODS: list[Method] = [
    Method(
        "pathwise",
        "through the draw as a function of its parameters and noise",
        _SAMPLES,
        "reparametrised",
        along="path",
        weighed=True,
        stepwise=True,
    ),
    Method(
        "antithetic",
        "pathwise, on a draw and its mirror image",
        _SAMPLES,
        "symmetric",
        along="path",
    ),
    Method(
        "sfe",
        "score function, less a baseline if there is one",
        _SAMPLES | _BASELINE,
        along="score",
        weighed=True,
        stepwise=True,
    ),
    Method(
        "rloo",
        "score function with the other samples as baseline",
        _SAMPLES,
        along="score",
        weighed=True,
        stepwise=True,
    ),
    Method(
        "es",
        "score function, on a draw and its mirror image",
        _SAMPLES,
        "symmetric",
        smooth=True,
        along="score",
    ),
    Method("enumerate", "the exact sum over a finite support", {}, "finite"),
    Method("mvd", "difference of two measures", _SAMPLES, "measure_split"),
    Method("arm", "difference of an antithetic pair, weighed with its noise", _SAMPLES, "coin"),
    Method("disarm", "arm, with the noise averaged given the pair", _SAMPLES, "coin"),
    Method(
        "rebar",
        "score function less its relaxed twin",
        _RELAXED | {"scale": "positive"},
        "relaxed",
        along="path",
    ),
    Method(
        "gumbel_softmax",
        "a relaxed draw, biased",
        _RELAXED,
        "relaxed",
        along="path",
        weighed=True,
    ),
    Method(
        "straight_through",
        "the hard draw forward, the relaxed one backward, biased",
        _RELAXED,
        "relaxed",
        along="path",
        weighed=True,
    ),
]
"""Gradient estimators, which estimators/ implements under the same names; `add_estimator` appends."""


def grad_method(name: str) -> Method:
    return next(method for method in GRAD_METHODS if method.name == name)


ANNOTATIONS = (
    AnnotationRow(
        "noncentered",
        frozenset({"draw"}),
        "draw standard noise and scale it, so that posteriors mix well",
    ),
    AnnotationRow("ordered", frozenset({"draw"}), "the draws increase along their last binder"),
    AnnotationRow(
        "grad",
        frozenset({"draw"}),
        "how gradients pass this draw",
        GRAD_METHODS,
    ),
    AnnotationRow(
        "soft",
        frozenset({"let", "factor", "objective", "draw"}),
        "the smoothed meaning of comparisons, logic, branches, loops and indices in this statement",
        (
            Method("logistic", "logistic noise on comparisons", _SOFT),
            Method("gaussian", "Gaussian noise on comparisons", _SOFT),
            Method("sparse", "uniform noise on comparisons: exact outside a band", _SOFT),
        ),
        call=True,
    ),
    AnnotationRow(
        "smooth",
        frozenset({"let", "factor", "objective"}),
        "the mean of the whole statement when noise is added to its inputs",
        (
            Method("gaussian", "normal noise", _NOISE),
            Method("logistic", "logistic noise", _NOISE),
            Method("gumbel", "Gumbel noise of mean 0: the mean of a maximum is softmax", _NOISE),
        ),
        call=True,
    ),
)
