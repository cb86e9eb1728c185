"""Any small finite program: the mean of its objective and the gradient, against the sum over all
values of draws.
"""

from __future__ import annotations

from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from brute_force import brute_force, joint_values
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpc
from dpc.dsl.diagnostics import DpError

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

MOST_VALUES = 1024


# ---- programs


Scope = dict[str, tuple[str, str]]


class Program:
    """Writes statements that mention what stands above them; every name is a number or an array of
    numbers.

    Binders have few names, so that those of different statements are often the same.
    """

    def __init__(self, chance: Random):
        self.chance = chance
        self.sizes = {"A": self.pick([1, 2, 3]), "B": 2, "K": self.pick([2, 3])}
        self.lines = [f"dim {dim} = {size}" for dim, size in self.sizes.items()]
        self.numbers: dict[str, tuple[str, ...]] = {}
        self.truths: dict[str, tuple[str, ...]] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        self.values = 1
        self.fresh = 0
        for name, axes in (
            ("a", ("A",)),
            ("b", ("B",)),
            ("k", ("K",)),
            ("m", ("A", "K")),
            ("c", ()),
        ):
            self.lines.append(f"param {name}{_square(axes)} : real = {self.parameter(axes)}")
            self.numbers[name] = axes
        self.lines.append("fn f(x: real, y: real) -> real = x * y + 0.5 * x - y^2")

    def pick(self, options: Any) -> Any:
        return self.chance.choice(list(options))

    def parameter(self, axes: tuple[str, ...]) -> str:
        self.fresh += 1
        if not axes:
            return str(round(np.sin(self.fresh), 3))
        return f"[{', '.join(self.parameter(axes[1:]) for _ in range(self.sizes[axes[0]]))}]"

    # ---- statements

    def binders(self) -> Scope:
        axes = self.pick([(), ("A",), ("B",), ("A", "B"), ("B", "A"), ("B", "B"), ("K",)])
        names = self.pick([("i", "j"), ("j", "i")])
        return {name: (axis, axis) for name, axis in zip(names, axes, strict=False)}

    def add_draw(self) -> None:
        name, scope = f"z{len(self.lines)}", self.binders()
        axes = tuple(dim for dim, _ in scope.values())
        elements = int(np.prod([self.sizes[axis] for axis in axes]))
        is_truth = self.pick([True, False])
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
            self.lines.append(
                f"{left} ~ Categorical(softargmax([{label} in K] {self.number(inner, 2)}))"
            )
            self.labels[name] = axes

    def add_chain(self) -> None:
        """Coins one after the other, sometimes in rows: each looks at those one step before it, and
        at all above.
        """
        name, dim = f"z{len(self.lines)}", self.pick(["A", "B"])
        rows = self.pick([{}, {}, {"i": ("B", "B")}])
        axes = (*(axis for axis, _ in rows.values()), dim)
        values = 2 ** int(np.prod([self.sizes[axis] for axis in axes]))
        if self.sizes[dim] == 1 or self.values * values > MOST_VALUES:
            return
        self.values *= values
        row = [f"{binder} in {axis}" for binder, (axis, _) in rows.items()]
        before = f"{name}{_square([*self.pick([rows, rows, ['0'] * len(rows)]), 'j-1'])}"
        first, scope = self.number(rows, 1), {**rows, "j": (dim, f"{dim}[1..]")}
        self.lines.append(f"{name}{_square([*row, '0'])} ~ Bernoulli(logits={first})")
        later = f"if {before} then {self.number(scope, 1)} else {self.number(scope, 1)}"
        self.lines.append(
            f"{name}{_square([*row, f'j in {dim}[1..]'])} ~ Bernoulli(logits={later})"
        )
        self.truths[name] = axes

    def add_value(self) -> None:
        name, scope = f"v{len(self.lines)}", self.binders()
        left = f"{name}{_square(f'{binder} in {dim}' for binder, (dim, _) in scope.items())}"
        self.lines.append(f"{left} = {self.number(scope, 3)}")
        self.numbers[name] = tuple(dim for dim, _ in scope.values())

    def text(self) -> str:
        for _ in range(self.pick([1, 2, 3])):
            self.pick([self.add_draw, self.add_draw, self.add_chain])()
            self.add_value()
        costs = [self.reduced({}, 2), self.reduced({}, 3), self.number({}, 2)]
        return "\n".join([*self.lines, f"minimize {' + '.join(costs)}"]) + "\n"

    # ---- expressions; a scope has the dim of every binder, and its range

    def number(self, scope: Scope, depth: int) -> str:
        if depth == 0:
            return self.leaf(scope)
        forms = [
            self.reduced,
            self.reduced,
            self.summed,
            self.product,
            self.product,
            self.other,
            self.negated,
        ]
        form = self.pick([*forms, self.whole])
        return form(scope, depth - 1)

    def leaf(self, scope: Scope) -> str:
        kind = self.pick(
            [
                "number",
                "number",
                "value",
                "value",
                "value",
                "truth",
                "truth",
                "label",
                "label",
                "constant",
            ]
        )
        values = {name: axes for name, axes in self.numbers.items() if name.startswith("v")}
        if kind == "value" and values:
            return self.at(values, scope)
        if kind == "truth" and self.truths:
            return self.pick(["{}", "(if {} then c else 0.3)"]).format(self.at(self.truths, scope))
        if kind == "label" and self.labels:
            form = self.pick(["k[{}]", "m[0, {}]", "(if {} == 1 then 2.0 else c)", "{}"])
            return form.format(self.at(self.labels, scope))
        return self.at(self.numbers, scope) if kind != "constant" else self.pick(["0.7", "1.3"])

    def at(self, names: dict[str, tuple[str, ...]], scope: Scope) -> str:
        name = self.pick(names)
        return f"{name}{_square(self.index(axis, scope) for axis in names[name])}"

    def index(self, axis: str, scope: Scope) -> str:
        found = ["0", str(self.sizes[axis] - 1)]
        found += 3 * [binder for binder, (dim, _) in scope.items() if dim == axis]
        found += [
            f"{binder}-1"
            for binder, (dim, over) in scope.items()
            if dim == axis and over == f"{dim}[1..]"
        ]
        if axis == "K" and self.labels:
            name = self.pick(self.labels)
            found += [
                f"{name}{_square(self.index(axis, scope) for axis in self.labels[name] if axis != 'K')}"
            ] * ("K" not in self.labels[name])
        return self.pick(found)

    def reduced(self, scope: Scope, depth: int) -> str:
        unused = [name for name in ("i", "j", "k1") if name not in scope]
        if not unused:
            return self.leaf(scope)
        binder, dim = self.pick(unused), self.pick(["A", "B", "B", "K"])
        over = self.pick([dim, dim, f"{dim}[1..]"]) if self.sizes[dim] > 1 else dim
        where = self.pick(["", "", "", f" where {binder} != 0"])
        word = self.pick(["sum", "sum", "sum", "sum", "mean", "prod"]) if not where else "sum"
        return (
            f"({word}[{binder} in {over}{where}] "
            f"({self.number({**scope, binder: (dim, over)}, depth)}))"
        )

    def summed(self, scope: Scope, depth: int) -> str:
        return f"({self.number(scope, depth)} {self.pick(['+', '-'])} {self.number(scope, depth)})"

    def product(self, scope: Scope, depth: int) -> str:
        return f"({self.number(scope, depth)} * {self.number(scope, depth)})"

    def negated(self, scope: Scope, depth: int) -> str:
        return f"(-{self.number(scope, depth)})"

    def other(self, scope: Scope, depth: int) -> str:
        form = self.pick(
            ["f({0}, {1})", "({0})^2", "({0}) / 3", "sin({0})", "(if {0} > {1} then 1.5 else {0})"]
        )
        return form.format(self.number(scope, depth), self.number(scope, 0))

    def whole(self, scope: Scope, depth: int) -> str:
        """The sum of an array, or of what is left of it."""
        arrays = {
            name: axes for name, axes in (self.numbers | self.truths | self.labels).items() if axes
        }
        name = self.pick(arrays)
        first = [self.index(axis, scope) for axis in arrays[name][: len(arrays[name]) - 1]]
        return f"sum({name}{_square(self.pick([[], first]))})"


