"""Edges: infinities, zeros and ties, where a formula taken literally gives nan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats

from dpc.dsl.library.bodies import arrays, elementary, lists, smooth

INF = np.inf
slow = pytest.mark.slow
ENTMAX, ENTARGMAX = (
    pytest.param(function, marks=slow) for function in (smooth.entmax, smooth.entargmax)
)


def value_and_grad(
    function: Callable[..., jax.Array], *at: object
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The sum of the results, and its gradient in every argument."""
    values = [jnp.asarray(v, float) for v in at]
    places = tuple(range(len(at)))
    value, gradients = jax.jit(
        jax.value_and_grad(lambda *v: jnp.sum(function(*v)), argnums=places)
    )(*values)
    return np.asarray(value), [np.asarray(g) for g in gradients]


# ---- sums of exponentials


@pytest.mark.parametrize("function", [smooth.logsumexp, smooth.softmax, smooth.sparsemax, ENTMAX])
def test_the_maximum_of_nothing_is_minus_infinity_without_slope(
    function: Callable[..., jax.Array],
) -> None:
    value, (slope,) = value_and_grad(function, [-INF, -INF, -INF])
    assert value == -INF
    np.testing.assert_array_equal(slope, 0)


@pytest.mark.parametrize("function", [smooth.softmax, smooth.sparsemax, ENTMAX, ENTARGMAX])
def test_what_cannot_be_chosen_changes_nothing(function: Callable[..., jax.Array]) -> None:
    def square(x: jax.Array, t: jax.Array) -> jax.Array:
        return jnp.square(function(x, temperature=t))

    value, (slope, in_t) = value_and_grad(square, [0.2, -INF, 0.5, -INF], 0.7)
    expected, (part, part_in_t) = value_and_grad(square, [0.2, 0.5], 0.7)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, [part[0], 0, part[1], 0], atol=1e-12)
    np.testing.assert_allclose(in_t, part_in_t, atol=1e-12)


@pytest.mark.parametrize("function", [smooth.softargmax, smooth.sparseargmax, ENTARGMAX])
def test_when_nothing_can_be_chosen_all_are_equal(function: Callable[..., jax.Array]) -> None:
    np.testing.assert_allclose(jax.jit(function)(jnp.full(4, -INF)), 0.25)
    np.testing.assert_array_equal(jax.jit(jax.jacobian(function))(jnp.full(4, -INF)), 0)


@pytest.mark.parametrize("function", [smooth.softmax, smooth.sparsemax, ENTMAX])
def test_large_scores_do_not_overflow(function: Callable[..., jax.Array]) -> None:
    value, (slope,) = value_and_grad(function, [1e300, -1e300, 0])
    assert value == 1e300
    np.testing.assert_array_equal(slope, [1, 0, 0])


def test_cumlogsumexp_of_leading_minus_infinities() -> None:
    x = [-INF, -INF, 0.0, -INF, 1.0]
    np.testing.assert_allclose(
        arrays.cumlogsumexp(jnp.asarray(x)), [-INF, -INF, 0, 0, np.logaddexp(0, 1)], rtol=1e-15
    )
    _, (slope,) = value_and_grad(lambda v: arrays.cumlogsumexp(v)[-1], x)
    np.testing.assert_allclose(slope, [0, 0, sp.expit(-1), 0, sp.expit(1)], rtol=1e-14)


def test_logsumexp_of_two() -> None:
    value, slopes = value_and_grad(
        elementary.logaddexp, [-INF, -INF, 0, 0, 1000], [-INF, 0, -INF, 0, -1000]
    )
    assert value == -INF
    np.testing.assert_array_equal(slopes, [[0, 0, 1, 0.5, 1], [0, 1, 0, 0.5, 0]])
    np.testing.assert_allclose(
        elementary.logaddexp(jnp.float64(0), jnp.float64(-40)), np.exp(-40), rtol=1e-14
    )


