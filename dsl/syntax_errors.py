"""What to say about a text that does not parse: rules on the token, what was allowed there, and the source line."""

from __future__ import annotations

import re
from collections.abc import Callable

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from .diagnostics import Diagnostic, Label
from .record import Record
from .source import Source, Span

WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a quoted path",
    "REDUCER": "a reduction",
    "COMPARE": "a comparison",
    "NEWLINE": "the end of the statement",
    "SEMICOLON": "`;`",
    "$END": "the end of the file",
    "ANY": "`_`",
}
SIGNS = {
    "DEFINE": ":=", "EQUALS": "=", "TILDE": "~", "ARROW": "->", "FATARROW": "=>", "DOTS": "..", "DOT": ".",
    "COLON": ":", "COMMA": ",", "BAR": "|", "PLUS": "+", "MINUS": "-", "STAR": "*", "SLASH": "/", "AT": "@",
    "CARET": "^", "LPAR": "(", "RPAR": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{", "RBRACE": "}",
}  # fmt: skip
EXPRESSION_START = {"NAME", "NUMBER", "LPAR", "MINUS", "IF"}
CLOSING = {")": "(", "]": "[", "}": "{"}
OPERATORS_OF_OTHERS = {
    "**": "powers are written `a ^ b`",
    "&&": "write `and`",
    "||": "write `or`",
    "!": "write `not`",
    "%": "write `mod(a, b)`",
    "<-": "write `=` for a value, `~` for a distribution",
    "//": "comments start with `#`",
    "/*": "comments start with `#`",
    "+=": "write `factor name : e` to add to the log density",
    "'": "labels and names need no quotes; a name of other characters goes between backquotes",
    "?": "write `if c then a else b`",
}


class Mishap(Record):
    """Where reading stopped, at what text, and which tokens would have been fine."""

    source: Source
    chunk: Span
    span: Span
    token: str
    text: str
    allowed: frozenset[str]

    @property
    def before(self) -> str:
        return self.source.text[self.chunk.start : self.span.start]

    def report(self, code: str, message: str, help: str = "", label: str = "") -> Diagnostic:
        return Diagnostic(code, message, self.source, self.span, label, help)


def describe_syntax_error(error: UnexpectedInput, source: Source, chunk: Span) -> Diagnostic:
    mishap = _mishap(error, source, chunk)
    return next(found for rule in RULES if (found := rule(mishap)))


def _mishap(error: UnexpectedInput, source: Source, chunk: Span) -> Mishap:
    if isinstance(error, UnexpectedCharacters):
        start = error.pos_in_stream or 0
        text = source.text[start : start + 1]
        return Mishap(source, chunk, Span(start, start + 1), "", text, frozenset(error.allowed or ()))
    token = error.token if isinstance(error, UnexpectedToken) else Token("$END", "")
    allowed = _allowed(error, chunk) if isinstance(error, UnexpectedToken) else frozenset()
    at_end = token.type in ("$END", "NEWLINE")
    start = _end_of_code(source.text, chunk, token.start_pos) if at_end else token.start_pos or 0
    return Mishap(
        source, chunk, Span(start, start + max(1, len(token) * (not at_end))), token.type, str(token), allowed
    )


def _allowed(error: UnexpectedToken, chunk: Span) -> frozenset[str]:
    """Lark's `accepts` is exact, but tries every token on a copy of the stack: too slow for a huge statement."""
    is_huge = chunk.end - chunk.start > 10_000
    return frozenset(error.expected if is_huge else error.accepts or error.expected)


def _end_of_code(text: str, chunk: Span, position: int | None) -> int:
    """The end of the last thing that is not blank or comment: where what is missing would have stood."""
    code = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text[chunk.start : position or chunk.end])
    return chunk.start + len(code.rstrip())


# ---- rules, the most telling first; the last always speaks


def _unclosed_string(m: Mishap) -> Diagnostic | None:
    if m.text != '"':
        return None
    end = m.source.text.find("\n", m.span.start)
    span = Span(m.span.start, len(m.source.text) if end < 0 else end)
    return Diagnostic("E0004", 'this `"` is never closed', m.source, span, help='put a `"` at the end of the path')


def _brackets(m: Mishap) -> Diagnostic | None:
    """Finds the bracket that is not closed, or not closed by its own kind."""
    if m.text not in ("]", ")", "}") and m.token not in ("$END", "NEWLINE"):
        return None
    opened: list[tuple[str, int]] = []
    for found in re.finditer(r"#[^\n]*|\"[^\"\n]*\"|`[^`\n]*`|[()\[\]{}]", m.before):
        if found[0] in "([{":
            opened.append((found[0], m.chunk.start + found.start()))
        elif found[0] in CLOSING and opened:
            opened.pop()
    if m.text in CLOSING and (not opened or opened[-1][0] != CLOSING[m.text]):
        also = tuple(Label(Span(place, place + 1), "opened here") for _, place in opened[-1:])
        message = f"`{m.text}` closes nothing" if not opened else f"`{opened[-1][0]}` is closed by `{m.text}`"
        return Diagnostic("E0004", message, m.source, m.span, also=also, help="check the brackets of this statement")
    if m.text in CLOSING or not opened:
        return None
    sign, place = opened[-1]
    return Diagnostic("E0004", f"this `{sign}` is never closed", m.source, Span(place, place + 1))


