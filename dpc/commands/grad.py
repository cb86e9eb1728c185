"""dpc grad: the gradient of an expected objective, with its standard error; estimators compared."""

import argparse

from dpc.commands import inputs
from dpc.exits import UsageError

SAMPLES = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    compare = "bias, variance and time of all methods, or these, for one draw after the other"
    inputs.add_options(
        parser,
        *inputs.INPUTS,
        ("--samples N", int, f"independent estimates (default {SAMPLES})", SAMPLES),
        ("--estimator DRAW=METHOD", list, "how gradients pass it, as --set DRAW.grad=METHOD"),
        ("--hessian", None, "the second derivatives, too"),
        ("--compare all or A,B", str, compare),
        ("--plot OUT", str, "draw what --compare found: .svg or .png"),
    )


def run(args: argparse.Namespace) -> int:
    inputs.verify_picture(args.plot)
    if args.compare and args.hessian:
        raise UsageError("--compare is about gradients: ask for --hessian without it")
    if args.plot and not args.compare:
        raise UsageError("--plot draws a comparison: give --compare all, too")
    for text in args.estimator:
        name, equals, method = text.partition("=")
        if not equals:
            raise UsageError(f"--estimator takes DRAW=METHOD, not {text}")
        args.set = [*args.set, f"{name}.grad={method}"]
    model = inputs.load_model(args)
    known = inputs.Inputs(model, args)
    known_inputs = (known.params, known.sources)
    options = {"samples": args.samples, "seed": args.seed}
    if not args.compare:
        return inputs.print_answer(model.grad(*known_inputs, **options, hessian=args.hessian), args)
    compared = model.compare(args.compare, *known_inputs, **options)
    if args.plot:
        compared.plot(args.plot)
    return inputs.print_answer(compared, args)