@slow
def test_logsumexp_of_two_bends_at_equality() -> None:
    np.testing.assert_allclose(jax.hessian(elementary.logaddexp)(1.0, 1.0), 0.25, rtol=1e-14)


def test_logdiffexp() -> None:
    a, b = [0.0, -1000.0, 1e-20, 3.0], [-INF, -1001.0, 0.0, -1000.0]
    expected = [0, -1000 + np.log(1 - np.exp(-1)), np.log(1e-20), 3]
    np.testing.assert_allclose(
        elementary.logdiffexp(jnp.asarray(a), jnp.asarray(b)), expected, rtol=1e-14
    )
    _, slopes = value_and_grad(elementary.logdiffexp, a, b)
    difference = np.subtract(a, b)
    np.testing.assert_allclose(slopes[0], 1 / -np.expm1(-difference), rtol=1e-12)
    np.testing.assert_allclose(
        slopes[1], -1 / np.expm1(difference.clip(max=700)), rtol=1e-12, atol=1e-300
    )
    for both in (-INF, 1.0):
        value, slopes = value_and_grad(elementary.logdiffexp, both, both)
        assert value == -INF
        assert np.all(np.isfinite(slopes))


def test_log1mexp_is_exact_at_both_ends() -> None:
    x = np.array([1e-300, 1e-20, 0.5, np.log(2), 1, 40, 1000])
    expected = [np.log(1e-300), np.log(1e-20), *np.log(1 - np.exp(-x[2:5])), -np.exp(-40), 0]
    np.testing.assert_allclose(elementary.log1mexp(jnp.asarray(x)), expected, rtol=1e-14)
    _, (slope,) = value_and_grad(elementary.log1mexp, x[1:-1])
    np.testing.assert_allclose(slope, 1 / np.expm1(x[1:-1]), rtol=1e-13)


# ---- zeros


def test_xlogy_and_pow_at_zero() -> None:
    value, slopes = value_and_grad(elementary.xlogy, [0, 0, 2], [0, 3, 1])
    assert value == 0
    np.testing.assert_allclose(slopes, [[0, np.log(3), 0], [0, 0, 2]])
    value, slopes = value_and_grad(elementary.power, [0, 0, -2], [0, 2, 3])
    assert value == 1 + 0 - 8
    np.testing.assert_array_equal(slopes[0], [0, 0, 12])


def test_entropies_at_a_corner_have_finite_slopes() -> None:
    corner = [0.0, 1.0, 0.0]
    value, (slope,) = value_and_grad(smooth.entropy, corner)
    assert value == 0
    np.testing.assert_array_equal(slope, [0, -1, 0])
    for alpha in (0.5, 1.0, 1.5, 2.0):
        value, slopes = value_and_grad(smooth.tsallis_entropy, corner, alpha)
        edge = 1 / (alpha * (alpha - 1)) if alpha > 1 else 0
        assert value == 0
        np.testing.assert_allclose(slopes[0], [edge, -1 / alpha, edge])
        np.testing.assert_array_equal(slopes[1], 0)


def test_kl_at_zeros() -> None:
    value, slopes = value_and_grad(smooth.kl, [0, 0, 0.5], [0, 0.25, 0.5])
    assert value == 0.25
    np.testing.assert_array_equal(slopes, [[0, 0, 0], [1, 1, 0]])
    assert smooth.kl(jnp.array([0.5, 0.5]), jnp.array([1.0, 0.0])) == INF


LENGTHS = [
    elementary.magnitude,
    arrays.norm,
    arrays.norm1,
    arrays.deviation,
    arrays.group_soft_threshold,
]


@pytest.mark.parametrize("function", LENGTHS)
def test_lengths_of_zero_have_slope_zero(function: Callable[..., jax.Array]) -> None:
    value, (slope,) = value_and_grad(function, [0, 0, 0])
    assert value == 0
    np.testing.assert_array_equal(slope, 0)


