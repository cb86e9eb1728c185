"""Control variates keep the mean and its derivatives; tunable numbers have the gradient of the
second moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from cases import Case, coin
from tape import expected
from verification import moments, verify

from dpc.estimators import Cost, Draw, Step, surrogate
from dpc.estimators.methods.method import Method, control_variate, leave_one_out_coefficient
from dpc.estimators.methods.relaxed import Rebar, Relax, bend_parameters, variance_gradient
from dpc.estimators.methods.score import ScoreFunction

LOOSE_JAX = "NumPyro promotes types and ranks"


def _controlled(coefficient: float) -> Case:
    """x^2 of N(m, s), with 2 m x, whose mean is 2 m^2, taken off."""

    def steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
        def cost(v: Any) -> jax.Array:
            return control_variate(
                v["x"] ** 2, 2 * theta[0] * v["x"], 2 * theta[0] ** 2, coefficient
            )

        return [
            Draw("x", (), lambda v: dist.Normal(theta[0], theta[1]), methods[0]),
            Cost("loss", ("x",), cost),
        ]

    return Case(f"{coefficient}", np.array([1.0, 0.5]), steps, lambda t: t[0] ** 2 + t[1] ** 2, ())


def test_a_control_variate_keeps_the_mean_and_takes_variance() -> None:
    verify(_controlled(0.9), [ScoreFunction()])
    plain, controlled = (moments(_controlled(a), [ScoreFunction()])[1] for a in (0.0, 0.9))
    assert np.all(controlled < plain)


def test_the_coefficient_is_that_of_the_others() -> None:
    rng = np.random.default_rng(0)
    f, h = rng.normal(size=(2, 6, 2))
    for i in range(6):
        for k in range(2):
            rest = np.delete(np.stack([f[:, k], h[:, k]]), i, 1)
            covariance = np.cov(rest)
            found = leave_one_out_coefficient(jnp.asarray(f), jnp.asarray(h))[i, k]
            np.testing.assert_allclose(found, covariance[0, 1] / covariance[1, 1])
    np.testing.assert_array_equal(leave_one_out_coefficient(jnp.ones(3), jnp.ones(3)), 0)
    with pytest.raises(ValueError, match="at least 3"):
        leave_one_out_coefficient(jnp.ones(2), jnp.ones(2))


# ---- tuning

Make = Callable[[Any], Method]


def _value(make: Make, tunables: Any) -> Callable[[jax.Array, jax.Array], jax.Array]:
    return lambda theta, key: surrogate(coin(0.3).steps(theta, [make(tunables)]), key).value


def _second_moment(make: Make, tunables: Any) -> Any:
    """E|g|^2 and the mean of its estimated gradient."""
    case = coin(0.3)

    def both(value: Any) -> Callable[[jax.Array, jax.Array], Any]:
        def found(theta: jax.Array, key: jax.Array) -> Any:
            gradient = lambda tunables: jax.grad(_value(make, tunables))(theta, key)  # noqa: E731
            return jnp.sum(gradient(tunables) ** 2), variance_gradient(gradient, tunables)

        return found

    return expected(_value(make, tunables), both, jnp.asarray(case.theta), case.breaks, {}, 40)


@pytest.mark.parametrize(
    ("make", "tunables", "leaf"),
    [
        (lambda t: Rebar(**t), lambda: {"temperature": 0.6, "scale": 0.8}, 1),
        (
            lambda t: Relax(t["own"], scale=t["scale"]),
            lambda: {"own": bend_parameters(2), "scale": 0.8},
            2,
        ),
    ],
    ids=["rebar", "relax"],
)
def test_the_gradient_of_the_second_moment(
    make: Make, tunables: Callable[[], Any], leaf: int
) -> None:
    """Against its differences to one of the numbers, or to all numbers of an array together."""
    leaves, tree = jax.tree.flatten(tunables())

    def at(step: float) -> Any:
        moved = [x + step if k == leaf else x for k, x in enumerate(leaves)]
        return _second_moment(make, jax.tree.unflatten(tree, moved))

    step = 1e-4
    slope = (at(step)[0] - at(-step)[0]) / (2 * step)
    found = jax.tree.leaves(at(0.0)[1])[leaf]
    np.testing.assert_allclose(np.sum(found), slope, rtol=1e-6)


def test_descending_it_takes_variance() -> None:
    tunables = {"temperature": jnp.asarray(0.5), "scale": jnp.asarray(0.0)}
    theta = jnp.asarray(coin(0.3).theta)

    @jax.jit
    def step(tunables: Any, key: jax.Array) -> Any:
        def gradient(tunables: Any) -> jax.Array:
            value = _value(lambda t: Rebar(**t), tunables)
            return jax.vmap(lambda key: jax.grad(value)(theta, key))(jax.random.split(key, 64))

        slope = variance_gradient(gradient, tunables)
        return jax.tree.map(lambda x, d: x - 0.001 * d, tunables, slope)

    tuned = tunables
    for n in range(60):
        tuned = step(tuned, jax.random.key(n))
    before, after = (moments(coin(0.3), [Rebar(**t)])[1] for t in (tunables, tuned))
    assert after < 0.85 * before
