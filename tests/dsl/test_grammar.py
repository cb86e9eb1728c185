"""The grammar is strict LALR, and its rules mean what the reference says."""

from __future__ import annotations

import re

import pytest
from helpers import parse, parse_expression
from lark import Lark

from dpc.dsl.library.functions import functions_by_name
from dpc.dsl.text import syntax
from dpc.dsl.text.keywords import reducers
from dpc.dsl.text.parser import children
from dpc.dsl.text.syntax import (
    Binary,
    Comprehension,
    Expr,
    Group,
    IfExpr,
    Index,
    Range,
    Reduction,
    SyntaxNode,
    Unary,
)
from dpc.dsl.text.tables import GRAMMAR, LARK_OPTIONS

MODELS = sorted((GRAMMAR.parent.parent / "models").rglob("*.dp"))


def test_the_grammar_is_strict_lalr() -> None:
    Lark(GRAMMAR.read_text(), strict=True, **LARK_OPTIONS)


def test_every_statement_rule_has_its_class() -> None:
    rules = re.findall(r"^(\w+_stmt):", GRAMMAR.read_text(), re.MULTILINE)
    classes = {"".join(part.capitalize() for part in rule.split("_")) for rule in rules} - {
        "ExternStmt"
    }
    assert classes <= set(vars(syntax))


def test_every_reducer_is_also_a_function_of_arrays() -> None:
    assert reducers() <= set(functions_by_name())


def spelled_out(expr: Expr) -> str:
    """The expression with every operation in parentheses."""
    if isinstance(expr, Binary):
        return f"({spelled_out(expr.left)} {expr.operator} {spelled_out(expr.right)})"
    if isinstance(expr, Unary):
        return f"({expr.operator} {spelled_out(expr.operand)})"
    if isinstance(expr, Reduction):
        return f"({expr.operator} {spelled_out(expr.body)})"
    if isinstance(expr, Comprehension):
        return f"(all of {spelled_out(expr.body)})"
    if isinstance(expr, IfExpr):
        return (
            f"(if {spelled_out(expr.condition)} {spelled_out(expr.then)} "
            f"{spelled_out(expr.otherwise)})"
        )
    if isinstance(expr, Group):
        return spelled_out(expr.inner)
    if isinstance(expr, Index):
        return f"{spelled_out(expr.base)}[{', '.join(map(spelled_out, expr.indices))}]"
    return str(getattr(expr, "name", getattr(expr, "text", expr)))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a / b * c @ d", "(((a / b) * c) @ d)"),
        ("-a^2", "(- (a ^ 2))"),
        ("a^-b^c", "(a ^ (- (b ^ c)))"),
        ("2 * -a", "(2 * (- a))"),
        ("a[i]^2", "(a[i] ^ 2)"),
        ("not a < b and c or d", "(((not (a < b)) and c) or d)"),
        ("a or b and c", "(a or (b and c))"),
        ("a + 1 == b", "((a + 1) == b)"),
        ("sum[i in D] a[i] * b[i] + c", "((sum (a[i] * b[i])) + c)"),
        ("2 * sum[i in D] a[i] / n", "(2 * (sum (a[i] / n)))"),
        ("-sum[i in D] -a[i]", "(- (sum (- a[i])))"),
        ("c - sum[i in D] sum[j in D] a[i, j] * b", "(c - (sum (sum (a[i, j] * b))))"),
        ("[i in D] a[i] + b", "(all of (a[i] + b))"),
        ("if a then b + 1 else if c then d else e + 1", "(if a (b + 1) (if c d (e + 1)))"),
        ("max[i in D] a[i] > 0", "((max a[i]) > 0)"),
        ("any[i in D] a[i] > 0 or b", "((any (a[i] > 0)) or b)"),
        ("not all[i in D] not a[i]", "(not (all (not a[i])))"),
    ],
)
def test_precedence(text: str, meaning: str) -> None:
    assert spelled_out(parse_expression(text)) == meaning


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("D", None, None),
        ("D[1..]", 1, None),
        ("D[..-1]", None, -1),
        ("D[2..5]", 2, 5),
        ("D[-3..-1]", -3, -1),
    ],
)
def test_ranges(text: str, low: int | None, high: int | None) -> None:
    expr = parse_expression(f"sum[i in {text}] i")
    assert isinstance(expr, Reduction)
    found = expr.binders[0].range
    assert isinstance(found, Range)
    assert (found.low and found.low.value, found.high and found.high.value) == (low, high)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1_000", 1000), ("1_", 1), ("1__0", 10), ("1_0.5", 10.5), ("100_000_000_000_000", 10**14)],
)
def test_underscores_in_numbers_say_nothing(text: str, value: float) -> None:
    number = parse_expression(text)
    assert isinstance(number, syntax.Number)
    assert (number.value, type(number.value)) == (value, type(value))


def test_newlines_end_statements_but_not_inside_round_or_square_brackets() -> None:
    program = parse("a = f(\n  1,\n  [2,\n 3]\n)\nb = 2; c = 3\nfor i in D { d[i] = 1 }\n\n# end")
    assert len(program.statements) == 4
    assert [c.text for c in program.comments] == ["# end"]


def all_nodes(node: SyntaxNode) -> list[SyntaxNode]:
    found = [node]
    for item in found:
        found += children(item)
    return found


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_the_span_of_an_expression_is_its_text(path: object) -> None:
    """Reading back the text under the span of any expression gives the same expression."""
    text = path.read_text()  # type: ignore[attr-defined]
    for statement in parse(text).statements:
        for node in all_nodes(statement):
            if isinstance(node, Expr):
                assert parse_expression(text[node.span.start : node.span.end]) == node
