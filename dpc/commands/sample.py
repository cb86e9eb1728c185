"""dpc sample: draws of every random variable, parents before children."""

import argparse

from dpc.commands import inputs
from dpc.exits import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    count = ("-n", int, "how many draws (default 5)", 5)
    words = "draw what the observed data leave open, not from the prior"
    given_data = ("--given-data", None, words)
    inputs.add_options(parser, *inputs.INPUTS, count, inputs.GIVEN, given_data)


def run(args: argparse.Namespace) -> int:
    model = inputs.load_model(args)
    known = inputs.Inputs(model, args)
    given = inputs.read_given(args.given)
    if args.n < 1:
        raise UsageError("-n takes a number from 1 up")
    draws = model.draws(
        args.n,
        given=given,
        params=known.params,
        data=known.sources,
        seed=args.seed,
        given_data=args.given_data,
    )
    return inputs.print_answer(draws, args)
