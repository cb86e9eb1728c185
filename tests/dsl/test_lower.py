"""Compiled programs against the naive twin: on the models, and on programs that nobody wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import graph
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from interpret import Interpreter
from marks import slow_ones

from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Bool, IndexOf, Int
from dpc.dsl.lower.emit import emit_module
from dpc.dsl.lower.run import run_graph
from dpc.dsl.pipeline import read_source

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

FOLDER = Path(__file__).parent.parent.parent / "models"
MODELS = sorted(path for path in FOLDER.rglob("*.dp") if path.parent.name != "bayes")
LONG = {
    "second_order",
    "topics",
    "vae",
    "alarm",
    "child",
    "gaussian_process",
    "digits",
    "garch",
    "changepoint",
    "tracking",
    "gate_function",
}
SIZES = {"T": 6, "F": 4, "County": 3, "Obs": 5, "Day": 7, "Point": 5, "Feature": 3, "Document": 2, "Word": 4,
         "Token": 6, "Year": 5, "N": 3, "Input": 2, "Image": 2}  # fmt: skip
EXTERNS = {
    "dec": lambda z: jnp.sin(jnp.arange(64.0)) * jnp.sum(z),
    "enc": lambda x: jnp.cos(jnp.arange(20.0)),
}


def compiled(found: Graph, text: str | None = None) -> dict[str, Any]:
    namespace: dict[str, Any] = dict(EXTERNS)
    if text is None:
        return run_graph(found, EXTERNS)
    exec(compile(text, "program", "exec"), namespace)
    namespace.update(EXTERNS)  # a printed program has places where the caller's functions go
    return namespace


def shape_of(node: Node) -> tuple[int, ...]:
    return tuple(axis.size or SIZES[str(axis)] for axis in node.type.shape)


def any_value(node: Node, chance: np.random.Generator) -> jax.Array:
    """A value of the node's type, away from the ends of its range."""
    domain, shape = node.type.domain, shape_of(node)
    if isinstance(domain, Bool):
        return jnp.asarray(chance.random(shape) < 0.5)
    if isinstance(domain, IndexOf):
        return jnp.asarray(chance.integers(0, domain.dim.size or SIZES[str(domain.dim)], shape))
    if isinstance(domain, Int):
        return jnp.asarray(chance.integers(0, 4, shape))
    return jnp.asarray(0.1 + 0.8 * chance.random(shape))


def given_values(found: Graph, seed: int = 0) -> dict[str, Any]:
    chance = np.random.default_rng(seed)
    wanted = [
        n
        for n in found.nodes
        if n.kind in (Kind.INPUT, Kind.PARAMETER) or n.observed or n.undirected
    ]
    unsized = {dim.name: SIZES[dim.name] for dim in found.dims if dim.size is None}
    return unsized | {n.name: any_value(n, chance) for n in wanted}


def is_soft(found: Graph) -> bool:
    return any(s.name == "soft" for n in found.nodes for s in n.settings)


@pytest.fixture(
    scope="module",
    params=slow_ones(MODELS, [path for path in MODELS if path.stem in LONG]),
    ids=lambda p: p.stem,
)
def model(request: pytest.FixtureRequest) -> Graph:
    return graph(read_source(str(request.param)).text)


@pytest.fixture(scope="module")
def own(model: Graph) -> dict[str, Any]:
    """The functions of the model, compiled once for both of its tests."""
    return compiled(model)


def test_a_model_agrees_with_its_twin(model: Graph, own: dict[str, Any]) -> None:
    functions, known = own, given_values(model)
    if "sample" in functions:
        known |= functions["sample"](jax.random.key(1), known, known)
    if "log_prob" in functions:
        assert np.allclose(
            functions["log_prob"](known, known, known),
            Interpreter(model, known, EXTERNS).log_prob(),
        )
    if "evaluate" in functions and not is_soft(model):
        twin = Interpreter(model, known, EXTERNS)
        for name, value in functions["evaluate"](known, known, known).items():
            np.testing.assert_allclose(value, twin.value(name), rtol=1e-10, atol=1e-12)


def test_the_printed_program_gives_the_same_numbers(model: Graph, own: dict[str, Any]) -> None:
    printed = compiled(model, emit_module(model, "A model."))
    known = given_values(model)
    if "sample" in own:
        first, second = (f["sample"](jax.random.key(2), known, known) for f in (own, printed))
        jax.tree.map(np.testing.assert_array_equal, first, second)
        known |= first
    for name in {"log_prob", "evaluate", "objective"} & own.keys():
        jax.tree.map(
            np.testing.assert_array_equal,
            own[name](known, known, known),
            printed[name](known, known, known),
        )


# ---- programs that nobody wrote

HEAD = """
dim N = 4
dim K = 3
dim B = no | yes
data a[N] : real
data b[N, K] : real
data link[N] : K
data flag[N] : bool
data mark[N] : B
param w[K] : real
param c : real
fn bend(x: real, y: real) -> real = x * y - 0.5 * x
fn total(v[K]: real) -> real = sum(v) + v[0]
"""

