"""Fitting a file with an objective: stochastic optimisation of what it is on average."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from dpc.commands.estimates import entry_names
from dpc.commands.inputs import bind_inputs
from dpc.commands.keep import Keeper
from dpc.commands.tables import columns
from dpc.dsl.graph import Kind
from dpc.exits import NOT_CONVERGED, OK, UsageError


def run(model: Any, args: argparse.Namespace) -> int:
    args.steps = 5000 if args.steps is None else args.steps
    args.rate = 0.01 if args.rate is None else args.rate
    args.optimizer = args.optimizer or "adam"
    params, data = bind_inputs(model, args, partial=False)
    from dpc.dsl.embed.checkpoint import WrongCheckpoint
    from dpc.dsl.embed.optimise import Diverged
    from dpc.estimators.errors import EstimatorError

    try:
        state = find_fit(model, params, data, args)
    except Diverged as error:
        print(f"dpc: {error}", file=sys.stderr)
        return NOT_CONVERGED
    except (WrongCheckpoint, EstimatorError) as error:
        raise UsageError(str(error)) from None
    return show_fit(model, data, state, args)


# ---- the run


def find_fit(model: Any, params: Any, data: Any, args: argparse.Namespace) -> Any:
    """The last state; on the way, and whatever stops it, the state is kept where --checkpoint says."""
    from dpc.dsl.embed.checkpoint import fingerprint
    from dpc.dsl.embed.optimise import Plan, State, optimise, start

    plan = Plan(args.steps, args.rate, args.samples, args.seed, args.optimizer)
    state = start(model, params, data, plan)
    keeper = Keeper(args, fingerprint(model, params, data, plan))
    if args.resume:
        state = State(*keeper.load(tuple(state)))
        state = state._replace(step=int(state.step))
    try:
        for reached in optimise(model, data, plan, state):
            state = reached
            keeper.keep(state.step, tuple(state))
            show_progress(state, model, args)
    finally:
        keeper.keep(state.step, tuple(state), now=True)
        end_progress()
    return state


def show_progress(state: Any, model: Any, args: argparse.Namespace) -> None:
    from dpc.inference.learning.stochastic import STRETCH

    if sys.stderr.isatty():
        mean = sign_of(model) * state.losses[-STRETCH:].mean()
        shown = f"step {state.step} of {args.steps}: {objective_of(model).name} {mean:.6g}"
        print(f"\r{shown:<70}", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)


# ---- the result


def show_fit(model: Any, data: Any, state: Any, args: argparse.Namespace) -> int:
    from dpc.dsl.embed.optimise import has_converged

    converged = has_converged(state.losses)
    found = result_of(model, state, converged, args)
    if args.out:
        write_result(args.out, {**found, "losses": (sign_of(model) * state.losses).tolist()})
    if args.plot:
        plot_curve(model, state, args)
    if args.json:
        print(json.dumps(found))
    else:
        print("\n".join(result_rows(model, data, found)))
    if not converged:
        print(f"dpc: {what_is_left(state)}", file=sys.stderr)
    return OK if converged else NOT_CONVERGED


def result_of(model: Any, state: Any, converged: bool, args: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    last = state.losses[-max(2, len(state.losses) // 4) :]
    error = np.std(last, ddof=1) / len(last) ** 0.5 if len(last) > 1 else 0.0
    return {
        "objective": objective_of(model).name,
        "value": float(sign_of(model) * last.mean()),
        "standard_error": float(error),
        "params": {name: np.asarray(v).tolist() for name, v in model.constrain(state.raw).items()},
        "steps": state.step,
        "converged": converged,
        "seed": args.seed,
    }


def result_rows(model: Any, data: Any, found: dict[str, Any]) -> list[str]:
    import numpy as np

    rows: list[tuple[str, ...]] = [("parameter", "value")]
    for name, value in found["params"].items():
        array = np.asarray(value)
        entries = entry_names(name, model.graph[name].type, array.shape, data.labels)
        rows += [(entry, f"{x:.6g}") for entry, x in zip(entries, array.ravel(), strict=True)]
    mean = f"{found['objective']} {found['value']:.6g} ± {found['standard_error']:.2g} over the last quarter"
    return [*columns(rows), "", f"{mean} of {found['steps']} steps"]


def what_is_left(state: Any) -> str:
    from dpc.dsl.embed.optimise import progress
    from dpc.inference.learning.stochastic import LEAST_STEPS

    if len(state.losses) < LEAST_STEPS:
        return f"stopped after {state.step} steps; whether it converged can be told from {LEAST_STEPS} on"
    left = progress(state.losses)
    word = "fell" if left.fall > 0 else "rose"
    change = f"the loss still {word} by {abs(left.fall):.3g} ± {left.error:.2g} within the last half"
    return f"not converged after {state.step} steps: {change}; more --steps, or another --rate, may help"


def write_result(path: str, found: dict[str, Any]) -> None:
    from dpc.dsl.files import write_whole

    try:
        write_whole(path, (json.dumps(found) + "\n").encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def plot_curve(model: Any, state: Any, args: argparse.Namespace) -> None:
    from dpc.dsl.draw.chart import Series, curve_chart, write_chart
    from dpc.dsl.embed.optimise import smoothed
    from dpc.inference.learning.stochastic import STRETCH

    def series(name: str, losses: Any, pale: bool = False) -> Series:
        return Series(name, tuple((k + 1.0, float(x)) for k, x in enumerate(sign_of(model) * losses)), pale)

    curves = [series("every step", state.losses, pale=True), series(f"mean of {STRETCH}", smoothed(state.losses))]
    title = f"{model.graph.name or args.path}: learning curve"
    try:
        write_chart(curve_chart(title, "step", objective_of(model).name, curves), args.plot)
    except OSError as error:
        raise UsageError(f"cannot write {args.plot}: {error.strerror or error}") from None


def objective_of(model: Any) -> Any:
    return model.graph.of_kind(Kind.COST)[0]


def sign_of(model: Any) -> float:
    return 1.0 if objective_of(model).minimize else -1.0
