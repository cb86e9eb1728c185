"""dpc plan: how a question would be answered, and what it would cost, before it is asked."""

import argparse

from dpc.commands.inputs import (
    Known,
    add_given_argument,
    add_network_argument,
    open_model,
    print_answer,
    read_annotations,
    read_given,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_network_argument(parser)
    add_given_argument(parser)
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    model = open_model(args.path, read_annotations(args.set))
    known = Known(model, args)
    values = {} if model.network is not None else known.without_draws(model.graph)
    given = {**values, **read_given(args.given)}
    plan = model.plan(given, params=known.params, data=known.sources)
    return print_answer(plan, args)
