"""Models of the benchmark, each as a .dp program, as a NumPyro model, and as a log density in plain
JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln
from jax.scipy.stats import norm

import dpc

MODELS = Path(__file__).parent.parent / "models"
CHANCE = np.random.default_rng(0)

Arrays = dict[str, Any]
Density = Callable[[Arrays, Arrays], jax.Array]


class Case(NamedTuple):
    """`values` are differentiated; `data` is everything else that is given, discrete draws among
    it.

    NumPyro takes latent values by substitution; parameters, as those of `learned` tables, are
    arguments of its model.
    """

    name: str
    load: Callable[[], dpc.Model]
    values: Arrays
    data: Arrays
    numpyro: Callable[..., None]
    raw: Density
    learned: bool = False


def within(support: jax.Array, log_density: jax.Array) -> jax.Array:
    """A twin has the same values as the model everywhere: outside the support it has no density."""
    return jnp.where(support, log_density, -jnp.inf)


def dirichlet(x: jax.Array) -> jax.Array:
    """The log density of Dirichlet(1, ..., 1)."""
    support = jnp.all(x >= 0, -1) & (jnp.abs(x.sum(-1) - 1) < 1e-6)
    return within(support, gammaln(float(x.shape[-1])))


def eight_schools() -> Case:
    def model(sd: Any, effect: Any) -> None:
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("School", 8):
            theta = numpyro.sample("theta", dist.Normal(mu, tau))
            numpyro.sample("effect", dist.Normal(theta, sd), obs=effect)

    def raw(v: Arrays, d: Arrays) -> jax.Array:
        total = (
            norm.logpdf(v["mu"], 0, 5) + jnp.log(2 / (jnp.pi * 5)) - jnp.log1p((v["tau"] / 5) ** 2)
        )
        total += norm.logpdf(v["theta"], v["mu"], v["tau"]).sum()
        return within(v["tau"] > 0, total + norm.logpdf(d["effect"], v["theta"], d["sd"]).sum())

    values = {"mu": np.array(3.0), "tau": np.array(2.0), "theta": np.linspace(-1, 9, 8)}
    data = {
        "sd": np.array([15.0, 10, 16, 11, 9, 11, 10, 18]),
        "effect": np.array([28.0, 8, -3, 7, -1, 1, 18, 12]),
    }
    return Case("eight schools", from_file("eight_schools"), values, data, model, raw)


def logistic() -> Case:
    def model(x: Any, y: Any) -> None:
        bias = numpyro.sample("bias", dist.Normal(0, 5))
        w = numpyro.sample("w", dist.Normal(0, 1).expand([10]).to_event(1))
        with numpyro.plate("Obs", len(x)):
            numpyro.sample("y", dist.Bernoulli(logits=bias + x @ w), obs=y)

    def raw(v: Arrays, d: Arrays) -> jax.Array:
        eta = v["bias"] + d["x"] @ v["w"]
        prior = norm.logpdf(v["bias"], 0, 5) + norm.logpdf(v["w"]).sum()
        return prior + (d["y"] * eta - jnp.logaddexp(0, eta)).sum()

    x = CHANCE.normal(size=(10_000, 10))
    values = {"bias": np.array(0.3), "w": CHANCE.normal(size=10)}
    data = {"x": x, "y": CHANCE.random(10_000) < 0.5}
    return Case("logistic, 10,000 x 10", from_file("logistic"), values, data, model, raw)


def hmm() -> Case:
    def model(y: Any, z: Any) -> None:
        pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(3)))
        A = numpyro.sample("A", dist.Dirichlet(jnp.ones(3)).expand([3]).to_event(1))
        mu = numpyro.sample("mu", dist.Normal(0, 10).expand([3]).to_event(1))
        numpyro.factor("ordered", gammaln(4.0))
        numpyro.sample("first", dist.Categorical(pi), obs=z[0])
        numpyro.sample("rest", dist.Categorical(A[z[:-1]]), obs=z[1:])
        numpyro.sample("y", dist.Normal(mu[z], 1), obs=y)

    def raw(v: Arrays, d: Arrays) -> jax.Array:
        z = d["z"]
        total = (
            norm.logpdf(v["mu"], 0, 10).sum()
            + dirichlet(v["pi"])
            + dirichlet(v["A"]).sum()
            + jnp.log(6.0)
        )
        total += jnp.log(v["pi"][z[0]]) + jnp.log(v["A"])[z[:-1], z[1:]].sum()
        return within(jnp.all(jnp.diff(v["mu"]) > 0), total + norm.logpdf(d["y"], v["mu"][z]).sum())

    values = {
        "pi": CHANCE.dirichlet(np.ones(3)),
        "A": CHANCE.dirichlet(np.ones(3), 3),
        "mu": np.array([-2.0, 0.5, 3.0]),
    }
    data = {"y": CHANCE.normal(size=1000), "z": CHANCE.integers(0, 3, 1000)}
    return Case("HMM, T = 1,000", from_file("hmm"), values, data, model, raw)


def radon() -> Case:
    def model(county: Any, floor: Any, y: Any) -> None:
        mu_a = numpyro.sample("mu_a", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfNormal(2))
        b = numpyro.sample("b", dist.Normal(0, 1))
        sigma = numpyro.sample("sigma", dist.HalfNormal(1))
        with numpyro.plate("County", 85):
            a = numpyro.sample("a", dist.Normal(mu_a, tau))
        with numpyro.plate("Obs", len(y)):
            numpyro.sample("y", dist.Normal(a[county] + b * floor, sigma), obs=y)

    def raw(v: Arrays, d: Arrays) -> jax.Array:
        total = norm.logpdf(v["mu_a"], 0, 5) + norm.logpdf(v["tau"], 0, 2) + norm.logpdf(v["b"])
        total += (
            norm.logpdf(v["sigma"])
            + 2 * jnp.log(2.0)
            + norm.logpdf(v["a"], v["mu_a"], v["tau"]).sum()
        )
        total += norm.logpdf(d["y"], v["a"][d["county"]] + v["b"] * d["floor"], v["sigma"]).sum()
        return within((v["tau"] > 0) & (v["sigma"] > 0), total)

    values = {
        name: np.array(value)
        for name, value in {"mu_a": 1.3, "tau": 0.4, "b": -0.7, "sigma": 0.8}.items()
    }
    values["a"] = CHANCE.normal(size=85)
    data = {"county": CHANCE.integers(0, 85, 1000), "floor": CHANCE.integers(0, 2, 1000) * 1.0}
    return Case(
        "radon, 1,000 rows",
        from_file("hierarchical"),
        values,
        data | {"y": CHANCE.normal(size=1000)},
        model,
        raw,
    )


def network(learned: bool) -> Case:
    """Fifty ternary variables, each with up to two parents among the ten before it."""
    parents = [
        sorted(CHANCE.choice(range(max(0, i - 10), i), min(i, 2), replace=False)) for i in range(50)
    ]
    tables = [CHANCE.dirichlet(np.full(3, 5.0), (3,) * len(p)).round(3) for p in parents]
    for table in tables:
        table[..., 2] = (1 - table[..., 0] - table[..., 1]).round(3)
    logs = [np.log(table) for table in tables]

    def model(**given: Any) -> None:
        for i, (own, table) in enumerate(zip(parents, tables, strict=True)):
            probs = jnp.asarray(given.get(f"p{i}", table))
            row = probs[tuple(given[f"x{p}"] for p in own)]
            numpyro.sample(f"x{i}", dist.Categorical(row), obs=given[f"x{i}"])

    def raw(v: Arrays, d: Arrays) -> jax.Array:
        places = [(*(d[f"x{p}"] for p in own), d[f"x{i}"]) for i, own in enumerate(parents)]
        if learned:
            return sum(
                (jnp.log(v[f"p{i}"][place]) for i, place in enumerate(places)), jnp.zeros(())
            )
        return sum(
            (jnp.asarray(log)[place] for log, place in zip(logs, places, strict=True)),
            jnp.zeros(()),
        )

    text = "dim S = 3\n" + "".join(
        node_text(i, own, table, learned)
        for i, (own, table) in enumerate(zip(parents, tables, strict=True))
    )
    values = {f"p{i}": table for i, table in enumerate(tables)} if learned else {}
    data = {f"x{i}": CHANCE.integers(0, 3) for i in range(50)}
    name = f"network, 50 {'learned' if learned else 'fixed'} tables"
    return Case(name, lambda: dpc.parse(text), values, data, model, raw, learned)


def node_text(i: int, own: list[int], table: np.ndarray, learned: bool) -> str:
    """One node of the network in the language."""
    names = ", ".join(f"x{p}" for p in own)
    if learned:
        axes, at = ("[" + ", ".join(["S"] * len(own)) + "]", f"[{names}]") if own else ("", "")
        return f"param p{i}{axes} : simplex[S]\nx{i} : S ~ Categorical(p{i}{at})\n"
    if not own:
        return f"x{i} : S ~ Categorical({table.tolist()})\n"
    rows = "; ".join(
        f"{', '.join(map(str, k))} => {str(table[k].tolist())[1:-1]}"
        for k in np.ndindex(*table.shape[:-1])
    )
    return f"x{i} : S ~ table {names} => 0, 1, 2 {{ {rows} }}\n"


def from_file(name: str) -> Callable[[], dpc.Model]:
    return lambda: dpc.load(MODELS / f"{name}.dp")
