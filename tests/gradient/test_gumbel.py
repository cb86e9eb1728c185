"""The argmax of scores with Gumbel noise as a categorical draw: gradients against closed forms.

P(z = k) = softmax(scores / scale)[k]; the truth is a difference of the mean cost under it, in NumPy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

import dpc
from dpc.dsl.diagnostics import DpError

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

HEAD = """
dim K = 3
data c[K] : real = [1, 4, 2]
param theta[K] : real = [0.1, 0.5, -0.3]
param tau : real(lower=0) = 0.7
"""
COST = np.array([1.0, 4.0, 2.0])
THETA, TAU = np.array([0.1, 0.5, -0.3]), 0.7
NOISE = "g[k in K] ~ Gumbel(0, 1)\n"


def mean(logits: Any) -> float:
    return float(softmax(logits) @ COST)


Mean = Callable[[Any, float], float]
CASES: dict[str, tuple[str, Mean]] = {
    "a vector": (NOISE + "z = argmax(theta / tau + g)\nminimize c[z]\n", lambda a, t: mean(a / t)),
    "in the objective": (
        NOISE + "minimize tau * c[argmax(theta + g)]\n",
        lambda a, t: t * mean(a),
    ),
    "a reduction with a scale": (
        NOISE + "z = argmax[k in K] (theta[k] + tau * g[k])\nminimize c[z]\n",
        lambda a, t: mean(a / t),
    ),
    "named scores": (
        NOISE + "s[k in K] = theta[k] + tau * g[k]\nz = argmax(s)\nminimize c[z]\n",
        lambda a, t: mean(a / t),
    ),
    "a named vector": (
        NOISE + "s = theta + tau * g\nz = argmax[i in K] s[i]\nminimize c[z]\n",
        lambda a, t: mean(a / t),
    ),
    "the least of negatives": (
        NOISE + "z = argmin(-theta - tau * g)\nminimize c[z]\n",
        lambda a, t: mean(a / t),
    ),
    "scores in the noise": (
        "g[k in K] ~ Gumbel(theta[k], tau)\nz = argmax(2 * g)\nminimize c[z]\n",
        lambda a, t: mean(a / t),
    ),
    "a plate": (
        "dim N = 2\ng[n in N, k in K] ~ Gumbel(0, tau)\n"
        "z[n in N] = argmax[k in K] ((n + 1) * theta[k] + g[n, k])\nminimize sum[n in N] c[z[n]]\n",
        lambda a, t: mean(a / t) + mean(2 * a / t),
    ),
    "a condition on the index": (
        NOISE + "z = argmax[k in K where k > 0] (theta[k] + tau * g[k])\nminimize c[z]\n",
        lambda a, t: mean(np.where(np.arange(3) > 0, a / t, -np.inf)),
    ),
    "a condition on data, in a plate": (
        "dim N = 2\ng[n in N, k in K] ~ Gumbel(0, tau)\n"
        "z[n in N] = argmin[k in K where c[k] < 3 + 2 * n] (-(n + 1) * theta[k] - g[n, k])\n"
        "minimize sum[n in N] c[z[n]]\n",
        lambda a, t: mean(np.where(COST < 3, a / t, -np.inf)) + mean(2 * a / t),
    ),
    "a plate of vectors": (
        "dim N = 2\ng[n in N, k in K] ~ Gumbel(0, tau)\n"
        "minimize sum[n in N] c[argmax(theta + g[n])]\n",
        lambda a, t: 2 * mean(a / t),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_summed(name: str) -> None:
    text, value = CASES[name]
    found = dpc.parse(HEAD + text).grad(samples=2)
    assert found.exact == "every draw is summed"
    assert found.value == pytest.approx(value(THETA, TAU), abs=1e-6)
    h = 1e-5
    slopes = [
        (value(THETA + h * one, TAU) - value(THETA - h * one, TAU)) / (2 * h) for one in np.eye(3)
    ]
    np.testing.assert_allclose(found["theta"], slopes, atol=1e-5)
    slope = (value(THETA, TAU + h) - value(THETA, TAU - h)) / (2 * h)
    assert float(found["tau"]) == pytest.approx(slope, abs=1e-5)


def test_the_plan_says_so() -> None:
    text = HEAD + NOISE + "z = argmax(theta / tau + g)\nminimize c[z]\n"
    (choice,) = dpc.parse(text).estimator_choices()
    assert choice.name == "g"
    said = "`argmax(theta / tau + g)` with Gumbel noise is a categorical draw: summed"
    assert choice.reason == said


@pytest.mark.parametrize(
    "text",
    [
        NOISE + "z = argmax(theta + tau * g)\nminimize c[z] * g[0]\n",
        NOISE + "z = argmax(theta + tau * g)\ny = argmax(2 * theta + g)\nminimize c[z] * c[y]\n",
        NOISE + "z = argmax(theta - tau * g)\nminimize c[z]\n",
        NOISE + "z = argmin(theta + tau * g)\nminimize c[z]\n",
        NOISE + "z = argmax[k in K[1..]] (theta[k] + tau * g[k])\nminimize c[z]\n",
        NOISE + "z = argmax[k in K where g[k] < 1] (theta[k] + tau * g[k])\nminimize c[z]\n",
        NOISE + "y ~ Normal(tau, 1)\nz = argmax[k in K where k < y] (theta[k] + g[k])\n"
        "minimize c[z]\n",
        NOISE + "z = argmax[k in K] (theta[k] * tau + g[0] * g[k])\nminimize c[z]\n",
        NOISE + "z = argmax[k in K] (theta[k] + tau * c[k] * g[k])\nminimize c[z]\n",
        "g[k in K] ~ Gumbel(0, exp(tau * c[k]))\nz = argmax(theta + g)\nminimize c[z]\n",
        "g[k in K] ~ Normal(0, tau)\nz = argmax(theta + g)\nminimize c[z]\n",
        "g[k in K] ~ Gumbel(0, tau) with grad=rloo\nz = argmax(theta + g)\nminimize c[z]\n",
    ],
)
def test_other_selections_are_refused(text: str) -> None:
    """Noise that is read elsewhere, is turned, has several scales, or is of another kind; conditions
    that are drawn."""
    with pytest.raises(DpError, match="jumps, and no derivative sees it"):
        dpc.parse(HEAD + text).grad(samples=2)
