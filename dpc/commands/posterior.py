"""dpc posterior: draws from the posterior of all that is unknown, and whether to trust them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from dpc.commands.inputs import Known, add_input_arguments, load_model
from dpc.exits import NOT_CONVERGED, OK, UsageError

METHODS = ("nuts", "svi", "laplace", "importance")
OPTIONS = (
    "warmup",
    "chains",
    "target_accept",
    "max_tree_depth",
    "dense_mass",
    "steps",
    "checkpoint",
    "resume",
)
PRIOR_DRAWS = 1000
DEPTH = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument(
        "--method", choices=METHODS, default="nuts", help="how to draw (default nuts)"
    )
    parser.add_argument(
        "--draws", type=int, default=1000, metavar="N", help="draws, of every chain (default 1000)"
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit code 4 if something speaks against the draws"
    )
    parser.add_argument(
        "-o", dest="out", metavar="OUT.nc", help="write everything as netCDF, for ArviZ"
    )
    parser.add_argument(
        "--prior", type=int, metavar="N", help="draws from the prior in that file (default 1000)"
    )
    parser.add_argument(
        "--no-predictive", action="store_true", help="no draws of new data in that file"
    )
    parser.add_argument(
        "--plots",
        metavar="DIR",
        help="draw trace, ranks, pairs, forest, predictions and energy there",
    )
    parser.add_argument("--format", choices=("svg", "png"), help="of the plots (default svg)")
    nuts = parser.add_argument_group("nuts")
    nuts.add_argument(
        "--warmup", type=int, metavar="N", help="steps that adapt, before the draws (default 1000)"
    )
    nuts.add_argument(
        "--chains",
        type=int,
        metavar="N",
        help="runs from different starts, side by side (default 4)",
    )
    nuts.add_argument(
        "--target-accept", type=float, metavar="A", help="acceptance to adapt to (default 0.8)"
    )
    nuts.add_argument(
        "--max-tree-depth", type=int, metavar="N", help="at most 2^N gradients a draw (default 10)"
    )
    nuts.add_argument("--dense-mass", action="store_true", help="adapt to correlations, too")
    nuts.add_argument("--checkpoint", metavar="DIR", help="keep the draws there as they come")
    nuts.add_argument("--resume", action="store_true", help="continue from what is in --checkpoint")
    svi = parser.add_argument_group("svi")
    svi.add_argument(
        "--steps", type=int, metavar="N", help="steps of the optimiser (default 10000)"
    )


def run(args: argparse.Namespace) -> int:
    verify_arguments(args)
    model = load_model(args.path, args.set)
    known = Known(model, args)
    if known.params:
        name = next(iter(known.params))
        raise UsageError(f"--set {name} would fix what is unknown: --set gives data and sizes here")
    opened, data = model.with_missing(*known.sources)
    # The summary comes first: likelihoods, predictions and the prior, which take time, are only
    # for the files.
    posterior = opened.posterior(
        data,
        args.method,
        draws=args.draws,
        seed=args.seed,
        prior=False,
        predictive=False,
        likelihood=False,
        progress=progress_of(args),
        **{name: getattr(args, name) for name in OPTIONS},
    )
    summary = show(opened, data, posterior, args)
    if args.out or args.plots:
        write(opened, data, posterior, args)
    return NOT_CONVERGED if args.strict and summary["advice"] else OK


def verify_arguments(args: argparse.Namespace) -> None:
    if args.prior is not None and args.prior < 0:
        raise UsageError(f"--prior takes a number from 0 up, not {args.prior}")
    if args.prior is not None and not args.out:
        raise UsageError("--prior needs -o: draws from the prior are in that file alone")
    if args.no_predictive and not (args.out or args.plots):
        raise UsageError("--no-predictive needs -o or --plots: predictions are there alone")
    if args.format and not args.plots:
        raise UsageError("--format needs the --plots that it is for")
    if args.out and not args.out.endswith(".nc"):
        raise UsageError(f"-o writes netCDF: call it {Path(args.out).stem}.nc, not {args.out}")


def progress_of(args: argparse.Namespace) -> Any:
    if args.method != "nuts":
        return None
    from dpc.show.progress import Progress

    return Progress()


def show(model: Any, data: Any, posterior: Any, args: argparse.Namespace) -> dict[str, Any]:
    from dpc.commands.spelling import as_options
    from dpc.posterior.summary import summarise, summary_lines

    summary = summarise(model, data, posterior, args.max_tree_depth or DEPTH)
    summary["advice"] = [as_options(advice, vars(args)) for advice in summary["advice"]]
    print(json.dumps(summary) if args.json else "\n".join(summary_lines(summary)), flush=True)
    return summary


def write(model: Any, data: Any, posterior: Any, args: argparse.Namespace) -> None:
    from dpc.inference.mcmc.container import write_netcdf

    whole = model.complete(
        posterior,
        data,
        seed=args.seed,
        prior=(PRIOR_DRAWS if args.prior is None else args.prior) if args.out else False,
        predictive=not args.no_predictive,
        likelihood=bool(args.out),
    )
    if args.out:
        write_netcdf(whole, args.out)
    if args.plots:
        from dpc.posterior.plots import write_plots

        write_plots(model, data, whole, Path(args.plots), args.format or "svg")
