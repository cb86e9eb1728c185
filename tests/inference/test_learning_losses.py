"""Structured losses and surrogates of likelihoods against enumeration, closed forms and quadratic
programs.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from dpc.inference.engines.tree.model import Compiled, compile_structure
from dpc.inference.engines.tree.structure import FactorGroup, Structure
from dpc.inference.errors import InferenceError
from dpc.inference.losses import fields
from dpc.inference.losses.fenchel_young import entmax
from dpc.inference.losses.fields import pseudo_likelihood, score, solve_by_cuts
from dpc.inference.losses.structured import crf_loss, perceptron_loss, sparsemap, sparsemap_loss
from dpc.inference.optimise.method import minimise
from dpc.inference.optimise.newton import Newton

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

# ---- structures: a cycle with factors of one, two and three variables and two sizes


CYCLE = Structure(
    (2, 3, 2, 2),
    (
        FactorGroup(np.array([[0], [2], [3]])),
        FactorGroup(np.array([[0, 1], [3, 1]])),
        FactorGroup(np.array([[2, 0]])),
        FactorGroup(np.array([[3, 2, 0]])),
        FactorGroup(np.zeros((1, 0), np.intp)),
    ),
)
CHAIN = Structure(
    (2, 3, 2), (FactorGroup(np.array([[0], [2]])), FactorGroup(np.array([[0, 1], [2, 1]])))
)
ALONE = Structure((2, 3, 2), (FactorGroup(np.array([[0], [2]])), FactorGroup(np.array([[1], [1]]))))
NAMED = {"cycle": CYCLE, "chain": CHAIN, "alone": ALONE}


def tables_for(structure: Structure, seed: int = 0) -> tuple[Any, ...]:
    generator = np.random.default_rng(seed)
    return tuple([jnp.asarray(generator.normal(size=shape)) for shape in structure.shapes])


def configurations(structure: Structure) -> np.ndarray:
    return np.array(list(product(*map(range, structure.sizes))))


def scores_of(structure: Structure, tables: Any) -> np.ndarray:
    """By loops."""
    found = []
    for x in configurations(structure):
        groups = zip(structure.groups, tables, strict=True)
        found.append(sum(float(t[(f, *x[s])]) for g, t in groups for f, s in enumerate(g.scopes)))
    return np.array(found)


def log_likelihoods(structure: Structure, tables: Any) -> np.ndarray:
    scores = scores_of(structure, tables)
    return scores - scipy.special.logsumexp(scores)


@cache
def engine_of(name: str) -> Compiled:
    return compile_structure(NAMED[name])


def silence(structure: Structure) -> Any:
    return jnp.zeros((len(structure.sizes), structure.most_states))


def log_partition(name: str) -> Any:
    return lambda tables: engine_of(name).log_partition(tables, silence(NAMED[name]))


def mode(name: str) -> Any:
    return lambda tables: engine_of(name).mode(tables, silence(NAMED[name])).states


def close(found: Any, expected: Any, atol: float = 1e-10) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=atol)


def test_scores_are_sums_of_entries() -> None:
    tables = tables_for(CYCLE)
    found = jax.jit(partial(score, CYCLE))(tables, configurations(CYCLE))
    np.testing.assert_allclose(np.asarray(found), scores_of(CYCLE, tables), rtol=1e-12)


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(InferenceError, match="the structure needs"):
        score(CHAIN, tables_for(CYCLE), jnp.zeros(3, int))
    with pytest.raises(InferenceError, match="the last axis needs 3"):
        score(CHAIN, tables_for(CHAIN), jnp.zeros(4, int))
    with pytest.raises(InferenceError, match="of an integer type"):
        score(CHAIN, tables_for(CHAIN), jnp.zeros(3))


# ---- pseudo-likelihood


def brute_pseudo_likelihood(
    structure: Structure, tables: Any, rows: np.ndarray, predicted: Any = None
) -> float:
    """By the conditionals of the joint distribution."""
    sizes = structure.sizes
    joint = np.exp(log_likelihoods(structure, tables)).reshape(sizes)
    total = 0.0
    for x in rows:
        for v in range(len(sizes)) if predicted is None else predicted:
            line = joint[tuple([slice(None) if u == v else int(x[u]) for u in range(len(sizes))])]
            total -= np.log(line[x[v]] / line.sum())
    return total


@pytest.mark.parametrize("name", NAMED)
def test_pseudo_likelihood_is_that_of_the_conditionals(name: str) -> None:
    structure, rows = NAMED[name], configurations(NAMED[name])
    tables = tables_for(structure)
    found = float(jax.jit(partial(pseudo_likelihood, structure))(tables, rows))
    np.testing.assert_allclose(found, brute_pseudo_likelihood(structure, tables, rows), rtol=1e-12)
    if name == "alone":
        np.testing.assert_allclose(found, -log_likelihoods(ALONE, tables).sum(), rtol=1e-12)


def test_pseudo_likelihood_takes_weights_and_what_is_given() -> None:
    tables, rows = tables_for(CYCLE), configurations(CYCLE)[:5]
    weights = np.array([1.0, 0.0, 2.0, 0.5, 1.0])
    found = jax.jit(
        lambda t: pseudo_likelihood(CYCLE, t, rows, jnp.asarray(weights), predicted=(1, 3))
    )(tables)
    parts = [brute_pseudo_likelihood(CYCLE, tables, rows[i : i + 1], (1, 3)) for i in range(5)]
    np.testing.assert_allclose(float(found), weights @ parts, rtol=1e-12)


def test_pseudo_likelihood_is_least_at_the_truth() -> None:
    """With all configurations weighted by their probabilities, the gradient vanishes: it is
    consistent.
    """
    tables, rows = tables_for(CYCLE), configurations(CYCLE)
    weights = jnp.asarray(np.exp(log_likelihoods(CYCLE, tables)))
    slope = jax.jit(jax.grad(partial(pseudo_likelihood, CYCLE)))
    close(slope(tables, rows, weights), jax.tree.map(jnp.zeros_like, tables), atol=1e-12)
    assert max(float(jnp.abs(s).max()) for s in slope(tables_for(CYCLE, 1), rows, weights)) > 1e-3


def test_pseudo_likelihood_with_zeros_has_finite_gradients() -> None:
    tables = [
        table.at[0].set(-jnp.inf) if table.ndim == 1 else table for table in tables_for(CHAIN)
    ]
    tables[1] = tables[1].at[0, 0, 0].set(-jnp.inf)
    slope = jax.jit(jax.grad(lambda t: pseudo_likelihood(CHAIN, t, jnp.array([1, 0, 1]))))(tables)
    assert all(bool(jnp.isfinite(s).all()) for s in slope)


# ---- contrastive divergence


def test_gibbs_sweeps_leave_the_distribution_as_it_is() -> None:
    """Exact samples stay exact: chi-squared of 24 configurations after 3 sweeps; false alarms
    1e-4.
    """
    tables, count = tables_for(CYCLE), 5000
    p = np.exp(log_likelihoods(CYCLE, tables))
    rows = configurations(CYCLE)[np.random.default_rng(0).choice(len(p), size=count, p=p)]
    after = np.asarray(
        jax.jit(lambda t, x: fields.sweep_gibbs(CYCLE, t, x, jax.random.key(1), 3))(tables, rows)
    )
    seen = np.bincount(np.ravel_multi_index(tuple(after.T), CYCLE.sizes), minlength=len(p))
    assert scipy.stats.chisquare(seen, count * p).pvalue > 1e-4
    assert (after != rows).any(axis=0).all()


def test_contrastive_divergence_tends_to_the_gradient_of_the_likelihood() -> None:
    """After 30 sweeps from one configuration; every entry within 5 standard errors, false alarms
    below 2e-5.
    """
    tables, count, row = tables_for(CYCLE), 4000, np.array([1, 2, 0, 1])
    rows = np.tile(row, (count, 1))
    slope = jax.jit(
        jax.grad(lambda t, x: fields.contrastive_loss(CYCLE, t, x, jax.random.key(2), sweeps=30))
    )
    p = np.exp(log_likelihoods(CYCLE, tables))
    each = [indicators(CYCLE, x) for x in configurations(CYCLE)]
    for g, found in enumerate(slope(tables, rows)):
        marginals = sum(share * parts[g] for share, parts in zip(p, each, strict=True))
        errors = np.sqrt(marginals * (1 - marginals) / count) + 1e-12
        assert (
            np.abs(np.asarray(found) / count - (marginals - indicators(CYCLE, row)[g]))
            <= 5 * errors
        ).all()


# ---- Bethe


def test_bethe_is_exact_on_trees() -> None:
    """With zeros and evidence too."""

    @jax.jit
    def both(tables: Any, evidence: Any) -> Any:
        found = jax.value_and_grad(
            lambda t: fields.bethe_log_partition(CHAIN, t, evidence).log_partition
        )(tables)
        return found, jax.value_and_grad(lambda t: engine_of("chain").log_partition(t, evidence))(
            tables
        )

    tables = list(tables_for(CHAIN))
    close(*both(tables, silence(CHAIN)), atol=1e-9)
    tables[1] = tables[1].at[0, 0, 0].set(-jnp.inf).at[1, 1, 2].set(-jnp.inf)
    close(*both(tables, silence(CHAIN).at[0, 1].set(-jnp.inf)), atol=1e-9)


def test_bethe_on_a_cycle_has_beliefs_for_a_gradient() -> None:
    """The gradient with the messages held equals differences of the whole value, which is not exact
    there.
    """
    triangle = Structure(
        (2, 2, 2),
        (FactorGroup(np.array([[0], [1], [2]])), FactorGroup(np.array([[0, 1], [1, 2], [2, 0]]))),
    )
    tables, direction = tables_for(triangle), tables_for(triangle, 5)

    def value(shift: Any) -> Any:
        return tuple(
            fields.bethe_log_partition(
                triangle, [t + shift * d for t, d in zip(tables, direction, strict=True)]
            )
        )

    both = jax.jit(jax.value_and_grad(value, has_aux=True))
    (here, residual), slope = both(jnp.array(0.0))
    ahead, behind = (float(both(jnp.array(shift))[0][0]) for shift in (1e-5, -1e-5))
    np.testing.assert_allclose(float(slope), (ahead - behind) / 2e-5, rtol=1e-7)
    assert float(residual) <= 1e-8
    assert 1e-5 < abs(float(here) - scipy.special.logsumexp(scores_of(triangle, tables))) < 0.5


def test_the_loss_of_bethe_without_edges_is_minus_the_log_likelihood() -> None:
    tables, rows = tables_for(ALONE), configurations(ALONE)
    found = jax.jit(partial(fields.bethe_loss, ALONE))(tables, rows)
    np.testing.assert_allclose(float(found), -log_likelihoods(ALONE, tables).sum(), rtol=1e-9)


# ---- perturbed modes


def solve_cycle(tables: Any, log_evidence: Any) -> Any:
    return engine_of("cycle").mode(tables, log_evidence).states


def test_perturb_and_map_is_the_mean_of_noisy_maxima() -> None:
    """By enumeration with the same noise; not below log Z by 4 standard errors, false alarms
    3e-5.
    """
    tables, samples, key = tables_for(CYCLE), 400, jax.random.key(0)
    noise = np.asarray(jax.random.gumbel(key, (samples, 4, CYCLE.most_states))) - np.euler_gamma
    rows, scores = configurations(CYCLE), scores_of(CYCLE, tables)
    totals = scores + noise[:, np.arange(4), rows].sum(axis=-1)
    bound = partial(fields.perturbed_log_partition, CYCLE, solve_cycle, key=key, samples=samples)
    value, slope = jax.jit(jax.value_and_grad(bound))(tables)
    np.testing.assert_allclose(float(value), totals.max(axis=1).mean(), rtol=1e-12)
    error = totals.max(axis=1).std() / np.sqrt(samples)
    assert float(value) > scipy.special.logsumexp(scores) - 4 * error
    for g, part in enumerate(slope):
        frequencies = np.mean(
            [indicators(CYCLE, rows[i])[g] for i in totals.argmax(axis=1)], axis=0
        )
        np.testing.assert_allclose(np.asarray(part), frequencies, atol=1e-12)


def test_perturb_and_map_of_one_variable_is_exact_on_average() -> None:
    """Its mean is log Z and its gradient the probabilities; 4 standard errors, false alarms 6e-5
    each.
    """
    one, samples = Structure((3,), (FactorGroup(np.array([[0]])),)), 4000
    tables, engine = (jnp.array([[0.5, -1.0, 0.2]]),), compile_structure(one)

    def bound(tables: Any) -> Any:
        solve = lambda t, e: engine.mode(t, e).states  # noqa: E731
        return fields.perturbed_log_partition(one, solve, tables, jax.random.key(3), samples)

    value, (slope,) = jax.jit(jax.value_and_grad(bound))(tables)
    p = np.asarray(jax.nn.softmax(tables[0][0]))
    assert abs(float(value) - float(jax.nn.logsumexp(tables[0]))) < 4 * np.pi / np.sqrt(6 * samples)
    assert (np.abs(np.asarray(slope)[0] - p) < 4 * np.sqrt(p * (1 - p) / samples)).all()


def test_cuts_find_the_perturbed_modes_that_engines_find() -> None:
    pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    square = Structure((2, 2, 2, 2), (FactorGroup(np.arange(4)[:, None]), FactorGroup(pairs)))
    generator = np.random.default_rng(4)
    agree = np.abs(generator.normal(size=(4, 1, 1))) * np.eye(2)
    tables, engine = (
        (jnp.asarray(generator.normal(size=(4, 2))), jnp.asarray(agree)),
        compile_structure(square),
    )

    def bound(solve: Any, tables: Any, key: Any) -> Any:
        return fields.perturbed_log_partition(square, solve, tables, key, 20)

    @jax.jit
    def both(tables: Any, key: Any) -> Any:
        solvers = solve_by_cuts(square), lambda t, e: engine.mode(t, e).states.astype(jnp.int32)
        return [jax.value_and_grad(partial(bound, s, key=key))(tables) for s in solvers]

    close(*both(tables, jax.random.key(0)), atol=1e-9)


# ---- structured losses


LOSSES = {
    "crf": lambda t, x: crf_loss(CYCLE, log_partition("cycle"), t, x),
    "perceptron": lambda t, x: perceptron_loss(CYCLE, mode("cycle"), t, x),
    "sparsemap": lambda t, x: sparsemap_loss(CYCLE, mode("cycle"), t, x),
}


@pytest.fixture(scope="module")
def structured() -> Any:
    with jax.enable_x64(True):
        return {
            name: jax.jit(jax.value_and_grad(lambda t, x, f=f: jnp.sum(f(t, x))))
            for name, f in LOSSES.items()
        }


@pytest.mark.parametrize("name", LOSSES)
def test_structured_losses_are_convex_and_never_negative(name: str, structured: Any) -> None:
    """By their gradients: f(b) >= f(a) + <f'(a), b - a>; the gradient of every factor sums to
    zero.
    """
    rows = jnp.asarray(configurations(CYCLE))
    points = [jax.tree.map(lambda t: 2 * t, tables_for(CYCLE, seed)) for seed in range(4)]
    for x in rows[::7]:
        found = [structured[name](point, x) for point in points]
        for a, (value, slope) in zip(points, found, strict=True):
            assert float(value) >= -1e-10
            for part in slope:
                np.testing.assert_allclose(
                    np.asarray(part).reshape(len(part), -1).sum(axis=1), 0, atol=1e-9
                )
            for b, (other, _) in zip(points, found, strict=True):
                step = sum(float(jnp.sum(s * (q - p))) for s, p, q in zip(slope, a, b, strict=True))
                assert float(other) >= float(value) + step - 1e-9


def test_structured_losses_vanish_where_the_row_wins(structured: Any) -> None:
    tables = tables_for(CYCLE)
    best = jnp.asarray(configurations(CYCLE)[scores_of(CYCLE, tables).argmax()])
    np.testing.assert_allclose(float(structured["perceptron"](tables, best)[0]), 0, atol=1e-12)
    sharp = jax.tree.map(lambda t: 100 * t, tables)
    np.testing.assert_allclose(float(structured["sparsemap"](sharp, best)[0]), 0, atol=1e-9)
    assert float(structured["sparsemap"](tables, best)[0]) > 1e-2


def test_sparsemap_is_the_projection_onto_the_polytope() -> None:
    """Against the quadratic program over mixtures of all configurations, with its gap."""
    tables = tables_for(CYCLE)
    found = jax.jit(partial(sparsemap, CYCLE, mode("cycle")))(tables)
    atoms = np.array(
        [
            np.concatenate([part.ravel() for part in indicators(CYCLE, x)])
            for x in configurations(CYCLE)
        ]
    )
    theta = np.concatenate([np.asarray(table).ravel() for table in tables])
    weights = scipy.optimize.nnls(
        np.vstack([atoms.T, np.full(len(atoms), 1e4)]), np.append(theta, 1e4)
    )[0]
    mu = np.concatenate([np.asarray(part).ravel() for part in found.marginals])
    np.testing.assert_allclose(mu, weights @ atoms / weights.sum(), atol=1e-6)
    assert float(found.gap) <= 1e-11
    assert 1 < int((np.asarray(found.weights) > 0).sum()) < len(atoms)
    np.testing.assert_allclose(float(jnp.sum(found.weights)), 1, rtol=1e-12)


def indicators(structure: Structure, x: np.ndarray) -> list[np.ndarray]:
    found = []
    for group, shape in zip(structure.groups, structure.shapes, strict=True):
        part = np.zeros(shape)
        for f, scope in enumerate(group.scopes):
            part[(f, *x[scope])] = 1
        found.append(part)
    return found


def test_sparsemap_of_single_variables_is_sparsemax() -> None:
    structure = Structure((3, 3), (FactorGroup(np.array([[0], [1]])),))
    engine, theta = compile_structure(structure), jnp.array([[0.2, -0.1, 0.6], [0.3, 0.25, -4.0]])
    solve = lambda tables: engine.mode(tables, jnp.zeros((2, 3))).states  # noqa: E731

    @jax.jit
    def both(theta: Any, change: Any) -> Any:
        found = jax.jvp(
            lambda t: sparsemap(structure, solve, (t,)).marginals[0], (theta,), (change,)
        )
        return found, jax.jvp(lambda t: entmax(t, 2.0), (theta,), (change,))

    close(*both(theta, jnp.asarray(np.random.default_rng(0).normal(size=(2, 3)))), atol=1e-12)


# ---- a random field is learned: moments are matched


RIDGE = 0.1


def field_loss(tables: Any, data: Any) -> Any:
    rows, weights = data
    penalty = RIDGE / 2 * sum([jnp.sum(table**2) for table in tables])
    return jnp.sum(weights * crf_loss(CHAIN, log_partition("chain"), tables, rows)) + penalty


def test_a_random_field_is_learned_by_matching_moments() -> None:
    """At Newton's optimum count * marginals + ridge * tables are the counts, by enumeration."""
    rows = configurations(CHAIN)
    weights = np.random.default_rng(0).integers(0, 20, size=len(rows)).astype(float)
    start = jax.tree.map(jnp.zeros_like, tables_for(CHAIN))
    found = minimise(
        Newton(field_loss, (jnp.asarray(rows), jnp.asarray(weights)), tolerance=1e-13), start, 50
    )
    assert found.converged, found.reason
    p = np.exp(log_likelihoods(CHAIN, found.raw))
    for g, table in enumerate(found.raw):
        each = np.array([indicators(CHAIN, x)[g] for x in rows])
        slope = np.tensordot(weights.sum() * p - weights, each, axes=1) + RIDGE * np.asarray(table)
        np.testing.assert_allclose(slope, 0, atol=1e-10)
