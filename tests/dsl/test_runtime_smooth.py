"""Laws of the smoothed maxima, entropies and losses, for whatever scores Hypothesis finds."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpc.dsl.library.bodies import smooth

N = 5
SCORES = arrays(np.float64, N, elements=st.floats(-20, 20, width=32))
WEIGHTS = arrays(np.float64, N, elements=st.floats(0, 1, width=32)).filter(lambda w: w.sum() > 0.1)
TARGETS = WEIGHTS.map(lambda w: w / w.sum())
TEMPERATURES = st.floats(0.05, 10)
ALPHAS = st.sampled_from([0.5, 1.0, 1.000001, 1.25, 1.5, 2.0, 2.5])
quickly = settings(deadline=None, max_examples=30)

Family = tuple[Callable[..., jax.Array], Callable[..., jax.Array], Callable[..., jax.Array]]


def compiled(function: Callable[..., jax.Array]) -> Callable[..., np.ndarray]:
    run = jax.jit(function)
    return lambda *given: np.asarray(run(*map(jnp.asarray, given)))


def entmax_at(alpha: float) -> Family:
    return (
        lambda x, t: smooth.entmax(x, alpha, t),
        lambda x, t: smooth.entargmax(x, alpha, t),
        lambda p: smooth.tsallis_entropy(p, alpha),
    )


FAMILIES: dict[str, tuple[Callable[..., np.ndarray], ...]] = {
    name: tuple(map(compiled, family))
    for name, family in {
        "shannon": (smooth.softmax, smooth.softargmax, smooth.entropy),
        "gini": (smooth.sparsemax, smooth.sparseargmax, smooth.gini_entropy),
        "tsallis": entmax_at(1.5),
    }.items()
}
families = pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, id=name, marks=[pytest.mark.slow] if name == "tsallis" else [])
        for name, family in FAMILIES.items()
    ],
)


@families
@given(x=SCORES, t=TEMPERATURES)
@quickly
def test_the_probabilities_sum_to_one_and_attain_the_value(
    family: Family, x: np.ndarray, t: float
) -> None:
    value, weights, entropy = family
    p = weights(x, t)
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(value(x, t), p @ x + t * entropy(p), rtol=1e-10, atol=1e-10)


@families
@given(x=SCORES, t=TEMPERATURES, q=TARGETS)
@quickly
def test_no_other_probabilities_reach_higher(
    family: Family, x: np.ndarray, t: float, q: np.ndarray
) -> None:
    value, _, entropy = family
    assert value(x, t) >= q @ x + t * entropy(q) - 1e-9


@families
@given(x=SCORES, t=TEMPERATURES)
@quickly
def test_the_value_lies_between_the_maximum_and_that_plus_the_largest_entropy(
    family: Family, x: np.ndarray, t: float
) -> None:
    value, _, entropy = family
    highest = entropy(np.full(N, 1 / N))
    assert x.max() - 1e-9 <= value(x, t) <= x.max() + t * highest + 1e-9


@families
@given(x=SCORES, t=TEMPERATURES, c=st.floats(-50, 50))
@quickly
def test_a_shift_moves_the_value_and_not_the_probabilities(
    family: Family, x: np.ndarray, t: float, c: float
) -> None:
    value, weights, _ = family
    np.testing.assert_allclose(value(x + c, t), value(x, t) + c, atol=1e-9)
    np.testing.assert_allclose(weights(x + c, t), weights(x, t), atol=1e-9 / t)


@families
@given(x=SCORES, t=TEMPERATURES, seed=st.integers(0, 99))
@quickly
def test_the_order_of_the_scores_does_not_matter(
    family: Family, x: np.ndarray, t: float, seed: int
) -> None:
    value, weights, _ = family
    order = np.random.default_rng(seed).permutation(N)
    np.testing.assert_allclose(value(x[order], t), value(x, t), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights(x[order], t), weights(x, t)[order], rtol=1e-9, atol=1e-12)


@families
def test_a_low_temperature_recovers_the_maximum(family: Family) -> None:
    value, weights, _ = family
    x = np.array([0.3, -1.0, 2.0, 1.9, 0.0])
    np.testing.assert_allclose(value(x, 1e-4), 2.0, atol=1e-3)
    np.testing.assert_allclose(weights(x, 1e-4), [0, 0, 1, 0, 0], atol=1e-12)


@given(x=SCORES, t=TEMPERATURES)
@quickly
def test_sparseargmax_meets_the_conditions_of_the_nearest_point(x: np.ndarray, t: float) -> None:
    """p = x / t - tau where p is positive, and x / t - tau is not positive elsewhere (SM20)."""
    p = FAMILIES["gini"][1](x, t)
    gap = x / t - p
    tau = gap[p > 0].mean()
    np.testing.assert_allclose(gap[p > 0], tau, atol=1e-10 * (1 + abs(tau)))
    assert np.all(gap[p == 0] <= tau + 1e-10 * (1 + abs(tau)))


ENTARGMAX, TSALLIS = compiled(smooth.entargmax), compiled(smooth.tsallis_entropy)


@given(x=SCORES, alpha=ALPHAS)
@quickly
def test_entargmax_meets_the_conditions_of_its_maximum(x: np.ndarray, alpha: float) -> None:
    """x + H'(p) is the same where p is positive (SM17)."""
    p = ENTARGMAX(x, alpha)
    alive = p > 1e-7
    logs = np.log(p[alive])
    slope = -logs if abs(alpha - 1) < 1e-5 else -np.expm1((alpha - 1) * logs) / (alpha - 1)
    level = x[alive] + slope
    tolerance = 1e-4 if abs(alpha - 1) < 1e-5 else 1e-8
    np.testing.assert_allclose(level, level.mean(), atol=tolerance * max(1, np.ptp(slope)))
    np.testing.assert_allclose(p.sum(), 1, rtol=1e-12)


