"""dpc build: what the compiler makes of a model, stage by stage."""

from __future__ import annotations

import argparse

from dpc.commands.models import load_graph, print_diagnostics, read_model
from dpc.dsl.compiler import check_source
from dpc.dsl.diagnostics import DpError
from dpc.dsl.parser import parse_program
from dpc.dsl.show import show_graph, show_record, show_typed
from dpc.exits import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a model, or - for standard input")
    parser.add_argument("--dump", choices=STAGES, required=True, help="the stage to print")


def run(args: argparse.Namespace) -> int:
    print(STAGES[args.dump](args.path))
    return OK


def _dump_syntax(path: str) -> str:
    program, errors = parse_program(read_model(path))
    if errors:
        raise DpError(errors)
    return "\n".join(show_record(statement) for statement in program.statements)


def _dump_typed(path: str) -> str:
    result = check_source(read_model(path))
    if result.typed is None:
        raise DpError(result.diagnostics)
    if result.diagnostics:
        print_diagnostics(result.diagnostics)
    return show_typed(result.typed)


def _dump_graph(path: str) -> str:
    return show_graph(load_graph(path))


STAGES = {"syntax": _dump_syntax, "typed": _dump_typed, "graph": _dump_graph}
