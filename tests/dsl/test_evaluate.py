"""The evaluator against the naive interpreter, along one binder: every kind of expression."""

from __future__ import annotations

import numpy as np
import pytest
from interpret import Interpreter

from dpc.dsl.graph.evaluate import Evaluator, Sizes
from dpc.dsl.pipeline import check_source
from dpc.dsl.source import Source

HEAD = """
model m
dim D = 4
dim K = 3
data a[D, K] : real
data b[D] : real
data k[D] : K
fn half(x: real) -> real = x / 2
"""
EXPRESSIONS = [
    "a[i, k[i]] + half(b[i]) * 2",
    "softargmax([j in K] a[i, j])[1]",
    "logsumexp([j in K] a[i, j]) - max([j in K] a[i, j])",
    "if b[i] > 0 then sqrt(abs(b[i])) else exp(-b[i]^2)",
    "sum[j in K where a[i, j] > 0] tanh(a[i, j])",
    "dot([j in K] a[i, j], one_hot(k[i]))",
    "loop s = b[i] while s < 4 max 20 do s * s + 1",
    "huber(b[i], 0.3) + Phi(b[i]) + lgamma(2 + b[i]^2) + floor(3 * b[i])",
    "quantile([j in K] a[i, j], 0.4) + sd([j in K] a[i, j]) + size(K)",
    "entmax([j in K] a[i, j]) + norm([j in K] sort([l in K] a[i, l])[j])",
    "clip(b[i], -0.5, 0.5) + min(b[i], 0) + logistic(b[i]) + cumsum([j in K] a[i, j])[2]",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_values_are_those_of_the_interpreter(text: str) -> None:
    checked = check_source(Source("test.dp", f"{HEAD}y[i in D] = {text}\n"))
    graph = checked.graph
    assert graph is not None, [d.message for d in checked.diagnostics]
    chance = np.random.default_rng(5)
    given = {
        "a": chance.normal(size=(4, 3)),
        "b": chance.normal(size=4),
        "k": np.array([0, 2, 1, 2]),
    }
    (piece,) = graph["y"].pieces
    functions = {function.name: function for function in graph.functions}
    evaluator = Evaluator(given, Sizes({}), functions)
    found = np.broadcast_to(evaluator.value(piece.body, piece.indices), 4)
    np.testing.assert_allclose(found, Interpreter(graph, given).value("y"), rtol=1e-6)
