"""Standard errors from the observed information, against closed forms."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.inference.optimise.newton import standard_errors


def counts_loss(raw: Any, data: Any) -> Any:
    return -jnp.sum(data * jax.nn.log_softmax(raw))


def test_standard_errors_of_a_normal_in_closed_form() -> None:
    """sd / sqrt(n) of the mean and sd / sqrt(2 n) of the standard deviation."""
    data = np.random.default_rng(0).normal(2, 3, size=50)

    def loss(raw: Any, data: Any) -> Any:
        return jnp.sum((data - raw[0]) ** 2) * jnp.exp(-2 * raw[1]) / 2 + data.size * raw[1]

    raw = jnp.array([data.mean(), np.log(data.std())])
    found = standard_errors(
        loss, raw, jnp.asarray(data), lambda r: {"mean": r[0], "sd": jnp.exp(r[1])}
    )
    np.testing.assert_allclose(float(found.errors["mean"]), data.std() / np.sqrt(50), rtol=1e-10)
    np.testing.assert_allclose(float(found.errors["sd"]), data.std() / np.sqrt(100), rtol=1e-10)
    assert found.reason == ""


def test_standard_errors_of_probabilities_whose_logits_have_no_level() -> None:
    """sqrt(p (1 - p) / n) although the logits themselves are not identified."""
    counts = np.array([10.0, 30.0, 60.0])
    raw, p = jnp.log(jnp.asarray(counts)), counts / 100
    found = standard_errors(counts_loss, raw, jnp.asarray(counts), lambda r: (jax.nn.softmax(r), r))
    np.testing.assert_allclose(np.asarray(found.errors[0]), np.sqrt(p * (1 - p) / 100), rtol=1e-8)
    assert np.isinf(np.asarray(found.errors[1])).all()
    assert not np.asarray(found.identified[1]).any()
    np.testing.assert_allclose(np.abs(found.flat), np.full((1, 3), 3**-0.5), rtol=1e-6)
    assert "does not depend on 1 directions" in found.reason
    assert "3 reported numbers" in found.reason


def test_standard_errors_say_that_it_is_no_minimum() -> None:
    found = standard_errors(lambda raw, _: raw[0] ** 2 - raw[1] ** 2, jnp.zeros(2))
    np.testing.assert_allclose(np.asarray(found.errors), [0.5**0.5, np.inf])
    assert "no minimum" in found.reason
