"""dpc query: what a model with finite variables says, given what is known."""

from __future__ import annotations

import argparse
import sys

from dpc.commands.evidence import add_given_argument, read_given
from dpc.commands.inputs import (
    Known,
    add_network_argument,
    print_answer,
    print_warnings,
    read_annotations,
    verify_picture,
)
from dpc.commands.models import open_model
from dpc.exits import NOT_CONVERGED, OK, UsageError
from dpc.finite.approximation import METHODS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_network_argument(parser)
    add_given_argument(parser)
    parser.add_argument(
        "--evidence", metavar="CASES", help="a CSV file of cases, one to a row, answered together"
    )
    parser.add_argument(
        "--ask",
        action="append",
        default=[],
        metavar="A,B or EXPRESSION",
        help="marginals of these variables only, or an expression: 'a == yes and b > 2'",
    )
    parser.add_argument(
        "--joint",
        action="append",
        default=[],
        metavar="A,B",
        help="the joint distribution of these",
    )
    parser.add_argument(
        "--logz",
        action="store_true",
        help="the log-partition, or the log-probability of the evidence",
    )
    parser.add_argument(
        "--map",
        nargs="?",
        const=True,
        default=False,
        metavar="A,B",
        help="the most probable configuration, of all or these",
    )
    parser.add_argument("--kbest", type=int, metavar="K", help="the K most probable configurations")
    parser.add_argument("--samples", type=int, metavar="N", help="N joint draws of all variables")
    parser.add_argument(
        "--entropy", action="store_true", help="the entropy of all variables, in nats"
    )
    parser.add_argument(
        "--kl",
        metavar="OTHER",
        help="the divergence to another model of the same variables, in nats",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="how much memory may be used, such as 2GB (default half of what is free)",
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="auto",
        help=(
            "exact where it fits and else what is said (auto), always exact, or an "
            "approximation; cut is for --map"
        ),
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the seed of all that is drawn (default 0)"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--csv", action="store_true", help="print as CSV")
    parser.add_argument(
        "--plot",
        metavar="OUT",
        help="draw the network with the marginals in its nodes: .svg or .png",
    )


def run(args: argparse.Namespace) -> int:
    verify_picture(args.plot)
    model = open_model(args.path, read_annotations(args.set))
    if model.network is not None and (args.data or args.set):
        raise UsageError(
            f"{args.path} has all its numbers in it: --data and --set are for .dp models"
        )
    known = Known(model, args)
    values = {} if model.network is not None else known.without_draws(model.graph)
    answers = model.query(
        args.ask,
        given={**values, **read_given(args.given)},
        params=known.params,
        data=known.sources,
        joint=args.joint,
        logz=args.logz,
        map=args.map,
        kbest=args.kbest,
        samples=args.samples,
        entropy=args.entropy,
        kl=args.kl,
        evidence=args.evidence,
        method=args.method,
        memory=args.memory,
        seed=args.seed,
        plot=args.plot,
    )
    if not args.csv:
        return print_answer(answers, args)
    print_warnings(answers, args)
    sys.stdout.write("".join(table.csv() for table in answers.tables()))
    return OK if answers.converged else NOT_CONVERGED
