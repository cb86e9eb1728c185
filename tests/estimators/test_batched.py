"""One law for all samples of what is above it: the laws of the samples, one by one. And functions
of log odds.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from dpc.dsl.library.bodies.divergences import divergence
from dpc.estimators.methods.distributions import element_log_prob
from dpc.estimators.run import PARAMETERS, Placed, batched

LOOSE_JAX = "NumPyro promotes types and ranks"

CHANCE = np.random.default_rng(0)
SAMPLES, PLATES = (2, 2), (5, 2)
FIRST = {
    "loc": CHANCE.uniform(-1, 1, SAMPLES),
    "total_count": np.full(SAMPLES, 7),
    "low": -np.ones(SAMPLES),
}
POSITIVE = CHANCE.uniform(0.1, 0.9, SAMPLES)


def _law(family: type, first: Any, plates: bool) -> dist.Distribution:
    """The last parameter depends on the first plate, the others on the sample alone."""
    names = PARAMETERS[family]
    parameters = {name: first[name] if name in first else first[""] for name in names}
    for name, event in names.items():
        if event:
            parameters[name] = parameters[name] * jnp.array([0.2, 0.5, 0.3]) / first[""]
    last = list(names)[-1]
    if plates and last != "total_count":
        wide = (5, 1) + (1,) * names[last]
        parameters[last] = parameters[last] * jnp.ones(wide)
    law = family(**parameters)
    return law.expand(PLATES) if plates else law


def _quickly(function: Any) -> Any:
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})()


def _at_once_and_one_by_one(family: type, plates: bool) -> tuple[jax.Array, jax.Array]:
    """Log densities at a value; the law does not depend on the middle sample axis."""
    names = [name for name in PARAMETERS[family] if name in FIRST]
    given = {name: Placed(jnp.asarray(FIRST[name]), (0, 2)) for name in names} | {
        "": Placed(POSITIVE, (0, 2))
    }
    law = batched(lambda v: _law(family, v, plates), given, (0, 1, 2), (2, 3, 2))
    assert law is not None
    drawn = jax.eval_shape(law.sample, jax.random.key(0))
    assert drawn.shape == (2, 3, 2, *(PLATES if plates else ()), *law.event_shape), family
    value = (
        jnp.array([0.2, 0.5, 0.3])
        if law.event_shape
        else jnp.asarray(0.4 if law.has_rsample else 1)
    )
    ones = [
        jnp.broadcast_to(one.log_prob(value), one.batch_shape)
        for i, j in np.ndindex(SAMPLES)
        for one in [
            _law(family, {name: FIRST[name][i, j] for name in names} | {"": POSITIVE[i, j]}, plates)
        ]
    ]
    each = jnp.reshape(jnp.stack(ones), (*SAMPLES, *(PLATES if plates else ())))
    return law.log_prob(jnp.broadcast_to(value, drawn.shape)), jnp.stack([each] * 3, 1)


@pytest.mark.parametrize("plates", [False, True], ids=["one element", "plates"])
def test_one_law_for_all_samples_is_the_law_of_each(plates: bool) -> None:
    found = _quickly(lambda: [_at_once_and_one_by_one(family, plates) for family in PARAMETERS])
    for family, (every, each) in zip(PARAMETERS, found, strict=True):
        np.testing.assert_allclose(every, each, rtol=1e-12, err_msg=family.__name__)


def test_laws_of_other_parts_are_not_taken_apart() -> None:
    given = {"x": Placed(jnp.ones(4), (0,))}
    assert batched(lambda v: dist.TruncatedNormal(v["x"], 1.0, low=0.0), given, (0,), (4,)) is None


def _orders(function: Any) -> Any:
    """Value, first and second derivative, for every number of an array."""
    return jax.vmap(
        lambda x: [f(x) for f in (function, jax.grad(function), jax.grad(jax.grad(function)))]
    )


def test_log_masses_of_coins_have_their_derivatives() -> None:
    """log p = -log(1 + exp(-l)): slopes 1 - p and -p, second slope -p (1 - p)."""
    odds = jnp.array([-8.0, -1.3, 0.0, 0.4, 8.0])
    p = 1 / (1 + np.exp(-np.asarray(odds)))
    for value, mass, slope in ((1, p, 1 - p), (0, 1 - p, -p)):
        for law in (
            lambda x: dist.Bernoulli(logits=x),
            lambda x: dist.Bernoulli(probs=jax.nn.sigmoid(x)),
        ):
            found = _quickly(
                lambda v=value, law=law: _orders(
                    lambda x: element_log_prob(law(x), jnp.asarray(v))
                )(odds)
            )
            np.testing.assert_allclose(
                found, [np.log(mass), slope, -p * (1 - p)], rtol=1e-9, atol=1e-12
            )


def test_the_divergence_of_log_odds_is_that_of_probabilities() -> None:
    """Value and derivatives; sure coins have a value, and slopes that are numbers."""
    odds = jnp.array([-np.inf, -40.0, -1.0, 0.0, 2.0, 40.0, np.inf])
    p = jax.nn.sigmoid(odds)
    gap = odds - np.log(0.3 / 0.7)

    def of_odds(x: jax.Array) -> jax.Array:
        return divergence(dist.Bernoulli(logits=x, validate_args=False), dist.Bernoulli(probs=0.3))

    value, first, second = _quickly(lambda: _orders(of_odds)(odds))
    xlogy = jax.scipy.special.xlogy
    np.testing.assert_allclose(value, xlogy(p, p / 0.3) + xlogy(1 - p, (1 - p) / 0.7), rtol=1e-12)
    middle = slice(1, -1)
    np.testing.assert_allclose(first[middle], (p * (1 - p) * gap)[middle], rtol=1e-9, atol=1e-15)
    slope = p * (1 - p) * (1 + (1 - 2 * p) * gap)
    np.testing.assert_allclose(second[middle], slope[middle], rtol=1e-9, atol=1e-15)
    assert np.all(np.isfinite(first))
