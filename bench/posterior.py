"""NUTS on compiled models against the same models written by hand in NumPyro: effective draws a
second.

Both run under the same sampler, one chain each, and take turns over the seeds. Where the model has
finite variables the hand-written one sums over them by hand; where funsor is installed, NumPyro's
own enumeration runs as well.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.contrib.control_flow import scan
from numpyro.infer import MCMC, NUTS

import dpc
from dpc.inference.mcmc.run import NutsPlan, NutsRun

SEEDS = range(5)
WARMUP, DRAWS = 500, 1000
CHANCE = np.random.default_rng(0)
Model = Callable[[], None]


class Case(NamedTuple):
    """`shared` are the sites whose effective draws are counted: the least of them."""

    name: str
    text: str
    data: dict[str, Any]
    hand: Callable[..., None]
    shared: tuple[str, ...]
    enumerated: Callable[..., None] | None = None


class Speed(NamedTuple):
    effective: float
    gradients: float
    first: float


def measure(model: Model, seed: int, shared: tuple[str, ...]) -> Speed:
    """Effective draws and gradients a CPU second, once adapted; seconds to the first draw,
    compiling included.
    """
    jax.clear_caches()
    began = time.perf_counter()
    run = NutsRun(model, NutsPlan(WARMUP, 1, seed))
    state, _ = run.advance(run.start(), 1)
    first = time.perf_counter() - began
    state, _ = run.advance(state, WARMUP - 1)
    began = time.process_time()
    _, draws = run.advance(state, DRAWS)
    seconds = time.process_time() - began
    return Speed(
        least_ess(draws.values, shared) / seconds,
        float(draws.stats["n_steps"].sum()) / seconds,
        first,
    )


def least_ess(values: dict[str, Any], shared: tuple[str, ...]) -> float:
    found = az.ess(az.convert_to_dataset({name: values[name] for name in shared}))
    return min(float(array.min()) for array in found.data_vars.values())


def by_enumeration(case: Case) -> float:
    """Effective draws a CPU second of NumPyro's MCMC, which sums over the sites itself."""
    run = MCMC(NUTS(case.enumerated), num_warmup=WARMUP, num_samples=DRAWS, progress_bar=False)
    run.warmup(jax.random.PRNGKey(0), **case.data)
    run.run(run.post_warmup_state.rng_key, **case.data)
    began = time.process_time()
    run.run(run.post_warmup_state.rng_key, **case.data)
    seconds = time.process_time() - began
    return least_ess(run.get_samples(group_by_chain=True), case.shared) / seconds


# ---- models


def eight_schools() -> Case:
    def hand(y: Any, sigma: Any) -> None:
        mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("School", 8):
            raw = numpyro.sample("raw", dist.Normal(0, 1))
            theta = numpyro.deterministic("theta", mu + tau * raw)
            numpyro.sample("y", dist.Normal(theta, sigma), obs=y)

    text = """
dim School
data sigma[School] : real(lower=0)
observed y[School] : real
mu  ~ Normal(0, 5)
tau ~ HalfCauchy(5)
theta[s in School] ~ Normal(mu, tau)    with noncentered
y[s in School]     ~ Normal(theta[s], sigma[s])
"""
    data = {
        "y": np.array([28.0, 8, -3, 7, -1, 1, 18, 12]),
        "sigma": np.array([15.0, 10, 16, 11, 9, 11, 10, 18]),
    }
    return Case("eight schools, non-centred", text, data, hand, ("mu", "tau", "theta"))


def radon() -> Case:
    def hand(county: Any, floor: Any, y: Any) -> None:
        mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfNormal(2))
        b, sigma = (
            numpyro.sample("b", dist.Normal(0, 1)),
            numpyro.sample("sigma", dist.HalfNormal(1)),
        )
        with numpyro.plate("County", 85):
            raw = numpyro.sample("raw", dist.Normal(0, 1))
        a = numpyro.deterministic("a", mu + tau * raw)
        with numpyro.plate("Obs", len(y)):
            numpyro.sample("y", dist.Normal(a[county] + b * floor, sigma), obs=y)

    text = """
dim County = 85
dim Obs
data county[Obs] : County
data floor[Obs]  : real
observed y[Obs]  : real
mu    ~ Normal(0, 5)
tau   ~ HalfNormal(2)
b     ~ Normal(0, 1)
sigma ~ HalfNormal(1)
a[c in County] ~ Normal(mu, tau)    with noncentered
y[i in Obs]    ~ Normal(a[county[i]] + b * floor[i], sigma)
"""
    county, floor = CHANCE.integers(0, 85, 900), CHANCE.integers(0, 2, 900) * 1.0
    y = 1.3 + 0.4 * CHANCE.normal(size=85)[county] - 0.7 * floor + 0.8 * CHANCE.normal(size=900)
    return Case(
        "radon, 900 rows",
        text,
        {"county": county, "floor": floor, "y": y},
        hand,
        ("mu", "tau", "b", "sigma"),
    )


