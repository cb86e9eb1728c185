"""The graph of a program: nodes, parents, randomness, invariants, classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import graph

from dpc.dsl.diagnostics import InternalError
from dpc.dsl.graph import passes
from dpc.dsl.graph.classify import classify
from dpc.dsl.graph.graph import Graph, Kind, verify_graph
from dpc.dsl.graph.passes.standard import PASSES, rewrite, run_passes
from dpc.dsl.graph.passes.table import REWRITES

TEXT = """
model m
dim N
data x[N] : real
param w : real = 0
observed y[N] : real
scale ~ HalfNormal(1)
mean[i in N] = w * x[i]
y[i in N] ~ Normal(mean[i], scale)
free := exp(w)
"""


def test_parents_and_randomness() -> None:
    found = graph(TEXT)
    assert {n.name: n.parents for n in found.nodes} == {
        "x": (),
        "w": (),
        "scale": (),
        "mean": ("w", "x"),
        "y": ("mean", "scale"),
        "free": ("w",),
    }
    assert {n.name for n in found.nodes if n.random} == {"scale", "y"}
    assert found["y"].observed
    assert found["y"].kind is Kind.DRAW
    assert [str(plate) for plate in found["mean"].plates] == ["N"]


def test_order_of_statements_does_not_matter() -> None:
    lines = TEXT.strip().splitlines()
    turned = graph("\n".join([lines[0], *reversed(lines[1:])]))
    assert {n.name: n for n in turned.nodes} == {n.name: n for n in graph(TEXT).nodes}


def test_passes_change_nothing_the_second_time() -> None:
    found = graph(TEXT)
    assert run_passes(found) == found
    for transform in PASSES:
        assert transform(found) == found


def test_constants_are_folded() -> None:
    piece = graph("x := 2 * 3 + 4^2 - 1 / 4\n")["x"].pieces[0]
    assert getattr(piece.body, "value", None) == 2 * 3 + 4**2 - 1 / 4


def broken(change: str) -> Graph:
    """The graph of TEXT with one invariant broken."""
    found = graph(TEXT)
    y, mean, w = found["y"], found["mean"], found["w"]
    others = tuple(n for n in found.nodes if n.name != "y")
    return {
        "duplicate": found.replace(nodes=(*found.nodes, w)),
        "order": found.replace(nodes=tuple(reversed(found.nodes))),
        "random": found.replace(nodes=(*others, y.replace(random=False))),
        "not random": found.replace(
            nodes=(*others, y, w.replace(name="v", kind=Kind.FUNCTION, pieces=mean.pieces))
        ),
        "parent": found.replace(nodes=(*others, y.replace(parents=("mean",)))),
        "kind": found.replace(nodes=(*others, y.replace(kind=Kind.FUNCTION))),
        "given": found.replace(nodes=(*others, y.replace(kind=Kind.INPUT))),
        "empty": found.replace(nodes=(*others, mean.replace(name="v", pieces=(), parents=()))),
        "rank": found.replace(nodes=(*others, y.replace(type=w.type))),
        "dim": found.replace(dims=(), nodes=graph("dim N\nx := sum[i in N] 1.0\n").nodes),
    }[change]


@pytest.mark.parametrize(
    "change",
    [
        "duplicate",
        "order",
        "random",
        "not random",
        "parent",
        "kind",
        "given",
        "empty",
        "rank",
        "dim",
    ],
)
def test_verify_refuses_a_broken_graph(change: str) -> None:
    with pytest.raises(InternalError):
        verify_graph(broken(change))


@pytest.mark.parametrize(
    ("text", "name", "structure"),
    [
        ("param w : real = 0\nminimize w^2\n", "computation graph", ()),
        ("x ~ Normal(0, 1)\nminimize x\n", "stochastic computation graph", ()),
        ("dim B = a | b\nx : B ~ Categorical(a=0.5, b=0.5)\n", "Bayesian network", ()),
        (
            (
                "a ~ Bernoulli(0.5)\nb : bool ~ table a => true, false { true => 0.1, 0.9; false => "
                "0.5, 0.5 }\n"
            ),
            "Bayesian network",
            ("tree (each variable has at most one parent)",),
        ),
        ("latent s : bool\nfactor f : if s then 1 else 0\n", "Markov random field", ()),
        (
            "data x : real\nlatent s : bool\nfactor f : if s then x else 0\n",
            "conditional random field",
            (),
        ),
        ("a ~ Bernoulli(0.5)\nlatent s : bool\nfactor f : if s == a then 1 else 0\n", "mixed", ()),
        (
            "dim T\nlatent s[T] : bool\nfactor f[t in T[2..]] : s[t] * s[t-2]\n",
            "Markov random field",
            ("chain of order 2 along T (s)",),
        ),
        (
            "dim T\nlatent s[T] : bool\nfactor f[i in T, j in T where i < j] : s[i] * s[j]\n",
            "Markov random field",
            ("densely coupled (s)",),
        ),
    ],
)
def test_classes(text: str, name: str, structure: tuple[str, ...]) -> None:
    found = classify(graph(text))
    assert (found.name, found.structure) == (name, structure)
    assert found.reasons


def test_the_guide_shares_inputs_only() -> None:
    text = """
dim N
data x[N] : real
observed y[N] : real
z[i in N] ~ Normal(0, 1)
y[i in N] ~ Normal(z[i], 1)
guide {
    param m : real = 0
    z[i in N] ~ Normal(m * x[i] + y[i], 1)
}
maximize elbo()
"""
    found = graph(text)
    assert found.guide
    assert {n.name: n.kind for n in found.guide.nodes} == {
        "x": Kind.INPUT,
        "y": Kind.INPUT,
        "m": Kind.PARAMETER,
        "z": Kind.DRAW,
    }
    assert found["maximize"].random


# ---- rewrites


def test_all_rewrites_stand_in_the_list() -> None:
    """A function of dsl/graph/passes that is marked as a rewrite is in the table, and verified."""
    folder = Path(passes.__file__).parent
    marked = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                marked.add(node.name)
    listed = {change.__name__ for change in REWRITES if change not in PASSES}
    assert marked - {"verified"} == listed


def test_no_other_place_makes_graphs() -> None:
    """Nodes of a graph are replaced by rewrites and by the builder alone."""
    replaced = re.compile(r"graph\.replace\(|map_nodes\(|\.replace\(\s*nodes=")
    root = Path(passes.__file__).parents[3]
    found = set()
    for folder in ("dsl", "dpc"):
        for path in (root / folder).rglob("*.py"):
            if replaced.search(path.read_text(encoding="utf-8")):
                found.add(path.relative_to(root).as_posix())
    # Rows of a file are cases: the binder of data sees one more axis, and nothing else does.
    allowed = {"dsl/graph/build.py", "dsl/graph/graph.py", "dpc/learn/cases.py"}
    inside = {path for path in found if path.startswith("dsl/graph/passes/")}
    assert found - inside <= allowed


@pytest.mark.parametrize("change", REWRITES, ids=lambda change: change.__name__)
def test_a_rewrite_says_what_it_keeps_in_a_sentence(change: Callable[..., object]) -> None:
    first = (change.__doc__ or "").strip().partition("\n")[0]
    assert first.endswith((".", ";", ":"))


def test_a_broken_rewrite_is_noticed() -> None:
    @rewrite
    def forget_parents(found: Graph) -> Graph:
        return found.map_nodes(lambda node: node.replace(parents=()))

    with pytest.raises(InternalError, match="mean mentions w"):
        forget_parents(graph(TEXT))
