"""Poles that are only touched, and functions that have their own: refused, or sampled by scores.

The derivative of a sample sees nothing of (x - t) / norm([x - t]), which is a sign.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import dpc
from dpc.dsl.diagnostics import DpError
from dpc.dsl.library.functions import FUNCTIONS, FunctionRow
from dpc.dsl.library.rows import SINGULAR
from dpc.exits import UsageError

LOOSE_JAX = "functions from outside promote types"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

HEAD = "param t : real = 0.3\nx ~ Normal(0, 1)\nminimize "

MOVING = [
    "x * (x - t) / norm([x - t])",
    "x * (x - t) / norm1([x - t])",
    "x * (x - t) / distance([x], [t])",
    "x * (x - t) / sd([x, t])",
    "x * (x - t) / max(abs(x - t), relu(t - x))",
    "normalize([x - t, 0])[0] * x",
    "layer_norm([x, t], 0)[0] * x",
    "batch_norm([[x], [t]], 0)[0, 0] * x",
    "solve([[abs(x - t)]], [x - t])[0] * x",
    "solve_triangular(cholesky([[(x - t)^2]]), [x - t])[0] * x",
    "tanh((x - t) / log(1 + (x - t)^2)^0.5) * x",
    "tanh((x - t) / huber(x - t)^0.5) * x",
    "tanh((x - t) / sqrt(cosh(x - t) - 1)) * x",
    "tanh((x - t) / sqrt(1 - exp(-(x - t)^2))) * x",
    "tanh(inv([[x - t]])[0, 0])",
    "tanh(digamma(exp(x) - exp(t)))",
    "softargmax([x, t], abs(x - t))[0]",
    "atan2(0, x - t)",
    "log(norm([x - t]))",
    "log(sd([x, t]))",
    "logdet([[x, t], [t, x]])",
    "lgamma(x - t)",
    "log1p(x - t)",
    "logit(sparsesigmoid(x - t))",
]


@pytest.mark.parametrize("objective", MOVING)
def test_poles_that_are_touched_are_refused(objective: str) -> None:
    with pytest.raises(DpError, match="no derivative sees it"):
        dpc.parse(HEAD + objective + "\n")


AWAY = [
    "1 / norm([x - t, 1])",
    "x / (1 + var([x, t]))",
    "log(softargmax([x, t])[0])",
    "1 / (1 - tanh(x - t)^2)",
    "log(1 - logistic(x - t))",
    "normalize([x - t, 1])[0]",
    "logdet([[1, tanh(x - t)], [tanh(x - t), 1]])",
    "inv([[1 + (x - t)^2]])[0, 0]",
    "lgamma(exp(x - t))",
    "log(x^2 + t^2)",
    "layer_norm([x, t])[0]",
]


@pytest.mark.parametrize("objective", AWAY)
def test_what_stays_away_is_followed_along_its_path(objective: str) -> None:
    (choice,) = dpc.parse(HEAD + objective + "\n").estimator_choices()
    assert choice.method == "pathwise"


def test_a_branch_keeps_away_from_the_pole_that_it_compares_with() -> None:
    model = dpc.parse(HEAD + "if x > t then log(x - t) else 0\n")

    def mean(t: float) -> float:
        return integrate.quad(lambda z: np.log(z) * stats.norm.pdf(z + t), 0, 9)[0]

    found = model.grad(samples=2000).estimates.gradient["t"]
    truth = (mean(0.301) - mean(0.299)) / 0.002
    assert float(found.mean) == pytest.approx(truth, abs=5 * float(found.error))


def test_a_pole_of_draws_alone_is_sampled_by_its_score() -> None:
    """layer_norm(x, 0)[0] of two is the sign of their difference."""
    text = "dim K = 2\nparam t : real = 0.3\nx[k in K] ~ Normal(t * k, 1)\nv = layer_norm(x, 0)\n"
    found = dpc.parse(text + "minimize v[0]\n").grad(samples=2000)
    assert [choice.method for choice in found.choices] == ["rloo"]
    moments = found.estimates.gradient["t"]
    truth = -2 * stats.norm.pdf(0.3, scale=np.sqrt(2))
    assert float(moments.mean) == pytest.approx(truth, abs=5 * float(moments.error))


@pytest.mark.parametrize("objective", ["cholesky([[(x - t)^2]])[0, 0] * x", "acosh(cosh(x - t))"])
def test_roots_of_what_touches_zero_have_no_second_derivative(objective: str) -> None:
    with pytest.raises(UsageError, match="kink"):
        dpc.parse(HEAD + objective + "\n").grad(samples=10, hessian=True)


def test_rows_name_their_arguments_and_known_places() -> None:
    for row in FUNCTIONS:
        own = {p.name for p in row.signature.params}
        for names, where in {**row.all_poles, **row.bends}.items():
            assert set(names.split()) <= own, row.text
            assert where in SINGULAR, row.text


UNSAID = {"sqrt", "log", "log2", "log10", "xlogy", "entropy", "kl", "softargmax_inverse"}


@pytest.mark.parametrize("row", [r for r in FUNCTIONS if r.name in UNSAID], ids=lambda r: r.text)
def test_functions_with_an_end_say_so(row: FunctionRow) -> None:
    assert row.all_poles or row.bends


EXTERN = "extern fn f(a: real, b: real) -> real\n" + HEAD + "f(x, t) * x\n"


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: 1.0 * jnp.searchsorted(jnp.stack([b, b + 1]), a),
        lambda a, b: 1.0 * jnp.digitize(a, jnp.stack([b, b + 1])),
        lambda a, b: jnp.tanh(jnp.linalg.inv((a - b)[None, None])[0, 0]),
        lambda a, b: 1.0 * jnp.sum(jnp.stack([a, a * b]) > b),
    ],
)
def test_counts_and_poles_from_outside_are_jumps(function: Any) -> None:
    with pytest.raises(DpError, match="no derivative sees it"):
        dpc.parse(EXTERN, f=function).estimator_choices()


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: jnp.arccos(jnp.cos(a - b)),
        lambda a, b: jnp.linalg.cholesky(((a - b) ** 2)[None, None])[0, 0],
        lambda a, b: jnp.linalg.eigh(jnp.diag(jnp.stack([a, b])))[0][1],
    ],
)
def test_hidden_kinks_from_outside_have_no_second_derivative(function: Any) -> None:
    with pytest.raises(UsageError, match="kink"):
        dpc.parse(EXTERN, f=function).grad(samples=10, hessian=True)


@pytest.mark.parametrize(
    ("objective", "hessian", "said"),
    [
        ("sqrt(relu(x - t))", True, "the derivative of `minimize`"),
        ("x + t * log(x)", False, "the value of `minimize`"),
        ("entargmax([x, t], 30)[0] * x", False, "not a number"),
    ],
)
def test_an_estimate_that_is_no_number_is_an_error(
    objective: str, hessian: bool, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        dpc.parse(HEAD + objective + "\n").grad(samples=500, hessian=hessian)
