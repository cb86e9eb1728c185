"""Pygments colours for .dp files: `pygmentize -l dp model.dp`, and code blocks in documentation."""

from collections.abc import Iterable
from typing import Any, ClassVar

from pygments import token as k
from pygments.lexer import RegexLexer, bygroups, words

from .keywords import CONSTANTS, WORD_OPERATORS, declaration_words, keywords, reducers

_NAME = r"[^\W\d]\w*"
_LABEL = rf"(?:{_NAME}|`[^`\n]+`)"
_DECLARED = (k.Keyword.Declaration, k.Whitespace)
_LABELLED = (k.Whitespace, k.Operator, k.Whitespace, k.Name.Constant)


def _words(kind: Iterable[str], suffix: str = r"\b") -> Any:
    return words(sorted(kind), prefix=r"\b", suffix=suffix)


class DpLexer(RegexLexer):  # type: ignore[misc]
    name = "dp"
    aliases: ClassVar = ["dp", "dpc"]
    filenames: ClassVar = ["*.dp"]
    mimetypes: ClassVar = ["text/x-dp"]

    tokens: ClassVar = {
        "root": [
            (r"\s+", k.Whitespace),
            (r"#\s*dpc:.*", k.Comment.Special),
            (r"#.*", k.Comment.Single),
            (r'"[^"\n]*"', k.String),
            (r"`[^`\n]+`", k.Name),
            (rf"(\|)(\s*)({_LABEL})", bygroups(k.Operator, k.Whitespace, k.Name.Constant)),
            (
                rf"\b(dim)([ \t]+)({_LABEL})([ \t]*)(=)([ \t]*)({_LABEL})",
                bygroups(*_DECLARED, k.Name.Class, *_LABELLED),
            ),
            (rf"\b(model|dim)(\s+)({_NAME})", bygroups(*_DECLARED, k.Name.Class)),
            (rf"\b(fn)(\s+)({_NAME})", bygroups(*_DECLARED, k.Name.Function)),
            (rf"\b(with)(\s+)({_NAME})", bygroups(k.Keyword, k.Whitespace, k.Name.Decorator)),
            (_words(reducers(), rf"(?=\s*\[\s*{_LABEL}\s+in\b)"), k.Keyword.Reserved),
            (r"max(?=\()", k.Name.Function),
            (rf"{_NAME}(?==(?![=>]))", k.Name.Attribute),
            (_words(CONSTANTS), k.Keyword.Constant),
            (_words(WORD_OPERATORS), k.Operator.Word),
            (_words(declaration_words()), k.Keyword.Declaration),
            (_words(keywords()), k.Keyword),
            (_words({"real", "int", "bool"}), k.Keyword.Type),
            (r"[A-Z]\w*(?=\()", k.Name.Class),
            (rf"{_NAME}(?=\()", k.Name.Function),
            (_NAME, k.Name),
            (r"\d[\d_]*(\.\d+)?[eE][+-]?\d+|\d[\d_]*\.\d+", k.Number.Float),
            (r"\d[\d_]*", k.Number.Integer),
            (r":=|==|!=|<=|>=|=>|->|\.\.|[~=<>+\-*/@^|]", k.Operator),
            (r"[()\[\]{},;:.]", k.Punctuation),
        ]
    }
