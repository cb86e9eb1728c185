"""dpc fit: the parameters of a model's own objective, or those that make data most probable."""

import argparse
import sys

from dpc.commands import inputs
from dpc.exits import UsageError, verify_folder

OPTIONS = (
    *("by", "method", "test", "stream", "checkpoint", "resume", "seed"),
    *("steps", "rate", "samples", "optimizer", "loss", "smoothing", "tolerance", "batch"),
    "restarts",
)
ENDINGS = (".json", ".dp", ".bif", ".xmlbif", ".xml", ".uai")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_options(
        parser,
        *inputs.INPUTS,
        ("--steps N", int, "at most this many steps (default 5000, from data 1000)"),
        ("--rate", float, "the learning rate of stochastic gradients (default 0.01)"),
        ("--checkpoint DIR", str, "keep the state of the run there"),
        ("--resume", None, "continue from the state in --checkpoint"),
        ("--plot OUT", str, "draw the learning curve: .svg or .png"),
        ("-o/--out OUT", str, "write the result: .json, or .dp with the learned tables"),
    )
    inputs.add_options(
        parser.add_argument_group("a file with minimize or maximize"),
        ("--samples N", int, "samples of the program a step (default few)"),
        ("--optimizer", ("adam", "sgd"), "the optimizer (default adam)"),
    )
    likelihood = "a file without an objective: maximum likelihood, with its priors"
    inputs.add_options(
        parser.add_argument_group(likelihood),
        inputs.BY,
        ("--method", str, "auto, counts, closed form, em, newton, lbfgs, natural or stochastic"),
        ("--loss", str, "likelihood (the default), or another loss: see docs/learning.md"),
        ("--smoothing A", str, "add A to every count; bdeu:N spreads N evenly over each table"),
        ("--tolerance", float, "of the gradient, relative to the value"),
        ("--restarts N", int, "starts of which the best is kept (default 8 with hidden states)"),
        ("--batch N", int, "cases of a step of stochastic gradients (default all)"),
        ("--test FILE", list, "data that are held out"),
        ("--stream", None, "read a CSV a part at a time: for tables only"),
    )


def run(args: argparse.Namespace) -> int:
    from dpc.show.progress import LossProgress

    inputs.verify_picture(args.plot)
    if args.out and not args.out.endswith(ENDINGS):
        what = "-o writes .json, or a network with learned tables"
        raise UsageError(f"{what}: .dp, .bif, .xmlbif or .uai; not {args.out}")
    for path in filter(None, (args.out, args.plot)):
        verify_folder(path)
    model = inputs.load_model(args)
    known = inputs.Inputs(model, args)
    with LossProgress() as progress:
        # A fit that nobody watches runs in one compiled loop; the plot needs its curve.
        is_watched = sys.stderr.isatty() or args.plot
        fit = model.fit(
            *known.sources,
            start=known.params,
            watch=progress.see if is_watched else None,
            **{name: getattr(args, name) for name in OPTIONS},
        )
    if args.out and args.out.endswith(".json"):
        fit.save(args.out)
    elif args.out:
        model.save(args.out, fit=fit)  # a network with the learned tables
    if args.plot:
        fit.plot(args.plot)
    return inputs.print_answer(fit, args)
