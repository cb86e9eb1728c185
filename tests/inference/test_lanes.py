"""Sequences that share rows, or stand side by side, are what they are alone: values, gradients and
curvature.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpc.inference.engines.path import lanes, log_partition
from dpc.inference.engines.path.layout import Domain, lay_out

LENGTHS = (3, 1, 2, 4, 2)
"""Of sequences in rows of six: the first three in one, the others in the next."""


@pytest.mark.parametrize("domain", ["scaled", "log"])
@pytest.mark.parametrize("rows", [2, 32])
def test_sequences_that_share_rows(rows: int, domain: Domain) -> None:
    with jax.enable_x64(True):
        chance = np.random.default_rng(1)
        unary, pair = (
            jnp.asarray(chance.normal(size=(rows, 6, 3))),
            jnp.asarray(chance.normal(size=(3, 3))),
        )
        unary = unary.at[1, 2, 1].set(-jnp.inf)
        fresh = np.zeros((rows, 6), bool)
        fresh[0::2, [0, 3, 4]] = fresh[1::2, [0, 4]] = True
        assert lanes.has_lanes(lay_out(unary, pair, None, fresh).chain) == (rows == 32)
        weights = jnp.asarray(chance.normal(size=rows))

        def together(unary: Any, pair: Any) -> Any:
            return jnp.vdot(weights, log_partition(unary, pair, fresh=fresh, domain=domain))

        def alone(unary: Any, pair: Any) -> Any:
            cuts = (
                unary[0::2, :3],
                unary[0::2, 3:4],
                unary[0::2, 4:],
                unary[1::2, :4],
                unary[1::2, 4:],
            )
            assert tuple(own.shape[1] for own in cuts) == LENGTHS
            each = [log_partition(own, pair[None, None], domain="log") for own in cuts]
            return jnp.vdot(weights[0::2], sum(each[:3])) + jnp.vdot(weights[1::2], sum(each[3:]))

        agree(together, alone, unary, pair)


def agree(found: Any, expected: Any, unary: Any, pair: Any) -> None:
    """In value, gradient, and the change of the gradient along the pair potential."""

    def of(function: Any) -> Any:
        slopes = jax.grad(function, (0, 1))
        change = jax.jvp(
            lambda pair: slopes(unary, pair), (pair,), (jnp.ones((3, 3)).at[0, 1].set(2.0),)
        )[1]
        return function(unary, pair), slopes(unary, pair), change

    ours, theirs = jax.jit(lambda: (of(found), of(expected)))()
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), ours, theirs
    )


def test_lanes_with_padding() -> None:
    """Side by side as in pairs of rows, which have no lanes."""
    with jax.enable_x64(True):
        chance = np.random.default_rng(2)
        unary, pair = (
            jnp.asarray(chance.normal(size=(34, 4, 3))),
            jnp.asarray(chance.normal(size=(3, 3))),
        )
        lengths = chance.integers(1, 5, size=34)

        def side_by_side(unary: Any, pair: Any) -> Any:
            return jnp.sum(log_partition(unary, pair, lengths))

        def in_pairs(unary: Any, pair: Any) -> Any:
            split = jax.lax.map(
                lambda own: log_partition(own[0], pair, own[1]),
                (unary.reshape(17, 2, 4, 3), by_two),
            )
            return jnp.sum(split)

        by_two = jnp.asarray(lengths.reshape(17, 2))
        assert lanes.has_lanes(lay_out(unary, pair, lengths).chain)
        agree(side_by_side, in_pairs, unary, pair)


def test_a_sequence_that_cannot_be_leaves_those_beside_it_alone() -> None:
    with jax.enable_x64(True):
        chance = np.random.default_rng(3)
        unary, pair = (
            jnp.asarray(chance.normal(size=(32, 5, 2))),
            jnp.asarray(chance.normal(size=(2, 2))),
        )
        unary = unary.at[4, 1].set(-jnp.inf)
        fresh = np.zeros((32, 5), bool)
        fresh[:, [0, 3]] = True
        ask = jax.jit(jax.value_and_grad(lambda u: jnp.sum(log_partition(u, pair, fresh=fresh))))
        value, found = ask(unary)
        assert value == -jnp.inf
        assert (found[4, :3] == 0).all()
        np.testing.assert_allclose(found[4, 3:], ask(unary.at[4, 1].set(0.0))[1][4, 3:], rtol=1e-12)
        np.testing.assert_allclose(jnp.delete(found, 4, axis=0).sum(-1), 1, rtol=1e-12)


def test_lanes_fall_back_to_logarithms() -> None:
    """Where a pair potential spans more than the exponents of the dtype."""
    with jax.enable_x64(True):
        unary, pair = jnp.zeros((32, 3, 2)), jnp.array([[0.0, -2000.0], [-2000.0, 0.0]])
        unary = unary.at[:, 1, 0].set(-3000.0)
        unary = unary.at[:, 2, 1].set(-5000.0)
        found = jax.jit(log_partition)(unary, pair)
        np.testing.assert_allclose(found, np.full(32, -2000.0), rtol=1e-12)
        checked = partial(log_partition, domain="checked")
        assert np.isnan(jax.jit(checked)(unary, pair)).all()
        np.testing.assert_allclose(
            jax.jit(checked)(unary, pair / 100), log_partition(unary, pair / 100), rtol=1e-12
        )
