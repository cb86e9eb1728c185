"""Writes dp.tmLanguage.json, the TextMate grammar that VS Code, Sublime Text and GitHub read, from
the real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dpc.dsl.text.keywords import (
    CONSTANTS,
    WORD_OPERATORS,
    declaration_words,
    keywords,
    reducers,
)

TARGETS = (
    Path(__file__).with_name("dp.tmLanguage.json"),
    Path(__file__).parent / "vscode" / "syntaxes" / "dp.tmLanguage.json",
)
NAME = r"[[:alpha:]_][[:alnum:]_]*"
LABEL = rf"{NAME}|`[^`\n]+`"
CONTROL = keywords() - CONSTANTS - WORD_OPERATORS - declaration_words()


def words(items: Iterable[str], after: str = r"\b") -> str:
    return rf"\b(?:{'|'.join(sorted(items))}){after}"


def rule(scope: str, match: str, **captures: str) -> dict[str, object]:
    """`captures` name groups by their place: _1, _2."""
    named = {place[1:]: {"name": f"{name}.dp"} for place, name in captures.items()}
    return {"name": f"{scope}.dp", "match": match} | ({"captures": named} if named else {})


def grammar() -> dict[str, object]:
    """The first rule that matches wins, so the order goes from the special to the general."""
    patterns = [
        rule("comment.line.number-sign", r"#.*$"),
        rule("string.quoted.double", r'"[^"\n]*"'),
        rule("variable.other.quoted", r"`[^`\n]+`"),
        rule(
            "meta.definition",
            rf"\b(dim)\s+({LABEL})\s*=\s*({LABEL})",
            _1="keyword.declaration",
            _2="entity.name.type",
            _3="constant.other.label",
        ),
        rule("meta.label", rf"\|\s*({LABEL})", _1="constant.other.label"),
        rule(
            "meta.definition",
            rf"\b(model|dim)\s+({NAME})",
            _1="keyword.declaration",
            _2="entity.name.type",
        ),
        rule(
            "meta.definition",
            rf"\b(fn)\s+({NAME})",
            _1="keyword.declaration",
            _2="entity.name.function",
        ),
        rule(
            "meta.annotation",
            rf"\b(with)\s+({NAME})",
            _1="keyword.control",
            _2="entity.name.decorator",
        ),
        rule("keyword.operator.reduction", words(reducers(), rf"(?=\s*\[\s*(?:{LABEL})\s+in\b)")),
        rule("support.function", r"\bmax(?=\()"),
        rule("variable.parameter", rf"\b{NAME}(?==(?![=>]))"),
        rule("constant.language", words(CONSTANTS)),
        rule("keyword.operator.word", words(WORD_OPERATORS)),
        rule("keyword.declaration", words(declaration_words())),
        rule("keyword.control", words(CONTROL)),
        rule("storage.type", words(["real", "int", "bool"])),
        rule("support.class", r"\b[A-Z][[:alnum:]_]*(?=\()"),
        rule("entity.name.function", rf"\b{NAME}(?=\()"),
        rule("constant.numeric", r"\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?"),
        rule("keyword.operator", r":=|==|!=|<=|>=|=>|->|\.\.|[~=<>+\-*/@^|]"),
    ]
    return {"name": "dp", "scopeName": "source.dp", "fileTypes": ["dp"], "patterns": patterns}


def emit() -> str:
    return json.dumps(grammar(), indent=2) + "\n"


if __name__ == "__main__":
    for target in TARGETS:
        target.parent.mkdir(exist_ok=True)
        target.write_text(emit(), encoding="utf-8")
