"""Laws of the formatter, on programs drawn from the grammar and written with random spaces, lines and comments."""

import random
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.dsl.format import format_program, format_source
from dpc.dsl.formatting_doc import LIMIT
from dpc.dsl.parser import parse_program
from dpc.dsl.source import Source

NAMES = ["a", "b", "mu", "long_name_of_a_thing", "`two words`", "`data`", "`if`", "`mean`", "`a.b`", "été"]
DIMS = ["D", "Obs", "lib.Site", "`odd dim`"]
LOOSE, OR, AND, NOT, COMPARE, ADD, TERM, PRODUCT, SIGNED, POWER, ATOM = range(11)

Expr = tuple[int, str]


def wrap(expr: Expr, level: int) -> str:
    return expr[1] if expr[0] >= level else f"({expr[1]})"


def joined(items: st.SearchStrategy[str], least: int = 1, most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(items, min_size=least, max_size=most).map(", ".join)


def binary(left: int, signs: list[str], right: int, level: int) -> Callable[..., st.SearchStrategy[Expr]]:
    def build(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.builds(
            lambda a, sign, b: (level, f"{wrap(a, left)} {sign} {wrap(b, right)}"),
            inner, st.sampled_from(signs), inner,
        )  # fmt: skip

    return build


names = st.sampled_from(NAMES)
dims = st.sampled_from(DIMS)
numbers = st.sampled_from(["0", "1", "0.001", "1_000", "2.5e-3", "123456789"])
bounds = st.sampled_from(["", "1", "-1", "10"])
ranges = st.one_of(dims, st.builds("{}[{}..{}]".format, dims, bounds, bounds))
binder = st.builds("{} in {}".format, names, ranges)
keys = st.sampled_from(["yes", "no", "_", "0", "true", "`very high`", "`_`"])
atoms: st.SearchStrategy[Expr] = st.one_of(
    names, numbers, st.sampled_from(["true", '"text # no comment"', "lib.x", "lib.`odd name`"])
).map(lambda text: (ATOM, text))


def binders(where: st.SearchStrategy[Expr]) -> st.SearchStrategy[str]:
    return st.builds(str.__add__, joined(binder, most=2), st.one_of(st.just(""), where.map(" where {0[1]}".format)))


def arguments(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[str]:
    named = st.builds("{}={}".format, st.sampled_from(["scale", "max", "`true`", "in"]), inner.map(lambda e: e[1]))
    return joined(st.one_of(inner.map(lambda e: e[1]), named), least=0)


def table(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[str]:
    texts = inner.map(lambda e: e[1])
    rows = st.lists(st.builds("{} => {}".format, joined(keys), joined(texts)), max_size=4).map("; ".join)
    columns = st.one_of(st.just(""), joined(keys, most=2).map(" => {}".format))
    return st.builds("table {}{} {{ {} }}".format, joined(texts, most=2), columns, rows)


def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    texts = inner.map(lambda e: e[1])
    calls = st.builds("{}({})".format, st.sampled_from(["Normal", "f", "max", "lib.g", "`not`"]), arguments(inner))
    indices = st.builds(lambda e, i: f"{wrap(e, ATOM)}[{i}]", inner, joined(st.one_of(texts, st.just("t-1"))))
    atoms = st.one_of(calls, indices, texts.map("({})".format), joined(texts, most=5).map("[{}]".format), table(inner))
    reducers = st.sampled_from(["sum", "max", "logsumexp"])
    return st.one_of(
        atoms.map(lambda text: (ATOM, text)),
        binary(ADD, ["+", "-"], TERM, ADD)(inner),
        binary(PRODUCT, ["*", "/", "@"], SIGNED, PRODUCT)(inner),
        binary(ATOM, ["^"], SIGNED, POWER)(inner),
        binary(COMPARE, ["<", ">=", "==", "!="], ADD, COMPARE)(inner),
        binary(AND, ["and"], NOT, AND)(inner),
        binary(OR, ["or"], AND, OR)(inner),
        inner.map(lambda e: (SIGNED, f"-{wrap(e, SIGNED)}")),
        inner.map(lambda e: (NOT, f"not {wrap(e, NOT)}")),
        st.builds("if {} then {} else {}".format, texts, texts, texts).map(lambda text: (LOOSE, text)),
        st.builds("loop {} = {} while {} max {} do {}".format, names, texts, texts, texts, texts).map(
            lambda text: (LOOSE, text)
        ),
        st.builds("[{}] {}".format, binders(inner), texts).map(lambda text: (LOOSE, text)),
        st.builds(lambda r, b, e: (TERM, f"{r}[{b}] {wrap(e, TERM)}"), reducers, binders(inner), inner),
    )


exprs = st.recursive(atoms, larger, max_leaves=12)
values = exprs.map(lambda e: e[1])
dim_lists = st.one_of(st.just(""), joined(dims).map("[{}]".format))
types = st.builds("{}{}{}".format, st.sampled_from(["real", "int", "lib.T"]), st.sampled_from(["", "(lower=0)"]), dim_lists)
annotation = st.one_of(
    st.sampled_from(["noncentered", "soft(logistic, scale=0.1)", "model"]), values.map("grad={}".format)
)
annotations = st.one_of(st.just(""), joined(annotation, most=2).map(" with {}".format))
targets = st.one_of(
    names,
    st.builds("{}[{}]".format, names, joined(st.one_of(binder, values), most=2)),
    st.builds("{}[{}]".format, names, binders(exprs)),
)
parameters = joined(st.builds("{}{}: {}".format, names, dim_lists, types), least=0)
simple_statements = st.one_of(
    st.builds("model {}".format, names),
    st.builds('import "lib.dp" as {}'.format, names),
    st.builds("dim {}{}".format, names, st.sampled_from(["", " = 3", " = yes | no", " = `1` | _"])),
    st.builds(
        "{} {}{} : {}{}{}".format, st.sampled_from(["data", "observed", "param", "latent"]), names, dim_lists, types,
        st.one_of(st.just(""), values.map(" = {}".format)), annotations,
    ),
    st.builds(
        "{}{} {} {}{}".format, targets, st.one_of(st.just(""), types.map(" : {}".format)),
        st.sampled_from(["~", "=", ":="]), values, annotations,
    ),
    st.builds("factor {} : {}{}".format, targets, values, annotations),
    st.builds("{} {}{}".format, st.sampled_from(["minimize", "maximize"]), values, annotations),
    st.builds("fn {}({}) -> {} = {}".format, names, parameters, types, values),
    st.builds("extern fn {}({}) -> {}".format, names, parameters, types),
)  # fmt: skip


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    headers = st.one_of(
        st.just("guide"), arguments(exprs).map("soft({})".format), binders(exprs).map("for {}".format)
    )
    return st.builds("{} {{ {} }}".format, headers, st.lists(inner, max_size=3).map("; ".join))


statements = st.recursive(simple_statements, blocks, max_leaves=4)
programs = st.lists(statements, max_size=6).map("\n".join)

# ---- random layout

TOKEN = re.compile(r'\w+(?:\.\d+)?(?:[eE][+-]\d+)?|`[^`]+`|"[^"]*"|:=|==|!=|<=|>=|=>|->|\.\.|\n|\S')
REDUCERS = {"sum", "max", "logsumexp"}


def rewrite(text: str, seed: int) -> str:
    """The same program, in another layout and with comments."""
    chance = random.Random(seed)
    tokens = TOKEN.findall(text)
    brackets: list[str] = []
    pieces = [chance.choice(["", "\n\n", "# first\n", "  # indented\r\n\n"])]
    for token, following in pairwise([*tokens, ""]):
        if token in "([{":
            brackets.append(token)
        elif token in ")]}":
            brackets.pop()
        free = bool(brackets) and brackets[-1] != "{"
        ends = token in ("\n", ";") and not free
        pieces.append("" if ends else token)
        pieces.append(_separator(chance, token, following, free, ends))
    return "".join(pieces) + chance.choice(["", "\n", "  # last", "\n# last\n\n"])


def _separator(chance: random.Random, token: str, following: str, free: bool, ends: bool) -> str:
    layout = [f"\n# own {chance.random()}\n", f"  # note {chance.random()}\n", f"#tight\n\n\n  # {{ [ (\r\n"]
    if ends:
        return chance.choice([";", "\n", "\n\n", "\n\n\n", " ; \n", "\n  ", *layout])
    if token == "{" or following == "}":
        return chance.choice(["", " ", " ", "\n", "\n\n", *(layout if chance.random() < 0.3 else [])])
    if free and not (token in REDUCERS and following == "["):
        return chance.choice([" ", " ", "  ", "\n", "\r\n   ", *(layout if chance.random() < 0.1 else [])])
    return chance.choice([" ", "  ", "\t"])


def check_laws(text: str) -> None:
    source = Source("test.dp", text)
    program, diagnostics = parse_program(source)
    assert not diagnostics, [d.message for d in diagnostics]
    formatted = format_source(source)
    again, _ = parse_program(Source("test.dp", formatted))
    assert again.statements == program.statements
    assert [c.text for c in again.comments] == [c.text for c in program.comments]
    assert format_source(Source("test.dp", formatted)) == formatted
    assert formatted == "" or (formatted.endswith("\n") and not formatted.startswith("\n"))
    assert not re.search(r"[ \t\r]\n|\n\n\n|\n\n\Z|\r", formatted)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(programs, st.integers(0, 2**32))
def test_laws_on_programs_of_the_grammar(text: str, seed: int) -> None:
    check_laws(text + "\n")
    check_laws(rewrite(text, seed))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(programs)
def test_without_a_source_the_tree_alone_is_written(text: str) -> None:
    """Trees made by other parts of the compiler have no text behind them."""
    program, _ = parse_program(Source("test.dp", text + "\n"))
    written = format_program(program.replace(source=Source("none.dp", "")))
    again, diagnostics = parse_program(Source("test.dp", written))
    assert not diagnostics
    assert again.statements == program.statements


