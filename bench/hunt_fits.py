"""A hunt for fits that are wrong without a word: random models and data against SciPy.

    python bench/hunt_fits.py --count 100 --seed 0 [--kind mixture] [--show]

Every model is written twice: as a .dp text, and as minus its log-likelihood in NumPy, in units of
the data, which SciPy minimises from the truth. Data have means up to 1e4 and standard deviations
from 1e-3 to 1e4. A fit that says it converged below that value is wrong; one that says it did not,
or that refuses, is counted as such with its reason.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import optimize, stats
from scipy.special import expit, logsumexp

import dpc
from dpc.data.errors import DataError
from dpc.dsl.diagnostics import DpError
from dpc.exits import UsageError
from dpc.learn.result import NotApplicable

Array = Any
KEPT = 10
"""Fits between two clearings of the caches of JAX, which bound the memory."""
SLACK = 1e-6
"""Of one plus the value: SciPy stops there, too."""


class Problem(NamedTuple):
    """`loss` is minus the log-likelihood of unconstrained numbers, `start` is near the truth."""

    text: str
    data: Any
    loss: Callable[[Array], float]
    start: Array


def units(rng: np.random.Generator) -> tuple[float, float]:
    """Where the data are, and how large."""
    scale = 10.0 ** rng.uniform(-3, 4)
    shift = rng.choice([0.0, 1.0, -1.0]) * rng.uniform(0, 1e4)
    return shift, scale


def line(rng: np.random.Generator) -> Problem:
    """A regression whose weights and log sd are unknown: not the one that NumPy has a way for."""
    shift, scale = units(rng)
    at, wide = units(rng)
    n = int(rng.integers(20, 100))
    x = rng.normal(size=n)
    unit = rng.normal() + rng.normal() * x + rng.normal(size=n)
    text = """dim N
data x[N] : real
param a : real
param b : real
param t : real
observed y[N] : real
y[i in N] ~ Normal(a + b * x[i], exp(t))"""

    def loss(raw: Array) -> float:
        return -normal(unit, raw[0] + raw[1] * x, np.exp(raw[2])).sum() + n * np.log(scale)

    data = {"x": at + wide * x, "y": shift + scale * unit}
    return Problem(text, data, loss, np.zeros(3))


def logistic(rng: np.random.Generator) -> Problem:
    at, wide = units(rng)
    n = int(rng.integers(60, 200))
    x = rng.normal(size=n)
    y = rng.random(n) < expit(rng.normal() + rng.normal() * x)
    text = """dim N
data x[N] : real
param a : real
param b : real
observed y[N] : bool
y[i in N] ~ Bernoulli(logits=a + b * x[i])"""

    def loss(raw: Array) -> float:
        eta = raw[0] + raw[1] * x
        return float(np.logaddexp(0, eta).sum() - eta[y].sum())

    return Problem(text, {"x": at + wide * x, "y": y}, loss, np.zeros(2))


def counts(rng: np.random.Generator) -> Problem:
    _, wide = units(rng)
    n = int(rng.integers(30, 100))
    x = rng.normal(size=n)
    y = rng.poisson(np.exp(1 + 0.5 * rng.normal() * x))
    text = """dim N
data x[N] : real
param a : real
param b : real
observed y[N] : int
y[i in N] ~ Poisson(exp(a + b * x[i]))"""

    def loss(raw: Array) -> float:
        return -stats.poisson(np.exp(raw[0] + raw[1] * x)).logpmf(y).sum()

    return Problem(text, {"x": wide * x, "y": y}, loss, np.array([1.0, 0.0]))


def mixture(rng: np.random.Generator) -> Problem:
    shift, scale = units(rng)
    k = int(rng.integers(2, 4))
    n = int(rng.integers(40, 100)) * k
    means = np.cumsum(rng.uniform(3, 6, k))
    unit = rng.normal(means[rng.integers(0, k, n)], rng.uniform(0.5, 1.2))
    text = f"""dim K = {k}
