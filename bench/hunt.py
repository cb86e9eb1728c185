"""A hunt for gradients that are wrong without a word: random programs against plain differences.

    python bench/hunt.py --count 200 --seed 0 [--hessian] [--show]

Every program is written twice: as a .dp file, and as NumPy over uniform noise, where each draw is
a quantile. The truth is a difference of means over the same quasi-random noise: it sees every jump
and shares no code with dpc. A program that dpc refuses counts as refused, with the reason; one
whose answer is off by more than five standard errors and the error of the difference is wrong.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import stats
from scipy.special import expit

import dpc
from dpc.dsl.diagnostics import DpError
from dpc.exits import UsageError

POINTS = 2**19
STEP, SECOND_STEP = 0.02, 0.1
SAMPLES = 4000
SIGMAS = 5.0
SLACK, SECOND_SLACK = 0.02, 0.1
"""Errors of the differences themselves, relative to one plus the truth."""

Values = dict[str, Any]
Evaluate = Callable[[Values], Any]


class Term(NamedTuple):
    """An expression: as text, and as a function of the values of all names."""

    text: str
    value: Evaluate


class Law(NamedTuple):
    """`quantile` takes levels and arguments; `kinds` say what each argument must be."""

    name: str
    kinds: str
    quantile: Callable[..., Any]
    whole: bool = False


LAWS = (
    Law("Normal", "rp", lambda u, m, s: m + s * stats.norm.ppf(u)),
    Law("Logistic", "rp", lambda u, m, s: m + s * np.log(u / (1 - u))),
    Law("Gumbel", "rp", lambda u, m, s: m - s * np.log(-np.log(u))),
    Law("Laplace", "rp", lambda u, m, s: m + s * stats.laplace.ppf(u)),
    Law("Uniform", "rw", lambda u, a, b: a + (b - a) * u),
    Law("Exponential", "p", lambda u, r: -np.log1p(-u) / r),
    Law("Weibull", "ps", lambda u, k, s: s * (-np.log1p(-u)) ** (1 / k)),
    Law("Gamma", "pp", lambda u, a, b: stats.gamma.ppf(u, a) / b),
    Law("LogNormal", "ts", lambda u, m, s: np.exp(m + s * stats.norm.ppf(u))),
    Law("Bernoulli", "u", lambda u, p: (u > 1 - p) * 1.0, whole=True),
    Law("Poisson", "s", lambda u, r: stats.poisson.ppf(u, r), whole=True),
)


class Generator:
    """One random program, from one seed."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.params: Values = {}
        self.reals: list[str] = []
        self.truths: list[str] = []
        self.counts: list[str] = []
        self.steps: list[tuple[str, Evaluate]] = []
        self.noise = 0

    def program(self) -> str:
        for number in range(self.pick(1, 2)):
            name = "ab"[number]
            self.params[name] = round(float(self.random.uniform(0.2, 0.9)), 2)
            self.lines.append(f"param {name} : real = {self.params[name]}")
            self.reals.append(name)
        for number in range(self.pick(1, 3)):
            self.draw(f"x{number}")
            if self.chance(0.4):
                self.let(f"y{number}")
        objective = self.term(3)
        self.steps.append(("objective", objective.value))
        self.lines.append(f"minimize {objective.text}")
        return "\n".join(self.lines) + "\n"

    def pick(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def chance(self, p: float) -> bool:
        return bool(self.random.uniform() < p)

    def choose(self, items: Any) -> Any:
        return items[self.pick(0, len(items) - 1)]

    # ---- statements

    def draw(self, name: str) -> None:
        law = self.choose(LAWS)
        arguments = [self.argument(kind) for kind in law.kinds]
        if law.name == "Uniform":  # an interval that does not close
            low = arguments[0]
            width = self.argument("s")
            text, value = f"{low.text} + {width.text}", add(low.value, width.value)
            arguments[1] = Term(text, value)
        own = self.noise
        self.noise += 1
        self.lines.append(f"{name} ~ {law.name}({', '.join(a.text for a in arguments)})")
        self.steps.append(
            (name, lambda v: law.quantile(v["noise"][own], *(a.value(v) for a in arguments)))
        )
        if law.name == "Bernoulli":
            self.truths.append(name)
        else:
            (self.counts if law.whole else self.reals).append(name)

    def argument(self, kind: str) -> Term:
        """r: real; t: between -1 and 1; p, s: positive; u: between 0 and 1."""
        inner = self.term(1)
        if kind in "ps":
            return Term(f"(0.5 + {inner.text}^2 / (1 + {inner.text}^2))", bounded(inner.value))
        if kind == "t":
            return Term(f"tanh({inner.text})", lambda v: np.tanh(inner.value(v)))
        if kind == "u":
            return Term(f"logistic({inner.text})", lambda v: expit(inner.value(v)))
        return inner

    def let(self, name: str) -> None:
        if self.chance(0.3):
            condition = self.condition(1)
            self.lines.append(f"{name} = {condition.text}")
            self.steps.append((name, condition.value))
            self.truths.append(name)
            return
        term = self.term(2)
        self.lines.append(f"{name} = {term.text}")
        self.steps.append((name, term.value))
        self.reals.append(name)

    # ---- expressions

    def leaf(self) -> Term:
        if self.chance(0.25):
            number = round(float(self.random.uniform(-1, 1)), 2)
            return Term(f"({number})", lambda v: number)
        drawn = [name for name in self.reals + self.counts if name not in self.params]
        name = self.choose(drawn if drawn and self.chance(0.6) else list(self.params))
        return Term(name, lambda v: v[name])

    def term(self, depth: int) -> Term:
        if depth == 0 or self.chance(0.2):
            return self.leaf()
        kind = self.choose(KINDS)
        if kind == "if":
            test, a, b = self.condition(depth - 1), self.term(depth - 1), self.term(depth - 1)
            text = f"(if {test.text} then {a.text} else {b.text})"
            return Term(text, lambda v: np.where(test.value(v), a.value(v), b.value(v)))
        if kind in BINARY:
            a, b = self.term(depth - 1), self.term(depth - 1)
            pattern, function = BINARY[kind]
            return Term(pattern.format(a.text, b.text), lambda v: function(a.value(v), b.value(v)))
        inner = self.term(depth - 1)
        pattern, unary = UNARY[kind]
        return Term(pattern.format(inner.text), lambda v: unary(inner.value(v)))

    def condition(self, depth: int) -> Term:
        if self.truths and self.chance(0.3):
            name = self.choose(self.truths)
            return Term(name, lambda v: np.asarray(v[name]) > 0.5)
        if depth > 0 and self.chance(0.2):
            one, other = self.condition(depth - 1), self.condition(depth - 1)
            word = self.choose(("and", "or"))
            join = np.logical_and if word == "and" else np.logical_or
            return Term(f"({one.text} {word} {other.text})", both(join, one.value, other.value))
        a, b = self.term(min(depth, 1)), self.leaf()
        sign = self.choose("<>")
        compare = np.less if sign == "<" else np.greater
        return Term(f"{a.text} {sign} {b.text}", both(compare, a.value, b.value))

    # ---- truth

    def mean(self, params: Values, noise: np.ndarray) -> float:
        values: Values = {**params, "noise": noise}
        for name, step in self.steps:
            values[name] = step(values)
        return float(np.mean(np.broadcast_to(values["objective"], noise.shape[1:])))


def add(one: Evaluate, other: Evaluate) -> Evaluate:
    return lambda v: one(v) + other(v)


def bounded(inner: Evaluate) -> Evaluate:
    return lambda v: 0.5 + inner(v) ** 2 / (1 + inner(v) ** 2)


def both(join: Callable[..., Any], one: Evaluate, other: Evaluate) -> Evaluate:
    return lambda v: join(one(v), other(v))


BINARY: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("({} + {})", np.add),
    "subtract": ("({} - {})", np.subtract),
    "multiply": ("({} * {})", np.multiply),
    "max": ("max({}, {})", np.maximum),
    "min": ("min({}, {})", np.minimum),
}
UNARY: dict[str, tuple[str, Callable[..., Any]]] = {
    "sin": ("sin({})", np.sin),
    "logistic": ("logistic({})", expit),
    "half": ("(0.5 * {})", lambda x: 0.5 * x),
    "negate": ("(-{})", np.negative),
    "abs": ("abs({})", np.abs),
    "relu": ("relu({})", lambda x: np.maximum(x, 0)),
    "sign": ("sign({})", np.sign),
    "floor": ("floor({})", np.floor),
    "tanh": ("tanh({})", np.tanh),
}
KINDS = ("if",) * 6 + tuple(BINARY) * 2 + tuple(UNARY)


