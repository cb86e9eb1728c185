"""Random stochastic programs, each written twice: as a .dp file, and as NumPy over uniform noise.

Draws alone, in plates and along recurrences, of real numbers, truth values and counts; values that
branch, jump, have kinks, loop, call functions or are soft; `grad=` on some draws, not always one
that fits. Tails are light, so that means and the errors of estimates exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit

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
    Law("LogNormal", "tn", lambda u, m, s: np.exp(m + s * stats.norm.ppf(u))),
    Law("Bernoulli", "u", lambda u, p: (u > 1 - p) * 1.0, whole=True),
    Law("Poisson", "s", lambda u, r: stats.poisson.ppf(u, r), whole=True),
)
STEP_LAWS = tuple(law for law in LAWS if law.name in ("Normal", "Logistic", "Laplace", "Bernoulli"))
METHODS = ("pathwise", "rloo", "sfe", "mvd", "enumerate")
FITTING = {
    "Normal": ("pathwise", "rloo", "sfe", "mvd"),
    "Exponential": ("pathwise", "rloo", "sfe", "mvd"),
    "Gamma": ("pathwise", "rloo", "sfe", "mvd"),
    "Bernoulli": ("rloo", "sfe", "mvd", "enumerate"),
    "Poisson": ("rloo", "sfe", "mvd"),
}
SOFT_SCALE = 0.3


TOUCHING: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "norm": ("norm([{0} - {1}])", lambda a, b: np.abs(a - b)),
    "norm of two": ("norm([{0} - {1}, {1}])", lambda a, b: np.hypot(a - b, b)),
    "distance": ("distance([{0}], [{1}])", lambda a, b: np.abs(a - b)),
    "sd": ("sd([{0}, {1}])", lambda a, b: np.abs(a - b) / np.sqrt(2)),
    "square": ("({0} - {1})^2", lambda a, b: (a - b) ** 2),
    "root of cosh": ("sqrt(cosh(tanh({0} - {1})) - 1)", lambda a, b: cosh_root(np.tanh(a - b))),
    "log": ("log(1 + abs({0} - {1}))", lambda a, b: np.log1p(np.abs(a - b))),
}
"""From 0 up, and 0 somewhere or nowhere: denominators are one of these, perhaps with more."""


def cosh_root(x: Any) -> Any:
    return np.sqrt(np.maximum(np.cosh(x) - 1, 0))


class Generator:
    """One random program, from one seed. A `sharp` one may have poles and several thresholds.

    `plates` has the names with an axis, by their dim; inside a binder of that dim they can be read.
    """

    def __init__(self, seed: int, sharp: bool = False):
        self.sharp = sharp
        self.random = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.params: Values = {}
        self.reals: list[str] = []
        self.truths: list[str] = []
        self.counts: list[str] = []
        self.sizes: dict[str, int] = {}
        self.plates: dict[str, list[str]] = {}
        self.inside = ""
        self.own: Term | None = None
        self.functions: dict[str, tuple[str, Evaluate]] = {}
        self.is_smooth = False
        self.steps: list[tuple[str, Evaluate]] = []
        self.noise = 0

    def program(self) -> str:
        for number in range(self.pick(1, 2)):
            name = "ab"[number]
            # No constant has three digits: a comparison with one is never a tie.
            self.params[name] = round(round(float(self.random.uniform(0.2, 0.9)), 2) + 0.003, 3)
            self.lines.append(f"param {name} : real = {self.params[name]}")
            self.reals.append(name)
        if self.chance(0.25):
            self.function("f")
        for number in range(self.pick(1, 3)):
            kind = self.random.uniform()
            if kind < 0.2:
                self.plate(f"x{number}")
            elif kind < 0.35:
                self.recurrence(f"x{number}")
            else:
                self.draw(f"x{number}")
            if self.chance(0.5):
                self.let(f"y{number}")
        objective = self.term(3)
        for dim in self.plates:
            total = self.total(dim)
            objective = Term(f"{objective.text} + {total.text}", add(objective.value, total.value))
        self.steps.append(("objective", objective.value))
        self.lines.append(f"minimize {objective.text}")
        return "\n".join(self.lines) + "\n"

    def pick(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def chance(self, p: float) -> bool:
        return bool(self.random.uniform() < p)

    def choose(self, items: Any) -> Any:
        return items[self.pick(0, len(items) - 1)]

    # ---- draws

    def draw(self, name: str) -> None:
        law = self.choose(LAWS)
        arguments = self.arguments(law)
        own = self.noise
        self.noise += 1
        self.lines.append(f"{name} ~ {self.law_text(law, arguments)}{self.annotation(law)}")
        self.steps.append((name, lambda v: drawn(law, arguments, v, own)))
        if law.name == "Bernoulli":
            self.truths.append(name)
        else:
            (self.counts if law.whole else self.reals).append(name)

    def arguments(self, law: Law) -> list[Term]:
        found = [self.argument(kind) for kind in law.kinds]
        if law.name == "Uniform":  # an interval that does not close
            low, width = found[0], self.argument("s")
            found[1] = Term(f"{low.text} + {width.text}", add(low.value, width.value))
        return found

    def law_text(self, law: Law, arguments: list[Term]) -> str:
        return f"{law.name}({', '.join(a.text for a in arguments)})"

    def annotation(self, law: Law) -> str:
        """A method that the distribution takes, or any."""
        if self.chance(0.8):
            return ""
        fitting = FITTING.get(law.name, ("pathwise", "rloo", "sfe"))
        return f" with grad={self.choose(fitting if self.chance(0.8) else METHODS)}"

    def dim(self, letter: str) -> str:
        if letter not in self.sizes:
            self.sizes[letter] = self.pick(2, 3)
            self.lines.insert(0, f"dim {letter} = {self.sizes[letter]}")
        return letter

    def plate(self, name: str) -> None:
        """x[n in N] ~ D(...), where arguments may be other draws with the same index."""
        dim = self.dim("N")
        law = self.choose(LAWS)
        self.inside = dim
        arguments = self.arguments(law)
        self.inside = ""
        size, first = self.sizes[dim], self.noise
        self.noise += size
        text = self.law_text(law, arguments)
        self.lines.append(f"{name}[n in N] ~ {text}{self.annotation(law)}")

        def elements(v: Values) -> list[Any]:
            return [drawn(law, arguments, {**v, dim: k}, first + k) for k in range(size)]

        self.steps.append((name, elements))
        self.plates.setdefault(dim, []).append(name)

    def recurrence(self, name: str) -> None:
        """x[t] ~ D(f(x[t-1]), s), with a bounded f."""
        dim = self.dim("T")
        law = self.choose(STEP_LAWS)
        start = self.arguments(law)
        self.own = Term(f"{name}[t-1]", lambda v: v["past"])
        inner = self.term(2)
        self.own = None
        centre = Term(f"tanh({inner.text})", lambda v: np.tanh(inner.value(v)))
        if law.name == "Bernoulli":
            centre = Term(f"logistic({inner.text})", lambda v: expit(inner.value(v)))
        later = [centre, *start[1:]]
        size, first = self.sizes[dim], self.noise
        self.noise += size
        note = self.annotation(law)
        self.lines.append(f"{name}[0] ~ {self.law_text(law, start)}{note}")
        self.lines.append(f"{name}[t in T[1..]] ~ {self.law_text(law, later)}{note}")

        def path(v: Values) -> list[Any]:
            found = [drawn(law, start, v, first)]
            for k in range(1, size):
                found.append(drawn(law, later, {**v, "past": found[-1]}, first + k))
            return found

        self.steps.append((name, path))
        self.plates.setdefault(dim, []).append(name)

    def argument(self, kind: str) -> Term:
        """r: real; t: between -1 and 1; p, s: positive; n: positive and small; u: a probability."""
        inner = self.term(1)
        if kind in "ps":
            return Term(f"(0.5 + {inner.text}^2 / (1 + {inner.text}^2))", bounded(inner.value))
        if kind == "n":
            text = f"(0.1 + 0.3 * logistic({inner.text}))"
            return Term(text, lambda v: 0.1 + 0.3 * expit(inner.value(v)))
        if kind == "t":
            return Term(f"tanh({inner.text})", lambda v: np.tanh(inner.value(v)))
        if kind == "u":
            return Term(f"logistic({inner.text})", lambda v: expit(inner.value(v)))
        return inner

    # ---- other statements

    def let(self, name: str) -> None:
        kind = self.random.uniform()
        if kind < 0.25:
            condition = self.condition(1)
            self.lines.append(f"{name} = {condition.text}")
            self.steps.append((name, condition.value))
            self.truths.append(name)
            return
        if kind < 0.4:
            term, note = self.soft(), f" with soft(logistic, scale={SOFT_SCALE})"
        elif kind < 0.5:
            term, note = self.loop(), ""
        elif kind < 0.7 and self.plates:
            term, note = self.total(self.choose(list(self.plates))), ""
        else:
            term, note = self.term(2), ""
        self.lines.append(f"{name} = {term.text}{note}")
        self.steps.append((name, term.value))
        self.reals.append(name)

    def soft(self) -> Term:
        """a > b has the probability logistic((a - b) / scale); all else in it is smooth.

        Times 1.0, since two whole numbers are compared as they are.
        """
        self.is_smooth = True
        a, b, then, otherwise = self.term(1), self.leaf(), self.term(1), self.term(1)
        self.is_smooth = False

        def value(v: Values) -> Any:
            p = expit((a.value(v) - b.value(v)) / SOFT_SCALE)
            return p * then.value(v) + (1 - p) * otherwise.value(v)

        text = f"if 1.0 * {a.text} > {b.text} then {then.text} else {otherwise.text}"
        return Term(text, value)

    def loop(self) -> Term:
        """Adds something to its state, at most three times, while that is below a bound."""
        start, bound, more = self.leaf(), self.leaf(), self.term(1)
        text = f"loop s = 1.0 * {start.text} while s < {bound.text} max 3 do s + {more.text}"

        def value(v: Values) -> Any:
            state, goes_on = np.asarray(start.value(v)), np.asarray(True)
            for _ in range(3):
                goes_on = goes_on & (state < bound.value(v))
                state = np.where(goes_on, state + more.value(v), state)
            return state

        return Term(text, value)

    def function(self, name: str) -> None:
        """fn f(u, w), of the language as the rest."""
        kept = self.params, self.reals
        self.params, self.reals = {"u": 0.0, "w": 0.0}, ["u", "w"]
        body = self.term(2)
        self.params, self.reals = kept
        self.lines.append(f"fn {name}(u: real, w: real) -> real = {body.text}")
        self.functions[name] = (f"{name}({{}}, {{}})", body.value)

    def total(self, dim: str) -> Term:
        """The sum over a plate of what its elements are worth."""
        letter = dim.lower()
        self.inside = dim
        term = self.term(2)
        name = self.choose(self.plates[dim])
        self.inside = ""
        size = self.sizes[dim]

        def value(v: Values) -> Any:
            terms = [term.value({**v, dim: k}) * v[name][k] for k in range(size)]
            return sum(terms)

        return Term(f"(sum[{letter} in {dim}] {term.text} * {name}[{letter}])", value)

    # ---- expressions

    def leaf(self) -> Term:
        if self.chance(0.2):
            number = round(float(self.random.uniform(-1, 1)), 2)
            return Term(f"({number})", lambda v: number)
        if self.own is not None and self.chance(0.6):
            return self.own
        if self.plates and self.chance(0.5):
            return self.element()
        drawn = [name for name in self.reals + self.counts if name not in self.params]
        name = self.choose(drawn if drawn and self.chance(0.7) else list(self.params))
        return Term(name, lambda v: v[name])

    def element(self) -> Term:
        """An element of something with an axis: that of the binder around it, or one by number."""
        if self.inside in self.plates:
            dim, name = self.inside, self.choose(self.plates[self.inside])
            return Term(f"{name}[{dim.lower()}]", lambda v: v[name][v[dim]])
        dim = self.choose(list(self.plates))
        name, place = self.choose(self.plates[dim]), self.pick(0, self.sizes[dim] - 1)
        return Term(f"{name}[{place}]", lambda v: v[name][place])

    def term(self, depth: int) -> Term:
        if depth == 0 or self.chance(0.2):
            return self.leaf()
        if self.sharp and not self.is_smooth and self.chance(0.2):
            return self.quotient(depth - 1)
        kind = self.choose(SMOOTH if self.is_smooth else KINDS)
        if kind == "if":
            test, a, b = self.condition(depth - 1), self.term(depth - 1), self.term(depth - 1)
            text = f"(if {test.text} then {a.text} else {b.text})"
            return Term(text, lambda v: np.where(test.value(v), a.value(v), b.value(v)))
        if kind in BINARY:
            a, b = self.term(depth - 1), self.term(depth - 1)
            if self.functions and not self.is_smooth and self.chance(0.2):
                pattern, body = self.functions["f"]
                text = pattern.format(a.text, b.text)
                return Term(text, lambda v: body({**v, "u": a.value(v), "w": b.value(v)}))
            pattern, function = BINARY[kind]
            return Term(pattern.format(a.text, b.text), lambda v: function(a.value(v), b.value(v)))
        inner = self.term(depth - 1)
        pattern, unary = UNARY[kind]
        return Term(pattern.format(inner.text), lambda v: unary(inner.value(v)))

    def quotient(self, depth: int) -> Term:
        """tanh(a / D), where D is touched or kept away from 0; a norm of its own."""
        top, a, b = self.term(depth), self.leaf(), self.leaf()
        text, size = TOUCHING[self.choose(list(TOUCHING))]
        added = self.choose((0.0, 0.0, 0.5))

        def value(v: Values) -> Any:
            with np.errstate(all="ignore"):
                return np.tanh(np.divide(top.value(v), size(a.value(v), b.value(v)) + added))

        bottom = text.format(a.text, b.text) + (f" + {added}" if added else "")
        return Term(f"tanh({top.text} / ({bottom}))", value)

    def thresholds(self) -> Term:
        """One draw between two others, or a sum of two beyond a third."""
        x, a, b = self.leaf(), self.leaf(), self.leaf()
        if self.chance(0.5):
            word, join = self.choose((("and", np.logical_and), ("or", np.logical_or)))
            text = f"({x.text} > {a.text} {word} {x.text} > {b.text})"
            return Term(text, lambda v: join(x.value(v) > a.value(v), x.value(v) > b.value(v)))
        text = f"{x.text} + {a.text} > {b.text}"
        return Term(text, lambda v: x.value(v) + a.value(v) > b.value(v))

    def condition(self, depth: int) -> Term:
        if self.sharp and self.chance(0.4):
            return self.thresholds()
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


def drawn(law: Law, arguments: list[Term], v: Values, noise: int) -> Any:
    return law.quantile(v["noise"][noise], *(a.value(v) for a in arguments))


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
SMOOTH = ("add", "subtract", "multiply", "sin", "logistic", "half", "negate", "tanh")
