"""dpc fmt: models in canonical form."""

import argparse
import sys

from dpc.commands import inputs
from dpc.dsl.diagnostics import DpError
from dpc.dsl.files import write_whole
from dpc.dsl.printable import printable
from dpc.dsl.text.format import format_source
from dpc.exits import OK, WRONG_MODEL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_paths_argument(parser)
    inputs.add_options(parser, ("--check", None, "change nothing; exit 1 if a file would change"))


def run(args: argparse.Namespace) -> int:
    codes = [_format_file(path, args.check) for path in inputs.expand_paths(args.paths)]
    return max(codes)


def _format_file(path: str, check: bool) -> int:
    """A file that does not parse stays as it is."""
    try:
        source = inputs.read_model(path)
        text = format_source(source)
    except DpError as error:
        inputs.print_diagnostics(error.diagnostics)
        return WRONG_MODEL
    if path == inputs.STANDARD_INPUT and not check:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())  # as a file has it, whatever the terminal speaks
        return OK
    if text == source.text:
        return OK
    if check:
        print(f"{printable(path)}: would be formatted")
        return WRONG_MODEL
    write_whole(path, text.encode())
    print(f"{printable(path)}: formatted")
    return OK
