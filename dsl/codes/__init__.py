"""What every code means: the text of `dpc explain`, and of docs/errors.md."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from .entry import Code

CHAPTERS = {
    "syntax": "Reading the text",
    "names": "Names",
    "types": "Types and shapes",
    "indices": "Indices and ranges",
    "laws": "Distributions and tables",
    "structure": "The model as a whole",
    "files": "Imports, guides and objectives",
    "settings": "Annotations",
    "warnings": "Warnings",
}


@cache
def chapters() -> dict[str, tuple[Code, ...]]:
    return {title: import_module(f".{name}", __name__).CODES for name, title in CHAPTERS.items()}


@cache
def all_codes() -> dict[str, Code]:
    return {code.code: code for codes in chapters().values() for code in codes}