class Truth(NamedTuple):
    gradient: dict[str, float]
    hessian: dict[tuple[str, str], float]

    def agrees(self, other: Truth) -> bool:
        """Where two steps differ, the mean itself has a kink near the parameters."""
        pairs = [(SLACK, value, other.gradient[n]) for n, value in self.gradient.items()]
        pairs += [(SECOND_SLACK, value, other.hessian[n]) for n, value in self.hessian.items()]
        return all(abs(a - b) <= slack * (1 + abs(a)) for slack, a, b in pairs)


def truth_of(program: Generator, hessian: bool, stretch: float = 1.0) -> Truth:
    dims = max(program.noise, 1)
    sobol = stats.qmc.Sobol(dims, seed=1)
    noise = np.clip(sobol.random(POINTS).T, 1e-9, 1 - 1e-9)

    def mean(**shift: float) -> float:
        moved = {name: value + shift.get(name, 0.0) for name, value in program.params.items()}
        return program.mean(moved, noise)

    step = STEP * stretch
    gradient = {n: (mean(**{n: step}) - mean(**{n: -step})) / (2 * step) for n in program.params}
    second = {}
    for a, b in [(a, b) for a in program.params for b in program.params if a <= b and hessian]:
        h = SECOND_STEP * stretch
        if a == b:
            second[a, b] = (mean(**{a: h}) - 2 * mean() + mean(**{a: -h})) / h**2
        else:
            corners = [s * t * mean(**{a: s * h, b: t * h}) for s in (1, -1) for t in (1, -1)]
            second[a, b] = sum(corners) / (4 * h**2)
    return Truth(gradient, second)


