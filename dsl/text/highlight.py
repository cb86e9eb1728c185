"""Pygments colours for .dp files: `pygmentize -l dp model.dp`, and code blocks in documentation."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from .keywords import CONSTANTS, DECLARATIONS, WORD_OPERATORS, keywords, reducers

_NAME = r"[^\W\d]\w*"
_LABEL = rf"(?:{_NAME}|`[^`\n]+`)"
_dim_with_labels = bygroups(
    Keyword.Declaration, Whitespace, Name.Class, Whitespace, Operator, Whitespace, Name.Constant
)


class DpLexer(RegexLexer):  # type: ignore[misc]
    name = "dp"
    aliases: ClassVar = ["dp", "dpc"]
    filenames: ClassVar = ["*.dp"]
    mimetypes: ClassVar = ["text/x-dp"]

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"#\s*dpc:.*", Comment.Special),
            (r"#.*", Comment.Single),
            (r'"[^"\n]*"', String),
            (r"`[^`\n]+`", Name),
            (rf"(\|)(\s*)({_LABEL})", bygroups(Operator, Whitespace, Name.Constant)),
            (rf"\b(dim)([ \t]+)({_LABEL})([ \t]*)(=)([ \t]*)({_LABEL})", _dim_with_labels),
            (
                rf"\b(model|dim)(\s+)({_NAME})",
                bygroups(Keyword.Declaration, Whitespace, Name.Class),
            ),
            (rf"\b(fn)(\s+)({_NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (rf"\b(with)(\s+)({_NAME})", bygroups(Keyword, Whitespace, Name.Decorator)),
            (
                words(sorted(reducers()), prefix=r"\b", suffix=rf"(?=\s*\[\s*{_LABEL}\s+in\b)"),
                Keyword.Reserved,
            ),
            (r"max(?=\()", Name.Function),
            (rf"{_NAME}(?==(?![=>]))", Name.Attribute),
            (words(sorted(CONSTANTS), prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words(sorted(WORD_OPERATORS), prefix=r"\b", suffix=r"\b"), Operator.Word),
            (words(sorted(DECLARATIONS), prefix=r"\b", suffix=r"\b"), Keyword.Declaration),
            (words(sorted(keywords()), prefix=r"\b", suffix=r"\b"), Keyword),
            (words(("real", "int", "bool"), prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (r"[A-Z]\w*(?=\()", Name.Class),
            (rf"{_NAME}(?=\()", Name.Function),
            (_NAME, Name),
            (r"\d[\d_]*(\.\d+)?[eE][+-]?\d+|\d[\d_]*\.\d+", Number.Float),
            (r"\d[\d_]*", Number.Integer),
            (r":=|==|!=|<=|>=|=>|->|\.\.|[~=<>+\-*/@^|]", Operator),
            (r"[()\[\]{},;:.]", Punctuation),
        ]
    }
