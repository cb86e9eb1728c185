"""Methods of learning against SciPy, against each other, and against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from dpc.inference.errors import InferenceError
from dpc.inference.optimise.em import ExpectationMaximisation
from dpc.inference.optimise.gauss_newton import GaussNewton, curvature
from dpc.inference.optimise.lbfgs import Lbfgs
from dpc.inference.optimise.method import Minimiser, State, check_raw, minimise
from dpc.inference.optimise.newton import Newton, hessian
from dpc.inference.optimise.stochastic import CHUNK, Stochastic

ROWS, COLUMNS = 200, 3


def linear(raw: Any, data: Any) -> Any:
    return data[0] @ raw["slopes"] + jnp.broadcast_to(raw["level"], data[0].shape[:1])


def bernoulli(eta: Any, data: Any) -> Any:
    return jnp.sum(jax.nn.softplus(eta) - data[1] * eta)


def poisson(eta: Any, data: Any) -> Any:
    return jnp.sum(jnp.exp(eta) - data[1] * eta)


def logistic_loss(raw: Any, data: Any) -> Any:
    return bernoulli(linear(raw, data), data)


def poisson_loss(raw: Any, data: Any) -> Any:
    return poisson(linear(raw, data), data)


def natural(raw: Any, data: Any) -> Any:
    return raw


def counts_loss(raw: Any, data: Any) -> Any:
    return -jnp.sum(data * jax.nn.log_softmax(raw))


def rosenbrock(raw: Any, data: Any) -> Any:
    return jnp.sum(100 * (raw[1:] - raw[:-1] ** 2) ** 2 + (1 - raw[:-1]) ** 2)


LIKELIHOODS = {"logistic": (bernoulli, logistic_loss), "poisson": (poisson, poisson_loss)}
DETERMINISTIC: dict[str, Callable[..., Minimiser]] = {
    "newton": lambda data: Newton(logistic_loss, data),
    "lbfgs": lambda data: Lbfgs(logistic_loss, data),
    "gauss_newton": lambda data: GaussNewton(linear, bernoulli, data),
}


def regression(link: str = "logistic", dtype: Any = np.float64) -> tuple[Any, Any]:
    generator = np.random.default_rng(7)
    x = generator.normal(size=(ROWS, COLUMNS))
    eta = x @ np.array([1.0, -0.5, 0.2]) + 0.3
    y = (
        generator.random(ROWS) < 1 / (1 + np.exp(-eta))
        if link == "logistic"
        else generator.poisson(np.exp(eta))
    )
    return jnp.asarray(x, dtype), jnp.asarray(y, dtype)


def nothing(dtype: Any = np.float64) -> dict[str, Any]:
    return {"slopes": jnp.zeros(COLUMNS, dtype), "level": jnp.zeros((), dtype)}


def flat(raw: Any) -> np.ndarray:
    return np.asarray(jax.flatten_util.ravel_pytree(raw)[0])


def by_scipy(data: Any) -> np.ndarray:
    x, y = (np.asarray(array) for array in data)
    wide = np.column_stack([np.ones(len(x)), x])

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        eta = wide @ w
        return float(np.sum(np.logaddexp(0, eta) - y * eta)), wide.T @ (1 / (1 + np.exp(-eta)) - y)

    return scipy.optimize.minimize(
        loss, np.zeros(COLUMNS + 1), jac=True, method="BFGS", options={"gtol": 1e-10}
    ).x


# ---- where they end


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_methods_end_where_scipy_does(name: str) -> None:
    data = regression()
    found = minimise(DETERMINISTIC[name](data), nothing(), 200)
    assert found.converged, found.reason
    assert found.gradient_norm <= 1.5e-8 * found.value
    np.testing.assert_allclose(flat(found.raw), by_scipy(data), rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_float32_is_enough_for_float32(name: str) -> None:
    found = minimise(DETERMINISTIC[name](regression(dtype=np.float32)), nothing(np.float32), 200)
    assert found.converged, found.reason
    assert found.raw["slopes"].dtype == np.float32
    np.testing.assert_allclose(flat(found.raw), by_scipy(regression()), rtol=0, atol=2e-3)


@pytest.mark.parametrize("method", [Newton, Lbfgs])
def test_a_curved_valley_is_followed_to_its_end(method: Any) -> None:
    found = minimise(method(rosenbrock), jnp.full(4, -1.2), 300)
    assert found.converged, found.reason
    np.testing.assert_allclose(np.asarray(found.raw), 1, atol=1e-6)


def test_newton_gap_is_the_distance_to_the_minimum() -> None:
    """One step before the end, half the squared decrement predicts how much the value still
    falls.
    """
    data, seen = regression(), []
    found = minimise(Newton(logistic_loss, data), nothing(), 50, watch=seen.append)
    before = seen[3]
    assert float(before.value) - found.value > 1e-9
    np.testing.assert_allclose(
        float(before.memory.decrement) / 2, float(before.value) - found.value, rtol=1e-2
    )


# ---- what they say when there is no minimum


@pytest.mark.parametrize("name", DETERMINISTIC)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_separable_data_have_no_minimum(name: str, dtype: Any) -> None:
    x, _ = regression(dtype=dtype)
    found = minimise(DETERMINISTIC[name]((x, (x[:, 0] > 0).astype(dtype))), nothing(dtype), 500)
    assert not found.converged
    assert "separable data" in found.reason


@pytest.mark.parametrize("method", [Newton, Lbfgs])
def test_a_count_of_zero_is_on_the_boundary(method: Any) -> None:
    found = minimise(method(counts_loss, jnp.array([0.0, 2.0, 3.0])), jnp.zeros(3), 500)
    assert not found.converged
    assert "on the boundary" in found.reason


def test_what_is_not_identified_is_said_and_the_rest_is_found() -> None:
    counts = np.array([1.0, 2.0, 3.0])
    found = minimise(Newton(counts_loss, jnp.asarray(counts)), jnp.zeros(3), 50)
    assert found.converged
    assert "1 of its directions" in found.reason
    np.testing.assert_allclose(jax.nn.softmax(found.raw), counts / 6, atol=1e-9)


def polynomial(raw: Any, data: Any) -> Any:
    """Of each parameter, with coefficients of the first, second and fourth power."""
    return jnp.sum(data[0] * raw + data[1] * raw**2 + data[2] * raw**4)


def singles(*rows: Any) -> Any:
    return jnp.asarray(rows, np.float32)


def test_a_saddle_is_no_minimum() -> None:
    hill = Newton(polynomial, singles([0, 0], [1, -1], [0, 1]))
    found = minimise(hill, singles(1, 0), 50)
    assert not found.converged
    assert "saddle" in found.reason
    np.testing.assert_allclose(
        np.asarray(minimise(hill, singles(1, 0.1), 50).raw), [0, 0.5**0.5], atol=1e-4
    )


@pytest.mark.parametrize("method", [Newton, Lbfgs])
def test_a_loss_that_falls_for_ever(method: Any) -> None:
    found = minimise(method(polynomial, singles([1, 1], [0, 0], [0, 0])), singles(0, 0), 100)
    assert not found.converged
    assert "for ever" in found.reason or "no minimum" in found.reason


@pytest.mark.parametrize("method", [Newton, Lbfgs])
def test_a_flat_but_true_minimum_is_no_drift(method: Any) -> None:
    """The quartic has no curvature at its minimum, and its steps shrink by a third only."""
    found = minimise(method(polynomial, singles([0, 0], [0, 0], [1, 1])), singles(1, 1), 100)
    assert found.converged, found.reason


def test_a_value_that_is_no_number_ends_it() -> None:
    found = minimise(Newton(polynomial, singles([0, np.nan], [0, 0], [1, 1])), singles(1, 1), 10)
    assert (found.converged, found.steps) == (False, 0)
    assert "nan" in found.reason


def test_few_steps_are_too_few() -> None:
    found = minimise(Lbfgs(logistic_loss, regression()), nothing(), 2)
    assert (found.converged, found.steps) == (False, 2)
    assert "no certificate after 2 steps" in found.reason


def test_parameters_are_floats() -> None:
    with pytest.raises(InferenceError, match=r"\['b'\] is of type int64"):
        minimise(Newton(logistic_loss), {"a": np.zeros(2), "b": np.arange(2)}, 1)


# ---- a run that was stopped goes on bit for bit


def kept(state: State) -> State:
    """As a file would keep it."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(np.array(leaf)) if isinstance(leaf, jax.Array) else leaf, state
    )


