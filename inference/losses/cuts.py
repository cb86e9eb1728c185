"""Perturbed modes where a graph is too wide for an engine: minimum cuts, of binary pairs that
prefer to agree (GM19).

A solver for `perturbed.py`. It runs on the host, called back from compiled code, one graph after
another; a structure that minimum cuts cannot answer is an error there that names the factor.
"""

import jax
import numpy as np

from ..engines.approximate.perturb import mode_by_cut
from ..engines.tree.structure import Structure
from ..factors.factor_graph import Factor, FactorGraph
from ..optimise.method import Array
from .perturbed import Solve
from .scores import Tables


def solve_by_cuts(structure: Structure) -> Solve:
    """`solve(tables, log_evidence)` by minimum cut."""
    shape = jax.ShapeDtypeStruct((len(structure.sizes),), np.int32)

    def on_host(log_evidence: Array, *tables: Array) -> np.ndarray:
        found = mode_by_cut(graph_of(structure, tables, np.asarray(log_evidence)), None)
        return np.array([found.states[v] for v in range(len(structure.sizes))], np.int32)

    def solve(tables: Tables, log_evidence: Array) -> Array:
        return jax.pure_callback(on_host, shape, log_evidence, *tables, vmap_method="sequential")

    return solve


def graph_of(structure: Structure, tables: Tables, log_evidence: np.ndarray) -> FactorGraph:
    """Variables are named by their numbers; evidence is a factor of each."""
    factors = [
        Factor(tuple(scope), np.asarray(table[f], np.float64))
        for group, table in zip(structure.groups, map(np.asarray, tables), strict=True)
        for f, scope in enumerate(group.scopes.tolist())
    ]
    own = [
        Factor((v,), np.asarray(log_evidence[v, :size], np.float64))
        for v, size in enumerate(structure.sizes)
    ]
    return FactorGraph(dict(enumerate(structure.sizes)), (*factors, *own))
