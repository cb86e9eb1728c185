"""dpc grad: the gradient of an expected objective, with its standard error and the estimator of every draw."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dpc.commands.estimates import Estimates, Estimator, Moments, entry_names
from dpc.commands.inputs import add_input_arguments, bind_inputs, load_model
from dpc.commands.tables import columns
from dpc.dsl.graph import Kind
from dpc.dsl.record import Record
from dpc.exits import OK, UsageError

SAMPLES = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help=f"how many independent estimates (default {SAMPLES})"
    )
    parser.add_argument(
        "--estimator",
        action="append",
        default=[],
        metavar="DRAW=METHOD",
        help="how gradients pass this draw, as --set DRAW.grad=METHOD",
    )
    parser.add_argument("--hessian", action="store_true", help="the second derivatives, too")
    parser.add_argument(
        "--compare",
        metavar="all or A,B",
        help="bias, variance and time of all methods, or these, for one draw after the other",
    )
    parser.add_argument("--plot", metavar="OUT", help="draw what --compare found: .svg or .png")


def run(args: argparse.Namespace) -> int:
    verify_arguments(args)
    args.set = [*args.set, *map(read_estimator, args.estimator)]
    model = load_model(args.path, args.set)
    verify_objective(model, args.path)
    params, data = bind_inputs(model, args, partial=False)
    from dpc.estimators.errors import EstimatorError

    try:
        if args.compare:
            from dpc.commands.compare import run_comparison

            return run_comparison(model, params, data, args)
        print_gradient(find_gradient(model, params, data, args), model, data, args)
    except EstimatorError as error:
        raise UsageError(str(error)) from None
    return OK


def verify_arguments(args: argparse.Namespace) -> None:
    if args.samples < 2:
        raise UsageError("--samples takes a number from 2 up: one estimate has no standard error")
    if args.compare and args.hessian:
        raise UsageError("--compare is about gradients: ask for --hessian without it")
    if args.plot and not args.compare:
        raise UsageError("--plot draws a comparison: give --compare all, too")
    if args.plot and not args.plot.endswith((".svg", ".png")):
        raise UsageError(f"--plot writes .svg or .png, not {args.plot}")


def read_estimator(text: str) -> str:
    name, equals, method = text.partition("=")
    if not equals:
        raise UsageError(f"--estimator takes DRAW=METHOD, not {text}")
    return f"{name}.grad={method}"


def verify_objective(model: Any, path: str) -> None:
    if not model.graph.of_kind(Kind.COST):
        raise UsageError(f"{path} has no objective: add `minimize` or `maximize`")
    if not model.graph.of_kind(Kind.PARAMETER):
        raise UsageError(f"{path} has no `param` to differentiate by")


# ---- finding it


class Gradient(Record):
    """`choices` say how every draw was differentiated; an exact gradient has no errors."""

    estimates: Estimates
    choices: tuple[Any, ...]
    exact: str


def find_gradient(model: Any, params: Any, data: Any, args: argparse.Namespace) -> Gradient:
    import jax

    choices = tuple(model.estimator_choices(data))
    if args.hessian:
        verify_second_order(model, data)
    exact = exactness(choices)
    count = 1 if exact else args.samples
    found = Estimator(model, params, data, count, args.hessian).estimate(jax.random.key(args.seed), count)
    return Gradient(found, choices, exact)


def exactness(choices: tuple[Any, ...]) -> str:
    """Why there is nothing to sample, if so."""
    if not choices:
        return "nothing in the objective is random"
    return "every draw is summed" if all(choice.method == "enumerate" for choice in choices) else ""


def verify_second_order(model: Any, data: Any) -> None:
    for name, method in model.objective(data).methods.items():
        if method.order < 2:
            raise UsageError(f"grad={method.name} of `{name}` has no unbiased second derivatives: use grad=rloo for it")


# ---- showing it


def print_gradient(found: Gradient, model: Any, data: Any, args: argparse.Namespace) -> None:
    if args.json:
        print(json.dumps(as_json(found, model)))
        return
    rows = list(columns(gradient_rows(found, model, data)))
    if found.exact:
        rows += ["", f"exact: {found.exact}"]
    else:
        rows += ["", f"{found.estimates.value.count} independent estimates"]
    if found.choices:
        rows += ["", *columns([("draw", "estimator", "why"), *map(choice_row, found.choices)])]
    print("\n".join(rows))


def gradient_rows(found: Gradient, model: Any, data: Any) -> list[tuple[str, ...]]:
    """The value, its derivatives, and the second ones of each pair once."""
    estimates, names = found.estimates, names_of(found, model, data)
    rows = [("", "exact") if found.exact else ("", "estimate", "± standard error")]
    shown = [(model.graph.of_kind(Kind.COST)[0].name, estimates.value, 0)]
    shown += [(f"d/d {entry}", m, k) for name, m in estimates.gradient.items() for k, entry in enumerate(names[name])]
    entries = [entry for name in names for entry in names[name]]
    for (a, b), m in estimates.hessian.items():
        pairs = [(x, y) for x in names[a] for y in names[b]]
        shown += [(f"d²/d {x} d {y}", m, k) for k, (x, y) in enumerate(pairs) if entries.index(x) <= entries.index(y)]
    return [*rows, *(number_row(text, m, k, bool(found.exact)) for text, m, k in shown)]


def names_of(found: Gradient, model: Any, data: Any) -> dict[str, list[str]]:
    return {
        name: entry_names(name, model.graph[name].type, m.mean.shape, data.labels)
        for name, m in found.estimates.gradient.items()
    }


def number_row(text: str, moments: Moments, place: int, exact: bool) -> tuple[str, ...]:
    mean, error = np_flat(moments.mean)[place], np_flat(moments.error)[place]
    return (text, f"{mean:.6g}") if exact else (text, f"{mean:.6g}", f"± {error:.2g}")


def np_flat(array: Any) -> Any:
    import numpy as np

    return np.ravel(array)


def choice_row(choice: Any) -> tuple[str, str, str]:
    return choice.name, method_text(choice.method, choice.options), choice.reason


def method_text(method: str, options: Any) -> str:
    written = ", ".join(f"{name}={value}" for name, value in options)
    return f"{method}({written})" if written else method


def as_json(found: Gradient, model: Any) -> dict[str, Any]:
    estimates = found.estimates
    shown: dict[str, Any] = {
        "objective": model.graph.of_kind(Kind.COST)[0].name,
        "value": float(estimates.value.mean),
        "gradient": {name: m.mean.tolist() for name, m in estimates.gradient.items()},
        "exact": bool(found.exact),
    }
    errors: dict[str, Any] = {
        "value": float(estimates.value.error),
        "gradient": {name: m.error.tolist() for name, m in estimates.gradient.items()},
    }
    if estimates.hessian:
        shown["hessian"], errors["hessian"] = {}, {}
        for (a, b), m in estimates.hessian.items():
            shown["hessian"].setdefault(a, {})[b] = m.mean.tolist()
            errors["hessian"].setdefault(a, {})[b] = m.error.tolist()
    if not found.exact:
        shown |= {"standard_errors": errors, "estimates": estimates.value.count}
    return {**shown, "estimators": [choice_json(choice) for choice in found.choices]}


def choice_json(choice: Any) -> dict[str, Any]:
    return {
        "draw": choice.name,
        "estimator": method_text(choice.method, choice.options),
        "reason": choice.reason,
        "points": choice.points,
    }
