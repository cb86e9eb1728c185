"""Models hold their own answers. An `# expect:` line is what dpc computes, and what a reference
here computes too.

    # expect: root == 1.41421
    # expect: minimize == 0.00096534 with tol = 0.01
    # expect: d minimize / d tol == 0.00815519
    # expect: d E[loss] / d theta == 0.0244458

The name is a computed node or the objective, E[...] its mean over all draws; `with` gives
parameters, data and draws. Values are JSON, right to a relative 1e-5: print six digits, or all
there are. References derive by differences, dpc by JAX; dpc's means integrate its own density over
a grid, so both answers are exact and nothing here is random.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import dpc
from dpc.dsl.graph.graph import Kind

LOOSE_JAX = "NumPyro promotes types and ranks"

MODELS = sorted((Path(__file__).parent.parent / "models").rglob("*.dp"))
RELATIVE, ABSOLUTE = 1e-5, 1e-9
Array = Any


# ---- the lines


@dataclass(frozen=True)
class Expect:
    name: str
    mean: bool
    by: str | None
    value: Array
    given: dict[str, Any]

    @property
    def key(self) -> str:
        return f"E[{self.name}]" if self.mean else self.name


TARGET = re.compile(r"(?P<d>d )?(?:E\[(?P<mean>\w+)\]|(?P<name>\w+))(?: / d (?P<by>\w+))? == ")
SETTING = re.compile(r"(\w+) = ")


def parse_expect(text: str) -> Expect:
    """What follows `# expect:`; raises ValueError where it cannot be read."""
    target = TARGET.match(text)
    if not target or bool(target["d"]) != bool(target["by"]):
        raise ValueError(f"not an expectation: {text}")
    value, rest = _json(text[target.end() :])
    given: dict[str, Any] = {}
    word = " with "
    while rest:
        setting = SETTING.match(rest.removeprefix(word)) if rest.startswith(word) else None
        if not setting:
            raise ValueError(f"cannot read `{rest}` in: {text}")
        given[setting[1]], rest = _json(rest.removeprefix(word)[setting.end() :])
        word = ", "
    return Expect(
        target["mean"] or target["name"],
        bool(target["mean"]),
        target["by"],
        np.asarray(value, float),
        given,
    )


def _json(text: str) -> tuple[Any, str]:
    value, end = json.JSONDecoder().raw_decode(text)
    return value, text[end:]


def expects_of(path: Path) -> list[str]:
    return re.findall(r"^\s*# expect: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)


# ---- the way of dpc


def inputs_of(
    model: dpc.Model, given: dict[str, Any]
) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """Parameters, data and draws: those of the file, but where the line gives others."""
    kinds = {name: model.graph[name].kind for name in given}
    data = model.bind({name: given[name] for name in given if kinds[name] is Kind.INPUT})
    own = {name: jnp.asarray(given[name], float) for name in given if kinds[name] is Kind.PARAMETER}
    draws = {name: jnp.asarray(given[name]) for name in given if kinds[name] is Kind.DRAW}
    assert len(own) + len(draws) + sum(kind is Kind.INPUT for kind in kinds.values()) == len(given)
    return {**model.init(data=data), **own}, data, draws


def value_by_dpc(model: dpc.Model, name: str, params: Any, data: Any, draws: Any) -> Array:
    if name in ("minimize", "maximize"):
        return model.value(params, data, draws)
    return model.evaluate(params, data, draws)[name]


def mean_by_dpc(model: dpc.Model, name: str, params: Any, data: Any, grid: Grid) -> Array:
    """sum_k weight_k p(draws_k) f(draws_k)."""
    points, weights = grid

    def term(draws: Any) -> Array:
        return jnp.exp(model.log_prob(params, draws, data)) * value_by_dpc(
            model, name, params, data, draws
        )

    return jnp.dot(weights, jax.vmap(term)(points))


def by_dpc(model: dpc.Model, expect: Expect, grid: Grid | None) -> Array:
    params, data, draws = inputs_of(model, expect.given)
    if grid and not draws and not expect.mean:
        assert not model.graph[expect.name].random, (
            f"`{expect.name}` is random: give its draws, or ask for E[...]"
        )
        draws = {name: points[0] for name, points in grid[0].items()}

    def at(params: Any) -> Array:
        if grid and expect.mean:
            return mean_by_dpc(model, expect.name, params, data, grid)
        return value_by_dpc(model, expect.name, params, data, draws)

    if expect.by is None:
        return at(params)
    return jax.jacobian(lambda value: at({**params, expect.by: value}))(params[expect.by])


# ---- the other way


def by_reference(model: dpc.Model, expect: Expect, reference: Reference) -> Array:
    params, data, draws = inputs_of(model, expect.given)
    inputs = {name: np.asarray(value) for name, value in {**params, **data.arrays, **draws}.items()}
    if expect.by is None:
        return reference(**inputs)[expect.key]
    return differences(
        lambda value: reference(**{**inputs, expect.by: value})[expect.key], inputs[expect.by]
    )


def differences(f: Callable[[Array], Array], x: Array, h: float = 2e-4) -> Array:
    """(8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12h for each entry of x, with an error
    of order h^4.
    """
    columns = []
    for step in h * np.eye(x.size).reshape(x.size, *x.shape):
        near, far = (np.asarray(f(x + k * step)) - f(x - k * step) for k in (1, 2))
        columns.append((8 * near - far) / (12 * h))
    return np.moveaxis(np.array(columns), 0, -1).reshape(columns[0].shape + x.shape)


Reference = Callable[..., dict[str, Array]]
REFERENCES: dict[str, Reference] = {}


def reference(function: Reference) -> Reference:
    """The model of this name, in NumPy: values by the names of the file, means as E[...]."""
    REFERENCES[function.__name__] = function
    return function


def soft_root(x: Array, tol: Array, scale: float) -> Array:
    """sum_i s_i P(stop at i), by the law of the stopping time."""
    s, reached, mean = 1.0, 1.0, 0.0
    for _ in range(5):
        stop = special.expit((tol - 0.5 * (s**2 - x) ** 2) / scale)
        mean, reached, s = mean + reached * stop * s, reached * (1 - stop), 0.5 * (s + x / s)
    return mean + reached * s


@reference
def root(x: Array, tol: Array) -> dict[str, Array]:
    r = soft_root(x, tol, 0.1)
    u = special.expit((r - 1.4) / 0.1) * (r - 1.4)
    return {"r": r, "u": u, "minimize": u**2}


@reference
def newton(x: Array, tol: Array) -> dict[str, Array]:
    hard = 1.0
    while 0.5 * (hard**2 - x) ** 2 > tol:
        hard = 0.5 * (hard + x / hard)
    return {"hard": hard, "smooth": soft_root(x, tol, 0.05)}


@reference
def bubble(x: Array) -> dict[str, Array]:
    """The book's loop: swap neighbours by the probability that they stand in the wrong order."""
    v = np.array(x, float)
    for _ in v:
        for j in range(len(v) - 1):
            swap = special.expit((v[j] - v[j + 1]) / 0.1) * (v[j + 1] - v[j])
            v[j], v[j + 1] = v[j] + swap, v[j + 1] - swap
    return {"sorted": v}


@reference
def gate(theta: Array, b: Array = 0, z: Array = 0) -> dict[str, Array]:
    p = special.expit(theta)
    mean = 1 + p * (theta - 0.499) ** 2 + (1 - p) * 0.499**2
    return {"loss": (z - 0.499) ** 2, "E[loss]": mean}


@reference
def evolution(spread: Array, centre: Array, place: Array = 0) -> dict[str, Array]:
    """E cos(6 x) = exp(-18 sd^2) cos(6 mean)."""
    return {
        "E[height]": np.sum(
            centre**2 + spread**2 + 1 - np.exp(-18 * spread**2) * np.cos(6 * centre)
        )
    }


@reference
def score(theta: Array, coin: Array = 0) -> dict[str, Array]:
    return {"loss": (coin - 0.45) ** 2, "E[loss]": 0.2025 + 0.1 * special.expit(theta)}


@reference
def pathwise(theta: Array, noise: Array = 0) -> dict[str, Array]:
    return {"loss": np.exp(theta * noise), "E[loss]": np.exp(theta**2 / 2)}


@reference
def score_chain(theta: Array, count: Array = 0) -> dict[str, Array]:
    return {"loss": count**2, "E[loss]": np.exp(theta) + np.exp(2 * theta)}


@reference
def nested(theta: Array, coin: Array = 0, place: Array = 0) -> dict[str, Array]:
    return {"loss": place**2, "E[loss]": 1 + theta**4 + special.expit(theta) * (2 * theta**2 + 1)}


@reference
def soft_threshold(u: Array, threshold: Array) -> dict[str, Array]:
    hard = np.sign(u) * max(abs(u) - threshold, 0)
    weight = special.softmax([threshold - abs(u), u - threshold, -u - threshold])
    branch = np.array([0, u - threshold, u + threshold])
    mean = weight @ branch
    spread = np.sqrt(weight @ (branch - mean) ** 2)
    return {"hard": hard, "taken": hard, "weight": weight, "smooth": mean, "spread": spread}


@reference
def window(x: Array, a: Array, b: Array, y: Array, z: Array, noise: Array = 0) -> dict[str, Array]:
    """The probability that the noise leaves x between a and b, once with one noise and once with
    two.
    """
    law = stats.logistic(x, 0.5)
    apart, together = law.sf(a) * law.cdf(b), law.cdf(b) - law.cdf(a)
    mix = lambda p: p * y + (1 - p) * z  # noqa: E731
    return {
        "local": mix(apart),
        "global": mix(together),
        "E[whole]": mix(together),
        "whole": y if a < x + noise < b else z,
    }


@reference
def gate_function(x: Array) -> dict[str, Array]:
    """P(-1 < x + s z < 1) with one noise for both ends, and with two."""
    apart = special.ndtr(x + 1) * special.ndtr(1 - x)
    near, skewed = stats.norm(x, 0.1), stats.gumbel_r(x - np.euler_gamma / 2, 0.5)
    return {
        "hard": float(-1 < x < 1),
        "local": apart,
        "global": special.ndtr(1 - x) - special.ndtr(-1 - x),
        "deviation": np.sqrt(apart * (1 - apart)),
        "close": near.cdf(1) - near.cdf(-1),
        "skewed": skewed.cdf(1) - skewed.cdf(-1),
    }


@reference
def unrolled(
    x: Array, y: Array, x_new: Array, y_new: Array, rate: Array, penalty: Array
) -> dict[str, Array]:
    """w_k - w* = (I - rate_k H)(w_{k-1} - w*) for the quadratic with Hessian H and minimum w*."""
    hessian = x.T @ x / len(x) + penalty * np.eye(x.shape[1])
    best = np.linalg.solve(hessian, x.T @ y / len(x))
    off = -best
    for r in rate:
        off = off - r * hessian @ off
    return {"learned": best + off, "minimize": np.mean((x_new @ (best + off) - y_new) ** 2) / 2}


@reference
def prefix_sum(u: Array) -> dict[str, Array]:
    return {"v": np.cumsum(u), "last": u.sum()}


@reference
def rnn(u: Array, y: Array, A: Array, B: Array, C: Array) -> dict[str, Array]:
    """Each state from the start anew: no step knows of the one before."""

    def state(t: int) -> Array:
        return np.tanh(A @ state(t - 1) + B * u[t]) if t >= 0 else np.zeros(len(B))

    v = np.array([C @ state(t) for t in range(len(u))])
    return {"v": v, "minimize": np.sum((v - y) ** 2) / 2}


@reference
def logistic_loss(theta: Array, label: Array) -> dict[str, Array]:
    loss = -np.log(special.softmax(theta)[label])
    return {
        "loss": loss,
        "minimize": loss,
        "gradient": special.softmax(theta) - np.eye(len(theta))[label],
    }


@reference
def attention(key: Array, value: Array, scale: Array, query: Array) -> dict[str, Array]:
    """Nadaraya and Watson: the mean of the values under kernel weights."""
    kernel = np.array([stats.norm.pdf(query, k, scale).prod() for k in key])
    weight = kernel / kernel.sum()
    return {"weight": weight, "found": weight @ value, "attended": weight @ value}


@reference
def forward_reverse(x1: Array, x2: Array, v1: Array, v2: Array) -> dict[str, Array]:
    def f(x: Array) -> Array:
        return x[1] * np.exp(x[0]) * np.sqrt(x[0] + x[1] * np.exp(x[0]))

    x, v = np.array([x1, x2]), np.array([v1, v2])
    r1, r2 = differences(f, x)
    along = differences(lambda step: f(x + step * v), np.zeros(()))
    return {"s7": f(x), "minimize": f(x), "t7": along, "r1": r1, "r2": r2}


# ---- where dpc integrates


Grid = tuple[dict[str, Array], Array]


def line(name: str) -> Grid:
    """The trapezoid rule: for a Gaussian it errs less than any power of its step."""
    points = np.linspace(-12, 12, 481)
    return {name: points}, np.full(481, 0.05)


def plane(name: str) -> Grid:
    """The same rule for two entries, whose deviations are 0.4."""
    points = np.linspace(-6, 6, 121)
    pairs = np.stack(np.meshgrid(points, points, indexing="ij"), -1).reshape(-1, 2)
    return {name: pairs}, np.full(len(pairs), 0.1**2)


def coin(name: str) -> Grid:
    return {name: np.array([False, True])}, np.ones(2)


def counts(name: str) -> Grid:
    return {name: np.arange(60)}, np.ones(60)


def panels(name: str, cuts: list[float]) -> Grid:
    """Gauss and Legendre's rule between cuts, for what jumps there."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    halves = [(high - low) / 2 for low, high in pairwise(cuts)]
    points = [low + half * (1 + nodes) for low, half in zip(cuts, halves, strict=False)]
    return {name: np.concatenate(points)}, np.concatenate([half * weights for half in halves])


def both(first: Grid, second: Grid) -> Grid:
    n, m = len(first[1]), len(second[1])
    points = {name: np.repeat(x, m) for name, x in first[0].items()} | {
        name: np.tile(x, n) for name, x in second[0].items()
    }
    return points, np.repeat(first[1], m) * np.tile(second[1], n)


GRIDS: dict[str, Grid] = {
    "gate": both(coin("b"), line("z")),
    "evolution": plane("place"),
    "score": coin("coin"),
    "pathwise": line("noise"),
    "score_chain": counts("count"),
    "nested": both(coin("coin"), line("place")),
    "window": panels("noise", [-25, -5, -1.4, 0.6, 5, 25]),  # x = 0.4 passes a = -1 and b = 1
}


# ---- tests


WITH_LINES = {path.stem: path for path in MODELS if expects_of(path)}


@pytest.mark.parametrize("name", WITH_LINES)
def test_the_lines_of_a_model(name: str) -> None:
    model = dpc.load(WITH_LINES[name])
    lines = {text: parse_expect(text) for text in expects_of(WITH_LINES[name])}
    found = jax.jit(
        lambda: {text: by_dpc(model, expect, GRIDS.get(name)) for text, expect in lines.items()}
    )()
    for text, expect in lines.items():
        other = by_reference(model, expect, REFERENCES[name])
        np.testing.assert_allclose(other, expect.value, RELATIVE, ABSOLUTE, err_msg=text)
        np.testing.assert_allclose(found[text], expect.value, RELATIVE, ABSOLUTE, err_msg=text)


def test_every_example_of_the_book_has_lines_and_every_reference_a_model() -> None:
    assert {path.stem for path in MODELS if path.parent.name == "book"} <= set(WITH_LINES)
    assert set(REFERENCES) == set(WITH_LINES)


def test_a_wrong_line_is_found() -> None:
    model = dpc.load(WITH_LINES["prefix_sum"])
    wrong = parse_expect("last == 14.001")
    for found in (by_reference(model, wrong, REFERENCES["prefix_sum"]), by_dpc(model, wrong, None)):
        assert abs(found - wrong.value) > RELATIVE * found


@pytest.mark.parametrize(
    "text",
    [
        "r = 2",
        "d r == 2",
        "r / d x == 2",
        "r == 2 with",
        "r == 2 with x",
        "r == 2, x = 3",
        "r == 2 with x = 3 y = 4",
    ],
)
def test_what_is_no_expectation_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expectation|cannot read"):
        parse_expect(text)


def test_an_expectation_is_read() -> None:
    expect = parse_expect(
        'd E[loss] / d theta == [1, -2.5e-1] with b = true, x = [[1, 2], [3, 4]], c = "up"'
    )
    assert (expect.key, expect.by, expect.value.tolist()) == ("E[loss]", "theta", [1, -0.25])
    assert expect.given == {"b": True, "x": [[1, 2], [3, 4]], "c": "up"}
