"""Compiled engines against enumeration, on structures of every kind; tables and evidence change,
structure does not.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import slow_ones, some_fast

from dpc.inference.engines.choose import choose_engine
from dpc.inference.engines.path.engine import PathEngine, find_paths, packed
from dpc.inference.engines.slices.slices import SliceEngine
from dpc.inference.engines.tree.model import Compiled, compile_structure
from dpc.inference.engines.tree.structure import FactorGroup, Structure

STRUCTURES = {
    "one variable": ((3,), [[(0,)]]),
    "a chain": ((2, 2, 2, 2), [[(0, 1), (1, 2), (2, 3)], [(0,), (3,)]]),
    "a chain told backwards, of different sizes": ((2, 3, 2), [[(1, 0)], [(2, 1)], [(1,)]]),
    "chains of different lengths, one variable alone": (
        (2, 2, 2, 2, 2),
        [[(0, 1), (1, 2)], [(3,)], [()]],
    ),
    "nothing but sizes": ((2, 3), []),
    "a tree, a ring and a table of three": (
        (2, 3, 2, 2, 2),
        [[(0, 1)], [(2, 0), (2, 3), (3, 4), (4, 2)], [(1, 2, 3)]],
    ),
}


def structure_of(name: str) -> Structure:
    sizes, groups = STRUCTURES[name]
    return structured(
        sizes, *(np.array(scopes, np.intp).reshape(len(scopes), -1) for scopes in groups)
    )


def structured(sizes: tuple[int, ...], *scopes: Any) -> Structure:
    return Structure(sizes, tuple(map(FactorGroup, scopes)))


def any_tables(structure: Structure, chance: np.random.Generator, zeros: float) -> list[Any]:
    tables = []
    for shape in structure.shapes:
        table = chance.normal(size=shape)
        table[chance.random(table.shape) < zeros] = -np.inf
        tables.append(jnp.asarray(table))
    return tables


def any_evidence(structure: Structure, chance: np.random.Generator) -> Any:
    evidence = chance.normal(size=(len(structure.sizes), structure.most_states))
    evidence[0, 1:] = -np.inf
    return jnp.asarray(evidence)


def enumerated(
    structure: Structure, tables: list[Any], evidence: Any
) -> dict[tuple[int, ...], float]:
    """The log-score of every configuration."""
    found = {}
    for states in product(*map(range, structure.sizes)):
        score = sum(float(evidence[v, s]) for v, s in enumerate(states))
        for group, table in zip(structure.groups, tables, strict=True):
            for scope, values in zip(group.scopes.tolist(), np.asarray(table), strict=True):
                score += float(values[tuple(states[v] for v in scope)])
        found[states] = score
    return found


@pytest.mark.parametrize("name", some_fast(STRUCTURES, 3))
def test_log_partition_marginals_and_mode(name: str) -> None:
    structure = structure_of(name)
    engine = choose_engine(structure)
    questions = (engine.log_partition, engine.marginals, engine.mode, engine.entropy)
    answers = jax.jit(
        lambda tables, evidence: [question(tables, evidence) for question in questions]
    )
    for seed in range(6):
        chance = np.random.default_rng(seed)
        tables, evidence = (
            any_tables(structure, chance, zeros=0.2 * (seed % 2)),
            any_evidence(structure, chance),
        )
        scores = enumerated(structure, tables, evidence)
        log_z = np.logaddexp.reduce(list(scores.values()))
        found, marginals, mode, entropy = answers(tables, evidence)
        np.testing.assert_allclose(found, log_z, rtol=1e-12)
        if log_z == -np.inf:
            continue
        expected = np.zeros(evidence.shape)
        for states, score in scores.items():
            expected[range(len(states)), states] += np.exp(score - log_z)
        np.testing.assert_allclose(marginals, expected, atol=1e-12)
        p = np.exp(np.array(list(scores.values())) - log_z)
        spread = -np.sum(p * np.log(np.where(p > 0, p, 1)))
        np.testing.assert_allclose(entropy, spread, rtol=1e-9, atol=1e-12)
        best = tuple(np.asarray(mode.states).tolist())
        assert scores[best] == pytest.approx(max(scores.values()), rel=1e-12)


@pytest.mark.parametrize("name", some_fast(STRUCTURES, 2))
def test_the_gradient_is_the_marginals_and_samples_follow_them(name: str) -> None:
    """Frequencies of 4,000 draws: |z| < 5.5, a false alarm in 10 million of the some 40
    comparisons.
    """
    structure = structure_of(name)
    engine = choose_engine(structure)
    chance = np.random.default_rng(7)
    tables, evidence = any_tables(structure, chance, zeros=0.0), any_evidence(structure, chance)
    marginals = np.asarray(jax.jit(engine.marginals)(tables, evidence))
    slopes = jax.jit(jax.grad(engine.log_partition, argnums=1))(tables, evidence)
    np.testing.assert_allclose(slopes, marginals, atol=1e-12)
    drawn = np.asarray(
        jax.jit(engine.sample, static_argnums=1)(jax.random.key(0), 4000, tables, evidence)
    )
    assert drawn.shape == (4000, len(structure.sizes))
    counts = np.stack([(drawn == k).mean(0) for k in range(structure.most_states)], 1)
    errors = np.sqrt(np.clip(marginals * (1 - marginals), 0, None) / 4000)
    assert np.all(np.abs(counts - marginals) < 5.5 * errors + 1e-9)


@pytest.mark.parametrize("name", some_fast(STRUCTURES, 4))
def test_what_is_impossible_has_no_slope(name: str) -> None:
    structure = structure_of(name)
    engine = choose_engine(structure)
    tables = any_tables(structure, np.random.default_rng(0), zeros=0.0)
    evidence = jnp.zeros((len(structure.sizes), structure.most_states)).at[0].set(-jnp.inf)
    value, slopes = jax.jit(jax.value_and_grad(engine.log_partition, argnums=1))(tables, evidence)
    assert value == -jnp.inf
    assert np.isfinite(slopes).all()


def pairs(first: list[int], second: list[int]) -> Any:
    return np.array(list(zip(first, second, strict=True)), np.intp)


STEPS = 8
SLICED = {
    "two chains that see each other": (
        structured((2, 3) * STEPS, pairs([2 * t for t in range(7)], [2 * t + 2 for t in range(7)]),
                   pairs([2 * t + 1 for t in range(7)], [2 * t + 3 for t in range(7)]),
                   pairs([2 * t for t in range(8)], [2 * t + 1 for t in range(8)])),
        np.repeat(np.arange(STEPS), 2),
    ),
    "a chain of second order": (
        structured((2,) * 9, np.array([[t, t + 1, t + 2] for t in range(7)]), np.array([[0]])), np.arange(9)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", slow_ones(SLICED, ["two chains that see each other"]))
def test_slices_answer_as_the_contraction_tree(name: str) -> None:
    structure, steps = SLICED[name]
    engine, tree = choose_engine(structure, [steps]), compile_structure(structure)
    assert isinstance(engine, SliceEngine)
    questions = ("log_partition", "marginals", "entropy", "mode")
    ours = jax.jit(
        lambda tables, evidence: [getattr(engine, q)(tables, evidence) for q in questions]
    )
    for seed in range(2):
        chance = np.random.default_rng(seed)
        tables, evidence = (
            any_tables(structure, chance, zeros=0.1 * seed),
            any_evidence(structure, chance),
        )
        *found, mode = ours(tables, evidence)
        for question, value in zip(questions, found, strict=False):
            np.testing.assert_allclose(
                value, getattr(tree, question)(tables, evidence), rtol=1e-9, atol=1e-12
            )
        np.testing.assert_allclose(mode.score, tree.mode(tables, evidence).score, rtol=1e-12)
    drawn = np.asarray(
        jax.jit(engine.sample, static_argnums=1)(jax.random.key(0), 4000, tables, evidence)
    )
    marginals = np.asarray(tree.marginals(tables, evidence))
    counts = np.stack([(drawn == k).mean(0) for k in range(structure.most_states)], 1)
    errors = np.sqrt(np.clip(marginals * (1 - marginals), 0, None) / 4000)
    assert np.all(np.abs(counts - marginals) < 5.5 * errors + 1e-9)


def test_chains_are_found_and_other_things_are_not() -> None:
    ring = structured((2, 2, 2), np.array([[0, 1], [1, 2], [2, 0]]))
    star = structured((2, 2, 2, 2), np.array([[0, 1], [0, 2], [0, 3]]))
    triple = structured((2, 2, 2), np.array([[0, 1, 2]]))
    assert [find_paths(s) for s in (ring, star, triple)] == [None, None, None]
    found = find_paths(structure_of("chains of different lengths, one variable alone"))
    assert isinstance(found, PathEngine)
    assert found.rows.order.shape == (3, 3)
    assert found.packed.order.shape == (2, 3)


def test_chains_that_share_rows_leave_little_room() -> None:
    lengths = np.random.default_rng(0).integers(1, 20, size=400)
    ends = np.cumsum(lengths)
    chains = np.split(np.arange(ends[-1]), ends[:-1])
    rows = packed(structured((2,) * int(ends[-1])), chains)
    assert rows.order.shape[1] == lengths.max()
    assert rows.order.size < 1.1 * ends[-1]
    assert (rows.order[tuple(rows.places.T)] == np.arange(ends[-1])).all()
    for chain in chains:
        row, start = rows.places[chain[0]]
        assert (rows.order[row, start : start + len(chain)] == chain).all()
        assert rows.fresh[row, start : start + len(chain)].tolist() == [True] + [False] * (
            len(chain) - 1
        )


@pytest.mark.parametrize(
    "name", ["a chain", "a chain told backwards, of different sizes", "mixed", "slices", "a star"]
)
def test_one_table_serves_all_factors_of_a_group(name: str) -> None:
    """As many copies of it give the same, in value and in gradient."""
    chains = {
        "mixed": ((2,) * 5, [[(0, 1), (2, 1), (2, 3), (4, 3)], [(0,), (1,), (2,), (3,), (4,)]]),
        "slices": ((2,) * 20, [[(t, t + 1) for t in range(19)], [(t, t + 2) for t in range(18)]]),
        "a star": ((3,) * 5, [[(0, 1), (0, 2), (0, 3), (0, 4)], [(1,), (2,), (3,), (4,)]]),
    }
    sizes, groups = {**STRUCTURES, **chains}[name]
    structure = structured(sizes, *(np.array(scopes, np.intp) for scopes in groups))
    engine = choose_engine(structure, [np.arange(len(sizes))] if name == "slices" else ())
    chance = np.random.default_rng(5)
    one = [jnp.asarray(chance.normal(size=(1, *shape[1:]))) for shape in structure.shapes]
    evidence = any_evidence(structure, chance)
    ask = jax.jit(jax.value_and_grad(engine.log_partition))
    value, slopes = ask(one, evidence)
    copies = [
        jnp.broadcast_to(table, shape) for table, shape in zip(one, structure.shapes, strict=True)
    ]
    expected, each = ask(copies, evidence)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for slope, own in zip(slopes, each, strict=True):
        np.testing.assert_allclose(slope[0], own.sum(0), rtol=1e-10, atol=1e-12)
    assert {"slices": SliceEngine, "a star": Compiled}.get(name, PathEngine) is type(engine)
