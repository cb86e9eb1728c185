"""dpc fit: the parameters of a model's own objective, or those that make data most probable."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpc.commands.inputs import add_input_arguments, load_model
from dpc.dsl.graph import Kind
from dpc.dsl.learn.smoothing import read_smoothing
from dpc.exits import UsageError

OBJECTIVE_ONLY = {"samples": "--samples", "optimizer": "--optimizer"}
DATA_ONLY = {
    "by": "--by",
    "method": "--method",
    "loss": "--loss",
    "smoothing": "--smoothing",
    "tolerance": "--tolerance",
    "batch": "--batch",
    "test": "--test",
    "stream": "--stream",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument("--steps", type=int, metavar="N", help="at most this many steps (default 5000, from data 1000)")
    parser.add_argument("--rate", type=float, help="the learning rate of stochastic gradients (default 0.01)")
    parser.add_argument("--checkpoint", metavar="DIR", help="keep the state of the run there")
    parser.add_argument("--resume", action="store_true", help="continue from the state in --checkpoint")
    parser.add_argument("--plot", metavar="OUT", help="draw the learning curve: .svg or .png")
    parser.add_argument("-o", dest="out", metavar="OUT", help="write the result: .json, or .dp with the learned tables")
    own = parser.add_argument_group("a file with minimize or maximize")
    own.add_argument("--samples", type=int, metavar="N", help="samples of the program a step (default few)")
    own.add_argument("--optimizer", choices=("adam", "sgd"), help="the optimizer (default adam)")
    data = parser.add_argument_group("a file without an objective: maximum likelihood, with its priors")
    data.add_argument("--by", metavar="COLUMN", help="rows with the same value in this column are one case")
    data.add_argument("--method", help="auto, counts, closed form, em, newton, lbfgs, natural or stochastic")
    data.add_argument("--loss", help="likelihood (the default), or another loss: see docs/learning.md")
    data.add_argument("--smoothing", metavar="A", help="add A to every count; bdeu:N spreads N evenly over each table")
    data.add_argument("--tolerance", type=float, help="of the gradient, relative to the value")
    data.add_argument("--batch", type=int, metavar="N", help="cases of a step of stochastic gradients (default all)")
    data.add_argument("--test", action="append", default=[], metavar="FILE", help="data that are held out")
    data.add_argument("--stream", action="store_true", help="read a CSV a part at a time: for tables only")


def run(args: argparse.Namespace) -> int:
    verify_arguments(args)
    model = load_model(args.path, args.set)
    if model.graph.of_kind(Kind.COST) and args.method is None:
        verify_unused(
            args, DATA_ONLY, "is not for a file with an objective; --method auto leaves that, and fits the data"
        )
        from dpc.commands import fit_objective

        return fit_objective.run(model, args)
    verify_unused(args, OBJECTIVE_ONLY, "is for the objective of a file, and it is the data that are fitted here")
    if not args.data:
        reason = "has no objective (add `minimize` or `maximize`)" if args.method is None else "is to be fitted to data"
        raise UsageError(f"{args.path} {reason}, and there are no --data to fit")
    from dpc.commands import fit_data

    return fit_data.run(model, args)


def verify_arguments(args: argparse.Namespace) -> None:
    if args.steps is not None and args.steps < 1:
        raise UsageError("--steps takes a number from 1 up")
    if args.rate is not None and not 0 < args.rate < float("inf"):
        raise UsageError(f"--rate takes a positive number, not {args.rate}")
    if args.tolerance is not None and not 0 < args.tolerance < float("inf"):
        raise UsageError(f"--tolerance takes a positive number, not {args.tolerance}")
    if args.samples is not None and args.samples < 1:
        raise UsageError("--samples takes a number from 1 up")
    if args.batch is not None and args.batch < 1:
        raise UsageError("--batch takes a number from 1 up")
    try:
        read_smoothing(args.smoothing)
    except ValueError as error:
        raise UsageError(f"--{error}") from None
    if args.resume and not args.checkpoint:
        raise UsageError("--resume needs the --checkpoint to continue from")
    if args.plot and not args.plot.endswith((".svg", ".png")):
        raise UsageError(f"--plot writes .svg or .png, not {args.plot}")
    for path in filter(None, (args.out, args.plot)):
        if not Path(path).parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no folder {Path(path).parent}")


def verify_unused(args: argparse.Namespace, options: dict[str, str], why: str) -> None:
    for name, option in options.items():
        if getattr(args, name) not in (None, False, []):
            raise UsageError(f"{option} {why}")
