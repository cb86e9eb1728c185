"""Means and standard deviations of draws that the data do not give, by the law of total expectation
and variance.
"""

from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import numpyro.distributions as dist
import pandas
import pytest
from scipy import optimize, stats

import dpc
from dpc.dsl.library.bodies.source import resolve
from dpc.dsl.library.distributions import DISTRIBUTIONS
from dpc.learn.result import NotApplicable, learned

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

SWITCHING = """
dim T
dim K = 2
observed y[T]    : real
param start[K]   : simplex
param step[K, K] : simplex
param mu[K]      : real
param sd[K]      : real(lower=0)
z[0]           ~ Categorical(start)
z[t in T[1..]] ~ Categorical(step[z[t-1]])
y[t in T]      ~ Normal(mu[z[t]], sd[z[t]])
"""
PARAMS = {
    "start": np.array([0.6, 0.4]),
    "step": np.array([[0.8, 0.2], [0.3, 0.7]]),
    "mu": np.array([-1.0, 2.0]),
    "sd": np.array([0.5, 1.0]),
}
NAN = float("nan")


def test_means_of_draws_that_are_not_there() -> None:
    model = dpc.parse(
        "data x : real\nparam a : real = 0\ny ~ Normal(a * x, 0.5)\nk ~ Poisson(exp(a * x))\n"
    )
    pandas = pytest.importorskip("pandas")
    found = model.predict({"a": 2.0}, pandas.DataFrame({"x": [1.0, 0.25], "y": [None, 3.0]}))
    assert [float(v) for v in found["y"].best] == [2.0, 3.0]
    assert [float(v) for v in found["y"].spread] == [0.5, 0.0]
    np.testing.assert_allclose(found["k"].best, np.exp([2.0, 0.5]))
    np.testing.assert_allclose(found["k"].spread, np.exp([1.0, 0.25]))


# ---- hidden finite parents


def moments(weights: Any, means: Any, variances: Any) -> tuple[float, float]:
    """Of a mixture, from its first two moments."""
    weights = weights / np.sum(weights)
    mean = weights @ means
    return mean, np.sqrt(weights @ (variances + means**2) - mean**2)


@pytest.mark.parametrize("lengths", [(4, 2), (3, 3)], ids=["of many lengths", "of one length"])
def test_missing_numbers_of_a_hidden_chain(lengths: tuple[int, ...]) -> None:
    """Every path of states, one after the other."""
    seen = [[0.1, NAN, 2.0, NAN][:length] for length in lengths]
    found = dpc.parse(SWITCHING).predict(PARAMS, [{"y": y} for y in seen], ask=["y"])
    for number, y in enumerate(seen):
        paths = np.array(list(product((0, 1), repeat=len(y))))
        there = ~np.isnan(y)
        weights = np.array([chance_of(path, np.array(y), there) for path in paths])
        for t, value in enumerate(y):
            own = PARAMS["mu"][paths[:, t]], PARAMS["sd"][paths[:, t]] ** 2
            by_hand = (value, 0.0) if there[t] else moments(weights, *own)
            np.testing.assert_allclose(
                [found["y"].best[number][t], found["y"].spread[number][t]], by_hand, atol=1e-12
            )


def chance_of(path: Any, y: Any, there: Any) -> Any:
    steps = np.prod([PARAMS["step"][a, b] for a, b in pairwise(path)])
    density = stats.norm.pdf(y, PARAMS["mu"][path], PARAMS["sd"][path])[there]
    return PARAMS["start"][path[0]] * steps * np.prod(density)


def test_parents_that_depend_on_each_other() -> None:
    """The chances of a and b together, not of each alone; b is seen in one case, u in all."""
    model = dpc.parse("""
    param m : real = 0
    a ~ Bernoulli(0.3)
    b ~ Bernoulli(if a then 0.9 else 0.2)
    u ~ Normal(if b then 1 else -1, 2)
    level = if a == b then m else 5
    y ~ Gamma(level, if a then 2 else 1)
    """)
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"u": [0.5, -1.0], "b": [None, True]}, dtype=object)
    found = model.predict({"m": 3.0}, rows)
    for number, (u, states) in enumerate([(0.5, (False, True)), (-1.0, (True,))]):
        both = [(a, b) for a in (False, True) for b in states]
        chances = [
            (0.3 if a else 0.7) * ((0.9 if b else 0.1) if a else (0.2 if b else 0.8))
            for a, b in both
        ]
        weights = np.array(chances) * stats.norm.pdf(u, [1.0 if b else -1.0 for _, b in both], 2)
        laws = [stats.gamma(3.0 if a == b else 5.0, scale=0.5 if a else 1.0) for a, b in both]
        by_hand = moments(
            weights, np.array([law.mean() for law in laws]), np.array([law.var() for law in laws])
        )
        assert found["y"].best[number] == pytest.approx(by_hand[0], abs=1e-12)
        assert found["y"].spread[number] == pytest.approx(by_hand[1], abs=1e-12)


