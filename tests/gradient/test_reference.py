"""What estimators are measured against: differences of means, which see what they lose.

Means by sums are compared to closed forms; those by draws must be within five of their standard
errors, which chance breaks once in a million for each of the twenty numbers here.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import dpc
from dpc import extend
from dpc.estimators.methods.method import Method, Points
from dpc.estimators.methods.score import ScoreFunction
from dpc.gradient import prepare, refuse
from dpc.gradient.reference import MOST_POINTS, exact_reference, find_reference
from dpc.gradient.reference import sampled_reference as by_draws

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"
SIGMAS = 5.0

STEP = "param m : real = 0.3\nz ~ Normal(0, 1)\nminimize (if z > m then 1 else 0)\n"
EDGE = "param r : real(lower=0) = 2\nz ~ Exponential(r)\nminimize z^2\n"
PLATE = f"""
dim Many = {MOST_POINTS.bit_length()}
param m : real = 0
b[i in Many] ~ Bernoulli(logistic(m))
minimize (sum[i in Many] b[i])^2
"""
NORMAL = "param m : real = 0.3\nparam s : real(lower=0) = 0.7\nz ~ Normal(m, s)\nminimize z^4\n"
BOUND = """
observed x : real
param m : real = 0.4
z ~ Normal(0, 1)
x ~ Normal(z, 1)
guide { z ~ Normal(m, 1) }
maximize 3 * m - elbo()
"""
SIMPLEX = """
dim K = 3
param p : simplex[K] = [0.2, 0.3, 0.5]
z ~ Categorical(p)
minimize (if z == 0 then 1 else if z == 1 then 4 else 0)
"""


def found_for(text: str, find: Any, data: Any = None, *more: Any) -> Any:
    model = dpc.parse(text)
    with jax.enable_x64(True):
        params = {name: np.asarray(value) for name, value in model.init().items()}
        return find(model, params, model.bind(data or {}), *more)


def test_a_sum_is_exact() -> None:
    """E[z^4] = m^4 + 6 m^2 s^2 + 3 s^4."""
    found = found_for(NORMAL, exact_reference)
    m, s = 0.3, 0.7
    assert found.gradient["m"] == pytest.approx(4 * m**3 + 12 * m * s**2, abs=1e-8)
    assert found.gradient["s"] == pytest.approx(12 * m**2 * s + 12 * s**3, abs=1e-8)
    assert found.error == {"m": 0, "s": 0}


def test_a_bound_is_a_mean_over_the_guide() -> None:
    """elbo = -m^2 / 2 - (x - m)^2 / 2 + what does not depend on m."""
    found = found_for(BOUND, exact_reference, {"x": 1.0})
    assert found.gradient["m"] == pytest.approx(3 + 0.4 - (1 - 0.4), abs=1e-8)


def test_a_simplex_moves_within_itself() -> None:
    found = found_for(SIMPLEX, exact_reference)
    costs = np.array([1.0, 4.0, 0.0])
    np.testing.assert_allclose(found.gradient["p"], costs - costs.mean(), atol=1e-8)


@pytest.mark.parametrize("text", [STEP, EDGE, PLATE])
def test_where_a_grid_would_be_wrong_there_is_none(text: str) -> None:
    """A step, the edge of a support, too many values."""
    assert found_for(text, exact_reference) is None


@pytest.mark.parametrize(
    ("text", "data", "truth"),
    [
        (STEP, {}, {"m": -stats.norm.pdf(0.3)}),
        (EDGE, {}, {"r": -0.5}),
        (NORMAL, {}, {"m": 4 * 0.3**3 + 12 * 0.3 * 0.49, "s": 12 * 0.09 * 0.7 + 12 * 0.7**3}),
        (BOUND, {"x": 1.0}, {"m": 2.8}),
        # n p (1 - p) (1 + 2 (n - 1) p) at p = 1/2
        (PLATE, {}, {"m": MOST_POINTS.bit_length() ** 2 / 4}),
    ],
)
def test_many_runs_see_jumps_and_edges(text: str, data: Any, truth: dict[str, float]) -> None:
    found = found_for(text, by_draws, data, 1000, 0)
    for name, value in truth.items():
        error = float(found.error[name])
        assert 0 < error < 0.05 * (1 + abs(value))
        assert abs(float(found.gradient[name]) - value) < SIGMAS * error


def test_steps_fit_the_program() -> None:
    """A mean that turns within a hundredth takes smaller steps."""
    text = "param m : real = 0.3\nz ~ Normal(0, 1)\nminimize sin(100 * m) + z\n"
    found = found_for(text, by_draws, {}, 1000, 0)
    assert float(found.gradient["m"]) == pytest.approx(100 * np.cos(30), rel=1e-3)


def test_some_of_many_entries() -> None:
    """Sixty-four of a hundred; d E[w_i z] / d w_i = 1."""
    text = "dim N = 100\nparam w[N] : real = 0\nz ~ Normal(1, 1)\nminimize sum[i in N] w[i] * z\n"
    found = found_for(text, find_reference, {}, 100, 0)
    known = ~np.isnan(found.gradient["w"])
    assert known.sum() == 64
    np.testing.assert_allclose(found.gradient["w"][known], 1, atol=1e-6)
    assert found.about.endswith("in 64 of 100 entries")


# ---- planted errors


class Tilted(Method):
    """The score function, a half too large."""

    name = "tilted"

    def points(self, key: Any, law: Any, local: tuple[int, ...]) -> Points:
        found = ScoreFunction().points(key, law, local)
        return found._replace(log_prob=1.5 * jnp.asarray(found.log_prob))

    @classmethod
    def refusal(cls, law: Any) -> str:
        return ""


@pytest.fixture
def tilted() -> Iterator[None]:
    dpc.add_estimator(Tilted, "biased, and silent about it", along="score")
    yield
    extend.remove("tilted")


@pytest.mark.usefixtures("tilted")
@pytest.mark.parametrize(
    "text",
    [
        "param m : real = 1\nz ~ Normal(m, 1)\nminimize z^2\n",
        "param r : real(lower=0) = 2\nz ~ Exponential(r)\nminimize z^2\n",
        "param r : real(lower=0) = 2\nz ~ Poisson(r)\nminimize (if z > 1 then 5 else z)\n",
    ],
)
def test_a_biased_estimator_is_exposed(text: str) -> None:
    """All three are scores, so that a reference by one of them would agree with the others."""
    found = dpc.parse(text).compare("tilted,sfe", samples=20000)
    off = {v.method: np.divide(*v.bias(found.reference)) for v in found.variants}
    assert off["tilted"] > SIGMAS
    assert off["sfe"] < SIGMAS


def test_a_lost_boundary_is_exposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the split and without the refusal all methods lose the same."""
    split = prepare.split

    def unsplit(graph: Any, costs: Any, *_: Any) -> Any:
        return split(graph, costs, [], False)

    with monkeypatch.context() as patch:
        patch.setattr(prepare, "split", unsplit)
        patch.setattr(refuse, "_missed", lambda graph, losses: iter(()))
        found = dpc.parse(STEP).compare("rloo,sfe,mvd", samples=1000)
    assert {variant.method for variant in found.variants} == {"rloo", "sfe", "mvd"}
    assert float(found.reference.gradient["m"]) == pytest.approx(-stats.norm.pdf(0.3), abs=0.1)
    for variant in found.variants:
        bias, chance = variant.bias(found.reference)
        assert bias > SIGMAS * chance


