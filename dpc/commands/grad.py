"""dpc grad: the gradient of an expected objective, with its standard error; estimators compared."""

import argparse

from dpc.commands.inputs import (
    Known,
    add_input_arguments,
    add_options,
    load_model,
    print_answer,
    verify_picture,
)
from dpc.exits import UsageError

SAMPLES = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    words = f"how many independent estimates (default {SAMPLES})"
    parser.add_argument("--samples", type=int, default=SAMPLES, metavar="N", help=words)
    parser.add_argument(
        "--estimator",
        action="append",
        default=[],
        metavar="DRAW=METHOD",
        help="how gradients pass this draw, as --set DRAW.grad=METHOD",
    )
    add_options(
        parser,
        ("--hessian", None, "the second derivatives, too"),
        (
            "--compare all or A,B",
            str,
            "bias, variance and time of all methods, or these, for one draw after the other",
        ),
        ("--plot OUT", str, "draw what --compare found: .svg or .png"),
    )


def run(args: argparse.Namespace) -> int:
    verify_arguments(args)
    args.set = [*args.set, *map(read_estimator, args.estimator)]
    model = load_model(args.path, args.set)
    known = Known(model, args)
    inputs = (known.params, known.sources)
    options = {"samples": args.samples, "seed": args.seed}
    if not args.compare:
        return print_answer(model.grad(*inputs, **options, hessian=args.hessian), args)
    compared = model.compare(args.compare, *inputs, **options)
    if args.plot:
        compared.plot(args.plot)
    return print_answer(compared, args)


def verify_arguments(args: argparse.Namespace) -> None:
    verify_picture(args.plot)
    if args.compare and args.hessian:
        raise UsageError("--compare is about gradients: ask for --hessian without it")
    if args.plot and not args.compare:
        raise UsageError("--plot draws a comparison: give --compare all, too")


def read_estimator(text: str) -> str:
    name, equals, method = text.partition("=")
    if not equals:
        raise UsageError(f"--estimator takes DRAW=METHOD, not {text}")
    return f"{name}.grad={method}"
