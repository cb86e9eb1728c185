"""The toys in the libraries that can estimate their gradients, each as its users would write them.

TFP, NumPyro, Pyro and GenJAX have the score function without a leave-one-out baseline, so theirs is
the cheaper estimator of the larger variance. A bound is all that NumPyro and Pyro estimate: there
an expected cost is a factor under a guide whose model is the guide itself, held fixed, which adds a
term of mean 0 to the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gradient_toys import (
    CHOICES_TOY,
    COSTS,
    GATE,
    GOAL,
    ITEMS,
    ROWS,
    TWO_LAYER,
    Arrays,
    Toy,
    X,
    bound,
)
from jax.lax import stop_gradient as stop
from jax.scipy.stats import norm

Estimate = Callable[[int], tuple[float, Arrays]]


class Peer(NamedTuple):
    """`make(toy, n)` gives a function of a seed that waits for the value and the gradient from n
    samples.
    """

    name: str
    estimator: str
    make: Callable[[Toy, int], Estimate]
    torch: bool = False


def by_jax(function: Callable[[jax.Array, Arrays], Any], toy: Toy) -> Estimate:
    """A function of key and parameters that gives value and gradient, compiled."""
    compiled = jax.jit(function)
    params = jax.device_put(jax.tree.map(jnp.asarray, toy.params))
    keys = [jax.random.key(seed) for seed in range(256)]

    def estimate(seed: int) -> tuple[float, Arrays]:
        found: tuple[float, Arrays] = jax.block_until_ready(compiled(keys[seed], params))
        return found

    return estimate


def by_hand() -> Peer:
    def make(toy: Toy, n: int) -> Estimate:
        surrogate = partial(toy.by_hand, n=n)
        return by_jax(lambda key, params: jax.value_and_grad(surrogate, 1)(key, params), toy)

    return Peer("by hand", "rloo", make)


def ours() -> Peer:
    import dpc

    def make(toy: Toy, n: int) -> Estimate:
        model = dpc.parse(toy.text)
        data = model.bind(toy.data) if toy.data else None
        return by_jax(lambda key, params: model.value_and_grad(key, params, data, samples=n), toy)

    return Peer("dpc", "rloo", make)


# ---- JAX


def tfp() -> Peer:
    from tensorflow_probability.substrates import jax as tfp

    tfd = tfp.distributions
    expectation = partial(tfp.monte_carlo.expectation, use_reparameterization=False)

    def gate(key: jax.Array, params: Arrays, n: int) -> jax.Array:
        for_coin, for_noise = jax.random.split(key)
        theta = params["theta"]
        coin = tfd.Bernoulli(logits=theta, dtype=jnp.float64)

        def loss(b: jax.Array) -> jax.Array:
            return (tfd.Normal(b * theta, 1.0).sample(seed=for_noise) - GOAL) ** 2

        return expectation(loss, coin.sample(n, seed=for_coin), coin.log_prob)

    def choices(key: jax.Array, params: Arrays, n: int) -> jax.Array:
        law = tfd.Categorical(logits=params["logits"])
        costs = expectation(
            lambda z: jnp.asarray(COSTS)[jnp.arange(ITEMS), z],
            law.sample(n, seed=key),
            law.log_prob,
        )
        return jnp.sum(costs)

    def two_layer(key: jax.Array, params: Arrays, n: int) -> jax.Array:
        for_noise, for_coin = jax.random.split(key)
        q_u = tfd.Normal(params["m"], params["s"])
        u = q_u.sample(n, seed=for_noise)
        q_b = tfd.Bernoulli(logits=u, dtype=jnp.float64)

        def bound(b: jax.Array) -> jax.Array:
            log_p = tfd.Normal(0.0, 1.0).log_prob(u) + tfd.Bernoulli(
                probs=0.5, dtype=jnp.float64
            ).log_prob(b)
            return (
                log_p
                + tfd.Normal(params["w"] * b + u, 1.0).log_prob(X)
                - q_u.log_prob(u)
                - q_b.log_prob(b)
            )

        return jnp.sum(expectation(bound, q_b.sample(seed=for_coin), q_b.log_prob))

    rules = {GATE.name: gate, CHOICES_TOY.name: choices, TWO_LAYER.name: two_layer}
    return Peer(
        "TFP",
        "score",
        lambda toy, n: by_jax(jax.value_and_grad(partial(rules[toy.name], n=n), 1), toy),
    )


def numpyro() -> Peer:
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import TraceGraph_ELBO

    def coin_and_noise(params: Arrays) -> jax.Array:
        b = numpyro.sample("b", dist.Bernoulli(logits=params["theta"]))
        return numpyro.sample("z", dist.Normal(b * params["theta"], 1.0).mask(False))

    def gate(params: Arrays) -> None:
        numpyro.factor("loss", -((coin_and_noise(jax.tree.map(stop, params)) - GOAL) ** 2))

    def choose(params: Arrays) -> None:
        with numpyro.plate("item", ITEMS):
            numpyro.sample("z", dist.Categorical(logits=params["logits"]))

    def choices(params: Arrays) -> None:
        with numpyro.plate("item", ITEMS):
            z = numpyro.sample("z", dist.Categorical(logits=stop(params["logits"])))
            numpyro.factor("cost", -jnp.asarray(COSTS)[jnp.arange(ITEMS), z])

    def two_layer(params: Arrays) -> None:
        with numpyro.plate("row", ROWS):
            u = numpyro.sample("u", dist.Normal(0.0, 1.0))
            b = numpyro.sample("b", dist.Bernoulli(0.5))
            numpyro.sample("x", dist.Normal(params["w"] * b + u, 1.0), obs=jnp.asarray(X))

    def layers(params: Arrays) -> None:
        with numpyro.plate("row", ROWS):
            u = numpyro.sample("u", dist.Normal(params["m"], params["s"]))
            numpyro.sample("b", dist.Bernoulli(logits=u))

    def guide_of_gate(params: Arrays) -> None:
        coin_and_noise(params)

    rules = {
        GATE.name: (gate, guide_of_gate, 1.0),
        CHOICES_TOY.name: (choices, choose, 1.0),
        TWO_LAYER.name: (two_layer, layers, -1.0),
    }

    def make(toy: Toy, n: int) -> Estimate:
        model, guide, sign = rules[toy.name]
        elbo = TraceGraph_ELBO(num_particles=n)
        return by_jax(
            lambda key, params: jax.value_and_grad(
                lambda p: sign * elbo.loss(key, {}, model, guide, p)
            )(params),
            toy,
        )

    return Peer("NumPyro", "score", make)


def genjax() -> Peer:
    from genjax._src.adev.core import invoke_closed_over
    from genjax.adev import (
        expectation,
        flip_reinforce,
        mv_normal_diag_reparam,
        normal_reparam,
        reinforce,
    )
    from tensorflow_probability.substrates import jax as tfp

    tfd = tfp.distributions
    choose = reinforce(
        lambda key, logits: tfd.OneHotCategorical(logits=logits, dtype=jnp.float64).sample(
            seed=key
        ),
        lambda z, logits: jnp.sum(
            tfd.OneHotCategorical(logits=logits, dtype=jnp.float64).log_prob(z)
        ),
    )
    flip = reinforce(
        lambda key, logits: tfd.Bernoulli(logits=logits, dtype=jnp.float64).sample(seed=key),
        lambda b, logits: jnp.sum(tfd.Bernoulli(logits=logits, dtype=jnp.float64).log_prob(b)),
    )

    def gate(params: Arrays) -> jax.Array:
        b = flip_reinforce(jax.nn.sigmoid(params["theta"]))
        return (normal_reparam(b * params["theta"], 1.0) - GOAL) ** 2

    def choices(params: Arrays) -> jax.Array:
        return jnp.sum(jnp.asarray(COSTS) * choose(params["logits"]))

    def two_layer(params: Arrays) -> jax.Array:
        u = mv_normal_diag_reparam(params["m"], params["s"])
        b = flip(u)
        log_q = norm.logpdf(u, params["m"], params["s"]) - jnp.log1p(jnp.exp((1 - 2 * b) * u))
        return jnp.sum(bound(jnp.asarray(X), u, b, log_q, params["w"]))

    rules = {GATE.name: gate, CHOICES_TOY.name: choices, TWO_LAYER.name: two_layer}

    def make(toy: Toy, n: int) -> Estimate:
        program = expectation(
            lambda *leaves: rules[toy.name](dict(zip(toy.params, leaves, strict=True)))
        )

        def one(key: jax.Array, params: Arrays) -> jax.Array:
            return invoke_closed_over(program, key, tuple(params[name] for name in toy.params))

        def mean(key: jax.Array, params: Arrays) -> jax.Array:
            return jnp.mean(jax.vmap(one, (0, None))(jax.random.split(key, n), params))

        return by_jax(jax.value_and_grad(mean, 1), toy)

    return Peer("GenJAX", "score", make)


# ---- torch


def by_torch(run: Callable[[Any], float], toy: Toy) -> Estimate:
    """`run` computes the value and leaves the gradient in the parameters."""
    import torch

    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    params = {name: torch.tensor(value, requires_grad=True) for name, value in toy.params.items()}

    def estimate(seed: int) -> tuple[float, Arrays]:
        torch.manual_seed(seed)
        for param in params.values():
            param.grad = None
        value = run(params)
        return value, {name: param.grad for name, param in params.items()}

    return estimate


def pyro() -> Peer:
    import pyro
    import pyro.distributions as dist
    import torch
    from pyro.infer import TraceGraph_ELBO

    def coin_and_noise(params: Arrays) -> Any:
        b = pyro.sample("b", dist.Bernoulli(logits=params["theta"]))
        return pyro.sample("z", dist.Normal(b * params["theta"], 1.0).mask(False))

    def fixed(params: Arrays) -> Arrays:
        return {name: param.detach() for name, param in params.items()}

    def gate(params: Arrays) -> None:
        pyro.factor("loss", -((coin_and_noise(fixed(params)) - GOAL) ** 2))

    def choose(params: Arrays) -> Any:
        with pyro.plate("item", ITEMS):
            return pyro.sample("z", dist.Categorical(logits=params["logits"]))

    def choices(params: Arrays) -> None:
        with pyro.plate("item", ITEMS):
            z = pyro.sample("z", dist.Categorical(logits=params["logits"].detach()))
            pyro.factor("cost", -torch.as_tensor(COSTS)[torch.arange(ITEMS), z])

    def two_layer(params: Arrays) -> None:
        with pyro.plate("row", ROWS):
            u = pyro.sample("u", dist.Normal(0.0, 1.0))
            b = pyro.sample("b", dist.Bernoulli(0.5))
            pyro.sample("x", dist.Normal(params["w"] * b + u, 1.0), obs=torch.as_tensor(X))

    def layers(params: Arrays) -> None:
        with pyro.plate("row", ROWS):
            u = pyro.sample("u", dist.Normal(params["m"], params["s"]))
            pyro.sample("b", dist.Bernoulli(logits=u))

    rules = {
        GATE.name: (gate, coin_and_noise, 1.0),
        CHOICES_TOY.name: (choices, choose, 1.0),
        TWO_LAYER.name: (two_layer, layers, -1.0),
    }

    def make(toy: Toy, n: int) -> Estimate:
        model, guide, sign = rules[toy.name]
        elbo = TraceGraph_ELBO(num_particles=n, vectorize_particles=True, max_plate_nesting=1)

        def run(params: Any) -> float:
            value = sign * elbo.loss_and_grads(model, guide, params)
            for param in params.values():
                param.grad *= sign
            return value

        return by_torch(run, toy)

    return Peer("Pyro", "score", make, torch=True)


def storchastic() -> Peer:
    import storch
    import torch
    from torch.distributions import Bernoulli, Normal, OneHotCategorical

    def finish(cost: Any) -> float:
        storch.add_cost(cost, "cost")
        return float(storch.backward().detach())

    def gate(params: Any, n: int) -> float:
        b = storch.method.ScoreFunction("b", n_samples=n, baseline_factory="batch_average")(
            Bernoulli(logits=params["theta"])
        )
        z = storch.method.Reparameterization("z")(Normal(b * params["theta"], 1.0))
        return finish((z - GOAL) ** 2)

    def choices(params: Any, n: int) -> float:
        logits = storch.denote_independent(params["logits"], 0, "item")
        costs = storch.denote_independent(torch.as_tensor(COSTS), 0, "item")
        method = storch.method.ScoreFunction("z", n_samples=n, baseline_factory="batch_average")
        return finish(ITEMS * (costs * method(OneHotCategorical(logits=logits))).sum(-1))

    def two_layer(params: Any, n: int) -> float:
        m, s, x = (
            storch.denote_independent(v, 0, "row")
            for v in (params["m"], params["s"], torch.as_tensor(X))
        )
        u = storch.method.Reparameterization("u", n_samples=n)(Normal(m, s))
        b = storch.method.ScoreFunction("b", n_samples=1)(Bernoulli(logits=u))
        log_p = (
            Normal(0.0, 1.0).log_prob(u)
            + np.log(0.5)
            + Normal(params["w"] * b + u, 1.0).log_prob(x)
        )
        return finish(ROWS * (log_p - Normal(m, s).log_prob(u) - Bernoulli(logits=u).log_prob(b)))

    rules = {GATE.name: gate, CHOICES_TOY.name: choices, TWO_LAYER.name: two_layer}
    return Peer(
        "Storchastic",
        "rloo",
        lambda toy, n: by_torch(partial(rules[toy.name], n=n), toy),
        torch=True,
    )


PEERS: dict[str, Callable[[], Peer]] = {
    "dpc": ours,
    "by hand": by_hand,
    "TFP": tfp,
    "NumPyro": numpyro,
    "GenJAX": genjax,
    "Pyro": pyro,
    "Storchastic": storchastic,
}