def _square(items: Any) -> str:
    text = ", ".join(items)
    return f"[{text}]" if text else ""


def agree(text: str) -> None:
    model = dpc.parse(text)
    params = model.init()
    found = model.value_and_grad(jax.random.key(0), params)
    true = jax.jit(jax.value_and_grad(brute_force(model)))(params)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(true), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=text)


@given(st.integers(0, 10**9))
@settings(max_examples=3, deadline=None, derandomize=True)
def test_finite_programs_have_the_mean_and_gradient_of_the_sum_over_all_values(seed: int) -> None:
    agree(Program(Random(seed)).text())


@pytest.mark.slow
@given(st.integers(0, 10**9))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_many_finite_programs(seed: int) -> None:
    program = Program(Random(seed))
    text = program.text()
    assume(program.truths or program.labels)
    agree(text)


# ---- names that mean different things in different places

SQUARE = """
dim K = 2
param u[K] : real = [0.9, 0.2]
param w[K] : real = [0.3, -0.7]
z[i in K, j in K] ~ Bernoulli(logits=w[j] + 2 * u[i])
"""


@pytest.mark.parametrize(
    "rest",
    [
        "row[j in K] = sum[k in K] w[k] * z[j, k]\nminimize sum[k in K, j in K] u[k] * row[j]",
        "row[j in K] = max[k in K] w[k] * z[j, k]\nminimize sum[k in K, j in K] u[k] * row[j]",
        "s[i in K, j in K] = w[i] * u[j]^2 * z[i, j]\nminimize sum[i in K, j in K] u[i] * s[j, i]",
        "minimize (sum[i0 in K] u[i0] * sum(z)) + sum[i in K] w[i] * z[i, i]",
    ],
    ids=["a factor outside", "a maximum inside", "transposed", "whole and diagonal"],
)
def test_sums_that_are_taken_apart_keep_their_names_apart(rest: str) -> None:
    agree(f"{SQUARE}{rest}\n")