@pytest.mark.parametrize("name", [*DETERMINISTIC, "em", "stochastic"])
def test_a_run_goes_on_bit_for_bit(name: str) -> None:
    method, raw, steps = any_method(name)
    seen: list[State] = []
    whole = minimise(method, raw, steps, watch=seen.append)
    resumed = minimise(method, raw, steps, state=kept(seen[len(seen) // 2]))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), whole.raw, resumed.raw))
    assert whole[1:] == resumed[1:]


def any_method(name: str) -> tuple[Minimiser, Any, int]:
    if name == "em":
        return ExpectationMaximisation(expect, maximise, MIXTURE_DATA), MIXTURE_START, 10
    if name == "stochastic":
        return noisy_method(), nothing(), 4 * CHUNK
    return DETERMINISTIC[name](regression()), nothing(), 6


# ---- natural gradients


@pytest.mark.parametrize("link", LIKELIHOODS)
def test_gauss_newton_is_newton_is_reweighted_least_squares(link: str) -> None:
    """On canonical links, where full steps are taken: step by step to 1e-10."""
    likelihood, loss = LIKELIHOODS[link]
    data = regression(link)
    newton, natural_gradient = Newton(loss, data), GaussNewton(linear, likelihood, data)
    near = check_raw({"slopes": np.array([0.8, -0.4, 0.1]), "level": 0.2})
    a, b = newton.start(near), natural_gradient.start(near)
    by_least_squares = flat(near)
    for _ in range(4):
        a, b = newton.advance(a), natural_gradient.advance(b)
        by_least_squares = reweighted(link, data, by_least_squares)
        np.testing.assert_allclose(flat(a.raw), by_least_squares, rtol=0, atol=1e-10)
        np.testing.assert_allclose(flat(b.raw), by_least_squares, rtol=0, atol=1e-10)


def reweighted(link: str, data: Any, w: np.ndarray) -> np.ndarray:
    """The weighted regression of the working response on the columns."""
    x, y = (np.asarray(array) for array in data)
    wide = np.column_stack([np.ones(len(x)), x])
    eta = wide @ w
    mean = np.exp(eta) if link == "poisson" else 1 / (1 + np.exp(-eta))
    variance = mean if link == "poisson" else mean * (1 - mean)
    root = np.sqrt(variance)
    return np.linalg.lstsq(root[:, None] * wide, root * (eta + (y - mean) / variance), rcond=None)[
        0
    ]


def network(raw: Any, data: Any) -> Any:
    """Logits of three states by a hidden layer of two."""
    return jnp.tanh(data @ raw[:4].reshape(2, 2)) @ raw[4:].reshape(2, 3)


def test_fisher_is_gauss_newton_is_the_covariance_of_the_score() -> None:
    """For every outcome of two rows, by enumeration; the Hessian of the loss is another matrix
    (SO08).
    """
    generator = np.random.default_rng(1)
    x, raw = jnp.asarray(generator.normal(size=(2, 2))), jnp.asarray(generator.normal(size=10))

    def likelihood(logits: Any, y: Any) -> Any:
        return jnp.sum(
            jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, y[:, None], axis=1)[:, 0]
        )

    outcomes = jnp.asarray(list(product(range(3), repeat=2)))

    @jax.jit
    def matrices(raw: Any) -> Any:
        def loss(r: Any, y: Any) -> Any:
            return likelihood(network(r, x), y)

        losses, scores = jax.vmap(jax.value_and_grad(loss), in_axes=(None, 0))(raw, outcomes)
        multiply = curvature(lambda r: network(r, x), lambda out: likelihood(out, outcomes[0]), raw)
        gauss_newton = jax.vmap(multiply)(jnp.eye(10))
        return (
            scores.T @ (jnp.exp(-losses)[:, None] * scores),
            gauss_newton,
            jax.hessian(loss)(raw, outcomes[0]),
        )

    fisher, gauss_newton, other = map(np.asarray, matrices(raw))
    np.testing.assert_allclose(gauss_newton, fisher, atol=1e-12)
    assert np.abs(other - fisher).max() > 1e-3


def test_gauss_newton_fits_what_newton_cannot_start_on() -> None:
    """Sines by two parameters, from a start where the Hessian is indefinite; damped, the loss falls
    at every step.
    """
    x = jnp.linspace(0, 3, 30)
    target = 1.5 * jnp.sin(1.2 * x)
    method = GaussNewton(
        lambda raw, data: raw[0] * jnp.sin(raw[1] * data[0]),
        lambda out, data: jnp.sum((out - data[1]) ** 2),
        (x, target),
    )
    values: list[float] = []
    found = minimise(
        method, jnp.array([0.3, 0.5]), 100, watch=lambda state: values.append(float(state.value))
    )
    assert found.converged, found.reason
    assert all(b <= a for a, b in pairwise(values))
    np.testing.assert_allclose(np.asarray(found.raw), [1.5, 1.2], atol=1e-6)


def test_the_columns_of_a_hessian_may_come_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    point = jnp.asarray(np.random.default_rng(0).normal(size=5))
    monkeypatch.setattr("dpc.inference.optimise.newton.AT_ONCE", 2)

    @jax.jit
    def both(point: Any) -> Any:
        return hessian(lambda raw: rosenbrock(raw, None), point, None), jax.hessian(rosenbrock)(
            point, None
        )

    found, expected = map(np.asarray, both(point))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# ---- noise


def noisy_loss(raw: Any, batch: Any, key: Any) -> Any:
    return logistic_loss(raw, batch) / batch[0].shape[0]


def noisy_method() -> Stochastic:
    return Stochastic(noisy_loss, regression(), batch_size=20, rate=0.01, limit=20_000)


def test_stochastic_gradients_come_near_the_minimum() -> None:
    """The fit is within 3 standard errors of the noise of Adam at this rate, about 0.1 (seed
    fixed).
    """
    found = minimise(noisy_method(), nothing(), 20_000)
    assert found.converged, found.reason
    np.testing.assert_allclose(flat(found.raw), by_scipy(regression()), atol=0.3)


def test_stochastic_gradients_of_all_rows_are_gradient_descent() -> None:
    method = Stochastic(noisy_loss, regression(), rate=0.5, optimizer="sgd")
    state = method.advance(method.start(nothing()))
    raw = nothing()
    slope = jax.jit(jax.grad(noisy_loss))
    for _ in range(CHUNK):
        raw = jax.tree.map(lambda a, g: a - 0.5 * g, raw, slope(raw, regression(), None))
    np.testing.assert_allclose(flat(state.raw), flat(raw), rtol=1e-12)


def test_stochastic_gradients_that_diverge_say_so() -> None:
    method = Stochastic(lambda raw, batch, key: -jnp.exp(raw), rate=1.0, optimizer="sgd")
    seen: list[State] = []
    found = minimise(method, jnp.zeros(()), 500, watch=seen.append)
    assert not found.converged
    assert f"at step {CHUNK} is nan" in found.reason
    assert np.isnan(float(seen[0].value))


def test_unknown_optimizers_are_named() -> None:
    with pytest.raises(InferenceError, match="one of adam, sgd, not 'adagrad'"):
        Stochastic(noisy_loss, optimizer="adagrad")


# ---- expectation-maximisation: a mixture of two binomials


TRIALS = 10
MIXTURE_DATA = (
    np.random.default_rng(3).binomial(TRIALS, np.repeat([0.2, 0.7], [40, 60])).astype(float)
)
MIXTURE_START = {"share": np.zeros(()), "rates": np.array([-0.5, 0.5])}


def expect(raw: Any, data: Any) -> tuple[Any, Any]:
    parts = jnp.stack([jax.nn.log_sigmoid(-raw["share"]), jax.nn.log_sigmoid(raw["share"])])
    heads = data[:, None] * jax.nn.log_sigmoid(raw["rates"])[None]
    joint = parts[None] + heads + (TRIALS - data[:, None]) * jax.nn.log_sigmoid(-raw["rates"])[None]
    return jnp.sum(jax.nn.logsumexp(joint, axis=1)), jax.nn.softmax(joint, axis=1)


def maximise(raw: Any, shares: Any, data: Any) -> Any:
    """In closed form, within bounds that keep the parameters finite."""
    rates = data @ shares / (TRIALS * jnp.sum(shares, axis=0))
    best = {"share": jnp.mean(shares[:, 1]), "rates": rates}
    return jax.tree.map(lambda p: jax.scipy.special.logit(jnp.clip(p, 1e-6, 1 - 1e-6)), best)


def test_em_ends_where_the_gradient_of_the_marginal_likelihood_does() -> None:
    by_em = minimise(ExpectationMaximisation(expect, maximise, MIXTURE_DATA), MIXTURE_START, 2000)
    direct = minimise(
        Lbfgs(lambda raw, data: -expect(raw, data)[0], MIXTURE_DATA), MIXTURE_START, 500
    )
    assert by_em.converged, by_em.reason
    assert direct.converged, direct.reason
    np.testing.assert_allclose(flat(by_em.raw), flat(direct.raw), atol=1e-5)
    np.testing.assert_allclose(by_em.value, direct.value, rtol=1e-12)


def test_where_there_is_no_number_the_other_function_is_asked() -> None:
    """The first is blind where the start is; both methods come to the point that they find with
    eyes everywhere.
    """
    seeing = minimise(ExpectationMaximisation(expect, maximise, MIXTURE_DATA), MIXTURE_START, 2000)

    def half_blind(raw: Any, data: Any) -> tuple[Any, Any]:
        value, shares = expect(raw, data)
        near = sum(jnp.sum((raw[name] - seeing.raw[name]) ** 2) for name in raw) < 0.1
        return jnp.where(near, value, jnp.nan), shares

    start_value = float(half_blind(MIXTURE_START, MIXTURE_DATA)[0])
    assert np.isnan(start_value)
    by_em = ExpectationMaximisation(half_blind, maximise, MIXTURE_DATA, otherwise=expect)
    direct = Lbfgs(
        lambda raw, data: -half_blind(raw, data)[0],
        MIXTURE_DATA,
        otherwise=lambda raw, data: -expect(raw, data)[0],
    )
    for method in (by_em, direct):
        found = minimise(method, MIXTURE_START, 2000)
        assert found.converged, found.reason
        np.testing.assert_allclose(flat(found.raw), flat(seeing.raw), atol=1e-5)


@settings(max_examples=25, deadline=None)
@for_all(st.lists(st.floats(-4, 4), min_size=3, max_size=3), st.integers(0, 2**32 - 1))
def test_em_never_lowers_the_likelihood(start: list[float], seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, TRIALS, endpoint=True, size=30).astype(float)
    values: list[float] = []
    raw = {"share": np.array(start[0]), "rates": np.array(start[1:])}
    minimise(
        ExpectationMaximisation(expect, maximise, data),
        raw,
        15,
        watch=lambda state: values.append(float(state.value)),
    )
    assert all(b <= a + 1e-10 for a, b in pairwise(values))


def test_em_notices_a_step_that_does_not_maximise() -> None:
    def wrong(raw: Any, shares: Any, data: Any) -> Any:
        return {"share": -raw["share"] + 3, "rates": raw["rates"] * 2}

    found = minimise(ExpectationMaximisation(expect, wrong, MIXTURE_DATA), MIXTURE_START, 20)
    assert not found.converged
    assert "does not belong" in found.reason