param w[K]  : simplex
param mu[K] : {rng.choice(["real", "ordered"])}
param s[K]  : real(lower=0)
z ~ Categorical(w)
x ~ Normal(mu[z], s[z])"""

    def loss(raw: Array) -> float:
        shares, mu, s = raw[:k] - logsumexp(raw[:k]), raw[k : 2 * k], np.exp(raw[2 * k :])
        each = logsumexp(shares + normal(unit[:, None], mu, s), axis=1)
        return -float(each.sum()) + n * np.log(scale)

    start = np.concatenate([np.zeros(k), means, np.zeros(k)])
    return Problem(text, {"x": shift + scale * unit}, loss, start)


def planes(rng: np.random.Generator) -> Problem:
    """A mixture of rows, whose columns are in units of their own."""
    k, d = int(rng.integers(2, 4)), 2
    places, scales = np.array([units(rng) for _ in range(d)]).T
    n = 50 * k
    centres = rng.permutation(np.array([[0, 0], [6, 6], [12, 0.0]]))[:k]
    unit = centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))
    text = f"""dim K = {k}
dim D = {d}
param w[K]     : simplex
param mu[K, D] : real
param s[K, D]  : real(lower=0)
z ~ Categorical(w)
x[d in D] ~ Normal(mu[z, d], s[z, d])"""

    def loss(raw: Array) -> float:
        shares = raw[:k] - logsumexp(raw[:k])
        mu, s = raw[k:].reshape(2, k, d)
        each = shares + normal(unit[:, None], mu, np.exp(s)).sum(axis=2)
        return -float(logsumexp(each, axis=1).sum()) + n * float(np.log(scales).sum())

    start = np.concatenate([np.zeros(k), centres.ravel(), np.zeros(k * d)])
    rows = places + scales * unit
    return Problem(text, [{"x": row} for row in rows], loss, start)


def chain(rng: np.random.Generator) -> Problem:
    shift, scale = units(rng)
    k, n = 2, int(rng.integers(80, 200))
    stay = rng.uniform(0.8, 0.95)
    moves = rng.random(n) > stay
    states = np.cumsum(moves) % k
    means = np.array([0.0, rng.uniform(3, 6)])
    unit = rng.normal(means[states], 1)
    text = """dim T
dim K = 2
param start[K]   : simplex
param step[K, K] : simplex
param mu[K] : real
param s[K]  : real(lower=0)
z[0] ~ Categorical(start)
z[t in T[1..]] ~ Categorical(step[z[t-1]])
observed x[T] : real
x[t in T] ~ Normal(mu[z[t]], s[z[t]])"""

    def loss(raw: Array) -> float:
        first = np.log(np.full(2, 0.5)) if len(raw) == 6 else raw[6:] - logsumexp(raw[6:])
        move = raw[:2]
        step = np.array(
            [
                [-np.logaddexp(0, -move[0]), -np.logaddexp(0, move[0])],
                [-np.logaddexp(0, -move[1]), -np.logaddexp(0, move[1])],
            ]
        )
        emitted = normal(unit[:, None], raw[2:4], np.exp(raw[4:6]))
        forward = first + emitted[0]
        for row in emitted[1:]:
            forward = logsumexp(forward[:, None] + step, axis=0) + row
        return -float(logsumexp(forward)) + n * np.log(scale)

    first = np.array([3.0, -3.0]) if states[0] == 0 else np.array([-3.0, 3.0])
    start = np.concatenate([[2, -2], means, [0, 0], first])
    return Problem(text, {"x": shift + scale * unit}, loss, start)


def intercepts(rng: np.random.Generator) -> Problem:
    shift, scale = units(rng)
    groups, each = int(rng.integers(5, 12)), int(rng.integers(3, 8))
    g = np.repeat(np.arange(groups), each)
    n = len(g)
    unit = rng.uniform(0.5, 3) * rng.normal(size=groups)[g] + rng.normal(size=n)
    together = g[:, None] == g
    text = """dim N
