"""dpc build: the model as a program, or what the compiler makes of it on the way there."""

import argparse
import sys

from dpc.commands import inputs
from dpc.dsl.files import write_whole
from dpc.dsl.pipeline import STAGES, dump_stage
from dpc.exits import OK, UsageError

FORMS = ("python", "jaxpr", "stablehlo")
FUNCTIONS = ("log_prob", "evaluate", "objective", "sample")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_options(
        parser,
        *inputs.INPUTS,
        ("-o/--output OUT", str, "the file to write (default: standard output)"),
        ("--emit", FORMS, "the form of the program (default python)", "python"),
        ("--function", FUNCTIONS, "which function, for jaxpr and stablehlo", "log_prob"),
        ("--dump", tuple(STAGES), "print a stage of the compiler instead"),
    )


def run(args: argparse.Namespace) -> int:
    content = _content(args)
    if args.output is None:
        sys.stdout.buffer.write(content)
    else:
        write_whole(args.output, content)
    return OK


def _content(args: argparse.Namespace) -> bytes:
    if args.dump:
        settings = inputs.read_annotations(args.set)
        source = inputs.read_model(args.path, args.import_path)
        return dump_stage(source, args.dump, settings).encode() + b"\n"
    if args.emit == "python":
        model = inputs.open_model(args)
        inputs.Inputs(
            model, args
        )  # what --set says is looked at, though the program takes it later
        return model.build()
    if args.emit == "stablehlo" and args.output is None:
        raise UsageError("stablehlo is not text: name a file with -o")
    model = inputs.load_model(args)
    known = inputs.Inputs(model, args)
    return model.build(args.emit, args.function, known.params, known.sources, args.seed)
