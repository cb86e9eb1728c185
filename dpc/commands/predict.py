"""dpc predict: what new data do not say, by parameters that were fitted."""

import argparse

from dpc.commands import inputs
from dpc.exits import OK, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "what `dpc fit FILE -o fit.json` wrote"
    parser.add_argument("--fit", required=True, metavar="FIT", help=words)
    inputs.add_options(
        parser,
        ("path FILE", str, "the model that was fitted, or - for standard input"),
        inputs.IMPORT_PATH,
        inputs.DATA,
        inputs.set_option("a datum or the size of a dim"),
        inputs.BY,
        ("--ask NAMES", str, "these draws, with commas between them (default all)"),
        ("--log-likelihood", None, "instead, how probable each case is"),
        ("-o/--out OUT", str, "write everything: .csv or .json"),
        inputs.JSON,
    )


def run(args: argparse.Namespace) -> int:
    if not args.data and not args.set:
        raise UsageError("there are no --data to predict from")
    if args.out and not args.out.endswith((".csv", ".json")):
        raise UsageError(f"-o writes .csv or .json, not {args.out}")
    model = inputs.load_model(args)
    known = inputs.Inputs(model, args)
    for name in known.params:
        raise UsageError(f"`{name}` is a parameter, whose value comes from --fit")
    found = model.predict(
        args.fit,
        *known.sources,
        by=args.by,
        ask=args.ask.split(",") if args.ask else None,
        log_likelihood=args.log_likelihood,
    )
    if args.out:
        found.save(args.out)
    return OK if args.out and not args.json else inputs.print_answer(found, args)