def hmm() -> Case:
    def parameters() -> tuple[Any, Any]:
        stay = numpyro.sample("stay", dist.Beta(4, 1).expand([2]).to_event(1))
        mu = numpyro.sample("mu", dist.Normal(jnp.array([-2.0, 2.0]), 1).to_event(1))
        return jnp.stack([jnp.stack([stay[0], 1 - stay[0]]), jnp.stack([1 - stay[1], stay[1]])]), mu

    def hand(y: Any) -> None:
        matrix, mu = parameters()
        local = dist.Normal(mu, 1).log_prob(y[:, None])

        def step(alpha: Any, own: Any) -> Any:
            return jax.nn.logsumexp(alpha[:, None] + jnp.log(matrix), axis=0) + own, None

        alpha, _ = jax.lax.scan(step, jnp.log(0.5) + local[0], local[1:])
        numpyro.factor("y", jax.nn.logsumexp(alpha))

    def enumerated(y: Any) -> None:
        matrix, mu = parameters()

        def step(z: Any, own: Any) -> Any:
            z = numpyro.sample("z", dist.Categorical(matrix[z]), infer={"enumerate": "parallel"})
            numpyro.sample("y", dist.Normal(mu[z], 1), obs=own)
            return z, None

        first = numpyro.sample(
            "z0", dist.Categorical(jnp.full(2, 0.5)), infer={"enumerate": "parallel"}
        )
        numpyro.sample("y0", dist.Normal(mu[first], 1), obs=y[0])
        scan(step, first, y[1:])

    text = """
dim T
dim State = 2
observed y[T] : real
stay[k in State] ~ Beta(4, 1)
mu[k in State]   ~ Normal(4 * k - 2, 1)
z[0] : State           ~ Categorical([0.5, 0.5])
z[t in T[1..]] : State ~ table z[t-1] => 0, 1 {
    0 => stay[0], 1 - stay[0]
    1 => 1 - stay[1], stay[1]
}
y[t in T] ~ Normal(mu[z[t]], 1)
"""
    z = np.cumsum(CHANCE.random(500) < 0.1) % 2
    return Case(
        "HMM, 500 steps",
        text,
        {"y": 4.0 * z - 2 + CHANCE.normal(size=500)},
        hand,
        ("stay", "mu"),
        enumerated,
    )


