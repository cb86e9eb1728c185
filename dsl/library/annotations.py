"""What may stand after `with`: one row for each annotation, and one for each method it can name."""

from collections.abc import Sequence
from typing import Any, Literal

from ..record import Record
from .rows import Distribution

Options = dict[str, str | tuple[str, ...]]
_NO_OPTIONS: Options = {}


class MethodRow(Record):
    """`options` are the arguments it takes, with the domain word of each, or the words it can be.

    `needs` is the fact that a distribution must have; without one it is for all.
    """

    name: str
    doc: str
    options: Options = _NO_OPTIONS
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
    """A row without methods is a flag. `call`: written soft(kind, ...), not grad=kind(...)."""

    name: str
    on: frozenset[str]
    doc: str
    methods: Sequence[MethodRow] = ()
    call: bool = False


_SAMPLES: Options = {"samples": "positive count"}
_RELAXED: Options = {"temperature": "positive", "samples": "positive count"}
_REBAR: Options = _RELAXED | {"scale": "positive"}
_SOFT: Options = {"scale": "positive", "logic": ("product", "extremum", "lukasiewicz")}
_NOISE: Options = {
    "scale": "positive",
    "over": "names",
    "panels": "positive count",
    "samples": "positive count",
    "seed": "count",
}
_BASELINE: Options = {
    "samples": "positive count",
    "baseline": ("none", "moving", "optimal"),
    "constant": "real",
    "control": "name",
}
_PATHWISE = "through the draw as a function of its parameters and noise"
_STRAIGHT = "the hard draw forward, the relaxed one backward, biased"
_SCORE = "score function, less a baseline if there is one"
_LEFT_OUT = "score function with the other samples as baseline"
_ANTITHETIC = "pathwise, on a draw and its mirror image"
_MIRRORED = "score function, on a draw and its mirror image"

_ANYWHERE: dict[str, Any] = {"weighed": True, "stepwise": True}

GRAD_METHODS: list[MethodRow] = [
    MethodRow("pathwise", _PATHWISE, _SAMPLES, "reparametrised", along="path", **_ANYWHERE),
    MethodRow("antithetic", _ANTITHETIC, _SAMPLES, "symmetric", along="path"),
    MethodRow("sfe", _SCORE, _BASELINE, along="score", **_ANYWHERE),
    MethodRow("rloo", _LEFT_OUT, _SAMPLES, along="score", **_ANYWHERE),
    MethodRow("es", _MIRRORED, _SAMPLES, "symmetric", smooth=True, along="score"),
    MethodRow("enumerate", "the exact sum over a finite support", {}, "finite"),
    MethodRow("mvd", "difference of two measures", _SAMPLES, "measure_split"),
    MethodRow("arm", "difference of an antithetic pair, weighed with its noise", _SAMPLES, "coin"),
    MethodRow("disarm", "arm, with the noise averaged given the pair", _SAMPLES, "coin"),
    MethodRow("rebar", "score function less its relaxed twin", _REBAR, "relaxed", along="path"),
    MethodRow(
        "gumbel_softmax", "a relaxed draw, biased", _RELAXED, "relaxed", along="path", weighed=True
    ),
    MethodRow("straight_through", _STRAIGHT, _RELAXED, "relaxed", along="path", weighed=True),
]
"""Gradient estimators, implemented in estimators/ by name; `add_estimator` appends."""


def grad_method(name: str) -> MethodRow:
    return next(method for method in GRAD_METHODS if method.name == name)


_DRAW = frozenset({"draw"})
_VALUES = frozenset({"let", "factor", "objective"})

ANNOTATIONS = (
    AnnotationRow(
        "noncentered", _DRAW, "draw standard noise and scale it, so that posteriors mix well"
    ),
    AnnotationRow("ordered", _DRAW, "the draws increase along their last binder"),
    AnnotationRow("grad", _DRAW, "how gradients pass this draw", GRAD_METHODS),
    AnnotationRow(
        "soft",
        _VALUES | _DRAW,
        "the smoothed meaning of comparisons, logic, branches, loops and indices in this statement",
        (
            MethodRow("logistic", "logistic noise on comparisons", _SOFT),
            MethodRow("gaussian", "Gaussian noise on comparisons", _SOFT),
            MethodRow("sparse", "uniform noise on comparisons: exact outside a band", _SOFT),
        ),
        call=True,
    ),
    AnnotationRow(
        "smooth",
        _VALUES,
        "the mean of the whole statement when noise is added to its inputs",
        (
            MethodRow("gaussian", "normal noise", _NOISE),
            MethodRow("logistic", "logistic noise", _NOISE),
            MethodRow("gumbel", "Gumbel noise of mean 0: the mean of a maximum is softmax", _NOISE),
        ),
        call=True,
    ),
)
