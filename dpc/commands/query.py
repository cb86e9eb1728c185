"""dpc query: what a model with finite variables says, given what is known."""

import argparse
import sys

from dpc.commands.inputs import (
    Known,
    add_given_argument,
    add_network_argument,
    add_options,
    open_model,
    print_answer,
    print_warnings,
    read_annotations,
    read_given,
    verify_picture,
)
from dpc.exits import NOT_CONVERGED, OK, UsageError
from dpc.finite.approximation import METHODS

# What is passed on to `Model.query` under the same name.
OPTIONS = (
    *("joint", "logz", "map", "kbest", "samples", "entropy", "kl", "evidence"),
    *("method", "memory", "seed", "plot"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_network_argument(parser)
    add_given_argument(parser)
    parser.add_argument(
        "--ask",
        action="append",
        default=[],
        metavar="A,B or EXPRESSION",
        help="marginals of these variables only, or an expression: 'a == yes and b > 2'",
    )
    words = "the joint distribution of these"
    parser.add_argument("--joint", action="append", default=[], metavar="A,B", help=words)
    words = "the most probable configuration, of all or these"
    parser.add_argument("--map", nargs="?", const=True, default=False, metavar="A,B", help=words)
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="auto",
        help=(
            "exact where it fits and else what is said (auto), always exact, or an "
            "approximation; cut is for --map"
        ),
    )
    words = "the seed of all that is drawn (default 0)"
    parser.add_argument("--seed", type=int, default=0, help=words)
    add_options(
        parser,
        ("--evidence CASES", str, "a CSV file of cases, one to a row, answered together"),
        ("--logz", None, "the log-partition, or the log-probability of the evidence"),
        ("--kbest K", int, "the K most probable configurations"),
        ("--samples N", int, "N joint draws of all variables"),
        ("--entropy", None, "the entropy of all variables, in nats"),
        ("--kl OTHER", str, "the divergence to another model of the same variables, in nats"),
        ("--memory SIZE", str, "how much may be used, such as 2GB (default half of what is free)"),
        ("--json", None, "print as JSON"),
        ("--csv", None, "print as CSV"),
        ("--plot OUT", str, "draw the network with the marginals in its nodes: .svg or .png"),
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
        **{name: getattr(args, name) for name in OPTIONS},
    )
    if not args.csv:
        return print_answer(answers, args)
    print_warnings(answers, args)
    sys.stdout.write("".join(table.csv() for table in answers.tables()))
    return OK if answers.converged else NOT_CONVERGED
