"""Material of others, where it is there: networks that pgmpy ships, with answers of pyAgrum, and
competition problems with published answers in the folder that DPC_UAI names.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpc.inference.factors.factor_graph import FactorGraph
from dpc.inference.formats.network import Network
from dpc.inference.formats.uai import read_uai_evidence
from dpc.inference.queries import infer_samples
from dpc.model.load import read_network

OBSERVED = 5


def example_networks() -> Path | None:
    """The folder of BIF files in pgmpy; the package is found, not imported."""
    found = find_spec("pgmpy")
    folder = found and found.origin and Path(found.origin).parent / "utils" / "example_models"
    return folder if folder and folder.is_dir() else None


NETWORKS = example_networks()
UAI = Path(os.environ.get("DPC_UAI") or os.devnull)
needs_networks = pytest.mark.skipif(NETWORKS is None, reason="needs pgmpy for its networks")
needs_references = pytest.mark.skipif(
    NETWORKS is None or find_spec("pyagrum") is None, reason="needs pgmpy and pyAgrum"
)
needs_problems = pytest.mark.skipif(not UAI.is_dir(), reason="DPC_UAI names no folder")


@cache
def network(name: str) -> Network:
    return read_network(f"{NETWORKS}/{name}.bif.gz")


@cache
def reference_evidence(name: str) -> dict[str, int]:
    """States of a few variables, drawn together, so that they are possible."""
    drawn = infer_samples(network(name).factor_graph(), 1, seed=0)
    names = list(drawn)[:: max(1, len(drawn) // OBSERVED)][:OBSERVED]
    return {str(v): int(drawn[v][0]) for v in names}


@cache
def reference(name: str) -> dict[str, Any]:
    """What pyAgrum answers, from the numbers themselves: its reader rounds them to float32."""
    import pyagrum

    source = network(name)
    other = pyagrum.BayesNet()
    ids = {
        v.name: other.add(pyagrum.LabelizedVariable(f"v{i}", "", len(v.states)))
        for i, v in enumerate(source.variables)
    }
    for table in source.tables:
        for parent in table.parents:
            other.addArc(ids[parent], ids[table.child])
        # the child moves fastest, then the first parent
        axes = [*reversed(range(len(table.parents))), len(table.parents)]
        other.cpt(ids[table.child]).fillWith(table.values.transpose(axes).ravel().tolist())
    engine = pyagrum.LazyPropagation(other)
    engine.setEvidence({ids[v]: s for v, s in reference_evidence(name).items()})
    engine.makeInference()
    marginals = {v: np.array(engine.posterior(number).tolist()) for v, number in ids.items()}
    return {"marginals": marginals, "log_evidence": np.log(engine.evidenceProbability())}


def problem(name: str) -> tuple[FactorGraph, dict[str, int]]:
    """A competition problem and its evidence."""
    evidence = read_uai_evidence((UAI / f"{name}.uai.evid").read_text())
    return read_network(str(UAI / f"{name}.uai")).factor_graph(), {
        f"x{v}": s for v, s in evidence.items()
    }


def published_marginals(name: str) -> dict[str, np.ndarray]:
    words = iter((UAI / f"{name}.uai.MAR").read_text().split()[1:])
    count = int(next(words))
    return {
        f"x{i}": np.array([float(next(words)) for _ in range(int(next(words)))])
        for i in range(count)
    }


def published_mode(name: str) -> dict[str, int]:
    _, _, *states = (UAI / f"{name}.uai.MAP").read_text().split()
    return {f"x{i}": int(state) for i, state in enumerate(states)}