dim G
data g[N] : G
param mu  : real
param tau : real(lower=0)
param s   : real(lower=0)
u[k in G] ~ Normal(0, tau)
observed y[N] : real
y[i in N] ~ Normal(mu + u[g[i]], s)"""

    def loss(raw: Array) -> float:
        covariance = np.exp(2 * raw[1]) * together + np.exp(2 * raw[2]) * np.eye(n)
        found = stats.multivariate_normal(np.full(n, raw[0]), covariance).logpdf(unit)
        return -float(found) + n * np.log(scale)

    return Problem(text, {"g": g, "y": shift + scale * unit}, loss, np.zeros(3))


def table(rng: np.random.Generator) -> Problem:
    """A network with missing cells."""
    n = int(rng.integers(80, 200))
    a = rng.random(n) < 0.4
    b = rng.random(n) < np.where(a, 0.8, 0.3)
    is_missing = rng.random(n) < 0.3
    text = """dim D = 2
param p : real(lower=0, upper=1)
param q[D] : real(lower=0, upper=1)
a ~ Bernoulli(p)
b ~ Bernoulli(if a then q[1] else q[0])"""

    def loss(raw: Array) -> float:
        p, q = expit(raw[0]), expit(raw[1:])
        both = np.array([(1 - p) * np.array([1 - q[0], q[0]]), p * np.array([1 - q[1], q[1]])])
        seen = both[a.astype(int), b.astype(int)]
        marginal = both.sum(axis=0)[b.astype(int)]
        return -float(np.log(np.where(is_missing, marginal, seen)).sum())

    rows = [
        {"b": bool(y)} if m else {"a": bool(x), "b": bool(y)}
        for x, y, m in zip(a, b, is_missing, strict=True)
    ]
    return Problem(text, rows, loss, np.zeros(3))


def family(rng: np.random.Generator) -> Problem:
    """A location and a scale."""
    shift, scale = units(rng)
    n = int(rng.integers(5, 60))
    name = str(rng.choice(["Normal", "Laplace", "Logistic"]))
    law = {"Normal": stats.norm, "Laplace": stats.laplace, "Logistic": stats.logistic}[name]
    unit = law.rvs(size=n, random_state=rng)
    text = f"param m : real\nparam s : real(lower=0)\nx ~ {name}(m, s)"

    def loss(raw: Array) -> float:
        return -float(law(raw[0], np.exp(raw[1])).logpdf(unit).sum()) + n * np.log(scale)

    start = np.array([np.median(unit), 0.0])
    return Problem(text, {"x": shift + scale * unit}, loss, start)


def waiting(rng: np.random.Generator) -> Problem:
    """Times, by a rate and a shape that may be one."""
    _, scale = units(rng)
    n = int(rng.integers(5, 60))
    unit = rng.gamma(2, size=n)
    is_gamma = rng.random() < 0.5
    law = "Gamma(a, r)" if is_gamma else "Exponential(r)"
    shape = "param a : real(lower=0)\n" if is_gamma else ""

    def loss(raw: Array) -> float:
        a = np.exp(raw[1]) if is_gamma else 1.0
        found = stats.gamma(a, scale=np.exp(-raw[0])).logpdf(unit)
        return -float(found.sum()) + n * np.log(scale)

    text = f"{shape}param r : real(lower=0)\nx ~ {law}"
    return Problem(text, {"x": scale * unit}, loss, np.zeros(2))


def rate(rng: np.random.Generator) -> Problem:
    """Counts that may all be zero."""
    y = rng.poisson(rng.choice([0.02, 1, 300]), int(rng.integers(5, 60)))

    def loss(raw: Array) -> float:
        return -float(stats.poisson(np.exp(raw[0])).logpmf(y).sum())

    text = "param r : real(lower=0)\nx ~ Poisson(r)"
    return Problem(text, {"x": y}, loss, np.array([np.log(y.mean() + 1e-12)]))


def bounded(rng: np.random.Generator) -> Problem:
    """A mean with a bound, which may bind."""
    n = int(rng.integers(5, 40))
    low = float(rng.integers(-3, 3))
    x = rng.normal(low + rng.normal(), 1, n)
    text = f"param m : real(lower={low})\nparam s : real(lower=0)\nx ~ Normal(m, s)"

    def loss(raw: Array) -> float:
        return -normal(x, low + raw[0] ** 2, np.exp(raw[1])).sum()

    return Problem(text, {"x": x}, loss, np.array([0.5, 0.0]))


def ordered(rng: np.random.Generator) -> Problem:
    """Means in an order that the data may not have."""
    k, n = 3, int(rng.integers(6, 40))
    g = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    x = rng.normal(rng.normal(size=k)[g], 1)
    text = "dim G = a | b | c\nparam mu[G] : ordered\ndata g : G\nx ~ Normal(mu[g], 1)"

    def loss(raw: Array) -> float:
        return -normal(x, np.cumsum([raw[0], *raw[1:] ** 2])[g], 1.0).sum()

    return Problem(text, {"g": g, "x": x}, loss, np.full(k, 0.5))


def normal(x: Array, mean: Array, sd: Array) -> Array:
    return -(((x - mean) / sd) ** 2) / 2 - np.log(sd) - np.log(2 * np.pi) / 2


KINDS: dict[str, Callable[[np.random.Generator], Problem]] = {
    own.__name__: own
    for own in (
        *(line, logistic, counts, mixture, planes, chain),
        *(intercepts, table, family, waiting, rate, bounded, ordered),
    )
}


class Verdict(NamedTuple):
    """`outcome` is right, better, wrong, unsure (not converged), refused or broken."""

    outcome: str
    detail: str


def judge(problem: Problem) -> Verdict:
    try:
        fit = dpc.parse(problem.text).fit(problem.data, errors=False)
    except (DpError, DataError, UsageError, NotApplicable) as error:
        return Verdict("refused", str(error))
    except Exception as error:
        return Verdict("broken", f"{type(error).__name__}: {error}")
    best = least(problem)
    short = best + fit.value
    slack = SLACK * (1 + abs(best))
    seen = f"dpc {fit.value:.8g}, SciPy {-best:.8g}: {fit.reason}"
    if not fit.converged:
        return Verdict("unsure", seen)
    if abs(short) <= slack:
        return Verdict("right", seen)
    return Verdict("better" if short > 0 else "wrong", seen)


def least(problem: Problem) -> float:
    """By two methods, the second from where the first came to."""
    point = problem.start
    with np.errstate(all="ignore"):
        for method in ("BFGS", "Nelder-Mead", "BFGS"):
            found = optimize.minimize(problem.loss, point, method=method, options={"maxiter": 4000})
            point = found.x
    return float(found.fun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--show", action="store_true", help="all that is not right")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    seen: Counter[str] = Counter()
    began = time.perf_counter()
    names = [args.kind] if args.kind else list(KINDS)
    for number in range(args.count):
        name = names[number % len(names)]
        verdict = judge(KINDS[name](np.random.default_rng([args.seed, number])))
        seen[verdict.outcome] += 1
        if verdict.outcome in ("wrong", "broken") or (args.show and verdict.outcome != "right"):
            print(f"{name} {number}: {verdict.outcome}: {verdict.detail}", flush=True)
        if number % KEPT == KEPT - 1 or number == args.count - 1:
            jax.clear_caches()
            spent = time.perf_counter() - began
            print(f"{number + 1} fits in {spent:.0f} s: {dict(seen)}", flush=True)


if __name__ == "__main__":
    main()
