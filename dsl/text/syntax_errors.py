"""What to say about a text that does not parse: rules on the token, what was allowed, the line."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..diagnostics import Diagnostic, Label, did_you_mean
from ..record import Record
from ..source import Source, Span
from .keywords import keywords
from .tokens import Unexpected

WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a quoted path",
    "REDUCER": "a reduction",
    "QUANTIFIER": "a reduction",
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
STATEMENT_WORDS = {"model", "import", "dim", "data", "observed", "param", "latent", "factor", "guide", "extern",
                   "minimize", "maximize"}  # fmt: skip
CLOSING = {")": "(", "]": "[", "}": "{"}
OPERATORS = {"PLUS", "MINUS", "STAR", "SLASH", "AT", "CARET", "COMPARE", "AND", "OR"}
AFTER_OPERAND = OPERATORS | {"LBRACKET", "LPAR", "DOT", "EQUALS", "WITH"}
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
    "//": "comments start with `#`",
    "/*": "comments start with `#`",
    "+=": "write `factor name : e` to add to the log density",
    "'": "labels and names need no quotes; a name of other characters goes between backquotes",
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

    def report(self, code: str, message: str, help: str = "", label: str = "") -> Diagnostic:
        return Diagnostic(code, message, self.source, self.span, label, help)


def describe_syntax_error(error: Unexpected, source: Source, chunk: Span) -> Diagnostic:
    mishap = _mishap(error, source, chunk)
    return next(found for rule in RULES if (found := rule(mishap)))


def _mishap(error: Unexpected, source: Source, chunk: Span) -> Mishap:
    token = error.token
    at_end = token.type in ("$END", "NEWLINE")
    start = _end_of_code(source.text, chunk, token.start) if at_end else token.start
    span = Span(start, start + max(1, len(token.text) * (not at_end)))
    return Mishap(source, chunk, span, token.type, token.text, error.allowed)


def _end_of_code(text: str, chunk: Span, position: int) -> int:
    """The end of the last thing that is not blank or comment: where what is missing belongs."""
    code = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text[chunk.start : position])
    return chunk.start + len(code.rstrip())


# ---- rules, the most telling first; the last always speaks


def _unclosed_string(m: Mishap) -> Diagnostic | None:
    if m.text != '"':
        return None
    end = m.source.text.find("\n", m.span.start)
    span = Span(m.span.start, len(m.source.text) if end < 0 else end)
    help = 'put a `"` at the end of the path'
    return Diagnostic("E0004", 'this `"` is never closed', m.source, span, help=help)


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
        message = (
            f"`{m.text}` closes nothing"
            if not opened
            else f"`{opened[-1][0]}` is closed by `{m.text}`"
        )
        help = "check the brackets of this statement"
        return Diagnostic("E0004", message, m.source, m.span, also=also, help=help)
    if m.text in CLOSING or not opened:
        return None
    sign, place = opened[-1]
    return Diagnostic("E0004", f"this `{sign}` is never closed", m.source, Span(place, place + 1))


def _operator_of_another_language(m: Mishap) -> Diagnostic | None:
    for start in (m.span.start, m.span.start - 1):
        for sign, help in OPERATORS_OF_OTHERS.items():
            if (
                m.source.text.startswith(sign, max(start, m.chunk.start))
                and start + len(sign) > m.span.start
            ):
                span = Span(start, start + len(sign))
                message = f"`{sign}` is not part of the language"
                return Diagnostic("E0010", message, m.source, span, help=help)
    return None


def _incomplete_number(m: Mishap) -> Diagnostic | None:
    around = m.source.text[max(m.span.start - 1, 0) : m.span.end + 1]
    if m.text != "." or not re.search(r"\d", around):
        return None
    help = "write `1.0` or `0.5`"
    return m.report("E0001", "a number needs digits on both sides of its point", help)


def _unexpected_character(m: Mishap) -> Diagnostic | None:
    if m.token or not m.text:
        return None
    shown = f"`{m.text}`" if m.text.isprintable() else f"the character U+{ord(m.text):04X}"
    help = "it looks like a blank: write a common one" if m.text.isspace() else ""
    help = help or "names are letters, digits and `_`; others go between backquotes: `net income`"
    return m.report("E0003", f"{shown} does not belong here", help=help)


def _reserved_word(m: Mishap) -> Diagnostic | None:
    if "NAME" not in m.allowed or not m.text.isidentifier() or m.token in ("NAME", ""):
        return None
    if m.token in ("IF", "LOOP") and "IF" not in m.allowed:
        help = f"write `({m.text} ...)`"
        return m.report("E0001", f"an `{m.text}` inside an operation needs parentheses", help)
    return _reserved(m)


def _reserved(m: Mishap) -> Diagnostic:
    message = f"`{m.text}` is a word of the language and cannot be a name"
    return m.report("E0005", message, help="choose another name, or put it between backquotes")


def _if_without_else(m: Mishap) -> Diagnostic | None:
    if "ELSE" not in m.allowed or m.token not in ("NEWLINE", "$END", "RBRACE", "WITH", "RPAR"):
        return None
    help = "an `if` is a value: say what it is otherwise, `else 0`"
    return m.report("E0008", "this `if` has no `else`", help)


def _if_without_then(m: Mishap) -> Diagnostic | None:
    if "THEN" not in m.allowed or m.token == "EQUALS" or not re.search(r"\bif\b", m.before):
        return None
    return m.report("E0008", "this `if` has no `then`", help="write `if c then a else b`")


def _if_behind(m: Mishap) -> Diagnostic | None:
    if m.token != "IF" or "PLUS" not in m.allowed:
        return None
    return m.report("E0008", "the condition comes first", help="write `if c then a else b`")


def _elif(m: Mishap) -> Diagnostic | None:
    if m.text in ("elif", "elseif") and "ELSE" in m.allowed:
        help = "write `else if ... then ... else ...`"
        return m.report("E0008", f"`{m.text}` is written `else if`", help)
    return None


def _declaration_without_type(m: Mishap) -> Diagnostic | None:
    found = re.match(r"(data|observed|param|latent)\s+\S+", m.before)
    if (
        not found
        or "COLON" not in m.allowed
        or m.token not in ("NEWLINE", "$END", "EQUALS", "TILDE", "NAME")
    ):
        return None
    help = f"write `{found[0]} : real`, or int, bool, or the name of a dim"
    if m.token == "TILDE":
        help = f"write `{found[0]} : real`, and the `~` in a statement of its own"
        help = help if found[1] == "observed" else f"what is drawn needs no `{found[1]}`: remove it"
    return m.report("E0009", f"this `{found[1]}` needs a type", help=help)


def _definition_by_comparison(m: Mishap) -> Diagnostic | None:
    """Where no comparison can stand, `==` is read as two `=`."""
    if m.token != "EQUALS" or not m.before.endswith("="):
        return None
    both = m.replace(span=Span(m.span.start - 1, m.span.end))
    return both.report("E0001", "`==` compares", "write `=` for a value, `~` for a distribution")


def _comparison_by_definition(m: Mishap) -> Diagnostic | None:
    if m.token == "EQUALS" and "COMPARE" in m.allowed:
        return m.report("E0001", "`=` defines, it does not compare", help="write `==` to compare")
    return None


def _habit(m: Mishap) -> Diagnostic | None:
    for before, at, message, help in HABITS:
        found = re.search(before + "$", m.head.rstrip())
        here = found and re.match(at, m.rest)
        if found and here:
            parts = found.groupdict(default="") | here.groupdict(default="")
            span = _marked(m, found) if "mark" in parts else m.span
            help = help.format(**parts)
            return m.replace(span=span).report("E0001", message.format(**parts), help)
    return None


def _marked(m: Mishap, found: re.Match[str]) -> Span:
    start = m.span.start - len(m.head)
    return Span(start + found.start("mark"), start + found.end("mark"))


def _keyword_as_name(m: Mishap) -> Diagnostic | None:
    word = m.head.strip()
    if word not in keywords() or m.token not in ("TILDE", "EQUALS", "DEFINE"):
        return None
    start = m.span.start - len(m.head)
    return _reserved(m.replace(span=Span(start, start + len(word)), text=word))


def _misspelt_word(m: Mishap) -> Diagnostic | None:
    """`minimise loss`: a word at the start of a statement that is nearly one of the language."""
    word = m.head.strip()
    help = (
        did_you_mean(word, sorted(STATEMENT_WORDS))
        if word.isidentifier() and "TILDE" in m.allowed
        else ""
    )
    if (
        not help
        or word in keywords()
        or m.token not in ("NAME", "NUMBER", "STRING", "LPAR", "COLON")
    ):
        return None
    start = m.span.start - len(m.head)
    wrong = m.replace(span=Span(start, start + len(word)))
    return wrong.report("E0001", f"no statement starts with `{word}`", help=help)


def _row_of_a_table(m: Mishap) -> Diagnostic | None:
    if "FATARROW" not in m.allowed or m.token not in ("COLON", "ARROW", "EQUALS", "BAR"):
        return None
    return m.report("E0001", "a row of a table is written with `=>`", "as in `yes, no => 0.9, 0.1`")


def _two_operands(m: Mishap) -> Diagnostic | None:
    """`2x`, `Normal(0 1)`: an operand where an operator could stand."""
    if "PLUS" not in m.allowed or m.token not in (
        "NAME",
        "NUMBER",
        "LPAR",
        "STRING",
        "REDUCER",
        "TRUE",
        "FALSE",
    ):
        return None
    number = re.search(r"[\d.]+$", m.before)
    if number and m.token in ("NAME", "LPAR"):
        return m.report("E0001", "a product is written with `*`", f"write `{number[0]} * {m.text}`")
    help = "write an operator, or `,` between items"
    return m.report("E0001", f"something is missing before `{m.text}`", help)


def _anything(m: Mishap) -> Diagnostic:
    if m.token in ("NEWLINE", "$END"):
        continues = re.search(r"[-+*/^@,<>]$|\b(and|or|then|else)$", m.before.rstrip())
        help = (
            "a statement runs over several lines inside parentheses"
            if continues
            else _expectation(m)
        )
        return m.report("E0001", "the statement ends too early", help=help)
    return m.report("E0001", f"`{m.text}` does not belong here", help=_expectation(m))


_NAME = r"(?P<name>[^\W\d]\w*)"
_ROLE = r"^(?P<role>data|observed|param|latent)\s+"
_TYPE = r"(?P<mark>real|int|bool|float|vector|row_vector|matrix|array|simplex|ordered|cov_matrix|corr_matrix)\b"
_BINDER = "declare `dim D = 10` and write `in D`, or a part of it, `in D[1..]`"
_COMPREHENSION = "write `[i in D] x[i]` for an array, `sum[i in D] x[i]` for a sum"

HABITS = (
    # what stands before in the statement, what stands here, the message, the help
    (r"^for", r"\(", "the binder of a `for` has no parentheses", "write `for i in D {{ ... }}`"),
    (r"^(?P<word>for|soft|guide)\b[^=~]*", r":", ("a block stands between " "braces"), ("write " "`{word} ... {{ ... }}`")),
    (r"\bin", r"[\d(\[]", "a binder runs over a dim", _BINDER),
    (r"\bin\s+\w+", r"\(", "a binder runs over a dim", _BINDER),
    (r"", r"for\b", "the binder comes first", _COMPREHENSION),
    (r"\(\s*\w+", r"in\b", "a binder stands in brackets", _COMPREHENSION),
    (rf"\b(?P<mark>sum|prod|mean|max|min|argmax|argmin|logsumexp|all|any)\s*\[\s*{_NAME}\s*\]?", r"\]|\w|\(",
     "a reduction binds an index", "write `{mark}[i in {name}] ...`"),
    (_ROLE + rf"{_NAME}\s*\[[^\]]*", r"(?P<size>\d+)", "an axis is a dim",
     "declare `dim D = {size}` and write `{name}[D]`"),
    (_ROLE + rf"{_NAME}\s*\[\s*\w+", r"in\s+(?P<dim>\w+)", ("a declaration names its dims, without " "binders"),
     "write `{role} {name}[{dim}] : ...`"),
    (_ROLE + rf"{_NAME}\s*\[[^\]]*", r":", "the bracket before this is not closed", "write `]`"),
    (_ROLE + _TYPE + r".*", r"", ("the type stands after the " "name"), ("write `{role} x : real`, " "`{role} x[D] : int`")),
    (_ROLE + r".*:\s*(?P<type>real|int)", r"<", ("bounds stand in " "parentheses"), ("write " "`{type}(lower=0)`")),
    (r"^(?P<mark>data|param|latent)\s.*:.*", r"~", ("what is drawn needs no " "`{mark}`"), ("write " "`x ~ ...` alone")),
    (_ROLE + _NAME + r".*:.*", r"~", "a declaration and a distribution are two statements",
     "write the `~` of `{name}` in a statement of its own"),
    (r"^(data|parameters|model|transformed|generated|functions|quantities)", r"\{|data\b", ("a " "model has no such blocks"),
     "write its statements one after another: `data x : real`, `mu ~ Normal(0, 1)`"),
    (r"^" + _TYPE + r".*", r"", "a declaration starts with its role",
     ("write `data x : real` or `param x : real`; what is drawn needs no declaration: `x ~ " "Normal(0, 1)`")),
    (r"^(?P<mark>let|var|val|const)", _NAME, ("a definition needs no " "`{mark}`"), ("write " "`{name} = ...`")),
    (r"^(?P<mark>def|function)", _NAME, ("a function is written with " "`fn`"), ("write `fn " "{name}(x: real) -> real = ...`")),
    (rf"^{_NAME}(\[.*\])?", r"(?P<law>[A-Z]\w*)\s*\(", ("a `~` is " "missing"), ("write `{name} ~ " "{law}(...)`")),
    (r"^(?P<mark>if)\b.*", r"", ("`if` is a value, not a " "statement"), ("write `x = if c then a " "else b`")),
    (r"^(?P<mark>while|loop)\b.*", r"", "`loop` is a value, not a statement",
     "write `x = loop s = 1.0 while s < 9 max 100 do 2 * s`"),
    (r"[-+*/^@<>=]\s*(?P<mark>if|loop)\b", r"", "an `{mark}` inside an operation needs parentheses",
     "write `({mark} ...)`"),
    (r"^import", r"(?P<path>\w+)", ("the path of an import is " "quoted"), ("write `import " "\"{path}.dp\" as {path}`")),
    (r"^import\s*(?P<path>\"[^\"]*\")", r"", ("an import needs a " "name"), ("write `import {path} " "as lib`")),
    (rf"^dim\s+{_NAME}\s*=\s*\d+", r"\|", ("a label is a " "name"), ("write `dim {name} = 2` for " "the numbers 0 and 1")),
    (rf"^dim\s+{_NAME}\s*=[^=]*", r"\"", ("labels need no " "quotes"), ("write `dim {name} = low | " "high`")),
    (rf"^dim\s+{_NAME}\s*=[^=]*", r"[\[{,]", "the labels of a dim are separated by `|`",
     "write `dim {name} = low | high`"),
    (rf"^dim\s+{_NAME}\s*=[^=]*", r"[-+*/^(.]", "the size of a dim is a number",
     "leave it out when it comes with the data: `dim {name}`"),
    (rf"^dim\s+{_NAME}", r",", ("one dim to a " "statement"), ("write `dim {name}`, and the next " "dim on the next line")),
    (rf"^dim\s+{_NAME}", r"[\[(:]", ("the size of a dim is written with " "`=`"), ("write `dim " "{name} = 3`")),
    (r"^(extern\s+)?fn\s.*\(.*\b(real|int|bool)", r"\w", "the type stands after the name",
     "as in `fn f(x: real) -> real = ...`"),
    (r"^(extern\s+)?fn\s.*\([^)]*", r"[,)=]", ("a parameter needs a " "type"), ("as in `fn f(x: " "real) -> real = ...`")),
    (r"^fn\s.*\)", r"[={:]", ("a function names the type of its " "result"), ("as in `fn f(x: " "real) -> real = ...`")),
    (r"^fn\s.*->[^=]*", r"[{:]", ("the body of a function stands after " "`=`"), ("as in `fn f(x: " "real) -> real = x^2`")),
    (r"^factor", r":", "a factor needs a name", "write `factor name : ...`"),
    (r"^factor\s.*", r"[=~]|\s*(#|$)", "a factor is written with `:`", "write `factor name : ...`"),
    (rf"^{_NAME}(\[.*\])?\s*:\s*\w.*", r"\s*(#|;|$)", "a declaration starts with its role",
     "write `data {name} : ...` or `param {name} : ...`; what is drawn needs no declaration"),
    (r"(?P<mark>,)", r"[)\]]", "nothing follows this `,`", "remove it"),
    (rf"^{_NAME}", r",", ("one variable to a " "statement"), ("write `{name} ~ ...` on a line of " "its own")),
    (rf"^{_NAME}", r"[(+*/^@<>-]", ("a statement defines " "something"), ("give the value a name: " "`y = {name} ...`")),
    (r"\[[^\]]*", r":|\.\.", ("a part of an array is taken by a " "binder"), ("write `[i in " "D[1..3]] x[i]`")),
)  # fmt: skip

RULES: tuple[Callable[[Mishap], Diagnostic | None], ...] = (
    _unclosed_string,
    _elif,
    _if_without_else,
    _brackets,
    _operator_of_another_language,
    _incomplete_number,
    _definition_by_comparison,
    _unexpected_character,
    _if_behind,
    _if_without_then,
    _row_of_a_table,
    _keyword_as_name,
    _misspelt_word,
    _habit,
    _comparison_by_definition,
    _reserved_word,
    _declaration_without_type,
    _two_operands,
    _anything,
)


def _expectation(m: Mishap) -> str:
    allowed = set(m.allowed) - {"SEMICOLON"}
    if allowed >= EXPRESSION_START:
        return "expected an expression"
    operator = ["an operator"] * (allowed >= OPERATORS)
    allowed -= AFTER_OPERAND if operator else set()
    words = operator + sorted(
        {WORDS.get(name) or f"`{SIGNS.get(name) or name.lower()}`" for name in allowed}
    )
    if not words or len(words) > 6:
        return ""
    return "expected " + (
        " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
    )
