"""dpc plan: how a question would be answered, and what it would cost, before it is asked."""

from __future__ import annotations

import argparse

from dpc.commands.evidence import add_given_argument, read_given
from dpc.commands.inputs import Known, add_network_argument, print_answer, read_annotations
from dpc.commands.models import open_model


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
