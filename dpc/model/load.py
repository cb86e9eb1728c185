"""From a file or a text to a model."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from dpc.dsl.diagnostics import DpError
from dpc.dsl.pipeline import read_source
from dpc.dsl.source import Source

from .check import check_externs, check_model
from .model import Model

Settings = Mapping[str, str | bool]


def load(
    path: str | os.PathLike[str], *, settings: Settings | None = None, **externs: Callable[..., Any]
) -> Model:
    """The model of a .dp file, or of a network: .bif, .xmlbif, .uai, also with .gz.

    Extern functions are given by name. `settings` replace annotations of the file: {"b.grad":
    "rloo(samples=4)", "a.noncentered": False}. Raises DpError with all that is wrong.
    """
    if is_network(path):
        return load_network(os.fspath(path))
    return _bound(compile_model(read_source(os.fspath(path)), settings, externs))


def parse(text: str, *, settings: Settings | None = None, **externs: Callable[..., Any]) -> Model:
    """The model of a text."""
    return _bound(compile_model(Source("<text>", text), settings, externs))


def compile_model(
    source: Source,
    settings: Settings | None = None,
    externs: Mapping[str, Callable[..., Any]] | None = None,
) -> Model:
    """The model of a source; functions that are not bound are missed when they are needed."""
    checked = check_model(source, settings)
    if checked.graph is None:
        raise DpError(checked.diagnostics)
    return Model(
        checked.graph,
        checked.introduction,
        externs,
        settings=settings,
        warnings=checked.diagnostics,
    )


def _bound(model: Model) -> Model:
    check_externs(model.graph, model.externs)
    return model


def is_network(path: str | os.PathLike[str]) -> bool:
    """By its ending, without loading the readers: most files are models."""
    name = os.fspath(path).removesuffix(".gz").lower()
    return name.endswith((".bif", ".xmlbif", ".xml", ".uai"))


def load_network(path: str) -> Model:
    from dpc.inference.formats.registry import read_network

    return Model(None, network=read_network(path))
