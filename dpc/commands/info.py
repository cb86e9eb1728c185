"""dpc info: the class of a model and why, its dims, its nodes."""

import argparse
import json

from dpc.commands.inputs import open_model
from dpc.exits import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a model, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    info = open_model(args.path).info()
    print(json.dumps(info.to_dict(), indent=2) if args.json else info)
    return OK
