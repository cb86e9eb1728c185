"""Objectives with random parts: how they are cut into costs, what follows what, which estimator is
chosen and why.
"""

from __future__ import annotations

import numpy as np
import pytest

import dpc
from dpc.dsl.diagnostics import DpError
from dpc.dsl.library.annotations import ANNOTATIONS
from dpc.estimators.methods.table import METHODS
from dpc.gradient.costs import cost_terms
from dpc.gradient.follow import Followed, Lagged
from dpc.gradient.prepare import prepare
from dpc.gradient.program import ELSEWHERE

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

GRADIENTS = {
    method.name: method for row in ANNOTATIONS if row.name == "grad" for method in row.methods
}

PLATES = """
dim N = 4
dim K = 3
param w[K] : real = 0
z[n in N, k in K] ~ Bernoulli(logits=w[k])
s[n in N] = sum[k in K] w[k] * z[n, k]
total = sum[n in N] s[n]^2
minimize 2 * total - sum(s) + (max[n in N] s[n]) + sum(w)
"""


def binders(text: str) -> list[tuple[str, ...]]:
    return [tuple(bind.name for bind in term.binders) for term in cost_terms(dpc.parse(text).graph)]


# ---- costs


def test_sums_are_cut_into_costs_through_the_numbers_that_are_named() -> None:
    assert binders(PLATES) == [("n",), ("i0", "k"), (), ("i0",)]


def test_a_smoothed_objective_is_one_cost() -> None:
    text = (
        "param a : real = 0\nx ~ Normal(a, 1)\nminimize (if x > 0 then 1 else 0) + x with "
        "soft(logistic, scale=0.1)\n"
    )
    assert binders(text) == [()]


def test_a_binder_of_the_same_name_is_not_captured() -> None:
    text = """
    dim K = 3
    param w[K] : real = 0
    z[k in K, j in K] ~ Bernoulli(logits=w[k] + w[j])
    row[j in K] = sum[k in K] w[k] * z[j, k]
    minimize sum[k in K] row[k]
    """
    assert binders(text) == [("k", "k2")]


# ---- what follows what


def follows(text: str) -> dict[str, dict[int, int]]:
    graph, terms, *_ = prepare(dpc.parse(text).graph)
    return Followed(graph).follows(terms[0].binders, [terms[0].body])


def test_an_element_follows_the_draws_at_its_own_place() -> None:
    assert follows(PLATES) == {"z": {0: 0}}


def test_a_recurrence_follows_the_past() -> None:
    text = """
    dim T = 4
    param a : real = 0
    e[t in T] ~ Bernoulli(logits=a)
    y[0] ~ Normal(a, 1)
    y[t in T[1..]] ~ Normal(y[t-1] + e[t], 1)
    minimize sum[t in T] y[t]^2
    """
    found = follows(text)
    assert found == {"e": {0: 0}, "y": {0: 0}}
    assert all(isinstance(along[0], Lagged) for along in found.values())


# ---- choices


def choices(text: str, **data: object) -> dict[str, str]:
    return {choice.name: choice.method for choice in dpc.parse(text).estimator_choices(data)}


def test_finite_draws_are_summed_where_that_is_cheap() -> None:
    assert choices(PLATES) == {"z": "enumerate"}
    wide = PLATES.replace("dim N = 4", "dim N = 40")
    assert choices(wide) == {"z": "rloo"}
    local = wide.replace(" + (max[n in N] s[n])", "")
    assert choices(local) == {"z": "enumerate"}, "every row alone has 8 values"


def test_a_long_chain_of_named_draws_is_summed_along_the_chain() -> None:
    rows = ["param a : real = 0", "x0 ~ Bernoulli(logits=a)"]
    rows += [f"x{i} ~ Bernoulli(logits=if x{i - 1} then a else -a)" for i in range(1, 30)]
    found = choices("\n".join([*rows, "minimize if x29 then 1 else 0"]) + "\n")
    assert set(found.values()) == {"enumerate"}


