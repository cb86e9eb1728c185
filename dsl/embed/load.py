"""From a file or a text to a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ..build import build_graph
from ..compiler import check_source, read_source
from ..diagnostics import DpError
from ..parser import parse_program
from ..source import Source
from .model import Model

Settings = Mapping[str, str | bool]


def load(path: str | os.PathLike[str], *, settings: Settings | None = None, **externs: Callable[..., Any]) -> Model:
    """The model of a .dp file; extern functions are given by name. Raises DpError with all that is wrong.

    `settings` replace annotations of the file: {"b.grad": "rloo(samples=4)", "a.noncentered": False}.
    """
    return _compile(read_source(os.fspath(path)), settings, externs)


def parse(text: str, *, settings: Settings | None = None, **externs: Callable[..., Any]) -> Model:
    """The model of a text."""
    return _compile(Source("<text>", text), settings, externs)


def _compile(source: Source, settings: Settings | None, externs: dict[str, Callable[..., Any]]) -> Model:
    result = check_source(source, settings)
    if result.typed is None:
        raise DpError(result.diagnostics)
    return Model(build_graph(result.typed), introduction_of(source), externs)


def introduction_of(source: Source) -> str:
    """The comment that the file starts with."""
    program, _ = parse_program(source)
    first = program.statements[0].span.start if program.statements else len(source.text)
    lines = [comment.text.lstrip("# ") for comment in program.comments if comment.span.start < first]
    return "\n".join(lines)
