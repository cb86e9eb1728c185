"""dpc check: everything that can be known about a model before any array exists."""

import argparse
import json
import sys

from dpc.commands import inputs
from dpc.dsl.diagnostics import DpError
from dpc.dsl.graph.classify import classify
from dpc.dsl.pipeline import Checked
from dpc.dsl.printable import printable
from dpc.dsl.report import diagnostic_as_json, summary
from dpc.exits import OK, WRONG_MODEL
from dpc.model.check import check_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_paths_argument(parser)
    inputs.add_options(
        parser,
        inputs.IMPORT_PATH,
        ("--json", None, "print all diagnostics as JSON"),
        ("--strict", None, "warnings count as errors"),
    )


def run(args: argparse.Namespace) -> int:
    results = {}
    for path in inputs.expand_paths(args.paths):
        try:
            results[path] = check_model(inputs.read_model(path, args.import_path))
        except DpError as error:
            results[path] = Checked(None, None, error.diagnostics)
    found = [d for result in results.values() for d in result.diagnostics]
    if args.json:
        print(json.dumps([diagnostic_as_json(d) for d in found], indent=2))
    else:
        for path, result in results.items():
            if result.diagnostics:
                inputs.print_diagnostics(result.diagnostics)
            if result.graph:
                nodes = len(result.graph.nodes)
                print(f"{printable(path)}: ok, {classify(result.graph).name} of {nodes} nodes")
        if found:
            print(summary(found), file=sys.stderr)
    failed = bool(found) if args.strict else any(d.is_error for d in found)
    return WRONG_MODEL if failed else OK
