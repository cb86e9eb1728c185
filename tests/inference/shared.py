"""The independent material beside the project, where it is there: networks and competition problems with answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dpc.inference.factors import FactorGraph
from dpc.inference.formats.network import Network
from dpc.inference.formats.registry import read_network
from dpc.inference.formats.uai import read_uai_evidence

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
HAS_DATA = DATA.is_dir()


def network(name: str) -> Network:
    return read_network(str(DATA / "networks" / f"{name}.bif.gz"))


def reference(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "networks" / f"{name}.json").read_text())
    return found


def reference_evidence(name: str) -> dict[str, int]:
    states = network(name).by_name
    return {v: states[v].states.index(label) for v, label in reference(name)["evidence"].items()}


def problem(name: str) -> tuple[FactorGraph, dict[str, int]]:
    """A competition problem and its evidence."""
    evidence = read_uai_evidence((DATA / "uai" / f"{name}.uai.evid").read_text())
    return read_network(str(DATA / "uai" / f"{name}.uai")).factor_graph(), {f"x{v}": s for v, s in evidence.items()}


def published_marginals(name: str) -> dict[str, np.ndarray]:
    words = iter((DATA / "uai" / f"{name}.uai.MAR").read_text().split()[1:])
    count = int(next(words))
    return {f"x{i}": np.array([float(next(words)) for _ in range(int(next(words)))]) for i in range(count)}


def published_mode(name: str) -> dict[str, int]:
    _, _, *states = (DATA / "uai" / f"{name}.uai.MAP").read_text().split()
    return {f"x{i}": int(state) for i, state in enumerate(states)}
