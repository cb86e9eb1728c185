"""Exact inference on real networks against pyAgrum and pgmpy, where they are installed: all
marginals given evidence.

Run with `python bench/networks.py [network...]`; needs pgmpy for its networks. The engines
give the marginals of pyAgrum before they are timed. Times are milliseconds by the clock, the least
of several turns: the machine may be busy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import jax
import numpy as np

from dpc.inference.engines.tree.model import compile_structure
from dpc.inference.factors.factor_graph import FactorGraph
from dpc.inference.formats.bif import write_bif
from dpc.inference.formats.network import Network
from dpc.inference.queries import infer_cases, infer_marginals, infer_samples

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "inference"))
from grouped import group_factors, log_evidence_of
from shared import network as example_network
from shared import reference, reference_evidence

NETWORKS = ("alarm", "hailfinder", "win95pts", "andes", "mildew", "munin3")
BATCHED = ("alarm", "hailfinder")
PGMPY = ("alarm", "hailfinder", "win95pts")
CASES, OBSERVED, PEER_CASES = 1000, 5, 50
SECONDS = 2.0

Marginals = dict[str, np.ndarray]
Answer = Callable[[], Marginals]


class Case(NamedTuple):
    name: str
    network: Network
    graph: FactorGraph
    given: dict[str, int]
    expected: Marginals


def read_case(name: str) -> Case:
    network, given = example_network(name), reference_evidence(name)
    expected = reference(name)["marginals"]
    return Case(name, network, network.factor_graph(), given, expected)


def verify_answer(case: Case, found: Marginals, tolerance: float) -> None:
    for v, expected in case.expected.items():
        np.testing.assert_allclose(
            found[v], expected, rtol=0, atol=tolerance, err_msg=f"{case.name}, {v}"
        )


def least_ms(function: Callable[[], Any], turns: int = 0) -> float:
    """Milliseconds of the fastest turn, for about two seconds or for a number of turns."""
    found: list[float] = []
    began = time.perf_counter()
    while len(found) < 3 or (
        len(found) < turns if turns else time.perf_counter() - began < SECONDS
    ):
        start = time.perf_counter()
        function()
        found.append((time.perf_counter() - start) * 1e3)
    return min(found)


def numpy_engine(case: Case) -> Answer:
    """One shot: a graph whose tables nobody has looked at yet, a new plan, all marginals."""

    def answer() -> Marginals:
        graph = FactorGraph(case.graph.sizes, case.graph.factors)
        return {str(v): p for v, p in infer_marginals(graph, case.given).items()}

    return answer


def compiled_engine(case: Case) -> Callable[[], jax.Array]:
    grouped = group_factors(case.graph)
    engine = compile_structure(grouped.structure)
    tables, evidence = jax.device_put(
        (grouped.tables, log_evidence_of(case.graph.sizes, case.given))
    )
    return lambda: jax.block_until_ready(engine.marginals(tables, evidence))


def first_ms(case: Case) -> float:
    """From the factor graph to the first answer: planning, tracing, compiling, running."""

    def start() -> None:
        jax.clear_caches()
        compiled_engine(case)()

    return least_ms(start, 3)


def warm_ms(case: Case) -> float:
    answer = compiled_engine(case)
    rows = dict(zip(case.graph.sizes, np.asarray(answer()), strict=True))
    verify_answer(case, {v: rows[v][: len(p)] for v, p in case.expected.items()}, 1e-9)
    return least_ms(answer)


def pyagrum_engine(case: Case, folder: Path) -> Callable[[dict[str, int]], Marginals]:
    import pyagrum

    path = folder / f"{case.name}.bif"
    path.write_text(write_bif(case.network))
    network = pyagrum.loadBN(str(path))

    def answer(given: dict[str, int]) -> Marginals:
        engine = pyagrum.LazyPropagation(network)
        engine.setEvidence(given)
        engine.makeInference()
        return {v: engine.posterior(v).toarray() for v in case.network.by_name}

    return answer


def pgmpy_engine(case: Case, folder: Path) -> Answer:
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    model = BIFReader(str(folder / f"{case.name}.bif")).get_model()
    labels = {v: list(variable.states) for v, variable in case.network.by_name.items()}
    given = {v: labels[v][state] for v, state in case.given.items()}

    def answer() -> Marginals:
        engine = VariableElimination(model)
        asked = [v for v in labels if v not in given]
        found = {v: engine.query([v], given, show_progress=False) for v in asked}
        return {
            v: np.array([found[v].get_value(**{v: label}) for label in labels[v]]) for v in asked
        }

    return answer


def draw_cases(case: Case) -> dict[str, np.ndarray]:
    """Rows that observe the same few variables, at states drawn from the network itself."""
    generator = np.random.default_rng(0)
    chosen = generator.choice(list(case.graph.sizes), OBSERVED, replace=False)
    samples = infer_samples(case.graph, CASES, seed=0)
    return {str(v): np.asarray(samples[str(v)]) for v in chosen}


def batch_ms(case: Case, table: dict[str, np.ndarray]) -> tuple[float, float]:
    """The compiled engine on all rows: with compilation, and without."""
    grouped = group_factors(case.graph)
    rows = [{v: int(column[i]) for v, column in table.items()} for i in range(CASES)]
    tables, evidence = jax.device_put(
        (grouped.tables, np.stack([log_evidence_of(case.graph.sizes, row) for row in rows]))
    )

    def compile_batch() -> Callable[..., Any]:
        jax.clear_caches()
        return jax.jit(jax.vmap(compile_structure(grouped.structure).marginals, (None, 0)))

    first = least_ms(lambda: jax.block_until_ready(compile_batch()(tables, evidence)), 3)
    run = compile_batch()
    return first, least_ms(lambda: jax.block_until_ready(run(tables, evidence)))


def print_one(case: Case, folder: Path) -> None:
    one_shot = numpy_engine(case)
    verify_answer(case, one_shot(), 1e-9)
    times = {"numpy": least_ms(one_shot), "first": first_ms(case), "warm": warm_ms(case)}
    if find_spec("pyagrum"):
        peer = partial(pyagrum_engine(case, folder), case.given)
        verify_answer(case, peer(), 1e-4)
        times["pyagrum"] = least_ms(peer)
    if find_spec("pgmpy") and case.name in PGMPY:
        times["pgmpy"] = least_ms(pgmpy_engine(case, folder), 1)
    peer_ms = times.get("pyagrum", float("nan"))
    ratios = f"{peer_ms / times['numpy']:>9.1f}{peer_ms / times['warm']:>9.1f}"
    shown = "".join(
        f"{times.get(k, float('nan')):>11.2f}"
        for k in ("numpy", "first", "warm", "pyagrum", "pgmpy")
    )
    print(f"{case.name:<12}{shown}{ratios}", flush=True)


def print_batch(case: Case, folder: Path) -> None:
    table = draw_cases(case)
    columns = [least_ms(lambda: infer_cases(case.graph, table), 3), *batch_ms(case, table)]
    if find_spec("pyagrum"):
        peer = pyagrum_engine(case, folder)
        rows = [{v: int(column[i]) for v, column in table.items()} for i in range(PEER_CASES)]
        columns.append(least_ms(lambda: [peer(row) for row in rows], 3) * CASES / PEER_CASES)
        columns += [columns[-1] / ours for ours in columns[:3]]
    print(f"{case.name:<12}" + "".join(f"{c:>11.1f}" for c in columns), flush=True)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    asked = sys.argv[1:] or NETWORKS
    with TemporaryDirectory() as folder:
        heads = ("numpy", "first", "warm", "pyagrum", "pgmpy")
        print(
            f"{'one evidence':<12}"
            + "".join(f"{h:>11}" for h in heads)
            + f"{'/numpy':>9}{'/warm':>9}"
        )
        for name in asked:
            print_one(read_case(name), Path(folder))
        heads = ("numpy", "first", "warm", "pyagrum", "/numpy", "/first", "/warm")
        print(f"{CASES} cases  " + "".join(f"{h:>11}" for h in heads))
        for name in asked:
            if name in BATCHED:
                print_batch(read_case(name), Path(folder))


if __name__ == "__main__":
    main()
