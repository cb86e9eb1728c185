"""Any small finite program: the mean of its objective and the gradient, against the sum over all values of its draws."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpc
from dpc.dsl.graph import Kind
from dpc.dsl.types import Bool

MOST_VALUES = 1024


@pytest.fixture(autouse=True)
def _in_double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


# ---- the sum over all values


def joint_values(model: dpc.Model) -> dict[str, Any]:
    """All values of all draws, along a first axis."""
    draws = model.graph.of_kind(Kind.DRAW)
    shapes = [tuple(axis.size for axis in node.type.shape) for node in draws]
    counts = [2 if isinstance(node.type.domain, Bool) else node.type.domain.dim.size for node in draws]
    each = [list(itertools.product(range(n), repeat=int(np.prod(s)))) for n, s in zip(counts, shapes, strict=True)]
    found = {}
    for node, shape, column in zip(draws, shapes, zip(*itertools.product(*each), strict=True), strict=True):
        values = np.array(column).reshape(-1, *shape)
        found[node.name] = values.astype(bool) if isinstance(node.type.domain, Bool) else values
    return found


def brute_force(model: dpc.Model) -> Callable[[Any], jax.Array]:
    values = joint_values(model)

    def mean(params: Any) -> jax.Array:
        mass = jax.vmap(lambda v: jnp.exp(model.log_prob(params, v)))(values)
        return jnp.sum(mass * jax.vmap(lambda v: model.value(params, None, v))(values))

    return mean


# ---- programs


class Program:
    """Writes statements that mention what stands above them; every name is a number or an array of numbers.

    Binders have few names, so that those of different statements are often the same.
    """

    def __init__(self, draw: Callable[[Any], Any]):
        self.draw = draw
        self.sizes = {"A": self.pick([1, 2, 3]), "B": 2, "K": self.pick([2, 3])}
        self.lines = [f"dim {dim} = {size}" for dim, size in self.sizes.items()]
        self.numbers: dict[str, tuple[str, ...]] = {}
        self.truths: dict[str, tuple[str, ...]] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        self.values = 1
        self.fresh = 0
        for name, axes in (("a", ("A",)), ("b", ("B",)), ("k", ("K",)), ("m", ("A", "K")), ("c", ())):
            self.lines.append(f"param {name}{_square(axes)} : real = {self.parameter(axes)}")
            self.numbers[name] = axes
        self.lines.append("fn f(x: real, y: real) -> real = x * y + 0.5 * x - y^2")

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def parameter(self, axes: tuple[str, ...]) -> str:
        self.fresh += 1
        if not axes:
            return str(round(np.sin(self.fresh), 3))
        return f"[{', '.join(self.parameter(axes[1:]) for _ in range(self.sizes[axes[0]]))}]"

    # ---- statements

    def binders(self, most: int = 2) -> dict[str, tuple[str, str]]:
        axes = self.pick([(), ("A",), ("B",), ("A", "B"), ("B", "A"), ("B", "B"), ("K",)][: 3 + 4 * (most > 1)])
        return {name: (axis, axis) for name, axis in zip(self.draw(st.permutations(["i", "j"])), axes, strict=False)}

    def add_draw(self) -> None:
        name, scope = f"z{len(self.lines)}", self.binders()
        axes = tuple(dim for dim, _ in scope.values())
        elements = int(np.prod([self.sizes[axis] for axis in axes]))
        is_truth = self.draw(st.booleans())
        values = (2 if is_truth else self.sizes["K"]) ** elements
        if self.values * values > MOST_VALUES:
            return
        self.values *= values
        left = f"{name}{_square(f'{binder} in {dim}' for binder, (dim, _) in scope.items())}"
        if is_truth:
            self.lines.append(f"{left} ~ Bernoulli(logits={self.number(scope, 2)})")
            self.truths[name] = axes
        else:
            label = next(x for x in ("l", "k") if x not in scope)
            inner = {**scope, label: ("K", "K")}
            self.lines.append(f"{left} ~ Categorical(softargmax([{label} in K] {self.number(inner, 2)}))")
            self.labels[name] = axes

    def add_value(self) -> None:
        name, scope = f"v{len(self.lines)}", self.binders()
        left = f"{name}{_square(f'{binder} in {dim}' for binder, (dim, _) in scope.items())}"
        self.lines.append(f"{left} = {self.number(scope, 3)}")
        self.numbers[name] = tuple(dim for dim, _ in scope.values())

    def text(self) -> str:
        for _ in range(self.pick([1, 2, 3])):
            self.add_draw()
            if self.draw(st.booleans()):
                self.add_value()
        return "\n".join([*self.lines, f"minimize {self.number({}, 4)}"]) + "\n"

    # ---- expressions; a scope has the dim of every binder, and its range

    def number(self, scope: dict[str, tuple[str, str]], depth: int) -> str:
        if depth == 0:
            return self.leaf(scope)
        forms = [self.leaf, self.reduced, self.reduced, self.summed, self.product, self.other, self.negated, self.whole]
        form = self.pick(forms)
        return form(scope) if form == self.leaf else form(scope, depth - 1)

    def leaf(self, scope: dict[str, tuple[str, str]]) -> str:
        kind = self.pick(["number", "number", "truth", "truth", "label", "label", "constant"])
        if kind == "truth" and self.truths:
            return self.pick(["{}", "(if {} then c else 0.3)"]).format(self.at(self.truths, scope))
        if kind == "label" and self.labels:
            form = self.pick(["k[{}]", "m[0, {}]", "(if {} == 1 then 2.0 else c)", "{}"])
            return form.format(self.at(self.labels, scope))
        return self.at(self.numbers, scope) if kind != "constant" else self.pick(["0.7", "1.3"])

    def at(self, names: dict[str, tuple[str, ...]], scope: dict[str, tuple[str, str]]) -> str:
        name = self.pick(names)
        return f"{name}{_square(self.index(axis, scope) for axis in names[name])}"

    def index(self, axis: str, scope: dict[str, tuple[str, str]]) -> str:
        found = ["0", str(self.sizes[axis] - 1)]
        found += 3 * [binder for binder, (dim, _) in scope.items() if dim == axis]
        found += [f"{binder}-1" for binder, (dim, over) in scope.items() if dim == axis and over == f"{dim}[1..]"]
        if axis == "K" and self.labels:
            name = self.pick(self.labels)
            found += [f"{name}{_square(self.index(axis, scope) for axis in self.labels[name] if axis != 'K')}"] * (
                "K" not in self.labels[name]
            )
        return self.pick(found)

    def reduced(self, scope: dict[str, tuple[str, str]], depth: int) -> str:
        unused = [name for name in ("i", "j", "k1") if name not in scope]
        if not unused:
            return self.leaf(scope)
        binder, dim = self.pick(unused), self.pick(["A", "B", "B", "K"])
        over = self.pick([dim, dim, f"{dim}[1..]"]) if self.sizes[dim] > 1 else dim
        where = self.pick(["", "", "", f" where {binder} != 0"])
        word = self.pick(["sum", "sum", "sum", "sum", "mean", "prod"]) if not where else "sum"
        return f"({word}[{binder} in {over}{where}] ({self.number({**scope, binder: (dim, over)}, depth)}))"

    def summed(self, scope: dict[str, tuple[str, str]], depth: int) -> str:
        return f"({self.number(scope, depth)} {self.pick(['+', '-'])} {self.number(scope, depth)})"

    def product(self, scope: dict[str, tuple[str, str]], depth: int) -> str:
        return f"({self.number(scope, depth)} * {self.number(scope, depth)})"

    def negated(self, scope: dict[str, tuple[str, str]], depth: int) -> str:
        return f"(-{self.number(scope, depth)})"

    def other(self, scope: dict[str, tuple[str, str]], depth: int) -> str:
        form = self.pick(["f({0}, {1})", "({0})^2", "({0}) / 3", "sin({0})", "(if {0} > {1} then 1.5 else {0})"])
        return form.format(self.number(scope, depth), self.number(scope, 0))

    def whole(self, scope: dict[str, tuple[str, str]], depth: int) -> str:
        """The sum of an array, or of what is left of it."""
        arrays = {name: axes for name, axes in (self.numbers | self.truths | self.labels).items() if axes}
        name = self.pick(arrays)
        first = [self.index(axis, scope) for axis in arrays[name][: len(arrays[name]) - 1]]
        return f"sum({name}{_square(self.pick([[], first]))})"


def _square(items: Any) -> str:
    text = ", ".join(items)
    return f"[{text}]" if text else ""


@st.composite
def programs(draw: Any) -> str:
    return Program(draw).text()


def agree(text: str) -> None:
    model = dpc.parse(text)
    params = model.init()
    found = model.value_and_grad(jax.random.key(0), params)
    true = jax.value_and_grad(brute_force(model))(params)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(true), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=text)


@given(programs())
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_finite_programs_have_the_mean_and_gradient_of_the_sum_over_all_values(text: str) -> None:
    agree(text)
