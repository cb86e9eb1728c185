"""Reading the models that a command was given: files, folders, or `-` for standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpc.dsl.diagnostics import Diagnostic
from dpc.dsl.pipeline import decode_source, read_source
from dpc.dsl.report import format_diagnostics
from dpc.dsl.source import Source
from dpc.exits import UsageError

if TYPE_CHECKING:
    from dpc.model.model import Model

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


def open_model(path: str, settings: Mapping[str, Any] | None = None) -> Model:
    """The model of a file, in which nothing is bound yet; warnings are printed."""
    from dpc.model.load import compile_model, is_network, load_network

    if is_network(path):
        try:
            return load_network(path)
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    model = compile_model(read_model(path), settings)
    if model.warnings:
        print_diagnostics(model.warnings)
    return model


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    shown = format_diagnostics(tuple(diagnostics), color=sys.stderr.isatty())
    print(shown, end="\n\n", file=sys.stderr)
