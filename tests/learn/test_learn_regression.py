"""Regressions in NumPy against derivatives of the compiled likelihood; without a certificate, the
general way.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import dpc
from dpc.learn import regression
from dpc.learn.regression import Design, estimate, find_regression
from dpc.learn.run import WrongStart

PLAIN = """
dim Obs
dim F
data x[Obs, F]  : real
data g[Obs]     : G
dim G = 3
observed y[Obs] : bool
param b         : real = 0
param w[F]      : real = 0
param a[G]      : real = 0
y[i in Obs] ~ Bernoulli(logits=0.5 + a[g[i]] + dot(x[i], w))
"""
CASES = """
dim F
data x[F]  : real
observed y : int(lower=0)
param w[F] : real = 0
eta = 0.1 + dot(w, x) + 2 * w[0]
y ~ Poisson(log_rate=eta)
"""
LINEAR = """
dim Obs
data u[Obs]     : real
observed y[Obs] : real
param s : real(lower=0) = 1
param b : real = 0
param c : real = 0
mu[i in Obs] = b + c * u[i]
y[i in Obs] ~ Normal(1e3 + mu[i], s)
"""
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
DATA: dict[str, tuple[str, dict[str, Any]]] = {
    "groups": (PLAIN.replace("param b         : real = 0\n", ""),
               {"x": X, "g": rng.integers(0, 3, 60), "y": rng.random(60) < 0.6}),
    "cases": (CASES, {"x": X, "y": rng.poisson(1.5, 60)}),
    "linear": (LINEAR, {"u": X[:, 0], "y": 1000 + X @ [1.0, 2.0]}),
}  # fmt: skip


@pytest.mark.parametrize("name", DATA)
def test_the_gradient_vanishes_and_the_hessian_gives_the_errors(name: str) -> None:
    text, data = DATA[name]
    model = dpc.parse(text)
    likelihood = model.likelihood(data)
    assert find_regression(likelihood) is not None
    fit = model.fit(data)
    flat, unravel = ravel_pytree({key: jnp.asarray(value) for key, value in fit.params.items()})
    loss = jax.jit(lambda point: likelihood.loss(unravel(point)))
    slope, curvature = jax.jit(jax.grad(loss))(flat), jax.jit(jax.hessian(loss))(flat)
    assert fit.converged
    assert fit.value == pytest.approx(-float(loss(flat)), abs=1e-9)
    assert np.abs(slope).max() < 1e-5
    assert fit.gradient_norm < 1e-5
    np.testing.assert_allclose(
        ravel_pytree(fit.errors)[0], np.sqrt(np.diag(np.linalg.inv(curvature))), rtol=1e-6
    )


TREND = """
dim T
data u[T]     : real
observed y[T] : int(lower=0)
param b : real = 0
param c : real = 0
mean_u = (sum[t in T] u[t]) / 60
y[t in T] ~ Poisson(log_rate=b * {} + c * (u[t] - {}))
"""
WHOLE = {
    "a sum": TREND.format("1", "mean_u"),
    "a position": TREND.format("t / 60", "0"),
    "another row": TREND.format("1", "u[0]"),
}


@pytest.mark.parametrize("name", [*DATA, *WHOLE])
def test_rows_are_looked_at_in_pieces_only_where_each_stands_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers from one piece and from many, which begin with a share of them."""
    text, data = DATA.get(name) or (WHOLE[name], {"u": X[:, 1], "y": DATA["cases"][1]["y"]})
    likelihood = dpc.parse(text).likelihood(data)
    found = find_regression(likelihood)
    assert found is not None
    whole = estimate(found, likelihood, {}, 100, 1e-12)
    monkeypatch.setattr(regression, "PIECE", 3)
    assert (Design(likelihood, found.draw, found.predictor, found.weights).count == 20) == (
        name in DATA
    )
    cut = estimate(found, likelihood, {}, 100, 1e-12)
    assert whole is not None
    assert cut is not None
    for key, value in whole.params.items():
        np.testing.assert_allclose(cut.params[key], value, atol=1e-9)
        np.testing.assert_allclose(cut.errors[key], whole.errors[key], atol=1e-9)
    assert cut.value == pytest.approx(whole.value, abs=1e-9)


