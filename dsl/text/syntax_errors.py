"""What to say about a text that does not parse: rules on the token, what was allowed, the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from ..diagnostics import Diagnostic, Label, did_you_mean
from ..record import Record
from ..source import Source, Span
from .keywords import keywords, reducers, roles, statement_words
from .lalr import Unexpected
from .tables import tables

WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a quoted path",
    "REDUCER": "a reduction",
    "QUANTIFIER": "a reduction",
    "COMPARE": "a comparison",
    "NEWLINE": "the end of the statement",
    "$END": "the end of the file",
}
EXPRESSION_START = {"NAME", "NUMBER", "LPAR", "MINUS", "IF"}
CLOSING = {")": "(", "]": "[", "}": "{"}
OPERATORS = {"PLUS", "MINUS", "STAR", "SLASH", "AT", "CARET", "COMPARE", "AND", "OR"}
AFTER_OPERAND = OPERATORS | {"LBRACKET", "LPAR", "DOT", "EQUALS", "WITH"}
OPERAND_START = {"NAME", "NUMBER", "LPAR", "STRING", "REDUCER", "TRUE", "FALSE"}
ENDS = ("$END", "NEWLINE")
OPERATORS_OF_OTHERS = {
    "**": "powers are written `a ^ b`",
    "&&": "write `and`",
    "||": "write `or`",
    "!": "write `not`",
    "%*%": "the matrix product is written `A @ B`",
    "%": "write `mod(a, b)`",
    ".*": "write `a * b`: products are elementwise, the matrix product is `A @ B`",
    "./": "write `a / b`: quotients are elementwise",
    "<-": "write `=` for a value, `~` for a distribution",
    "//": "comments start with `#`; a whole quotient is `floor(a / b)`",
    "/*": "comments start with `#`",
    "+=": "write `factor name : e` to add to the log density",
    "'": "labels and names need no quotes: a draw is `x ~ Normal(0, 1)`; a name of other "
    "characters goes between backquotes",
    "?": "write `if c then a else b`",
    "\\": "a statement runs over several lines inside parentheses",
    "\N{MINUS SIGN}": "write `-`",
    "\N{EN DASH}": "write `-`",
    "\N{MULTIPLICATION SIGN}": "write `*`",
    "\N{MIDDLE DOT}": "write `*`",
    "\N{DIVISION SIGN}": "write `/`",
    "\N{LESS-THAN OR EQUAL TO}": "write `<=`",
    "\N{GREATER-THAN OR EQUAL TO}": "write `>=`",
    "\N{NOT EQUAL TO}": "write `!=`",
    "\N{RIGHTWARDS ARROW}": "write `->`",
    "\N{RIGHTWARDS DOUBLE ARROW}": "write `=>`",
    "\N{TILDE OPERATOR}": "write `~`",
    "\N{ELEMENT OF}": "write `in`",
    "\N{N-ARY SUMMATION}": "write `sum[i in D] x[i]`",
    "\N{HORIZONTAL ELLIPSIS}": "write `..`",
    "\N{LEFT DOUBLE QUOTATION MARK}": 'write `"`',
    "\N{RIGHT DOUBLE QUOTATION MARK}": 'write `"`',
}

_BIF = "this is a network in another format", "convert it: `dpc convert file.bif`"
STATEMENTS_OF_OTHERS = {
    "network": _BIF,
    "variable": _BIF,
    "probability": _BIF,
    "return": ("a function is its value", "write that alone: `fn f(x: real) -> real = x^2`"),
    "print": ("nothing is printed here", "`:=` keeps a value in every output: `y := x^2`"),
    "observe": (
        "what is seen is declared, and its values come with the data",
        "write `observed x : real`, or give the value in a question: `--given x=3`",
    ),
    "P": (
        "a probability stands in a distribution or in a table",
        "as in `wet : YesNo ~ table rain => yes, no { yes => 0.9, 0.1; no => 0.2, 0.8 }`",
    ),
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

    @property
    def head(self) -> str:
        """What stands before the mishap in its own statement."""
        return re.split(r"[\n;{]", self.before)[-1].lstrip()

    @property
    def rest(self) -> str:
        return self.source.text[self.span.start : self.chunk.end]

    def at_head(self, start: int, end: int) -> Mishap:
        """The same mishap, seen in a part of its statement before it."""
        first = self.span.start - len(self.head)
        return self.replace(span=Span(first + start, first + end))

    def report(
        self, code: str, message: str, help: str = "", also: tuple[Label, ...] = ()
    ) -> Diagnostic:
        return Diagnostic(code, message, self.source, self.span, help=help, also=also)


def describe_syntax_error(error: Unexpected, source: Source, chunk: Span) -> Diagnostic:
    """What the first rule says that has something to say, the most telling first."""
    token, start = error.token, error.token.start
    at_end = token.type in ENDS
    if at_end:  # what is missing belongs behind the last thing that is not blank or comment
        before = source.text[chunk.start : start]
        code = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), before)
        start = chunk.start + len(code.rstrip())
    span = Span(start, start + max(1, len(token.text) * (not at_end)))
    m = Mishap(source, chunk, span, token.type, token.text, error.allowed)
    return next(chain(_brackets_and_signs(m), _statement_forms(m), _habits(m), _operands(m)))


# ---- rules in their order; the last always speaks


def _brackets_and_signs(m: Mishap) -> Iterator[Diagnostic]:
    if m.text == '"':
        line = m.source.text[m.span.start :].partition("\n")[0]
        whole = m.replace(span=Span(m.span.start, m.span.start + len(line)))
        yield whole.report("E0004", 'this `"` is never closed', 'put a `"` at the end of the path')
    if m.text in ("elif", "elseif") and "ELSE" in m.allowed:
        help = "write `else if ... then ... else ...`"
        yield m.report("E0008", f"`{m.text}` is written `else if`", help)
    if m.token in (*ENDS, "RBRACE", "WITH", "RPAR") and "ELSE" in m.allowed:
        help = "an `if` is a value: say what it is otherwise, `else 0`"
        yield m.report("E0008", "this `if` has no `else`", help)
    if m.text in CLOSING or m.token in ENDS:
        yield from _brackets(m)
    for start in (m.span.start, m.span.start - 1):
        for sign, help in OPERATORS_OF_OTHERS.items():
            is_here = m.source.text.startswith(sign, max(start, m.chunk.start))
            if is_here and start + len(sign) > m.span.start:
                whole = m.replace(span=Span(start, start + len(sign)))
                yield whole.report("E0010", f"`{sign}` is not part of the language", help)


def _brackets(m: Mishap) -> Iterator[Diagnostic]:
    """Finds the bracket that is not closed, or not closed by its own kind."""
    opened: list[tuple[str, Span]] = []
    for found in re.finditer(r"#[^\n]*|\"[^\"\n]*\"|`[^`\n]*`|[()\[\]{}]", m.before):
        if found[0] in "([{":
            start = m.chunk.start + found.start()
            opened.append((found[0], Span(start, start + 1)))
        elif found[0] in CLOSING and opened:
            opened.pop()
    sign, span = opened[-1] if opened else ("", m.span)
    if m.text in CLOSING and sign != CLOSING[m.text]:
        also = (Label(span, "opened here"),) if opened else ()
        message = f"`{sign}` is closed by `{m.text}`" if opened else f"`{m.text}` closes nothing"
        yield m.report("E0004", message, "check the brackets of this statement", also)
    if m.text not in CLOSING and opened:
        yield m.replace(span=span).report("E0004", f"this `{sign}` is never closed")


def _statement_forms(m: Mishap) -> Iterator[Diagnostic]:
    around = m.source.text[max(m.span.start - 1, 0) : m.span.end + 1]
    if m.text == "." and re.search(r"\d", around):
        message = "a number needs digits on both sides of its point"
        yield m.report("E0001", message, "write `1.0` or `0.5`")
    if m.token == "EQUALS" and m.before.endswith("="):
        # Where no comparison can stand, `==` is read as two `=`.
        both = m.replace(span=Span(m.span.start - 1, m.span.end))
        yield both.report("E0001", "`==` compares", "write `=` for a value, `~` for a distribution")
    if not m.token and m.text:
        shown = f"`{m.text}`" if m.text.isprintable() else f"the character U+{ord(m.text):04X}"
        help = "names are letters, digits and `_`; others go between backquotes: `net income`"
        if m.text.isspace():
            help = "it looks like a blank: write a common one"
        yield m.report("E0003", f"{shown} does not belong here", help)
    if m.token == "IF" and "PLUS" in m.allowed:
        yield m.report("E0008", "the condition comes first", "write `if c then a else b`")
    if "THEN" in m.allowed and m.token != "EQUALS" and re.search(r"\bif\b", m.before):
        yield m.report("E0008", "this `if` has no `then`", "write `if c then a else b`")
    if m.token in ("COLON", "ARROW", "EQUALS", "BAR") and "FATARROW" in m.allowed:
        message = "a row of a table is written with `=>`"
        yield m.report("E0001", message, "as in `yes, no => 0.9, 0.1`")


def _habits(m: Mishap) -> Iterator[Diagnostic]:
    """`minimise loss`, a word at the start that is nearly one of the language; other languages."""
    word = m.head.strip()
    if word in keywords() and m.token in ("TILDE", "EQUALS", "DEFINE"):
        yield _reserved(m.at_head(0, len(word)), word)
    if word in STATEMENTS_OF_OTHERS and "TILDE" in m.allowed:
        at_word = m.at_head(0, len(word))
        yield at_word.report("E0001", *STATEMENTS_OF_OTHERS[word])
    is_word = word.isidentifier() and word not in keywords() and "TILDE" in m.allowed
    if is_word and m.token in ("NAME", "NUMBER", "STRING", "LPAR", "COLON"):
        help = did_you_mean(word, sorted(statement_words()))
        if help:
            at_word = m.at_head(0, len(word))
            yield at_word.report("E0001", f"no statement starts with `{word}`", help)
    for before, at, message, help in HABITS:
        found = re.search(before + "$", m.head.rstrip())
        here = found and re.match(at, m.rest)
        if found and here:
            parts = found.groupdict(default="") | here.groupdict(default="")
            place = m.at_head(*found.span("mark")) if "mark" in parts else m
            yield place.report("E0001", message.format(**parts), help.format(**parts))


def _reserved(m: Mishap, word: str) -> Diagnostic:
    message = f"`{word}` is a word of the language and cannot be a name"
    return m.report("E0005", message, "choose another name, or put it between backquotes")


def _operands(m: Mishap) -> Iterator[Diagnostic]:
    if m.token == "EQUALS" and "COMPARE" in m.allowed:
        yield m.report("E0001", "`=` defines, it does not compare", "write `==` to compare")
    if "NAME" in m.allowed and m.text.isidentifier() and m.token not in ("NAME", ""):
        if m.token in ("IF", "LOOP") and "IF" not in m.allowed:
            message = f"an `{m.text}` inside an operation needs parentheses"
            yield m.report("E0001", message, f"write `({m.text} ...)`")
        yield _reserved(m, m.text)
    found = re.match(rf"({_ROLES})\s+\S+", m.before)
    if found and "COLON" in m.allowed and m.token in (*ENDS, "EQUALS", "TILDE", "NAME"):
        help = f"write `{found[0]} : real`, or int, bool, or the name of a dim"
        if m.token == "TILDE":
            alone = f"write `{found[0]} : real`, and the `~` in a statement of its own"
            drawn = f"what is drawn needs no `{found[1]}`: remove it"
            help = alone if found[1] == "observed" else drawn
        yield m.report("E0009", f"this `{found[1]}` needs a type", help)
    if "PLUS" in m.allowed and m.token in OPERAND_START:  # `2x`, `Normal(0 1)`
        number = re.search(r"[\d.]+$", m.before)
        if number and m.token in ("NAME", "LPAR"):
            help = f"write `{number[0]} * {m.text}`"
            yield m.report("E0001", "a product is written with `*`", help)
        help = "write an operator, or `,` between items"
        yield m.report("E0001", f"something is missing before `{m.text}`", help)
    if m.token not in ENDS:
        yield m.report("E0001", f"`{m.text}` does not belong here", _expectation(m))
    continues = re.search(r"[-+*/^@,<>]$|\b(and|or|then|else)$", m.before.rstrip())
    inside = "a statement runs over several lines inside parentheses"
    help = inside if continues else _expectation(m)
    yield m.report("E0001", "the statement ends too early", help)


def _expectation(m: Mishap) -> str:
    allowed = set(m.allowed) - {"SEMICOLON"}
    if allowed >= EXPRESSION_START:
        return "expected an expression"
    operator = ["an operator"] * (allowed >= OPERATORS)
    allowed -= AFTER_OPERAND if operator else set()
    # A terminal as it is written, from its pattern: `\\+` or `model\\b`.
    patterns = dict(tables().terminals)
    written = {
        name: patterns.get(name, "").removesuffix("\\b").replace("\\", "") for name in allowed
    }
    words = operator + sorted({WORDS.get(name) or f"`{sign}`" for name, sign in written.items()})
    if not words or len(words) > 6:
        return ""
    others = ", ".join(words[:-1])
    return f"expected {others} or {words[-1]}" if others else f"expected {words[-1]}"


_ROLES = "|".join(sorted(roles()))
_NAME = r"(?P<name>[^\W\d]\w*)"
_ROLE = rf"^(?P<role>{_ROLES})\s+"
_TYPES = "real|int|bool|float|vector|row_vector|matrix|array|simplex|ordered|cov_matrix|corr_matrix"
_TYPE = rf"(?P<mark>{_TYPES})\b"
_DIM = rf"^dim\s+{_NAME}"
_BLOCKS = r"^(data|parameters|model|transformed|generated|functions|quantities)"
_FN_FORM = "as in `fn f(x: real) -> real = ...`"
_BINDER = "declare `dim D = 10` and write `in D`, or a part of it, `in D[1..]`"
_COMPREHENSION = "write `[i in D] x[i]` for an array, `sum[i in D] x[i]` for a sum"

HABITS = (
    # what stands before in the statement, what stands here, the message, the help
    (r"^with", r"\w", "a model has no `with` block",
     "write its statements alone: `x ~ Normal(0, 1)`, in plates `x[i in D] ~ Normal(0, 1)`"),
    (r"\b\w+_lp[dm]f\(.*", r"\|", "a log density is asked of a distribution",
     "write `log_density(Normal(m, s), x)`"),
    (rf"^{_NAME}(\[.*\])?", r"\|\s*(?P<parent>\w+)",
     "what a draw depends on stands in its distribution",
     "write `{name} ~ table {parent} {{ ... }}`, or `{name} ~ Bernoulli(...)` of it"),
    (_ROLE + rf"{_NAME}", r"[<>]", "bounds stand in the type",
     "write `{role} {name} : real(lower=0)`"),
    (r"=\s*(?P<mark>return|lambda)", r"\w|\(|-", "a function is its value, without `{mark}`",
     "write `fn f(x: real) -> real = x^2`"),
    (rf"{_DIM}\s*=\s*\d+", r":", "the size of a dim is one number",
     "write `dim {name} = 5`: its members are 0 to 4"),
    (r"^for", r"\(", "the binder of a `for` has no parentheses", "write `for i in D {{ ... }}`"),
    (r"^(?P<word>for|soft|guide)\b[^=~]*", r":",
     "a block stands between braces", "write `{word} ... {{ ... }}`"),
    (r"\bin", r"[\d(\[]", "a binder runs over a dim", _BINDER),
    (r"\bin\s+\w+", r"\(", "a binder runs over a dim", _BINDER),
    (r"", r"for\b", "the binder comes first", _COMPREHENSION),
    (r"\(\s*\w+", r"in\b", "a binder stands in brackets", _COMPREHENSION),
    (rf"\b(?P<mark>{'|'.join(sorted(reducers()))})\s*\[\s*{_NAME}\s*\]?", r"\]|\w|\(",
     "a reduction binds an index", "write `{mark}[i in {name}] ...`"),
    (_ROLE + rf"{_NAME}\s*\[[^\]]*", r"(?P<size>\d+)",
     "an axis is a dim", "declare `dim D = {size}` and write `{name}[D]`"),
    (_ROLE + rf"{_NAME}\s*\[\s*\w+", r"in\s+(?P<dim>\w+)",
     "a declaration names its dims, without binders", "write `{role} {name}[{dim}] : ...`"),
    (_ROLE + rf"{_NAME}\s*\[[^\]]*", r":", "the bracket before this is not closed", "write `]`"),
    (_ROLE + _TYPE + r".*", r"",
     "the type stands after the name", "write `{role} x : real`, `{role} x[D] : int`"),
    (_ROLE + r".*:\s*(?P<type>real|int)", r"<",
     "bounds stand in parentheses", "write `{type}(lower=0)`"),
    (r"^(?P<mark>data|param|latent)\s.*:.*", r"~",
     "what is drawn needs no `{mark}`", "write `x ~ ...` alone"),
    (_ROLE + _NAME + r".*:.*", r"~", "a declaration and a distribution are two statements",
     "write the `~` of `{name}` in a statement of its own"),
    (_BLOCKS, r"\{|data\b", "a model has no such blocks",
     "write its statements one after another: `data x : real`, `mu ~ Normal(0, 1)`"),
    (r"^" + _TYPE + r".*", r"", "a declaration starts with its role",
     "write `data x : real` or `param x : real`; "
     "what is drawn needs no declaration: `x ~ Normal(0, 1)`"),
    (r"^(?P<mark>let|var|val|const)", _NAME,
     "a definition needs no `{mark}`", "write `{name} = ...`"),
    (r"^(?P<mark>def|function)", _NAME,
     "a function is written with `fn`", "write `fn {name}(x: real) -> real = ...`"),
    (rf"^{_NAME}(\[.*\])?", r"(?P<distribution>[A-Z]\w*)\s*\(",
     "a `~` is missing", "write `{name} ~ {distribution}(...)`"),
    (r"^(?P<mark>if)\b.*", r"",
     "`if` is a value, not a statement", "write `x = if c then a else b`"),
    (r"^(?P<mark>while|loop)\b.*", r"", "`loop` is a value, not a statement",
     "write `x = loop s = 1.0 while s < 9 max 100 do 2 * s`"),
    (r"[-+*/^@<>=]\s*(?P<mark>if|loop)\b", r"",
     "an `{mark}` inside an operation needs parentheses", "write `({mark} ...)`"),
    (r"^(import|from)", r"(?P<path>numpy|scipy|jax|torch|pymc|numpyro|pandas|math)\b",
     "a model imports models, not Python",
     "functions are built in, `dpc explain functions`; others are bound by `extern fn`"),
    (r"^import", r"(?P<path>\w+)",
     "the path of an import is quoted", "write `import \"{path}.dp\" as {path}`"),
    (r"^import\s*(?P<path>\"[^\"]*\")", r"",
     "an import needs a name", "write `import {path} as lib`"),
    (_DIM + r"\s*=\s*\d+", r"\|",
     "a label is a name", "write `dim {name} = 2` for the numbers 0 and 1"),
    (_DIM + r"\s*=[^=]*", r"\"", "labels need no quotes", "write `dim {name} = low | high`"),
    (_DIM + r"\s*=[^=]*", r"[\[{,]",
     "the labels of a dim are separated by `|`", "write `dim {name} = low | high`"),
    (_DIM + r"\s*=[^=]*", r"[-+*/^(.]", "the size of a dim is a number",
     "leave it out when it comes with the data: `dim {name}`"),
    (_DIM, r",", "one dim to a statement", "write `dim {name}`, and the next dim on the next line"),
    (_DIM, r"[\[(:]", "the size of a dim is written with `=`", "write `dim {name} = 3`"),
    (r"^(extern\s+)?fn\s.*\(.*\b(real|int|bool)", r"\w",
     "the type stands after the name", _FN_FORM),
    (r"^(extern\s+)?fn\s.*\([^)]*", r"[,)=]", "a parameter needs a type", _FN_FORM),
    (r"^fn\s.*\)", r"[={:]", "a function names the type of its result", _FN_FORM),
    (r"^fn\s.*->[^=]*", r"[{:]",
     "the body of a function stands after `=`", "as in `fn f(x: real) -> real = x^2`"),
    (r"^factor", r":", "a factor needs a name", "write `factor name : ...`"),
    (r"^factor\s.*", r"[=~]|\s*(#|$)", "a factor is written with `:`", "write `factor name : ...`"),
    (rf"^{_NAME}(\[.*\])?\s*:\s*\w.*", r"\s*(#|;|$)", "a declaration starts with its role",
     "write `data {name} : ...` or `param {name} : ...`; what is drawn needs no declaration"),
    (r"(?P<mark>,)", r"[)\]]", "nothing follows this `,`", "remove it"),
    (rf"^{_NAME}", r",",
     "one variable to a statement", "write `{name} ~ ...` on a line of its own"),
    (rf"^{_NAME}", r"[(+*/^@<>-]",
     "a statement defines something", "give the value a name: `y = {name} ...`"),
    (r"\[[^\]]*", r":|\.\.",
     "a part of an array is taken by a binder", "write `[i in D[1..3]] x[i]`"),
)  # fmt: skip
