"""Our automaton against Lark's own parser and contextual lexer: the same trees, and mistakes at the
same places.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark, Tree, UnexpectedCharacters, UnexpectedInput
from lark import Token as LarkToken

from dpc.dsl.source import Span
from dpc.dsl.text import tables as made
from dpc.dsl.text.lalr import GOES_ON, UNFINISHED, Automaton, Token, TooDeep, Unexpected
from dpc.dsl.text.tables import grammar_text

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "models").rglob("*.dp"))
BAD_PROGRAMS = sorted((ROOT / "tests/golden/bad").glob("*.dp"))


class Newlines:
    """What `Reader` does about newlines, as a filter of Lark's tokens."""

    always_accept = ("NEWLINE", "RBRACE")
    text = ""

    def process(self, stream: Iterator[LarkToken]) -> Iterator[LarkToken]:
        opened: list[str] = []
        last = None
        for token in stream:
            if token.type == "NEWLINE" and opened and opened[-1] != "LBRACE":
                continue
            if token.type == "NEWLINE":
                if last and last.type in UNFINISHED:
                    continue
                if GOES_ON.match(self.text, token.end_pos):
                    continue
            if token.type in ("LPAR", "LBRACKET", "LBRACE"):
                opened.append(token.type)
            elif token.type in ("RPAR", "RBRACKET", "RBRACE"):
                if token.type == "RBRACE":
                    yield LarkToken.new_borrow_pos("NEWLINE", "", token)
                opened[-1:] = []
            yield token
            last = token
        if last:
            yield LarkToken("NEWLINE", "", last.end_pos)


NEWLINES = Newlines()


def recorder(rule: str) -> Callable[[list[Any]], Any]:
    """Every rule becomes (its name, its children)."""
    return lambda children: (rule, *children)


@cache
def lark() -> Lark:
    return Lark(grammar_text(), postlex=NEWLINES, **made.LARK_OPTIONS)


@cache
def automaton() -> Automaton:
    return Automaton(made.tables(), recorder)


def plain(tree: Any) -> Any:
    if isinstance(tree, Tree):
        return (str(tree.data), *map(plain, tree.children))
    if isinstance(tree, tuple) and not isinstance(tree, Token):
        return (tree[0], *map(plain, tree[1:]))
    return (tree.type, str(tree), tree.start if isinstance(tree, Token) else tree.start_pos)


def ours(text: str) -> Any:
    try:
        return plain(automaton().parse(text, Span(0, len(text)))[0])
    except Unexpected as error:
        return error.token.start
    except TooDeep:
        return None


def theirs(text: str) -> Any:
    NEWLINES.text = text
    try:
        return plain(lark().parse(text))
    except UnexpectedCharacters as error:
        return error.pos_in_stream
    except UnexpectedInput as error:
        return len(text) if error.token.type == "$END" else error.token.start_pos


def without_added_newlines(tree: Any) -> Any:
    """Lark puts the newline it is given where its neighbour stands; positions of empty tokens mean
    nothing.
    """
    if isinstance(tree, tuple) and tree[:2] == ("NEWLINE", ""):
        return ("NEWLINE", "")
    return tuple(map(without_added_newlines, tree)) if isinstance(tree, tuple) else tree


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_models_give_the_tree_that_lark_gives(path: Path) -> None:
    found = without_added_newlines(ours(path.read_text()))
    assert isinstance(found, tuple)
    assert found == without_added_newlines(theirs(path.read_text()))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(PROGRAMS + BAD_PROGRAMS), st.randoms(use_true_random=False))
def test_mutilated_programs_stop_where_lark_stops(path: Path, chance: random.Random) -> None:
    words = path.read_text(errors="replace").replace("\n", " \n ").split(" ")[:300]
    for _ in range(chance.randint(0, 3)):
        words.insert(chance.randrange(len(words)), words.pop(chance.randrange(len(words))))
    text = " ".join(words)
    found = ours(text)
    if found is None:
        return
    expected = theirs(text)
    if isinstance(expected, int) and expected < len(text.rstrip()):
        assert found == expected
    else:
        assert isinstance(found, int) == isinstance(expected, int)


def test_what_is_allowed_is_what_lark_accepts() -> None:
    for text in (
        "x ~ Normal(0 1)",
        "dim D = 3 |",
        "y = if a then b",
        "factor f[i in D] = 3",
        "x = (1 + 2",
    ):
        with pytest.raises(Unexpected) as our:
            automaton().parse(text, Span(0, len(text)))
        with pytest.raises(UnexpectedInput) as their:
            lark().parse(text)
        assert our.value.allowed == frozenset(their.value.accepts or ())


def test_the_shipped_table_is_the_one_that_lark_makes() -> None:
    assert made.TABLES.read_text(encoding="utf-8") == made.emit_json(grammar_text()), (
        "run: python -m dpc.dsl.text.tables"
    )
    assert made.tables() == made.analyse(grammar_text())


def test_another_grammar_is_analysed_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = made.TABLES.read_bytes()
    other = grammar_text().replace("/model\\b/", "/muddle\\b/")
    monkeypatch.setattr(made, "grammar_text", lambda: other)
    tree, _ = Automaton(made.tables.__wrapped__(), recorder).parse("muddle m", Span(0, 8))
    assert tree[0] == "start"
    assert made.TABLES.read_bytes() == before


def test_parsing_writes_nothing(tmp_path: Path) -> None:
    """In a home of its own: not one file is left there."""
    code = "import sys; from dpc.cli import main; sys.exit(main(['check', '-']))"
    environment = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-B", "-c", code],
        input="model m\nx ~ Normal(0, 1)\n",
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    assert list(tmp_path.iterdir()) == []
