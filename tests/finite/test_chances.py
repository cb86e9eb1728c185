"""Questions about draws that are not finite: by their distributions, or refused in words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpc

LOOSE_JAX = "NumPyro promotes types and ranks"
MIXED = (
    "b ~ Bernoulli(0.3)\ny ~ Normal(if b then 2 else -1, 1)\nv ~ Normal(if b then 1 else 0, 2)\n"
    "w ~ Exponential(1)\nk ~ Poisson(3)\ndim K = 3\nx[j in K] ~ Normal(j, 1)\n"
    "cut : real(lower=0) ~ Normal(0, 1)\n"
)
HIGH, LOW = stats.norm(2, 1), stats.norm(-1, 1)


@pytest.fixture(scope="module")
def mixed() -> dpc.Model:
    return dpc.parse(MIXED)


def mix(of_true: float, of_false: float) -> float:
    return 0.3 * of_true + 0.7 * of_false


CHANCES = {
    "w <= 1.5": stats.expon.cdf(1.5),
    "1.5 < w": stats.expon.sf(1.5),
    "y <= 0": mix(HIGH.cdf(0), LOW.cdf(0)),
    "y <= 0 and b": 0.3 * HIGH.cdf(0),
    "y <= 0 or b": 0.3 + 0.7 * LOW.cdf(0),
    "not (y <= 0)": mix(HIGH.sf(0), LOW.sf(0)),
    "y > -1 and y <= 0": mix(HIGH.cdf(0) - HIGH.cdf(-1), LOW.cdf(0) - LOW.cdf(-1)),
    "y > 2 and y < 1": 0.0,
    "y <= 0 and v > 1": mix(HIGH.cdf(0) / 2, LOW.cdf(0) * stats.norm.sf(0.5)),
    "y <= 0 and w > 1": mix(HIGH.cdf(0), LOW.cdf(0)) * np.exp(-1),
    "k <= 2.5": stats.poisson(3).cdf(2),
    "k < 2": stats.poisson(3).cdf(1),
    "k == 2": stats.poisson(3).pmf(2),
    "k != 2": 1 - stats.poisson(3).pmf(2),
    "k >= 2": stats.poisson(3).sf(1),
    "x[1] <= 0": stats.norm.cdf(-1),
    "cut <= 1": 2 * stats.norm.cdf(1) - 1,
}


@pytest.mark.parametrize("text", CHANCES)
def test_chances_are_those_of_the_distributions(mixed: dpc.Model, text: str) -> None:
    found = mixed.query(text)["probability"]
    np.testing.assert_allclose(found, CHANCES[text], rtol=1e-8, atol=1e-12)


def test_evidence_moves_them(mixed: dpc.Model) -> None:
    found = mixed.query("y <= 0", given={"b": True})["probability"]
    np.testing.assert_allclose(found, HIGH.cdf(0), rtol=1e-8)
    # P(b | v) by Bayes' rule, then the mixture.
    weights = np.array([0.7 * stats.norm(0, 2).pdf(1.0), 0.3 * stats.norm(1, 2).pdf(1.0)])
    weights /= weights.sum()
    found = mixed.query("y <= 0", given={"v": 1.0})["probability"]
    np.testing.assert_allclose(found, weights @ [LOW.cdf(0), HIGH.cdf(0)], rtol=1e-8)


def test_means_and_spreads(mixed: dpc.Model) -> None:
    found = mixed.query("y")["expectation"]
    np.testing.assert_allclose(found["mean"], mix(2, -1), rtol=1e-8)
    variance = 1 + 0.3 * 0.7 * 9
    np.testing.assert_allclose(found["sd"], variance**0.5, rtol=1e-8)


def test_entropies_add_up() -> None:
    model = dpc.parse(
        "b ~ Bernoulli(0.3)\ny ~ Normal(if b then 2 else -1, if b then 1 else 3)\n"
        "dim K = 3\nx[j in K] ~ Exponential(2)\n"
    )
    given_b = mix(stats.norm(0, 1).entropy(), stats.norm(0, 3).entropy())
    wanted = stats.bernoulli(0.3).entropy() + given_b + 3 * stats.expon(scale=0.5).entropy()
    np.testing.assert_allclose(model.query(entropy=True)["entropy"], wanted, rtol=1e-8)


@pytest.mark.parametrize("question", [{"map": True}, {"kbest": 2}, {"samples": 2}], ids=str)
def test_configurations_say_what_is_summed_out(mixed: dpc.Model, question: dict[str, Any]) -> None:
    (said,) = mixed.query(**question).warnings
    assert said.startswith("of the finite variables alone, with ")
    assert all(f"`{name}`" in said for name in ("y", "v", "w", "k", "x", "cut"))


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("x ~ Normal(0, 1)", {}, "no variable is finite, and a marginal is of finite variables"),
    ("x ~ Normal(0, 1)", {"map": True}, "a mode is of finite variables"),
    ("x ~ Normal(0, 1)", {"kbest": 2}, "a configuration is of finite variables"),
    ("x ~ Normal(0, 1)", {"samples": 2}, "or draw it, `dpc sample`"),
    ("x ~ Normal(0, 1)", {"kl": dpc.parse("x ~ Normal(0, 1)\n")}, "compares finite variables"),
    ("x ~ Normal(0, 1)", {"ask": "x == 1"}, "no single number has a probability above 0"),
    ("x ~ Normal(0, 1)", {"ask": "x^2"}, "only comparisons of it"),
    ("x ~ Cauchy(0, 1)", {"ask": "x"}, "it has no mean"),
    ("x ~ VonMises(0, 1)", {"ask": "x < 0"}, "no distribution function"),
    ("x ~ Normal(0, 1)\nz ~ Normal(x, 1)", {"ask": "z < 0"}, "so is `x`, which it depends on"),
    ("x ~ Normal(0, 1)\nz ~ Normal(0, 1)", {"ask": "x < z"}, "`x` is not finite"),
    ("x ~ Normal(0, 1)", {"ask": "x < 0 or x > 1"}, "it is asked about twice"),
    ("x ~ Normal(0, 1)\ny := x^2", {"ask": "y < 1"}, "computed from what is not finite"),
    (
        "x ~ Normal(0, 1)\nb ~ Bernoulli(logistic(x))",
        {"ask": "x < 1"},
        "`x` is not finite and not given",
    ),
    ("k ~ Poisson(3)", {"entropy": True}, "no formula for its entropy"),
]


@pytest.mark.parametrize(("text", "question", "words"), REFUSED, ids=lambda case: str(case)[:30])
def test_what_has_no_closed_form_is_refused(
    text: str, question: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        dpc.parse(f"{text}\n").query(**question)