@given(x=SCORES)
@quickly
def test_entmax_is_softmax_at_one_and_sparsemax_at_two(x: np.ndarray) -> None:
    np.testing.assert_allclose(
        ENTARGMAX(x, 1.0), FAMILIES["shannon"][1](x, 1.0), rtol=1e-10, atol=1e-14
    )
    np.testing.assert_allclose(ENTARGMAX(x, 2.0), FAMILIES["gini"][1](x, 1.0), atol=1e-12)


@given(p=TARGETS)
@quickly
def test_tsallis_is_shannon_at_one_and_gini_at_two(p: np.ndarray) -> None:
    np.testing.assert_allclose(TSALLIS(p, 1.0), FAMILIES["shannon"][2](p), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(TSALLIS(p, 2.0), FAMILIES["gini"][2](p), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(TSALLIS(p, 1.0 + 1e-9), TSALLIS(p, 1.0), rtol=1e-7, atol=1e-12)


# ---- second derivatives


JACOBIAN, HESSIAN = compiled(jax.jacfwd(smooth.entargmax)), compiled(jax.hessian(smooth.entmax))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.5, 1.9])
def test_entmax_can_be_differentiated_twice(alpha: float) -> None:
    """The Hessian of the value is the Jacobian of the probabilities: diag(w) - w w^T / sum(w), w =
    p^(2 - alpha).
    """
    x = jnp.array([0.3, -0.2, 0.5])
    w = ENTARGMAX(x, alpha) ** (2 - alpha)
    expected = np.diag(w) - np.outer(w, w) / w.sum()
    np.testing.assert_allclose(JACOBIAN(x, alpha), expected, atol=1e-12)
    np.testing.assert_allclose(HESSIAN(x, alpha), expected, atol=1e-11)


@pytest.mark.slow
def test_the_family_is_smooth_in_alpha_at_one() -> None:
    x = jnp.array([0.3, -0.2, 0.5])
    slope = compiled(jax.jacfwd(smooth.entargmax, argnums=1))(x, 1.0)
    step = 1e-5
    numeric = (ENTARGMAX(x, 1 + step) - ENTARGMAX(x, 1 - step)) / (2 * step)
    np.testing.assert_allclose(slope, numeric, atol=1e-9)


# ---- losses (DU07, DU08)


LOSSES = {
    "logistic": (smooth.logistic_loss_target, smooth.logistic_loss, smooth.softargmax),
    "sparsemax": (smooth.sparsemax_loss_target, smooth.sparsemax_loss, smooth.sparseargmax),
    "entmax": (smooth.entmax_loss_target, smooth.entmax_loss, smooth.entargmax),
}
COMPILED_LOSSES = {
    name: (compiled(loss), compiled(jax.grad(loss)), compiled(label), compiled(weights))
    for name, (loss, label, weights) in LOSSES.items()
}


@pytest.mark.parametrize(
    "name", ["logistic", "sparsemax", pytest.param("entmax", marks=pytest.mark.slow)]
)
@given(x=SCORES, q=TARGETS, label=st.integers(0, N - 1))
@quickly
def test_losses_are_fenchel_young(name: str, x: np.ndarray, q: np.ndarray, label: int) -> None:
    loss, gradient, of_label, weights = COMPILED_LOSSES[name]
    p = weights(x)
    assert loss(x, q) >= 0
    np.testing.assert_allclose(loss(x, p), 0, atol=1e-9)
    np.testing.assert_allclose(gradient(x, q), p - q, atol=1e-9)
    np.testing.assert_allclose(of_label(x, label), loss(x, np.eye(N)[label]), atol=1e-9)


@given(p=WEIGHTS, q=WEIGHTS.map(lambda w: w + 0.01))
@quickly
def test_kl_is_nonnegative_and_zero_only_at_equality(p: np.ndarray, q: np.ndarray) -> None:
    assert KL(p, q) >= 0
    assert KL(q, q) == 0
    assert KL(p, q) > 0 or np.allclose(p, q)


KL = compiled(smooth.kl)
