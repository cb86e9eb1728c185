"""dpc sample: draws of every random variable, parents before children."""

import argparse

from dpc.commands.inputs import (
    Known,
    add_given_argument,
    add_input_arguments,
    load_model,
    print_answer,
    read_given,
)
from dpc.exits import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument("-n", type=int, default=5, help="how many draws (default 5)")
    add_given_argument(parser)


def run(args: argparse.Namespace) -> int:
    model = load_model(args.path, args.set)
    known = Known(model, args)
    given = read_given(args.given)
    if args.n < 1:
        raise UsageError("-n takes a number from 1 up")
    draws = model.draws(
        args.n, given=given, params=known.params, data=known.sources, seed=args.seed
    )
    return print_answer(draws, args)
