"""Chains against dynamax (HMMs) where it is installed, SynJax's recorded times (CRFs), and a
hand-written grid.

Run with `python bench/chains.py`. Answers are compared before anything is timed, and the two take
turns.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.inference.engines import path as chains
from dpc.inference.engines.slices import slices

SIZES = ((1000, 32, 1), (1000, 32, 16), (10000, 8, 1), (100, 10, 32))
ROUNDS, ROUND_SECONDS = 40, 0.005
SYNJAX_FLOAT32 = {
    "log Z": (2.4, 152, 2.2, 1.6),
    "marginals": (5.6, 224, 7.3, 5.3),
    "mode": (3.0, 220, 3.3, 2.5),
    "sample": (17.6, 598, 91, 42),
    "top 5": (721, None, 651, 265),
}
"""Milliseconds on an idle 2-core machine of the kind this was written on; SynJax could not be
installed beside us.
"""

Function = Callable[..., Any]
Arrays = tuple[jax.Array, ...]


def hmm_case(size: tuple[int, int, int], dtype: Any) -> Arrays:
    steps, states, batch = size
    generator = np.random.default_rng(0)
    start, move = generator.dirichlet(np.ones(states)), generator.dirichlet(np.ones(states), states)
    return tuple(
        jnp.asarray(x, dtype) for x in (start, move, generator.normal(size=(batch, steps, states)))
    )


def ours_for_hmm(key: jax.Array) -> dict[str, Function]:
    def unary(start: jax.Array, emission: jax.Array) -> jax.Array:
        return emission.at[:, 0].add(jnp.log(start)[None])

    return {
        "marginals": lambda s, m, e: chains.unary_marginals(unary(s, e), jnp.log(m)),
        "mode": lambda s, m, e: chains.mode(unary(s, e), jnp.log(m)).states,
        "sample": lambda s, m, e: chains.sample(key, unary(s, e), jnp.log(m), draws=1)[0],
    }


def dynamax_for_hmm(key: jax.Array) -> dict[str, Function]:
    from dynamax import hidden_markov_model as hmm

    def batched(function: Function) -> Function:
        return lambda s, m, e: jax.vmap(lambda one: function(s, m, one))(e)

    return {
        "marginals": batched(lambda s, m, e: hmm.hmm_smoother(s, m, e).smoothed_probs),
        "mode": batched(hmm.hmm_posterior_mode),
        "sample": batched(lambda s, m, e: hmm.hmm_posterior_sample(key, s, m, e)[1]),
    }


def crf_queries(key: jax.Array) -> dict[str, Function]:
    """Position-dependent potentials [batch, T-1, K, K], as SynJax takes them."""
    return {
        "log Z": chains.log_partition,
        "marginals": chains.marginals,
        "mode": chains.mode,
        "sample": lambda u, p: chains.sample(key, u, p, draws=1),
        "top 5": partial(chains.kbest, k=5),
    }


def grid(n: int) -> slices.Slices:
    """An n by n Ising grid with random couplings, its rows as slices."""
    generator, spin = np.random.default_rng(0), np.array([-1.0, 1.0])
    units = [((0, v),) for v in range(n)]
    down, across = (
        [((1, v), (0, v)) for v in range(n)],
        [((0, v), (0, v + 1)) for v in range(n - 1)],
    )
    values = [generator.normal(size=(n, 1)) * spin for _ in units]
    values += [generator.normal(size=(n - 1, 1, 1)) * np.outer(spin, spin) for _ in down]
    values += [generator.normal(size=(n, 1, 1)) * np.outer(spin, spin) for _ in across]
    return slices.Slices(
        (2,) * n, n, (*units, *down, *across), tuple(jnp.asarray(v) for v in values)
    )


def transfer_matrix(n: int, model: slices.Slices) -> jax.Array:
    """log Z of the grid, by hand: one column at a time, rescaled once a row."""
    unary, across = jnp.stack(model.values[:n], 1), jnp.stack(model.values[2 * n :], 1)
    down = jnp.concatenate([jnp.zeros((1, n, 2, 2)), jnp.stack(model.values[n : 2 * n], 1)])

    def row(
        carry: tuple[jax.Array, jax.Array], read: Arrays
    ) -> tuple[tuple[jax.Array, jax.Array], None]:
        (message, log_z), (units, downs, acrosses) = carry, read
        for k in range(n):
            message = (message.reshape(2, -1).T @ jnp.exp(downs[k] + units[k][None, :])).reshape(-1)
        whole = message.reshape((2,) * n)
        for k in range(n - 1):
            whole = whole * jnp.exp(acrosses[k]).reshape((1,) * k + (2, 2) + (1,) * (n - k - 2))
        total = jnp.sum(whole)
        return (whole.reshape(-1) / total, log_z + jnp.log(total)), None

    start = (jnp.zeros(2**n).at[0].set(1.0), jnp.zeros(()))
    return jax.lax.scan(row, start, (unary, down, across))[0][1]


def milliseconds(functions: list[Function], arguments: Arrays) -> list[float]:
    """The fastest round of each, which a busy machine disturbs least; they take turns."""
    jitted = [jax.jit(f) for f in functions]
    calls = [
        1 + int(ROUND_SECONDS / max(seconds(f, arguments, 1) for _ in range(2))) for f in jitted
    ]
    found: list[list[float]] = [[] for _ in jitted]
    for _ in range(ROUNDS):
        for times, function, count in zip(found, jitted, calls, strict=True):
            times.append(seconds(function, arguments, count) * 1e3)
    return [min(times) for times in found]


def seconds(function: Function, arguments: Arrays, calls: int) -> float:
    jax.block_until_ready(function(*arguments))
    start = time.perf_counter()
    for _ in range(calls):
        jax.block_until_ready(function(*arguments))
    return (time.perf_counter() - start) / calls


def print_hmms(dtype: Any) -> None:
    key = jax.random.key(0)
    ours, peer = ours_for_hmm(key), dynamax_for_hmm(key)
    print(f"\nHMM, {np.dtype(dtype).name}{'dpc ms':>22}{'dynamax ms':>12}{'ratio':>8}")
    for size in SIZES:
        case = hmm_case(size, dtype)
        exact = 1e-3 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(ours["marginals"](*case), peer["marginals"](*case), atol=exact)
        for query, function in ours.items():
            mine, other = milliseconds([function, peer[query]], case)
            print(
                f"  {size!s:<16}{query:<10}{mine:>10.2f}{other:>12.2f}{other / mine:>8.1f}",
                flush=True,
            )


def print_crfs(dtype: Any) -> None:
    print(
        f"\nCRF, {np.dtype(dtype).name}{'dpc ms':>22}{'SynJax, recorded, float32':>28}{'ratio':>8}"
    )
    for number, size in enumerate(SIZES):
        steps, states, batch = size
        generator = np.random.default_rng(0)
        unary = jnp.asarray(generator.normal(size=(batch, steps, states)), dtype)
        pair = jnp.asarray(generator.normal(size=(batch, steps - 1, states, states)), dtype)
        for query, function in crf_queries(jax.random.key(0)).items():
            (mine,), other = milliseconds([function], (unary, pair)), SYNJAX_FLOAT32[query][number]
            text = f"{other:>28.1f}{other / mine:>8.1f}" if other else f"{'-':>28}{'-':>8}"
            print(f"  {size!s:<16}{query:<10}{mine:>10.2f}{text}", flush=True)


def print_grids() -> None:
    print(f"\nlog Z of an Ising grid, float64{'dpc ms':>12}{'by hand ms':>12}{'ratio':>8}")
    for n in (10, 15):
        model = grid(n)
        np.testing.assert_allclose(
            slices.log_partition(model), transfer_matrix(n, model), rtol=0, atol=1e-10
        )
        mine, other = milliseconds([slices.log_partition, partial(transfer_matrix, n)], (model,))
        print(f"  {n}x{n}{mine:>37.2f}{other:>12.2f}{other / mine:>8.1f}", flush=True)
    print(f"  20x20{seconds(jax.jit(slices.log_partition), (grid(20),), 2) * 1e3:>37.2f}")


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    for dtype in (np.float32, np.float64):
        if importlib.util.find_spec("dynamax"):
            print_hmms(dtype)
        print_crfs(dtype)
    if not importlib.util.find_spec("dynamax"):
        print("\nHMMs were left out: dynamax is not installed")
    print_grids()


if __name__ == "__main__":
    main()
