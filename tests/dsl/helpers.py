"""Short ways to ask the compiler something."""

from __future__ import annotations

from dpc.dsl.diagnostics import Diagnostic
from dpc.dsl.graph.build import build_graph
from dpc.dsl.graph.graph import Graph
from dpc.dsl.source import Source
from dpc.dsl.text.parser import parse_program
from dpc.dsl.text.syntax import Expr, LetStmt, Program
from dpc.model.check import check_model


def parse(text: str) -> Program:
    program, errors = parse_program(Source("test.dp", text))
    assert not errors, [e.message for e in errors]
    return program


def parse_expression(text: str) -> Expr:
    statement = parse(f"x = {text}\n").statements[0]
    assert isinstance(statement, LetStmt)
    return statement.value


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    return check_model(Source("test.dp", text)).diagnostics


def codes(text: str) -> list[str]:
    return [d.code for d in diagnostics(text)]


def graph(text: str) -> Graph:
    result = check_model(Source("test.dp", text))
    assert result.typed, [f"{d.code} {d.message}" for d in result.diagnostics]
    return build_graph(result.typed)
