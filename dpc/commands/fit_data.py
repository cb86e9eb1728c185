"""Fitting a file to data: maximum likelihood, or the mode of the posterior where the file has priors."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from dpc.commands.estimates import entry_names
from dpc.commands.fit_objective import write_result
from dpc.commands.inputs import read_settings
from dpc.commands.keep import Keeper
from dpc.commands.tables import columns
from dpc.dsl.graph import Kind
from dpc.exits import NOT_CONVERGED, OK, UsageError

MOST_ROWS = 40
DEFAULTS = {"method": "auto", "loss": "likelihood", "steps": 1000, "rate": 0.01, "smoothing": 0.0}


def run(model: Any, args: argparse.Namespace) -> int:
    from dpc.dsl.embed.checkpoint import WrongCheckpoint
    from dpc.dsl.learn.choose import NotApplicable
    from dpc.inference.errors import InferenceError

    start, given = read_settings(args.set, model.graph)
    try:
        fit, curve = fit_stream(model, args) if args.stream else fit_at_once(model, start, given, args)
        held_out = test_fit(model, fit, given, args) if args.test else None
    except (NotApplicable, WrongCheckpoint, InferenceError) as error:
        raise UsageError(str(error)) from None
    return show(model, fit, curve, held_out, args)


def sources_of(paths: list[str], given: dict[str, Any]) -> list[Any]:
    return [*paths, *([given] if given else [])]


def options_of(args: argparse.Namespace) -> Any:
    from dpc.dsl.learn.fit import Options

    chosen = {name: getattr(args, name) if getattr(args, name) is not None else DEFAULTS[name] for name in DEFAULTS}
    return Options(**chosen, batch=args.batch, tolerance=args.tolerance, seed=args.seed)


def fit_at_once(model: Any, start: dict[str, Any], given: dict[str, Any], args: argparse.Namespace) -> Any:
    """The fit, and the loss after every step."""
    from dpc.dsl.learn.fit import fingerprint, fit_likelihood

    options = options_of(args)
    likelihood = model.likelihood(*sources_of(args.data, given), by=args.by)
    verify_start(likelihood, start)
    keeper = Keeper(args, fingerprint(likelihood, options, start))
    watcher = Watcher(keeper)
    try:
        fit = fit_likelihood(likelihood, options, start, watcher.see, keeper.load if args.resume else None)
    finally:
        watcher.end()
    return fit, watcher.curve


def verify_start(likelihood: Any, start: dict[str, Any]) -> None:
    import numpy as np

    shapes = {name: np.shape(value) for name, value in likelihood.start().items()} if start else {}
    for name, value in start.items():
        if np.shape(value) != shapes[name]:
            raise UsageError(f"`{name}` has shape {shapes[name]}, but --set gives {np.shape(value)}")


class Watcher:
    """Shows every state on a terminal, and keeps it."""

    def __init__(self, keeper: Keeper):
        self.keeper = keeper
        self.last: tuple[int, Any] | None = None
        self.steps = 0
        self.curve: list[float] = []

    def see(self, stage: int, name: str, state: Any) -> None:
        self.steps += 1
        self.last = stage, state
        self.curve.append(float(state.value))
        self.keeper.keep(self.steps, (stage, state))
        if sys.stderr.isatty():
            norm = f"gradient {float(state.gradient_norm):.2g}"
            shown = f"{name}, step {int(state.step)}: loss {float(state.value):.8g}, {norm}"
            print(f"\r{shown:<78}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.last is not None:
            self.keeper.keep(self.steps, self.last, now=True)
        if self.last is not None and sys.stderr.isatty():
            print(file=sys.stderr)


def fit_stream(model: Any, args: argparse.Namespace) -> Any:
    """Tables from a CSV that is never in memory as a whole."""
    from dpc.dsl.learn.stream import fit_csv

    if len(args.data) != 1:
        raise UsageError("--stream reads one CSV")
    for option in ("by", "checkpoint", "batch"):
        if getattr(args, option) is not None:
            raise UsageError(f"--{option} does not go with --stream")
    return fit_csv(model.graph, args.data[0], options_of(args)), []


def test_fit(model: Any, fit: Any, given: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """The log-likelihood of cases that were not learned from, and their mean with its standard error."""
    import numpy as np

    from dpc.dsl.learn.cases import read_cases
    from dpc.dsl.learn.likelihood import Likelihood

    cases = read_cases(model.graph, *sources_of(args.test, given), by=args.by, join=False)
    each = np.concatenate([np.asarray(one) for one in Likelihood(model.graph, cases).by_case(fit.params)])
    error = float(each.std(ddof=1) / len(each) ** 0.5) if len(each) > 1 else None
    return {
        "log_likelihood": float(each.sum()),
        "cases": len(each),
        "mean": float(each.mean()),
        "standard_error": error,
    }


# ---- the result


def show(model: Any, fit: Any, curve: list[float], held_out: dict[str, Any] | None, args: argparse.Namespace) -> int:
    found = {**fit.to_dict(), "file": args.path, **({"test": held_out} if held_out else {})}
    if args.out:
        write(model, fit, found, args)
    if args.plot:
        plot_curve(model, fit, curve, args)
    if args.json:
        print(json.dumps(found))
    else:
        print("\n".join(rows_of(fit, held_out)))
    if not fit.converged:
        print(f"dpc: not converged: {fit.reason}", file=sys.stderr)
    return OK if fit.converged else NOT_CONVERGED


def write(model: Any, fit: Any, found: dict[str, Any], args: argparse.Namespace) -> None:
    """A network with the learned tables where the ending is that of one; else everything that was found, as JSON."""
    from dpc.inference.formats.registry import format_of

    if args.out.endswith(".dp") or format_of(args.out):
        from dpc.commands.convert import write_network

        write_network(learned_network(model, fit, args.out), args.out)
    else:
        write_result(args.out, found)


def learned_network(model: Any, fit: Any, out: str) -> Any:
    from dpc.dsl.convert.to_network import network_of
    from dpc.dsl.embed.model import Model
    from dpc.dsl.learn.tables import tables_as_parameters

    graph = tables_as_parameters(model.graph)
    if fit.params.keys() != {node.name for node in Model(graph).graph.of_kind(Kind.PARAMETER)} or graph is model.graph:
        raise UsageError(f"{out} would be a network with learned tables, and tables are not all that was learned here")
    return network_of(Model(graph).discrete(fit.params), model.graph.source)


def rows_of(fit: Any, held_out: dict[str, Any] | None) -> list[str]:
    lines = [f"{fit.method}: {fit.why}", ""]
    table = parameter_rows(fit)
    lines += columns(table[: MOST_ROWS + 1])
    if len(table) > MOST_ROWS + 1:
        lines.append(f"... and {len(table) - MOST_ROWS - 1} more: -o fit.json has them all")
    lines += ["", *likelihood_rows(fit)]
    if held_out:
        error = f" ± {held_out['standard_error']:.2g}" if held_out["standard_error"] is not None else ""
        cases = f"{held_out['mean']:.6g}{error} for each of {held_out['cases']}"
        lines.append(f"held-out log-likelihood {held_out['log_likelihood']:.8g} ({cases})")
    lines += [f"note: {note}" for note in fit.notes]
    return lines


def likelihood_rows(fit: Any) -> list[str]:
    name = "log-likelihood" if fit.loss == "likelihood" else f"minus the loss ({fit.loss})"
    each = f" ({fit.value / fit.cases:.6g} for each of {fit.cases} cases)" if fit.cases > 1 else ""
    lines = [f"{name} {fit.value:.8g}{each}"]
    if fit.log_prior:
        lines.append(f"log prior {fit.log_prior:.8g}")
    if fit.converged:
        lines.append(f"converged after {fit.steps} steps: {fit.reason}")
    return lines


def parameter_rows(fit: Any) -> list[tuple[str, ...]]:
    import numpy as np

    with_errors = fit.errors is not None
    rows: list[tuple[str, ...]] = [("parameter", "value", *(["std. error"] if with_errors else []))]
    for name, value in fit.params.items():
        array = np.asarray(value)
        errors = np.asarray(fit.errors[name]).ravel() if with_errors else np.zeros(0)
        for k, entry in enumerate(entry_names(name, fit.types[name], array.shape, fit.labels)):
            error = [f"{errors[k]:.2g}" if np.isfinite(errors[k]) else "-"] if with_errors else []
            rows.append((entry, f"{array.ravel()[k]:.6g}", *error))
    return rows


def plot_curve(model: Any, fit: Any, curve: list[float], args: argparse.Namespace) -> None:
    from dpc.dsl.draw.chart import Series, curve_chart, write_chart

    if len(curve) < 2:
        raise UsageError(f"--plot draws the loss step by step, and `{fit.method}` has no steps")
    series = Series("loss", tuple((float(k), value) for k, value in enumerate(curve)))
    title = f"{model.graph.name or args.path}: {fit.method}"
    try:
        write_chart(curve_chart(title, "step", "loss", [series]), args.plot)
    except OSError as error:
        raise UsageError(f"cannot write {args.plot}: {error.strerror or error}") from None
