"""dpc posterior: draws from the posterior of all that is unknown, a summary, and whether to trust them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from dpc.commands.inputs import add_input_arguments, load_model, read_settings
from dpc.commands.spelling import as_options
from dpc.exits import NOT_CONVERGED, OK, UsageError

METHODS = ("nuts", "svi", "laplace", "importance")
NUTS_ONLY = {
    "warmup": "--warmup",
    "chains": "--chains",
    "target_accept": "--target-accept",
    "max_tree_depth": "--max-tree-depth",
    "dense_mass": "--dense-mass",
    "checkpoint": "--checkpoint",
    "resume": "--resume",
}
PRIOR_DRAWS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument("--method", choices=METHODS, default="nuts", help="how to draw (default nuts)")
    parser.add_argument("--draws", type=int, default=1000, metavar="N", help="draws, of every chain (default 1000)")
    parser.add_argument("--strict", action="store_true", help="exit code 4 if something speaks against the draws")
    parser.add_argument("-o", dest="out", metavar="OUT.nc", help="write everything as netCDF, for ArviZ")
    parser.add_argument("--prior", type=int, metavar="N", help="draws from the prior in that file (default 1000)")
    parser.add_argument("--no-predictive", action="store_true", help="no draws of new data in that file")
    parser.add_argument("--plots", metavar="DIR", help="draw trace, ranks, pairs, forest, predictions and energy there")
    parser.add_argument("--format", choices=("svg", "png"), help="of the plots (default svg)")
    nuts = parser.add_argument_group("nuts")
    nuts.add_argument("--warmup", type=int, metavar="N", help="steps that adapt, before the draws (default 1000)")
    nuts.add_argument("--chains", type=int, metavar="N", help="runs from different starts, side by side (default 4)")
    nuts.add_argument("--target-accept", type=float, metavar="A", help="acceptance to adapt to (default 0.8)")
    nuts.add_argument("--max-tree-depth", type=int, metavar="N", help="at most 2^N gradients a draw (default 10)")
    nuts.add_argument("--dense-mass", action="store_true", help="adapt to correlations, too")
    nuts.add_argument("--checkpoint", metavar="DIR", help="keep the draws there as they come")
    nuts.add_argument("--resume", action="store_true", help="continue from what is in --checkpoint")
    svi = parser.add_argument_group("svi")
    svi.add_argument("--steps", type=int, metavar="N", help="steps of the optimiser (default 10000)")


def run(args: argparse.Namespace) -> int:
    verify_arguments(args)
    model, data = bind(load_model(args.path, args.set), args)
    from dpc.dsl.embed.checkpoint import WrongCheckpoint
    from dpc.inference.errors import InferenceError
    from dpc.inference.posterior.gaussian import NoMode
    from dpc.inference.posterior.start import NoStart

    try:
        found = draw(model, data, args)
    except (NoStart, NoMode) as error:
        print(f"dpc: {as_options(str(error))}", file=sys.stderr)
        return NOT_CONVERGED
    except (WrongCheckpoint, InferenceError) as error:
        raise UsageError(as_options(str(error))) from None
    return show(model, data, found, args)


def verify_arguments(args: argparse.Namespace) -> None:
    verify_numbers(args)
    if args.method != "nuts":
        verify_unused(args, NUTS_ONLY, f"is for --method nuts, not {args.method}")
    if args.method != "svi":
        verify_unused(args, {"steps": "--steps"}, f"is for --method svi, not {args.method}")
    if not args.out:
        verify_unused(args, {"prior": "--prior"}, "needs -o: draws from the prior are in that file alone")
    if not (args.out or args.plots):
        verify_unused(args, {"no_predictive": "--no-predictive"}, "needs -o or --plots: predictions are there alone")
    if not args.plots:
        verify_unused(args, {"format": "--format"}, "needs the --plots that it is for")
    if args.resume and not args.checkpoint:
        raise UsageError("--resume needs the --checkpoint to continue from")
    if args.out and not args.out.endswith(".nc"):
        raise UsageError(f"-o writes netCDF: call it {Path(args.out).stem}.nc, not {args.out}")


def verify_numbers(args: argparse.Namespace) -> None:
    for name, least in {"draws": 4, "chains": 1, "warmup": 0, "max_tree_depth": 1, "steps": 1, "prior": 0}.items():
        value = getattr(args, name)
        if value is not None and value < least:
            raise UsageError(f"--{name.replace('_', '-')} takes a number from {least} up, not {value}")
    if args.target_accept is not None and not 0 < args.target_accept < 1:
        raise UsageError(f"--target-accept takes a number between 0 and 1, not {args.target_accept}")


def verify_unused(args: argparse.Namespace, options: dict[str, str], why: str) -> None:
    for name, option in options.items():
        if getattr(args, name) not in (None, False):
            raise UsageError(f"{option} {why}")


def bind(model: Any, args: argparse.Namespace) -> tuple[Any, Any]:
    """The data, and the model that takes them even if entries are missing."""
    params, given = read_settings(args.set, model.graph)
    if params:
        raise UsageError(f"--set {next(iter(params))} would fix what is unknown: --set gives data and sizes here")
    opened, data = model.with_missing(*args.data, *([given] if given else []))
    return opened, data


# ---- draws


def draw(model: Any, data: Any, args: argparse.Namespace) -> Any:
    """Draws, what is known of each, and attributes of them all."""
    from dpc.dsl.embed.methods import METHODS, Request, verify_continuous

    plan = plan_of(args)
    try:
        verify_continuous(model._decentred)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.method == "nuts":
        from dpc.commands.posterior_nuts import draw_by_nuts

        return draw_by_nuts(model, data, plan, args)
    return METHODS[args.method](Request(model, data, plan, args.draws, args.steps or 10_000))


def plan_of(args: argparse.Namespace) -> Any:
    from dpc.inference.posterior.run import Plan

    chosen = {name: getattr(args, name) for name in Plan._fields}
    return Plan(**{name: value for name, value in chosen.items() if value is not None})


# ---- the answer


def show(model: Any, data: Any, found: Any, args: argparse.Namespace) -> int:
    """The summary first: likelihoods, predictions and the prior, which take time, are only for the files."""
    from dpc.commands.posterior_summary import summarise, summary_lines
    from dpc.inference.posterior.container import group

    few = {"prior": False, "predictive": False, "likelihood": False}
    posterior = model.inference_data(found.values, data, seed=args.seed, stats=found.stats, **few, **found.attributes)
    summary = summarise(model, data, posterior, plan_of(args).max_tree_depth)
    print(json.dumps(summary) if args.json else "\n".join(summary_lines(summary)), flush=True)
    if args.out or args.plots:
        values = {str(name): array.values for name, array in group(posterior, "posterior").data_vars.items()}
        write(model, data, found._replace(values=values), args)
    return NOT_CONVERGED if args.strict and summary["advice"] else OK


def write(model: Any, data: Any, found: Any, args: argparse.Namespace) -> None:
    wanted = {
        "prior": (PRIOR_DRAWS if args.prior is None else args.prior) if args.out else False,
        "predictive": not args.no_predictive,
        "likelihood": bool(args.out),
    }
    whole = model.inference_data(found.values, data, seed=args.seed, stats=found.stats, **wanted, **found.attributes)
    try:
        if args.out:
            from dpc.inference.posterior.container import write_netcdf

            write_netcdf(whole, args.out)
        if args.plots:
            from dpc.commands.posterior_plots import write_plots

            write_plots(model, data, whole, Path(args.plots), args.format or "svg")
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or args.out}: {error.strerror or error}") from None