def test_norm_neither_overflows_nor_underflows() -> None:
    for scale in (1e-300, 1e300):
        value, (slope,) = value_and_grad(arrays.norm, [3 * scale, -4 * scale])
        np.testing.assert_allclose(value, 5 * scale, rtol=1e-15)
        np.testing.assert_allclose(slope, [0.6, -0.8], rtol=1e-15)
    assert arrays.norm(jnp.array([INF, 1.0])) == INF


def test_equal_points_have_distance_zero_and_slope_zero() -> None:
    value, slopes = value_and_grad(arrays.distance, [1, 2], [1, 2])
    assert value == 0
    np.testing.assert_array_equal(slopes, 0)


OTHER_KERNELS = (arrays.gp_exp_quad, arrays.gp_matern32, arrays.gp_matern52)
KERNELS = [arrays.gp_exponential, *(pytest.param(kernel, marks=slow) for kernel in OTHER_KERNELS)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_symmetric_with_finite_slopes_where_points_meet(
    kernel: Callable[..., jax.Array],
) -> None:
    x = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, -1.0], [0.3, 0.2]])
    matrix = np.asarray(kernel(jnp.asarray(x), 1.5, 0.7))
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diagonal(matrix), 1.5**2)
    assert np.linalg.eigvalsh(matrix).min() > -1e-14
    _, slopes = value_and_grad(
        lambda x, s, r: kernel(x, s, r) * jnp.arange(16.0).reshape(4, 4), x, 1.5, 0.7
    )
    assert all(np.all(np.isfinite(s)) for s in slopes)


@slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_distinct_points_have_a_positive_definite_covariance(
    kernel: Callable[..., jax.Array],
) -> None:
    x = np.random.default_rng(0).normal(size=(6, 3))
    assert np.linalg.eigvalsh(np.asarray(kernel(jnp.asarray(x), 1.0, 1.0))).min() > 0


# ---- counts and probabilities


@slow
def test_lchoose() -> None:
    n, k = [5, 5, 5, 0, 1e6, 5], [0, 5, 2, 0, 3, 6]
    expected = [0, 0, np.log(10), 0, np.log(1e6 * (1e6 - 1) * (1e6 - 2) / 6), -INF]
    np.testing.assert_allclose(
        elementary.lchoose(jnp.asarray(n, float), jnp.asarray(k, float)), expected, atol=1e-13
    )
    _, slopes = value_and_grad(elementary.lchoose, 5, 6)
    assert np.all(np.isfinite(slopes))


BETAINC_SLOPES = jax.jit(jax.vmap(jax.grad(elementary.betainc, argnums=(0, 1, 2)), (None, None, 0)))


@slow
@pytest.mark.parametrize(
    ("a", "b"), [(0.5, 0.5), (2.0, 3.0), (300.0, 200.0), (0.2, 50.0), (1.0, 1.0)]
)
def test_betainc_moves_with_its_parameters(a: float, b: float) -> None:
    x = scipy.stats.beta(a, b).ppf([0.03, 0.5, 0.98])
    slope_a, slope_b, slope_x = BETAINC_SLOPES(a, b, jnp.asarray(x))
    step_a, step_b = 1e-5 * a, 1e-5 * b
    np.testing.assert_allclose(
        slope_a,
        (sp.betainc(a + step_a, b, x) - sp.betainc(a - step_a, b, x)) / (2 * step_a),
        rtol=2e-6,
        atol=1e-9,
    )
    np.testing.assert_allclose(
        slope_b,
        (sp.betainc(a, b + step_b, x) - sp.betainc(a, b - step_b, x)) / (2 * step_b),
        rtol=2e-6,
        atol=1e-9,
    )
    np.testing.assert_allclose(slope_x, scipy.stats.beta(a, b).pdf(x), rtol=1e-9)


@slow
def test_betainc_at_its_ends_is_flat() -> None:
    slopes = BETAINC_SLOPES(2.0, 3.0, jnp.array([0.0, 1.0, 1.0]))
    np.testing.assert_array_equal(slopes, 0)


