"""dpc fit: the parameters that minimise or maximise an expected objective, by stochastic optimisation."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from dpc.commands.estimates import entry_names
from dpc.commands.grad import verify_objective
from dpc.commands.inputs import add_input_arguments, bind_inputs, load_model
from dpc.commands.tables import columns
from dpc.dsl.graph import Kind
from dpc.exits import NOT_CONVERGED, OK, UsageError

SAVE_SECONDS = 1.0
FILE = "checkpoint.npz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument("--steps", type=int, default=5000, metavar="N", help="at most this many steps (default 5000)")
    parser.add_argument("--rate", type=float, default=0.01, help="the learning rate (default 0.01)")
    parser.add_argument(
        "--samples", type=int, metavar="N", help="samples of the whole program a step (default as few as possible)"
    )
    parser.add_argument("--optimizer", choices=("adam", "sgd"), default="adam", help="the optimizer (default adam)")
    parser.add_argument("--checkpoint", metavar="DIR", help="keep the state of the run there")
    parser.add_argument("--resume", action="store_true", help="continue from the state in --checkpoint")
    parser.add_argument("--plot", metavar="OUT", help="draw the learning curve: .svg or .png")
    parser.add_argument("-o", dest="out", metavar="OUT.json", help="write the result, with the loss of every step")


def run(args: argparse.Namespace) -> int:
    verify_arguments(args)
    model = load_model(args.path, args.set)
    verify_objective(model, args.path)
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


def verify_arguments(args: argparse.Namespace) -> None:
    if args.steps < 1:
        raise UsageError("--steps takes a number from 1 up")
    if not 0 < args.rate < float("inf"):
        raise UsageError(f"--rate takes a positive number, not {args.rate}")
    if args.samples is not None and args.samples < 1:
        raise UsageError("--samples takes a number from 1 up")
    if args.resume and not args.checkpoint:
        raise UsageError("--resume needs the --checkpoint to continue from")
    if args.plot and not args.plot.endswith((".svg", ".png")):
        raise UsageError(f"--plot writes .svg or .png, not {args.plot}")


# ---- the run


def find_fit(model: Any, params: Any, data: Any, args: argparse.Namespace) -> Any:
    """The last state; on the way, and whatever stops it, the state is kept where --checkpoint says."""
    from dpc.dsl.embed.checkpoint import fingerprint, load_state
    from dpc.dsl.embed.optimise import Plan, optimise, start

    plan = Plan(args.steps, args.rate, args.samples, args.seed, args.optimizer)
    state = start(model, params, data, plan)
    keeper = Keeper(args, fingerprint(model, params, data, plan))
    if args.resume:
        if not keeper.path.exists():
            raise UsageError(f"there is no checkpoint in {args.checkpoint} to continue from")
        state = load_state(keeper.path, state, keeper.run)
    try:
        for reached in optimise(model, data, plan, state):
            state = reached
            keeper.keep(state)
            show_progress(state, model, args)
    finally:
        keeper.keep(state, now=True)
        end_progress()
    return state


class Keeper:
    """Writes a state when the last one is a second old."""

    def __init__(self, args: argparse.Namespace, run: str):
        self.run = run
        self.wanted = bool(args.checkpoint)
        self.path = Path(args.checkpoint or "") / FILE
        self.next = 0.0
        self.kept = -1
        if self.wanted and self.path.exists() and not args.resume:
            raise UsageError(f"{self.path} is there already: --resume continues it, another folder starts anew")
        if self.wanted:
            self._make_folder()

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write {self.path.parent}: {error.strerror or error}") from None

    def keep(self, state: Any, now: bool = False) -> None:
        from dpc.dsl.embed.checkpoint import save_state

        if self.wanted and state.step > self.kept and (now or time.monotonic() >= self.next):
            save_state(self.path, state, self.run)
            self.kept, self.next = state.step, time.monotonic() + SAVE_SECONDS


def show_progress(state: Any, model: Any, args: argparse.Namespace) -> None:
    from dpc.dsl.embed.optimise import STRETCH

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
    from dpc.dsl.embed.optimise import LEAST_STEPS, progress

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
    from dpc.dsl.embed.optimise import STRETCH, smoothed

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
