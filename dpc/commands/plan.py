"""dpc plan: how a question would be answered, and what it would cost, before anything is computed."""

from __future__ import annotations

import argparse
import json

from dpc.commands.discrete import add_discrete_arguments, load_discrete
from dpc.commands.evidence import add_given_argument, read_given
from dpc.dsl.tabulate.given import check_given
from dpc.exits import OK
from dpc.inference.queries import plan_marginals


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_discrete_arguments(parser)
    add_given_argument(parser)
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    loaded = load_discrete(args)
    plan = plan_marginals(loaded.discrete.factors, check_given(loaded.discrete, read_given(args.given)))
    if args.json:
        clique, entries = plan.largest_clique
        print(
            json.dumps(
                {
                    "order": list(plan.names),
                    "heuristic": plan.method,
                    "operations": plan.operations,
                    "bytes": plan.bytes,
                    "largest_clique": {"variables": list(clique), "entries": entries},
                }
            )
        )
    else:
        print(plan)
    return OK
