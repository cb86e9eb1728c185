"""dpc posterior: draws from the posterior of all that is unknown, and whether to trust them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dpc.commands import inputs
from dpc.exits import OK, UsageError

if TYPE_CHECKING:
    from dpc.posterior.summary import PosteriorSummary

METHODS = ("nuts", "svi", "laplace", "importance")
OPTIONS = (
    *("draws", "seed", "warmup", "chains", "target_accept", "max_tree_depth", "dense_mass"),
    *("steps", "checkpoint", "resume", "out", "plots"),
)
PRIOR_DRAWS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_options(
        parser,
        *inputs.INPUTS,
        ("--method", METHODS, "how to draw (default nuts)", "nuts"),
        ("--draws N", int, "draws, of every chain (default 1000)", 1000),
        ("--strict", None, "exit code 4 if something speaks against the draws"),
        ("-o/--out OUT.nc", str, "write everything as netCDF, for ArviZ"),
        ("--prior N", int, f"draws from the prior in that file (default {PRIOR_DRAWS})"),
        ("--no-predictive", None, "no draws of new data in that file"),
        ("--plots DIR", str, "draw trace, ranks, pairs, forest, predictions and energy there"),
        ("--format", ("svg", "png"), "of the plots (default svg)"),
    )
    inputs.add_options(
        parser.add_argument_group("nuts"),
        ("--warmup N", int, "steps that adapt, before the draws (default 1000)"),
        ("--chains N", int, "runs from different starts, side by side (default 4)"),
        ("--target-accept A", float, "acceptance to adapt to (default 0.8)"),
        ("--max-tree-depth N", int, "at most 2^N gradients a draw (default 10)"),
        ("--dense-mass", None, "adapt to correlations, too"),
        ("--checkpoint DIR", str, "keep the draws there as they come"),
        ("--resume", None, "continue from what is in --checkpoint"),
    )
    svi = parser.add_argument_group("svi")
    inputs.add_options(svi, ("--steps N", int, "steps of the optimiser (default 10000)"))


def run(args: argparse.Namespace) -> int:
    verify_arguments(args)
    model = inputs.load_model(args)
    known = inputs.Inputs(model, args)
    if known.params:
        name = next(iter(known.params))
        raise UsageError(f"--set {name} would fix what is unknown: --set gives data and sizes here")
    from dpc.show.progress import ChainProgress

    codes: list[int] = []

    def show(summary: PosteriorSummary) -> None:
        """Advice names keywords, which the shell spells as options."""
        advice = [inputs.as_options(text, vars(args)) for text in summary["advice"]]
        shown = type(summary)({**summary.to_dict(), "advice": advice})
        codes.append(inputs.print_answer(shown, args))

    model.posterior(
        tuple(known.sources),
        args.method,
        prior=(PRIOR_DRAWS if args.prior is None else args.prior) if args.out else False,
        predictive=bool(args.out or args.plots) and not args.no_predictive,
        likelihood=bool(args.out),
        format=args.format or "svg",
        progress=ChainProgress() if args.method == "nuts" else None,
        show=show,
        **{name: getattr(args, name) for name in OPTIONS},
    )
    return max(codes) if args.strict else OK


def verify_arguments(args: argparse.Namespace) -> None:
    if args.prior is not None and args.prior < 0:
        raise UsageError(f"--prior takes a number from 0 up, not {args.prior}")
    if args.prior is not None and not args.out:
        raise UsageError("--prior needs -o: draws from the prior are in that file alone")
    if args.no_predictive and not (args.out or args.plots):
        raise UsageError("--no-predictive needs -o or --plots: predictions are there alone")
    if args.format and not args.plots:
        raise UsageError("--format needs the --plots that it is for")
