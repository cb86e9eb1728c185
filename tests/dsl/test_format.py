"""What the formatter makes of small programs, and of the seven of the language page."""

from pathlib import Path

import pytest

from dpc.dsl.diagnostics import DpError, InternalError
from dpc.dsl.source import Source
from dpc.dsl.text import format as formatter
from dpc.dsl.text.format import format_source, quote_name
from dpc.dsl.text.keywords import expression_words, keywords, reducers
from dpc.dsl.text.parser import parse_program
from dpc.dsl.text.syntax import Name

FOLDER = Path(__file__).with_name("format")
PROGRAMS = sorted(FOLDER.glob("*.dp"))
CASES = sorted((FOLDER / "before").glob("*.dp"))

# The seven programs are as the language page has them; these lines alone change, to align with
# their neighbours.
REALIGNED = {
    "hierarchical": ["a[c in County] ~ Normal(mu_a, tau)      with noncentered"],
    "hmm": [
        "A[j in K]      ~ Dirichlet(ones(K))",
        "mu[k in K]     ~ Normal(0, 10)          with ordered",
    ],
    "ising": ["param J            : real = 0.4", "param h            : real = 0.1"],
    "tagger": [
        "data x[T, F]      : real",
        "param W[Tag, F]   : real = 0",
        "latent tag[T]     : Tag",
    ],
    "root": ["data x    : real          = 2"],
}


def formatted(text: str) -> str:
    return format_source(Source("test.dp", text))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    before = path.read_text(encoding="utf-8")
    after = (FOLDER / "after" / path.name).read_text(encoding="utf-8")
    assert formatted(before) == after
    assert formatted(before.replace("\n", "\r\n")) == after
    assert formatted(after) == after


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_seven_programs_stay_but_for_alignment(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    result = formatted(text)
    changed = [
        new for old, new in zip(text.splitlines(), result.splitlines(), strict=True) if old != new
    ]
    assert changed == REALIGNED.get(path.stem, [])
    assert formatted(result) == result


def test_there_are_seven_programs() -> None:
    assert len(PROGRAMS) == 7


LONG = "a_rather_long_name + another_rather_long_name"


def test_a_long_line_breaks_in_its_widest_bracket() -> None:
    assert formatted(f"x = f(a) + g({LONG}, k={LONG}, {LONG}[i])") == (
        f"x = f(a) + g(\n    {LONG},\n    k={LONG},\n    {LONG}[i]\n)\n"
    )


def test_a_long_group_breaks_at_its_loosest_operators() -> None:
    product = "a_rather_long_name * another_rather_long_name"
    assert formatted(f"x = ({product} + {product} - {product})") == (
        f"x = (\n    {product}\n    + {product}\n    - {product}\n)\n"
    )


def test_a_long_list_of_short_items_is_filled() -> None:
    lines = formatted(f"x ~ Dirichlet([{', '.join(map(str, range(100)))}])").splitlines()
    assert lines[0] == "x ~ Dirichlet(["
    assert lines[-1] == "])"
    assert len(lines) == 7


def test_a_long_line_without_brackets_stays() -> None:
    line = "x = " + " + ".join(["a_rather_long_name"] * 8)
    assert formatted(line) == line + "\n"


def test_an_annotation_may_hang_over() -> None:
    line = f"x = f({LONG}, a_rather_long_name)   with soft(logistic, scale=0.1)"
    assert len(line) > 100
    assert formatted(line) == line + "\n"


def test_a_syntax_error_is_the_users() -> None:
    with pytest.raises(DpError) as caught:
        formatted("x ~ ~ 1\ny = (")
    assert [diagnostic.code[:2] for diagnostic in caught.value.diagnostics] == ["E0", "E0"]


@pytest.mark.parametrize("wrong", ["x = 2 # note\n", "x = 1 # other\n", "x = 1\n", "x ="])
def test_the_formatter_reads_its_output_back(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setattr(formatter, "format_program", lambda program: wrong)
    with pytest.raises(InternalError):
        formatted("x = 1 # note\n")


def test_deep_nesting_needs_no_deep_stack() -> None:
    calls = "f(a, " * 45 + "1" + ")" * 45
    blocks = "for i in D { " * 90 + "x = 1" + " }" * 90
    for text in (f"x = {'(' * 90}1{')' * 90}", f"x = {calls}", blocks):
        result = formatted(text)
        assert formatted(result) == result


@pytest.mark.parametrize(
    ("name", "written"),
    [("x", "x"), ("été", "été"), ("two words", "`two words`"), ("0", "`0`"), ("model", "`model`"), ("_", "`_`"),
     ("a.b", "`a.b`"), ("sum", "sum"), ("models", "models")],
)  # fmt: skip
def test_quote_name(name: str, written: str) -> None:
    assert quote_name(name) == written


@pytest.mark.parametrize("name", ["", "a`b", "a\nb"])
def test_names_that_cannot_be_written(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a name"):
        quote_name(name)


@pytest.mark.parametrize("word", sorted((keywords() | reducers()) - expression_words()))
def test_other_words_are_free_where_an_expression_is_due(word: str) -> None:
    program, diagnostics = parse_program(
        Source("test.dp", f"x = {word}(1, {word}=2)   with {word}, {word}=1\n")
    )
    assert not diagnostics
    assert program.statements[0].value.function == Name(None, word)
    assert formatted(program.source.text).count("`") == 0


@pytest.mark.parametrize("word", sorted(expression_words()))
def test_words_that_start_an_expression_are_not(word: str) -> None:
    assert parse_program(Source("test.dp", f"x = {word}(1, {word}=2)\n"))[1]


def test_a_statement_goes_on_after_and_before_operators() -> None:
    broken = (
        "z ~\n  Normal(0,\n    1)\n  with noncentered\ny =\n  if z > 2\n  then 1 +\n  z\n  else 2\n"
    )
    whole = "z ~ Normal(0, 1)  with noncentered\ny = if z > 2 then 1 + z else 2\n"
    assert format_source(Source("x.dp", broken)) == format_source(Source("x.dp", whole))
