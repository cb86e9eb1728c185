"""dpc info: the class of a model and why, its dims, its nodes."""

import argparse
import json

from dpc.commands.inputs import JSON, MODEL, add_options, open_model
from dpc.exits import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, *MODEL, JSON)


def run(args: argparse.Namespace) -> int:
    info = open_model(args).info()
    print(json.dumps(info.to_dict(), indent=2) if args.json else info)
    return OK