def tree(depth: int) -> Case:
    """A full binary tree of coins, each like its parent with probability `same`, seen through
    noise.
    """
    levels = [range(2**k - 1, 2 ** (k + 1) - 1) for k in range(depth)]
    count = 2**depth - 1

    def hand(y: Any) -> None:
        same = numpyro.sample("same", dist.Beta(4, 1))
        mu = numpyro.sample("mu", dist.Normal(0, 3))
        scores = dist.Normal(jnp.stack([jnp.zeros(()), mu]), 1).log_prob(y[:, None])
        matrix = jnp.log(jnp.stack([jnp.stack([same, 1 - same]), jnp.stack([1 - same, same])]))
        below = scores[np.array(levels[-1])]
        for level in reversed(levels[:-1]):
            told = jax.nn.logsumexp(matrix + below[:, None, :], axis=-1)
            below = scores[np.array(level)] + told[0::2] + told[1::2]
        numpyro.factor("y", jax.nn.logsumexp(below[0] + jnp.log(0.5)))

    def enumerated(y: Any) -> None:
        same = numpyro.sample("same", dist.Beta(4, 1))
        mu = numpyro.sample("mu", dist.Normal(0, 3))
        coins = []
        for k in range(count):
            chance = jnp.where(coins[(k - 1) // 2] == 1, same, 1 - same) if k else 0.5
            coins.append(
                numpyro.sample(f"c{k}", dist.Bernoulli(chance), infer={"enumerate": "parallel"})
            )
            numpyro.sample(f"y{k}", dist.Normal(jnp.where(coins[k] == 1, mu, 0.0), 1), obs=y[k])

    draws = [
        f"c{k} ~ Bernoulli(if c{(k - 1) // 2} then same else 1 - same)" for k in range(1, count)
    ]
    seen = [f"y[{k}] ~ Normal(if c{k} then mu else 0.0, 1)" for k in range(count)]
    head = [f"dim Node = {count}", "observed y[Node] : real"]
    head += ["same ~ Beta(4, 1)", "mu ~ Normal(0, 3)", "c0 ~ Bernoulli(0.5)"]
    coins = [1]
    for k in range(1, count):
        coins.append(int(coins[(k - 1) // 2] ^ (CHANCE.random() < 0.2)))
    y = 3.0 * np.array(coins) + CHANCE.normal(size=count)
    text = "\n".join([*head, *draws, *seen, ""])
    return Case(f"tree, {count} coins", text, {"y": y}, hand, ("same", "mu"), enumerated)


# ---- the table


def verify_agreement(model: Model, hand: Model, shared: tuple[str, ...]) -> None:
    """Means of the shared sites, within 5 of their standard errors."""
    both = []
    for own in (model, hand):
        run = NutsRun(own, NutsPlan(WARMUP, 1, 99))
        _, draws = run.advance(run.start(), WARMUP + DRAWS)
        both.append(draws.values)
    for name in shared:
        ours, other = (np.asarray(values[name]) for values in both)
        error = np.hypot(
            *(
                az.mcse(values).x.values
                for values in (az.convert_to_dataset(v) for v in (ours, other))
            )
        )
        assert np.all(np.abs(ours.mean((0, 1)) - other.mean((0, 1))) < 5 * error), name


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print(
        "from the command to four draws of eight schools: "
        f"{min(from_command() for _ in range(3)):.1f} s"
    )
    print(
        "ratios are dpc / hand-written, medians over the seeds; more is better but for the first "
        "draw"
    )
    print(
        f"{'model':28} {'ESS/s':>8} {'ratio':>7} {'(range)':>13} {'gradients/s':>12} {'ratio':>7}",
        end=" ",
    )
    print(f"{'first draw, s':>14} {'ratio':>7}")
    for case in (eight_schools(), radon(), hmm(), tree(4), tree(5)):
        compiled = dpc.parse(case.text)
        ours = compiled.to_numpyro(compiled.bind(case.data))
        hand = lambda case=case: case.hand(**case.data)  # noqa: E731
        verify_agreement(ours, hand, case.shared)
        pairs = [
            (measure(ours, seed, case.shared), measure(hand, seed, case.shared)) for seed in SEEDS
        ]
        show(case.name, pairs)
        if case.enumerated and find_spec("funsor"):
            show_enumeration(case, statistics.median(own.effective for own, _ in pairs))


def from_command() -> float:
    """Seconds from the command to four draws of eight schools, the fewest there are, in a process
    of its own.
    """
    folder = Path(__file__).resolve().parents[1] / "models" / "bayes"
    model, data = folder / "eight_schools_noncentered.dp", folder / "eight_schools.json"
    short = ["--chains", "1", "--warmup", "0", "--draws", "4"]
    command = [sys.executable, "-m", "dpc", "posterior", str(model), "--data", str(data), *short]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def show_enumeration(case: Case, effective: float) -> None:
    """How many times its effective draws a second ours are; it has 25 dims for what it
    enumerates.
    """
    try:
        print(
            f"{'  / its enumeration':28} {'':8} {effective / by_enumeration(case):7.2f}", flush=True
        )
    except ValueError as error:
        print(f"{'  its enumeration fails':28} {error}", flush=True)


def show(name: str, pairs: list[tuple[Speed, Speed]]) -> None:
    ratios = [ours.effective / other.effective for ours, other in pairs]
    effective, gradients, first = (statistics.median(own[k] for own, _ in pairs) for k in range(3))
    of_gradients, of_first = (
        statistics.median(own[k] / other[k] for own, other in pairs) for k in (1, 2)
    )
    spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
    print(f"{name:28} {effective:8.0f} {statistics.median(ratios):7.2f} {spread:>13}", end=" ")
    print(f"{gradients:12.0f} {of_gradients:7.2f} {first:14.1f} {of_first:7.2f}", flush=True)


if __name__ == "__main__":
    main()
