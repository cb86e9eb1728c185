"""Laws of the formatter, on programs drawn from the grammar in random layouts with comments
everywhere.
"""

import re
from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.dsl.source import Source
from dpc.dsl.text.format import format_program, format_source
from dpc.dsl.text.parser import parse_program

NAMES = [
    "a",
    "b",
    "mu",
    "long_name_of_a_thing",
    "`two words`",
    "`data`",
    "`if`",
    "mean",
    "`a.b`",
    "été",
]
DIMS = ["D", "Obs", "lib.Site", "`odd dim`"]
ATOMS = [
    *NAMES,
    "0",
    "1",
    "0.001",
    "1_000",
    "2.5e-3",
    "123456789",
    "true",
    '"no # comment"',
    "lib.`odd name`",
]
KEYS = ["yes", "no", "_", "0", "true", "`very high`", "`_`"]
REDUCERS = ["sum", "max", "logsumexp"]
QUANTIFIERS = ["all", "any"]
LOOSE, OR, AND, NOT, COMPARE, ADD, TERM, PRODUCT, SIGNED, POWER, ATOM = range(11)
BINARY = [
    (OR, "or", AND),
    (AND, "and", NOT),
    (COMPARE, "<", ADD),
    (ADD, "+", TERM),
    (ADD, "-", TERM),
    (PRODUCT, "*", SIGNED),
    (PRODUCT, "/", SIGNED),
]


class Author:
    """Writes programs of the grammar; `chance` makes all choices."""

    def __init__(self, chance: Random):
        self.chance = chance

    def some(self, write, least: int = 1, most: int = 3, between: str = ", ") -> str:
        return between.join(write() for _ in range(self.chance.randint(least, most)))

    def maybe(self, text: str) -> str:
        return text if self.chance.random() < 0.3 else ""

    def pick(self, items: list[str]) -> str:
        return self.chance.choice(items)

    def program(self) -> str:
        return self.some(self.statement, 0, 6, "\n") + "\n"

    # ---- statements

    def statement(self, depth: int = 2) -> str:
        chosen = self.chance.randint(0, 9 if depth else 8)
        name, type_ = self.pick(NAMES), self.type()
        if chosen < 3:
            return (
                f"{self.target()}{self.maybe(f' : {type_}')} {self.pick(['~', '=', ':='])} "
                f"{self.tail()}"
            )
        if chosen == 3:
            return f"factor {self.target()} : {self.tail()}"
        if chosen == 4:
            role = self.pick(["data", "observed", "param", "latent"])
            return f"{role} {name}{self.dims()} : {type_}{self.maybe(f' = {self.tail()}')}"
        if chosen == 5:
            return f"dim {name}{self.pick(['', ' = 3', ' = yes | no', ' = `1` | `_`'])}"
        if chosen == 6:
            return f"fn {name}({self.some(self.parameter, 0)}) -> {type_} = {self.expr()}"
        if chosen == 7:
            return f"{self.pick(['minimize', 'maximize'])} {self.tail()}"
        if chosen == 8:
            return self.pick(
                [
                    f"model {name}",
                    f'import "lib.dp" as {name}',
                    f"extern fn {name}({self.parameter()}) -> {type_}",
                ]
            )
        header = self.pick(["guide", f"soft({self.arguments()})", f"for {self.binders()}"])
        return f"{header} {{ {self.some(lambda: self.statement(depth - 1), 0, 3, '; ')} }}"

    def tail(self) -> str:
        return self.expr() + self.maybe(f" with {self.some(self.annotation, most=2)}")

    def annotation(self) -> str:
        return self.pick(
            ["noncentered", "soft(logistic, scale=0.1)", "model", f"grad={self.expr(1)}"]
        )

    def parameter(self) -> str:
        return f"{self.pick(NAMES)}{self.dims()}: {self.type()}"

    def type(self) -> str:
        return f"{self.pick(['real', 'int', 'lib.T'])}{self.pick(['', '(lower=0)', '()'])}{self.dims()}"

    def dims(self) -> str:
        return self.maybe(f"[{self.some(lambda: self.pick(DIMS))}]")

    def target(self) -> str:
        indices = self.some(lambda: self.pick([self.binder(), self.expr(1)]), most=2)
        return self.pick(NAMES) + self.pick(["", f"[{indices}]", f"[{self.binders()}]"])

    def binders(self) -> str:
        return self.some(self.binder, most=2) + self.maybe(f" where {self.expr(1)}")

    def binder(self) -> str:
        bounds = ["", "1", "-1", "10", "1_0"]
        return (
            f"{self.pick(NAMES)} in "
            f"{self.pick(DIMS)}{self.maybe(f'[{self.pick(bounds)}..{self.pick(bounds)}]')}"
        )

    # ---- expressions

    def expr(self, depth: int = 3, level: int = LOOSE) -> str:
        own, text = self.leveled(depth)
        return text if own >= level else f"({text})"

    def leveled(self, depth: int) -> tuple[int, str]:
        chosen = self.chance.randint(0, 12) if depth else 0
        inner = depth - 1
        if chosen <= 1:
            return ATOM, self.pick(ATOMS)
        if chosen <= 4:
            left, sign, right = self.chance.choice(BINARY)
            return left, f"{self.expr(inner, left)} {sign} {self.expr(inner, right)}"
        if chosen == 5:
            return POWER, f"{self.expr(inner, ATOM)} ^ {self.expr(inner, SIGNED)}"
        if chosen == 6:
            return self.chance.choice(
                [(SIGNED, "-" + self.expr(inner, SIGNED)), (NOT, "not " + self.expr(inner, NOT))]
            )
        if chosen == 7:
            return LOOSE, self.control(inner)
        if chosen == 8:
            return TERM, f"{self.pick(REDUCERS)}[{self.binders()}] {self.expr(inner, TERM)}"
        if chosen == 9:
            return NOT, f"{self.pick(QUANTIFIERS)}[{self.binders()}] {self.expr(inner, NOT)}"
        return ATOM, self.bracketed(inner)

    def control(self, depth: int) -> str:
        a, b, c = self.expr(depth), self.expr(depth), self.expr(depth)
        loop = f"loop {self.pick(NAMES)} = {a} while {b} max 5 do {c}"
        return self.pick([f"if {a} then {b} else {c}", loop, f"[{self.binders()}] {a}"])

    def bracketed(self, depth: int) -> str:
        chosen = self.chance.randint(0, 4)
        items = self.some(lambda: self.expr(depth))
        if chosen == 0:
            return f"{self.pick(['Normal', 'f', 'max', 'lib.g', '`not`'])}({self.arguments()})"
        if chosen == 1:
            return f"{self.expr(depth, ATOM)}[{self.pick([items, 't-1', 't - 1, i + j'])}]"
        if chosen == 2:
            return f"({self.expr(depth)})"
        if chosen == 3:
            return self.pick(
                [f"[{items}]", "[[1, 20], [300, 4]]", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]"]
            )
        columns = self.maybe(f" => {self.some(lambda: self.pick(KEYS))}")
        return f"table {items}{columns} {{ {self.some(self.row, 0, 4, '; ')} }}"

    def row(self) -> str:
        return f"{self.some(lambda: self.pick(KEYS))} => {self.some(lambda: self.expr(1))}"

    def arguments(self) -> str:
        named = f"{self.pick(['scale', 'max', '`true`', 'in'])}={self.expr(1)}"
        return self.some(lambda: self.pick([named, self.expr(1)]), 0)