class Verdict(NamedTuple):
    """`outcome` is right, wrong, refused, broken or undecided; `detail` says more."""

    seed: int
    text: str
    outcome: str
    detail: str


def judge(seed: int, hessian: bool) -> Verdict:
    program = Generator(seed)
    text = program.program()
    try:
        model = dpc.parse(text)
        found = model.grad(samples=SAMPLES, hessian=hessian)
    except (DpError, UsageError) as error:
        lines = [line for line in str(error).splitlines() if not line.startswith("warning")]
        return Verdict(seed, text, "refused", lines[0])
    except Exception as error:  # a bug of ours, which the hunt is to find
        return Verdict(seed, text, "broken", f"{type(error).__name__}: {error}")
    methods = ", ".join(sorted({choice.method for choice in found.choices}))
    truth = truth_of(program, hessian)
    if not truth.agrees(truth_of(program, hessian, stretch=0.5)):
        return Verdict(seed, text, "undecided", methods)
    pairs = [(n, SLACK, truth.gradient[n], found.estimates.gradient[n]) for n in truth.gradient]
    pairs += [
        (f"{a}{b}", SECOND_SLACK, value, found.estimates.hessian[a, b])
        for (a, b), value in truth.hessian.items()
    ]
    for name, slack, value, moments in pairs:
        error = SIGMAS * float(moments.error) + slack * (1 + abs(value))
        if not abs(float(moments.mean) - value) <= error:
            said = f"{float(moments.mean):.4g} ± {float(moments.error):.2g}"
            return Verdict(seed, text, "wrong", f"d/d{name}: {said}, truth {value:.4g} [{methods}]")
    return Verdict(seed, text, "right", methods)


def hunt(count: int, seed: int, hessian: bool) -> Iterator[Verdict]:
    for number in range(seed, seed + count):
        yield judge(number, hessian)
        jax.clear_caches()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hessian", action="store_true")
    parser.add_argument("--show", action="store_true", help="print the programs that are refused")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    start, outcomes, reasons = time.perf_counter(), Counter[str](), Counter[str]()
    for verdict in hunt(options.count, options.seed, options.hessian):
        outcomes[verdict.outcome] += 1
        reasons[f"{verdict.outcome}: {verdict.detail[:90]}"] += verdict.outcome != "wrong"
        if verdict.outcome in ("wrong", "broken") or (
            options.show and verdict.outcome == "refused"
        ):
            print(f"--- seed {verdict.seed}: {verdict.outcome}, {verdict.detail}\n{verdict.text}")
    print(dict(outcomes), f"in {time.perf_counter() - start:.0f} s")
    for reason, times in reasons.most_common(20):
        print(f"{times:6} {reason}")


if __name__ == "__main__":
    main()
