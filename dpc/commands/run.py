"""dpc run: the values of all computed nodes, and of the objective with its gradient."""

import argparse

from dpc.commands.inputs import INPUTS, Inputs, add_options, load_model, print_answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, *INPUTS, ("--grad", None, "the gradient of the objective, too"))


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    known = Inputs(model, args)
    found = model.run(known.params, known.sources, grad=args.grad, seed=args.seed)
    return print_answer(found, args)
