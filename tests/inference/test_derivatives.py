"""Forward, reverse and every mixture of both, to second order, against autodiff of a sum over all
configurations.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpc.inference.engines import path as chains
from dpc.inference.engines.slices import slices
from dpc.inference.engines.tree.model import compile_structure
from dpc.inference.engines.tree.structure import FactorGroup, Structure

Function = Callable[[jax.Array], jax.Array]


QUICKLY_COMPILED = "every program of this module runs once, and most are large"


def derivatives(function: Function, vector: Any, along: Any) -> dict[str, Any]:
    """The value, its slope along a direction both ways, and the curvature along it three ways."""

    def forward(f: Function) -> Function:
        return lambda x: jax.jvp(f, (x,), (along,))[1]

    def reverse(f: Function) -> Function:
        return lambda x: jax.vjp(f, x)[1](jnp.ones(()))[0] @ along

    return {
        "value": function(vector),
        "slope": (forward(function)(vector), reverse(function)(vector)),
        "curvature": [
            f(vector)
            for f in (
                forward(forward(function)),
                forward(reverse(function)),
                reverse(reverse(function)),
            )
        ],
    }


def verify_derivatives(
    function: Function, twin: Function, size: int, zeros: tuple[int, ...], spread: float = 1.0
) -> None:
    """At a random point some of whose entries are minus infinity; those are not moved."""
    chance = np.random.default_rng(0)
    vector, along = spread * chance.normal(size=size), chance.normal(size=size)
    vector[list(zeros)], along[list(zeros)] = -np.inf, 0.0
    found = jax.jit(lambda x: derivatives(function, x, along))(vector)
    expected = jax.jit(lambda x: derivatives(twin, x, along))(vector)
    np.testing.assert_allclose(found["value"], expected["value"], rtol=1e-12)
    np.testing.assert_allclose(found["slope"], [expected["slope"][0]] * 2, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        found["curvature"], [expected["curvature"][0]] * 3, rtol=1e-9, atol=1e-11
    )


def scores_of(vector: jax.Array, incidence: np.ndarray) -> jax.Array:
    """The score of every configuration: what it uses of the vector, added;
    `incidence[configuration, use]`.
    """
    return jnp.sum(vector[incidence], axis=1)


def partition_twin(incidence: np.ndarray) -> Function:
    return lambda vector: jax.nn.logsumexp(scores_of(vector, incidence))


def entropy_twin(incidence: np.ndarray) -> Function:
    def entropy(vector: jax.Array) -> jax.Array:
        logs = jax.nn.log_softmax(scores_of(vector, incidence))
        return -jnp.sum(
            jnp.where(
                jnp.isneginf(logs), 0.0, jnp.exp(logs) * jnp.where(jnp.isneginf(logs), 0.0, logs)
            )
        )

    return entropy


# ---- the compiled contraction

SIZES = (2, 3, 2)
SCOPES = [[(0, 1)], [(2, 0)], [(1, 2)], [(2,)]]


def test_the_compiled_contraction() -> None:
    structure = Structure(
        SIZES, tuple([FactorGroup(np.array(scopes, np.intp)) for scopes in SCOPES])
    )
    ends = np.cumsum([int(np.prod(shape)) for shape in structure.shapes])
    starts = [0, *ends[:-1].tolist()]
    incidence = []
    for states in product(*map(range, SIZES)):
        places = zip(starts, structure.shapes, SCOPES, strict=True)
        uses = [
            start + np.ravel_multi_index((0, *(states[v] for v in s[0])), shape)
            for start, shape, s in places
        ]
        incidence.append([*uses, *(ends[-1] + 3 * v + state for v, state in enumerate(states))])
    engine = compile_structure(structure)

    def arguments(vector: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        *tables, evidence = jnp.split(vector, ends)
        shaped = [t.reshape(shape) for t, shape in zip(tables, structure.shapes, strict=True)]
        return shaped, evidence.reshape(len(SIZES), -1)

    size, used = int(ends[-1]) + 9, np.array(incidence)
    verify_derivatives(
        lambda x: engine.log_partition(*arguments(x)), partition_twin(used), size, zeros=(1, 8)
    )
    verify_derivatives(lambda x: engine.entropy(*arguments(x)), entropy_twin(used), size, zeros=())


# ---- slices


def test_slices() -> None:
    """Two variables a slice, three slices: the second of a slice looks at the first and at both
    before.
    """
    scopes = (((0, 0),), ((0, 0), (0, 1)), ((1, 0), (1, 1), (0, 1)))
    shapes = ((3, 2), (3, 2, 2), (2, 2, 2, 2))
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    first, second, third = (
        end - int(np.prod(s)) + np.arange(int(np.prod(s))).reshape(s)
        for end, s in zip(ends, shapes, strict=True)
    )
    incidence = [
        [
            *(first[t, x[t]] for t in range(3)),
            *(second[t, x[t], y[t]] for t in range(3)),
            *(third[t, x[t], y[t], y[t + 1]] for t in range(2)),
        ]
        for x in product((0, 1), repeat=3)
        for y in product((0, 1), repeat=3)
    ]

    def function(vector: jax.Array) -> jax.Array:
        parts = jnp.split(vector, ends[:-1])
        values = tuple([p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)])
        return slices.log_partition(slices.Slices((2, 2), 3, scopes, values), domain="scaled")

    verify_derivatives(function, partition_twin(np.array(incidence)), int(ends[-1]), zeros=(2, 9))


# ---- chains, whose pair potentials are shared by steps, by the batch, by both or by none

STEPS, STATES, BATCH = 3, 2, 2
UNARY = BATCH * STEPS * STATES
PAIRS = {
    "by steps and batch": (STATES, STATES),
    "by the batch": (STEPS - 1, STATES, STATES),
    "by steps": (BATCH, 1, STATES, STATES),
    "by none": (BATCH, STEPS - 1, STATES, STATES),
}


def chain_incidence(shape: tuple[int, ...], b: int) -> np.ndarray:
    """Of the sequence b: where the vector of all unary and then all pair potentials is read."""
    pair = UNARY + np.arange(int(np.prod(shape))).reshape(shape)
    own = np.broadcast_to(pair, (BATCH, STEPS - 1, STATES, STATES))[b]
    unary = np.arange(UNARY).reshape(BATCH, STEPS, STATES)[b]
    return np.array(
        [
            [
                *(unary[t, x[t]] for t in range(STEPS)),
                *(own[t, x[t], x[t + 1]] for t in range(STEPS - 1)),
            ]
            for x in product(range(STATES), repeat=STEPS)
        ]
    )


@pytest.mark.parametrize(
    ("shared", "domain", "spread"),
    [
        ("by the batch", "log", 400.0),
        *[
            pytest.param(shared, "scaled", 1.0, marks=[pytest.mark.slow] if k else [])
            for k, shared in enumerate(PAIRS)
        ],
    ],
)
def test_chains(shared: str, domain: chains.Domain, spread: float) -> None:
    """At a spread of 400 scaled numbers would underflow."""
    shape = PAIRS[shared]
    weights = jnp.array([1.0, -0.7])

    def function(vector: jax.Array) -> jax.Array:
        unary, pair = vector[:UNARY].reshape(BATCH, STEPS, STATES), vector[UNARY:].reshape(shape)
        return chains.log_partition(unary, pair, domain=domain) @ weights

    twins = [partition_twin(chain_incidence(shape, b)) for b in range(BATCH)]

    def twin(vector: jax.Array) -> jax.Array:
        return weights[0] * twins[0](vector) + weights[1] * twins[1](vector)

    verify_derivatives(function, twin, UNARY + int(np.prod(shape)), zeros=(3,), spread=spread)


def test_an_impossible_sequence_has_derivative_zero() -> None:
    unary = jnp.full((2, 2), -jnp.inf)
    ones = jnp.ones((2, 2))
    value, slope = jax.jit(lambda u, p: jax.jvp(chains.log_partition, (u, p), (ones, ones)))(
        unary, ones
    )
    assert (value, slope) == (-jnp.inf, 0.0)
