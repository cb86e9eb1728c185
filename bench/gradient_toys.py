"""Three stochastic programs of the benchmark: as .dp text, their exact values, and a surrogate in
plain JAX.

A surrogate f + stop(f - baseline) * (log p - stop(log p)) has the value f and the score-function
gradient. The baseline is the mean of the other samples (RLOO), and only costs below a draw weigh
its score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import stop_gradient as stop
from jax.scipy.stats import norm

CHANCE = np.random.default_rng(0)
ITEMS, CHOICES, ROWS = 10, 8, 8
COSTS = CHANCE.normal(size=(ITEMS, CHOICES))
X = CHANCE.normal(0.5, 1.5, ROWS)
GOAL = 0.499

Arrays = dict[str, Any]
Surrogate = Callable[[jax.Array, Arrays, int], jax.Array]


class Toy(NamedTuple):
    """`exact` is the expectation as a function of the parameters; `by_hand` estimates it from n
    samples.
    """

    name: str
    text: str
    params: Arrays
    data: Arrays
    exact: Callable[[Arrays], jax.Array]
    by_hand: Surrogate


def score_surrogate(cost: jax.Array, log_prob: jax.Array) -> jax.Array:
    """Samples are along the first axis; the others are summed."""
    others = (jnp.sum(cost, 0) - cost) / (len(cost) - 1)
    return jnp.sum(jnp.mean(cost + stop(cost - others) * (log_prob - stop(log_prob)), 0))


def log_bernoulli(b: jax.Array, logits: jax.Array) -> jax.Array:
    return -jnp.logaddexp(0.0, jnp.where(b, -logits, logits))


# ---- a coin before a Gaussian


def gate_exact(params: Arrays) -> jax.Array:
    theta = params["theta"]
    p = jax.nn.sigmoid(theta)
    return 1 + p * (theta - GOAL) ** 2 + (1 - p) * GOAL**2


def gate_by_hand(key: jax.Array, params: Arrays, n: int) -> jax.Array:
    theta = params["theta"]
    for_coin, for_noise = jax.random.split(key)
    b = jax.random.uniform(for_coin, (n,)) < jax.nn.sigmoid(theta)
    z = b * theta + jax.random.normal(for_noise, (n,))
    return score_surrogate((z - GOAL) ** 2, log_bernoulli(b, theta))


GATE = Toy(
    "gate",
    """
model gate
param theta : real = 0.3
b ~ Bernoulli(logistic(theta))          with grad=rloo
z ~ Normal(b * theta, 1)                with grad=pathwise
loss = (z - 0.499)^2
minimize loss
""",
    {"theta": np.array(0.3)},
    {},
    gate_exact,
    gate_by_hand,
)


# ---- ten independent choices, each with a cost of its own


def choices_exact(params: Arrays) -> jax.Array:
    return jnp.sum(jax.nn.softmax(params["logits"]) * COSTS)


def choices_by_hand(key: jax.Array, params: Arrays, n: int) -> jax.Array:
    log_p = jax.nn.log_softmax(params["logits"])
    cumulative = jnp.cumsum(jnp.exp(log_p), -1)
    u = jax.random.uniform(key, (n, ITEMS, 1))
    z = jnp.sum(cumulative <= u * cumulative[:, -1:], -1)
    item = jnp.arange(ITEMS)
    return score_surrogate(jnp.asarray(COSTS)[item, z], log_p[item, z])


CHOICES_TOY = Toy(
    "ten categoricals",
    f"""
model choices
dim Item = {ITEMS}
dim Choice = {CHOICES}
data cost[Item, Choice] : real
param logits[Item, Choice] : real
z[i in Item] ~ Categorical(logits=logits[i])   with grad=rloo
minimize sum[i in Item] cost[i, z[i]]
""",
    {"logits": CHANCE.normal(size=(ITEMS, CHOICES))},
    {"cost": COSTS},
    choices_exact,
    choices_by_hand,
)


# ---- a bound on the evidence, with a coin below a Gaussian in the guide


def bound(x: jax.Array, u: jax.Array, b: jax.Array, log_q: jax.Array, w: jax.Array) -> jax.Array:
    """log p(u, b, x) - log q(u, b), row by row."""
    return norm.logpdf(u) + jnp.log(0.5) + norm.logpdf(x, w * b + u) - log_q


def two_layer_exact(params: Arrays) -> jax.Array:
    """Gauss and Hermite for u, both values of b."""
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    u = params["m"] + params["s"] * points[:, None]
    log_u = norm.logpdf(u, params["m"], params["s"])
    mean = jnp.zeros(u.shape)
    for b in (False, True):
        log_b = log_bernoulli(jnp.asarray(b), u)
        mean += jnp.exp(log_b) * bound(
            jnp.asarray(X), u, jnp.asarray(b), log_u + log_b, params["w"]
        )
    return jnp.sum(jnp.dot(weights / weights.sum(), mean))


def two_layer_by_hand(key: jax.Array, params: Arrays, n: int) -> jax.Array:
    m, s = params["m"], params["s"]
    for_noise, for_coin = jax.random.split(key)
    u = m + s * jax.random.normal(for_noise, (n, ROWS))
    b = jax.random.uniform(for_coin, (n, ROWS)) < jax.nn.sigmoid(u)
    log_b = log_bernoulli(b, u)
    return score_surrogate(
        bound(jnp.asarray(X), u, b, norm.logpdf(u, m, s) + log_b, params["w"]), log_b
    )


TWO_LAYER = Toy(
    "two-layer bound",
    """
model two_layer
dim Row
observed x[Row] : real
param m[Row] : real
param s[Row] : real(lower=0)
param w      : real
u[r in Row] ~ Normal(0, 1)
b[r in Row] ~ Bernoulli(0.5)
x[r in Row] ~ Normal(w * b[r] + u[r], 1)
guide {
    u[r in Row] ~ Normal(m[r], s[r])        with grad=pathwise
    b[r in Row] ~ Bernoulli(logits=u[r])    with grad=rloo
}
maximize elbo()
""",
    {
        "m": CHANCE.normal(size=ROWS),
        "s": np.exp(0.3 * CHANCE.normal(size=ROWS)),
        "w": np.array(0.7),
    },
    {"x": X},
    two_layer_exact,
    two_layer_by_hand,
)

TOYS = (GATE, CHOICES_TOY, TWO_LAYER)
