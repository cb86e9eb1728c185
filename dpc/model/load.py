"""From a file or a text to a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpc.dsl.diagnostics import DpError
from dpc.dsl.files import UnreadableFile, read_text, reason_of
from dpc.dsl.pipeline import read_source
from dpc.dsl.source import Source

from ..exits import UsageError
from .check import check_externs, check_model
from .model import Model

if TYPE_CHECKING:
    from dpc.inference.formats.network import Network

Settings = Mapping[str, str | bool]


def load(
    path: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    import_paths: Sequence[str | os.PathLike[str]] = (),
    **externs: Callable[..., Any],
) -> Model:
    """The model of a .dp file, or of a network: .bif, .xmlbif, .uai, also with .gz.

    Extern functions are given by name. `settings` replace annotations of the file: {"b.grad":
    "rloo(samples=4)", "a.noncentered": False}. Imports come from the folder of the file and below,
    and from `import_paths`. Raises DpError with all that is wrong.
    """
    if is_network(path):
        return load_network(os.fspath(path))
    source = read_source(os.fspath(path), _folders(import_paths))
    return _bound(compile_model(source, settings, externs))


def parse(
    text: str,
    *,
    settings: Settings | None = None,
    import_paths: Sequence[str | os.PathLike[str]] = (),
    **externs: Callable[..., Any],
) -> Model:
    """The model of a text, which may import from the current folder and from `import_paths`."""
    source = Source("<text>", text, _folders(import_paths))
    return _bound(compile_model(source, settings, externs))


def _folders(paths: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    if isinstance(paths, str | os.PathLike):
        raise UsageError(f"`import_paths=` takes a list of folders: write [{os.fspath(paths)!r}]")
    return tuple(os.fspath(path) for path in paths)


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
    return Model(None, network=read_network(path))


MOST_OF_NETWORK = 1 << 28
"""Bytes of a network file: the largest that are published have a tenth of them."""


def read_network(path: str) -> Network:
    """A network file, compressed or not; raises FormatError, or OSError if it cannot be opened."""
    from dpc.inference.formats.network import FormatError
    from dpc.inference.formats.registry import parse_network, verify_ending

    verify_ending(path)
    try:
        return parse_network(read_text(path, MOST_OF_NETWORK), path)
    except UnreadableFile as error:
        raise FormatError(path, None, reason_of(error)) from None
