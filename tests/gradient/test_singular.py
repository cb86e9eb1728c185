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


# ---- what a branch, a binder or a constraint says of a definition

DRAWN = "param t : real = 0.4\nx ~ Normal(t, 1)\n"
SIMPLEX = "dim K = 2\nparam t : real(lower=0) = 1.3\n"
NORMAL = stats.norm(0, 1).pdf
BESIDE = {
    # E sign(x) twice, once above 0.5: phi(0.1) + 2 phi(0.4)
    "a name that a branch reads first": (
        f"{DRAWN}w = x^2\na = if x > 0.5 then x / sqrt(w) else 0\nminimize a + x / sqrt(w)\n",
        NORMAL(0.1) + 2 * NORMAL(0.4),
    ),
    "a name under a logarithm": (
        f"{DRAWN}w = (x - 1)^2\na = if x > 1.5 then log(w) else -0.7\n"
        "minimize a + (x - 1) / sqrt(w)\n",
        2 * NORMAL(0.6)
        + integrate.quad(lambda x: np.log((x - 1) ** 2) * (x - 0.4) * NORMAL(x - 0.4), 1.5, 12)[0]
        - 0.7 * integrate.quad(lambda x: (x - 0.4) * NORMAL(x - 0.4), -12, 1.5)[0],
    ),
    "a function that a branch calls first": (
        f"{DRAWN}fn ratio(a: real, b: real) -> real = a / b\nw = abs(x)\n"
        "minimize (if x < -1 then ratio(x, w) else 0) + ratio(x, w)\n",
        NORMAL(1.4) + 2 * NORMAL(0.4),
    ),
    # E sign(x[j]) [x[k] > 0.5], summed over both
    "a binder of the same name": (
        "dim K = 2\nparam t : real = 0.4\nx[k in K] ~ Normal(t, 1)\nw[k in K] = x[k]^2\n"
        "minimize sum[k in K, j in K] (if x[k] > 0.5 then x[j] / sqrt(w[j]) else 0)\n",
        2 * NORMAL(0.1)
        + 2 * (NORMAL(0.1) * (2 * stats.norm.cdf(0.4) - 1))
        + 2 * (stats.norm.cdf(-0.1) * 2 * NORMAL(0.4)),
    ),
    # p[1] = 1 - p[0]: sign(p[0] - 1/2) / sqrt(2), P(p[0] < 1/2) = 1/2^t
    "entries of a simplex follow from each other": (
        f"{SIMPLEX}p ~ Dirichlet([t, 1])\nminimize normalize([p[0] - 0.5, p[1] - 0.5])[0]\n",
        np.sqrt(2) * 0.5**1.3 * np.log(2),
    ),
    "rows of simplexes may be singular": (
        f"{SIMPLEX}data c[K] : real = [1, 0]\nA[k in K] ~ Dirichlet([t^c[k], 1])\n"
        "minimize atan(inv(A)[0, 0])\n",
        None,
    ),
}


def mean_of_inverse(t: float) -> float:
    """E atan(d / (a d - b c)) for rows (a, b) ~ Dirichlet(t, 1) and (c, d) ~ Dirichlet(1, 1)."""
    # a = u^(1/t) and c = v are Beta(t, 1) and Beta(1, 1); the determinant is a - c.
    # The integral over c: of atan((1 - c) / (a - c)), which jumps at c = a.
    a, weights = np.polynomial.legendre.leggauss(400)
    u, own = (a + 1) / 2, weights / 2
    first = u ** (1 / t)

    def inner(a: float) -> float:
        parts = []
        for low, high in ((0.0, a), (a, 1.0)):
            c = low + (high - low) * u
            parts.append((high - low) * np.sum(own * np.arctan((1 - c) / (a - c))))
        return float(sum(parts))

    return float(np.sum(own * np.array([inner(each) for each in first])))


@pytest.mark.parametrize("name", BESIDE)
def test_what_is_said_in_one_place_does_not_hold_in_another(name: str) -> None:
    """Within 5 standard errors: a false alarm in two million."""
    text, truth = BESIDE[name]
    if truth is None:
        truth = (mean_of_inverse(1.31) - mean_of_inverse(1.29)) / 0.02
    found = dpc.parse(text).grad(samples=20_000).estimates.gradient["t"]
    assert abs(float(found.mean) - truth) < 5 * float(found.error) + 1e-3


SMOOTHED = " with smooth(gaussian, scale=0.5, over=x)\n"
NOISY = "param t : real = 0.4\nparam x : real = 1\ny ~ Normal(t, 1)\n"


@pytest.mark.parametrize(
    ("body", "truth"),
    [
        ("x * normalize([y])[0]", 2 * NORMAL(0.4)),
        ("x * atan(1 / y)", None),
    ],
)
def test_the_noise_of_one_variable_does_not_smooth_another(body: str, truth: float | None) -> None:
    """E x g(y), with noise in x alone."""
    if truth is None:
        parts = [(-12, 0), (0, 12)]
        moved = [
            integrate.quad(lambda y: np.arctan(1 / y) * (y - 0.4) * NORMAL(y - 0.4), *part)[0]
            for part in parts
        ]
        truth = sum(moved)
    for text in (f"minimize {body}{SMOOTHED}", f"c = {body}{SMOOTHED}minimize c\n"):
        found = dpc.parse(NOISY + text).grad(samples=10_000).estimates.gradient["t"]
        assert abs(float(found.mean) - truth) < 5 * float(found.error)


def test_kinks_of_what_is_not_noisy_have_no_second_derivative() -> None:
    with pytest.raises(UsageError, match="abs"):
        dpc.parse(f"{NOISY}minimize x^2 * abs(y){SMOOTHED}").grad(hessian=True)


def test_the_sign_of_what_stays_at_0() -> None:
    """E sign(relu(x)) x = E relu(x): its derivative in the sd is phi(m / s)."""
    text = "param s : real(lower=0) = 0.8\nx ~ Normal(0.3, s)\nminimize sign(relu(x)) * x\n"
    found = dpc.parse(text).grad(samples=20_000).estimates.gradient["s"]
    assert abs(float(found.mean) - NORMAL(0.3 / 0.8)) < 5 * float(found.error)
