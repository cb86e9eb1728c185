"""Colours: the words are those of the grammar, and no program has an error token."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from dpc.dsl.source import Source
from dpc.dsl.text import keywords as words
from dpc.dsl.text.keywords import keywords, reducers
from dpc.dsl.text.parser import parse_program
from dpc.dsl.text.tables import GRAMMAR

highlight = pytest.importorskip("dpc.dsl.text.highlight")
pygments_token = pytest.importorskip("pygments.token")

EDITORS = Path(__file__).parents[2] / "editors"
PROGRAMS = sorted(Path(__file__).with_name("format").glob("*.dp"))


def generator():
    spec = importlib.util.spec_from_file_location("generate_editors", EDITORS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kinds(text: str) -> dict[str, str]:
    return {
        value: str(kind).removeprefix("Token.")
        for kind, value in highlight.DpLexer().get_tokens(text)
    }


def test_keywords_are_all_of_the_grammars() -> None:
    """Counted another way: the patterns of those terminals that end at a word boundary."""
    text = GRAMMAR.read_text(encoding="utf-8")
    patterns = [
        line.split(": /", 1)[1] for line in text.splitlines() if re.match(r"[A-Z]+\.\d+: /", line)
    ]
    assert keywords() == {p.removesuffix("\\b/") for p in patterns if p.endswith("\\b/")}
    assert len(patterns) == len(keywords()) + 2
    assert {"model", "with", "_"} <= keywords()
    assert {"sum", "max", "logsumexp", "any"} <= reducers()


def test_the_kinds_of_words_are_words() -> None:
    assert keywords() >= words.CONSTANTS | words.WORD_OPERATORS
    assert words.statement_words() >= words.roles() == {"data", "observed", "param", "latent"}
    assert words.expression_words() == {"if", "loop", "not", "true", "false", "table"}
    assert words.declaration_words() >= words.roles() | {"model", "import", "as", "dim", "fn"}


@pytest.mark.parametrize("word", sorted(reducers()))
def test_reducers_reduce(word: str) -> None:
    _, diagnostics = parse_program(Source("test.dp", f"x = {word}[i in D] a[i]\n"))
    assert not diagnostics


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_no_error_tokens(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tokens = list(highlight.DpLexer(stripnl=False).get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert [value for kind, value in tokens if kind in pygments_token.Error] == []


def test_kinds_of_tokens() -> None:
    found = kinds(
        "model m # note\ndim Level = low | `very high`\nx : real ~ Normal(exp(a), scale=2.5) with noncentered\n"
        'y = sum[i in Level] b[i] + 3 and true  # dpc: ignore[W0101]\nimport "a.dp" as lib\nz = max(a, b)\n'
    )
    assert (
        found
        | {
            "model": "Keyword.Declaration",
            "m": "Name.Class",
            "# note": "Comment.Single",
            "# dpc: ignore[W0101]": "Comment.Special",
            "low": "Name.Constant",
            "`very high`": "Name.Constant",
            "real": "Keyword.Type",
            "Normal": "Name.Class",
            "exp": "Name.Function",
            "scale": "Name.Attribute",
            "2.5": "Literal.Number.Float",
            "3": "Literal.Number.Integer",
            "with": "Keyword",
            "noncentered": "Name.Decorator",
            "sum": "Keyword.Reserved",
            "in": "Operator.Word",
            "true": "Keyword.Constant",
            '"a.dp"': "Literal.String",
            "max": "Name.Function",
            "~": "Operator",
        }
        == found
    )


def test_pygments_finds_the_lexer() -> None:
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename

    assert isinstance(get_lexer_by_name("dp"), highlight.DpLexer)
    assert isinstance(get_lexer_for_filename("model.dp"), highlight.DpLexer)


def test_the_textmate_grammar_is_up_to_date() -> None:
    module = generator()
    for target in module.TARGETS:
        assert target.read_text(encoding="utf-8") == module.emit(), (
            "run: python editors/generate.py"
        )


def test_the_textmate_grammar_knows_every_word() -> None:
    known = json.dumps(generator().grammar())
    assert all(re.search(rf"\b{word}\b", known) for word in keywords() | reducers())


def test_the_extension_names_files_that_exist() -> None:
    folder = EDITORS / "vscode"
    manifest = json.loads((folder / "package.json").read_text(encoding="utf-8"))["contributes"]
    paths = [manifest["languages"][0]["configuration"], manifest["grammars"][0]["path"]]
    assert all(json.loads((folder / path).read_text(encoding="utf-8")) for path in paths)
