"""Reading the models that a command was given: files, folders, or `-` for standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from dpc.dsl.build import build_graph
from dpc.dsl.check.typed import Typed
from dpc.dsl.compiler import check_source, decode_source, read_source
from dpc.dsl.diagnostics import Diagnostic, DpError
from dpc.dsl.graph import Graph
from dpc.dsl.report import format_diagnostics
from dpc.dsl.source import Source
from dpc.exits import UsageError

STANDARD_INPUT = "-"


def expand_paths(paths: Iterable[str]) -> list[str]:
    """Folders stand for the .dp files below them, in a stable order."""
    found: list[str] = []
    for path in paths:
        if path != STANDARD_INPUT and Path(path).is_dir():
            inside = sorted(str(p) for p in Path(path).rglob("*.dp"))
            if not inside:
                raise UsageError(f"there is no .dp file below {path}")
            found += inside
        else:
            found.append(path)
    return found


def read_model(path: str) -> Source:
    """A source, or a DpError for a file that is no text; a file that is not there is a UsageError."""
    try:
        if path == STANDARD_INPUT:
            return decode_source("<stdin>", sys.stdin.buffer.read())
        return read_source(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def load_typed(path: str, settings: Mapping[str, object] | None = None) -> Typed:
    """The checked program; warnings are printed, errors are raised as a DpError."""
    result = check_source(read_model(path), settings)
    if result.typed is None:
        raise DpError(result.diagnostics)
    if result.diagnostics:
        print_diagnostics(result.diagnostics)
    return result.typed


def load_graph(path: str, settings: Mapping[str, object] | None = None) -> Graph:
    """The verified graph of a checked program; `settings` replace its annotations."""
    return build_graph(load_typed(path, settings))


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    print(format_diagnostics(tuple(diagnostics), color=sys.stderr.isatty()), end="\n\n", file=sys.stderr)
