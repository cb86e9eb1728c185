"""dpc grad --compare: for one draw after the other, what each way to differentiate it gives and costs."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpc.commands.estimates import Estimates, Estimator
from dpc.commands.inputs import read_annotations
from dpc.commands.reference import Reference, exact_reference
from dpc.commands.tables import columns
from dpc.dsl.diagnostics import DpError, did_you_mean
from dpc.dsl.record import Record
from dpc.dsl.signatures.annotations import ANNOTATIONS, Method
from dpc.exits import OK, UsageError

METHODS: dict[str, Method] = {m.name: m for row in ANNOTATIONS if row.name == "grad" for m in row.methods}
LONGER = 20
TURNS = 3


class Variant(Record):
    """One draw with one method, the others as they are. `biased` is what the method says of itself."""

    draw: str
    method: str
    estimates: Estimates
    biased: str
    estimator: Estimator

    @property
    def variance(self) -> float:
        """Of one estimate, summed over all entries of the gradient."""
        return float(sum(m.variance.sum() for m in self.estimates.gradient.values()))

    def bias(self, reference: Reference) -> tuple[float, float]:
        """The distance of the mean gradient from the reference, and how large it would be by chance alone."""
        gaps = [m.mean - reference.gradient[name] for name, m in self.estimates.gradient.items()]
        errors = [m.error**2 + reference.error[name] ** 2 for name, m in self.estimates.gradient.items()]
        return float(np.sqrt(sum((gap**2).sum() for gap in gaps))), float(np.sqrt(sum(e.sum() for e in errors)))


class Refused(Record):
    draw: str
    method: str
    reason: str


def run_comparison(model: Any, params: Any, data: Any, args: argparse.Namespace) -> int:
    choices = model.estimator_choices(data)
    if not choices:
        raise UsageError("nothing in the objective is random: its gradient is exact, and there is nothing to compare")
    variants: list[Variant] = []
    refused: list[Refused] = []
    for choice in choices:
        for method in wanted_methods(args.compare, choice):
            found = measure(model, params, data, choice.name, method, args)
            (variants if isinstance(found, Variant) else refused).append(found)  # type: ignore[arg-type]
    if not variants:
        raise UsageError(f"none of these methods is for a draw of {args.path}: {refused[0].reason}")
    reference = find_reference(model, params, data, variants, args)
    print_comparison(variants, refused, reference, args)
    if args.plot:
        plot_comparison(variants, reference, model, args)
    return OK


# ---- the methods


def wanted_methods(text: str, choice: Any) -> Iterator[str]:
    """`all`, or methods as they are written after `grad=`; those without samples of their own get those of the draw."""
    words = list(METHODS) if text == "all" else [word.strip() for word in re.split(r",(?![^(]*\))", text)]
    samples = dict(choice.options).get("samples")
    for word in words:
        name = word.partition("(")[0]
        if name not in METHODS:
            hint = did_you_mean(name, METHODS)
            raise UsageError(f"there is no method `{name}` to compare{hint and f'; {hint}'}")
        takes = samples is not None and "samples" in METHODS[name].options
        yield f"{word}(samples={samples})" if takes and word == name else word


def measure(model: Any, params: Any, data: Any, draw: str, method: str, args: argparse.Namespace) -> Variant | Refused:
    import jax

    from dpc.estimators.errors import EstimatorError

    try:
        own = model_with(model, {**read_annotations(args.set), f"{draw}.grad": method})
        estimator = Estimator(own, params, data, args.samples)
        biased = own.objective(data).methods[draw].bias
    except DpError as error:
        return Refused(draw, method, next(d.message for d in error.diagnostics if d.is_error))
    except EstimatorError as error:
        return Refused(draw, method, str(error))
    found = estimator.estimate(jax.random.key(args.seed), args.samples, TURNS)
    return Variant(draw, method, found, biased, estimator)


def model_with(model: Any, settings: dict[str, str]) -> Any:
    """The same file with other annotations."""
    from dpc.dsl.build import build_graph
    from dpc.dsl.compiler import check_source
    from dpc.dsl.embed.model import Model

    result = check_source(model.graph.source, settings)
    if result.typed is None:
        raise DpError(result.diagnostics)
    return Model(build_graph(result.typed), model.introduction)


# ---- what is right


def find_reference(model: Any, params: Any, data: Any, variants: list[Variant], args: argparse.Namespace) -> Reference:
    """An exact gradient, or a long run of the unbiased method with the least variance."""
    exact = exact_reference(model, params, data)
    if exact:
        return exact
    import jax

    unbiased = [v for v in variants if not v.biased]
    if not unbiased:
        raise UsageError("all these methods are biased, and the exact gradient is out of reach: compare with rloo, too")
    best = min(unbiased, key=lambda v: v.variance)
    key = jax.random.fold_in(jax.random.key(args.seed), 1)
    found = best.estimator.estimate(key, LONGER * args.samples)
    if not best.variance:
        about = f"{best.method} of `{best.draw}`, which has no variance"
    else:
        about = f"{LONGER * args.samples} estimates by {best.method} of `{best.draw}`"
    gradient = {name: m.mean for name, m in found.gradient.items()}
    return Reference(gradient, {name: m.error for name, m in found.gradient.items()}, about)


# ---- showing it


def print_comparison(
    variants: list[Variant], refused: list[Refused], reference: Reference, args: argparse.Namespace
) -> None:
    if args.json:
        print(json.dumps(as_json(variants, refused, reference, args)))
        return
    head = ("draw", "method", "|bias|", "± by chance", "variance", "time, us", "variance x time", "")
    rows = [head, *(_row(variant, reference) for variant in variants)]
    print("\n".join(columns(rows)))
    print(f"\n{args.samples} estimates each; bias is against {reference.about}")
    for other in refused:
        print(f"not for `{other.draw}`: {other.method}, {other.reason}", file=sys.stderr)


def _row(variant: Variant, reference: Reference) -> tuple[str, ...]:
    bias, chance = variant.bias(reference)
    micro = variant.estimates.seconds * 1e6
    return (
        variant.draw,
        variant.method,
        f"{bias:.2g}",
        f"± {chance:.2g}",
        f"{variant.variance:.4g}",
        f"{micro:.3g}",
        f"{variant.variance * micro:.3g}",
        "biased by design" if variant.biased else "",
    )


def as_json(
    variants: list[Variant], refused: list[Refused], reference: Reference, args: argparse.Namespace
) -> dict[str, Any]:
    compared = []
    for v in variants:
        bias, chance = v.bias(reference)
        compared.append(
            {
                "draw": v.draw,
                "method": v.method,
                "bias": bias,
                "bias_by_chance": chance,
                "declared_bias": v.biased,
                "variance": v.variance,
                "seconds": v.estimates.seconds,
                "gradient": {name: m.mean.tolist() for name, m in v.estimates.gradient.items()},
            }
        )
    return {
        "estimates": args.samples,
        "reference": {
            "about": reference.about,
            "gradient": {name: g.tolist() for name, g in reference.gradient.items()},
            "standard_errors": {name: e.tolist() for name, e in reference.error.items()},
        },
        "compared": compared,
        "refused": [{"draw": r.draw, "method": r.method, "reason": r.reason} for r in refused],
    }


def plot_comparison(variants: list[Variant], reference: Reference, model: Any, args: argparse.Namespace) -> None:
    from dpc.dsl.draw.chart import Panel, row_chart, write_chart

    def panel(name: str, values: list[float]) -> Panel:
        return Panel(name, tuple(values), tuple(f"{value:.3g}" for value in values))

    micro = [v.estimates.seconds * 1e6 for v in variants]
    panels = [
        panel("|bias|", [v.bias(reference)[0] for v in variants]),
        panel("variance", [v.variance for v in variants]),
        panel("time, us", micro),
        panel("variance x time", [v.variance * t for v, t in zip(variants, micro, strict=True)]),
    ]
    title = f"{model.graph.name or args.path}: gradient estimators"
    note = f"{args.samples} estimates each; bias is against {reference.about}"
    try:
        write_chart(row_chart(title, note, [f"{v.draw}: {v.method}" for v in variants], panels), args.plot)
    except OSError as error:
        raise UsageError(f"cannot write {args.plot}: {error.strerror or error}") from None
