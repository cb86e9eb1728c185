"""Chains in blocks are the chains: values, gradients and curvature, whether or not the batch fills
its blocks.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpc.inference.engines.path import log_partition
from dpc.inference.engines.path import sums as blocks
from dpc.inference.engines.path.layout import lay_out


@pytest.mark.parametrize("padded", [False, True])
def test_blocks_change_nothing(padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with jax.enable_x64(True):
        chance = np.random.default_rng(3)
        unary, pair = (
            jnp.asarray(chance.normal(size=(7, 4, 3))),
            jnp.asarray(chance.normal(size=(3, 3))),
        )
        unary = unary.at[2, 1, 0].set(-jnp.inf)
        lengths = np.array([1, 4, 2, 4, 3, 4, 2]) if padded else None
        weights = jnp.asarray(chance.normal(size=7))

        def ask() -> Any:
            """Compiled anew at each call: how large a block is, is read when it is traced."""
            return jax.jit(lambda: of(unary, pair))()

        def of(unary: Any, pair: Any) -> Any:
            def total(unary: Any, pair: Any) -> Any:
                return jnp.vdot(weights, log_partition(unary, pair, lengths))

            slopes = jax.grad(total, (0, 1))
            change = jax.jvp(
                lambda pair: slopes(unary, pair)[1], (pair,), (jnp.ones((3, 3)).at[0, 1].set(2.0),)
            )[1]
            return total(unary, pair), slopes(unary, pair), change

        chain = lay_out(unary, pair, lengths).chain
        assert blocks.block_size(chain) is None
        whole = ask()
        monkeypatch.setattr(blocks, "LARGE", 0)
        monkeypatch.setattr(blocks, "CACHED", 0)
        monkeypatch.setattr(blocks, "FEWEST", 3)
        assert blocks.block_size(chain) == 3
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), ask(), whole
        )
