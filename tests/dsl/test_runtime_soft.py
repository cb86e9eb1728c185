"""Soft operations are expectations of hard ones under noise, and become them as the scale goes to
0.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate as si
import scipy.stats as ss
from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.dsl.library.bodies import soft

KINDS = ("logistic", "gaussian", "sparse")
LOGICS = ("product", "extremum", "lukasiewicz")
NOISE = {"logistic": ss.logistic(), "gaussian": ss.norm(), "sparse": ss.uniform(-1, 2)}
UNIT = st.floats(0, 1)
POINTS = np.array([-3.0, -0.7, -0.2, 0.0, 0.1, 0.5, 2.0])

kinds = pytest.mark.parametrize("kind", KINDS)
logics = pytest.mark.parametrize("logic", LOGICS)
quickly = settings(deadline=None, max_examples=40)


def operation(name: str, which: str) -> Callable[..., np.ndarray]:
    function = jax.jit(getattr(soft, f"soft_{name}_{which}"))
    return lambda *given: np.asarray(function(*(jnp.asarray(v, float) for v in given)))


GREATER, EQUAL, ARGMAX = (
    {kind: operation(name, kind) for kind in KINDS} for name in ("greater", "equal", "argmax")
)
AND, OR, ALL, ANY = (
    {logic: operation(name, logic) for logic in LOGICS} for name in ("and", "or", "all", "any")
)


# ---- comparisons


@kinds
@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_greater_is_the_mean_of_the_hard_comparison_under_noise(kind: str, scale: float) -> None:
    """CF03: P(a + s z >= b), by quadrature over the density of the noise."""
    for d in POINTS:
        jump = float(np.clip(-d / scale, -40, 40))
        expected = si.quad(
            NOISE[kind].pdf, jump, 40, points=[-1, 1] if jump < -1 else None, limit=200
        )[0]
        np.testing.assert_allclose(GREATER[kind](0.4 + d, 0.4, scale), expected, atol=1e-8)


@kinds
def test_greater_and_less_share_one_chance(kind: str) -> None:
    np.testing.assert_allclose(
        GREATER[kind](POINTS, 0.1, 0.5) + GREATER[kind](0.1, POINTS, 0.5), 1, rtol=1e-14
    )


@pytest.mark.parametrize("kind", ["logistic", "gaussian"])
def test_equal_is_the_density_of_the_noise_over_its_height(kind: str) -> None:
    """CF06, CF09, and erratum 13: the height is that of the difference."""
    noise = NOISE[kind]
    expected = noise.pdf((POINTS - 0.1) / 0.5) / noise.pdf(0)
    np.testing.assert_allclose(EQUAL[kind](POINTS, 0.1, 0.5), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["logistic", "sparse"])
def test_equal_is_greater_and_less_over_what_that_is_at_equality(kind: str) -> None:
    both = GREATER[kind](POINTS, 0.1, 0.5) * GREATER[kind](0.1, POINTS, 0.5)
    np.testing.assert_allclose(EQUAL[kind](POINTS, 0.1, 0.5), 4 * both, atol=1e-14)


@kinds
def test_equal_is_one_at_equality_and_symmetric(kind: str) -> None:
    np.testing.assert_array_equal(EQUAL[kind](POINTS, POINTS, 0.2), 1)
    np.testing.assert_array_equal(EQUAL[kind](POINTS, 0.3, 0.2), EQUAL[kind](0.3, POINTS, 0.2))


@kinds
def test_small_scales_recover_the_hard_comparison(kind: str) -> None:
    np.testing.assert_allclose(GREATER[kind](POINTS, 0.05, 1e-3), POINTS > 0.05, atol=1e-12)
    np.testing.assert_allclose(EQUAL[kind](POINTS, 0.1, 1e-3), POINTS == 0.1, atol=1e-12)


def test_sparse_comparisons_are_exact_outside_the_band() -> None:
    np.testing.assert_array_equal(GREATER["sparse"]([-1.01, 1.01], 0.0, 1.0), [0, 1])
    np.testing.assert_array_equal(EQUAL["sparse"]([-1.01, 1.01], 0.0, 1.0), 0)


@kinds
@pytest.mark.parametrize("name", ["greater", "equal"])
def test_comparisons_have_the_slopes_of_finite_differences(kind: str, name: str) -> None:
    function = getattr(soft, f"soft_{name}_{kind}")
    slopes = jax.jit(jax.vmap(jax.grad(function, argnums=(0, 1, 2)), (0, None, None)))(
        jnp.asarray(POINTS), 0.13, 0.4
    )
    run, step = {"greater": GREATER, "equal": EQUAL}[name][kind], 1e-5
    for place, slope in enumerate(slopes):
        up, down = ([POINTS, 0.13, 0.4] for _ in range(2))
        up[place], down[place] = up[place] + step, down[place] - step
        np.testing.assert_allclose(slope, (run(*up) - run(*down)) / (2 * step), atol=1e-8)


# ---- logic


@logics
def test_logic_of_certain_truths_is_boolean(logic: str) -> None:
    p, q = np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1])
    np.testing.assert_array_equal(AND[logic](p, q), [0, 0, 0, 1])
    np.testing.assert_array_equal(OR[logic](p, q), [0, 1, 1, 1])


@logics
@given(p=UNIT, q=UNIT, r=UNIT)
@quickly
def test_laws_of_t_norms(logic: str, p: float, q: float, r: float) -> None:
    """CF13: commutative, associative, monotone, with 1 as the unit of `and`; De Morgan gives
    `or`.
    """
    conj, disj = AND[logic], OR[logic]
    np.testing.assert_allclose(conj(p, q), conj(q, p), atol=1e-15)
    np.testing.assert_allclose(conj(conj(p, q), r), conj(p, conj(q, r)), atol=1e-15)
    np.testing.assert_allclose(
        [conj(p, 1), conj(p, 0), disj(p, 0), disj(p, 1)], [p, 0, p, 1], atol=1e-15
    )
    assert conj(min(p, r), q) <= conj(max(p, r), q) + 1e-15
    np.testing.assert_allclose(1 - conj(p, q), disj(1 - p, 1 - q), atol=1e-15)


@logics
@given(ps=st.lists(UNIT, min_size=4, max_size=4))
@quickly
def test_all_and_any_are_repeated_and_and_or(logic: str, ps: list[float]) -> None:
    every, some = 1.0, 0.0
    for p in ps:
        every, some = AND[logic](every, p), OR[logic](some, p)
    np.testing.assert_allclose(ALL[logic](ps), every, atol=1e-14)
    np.testing.assert_allclose(ANY[logic](ps), some, atol=1e-14)


@logics
def test_logic_takes_truths_and_single_precision(logic: str) -> None:
    conj = getattr(soft, f"soft_and_{logic}")
    assert conj(jnp.float32(0.5), jnp.float32(0.75)).dtype == jnp.float32
    with jax.numpy_dtype_promotion("standard"):
        for name in ("and", "or"):
            assert (
                getattr(soft, f"soft_{name}_{logic}")(jnp.array([True]), jnp.array([True]))[0]
                == 1.0
            )


# ---- branches


@given(p=UNIT, a=st.floats(-5, 5), b=st.floats(-5, 5))
@quickly
def test_soft_if_has_the_mean_and_variance_of_a_random_branch(p: float, a: float, b: float) -> None:
    mean, variance = IF(p, a, b), VARIANCE(p, a, b)
    np.testing.assert_allclose(mean, p * a + (1 - p) * b, atol=1e-14)
    np.testing.assert_allclose(
        variance, p * (a - mean) ** 2 + (1 - p) * (b - mean) ** 2, atol=1e-12
    )


IF, VARIANCE = jax.jit(soft.soft_if), jax.jit(soft.soft_if_variance)


def test_the_predicate_stands_over_the_leading_axes() -> None:
    p, a, b = jnp.array([0.25, 1.0]), jnp.ones((2, 3)), jnp.zeros((2, 3))
    np.testing.assert_array_equal(soft.soft_if(p, a, b), [[0.25] * 3, [1.0] * 3])


def test_a_branch_without_weight_may_be_infinite() -> None:
    value, slopes = jax.value_and_grad(soft.soft_if, argnums=(0, 1, 2))(1.0, 2.0, -jnp.inf)
    assert value == 2
    assert np.all(np.isfinite(slopes))
    np.testing.assert_array_equal(
        jax.grad(soft.soft_if, argnums=(0, 1, 2))(1.0, 2.0, 5.0), [-3, 1, 0]
    )


# ---- argmax


def gaussian_argmax(x: np.ndarray, scale: float) -> list[float]:
    sd = scale / np.sqrt(2)

    def win(i: int) -> float:
        others = np.delete(x, i)
        return si.quad(
            lambda u: ss.norm.pdf(u, x[i], sd) * np.prod(ss.norm.cdf(u, others, sd)),
            x[i] - 10 * sd,
            x[i] + 10 * sd,
            epsabs=1e-12,
            limit=200,
        )[0]

    return [win(i) for i in range(len(x))]


@kinds
def test_argmax_of_two_is_greater(kind: str) -> None:
    for d in POINTS:
        np.testing.assert_allclose(
            ARGMAX[kind]([d, 0.0], 0.5)[0], GREATER[kind](d, 0.0, 0.5), atol=1e-13
        )


@kinds
def test_argmax_is_a_distribution_and_hard_at_small_scales(kind: str) -> None:
    x = [0.3, -1.0, 0.9, 0.85]
    np.testing.assert_allclose(ARGMAX[kind](x, 0.7).sum(), 1, rtol=1e-14)
    np.testing.assert_allclose(ARGMAX[kind](x, 1e-3), [0, 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(
        ARGMAX[kind]([-np.inf, 0.5, -np.inf, 0.5], 0.7), [0, 0.5, 0, 0.5], atol=1e-15
    )


def test_gaussian_argmax_is_that_of_normal_noise_by_quadrature() -> None:
    for x in (
        np.array([0.3, -1.0, 0.9, 0.85]),
        np.linspace(-1, 1, 4),
        np.array([3.0, 0.0, 0.0, -8.0]),
    ):
        np.testing.assert_allclose(ARGMAX["gaussian"](x, 0.7), gaussian_argmax(x, 0.7), atol=1e-10)


@pytest.mark.slow
def test_gaussian_argmax_of_many() -> None:
    x = np.random.default_rng(0).normal(size=40)
    np.testing.assert_allclose(ARGMAX["gaussian"](x, 0.7), gaussian_argmax(x, 0.7), atol=1e-10)


def test_logistic_argmax_is_that_of_gumbel_noise() -> None:
    """CV19, with 4 standard errors of the count: a false alarm in 16 000 for each of three
    entries.
    """
    x, scale, n = np.array([0.3, -0.5, 0.6]), 0.7, 200_000
    noise = np.random.default_rng(0).gumbel(size=(n, 3))
    counts = np.bincount(np.argmax(x + scale * noise, axis=1), minlength=3) / n
    p = ARGMAX["logistic"](x, scale)
    assert np.all(abs(counts - p) < 4 * np.sqrt(p * (1 - p) / n))


@pytest.mark.slow
@kinds
def test_argmax_has_the_slopes_of_finite_differences(kind: str) -> None:
    x, direction, step = np.array([0.3, -0.1, 0.6]), np.array([0.2, -0.7, 1.0]), 1e-5
    _, slope = jax.jit(
        lambda v, d: jax.jvp(lambda u: getattr(soft, f"soft_argmax_{kind}")(u, 0.8), (v,), (d,))
    )(jnp.asarray(x), jnp.asarray(direction))
    numeric = (
        ARGMAX[kind](x + step * direction, 0.8) - ARGMAX[kind](x - step * direction, 0.8)
    ) / (2 * step)
    np.testing.assert_allclose(slope, numeric, atol=1e-8)