# ---- fits in files


def test_a_fit_is_read_back_as_it_was(tmp_path: Path) -> None:
    """Valid JSON, with infinities and all digits."""
    path, model = (
        tmp_path / "fit.json",
        dpc.parse("dim F = a | b | c\nparam w[F] : real = 0\ny ~ Bernoulli(logits=w[0])\n"),
    )
    fit = model.fit({"y": [True, False, True]}, errors=False)
    values = np.array([np.inf, 1 / 3, -np.inf])
    fit.replace(params={"w": values}, value=-np.inf).save(path)
    text = json.loads(
        path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON")
    )
    assert text["params"]["w"] == ["Infinity", 1 / 3, "-Infinity"]
    assert text["log_likelihood"] == "-Infinity"
    found = learned(str(path))
    np.testing.assert_array_equal(found.params["w"], values)
    assert (found.dims, found.given) == ({"F": ["a", "b", "c"]}, {"y"})


WEATHER = """
dim Sky = clear | grey
sky : Sky ~ Categorical(clear=0.5, grey=0.5)
rain ~ Bernoulli(if sky == clear then 0.2 else 0.6)
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "clear | grey",
            "grey | clear",
            "the labels of `Sky` are clear, grey in the fit, and grey, clear in the model",
        ),
        (
            "clear",
            "blue",
            "the labels of `Sky` are clear, grey in the fit, and blue, grey in the model",
        ),
        ("Sky", "Air", "the fit has a dim `Sky`, and the model has none"),
        ("rain", "snow", "the fit was learned from `rain`, which the model does not draw"),
        (
            "dim Sky = clear | grey\n",
            "dim Sky = clear | grey\nparam b : real = 0\n",
            "the fit has no `b`",
        ),
    ],
)
def test_a_fit_of_another_model_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    rows = {"sky": [0, 1, 1], "rain": [True, False, True]}
    dpc.parse(WEATHER).fit(rows).save(tmp_path / "fit.json")
    with pytest.raises(ValueError, match=said):
        dpc.parse(WEATHER.replace(old, new)).predict(tmp_path / "fit.json", {"sky": [0, 1, 0]})


# ---- what is out of reach


@pytest.mark.parametrize(
    ("text", "data", "why"),
    [
        (
            "x ~ Normal(a, 1)\ny ~ Normal(x, 1)\n",
            {"x": [0.5, NAN]},
            "`y` depends on `x`, which is not known either",
        ),
        (
            "x ~ Normal(a, 1)\ny ~ Cauchy(x, 1)\n",
            {"x": [0.5]},
            "no moments of Cauchy: it has no mean",
        ),
        (
            "dim D = 2\nz ~ Bernoulli(0.5)\nx ~ Normal(a, 1)\n"
            "y ~ MultivariateNormal([d in D] if z then 1 else 0, cov=eye(D))\n",
            {"x": [0.5]},
            "rows of `y` are drawn together, and depend on draws that are hidden",
        ),
    ],
    ids=["a missing parent", "no mean", "vectors"],
)
def test_what_cannot_be_predicted_is_told(text: str, data: dict[str, Any], why: str) -> None:
    model = dpc.parse("param a : real = 0\n" + text)
    found = model.predict({"a": 1.0}, data)
    assert any(note.startswith(f"no prediction of `y`: {why}") for note in found.notes)
    with pytest.raises(ValueError, match="`y` cannot be predicted"):
        model.predict({"a": 1.0}, data, ask=["y"])


def test_all_laws_of_a_number_have_moments_or_are_known_to_have_none() -> None:
    values = {"lower": 1, "upper": 2, "n": 3}
    words = {name: getattr(dist, name) for name in dir(dist)} | {
        "exp": np.exp,
        "sqrt": np.sqrt,
        "log": np.log,
    }
    for row in DISTRIBUTIONS:
        params = row.signature.params
        if not row.moments or any(param.type.axes for param in params) or row.signature.result.axes:
            continue
        own = {name: resolve(name) for name in row.helpers}
        law = eval(
            row.numpyro, words | own | {param.name: values.get(param.name, 0.4) for param in params}
        )
        assert np.shape(law.mean) == np.shape(law.variance) == (), row.text


def test_held_out_cases_of_a_model_with_a_bound_function() -> None:
    text = "extern fn g(x: real) -> real\nparam w : real\ndata x : real\ny ~ Normal(w * g(x), 1)\n"
    model = dpc.parse(text, g=lambda x: 2.0 * x)
    table = pandas.DataFrame({"x": [1.0, 0.5, -0.5], "y": [2.0, 0.7, 0.7]})
    fit = model.fit(table, test=table)
    assert fit.test["log_likelihood"] == pytest.approx(fit.value)


def test_one_case_of_single_values_is_fitted() -> None:
    model = dpc.parse("param w : real\ndata x : real\ny ~ Normal(w * x, 1)\n")
    assert float(model.fit({"x": 2.0, "y": 3.0}).params["w"]) == pytest.approx(1.5)


GROUPS = """
dim N
dim City
data city[N] : City
data x[N]    : real
param a[City] : real
param b : real
param s : real(lower=0)
observed y[N] : real
y[i in N] ~ Normal(a[city[i]] + b * x[i], s)
"""


def test_a_saved_fit_with_effects_of_groups_predicts(tmp_path: Path) -> None:
    model = dpc.parse(GROUPS)
    rng = np.random.default_rng(3)
    city, x = np.repeat(np.arange(3), 5), rng.normal(size=15)
    y = city + 2 * x + rng.normal(size=15)
    model.fit({"city": city, "x": x, "y": y}).save(tmp_path / "fit.json")
    found = model.predict(tmp_path / "fit.json", {"city": [2, 0], "x": [1.0, -1.0]})["y"]
    design = np.column_stack([np.eye(3)[city], x])
    weights, squares, *_ = np.linalg.lstsq(design, y)
    assert np.allclose(found.best[0], [weights[2] + weights[3], weights[0] - weights[3]])
    assert np.allclose(found.spread[0], np.sqrt(squares / 15))


CLASSIFIER = """
dim N
dim C = 3
data x[N] : real
param w[C] : real
param b[C] : real
observed y[N] : C
eta[i in N, c in C] = b[c] + w[c] * x[i]
y[i in N] ~ Categorical(logits=eta[i])
"""


@pytest.mark.parametrize(("loss", "power"), [("sparsemax", 2.0), ("entmax", 1.5)])
def test_sparse_losses_predict_what_they_learned(loss: str, power: float) -> None:
    """argmax over the simplex of <theta, p> - Omega(p), by SciPy."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=60)
    y = np.digitize(x + rng.normal(0, 0.3, 60), [-0.5, 0.5])
    model = dpc.parse(CLASSIFIER)
    fit = model.fit({"x": x, "y": y}, loss=loss)
    new = np.array([-1.5, 0.1, 0.6])
    found = model.predict(fit, {"x": new})["y"]
    for value, chances in zip(new, found.spread[0], strict=True):
        theta = np.asarray(fit.params["b"]) + value * np.asarray(fit.params["w"])
        expected = nearest(theta, power)
        assert np.allclose(chances, expected, atol=1e-5)
    assert (found.spread[0] == 0).any()
    assert np.array_equal(found.best[0], found.spread[0].argmax(axis=1))


def nearest(theta: np.ndarray, power: float) -> np.ndarray:
    def loss(p: np.ndarray) -> float:
        return float(np.sum(p**power) / (power * (power - 1)) - theta @ p)

    whole = {"type": "eq", "fun": lambda p: p.sum() - 1}
    start, bounds = np.full(3, 1 / 3), [(0, 1)] * 3
    options = {"ftol": 1e-14, "maxiter": 1000}
    found = optimize.minimize(
        loss, start, bounds=bounds, constraints=whole, method="SLSQP", options=options
    )
    return found.x


def test_sparse_predictions_are_of_one_draw_at_a_time() -> None:
    chain = "param t : real\nparam u : real\na ~ Bernoulli(logits=t)\nb ~ Bernoulli(logits=if a then u else t)"
    model = dpc.parse(chain)
    fit = model.fit({"a": [True, False, True], "b": [True, True, False]}, loss="sparsemax")
    with pytest.raises(NotApplicable, match="`b` depends on `a`"):
        model.predict(fit, {})