def test_names_of_the_model_are_not_those_of_its_steps() -> None:
    agree(
        "param cost_0 : real = 2\nparam law_v : real = 1\nv ~ Bernoulli(logits=law_v)\nminimize "
        "cost_0 * v\n"
    )


# ---- bounds, against the sum over all values of the guide

GUIDED = """
dim T = 3
data x[T] : real = [0.5, -1, 2]
param r : real = 0.4
param a[T, T] : real = [[0.3, -0.8, 0.1], [0.5, 0.9, -0.2], [0.7, 0.6, -0.1]]
{}
"""
STEPS = """
h[0] = r
h[t in T[1..]] = 0.5 * h[t-1] + s[t-1] * x[t-1]
s[t in T] ~ Bernoulli(logits=r * h[t])
"""
SWAPPED = """
s[i in T, j in T] ~ Bernoulli(logits=r * a[i, 0] + (sum[k in T] a[j, k]))
factor fit[i in T] : x[i] * s[i, i] * s[i, 1]
"""
ORDERED = (
    "s ~ Bernoulli(logits=r)\ny ~ Bernoulli(logits=if s then a[0, 1] else a[1, 0])\nfactor "
    "fit : x[2] * r * y * s"
)


@pytest.mark.parametrize(
    ("model", "guide"),
    [
        (STEPS, "s[t in T] ~ Bernoulli(logits=a[t, 0] * x[t])"),
        (
            STEPS,
            (
                "s[0] ~ Bernoulli(logits=r)\ns[t in T[1..]] ~ Bernoulli(logits=a[t, 0] * s[t-1] + "
                "x[t])"
            ),
        ),
        (SWAPPED, "s[j in T, i in T] ~ Bernoulli(logits=a[j, i])"),
        (SWAPPED, "s[k in T, j in T] ~ Bernoulli(logits=a[k, j])"),
        (ORDERED, "s ~ Bernoulli(logits=x[0])\ny ~ Bernoulli(logits=a[1, 1] * s)"),
        (ORDERED, "y ~ Bernoulli(logits=x[0])\ns ~ Bernoulli(logits=a[1, 1] * y)"),
    ],
    ids=[
        "steps of the model",
        "steps of both",
        "binders swapped",
        "a binder of a sum",
        "in order",
        "in the other order",
    ],
)
def test_a_finite_guide_has_the_bound_of_the_sum_over_all_its_values(
    model: str, guide: str
) -> None:
    whole = dpc.parse(GUIDED.format(f"{model}\nguide {{\n{guide}\n}}\nmaximize elbo()"))
    p, q = (dpc.parse(GUIDED.format(part)) for part in (model, guide))
    data, params = whole.bind({}), whole.init()
    values = joint_values(q)

    def exact(params: Any) -> jax.Array:
        log_q = jax.vmap(lambda v: q.log_prob(params, v, data))(values)
        log_p = jax.vmap(lambda v: p.log_prob(params, v, data))(values)
        return jnp.sum(jnp.exp(log_q) * (log_p - log_q))

    found = whole.value_and_grad(jax.random.key(0), params, data)
    for one, other in zip(
        jax.tree.leaves(found),
        jax.tree.leaves(jax.jit(jax.value_and_grad(exact))(params)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


# ---- what is refused, and what is chosen

COIN = "param a : real = 0.3\nb ~ Bernoulli(logits=a){}\n"
BOUND = (
    "observed y : real\nparam a : real = 0.3\nz ~ Normal(0, 1)\nm = z + 1\ny ~ Normal(m, "
    "1)\nguide {{ {} }}\n"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COIN.format("") + "factor f : a * b\nminimize b", "`f` is a factor"),
        (COIN.format(" with grad=rloo(samples=1)") + "minimize b", "there is one"),
        (BOUND.format("m = a; z ~ Normal(m, 1)") + "maximize elbo()", "name of the model too"),
        (BOUND.format("z ~ Normal(m, 1)") + "maximize elbo()", "a guide sees"),
        (
            BOUND.format("z ~ Normal(a, 1) with grad=rloo(samples=2)") + "maximize iwae(samples=2)",
            "drawn once",
        ),
    ],
    ids=["factor", "one sample", "name of the model", "value of the model", "samples in a bound"],
)
def test_what_has_no_right_estimate_is_an_error_of_the_program(text: str, message: str) -> None:
    with pytest.raises(DpError, match=message):
        dpc.parse(f"{text}\n").estimator_choices()


def test_bounds_of_several_samples_draw_what_is_finite() -> None:
    text = "observed y : real\nparam a : real = 0.3\nz ~ Bernoulli(0.4)\ny ~ Normal(z, 1)\n"
    model = dpc.parse(f"{text}guide {{ z ~ Bernoulli(logits=a) }}\nmaximize iwae(samples=2)\n")
    assert [choice.method for choice in model.estimator_choices()] == ["rloo"]


def test_sizes_that_are_missing_are_asked_for() -> None:
    model = dpc.parse(
        "dim N\nparam a : real = 0\nb[n in N] ~ Bernoulli(logits=a)\nminimize sum(b)\n"
    )
    with pytest.raises(ValueError, match="size of `N`"):
        model.estimator_choices()
