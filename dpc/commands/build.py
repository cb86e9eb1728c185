"""dpc build: the model as a program, or what the compiler makes of it on the way there."""

import argparse
import sys

from dpc.commands.inputs import (
    Known,
    add_input_arguments,
    load_model,
    open_model,
    read_annotations,
    read_model,
)
from dpc.dsl.files import write_whole
from dpc.dsl.pipeline import STAGES, dump_stage
from dpc.exits import OK, UsageError

FORMS = ("python", "jaxpr", "stablehlo")
FUNCTIONS = ("log_prob", "evaluate", "objective", "sample")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="the file to write (default: standard output)"
    )
    parser.add_argument(
        "--emit", choices=FORMS, default="python", help="the form of the program (default python)"
    )
    parser.add_argument(
        "--function",
        choices=FUNCTIONS,
        default="log_prob",
        help="which function, for jaxpr and stablehlo",
    )
    parser.add_argument("--dump", choices=STAGES, help="print a stage of the compiler instead")


def run(args: argparse.Namespace) -> int:
    content = _content(args)
    if args.output is None:
        sys.stdout.buffer.write(content)
    else:
        write_whole(args.output, content)
    return OK


def _content(args: argparse.Namespace) -> bytes:
    settings = read_annotations(args.set)
    if args.dump:
        return dump_stage(read_model(args.path), args.dump, settings).encode() + b"\n"
    if args.emit == "python":
        return open_model(args.path, settings).build()
    if args.emit == "stablehlo" and args.output is None:
        raise UsageError("stablehlo is not text: name a file with -o")
    model = load_model(args.path, args.set)
    known = Known(model, args)
    return model.build(args.emit, args.function, known.params, known.sources, args.seed)