# ---- random layout

TOKEN = re.compile(
    r'\d[\d_]*(?:\.\d+)?(?:[eE][+-]\d+)?|\w+|`[^`]+`|"[^"]*"|:=|==|!=|<=|>=|=>|->|\.\.|\n|\S'
)


def rewrite(text: str, chance: Random) -> str:
    """The same program in another layout, with comments."""
    brackets: list[str] = []
    pieces = [chance.choice(["", "\n\n", "# first\n", "  # indented\r\n\n"])]
    reduces = False
    for token, following in pairwise([*TOKEN.findall(text), ""]):
        if token in "([{":
            brackets.append(token)
        elif token in ")]}":
            brackets.pop()
        free = bool(brackets) and brackets[-1] != "{"
        ends = token in ("\n", ";") and not free
        pieces.append("" if ends else token)
        reduces = token != "in" and (
            reduces or (token in REDUCERS + QUANTIFIERS and following == "[")
        )
        pieces.append(
            chance.choice([" ", "  "])
            if reduces
            else _separator(chance, token, following, free, ends)
        )
    return "".join(pieces) + chance.choice(["", "\n", "  # last", "\n# last\n\n"])


def _separator(chance: Random, token: str, following: str, free: bool, ends: bool) -> str:
    layout = [
        f"\n# own {len(token)}\n",
        f"  # note {len(following)}\n",
        "#tight\n\n\n  # {{ [ (\r\n",
    ]
    if ends:
        return chance.choice([";", "\n", "\n\n", "\n\n\n", " ; \n", "\n  ", *layout])
    if token == "{" or following == "}":
        return chance.choice(
            ["", " ", " ", "\n", "\n\n", *(layout if chance.random() < 0.3 else [])]
        )
    if free:
        return chance.choice(
            [" ", " ", "  ", "\n", "\r\n   ", *(layout if chance.random() < 0.1 else [])]
        )
    return chance.choice([" ", "  ", "\t"])


# ---- laws


def check_laws(text: str) -> None:
    program, diagnostics = parse_program(Source("test.dp", text))
    assert not diagnostics, [d.message for d in diagnostics]
    formatted = format_source(program.source)
    again, _ = parse_program(Source("test.dp", formatted))
    assert again.statements == program.statements
    assert [c.text for c in again.comments] == [c.text for c in program.comments]
    assert format_source(Source("test.dp", formatted)) == formatted
    assert formatted == "" or (formatted.endswith("\n") and not formatted.startswith("\n"))
    assert not re.search(r"[ \t\r]\n|\n\n\n|\n\n\Z|\r", formatted)


def check_all(chance: Random) -> None:
    text = Author(chance).program()
    check_laws(text)
    check_laws(rewrite(text, chance))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_formatting_keeps_the_tree_and_the_comments_and_is_idempotent(chance: Random) -> None:
    check_all(chance)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_a_tree_without_source_is_written_too(chance: Random) -> None:
    """Trees made by other parts of the compiler have no text behind them."""
    program, _ = parse_program(Source("test.dp", Author(chance).program()))
    written = format_program(program.replace(source=Source("none.dp", "")))
    again, diagnostics = parse_program(Source("test.dp", written))
    assert not diagnostics
    assert again.statements == program.statements
