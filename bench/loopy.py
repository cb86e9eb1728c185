"""One round of loopy belief propagation on Ising grids, against PGMax where it is installed.

Run with `make bench`. PGMax is no dependency: without it, its times are those that were measured
once on this project. Both are in float64; ours look at convergence every few rounds, PGMax looks at
nothing. The marginals after 50 rounds must agree to 1e-9.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import backend

from dpc.inference.engines.approximate.layout import lay_out
from dpc.inference.engines.approximate.messages import MessageSetting, potentials_of
from dpc.inference.engines.approximate.propagation import (
    PropagationOptions,
    infer_marginals_bp,
    propagate,
)
from dpc.inference.factors.factor_graph import Factor, FactorGraph

SIDES = (50, 200)
ROUNDS, TURNS = 100, 15
MEASURED_ONCE = {50: 0.29, 200: 6.7}
SPINS = np.array([[1.0, -1.0], [-1.0, 1.0]])
Edge = tuple[tuple[int, int], tuple[int, int]]
Runner = Callable[[], Any]


def ising(side: int) -> tuple[list[Edge], np.ndarray, np.ndarray]:
    """Edges, their couplings, and the fields of the cells."""
    generator = np.random.default_rng(0)
    cells = product(range(side), repeat=2)
    edges = [
        ((i, j), (i + di, j + dj))
        for i, j in cells
        for di, dj in ((0, 1), (1, 0))
        if max(i + di, j + dj) < side
    ]
    return edges, 0.3 * generator.normal(size=len(edges)), generator.normal(size=(side, side))


def graph_of(side: int) -> FactorGraph:
    edges, couplings, fields = ising(side)
    pairs = [Factor(edge, c * SPINS) for edge, c in zip(edges, couplings, strict=True)]
    unary = [Factor((cell,), h * SPINS[0]) for cell, h in np.ndenumerate(fields)]
    return FactorGraph(dict.fromkeys(product(range(side), repeat=2), 2), tuple(pairs + unary))


def ours(side: int) -> tuple[Runner, np.ndarray]:
    """ROUNDS rounds of ours, and the marginals of state 0."""
    graph = graph_of(side)
    setting = MessageSetting("sum", "flooding", True, False)
    potentials = jax.device_put(potentials_of(lay_out(graph), setting))
    never, limit = jnp.float64(-1.0), jnp.int32(ROUNDS)
    found = infer_marginals_bp(
        graph, options=PropagationOptions(tolerance=-1.0, max_iterations=50)
    ).marginals
    assert found is not None
    marginals = np.array([found[cell][0] for cell in graph.sizes]).reshape(side, side)
    return (
        lambda: propagate(potentials, jnp.float64(0.0), never, limit, setting=setting).messages,
        marginals,
    )


def theirs(side: int) -> tuple[Runner, np.ndarray] | None:
    """The same of PGMax, if it is installed."""
    try:
        from pgmax import fgraph, fgroup, infer, vgroup
    except ImportError:
        return None
    if not hasattr(jax.lib, "xla_bridge"):  # PGMax 0.6 asks for it, JAX 0.10 has moved it
        jax.lib.xla_bridge = backend
    edges, couplings, fields = ising(side)
    cells = vgroup.NDVarArray(num_states=2, shape=(side, side))
    graph = fgraph.FactorGraph(variable_groups=cells)
    scopes = [[cells[a], cells[b]] for a, b in edges]
    graph.add_factors(fgroup.PairwiseFactorGroup(scopes, couplings[:, None, None] * SPINS[None]))
    inferer = infer.build_inferer(graph.bp_state, backend="bp")
    start = inferer.init(evidence_updates={cells: fields[..., None] * SPINS[0]})
    run = jax.jit(
        lambda arrays, count: inferer.run(arrays, num_iters=count, damping=0.0, temperature=1.0),
        static_argnums=1,
    )
    beliefs = inferer.get_beliefs(run(start, 50))
    return lambda: run(start, ROUNDS), np.asarray(infer.get_marginals(beliefs)[cells])[..., 0]


def milliseconds(run: Runner) -> float:
    start = time.perf_counter()
    jax.block_until_ready(run())
    return (time.perf_counter() - start) / ROUNDS * 1e3


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print(
        f"{'Ising grid':<14}{'dpc, ms':>16}{'PGMax, ms':>18}{'ratio':>8}   a round: median "
        "(smallest)"
    )
    for side in SIDES:
        mine, marginals = ours(side)
        peer = theirs(side)
        runners = [mine, *([] if peer is None else [peer[0]])]
        for run in runners:
            milliseconds(run)
        times = np.array([[milliseconds(run) for run in runners] for _ in range(TURNS)])
        shown = [f"{statistics.median(column):.3f} ({column.min():.3f})" for column in times.T]
        if peer is None:
            other, ratio = (
                f"{MEASURED_ONCE[side]} once",
                statistics.median(times[:, 0]) / MEASURED_ONCE[side],
            )
        else:
            np.testing.assert_allclose(peer[1], marginals, rtol=0, atol=1e-9)
            other, ratio = shown[1], statistics.median(times[:, 0] / times[:, 1])
        print(f"{side:>4} x {side:<7}{shown[0]:>16}{other:>18}{ratio:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