def refused(text: str, data: dict[str, Any], steps: int = 100) -> bool:
    likelihood = dpc.parse(text).likelihood(data)
    found = find_regression(likelihood)
    return found is None or estimate(found, likelihood, {}, steps, None) is None


def test_without_a_certificate_the_general_methods_answer() -> None:
    text, data = DATA["cases"]
    assert not refused(text, data)
    assert refused(text, data, steps=1)
    assert refused(text, data | {"x": np.zeros((60, 2))}), "nothing depends on the weights"
    text, data = DATA["groups"]
    assert refused(text, data | {"y": X[:, 0] > 0}), "separable data have no maximum"
    assert refused(PLAIN.replace("logits=0.5", "logits=b"), data), "the level is in b and in a"
    text, data = DATA["linear"]
    exact = dpc.parse(text).fit(data | {"y": 1000 + 3 * data["u"]})
    assert not exact.converged
    assert (
        exact.reason
        == "the data are fitted exactly, `s` goes to zero, and the likelihood grows for ever"
    )
    assert exact.params["c"] == pytest.approx(3, abs=1e-12)


def test_fewer_rows_than_unknowns_are_told_at_once() -> None:
    text = """
    dim N
    data x[N] : real
    param a : real
    param b : real
    param s : real(lower=0)
    observed y[N] : real
    y[i in N] ~ Normal(a + b * x[i], s)
    """
    found = dpc.parse(text).fit({"x": [2.0], "y": [5.0]})
    assert not found.converged
    assert found.reason.startswith(
        "there are 3 unknown numbers and 1 of `y`: the data are fitted exactly"
    )
    assert (found.params["a"], found.params["b"]) == (pytest.approx(1), pytest.approx(2)), (
        "the shortest: 5 (1, 2) / 5"
    )
    twice = dpc.parse(text).fit({"x": [2.0, 2.0], "y": [5.0, 6.0]})
    assert twice.converged, "the same x twice leaves something"
    assert twice.params["s"] == pytest.approx(0.5, abs=1e-6)


def test_what_is_not_such_a_regression_is_left_alone() -> None:
    text, data = DATA["linear"]
    for other in (
        text.replace("c * u[i]", "c^2 * u[i]"),
        text.replace("c * u[i]", "s * c * u[i]"),
        text.replace("mu[i], s)", "mu[i], 2 * s)"),
        text.replace("param c : real = 0", "param c : real(lower=0) = 1"),
        text.replace("param c : real = 0", "c ~ Normal(0, 1)"),
    ):
        assert other != text
        assert find_regression(dpc.parse(other).likelihood(data)) is None
    assert (
        find_regression(dpc.parse(text).likelihood(data | {"y": np.append(np.nan, data["y"][1:])}))
        is None
    )


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ({"w": [0.0]}, r"`w` has shape \(2,\), but `start=` gives \(1,\)"),
        (
            {"bais": 0.0},
            "`start=` gives `bais`, which is not an unknown of this fit; did you mean `bias`?",
        ),
        ({"bias": "low"}, "`bias` is a number"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(start: dict[str, Any], says: str) -> None:
    text = (
        "dim N\ndim F = 2\ndata x[N, F] : real\nobserved y[N] : bool\nparam bias : real = "
        "0\nparam w[F] : real = 0\n"
    )
    model = dpc.parse(f"{text}y[i in N] ~ Bernoulli(logits=bias + dot(x[i], w))")
    with pytest.raises(WrongStart, match=says):
        model.fit({"x": np.ones((3, 2)), "y": [True, False, True]}, start=start)