def _operator_of_another_language(m: Mishap) -> Diagnostic | None:
    for start in (m.span.start, m.span.start - 1):
        for sign, help in OPERATORS_OF_OTHERS.items():
            if m.source.text.startswith(sign, max(start, m.chunk.start)) and start + len(sign) > m.span.start:
                span = Span(start, start + len(sign))
                return Diagnostic("E0010", f"`{sign}` is not part of the language", m.source, span, help=help)
    return None


def _incomplete_number(m: Mishap) -> Diagnostic | None:
    if m.text != ".":
        return None
    return m.report("E0001", "a number needs digits on both sides of its point", help="write `1.0` or `0.5`")


def _unexpected_character(m: Mishap) -> Diagnostic | None:
    if m.token or not m.text:
        return None
    shown = f"`{m.text}`" if m.text.isprintable() else f"the character U+{ord(m.text):04X}"
    help = "a name of other characters goes between backquotes" if m.text == "`" else ""
    return m.report("E0003", f"{shown} does not belong here", help=help or _expectation(m))


def _reserved_word(m: Mishap) -> Diagnostic | None:
    if "NAME" not in m.allowed or not m.text.isidentifier() or m.token in ("NAME", ""):
        return None
    if m.token in ("IF", "LOOP") and "IF" not in m.allowed:
        return m.report("E0001", f"an `{m.text}` inside an operation needs parentheses", help=f"write `({m.text} ...)`")
    return m.report(
        "E0005",
        f"`{m.text}` is a word of the language and cannot be a name",
        help=f"choose another name, or write `` `{m.text}` ``",
    )


def _if_without_else(m: Mishap) -> Diagnostic | None:
    if "ELSE" not in m.allowed or m.token not in ("NEWLINE", "$END", "RBRACE", "WITH", "RPAR"):
        return None
    return m.report("E0008", "this `if` has no `else`", help="an `if` is a value: say what it is otherwise, `else 0`")


def _elif(m: Mishap) -> Diagnostic | None:
    if m.text in ("elif", "elseif") and "ELSE" in m.allowed:
        return m.report("E0008", f"`{m.text}` is written `else if`", help="write `else if ... then ... else ...`")
    return None


def _declaration_without_type(m: Mishap) -> Diagnostic | None:
    found = re.match(r"(data|observed|param|latent)\s+\S+", m.before)
    if not found or "COLON" not in m.allowed or m.token not in ("NEWLINE", "$END", "EQUALS", "TILDE"):
        return None
    return m.report(
        "E0009",
        f"this `{found[1]}` needs a type",
        help=f"write `{found[0]} : real`, or int, bool, or the name of a dim",
    )


def _definition_by_comparison(m: Mishap) -> Diagnostic | None:
    if m.text == "==" and {"EQUALS", "TILDE"} & m.allowed:
        return m.report("E0001", "`==` compares", help="write `=` for a value, `~` for a distribution")
    return None


def _range_of_numbers(m: Mishap) -> Diagnostic | None:
    if re.search(r"\bin\s*$", m.before) and m.token in ("NUMBER", "LPAR", "LBRACKET"):
        help = "declare `dim D = 10` and write `in D`, or a part of it, `in D[1..]`"
        return m.report("E0001", "a binder runs over a dim", help=help)
    return None


def _anything(m: Mishap) -> Diagnostic:
    if m.token in ("NEWLINE", "$END"):
        return m.report("E0001", "the statement ends too early", help=_expectation(m))
    return m.report("E0001", f"`{m.text}` does not belong here", help=_expectation(m))


RULES: tuple[Callable[[Mishap], Diagnostic | None], ...] = (
    _unclosed_string,
    _elif,
    _if_without_else,
    _brackets,
    _operator_of_another_language,
    _incomplete_number,
    _definition_by_comparison,
    _unexpected_character,
    _range_of_numbers,
    _reserved_word,
    _declaration_without_type,
    _anything,
)


def _expectation(m: Mishap) -> str:
    allowed = set(m.allowed) - {"SEMICOLON"}
    if allowed >= EXPRESSION_START:
        return "expected an expression"
    words = sorted({WORDS.get(name) or f"`{SIGNS.get(name) or name.lower()}`" for name in allowed})
    if not words or len(words) > 6:
        return ""
    return "expected " + (" or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0])
