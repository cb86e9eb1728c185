"""dpc query: what a model with finite variables says, given what is known."""

import argparse
import sys

from dpc.commands import inputs
from dpc.dsl.printable import printable_lines
from dpc.exits import NOT_CONVERGED, OK, UsageError
from dpc.finite.answers import METHODS

# What is passed on to `Model.query` under the same name.
OPTIONS = (
    *("joint", "logz", "map", "kbest", "samples", "entropy", "kl", "evidence"),
    *("method", "memory", "seed", "plot"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_options(parser, *inputs.NETWORK_INPUTS)
    words = "the most probable configuration, of all or these"
    parser.add_argument("--map", nargs="?", const=True, default=False, metavar="A,B", help=words)
    ask = "marginals of these variables only, or an expression: 'a == yes and b > 2'"
    method = (
        "exact where it fits and else what is said (auto), always exact, or an approximation; cut "
        "is for --map"
    )
    inputs.add_options(
        parser,
        inputs.GIVEN,
        ("--ask A,B or EXPRESSION", list, ask),
        ("--joint A,B", list, "the joint distribution of these"),
        ("--method", tuple(METHODS), method, "auto"),
        ("--seed", int, "the seed of all that is drawn (default 0)", 0),
        ("--evidence CASES", str, "a CSV file of cases, one to a row, answered together"),
        ("--logz", None, "the log-partition, or the log-probability of the evidence"),
        ("--kbest K", int, "the K most probable configurations"),
        ("--samples N", int, "N joint draws of all variables"),
        ("--entropy", None, "the entropy of all variables, in nats"),
        ("--kl OTHER", str, "the divergence to another model of the same variables, in nats"),
        ("--memory SIZE", str, "how much may be used, such as 2GB (default half of what is free)"),
        inputs.JSON,
        ("--csv", None, "print as CSV"),
        ("--plot OUT", str, "draw the network with the marginals in its nodes: .svg or .png"),
    )


def run(args: argparse.Namespace) -> int:
    inputs.verify_picture(args.plot)
    model = inputs.open_model(args)
    if model.network is not None and (args.data or args.set):
        what = f"{args.path} has all its numbers in it"
        raise UsageError(f"{what}: --data and --set are for .dp models")
    known = inputs.Inputs(model, args)
    values = {} if model.network is not None else known.without_draws(model.graph)
    answers = model.query(
        args.ask,
        given=inputs.read_all_given(args, values),
        params=known.params,
        data=known.sources,
        **{name: getattr(args, name) for name in OPTIONS},
    )
    if not args.csv:
        return inputs.print_answer(answers, args)
    inputs.print_warnings(answers, args)
    text = "".join(table.csv() for table in answers.tables())
    sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
    return OK if answers.converged else NOT_CONVERGED
