"""dpc fmt: models in canonical form."""

import argparse
import sys

from dpc.commands.inputs import STANDARD_INPUT, expand_paths, print_diagnostics, read_model
from dpc.dsl.diagnostics import DpError
from dpc.dsl.files import write_whole
from dpc.dsl.text.format import format_source
from dpc.exits import OK, WRONG_MODEL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="FILE",
        help="models, folders of models, or - for standard input",
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if a file would change"
    )


def run(args: argparse.Namespace) -> int:
    codes = [_format_file(path, args.check) for path in expand_paths(args.paths)]
    return max(codes)


def _format_file(path: str, check: bool) -> int:
    """A file that does not parse stays as it is."""
    try:
        source = read_model(path)
        text = format_source(source)
    except DpError as error:
        print_diagnostics(error.diagnostics)
        return WRONG_MODEL
    if path == STANDARD_INPUT and not check:
        sys.stdout.write(text)
        return OK
    if text == source.text:
        return OK
    if check:
        print(f"{path}: would be formatted")
        return WRONG_MODEL
    write_whole(path, text.encode())
    print(f"{path}: formatted")
    return OK