SCALARS = ["c", "0.5", "2", "w[1]", "a[0]", "a[-1]", "b[1, 2]", "sum(w)", "total(w)"]
WITH = {
    "i": ["a[i]", "w[link[i]]", "b[i, 0]", "b[i, link[i]]", "(1 * i)", "dot(b[i], w)", "total(b[i])", "flag[i]",
          "dot(one_hot(link[i]), w)",
          "table mark[i], flag[i] { no, true => 1; yes, _ => 2; _, _ => 3 }", "table mark[i] { no => a[i]; yes => c }"],
    "k": ["w[k]", "b[2, k]", "(2 * k)", "(transpose(b) @ a)[k]"],
    "ik": ["b[i, k]", "bend(a[i], w[k])"],
}  # fmt: skip


def expressions(bound: str) -> st.SearchStrategy[str]:
    """Numbers in the scope of these binders."""
    leaves = SCALARS + [
        text for names, texts in WITH.items() if set(names) <= set(bound) for text in texts
    ]
    fresh = [name for name in "ik" if name not in bound]

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(st.sampled_from("+-*"), inner, inner).map(
            lambda t: f"({t[1]} {t[0]} {t[2]})"
        )
        branches = st.tuples(inner, st.sampled_from(["<", ">=", "!="]), inner, inner, inner).map(
            lambda t: f"(if {t[0]} {t[1]} {t[2]} then {t[3]} else {t[4]})"
        )
        names = st.sampled_from(["tanh", "logistic", "abs", "square"])
        calls = st.tuples(names, inner).map(lambda t: f"{t[0]}({t[1]})")
        loops = st.tuples(inner, inner, st.integers(0, 10**9)).map(
            lambda t: (
                f"(loop l{t[2]} = {t[0]} while l{t[2]} < 1 max 3 do l{t[2]} + logistic({t[1]}))"
            )
        )
        return st.one_of(pairs, branches, calls, loops)

    found = st.recursive(st.sampled_from(leaves), grow, max_leaves=5)
    for name in fresh:
        inside = st.recursive(
            st.sampled_from(leaves + WITH[name] + (WITH["ik"] if bound else [])), grow, max_leaves=3
        )
        dim, part = ("N", "N[1..]") if name == "i" else ("K", "K[..-1]")
        forms = [f"{word}[{name} in {dim}]" for word in ("sum", "mean")]
        forms += [f"{word}[{name} in {part}]" for word in ("max", "prod", "logsumexp")]
        forms += [f"sum[{name} in {dim} where {name} != 1]"]
        reductions = st.tuples(st.sampled_from(forms), inside).map(lambda t: f"({t[0]} ({t[1]}))")
        found = st.one_of(found, reductions)
    return found


@st.composite
def programs(draw: st.DrawFn) -> str:
    four = {
        bound: st.lists(expressions(bound), min_size=4, max_size=4)
        for bound in ("", "i", "k", "ik")
    }
    scalar, by_i, by_k, by_both = map(draw, four.values())
    lines = [
        HEAD,
        f"p := {scalar[0]}",
        f"q[i in N] := {by_i[0]}",
        f"r[k in K, i in N] := {by_both[0]}",
        f"v[i in N] := [k in K] {by_both[1]}",
        f"s[0] = {scalar[1]}",
        f"s[i in N[1..]] = 0.5 * s[i-1] + {by_i[1]}",
        f"u[-1, k in K] = {by_k[0]}",
        f"u[i in N[..-1], k in K] = u[i+1, k] - {by_both[2]}",
        f"x[i in N] ~ Normal({by_i[2]}, 1)",
        f"y[k in K] ~ Normal({by_k[1]} + sum(x), 2)",
        f"factor f[i in N, k in K where {by_both[3]} > c] : s[i] * u[i, k] + {by_both[0]}",
    ]
    return "\n".join(lines) + "\n"


@settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(programs(), st.integers(0, 1000))
def test_any_program_agrees_with_its_twin(text: str, seed: int) -> None:
    agree(text, seed)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(programs(), st.integers(0, 1000))
def test_many_programs_agree_with_their_twins(text: str, seed: int) -> None:
    agree(text, seed)


def agree(text: str, seed: int) -> None:
    found = graph(text)
    functions, known = compiled(found), given_values(found, seed)
    known |= {
        n.name: any_value(n, np.random.default_rng(seed + 1)) for n in found.of_kind(Kind.DRAW)
    }
    twin = Interpreter(found, known)
    np.testing.assert_allclose(
        functions["log_prob"](known, known, known), twin.log_prob(), rtol=1e-9, atol=1e-9
    )
    for name, value in functions["evaluate"](known, known, known).items():
        np.testing.assert_allclose(value, twin.value(name), rtol=1e-9, atol=1e-9)
