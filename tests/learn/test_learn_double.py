"""Fits run in double precision, whatever the caller's; held-out data are data of their own."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

import dpc
from dpc.data.errors import DataError

LINE = """
dim N
data x[N] : real
param a : real
param b : real
param t : real
observed y[N] : real
y[i in N] ~ Normal(a + b * x[i], exp(t))
"""
MEAN = """
data c : real
param m : real
x ~ Normal(m + c, 1)
"""


def test_newton_converges_for_a_caller_in_single_precision() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = 1000 + 3 * x + rng.normal(0, 0.1, 300)
    model = dpc.parse(LINE)
    with jax.enable_x64(False):
        fit = model.fit({"x": x, "y": y})
        predicted = model.predict(fit, {"x": [0.0, 1.0]})
    design = np.stack([np.ones(300), x], axis=1)
    weights, squares, *_ = np.linalg.lstsq(design, y)
    assert fit.converged
    assert fit.method == "newton"
    assert np.allclose([fit.params["a"], fit.params["b"]], weights, rtol=1e-9)
    assert np.isclose(fit.params["t"], np.log(squares[0] / 300) / 2, rtol=1e-8)
    assert fit.params["a"].dtype == np.float64
    assert np.allclose(predicted["y"].best[0], weights @ [[1, 1], [0, 1]], rtol=1e-9)


def test_held_out_data_may_have_the_names_of_the_others() -> None:
    model = dpc.parse(MEAN)
    fit = model.fit({"x": [1.0, 2.0]}, {"c": 0.5}, test={"x": [3.0, 4.0]})
    expected = stats.norm(1.5).logpdf([3, 4])
    assert fit.test is not None
    assert np.isclose(fit.test["log_likelihood"], expected.sum())
    for test in ([{"x": 3.0, "c": 1.0}], {"x": [3.0], "c": [1.0]}):
        fit = model.fit([{"x": 1.0, "c": 1.0}, {"x": 2.0, "c": 1.0}], test=test)
        assert fit.test is not None
        assert np.isclose(fit.test["log_likelihood"], stats.norm(1.5).logpdf(3))


def test_rows_of_inputs_are_not_shared_with_held_out_data() -> None:
    with pytest.raises(DataError, match="the data lack `c`"):
        dpc.parse(MEAN).fit({"x": [1.0, 2.0], "c": [0.0, 1.0]}, test={"x": [3.0, 4.0]})