def test_paths_are_followed_where_nothing_jumps() -> None:
    text = "param a : real = 0\nx ~ Normal(a, 1)\ny = {}\nminimize y\n"
    assert choices(text.format("x^2")) == {"x": "pathwise"}
    assert choices(text.format("if x > 0 then 1.0 else 0.0")) == {"x": "split"}
    assert choices(text.format("floor(x)")) == {"x": "rloo"}
    assert choices(text.format("if x > 0 then 1.0 else 0.0 with soft(logistic, scale=0.1)")) == {
        "x": "pathwise"
    }
    assert choices("fn f(x: real) -> real = if x > 0 then 1 else 0\n" + text.format("f(x)")) == {
        "x": "split"
    }
    assert choices("fn f(x: real) -> real = floor(x)\n" + text.format("f(x)")) == {"x": "rloo"}


def test_a_discrete_child_does_not_stop_the_path_of_its_parent() -> None:
    text = "param a : real = 0\nx ~ Normal(a, 1)\nb ~ Poisson(exp(x))\nminimize b * x\n"
    assert choices(text) == {"x": "pathwise", "b": "rloo"}


def test_nothing_is_drawn_that_no_cost_needs() -> None:
    assert choices("param a : real = 0\nx ~ Normal(a, 1)\ny ~ Normal(x, 1)\nminimize x^2\n") == {
        "x": "pathwise"
    }


def test_what_would_be_wrong_without_a_word_is_refused() -> None:
    jump = (
        "param a : real = 0\nx ~ Normal(a, 1) with grad=pathwise\nminimize if x > 0 then 1 else 0\n"
    )
    edge = "param a : real(lower=0) = 1\nx ~ Uniform(0, a) with grad=sfe\nminimize x^2\n"
    both = "param a : real(lower=0) = 1\nx ~ Uniform(0, a)\nminimize floor(3 * x)\n"
    for text, word in [(jump, "jump"), (edge, "edge")]:
        with pytest.raises(DpError, match=word):
            dpc.parse(text)
    with pytest.raises(DpError, match="no gradient passes"):
        dpc.parse(both).estimator_choices()


def test_a_posterior_mean_is_refused() -> None:
    text = (
        "observed y : real\nparam a : real = 0\nx ~ Normal(a, 1)\ny ~ Normal(x, 1)\nminimize x^2\n"
    )
    with pytest.raises(DpError, match="posterior"):
        dpc.parse(text).estimator_choices()


# ---- tables of the language and of the estimators


def test_every_method_of_the_language_is_an_estimator_with_the_same_options() -> None:
    for name, method in GRADIENTS.items():
        own = set(method.options) - ELSEWHERE - {"constant"}
        assert own <= set(METHODS[name].__dataclass_fields__), name


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("minimize sum[n in N] z[n]", 20.0),
        ("total = sum[n in N] z[n]\nminimize 2 * total", 40.0),
        ("total = sum[n in N] z[n]\nminimize 3 - total", -20.0),
        ("total = sum(2 * z)\nminimize total - 1", 40.0),
        ("worth[n in N] = if z[n] then 3 else 1\ntotal = sum(worth)\nminimize total", 40.0),
        ("total = sum[n in N] z[n]\nminimize if on > 0 then total else 0", 20.0),
        ("total = sum[n in N] z[n]\nminimize twice(total)", 40.0),
        ("total = sum[n in N] z[n]\nb ~ Bernoulli(0.25)\nminimize b * total", 5.0),
    ],
)
def test_a_name_for_a_sum_does_not_turn_it_into_sampling(text: str, slope: float) -> None:
    """d E / d a = slope p (1 - p): every element is summed on its own, 2 values, not 2^20."""
    head = """
fn twice(x: real) -> real = 2 * x
dim N = 20
data on : real = 1
param a : real = 0.3
z[n in N] ~ Bernoulli(logistic(a))
"""
    model = dpc.parse(head + text + "\n")
    found = model.grad(samples=2, data={"on": 1.0})
    assert found.exact == "every draw is summed"
    p = 1 / (1 + np.exp(-0.3))
    assert float(found["a"]) == pytest.approx(slope * p * (1 - p), rel=1e-5)
