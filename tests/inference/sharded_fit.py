"""A program that fits a logistic regression on all devices: rows, and for one of two processes
address and number.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def data_of(rows: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(5)
    x = generator.normal(size=(rows, 3))
    return x, (generator.random(rows) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)


def start_of() -> np.ndarray:
    return np.zeros(3)


def loss(raw: Any, data: Any) -> Any:
    (x, y), weights = data
    eta = x @ raw
    return jnp.sum(weights * (jax.nn.softplus(eta) - y * eta))


def field_losses(states: Any, weights: Any) -> Any:
    """Of a chain of three: its pseudo-likelihood, which gathers, and log-partitions given each row,
    which scan.
    """
    from dpc.inference.engines.tree.model import compile_structure
    from dpc.inference.engines.tree.structure import FactorGroup, Structure
    from dpc.inference.losses.fields import pseudo_likelihood

    chain = Structure(
        (2, 2, 2), (FactorGroup(np.array([[0], [2]])), FactorGroup(np.array([[0, 1], [1, 2]])))
    )
    tables = tuple(
        [jnp.asarray(np.random.default_rng(1).normal(size=shape)) for shape in chain.shapes]
    )
    engine = compile_structure(chain)

    def log_partition(row: Any) -> Any:
        given = (jnp.arange(2)[None] == row[:, None]) | (jnp.arange(3)[:, None] == 1)
        return engine.log_partition(tables, jnp.where(given, 0.0, -jnp.inf))

    given_ends = jnp.sum(weights * jax.vmap(log_partition)(states))
    return pseudo_likelihood(chain, tables, states, weights), given_ends


def states_of(rows: int) -> Any:
    return np.random.default_rng(2).integers(0, 2, size=(rows, 3))


def main(rows: int, address: str = "", number: str = "") -> None:
    if address:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(address, num_processes=2, process_id=int(number))
    from dpc.inference.optimise.lbfgs import Lbfgs
    from dpc.inference.optimise.method import minimise
    from dpc.inference.optimise.sharded import replicate, shard_rows

    data, weights = shard_rows(data_of(rows))
    found = minimise(Lbfgs(loss, (data, weights)), replicate(start_of()), 100)
    assert found.converged, found.reason
    answer = {
        "devices": jax.device_count(),
        "rows_of_each": [len(shard.data) for shard in weights.addressable_shards],
        "raw": np.asarray(found.raw).tolist(),
        "field": [float(value) for value in jax.jit(field_losses)(*shard_rows(states_of(rows)))],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
