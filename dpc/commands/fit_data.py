"""Fitting a file to data: maximum likelihood, or the mode of the posterior where the file has priors."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpc.commands.estimates import entry_names
from dpc.commands.fit_objective import write_result
from dpc.commands.fit_tables import table_entries
from dpc.commands.inputs import read_settings
from dpc.commands.keep import Keeper
from dpc.commands.tables import columns
from dpc.dsl.graph import Kind
from dpc.exits import NOT_CONVERGED, OK, UsageError

MOST_ROWS = 40
LARGE = 1 << 28
"""Bytes of a CSV from which on tables are counted a part of it at a time."""


def run(model: Any, args: argparse.Namespace) -> int:
    from dpc.dsl.embed.checkpoint import WrongCheckpoint
    from dpc.dsl.learn.begin import WrongStart
    from dpc.dsl.learn.choose import NotApplicable
    from dpc.inference.errors import InferenceError

    verify_ending(args.out)
    start, given = read_settings(args.set, model.graph)
    try:
        fit, curves = find_fit(model, start, given, args)
        held_out = test_fit(model, fit, given, args) if args.test else None
    except (NotApplicable, WrongStart, WrongCheckpoint, InferenceError) as error:
        raise UsageError(str(error)) from None
    return show(model, fit, curves, held_out, args)


def verify_ending(out: str | None) -> None:
    from dpc.inference.formats.registry import format_of

    if out and not out.endswith((".json", ".dp")) and not format_of(out):
        raise UsageError(f"-o writes .json, or a network with learned tables: .dp, .bif, .xmlbif or .uai; not {out}")


def sources_of(paths: list[str], given: dict[str, Any]) -> list[Any]:
    return [*paths, *([given] if given else [])]


def options_of(args: argparse.Namespace) -> Any:
    from dpc.dsl.learn.options import Options

    numbers = {name: getattr(args, name) for name in ("steps", "rate", "batch", "tolerance", "smoothing", "seed")}
    return Options(method=args.method or "auto", loss=args.loss or "likelihood", **numbers)


def find_fit(model: Any, start: dict[str, Any], given: dict[str, Any], args: argparse.Namespace) -> Any:
    """The fit, and the names, steps and losses of its states."""
    from dpc.dsl.learn.choose import NotApplicable

    if args.stream:
        return fit_stream(model, start, given, args)
    if is_large(args):
        with suppress(NotApplicable, UsageError):
            return fit_stream(model, start, given, args)
    return fit_at_once(model, start, given, args)


def is_large(args: argparse.Namespace) -> bool:
    path = Path(args.data[0])
    return path.name.endswith(".csv") and path.exists() and path.stat().st_size > LARGE


def fit_at_once(model: Any, start: dict[str, Any], given: dict[str, Any], args: argparse.Namespace) -> Any:
    from dpc.dsl.learn.begin import verify_start
    from dpc.dsl.learn.fit import choose, fingerprint, fit_likelihood
    from dpc.dsl.learn.options import verify_options

    options = options_of(args)
    likelihood = model.likelihood(*sources_of(args.data, given), by=args.by)
    verify_start(likelihood, start, "--set")
    method = choose(likelihood, options).method
    verify_options(options, method)
    verify_steps(method, args)
    keeper = Keeper(args, fingerprint(likelihood, options, start))
    watcher = Watcher(keeper)
    try:
        load = keeper.load if args.resume else None
        at_once = not (args.checkpoint or args.plot)
        fit = fit_likelihood(likelihood, options, start, watcher.see, load, at_once=at_once)
    finally:
        watcher.end()
    return fit, watcher.curves


def verify_steps(method: str, args: argparse.Namespace) -> None:
    """Counting has no steps to watch, and nothing to go on from."""
    for option in ("checkpoint", "plot"):
        if method == "counts" and getattr(args, option):
            raise UsageError(f"--{option} is for methods that take steps, and tables are counted at once")


class Watcher:
    """Shows every state on a terminal, and keeps it."""

    def __init__(self, keeper: Keeper):
        self.keeper = keeper
        self.last: tuple[int, Any] | None = None
        self.seen = 0
        self.curves: dict[str, list[tuple[float, float]]] = {}

    def see(self, stage: int, name: str, state: Any) -> None:
        """Before the first stretch of a stochastic method nothing is known of its loss."""
        self.seen += 1
        self.last = stage, state
        self.keeper.keep(self.seen, self.last)
        step, value = int(state.step), float(state.value)
        if value == value:
            self.curves.setdefault(name, []).append((step, value))
            self.show(f"{name}, step {step}: loss {value:.8g}, gradient {float(state.gradient_norm):.2g}")

    def show(self, text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.last is not None:
            self.keeper.keep(self.seen, self.last, now=True)
        if self.curves and sys.stderr.isatty():
            print(file=sys.stderr)


def fit_stream(model: Any, start: dict[str, Any], given: dict[str, Any], args: argparse.Namespace) -> Any:
    """Tables from a CSV that is never in memory as a whole."""
    from dpc.dsl.learn.stream import fit_csv

    if len(args.data) != 1:
        raise UsageError("--stream reads one CSV")
    if start or given:
        raise UsageError(f"--set {next(iter({**start, **given}))} does not go with --stream: a column has the data")
    for option in ("by", "checkpoint", "plot"):
        if getattr(args, option) is not None:
            raise UsageError(f"--{option} does not go with --stream")
    return fit_csv(model.graph, args.data[0], options_of(args)), {}


def test_fit(model: Any, fit: Any, given: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """The log-likelihood of cases that were not learned from, and their mean with its standard error."""
    import numpy as np

    from dpc.dsl.learn.predict import log_likelihoods

    _, each = log_likelihoods(model.graph, fit, *sources_of(args.test, given), by=args.by)
    known = len(each) > 1 and bool(np.isfinite(each).all())
    error = float(each.std(ddof=1) / len(each) ** 0.5) if known else float("nan")
    return {
        "log_likelihood": float(each.sum()),
        "cases": len(each),
        "mean": float(each.mean()),
        "standard_error": error,
    }


# ---- the result


def show(model: Any, fit: Any, curves: Any, held_out: dict[str, Any] | None, args: argparse.Namespace) -> int:
    from dpc.dsl.learn.result import plain

    test = {"test": {name: plain(value) for name, value in held_out.items()}} if held_out else {}
    found = {**fit.to_dict(), "file": args.path, **test}
    if args.out:
        write(model, fit, found, args)
    if args.plot:
        plot_curve(model, curves, args)
    if args.json:
        print(json.dumps(found))
    else:
        print("\n".join(rows_of(model, fit, held_out)))
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


def rows_of(model: Any, fit: Any, held_out: dict[str, Any] | None) -> list[str]:
    lines = [f"{fit.method}: {fit.why}", ""]
    table = parameter_rows(fit, table_entries(model.graph))
    lines += columns(table[: MOST_ROWS + 1])
    if len(table) > MOST_ROWS + 1:
        lines.append(f"... and {len(table) - MOST_ROWS - 1} more: -o fit.json has them all")
    lines += ["", *likelihood_rows(fit)]
    if held_out:
        lines.append(f"held-out log-likelihood {held_out['log_likelihood']:.8g}{mean_of(held_out)}")
    lines += [f"note: {note}" for note in fit.notes]
    return lines


def mean_of(held_out: dict[str, Any]) -> str:
    if held_out["cases"] == 1:
        return ""
    error = held_out["standard_error"]
    return f" ({held_out['mean']:.6g}{f' ± {error:.2g}' * (error == error)} for each of {held_out['cases']} cases)"


def likelihood_rows(fit: Any) -> list[str]:
    name = "log-likelihood" if fit.loss == "likelihood" else f"minus the loss ({fit.loss})"
    each = f" ({fit.value / fit.cases:.6g} for each of {fit.cases} cases)" if fit.cases > 1 else ""
    lines = [f"{name} {fit.value:.8g}{each}"]
    if fit.log_prior:
        lines.append(f"log prior {fit.log_prior:.8g}")
    if fit.converged:
        steps = f" after {fit.steps} step{'s' * (fit.steps != 1)}" if fit.method != "counts" else ""
        lines.append(f"converged{steps}: {fit.reason}")
    return lines


def parameter_rows(fit: Any, tables: dict[str, list[str]]) -> list[tuple[str, ...]]:
    import numpy as np

    with_errors = fit.errors is not None
    rows: list[tuple[str, ...]] = [("parameter", "value", *(["std. error"] if with_errors else []))]
    for name, value in fit.params.items():
        array = np.asarray(value)
        errors = np.asarray(fit.errors[name]).ravel() if with_errors else np.zeros(0)
        names = tables.get(name) or entry_names(name, fit.types[name], array.shape, fit.labels)
        for k, entry in enumerate(names):
            error = [f"{errors[k]:.2g}" if np.isfinite(errors[k]) else "-"] if with_errors else []
            rows.append((entry, f"{array.ravel()[k]:.6g}", *error))
    return rows


def plot_curve(model: Any, curves: dict[str, list[tuple[float, float]]], args: argparse.Namespace) -> None:
    """One curve for each method that had a part in it."""
    from dpc.dsl.draw.chart import Series, curve_chart, write_chart

    series = [Series(name, tuple(points)) for name, points in curves.items()]
    title = f"{model.graph.name or args.path}: learning curve"
    try:
        write_chart(curve_chart(title, "step", "loss", series), args.plot)
    except OSError as error:
        raise UsageError(f"cannot write {args.plot}: {error.strerror or error}") from None