# ---- whole numbers


def test_rounding() -> None:
    x = jnp.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5])
    np.testing.assert_array_equal(elementary.nearest_int(x), [-2, -2, 0, 0, 0, 2, 2])
    np.testing.assert_array_equal(elementary.floor(x), [-3, -2, -1, 0, 0, 1, 2])
    np.testing.assert_array_equal(elementary.ceil(x), [-2, -1, 0, 0, 1, 2, 3])
    np.testing.assert_array_equal(elementary.trunc(x), [-2, -1, 0, 0, 0, 1, 2])
    np.testing.assert_array_equal(elementary.sign(x), [-1, -1, -1, 0, 1, 1, 1])
    np.testing.assert_array_equal(elementary.step(x), [False, False, False, True, True, True, True])


@slow
def test_rank_keeps_the_order_of_equals() -> None:
    np.testing.assert_array_equal(arrays.rank(jnp.array([2.0, 1.0, 2.0, 0.0])), [2, 1, 3, 0])


# ---- lists and dictionaries


@slow
def test_soft_insert_gives_weight_zero_to_what_does_not_exist() -> None:
    ends = [
        lists.soft_insert(jnp.array([1.0, 2.0]), jnp.eye(3)[i], jnp.float64(9)) for i in range(3)
    ]
    np.testing.assert_array_equal(ends, [[9, 1, 2], [1, 9, 2], [1, 2, 9]])


@slow
def test_lookup_is_the_limit_of_soft_lookup() -> None:
    keys, values = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), jnp.array([1.0, 5.0, 7.0])
    key = jnp.array([0.9, 0.3])
    assert lists.lookup(keys, values, key) == 5
    np.testing.assert_allclose(lists.soft_lookup(keys, values, key, 0.05), 5)
    np.testing.assert_array_equal(lists.update(keys, values, keys[2], 8.0), [1, 5, 8])
    np.testing.assert_array_equal(lists.update(keys, values, key, 8.0), values)


@slow
def test_a_far_key_still_has_a_nearest_neighbour() -> None:
    np.testing.assert_allclose(lists.lookup_weights(jnp.array([0.0, 1.0]), 1e6, 0.1), [0, 1])


@slow
def test_attention_is_lookup_for_keys_of_unit_length() -> None:
    """DS12: a Gaussian kernel of width s is attention at temperature s^2."""
    keys = jnp.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    values, query = jnp.array([[1.0], [2.0], [4.0]]), jnp.array([0.3, 0.9])
    soft = lists.soft_lookup(keys, values, query, 0.8)
    np.testing.assert_allclose(
        lists.attention(query[None], keys, values, 0.8**2)[0], soft, rtol=1e-13
    )


def test_masks_hide_huge_scores_and_may_be_empty() -> None:
    queries, keys = jnp.array([[1.0], [1.0]]), jnp.array([[1000.0], [1.0], [1.5]])
    values = jnp.array([[7.0], [2.0], [3.0]])
    mask = jnp.array([[False, True, True], [False, False, False]])
    expected = sp.softmax([1, 1.5]) @ [2, 3]
    np.testing.assert_allclose(
        lists.masked_attention(queries, keys, values, mask), [[expected], [0]], rtol=1e-14
    )
    _, gradients = value_and_grad(
        lambda *given: lists.masked_attention(*given, mask), queries, keys, values
    )
    assert all(np.all(np.isfinite(g)) for g in gradients)


@slow
def test_a_mask_may_be_a_probability() -> None:
    queries, keys, values = jnp.ones((1, 1)), jnp.array([[0.0], [1.0]]), jnp.array([[1.0], [2.0]])
    mask = jnp.array([[0.25, 1.0]])
    expected = np.array([0.25, np.e]) / (0.25 + np.e) @ [1, 2]
    np.testing.assert_allclose(
        lists.masked_attention(queries, keys, values, mask), [[expected]], rtol=1e-14
    )
