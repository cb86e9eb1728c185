"""Small programs whose expected cost is known another way: as a sum over all outcomes, written by
hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from tape import Rules, Slot, hermite

from dpc.estimators import Cost, Draw, Step
from dpc.estimators.methods.method import Method


@dataclass(frozen=True, eq=False)
class Case:
    """`breaks`: between which uniform numbers no draw changes, for each step. `laws`: those of the
    draws.
    """

    name: str
    theta: np.ndarray
    steps: Callable[[jax.Array, Sequence[Method]], list[Step]]
    truth: Callable[[jax.Array], jax.Array]
    laws: tuple[dist.Distribution, ...]
    breaks: Callable[[Slot, Mapping[Slot, np.ndarray]], np.ndarray] = lambda slot, earlier: (
        np.zeros(0)
    )
    rules: Rules = field(default_factory=dict)
    fineness: int = 40


def _both(*probabilities: float) -> np.ndarray:
    """Where a draw changes, and where its mirror image does."""
    return np.array([p for probability in probabilities for p in (probability, 1 - probability)])


# ---- one coin


def _coin_cost(b: jax.Array, theta: jax.Array) -> jax.Array:
    return jnp.exp(theta[0] / 2) * (b - 0.3) ** 2 + 1.7 * b * theta[0]


def _coin_truth(theta: jax.Array) -> jax.Array:
    p = 1 / (1 + jnp.exp(-theta[0]))
    return p * _coin_cost(1.0, theta) + (1 - p) * _coin_cost(0.0, theta)


def coin(logit: float) -> Case:
    def steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
        return [
            Draw("b", (), lambda v: dist.Bernoulli(logits=theta[0]), methods[0]),
            Cost("loss", ("b",), lambda v: _coin_cost(v["b"], theta)),
        ]

    p = 1 / (1 + np.exp(-logit))
    breaks = _both(p)
    name = f"coin {logit}"
    return Case(
        name,
        np.array([logit]),
        steps,
        _coin_truth,
        (dist.Bernoulli(logits=0.1),),
        lambda *_: breaks,
    )


def _probability_steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
    return [
        Draw("b", (), lambda v: dist.Bernoulli(probs=theta[0] ** 2), methods[0]),
        Cost("loss", ("b",), lambda v: _coin_cost(v["b"], theta)),
    ]


def _probability_truth(theta: jax.Array) -> jax.Array:
    p = theta[0] ** 2
    return p * _coin_cost(1.0, theta) + (1 - p) * _coin_cost(0.0, theta)


PROBABILITY = Case(
    "coin of a probability",
    np.array([0.6]),
    _probability_steps,
    _probability_truth,
    (dist.Bernoulli(probs=0.1),),
    lambda *_: _both(0.36),
)

# ---- one die

PAYOFF = np.array([2.0, -1.0, 0.5])
BEND = np.array([0.3, 1.1, -0.7])


def _faces(value: jax.Array, relaxed: bool) -> jax.Array:
    return value if relaxed else jax.nn.one_hot(value, 3)


def _die_cost(x: jax.Array, theta: jax.Array) -> jax.Array:
    return jnp.dot(x, jnp.asarray(PAYOFF)) * jnp.exp(theta[0]) + jnp.dot(x, jnp.asarray(BEND)) ** 2


def _die_steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
    return [
        Draw("k", (), lambda v: dist.Categorical(logits=theta), methods[0]),
        Cost("loss", ("k",), lambda v: _die_cost(_faces(v["k"], methods[0].relaxed), theta)),
    ]


def _die_truth(theta: jax.Array) -> jax.Array:
    p = jnp.exp(theta) / jnp.sum(jnp.exp(theta))
    return sum(p[k] * _die_cost(jnp.eye(3)[k], theta) for k in range(3))


_DIE = np.array([0.3, -0.5, 1.0])
_DIE_BREAKS = np.cumsum(np.exp(_DIE) / np.exp(_DIE).sum())[:2]
DIE = Case(
    "die",
    _DIE,
    _die_steps,
    _die_truth,
    (dist.Categorical(logits=jnp.zeros(3)),),
    lambda *_: _DIE_BREAKS,
    fineness=80,
)

# ---- a coin and a die that depends on it


def _chain_logits(b: jax.Array, theta: jax.Array) -> jax.Array:
    return jnp.stack([theta[1] * b, theta[0] - b, theta[2] * theta[2] * b])


def _chain_cost(b: jax.Array, c: jax.Array, theta: jax.Array) -> jax.Array:
    return (jnp.dot(c, jnp.asarray(PAYOFF)) - b * theta[1]) ** 2 * (1 + theta[2] ** 2)


def _chain_side_cost(b: jax.Array, theta: jax.Array) -> jax.Array:
    return 3 * jnp.sin(b + theta[0])


def _chain_steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
    return [
        Draw("b", (), lambda v: dist.Bernoulli(logits=theta[0]), methods[0]),
        Cost("side", ("b",), lambda v: _chain_side_cost(v["b"], theta)),
        Draw(
            "c", ("b",), lambda v: dist.Categorical(logits=_chain_logits(v["b"], theta)), methods[1]
        ),
        Cost(
            "loss",
            ("b", "c"),
            lambda v: _chain_cost(v["b"], _faces(v["c"], methods[1].relaxed), theta),
        ),
    ]


def _chain_truth(theta: jax.Array) -> jax.Array:
    p = 1 / (1 + jnp.exp(-theta[0]))
    total = jnp.zeros(())
    for b, weight in ((0.0, 1 - p), (1.0, p)):
        odds = jnp.exp(_chain_logits(b, theta))
        total += weight * _chain_side_cost(b, theta)
        for k in range(3):
            total += weight * odds[k] / jnp.sum(odds) * _chain_cost(b, jnp.eye(3)[k], theta)
    return total


_CHAIN = np.array([0.4, 0.7, -0.6])


def _chain_breaks(slot: Slot, earlier: Mapping[Slot, np.ndarray]) -> np.ndarray:
    if slot[0] == 0:
        return _both(1 / (1 + np.exp(-_CHAIN[0])))
    odds = [np.exp([_CHAIN[1] * b, _CHAIN[0] - b, _CHAIN[2] ** 2 * b]) for b in (0.0, 1.0)]
    return np.concatenate([np.cumsum(row / row.sum())[:2] for row in odds])


CHAIN = Case(
    "chain",
    _CHAIN,
    _chain_steps,
    _chain_truth,
    (coin(0.1).laws[0], DIE.laws[0]),
    _chain_breaks,
    fineness=24,
)

# ---- three coins whose cost does not come apart


def _coins_cost(b: jax.Array, theta: jax.Array) -> jax.Array:
    return (b[0] + 2 * b[1] * b[2] - theta[0] / 2) ** 2 + b[0] * b[1] * b[2] * theta[1]


def _coins_steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
    return [
        Draw("b", (), lambda v: dist.Bernoulli(logits=theta), methods[0], plates=1),
        Cost("loss", ("b",), lambda v: _coins_cost(v["b"], theta)),
    ]


def _coins_truth(theta: jax.Array) -> jax.Array:
    p = 1 / (1 + jnp.exp(-theta))
    outcomes = jnp.array(list(itertools.product((0.0, 1.0), repeat=3)))
    mass = jnp.prod(jnp.where(outcomes > 0, p, 1 - p), 1)
    return jnp.sum(mass * jax.vmap(lambda b: _coins_cost(b, theta))(outcomes))


_COINS = np.array([0.3, -0.3, 0.3])
COINS = Case(
    "three coins",
    _COINS,
    _coins_steps,
    _coins_truth,
    (dist.Bernoulli(logits=jnp.zeros(3)),),
    lambda *_: _both(1 / (1 + np.exp(-0.3))),
    fineness=14,
)

# ---- a coin whose odds are drawn by a path


def _gate_cost(z: jax.Array, c: jax.Array, theta: jax.Array) -> jax.Array:
    return (c - 0.3) * (z + theta[1]) ** 2 + 0.5 * z


def _gate_steps(theta: jax.Array, methods: Sequence[Method]) -> list[Step]:
    return [
        Draw("z", (), lambda v: dist.Normal(theta[0], 0.5), methods[0]),
        Draw("c", ("z",), lambda v: dist.Bernoulli(logits=theta[1] * v["z"]), methods[1]),
        Cost("loss", ("z", "c"), lambda v: _gate_cost(v["z"], v["c"], theta)),
    ]


def _gate_truth(theta: jax.Array) -> jax.Array:
    nodes, weights = hermite(24)
    z = theta[0] + 0.5 * jnp.asarray(nodes)
    p = 1 / (1 + jnp.exp(-theta[1] * z))
    return jnp.sum(
        jnp.asarray(weights) * (p * _gate_cost(z, 1.0, theta) + (1 - p) * _gate_cost(z, 0.0, theta))
    )


_GATE = np.array([0.2, 0.9])


def _gate_breaks(slot: Slot, earlier: Mapping[Slot, np.ndarray]) -> np.ndarray:
    noise = earlier[0, "normal", 0]
    z = _GATE[0] + 0.5 * noise.reshape(len(noise), -1)
    p = 1 / (1 + np.exp(-_GATE[1] * z))
    return np.concatenate([p, 1 - p], 1)


GATE = Case(
    "gate",
    _GATE,
    _gate_steps,
    _gate_truth,
    (dist.Normal(0.0, 1.0), coin(0.1).laws[0]),
    _gate_breaks,
    fineness=24,
)
