"""dpc plan: how a question would be answered, and what it would cost, before anything is computed.

For a model with an objective, the question is its gradient: which estimator each draw has, and why.
"""

from __future__ import annotations

import argparse
import json

from dpc.commands.discrete import Loaded, add_discrete_arguments, load_discrete, load_grounded
from dpc.commands.evidence import add_given_argument, read_given
from dpc.commands.inputs import read_annotations, read_settings
from dpc.commands.models import load_graph
from dpc.commands.tables import columns
from dpc.dsl.data import bind_data
from dpc.dsl.estimate.choose import Choice, choose_methods
from dpc.dsl.estimate.costs import averages_weights
from dpc.dsl.estimate.prepare import prepare
from dpc.dsl.graph import Graph, Kind
from dpc.dsl.tabulate.given import check_given
from dpc.exits import OK
from dpc.inference.formats.registry import format_of
from dpc.inference.queries import plan_marginals


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_discrete_arguments(parser)
    add_given_argument(parser)
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    if format_of(args.path):
        return _show_elimination(load_discrete(args), args)
    graph = load_graph(args.path, read_annotations(args.set))
    if graph.of_kind(Kind.COST) and not args.given:
        return _show_estimators(_choices(graph, args), args.json)
    return _show_elimination(load_grounded(graph, args), args)


# ---- estimators


def _choices(graph: Graph, args: argparse.Namespace) -> list[Choice]:
    needed, terms, objective = prepare(graph)
    if not needed.of_kind(Kind.DRAW):
        return []
    _, given = read_settings(args.set, graph)
    bound = bind_data(graph, *args.data, *([given] if given else []), partial=True)
    return choose_methods(needed, terms, bound.sizes, averages_weights(objective))


def _show_estimators(choices: list[Choice], as_json: bool) -> int:
    if as_json:
        rows = [
            {
                "draw": choice.name,
                "method": choice.method,
                "options": dict(choice.options),
                "reason": choice.reason,
                "points": choice.points,
            }
            for choice in choices
        ]
        print(json.dumps({"estimators": rows}))
    elif not choices:
        print("the objective has no random part: its gradient is exact")
    else:
        shown = [(choice.name, str(choice), str(choice.points), choice.reason) for choice in choices]
        print(*columns([("draw", "estimator", "points", "why"), *shown]), sep="\n")
    return OK


# ---- elimination


def _show_elimination(loaded: Loaded, args: argparse.Namespace) -> int:
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