def test_a_split_draw_is_compared_as_the_model_has_it() -> None:
    found = dpc.parse(STEP).compare("all", samples=100)
    (row,) = found.variants
    assert (row.draw, row.method) == ("z", "split")
    bias, chance = row.bias(found.reference)
    assert bias < SIGMAS * chance
    assert {"pathwise", "rloo", "sfe"} <= {refused.method for refused in found.refused}
    assert "differences of" in found.after()[0]


def test_split_is_no_method_for_a_draw_that_is_not() -> None:
    text = "param t : real = 0.4\nb ~ Bernoulli(logistic(t))\nminimize (b - 0.45)^2\n"
    found = dpc.parse(text).compare("enumerate,split", samples=4)
    assert [(r.method, r.reason) for r in found.refused] == [
        ("split", "the model does not split it")
    ]
    p = special.expit(0.4)
    assert float(found.reference.gradient["t"]) == pytest.approx(0.1 * p * (1 - p), abs=1e-9)


# ---- bounds over several samples

PAIR = """
observed x : real
param m : real = 0.4
z ~ Normal(0, 1)
x ~ Normal(z, 1)
guide {{ z ~ Normal(m, 1.2) with grad=sfe }}
maximize {} - m^2
"""
PAIRS = """
dim N = 3
observed x[N] : real
param m : real = 0.4
z[i in N] ~ Normal(0, 1)
x[i in N] ~ Normal(z[i], 1)
guide {{ z[i in N] ~ Normal(m, 1.2) with grad=sfe }}
maximize {} - m^2
"""
SHARED = PAIRS.replace("x[i in N] ~ Normal(z[i], 1)", "x[i in N] ~ Normal(sum[j in N] z[j], 1)")


def bound_of_two(m: float, x: float, alpha: float) -> float:
    """E log mean of two weights to the power 1 - alpha, by Gauss-Hermite."""
    places, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    z = m + 1.2 * places
    joint = stats.norm.logpdf(z) + stats.norm.logpdf(x, z)
    log_w = (1 - alpha) * (joint - stats.norm.logpdf(z, m, 1.2))
    pairs = np.logaddexp(log_w[:, None], log_w[None, :]) - np.log(2)
    return float(weights @ pairs @ weights) / (1 - alpha)


@pytest.mark.parametrize(("text", "x"), [(PAIR, 1.0), (PAIRS, [1.0, 0.2, -0.5])])
@pytest.mark.parametrize(
    ("bound", "alpha"), [("iwae(samples=2)", 0.0), ("renyi(alpha=0.5, samples=2)", 0.5)]
)
def test_a_bound_of_several_samples_is_a_plain_mean(
    text: str, x: Any, bound: str, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elements of a plate are bounded apart; no estimator is asked."""
    monkeypatch.setattr(dpc.Model, "surrogate", None)
    found = found_for(text.format(bound), by_draws, {"x": x}, 2000, 0)

    def value(m: float) -> float:
        return sum(bound_of_two(m, own, alpha) for own in np.atleast_1d(x)) - m**2

    truth = (value(0.401) - value(0.399)) / 0.002
    error = float(found.error["m"])
    assert 0 < error < 0.02
    assert abs(float(found.gradient["m"]) - truth) < SIGMAS * error


@pytest.mark.parametrize(("text", "x"), [(PAIR, 2.0), (SHARED, [1.0, 0.2, -0.5])])
def test_a_biased_estimator_of_a_bound_is_exposed(
    text: str, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = ScoreFunction.points

    def tilted(self: Any, *given: Any) -> Points:
        found = points(self, *given)
        return found._replace(log_prob=1.5 * jnp.asarray(found.log_prob))

    monkeypatch.setattr(ScoreFunction, "points", tilted)
    model = dpc.parse(text.format("iwae(samples=2)"))
    found = model.compare("sfe,pathwise", data={"x": x}, samples=50000)
    off = {v.method: np.divide(*v.bias(found.reference)) for v in found.variants}
    assert off["sfe"] > SIGMAS
    assert off["pathwise"] < SIGMAS
