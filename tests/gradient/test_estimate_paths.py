"""Finite draws along a recurrence, summed: value, gradient and Hessian, against the sum over all
paths.
"""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from brute_force import brute_force

import dpc
from dpc.cli import main

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"


def chosen(model: dpc.Model) -> dict[str, tuple[str, int]]:
    return {choice.name: (choice.method, choice.points) for choice in model.estimator_choices()}


def quickly(function: Any, *arguments: Any) -> Any:
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})(*arguments)


def agree(model: dpc.Model, exact: Any = None, hessian: bool = True) -> None:
    """Value, gradient and Hessian, whatever the key: nothing is left to chance."""
    params, keys = model.init(), jax.random.split(jax.random.key(0), 2)

    def all_orders(function: Any) -> Any:
        return (
            function(params),
            jax.grad(function)(params),
            jax.hessian(function)(params) if hessian else (),
        )

    found = quickly(jax.vmap(lambda key: all_orders(lambda p: model.surrogate(key, p))), keys)
    true = quickly(lambda: all_orders(exact or brute_force(model)))
    for estimates, value in zip(jax.tree.leaves(found), jax.tree.leaves(true), strict=True):
        for estimate in estimates:
            np.testing.assert_allclose(estimate, value, rtol=1e-10, atol=1e-10)


LETTERS = """
dim T = {T}
dim K = 3
param s[K] : real = [0.3, -0.5, 1]
param A[K, K] : real = [[0.1, 0.4, -0.3], [1, 0.2, 0.3], [-0.5, 0.6, 0.9]]
param w[T] : real = 0.7
z[0] ~ Categorical(softargmax(s))
z[t in T[1..]] ~ Categorical(softargmax(w[t] * A[z[t-1]]))
"""
EACH = "minimize sum[t in T] w[t] * s[z[t]]^2\n"
PAIRS = "minimize sum[t in T[1..]] A[z[t], z[t-1]]\n"


def test_a_chain_is_summed_by_its_marginals() -> None:
    model = dpc.parse(LETTERS.format(T=3) + EACH)
    assert chosen(model) == {"z": ("enumerate", 3)}
    agree(model)
    assert chosen(dpc.parse(LETTERS.format(T=400) + EACH)) == {"z": ("enumerate", 3)}


def test_steps_that_meet_below_are_summed_over_paths_as_long_as_these_are_few() -> None:
    model = dpc.parse(LETTERS.format(T=3) + PAIRS)
    assert chosen(model) == {"z": ("enumerate", 27)}
    agree(model, hessian=False)
    assert chosen(dpc.parse(LETTERS.format(T=40) + PAIRS)) == {"z": ("rloo", 1)}


def test_a_chain_that_says_enumerate_is_summed_and_one_that_says_rloo_is_drawn() -> None:
    asked = LETTERS.replace("softargmax(s))", "softargmax(s)) with grad={g}")
    asked = asked.replace("A[z[t-1]]))", "A[z[t-1]])) with grad={g}")
    assert chosen(dpc.parse(asked.format(T=4, g="enumerate") + EACH)) == {"z": ("enumerate", 3)}
    assert chosen(dpc.parse(asked.format(T=4, g="rloo") + EACH)) == {"z": ("rloo", 1)}


SWITCHES = """
dim N = 2
dim T = 3
param a[N] : real = [0.3, -0.4]
param b : real = 0.8
g ~ Bernoulli(logits=b)
z[n in N, 0] ~ Bernoulli(logits=a[n])
z[n in N, t in T[1..]] ~ Bernoulli(logits=if z[n, t-1] then b else a[n] - g)
"""


@pytest.mark.parametrize(
    ("cost", "points"),
    [
        ("sum[n in N, t in T] z[n, t] * a[n]^2", 2),
        ("sum[t in T] (sum[n in N] a[n] * z[n, t])^2", 4),
        pytest.param("sum[n in N] a[n] * (sum[t in T] z[n, t])^2", 8, marks=pytest.mark.slow),
        pytest.param("(sum(z) - b)^2", 64, marks=pytest.mark.slow),
        ("b * z[1, 2] + sum[n in N, t in T] z[n, t]", 64),
    ],
    ids=["each", "together at a step", "together along a chain", "all together", "the last"],
)
def test_chains_side_by_side_below_a_coin(cost: str, points: int) -> None:
    model = dpc.parse(f"{SWITCHES}minimize {cost} + g\n")
    assert chosen(model) == {"g": ("enumerate", 2), "z": ("enumerate", points)}
    agree(model, hessian=points == 4)


@pytest.mark.parametrize(
    "draws",
    [
        "z[0] ~ Bernoulli(logits=a)\nz[1] ~ Bernoulli(logits=b)\n"
        "z[t in T[2..]] ~ Bernoulli(logits=a * z[t-1] + b * z[t-2])",
        "z[3] ~ Bernoulli(logits=a)\nz[t in T[..3]] ~ Bernoulli(logits=b * z[t+1])",
        "z[0] ~ Bernoulli(logits=a)\nz[t in T[1..]] ~ Bernoulli(logits=b * z[t-1] + a * z[0])",
    ],
    ids=["two steps back", "backwards", "the first of all"],
)
def test_what_is_no_chain_is_summed_over_paths(draws: str) -> None:
    model = dpc.parse(
        f"dim T = 4\nparam a : real = 0.3\nparam b : real = -0.8\n{draws}\nminimize sum[t in T] b "
        "* z[t]\n"
    )
    assert chosen(model) == {"z": ("enumerate", 16)}
    agree(model, hessian=False)


@pytest.mark.slow
def test_a_recurrence_below_a_chain_looks_at_all_its_past() -> None:
    text = (
        "h[0] = 0.5 * z[0]\nh[t in T[1..]] = w[t] * h[t-1] + s[z[t]]\nminimize sum[t in T] h[t]^2\n"
    )
    model = dpc.parse(LETTERS.format(T=3) + text)
    assert chosen(model) == {"z": ("enumerate", 27)}
    agree(model, hessian=False)


def test_moves_without_mass_have_slopes() -> None:
    """From left to right, with p for each move: the marginals are binomial."""
    text = """
    dim T = 4
    dim K = 3
    param p : real(lower=0, upper=1) = 0.4
    param f[K] : real = [1, -2, 3]
    z[0] ~ Categorical([1, 0, 0])
    z[t in T[1..]] : K ~ table z[t-1] => 0, 1, 2 { 0 => 1 - p, p, 0; 1 => 0, 1 - p, p; 2 => 0, 0, 1 }
    minimize sum[t in T] f[z[t]]
    """

    def exact(params: Any) -> Any:
        p, f = params["p"], params["f"]
        total = f[0]
        for t in range(1, 4):
            total += f[0] * (1 - p) ** t + f[1] * t * p * (1 - p) ** (t - 1)
            total += f[2] * (1 - (1 - p) ** t - t * p * (1 - p) ** (t - 1))
        return total

    agree(dpc.parse(text), exact)


# ---- inside a program that is sampled otherwise

ESTIMATES = 2000


def agree_in_the_mean(model: dpc.Model, exact: Any) -> None:
    """Value and gradient to five standard errors, which a right estimate fails once in 1.7 million;
    seeds are fixed.
    """
    params = model.init()
    keys = jax.random.split(jax.random.key(3), ESTIMATES)
    found = quickly(jax.vmap(lambda key: model.value_and_grad(key, params, samples=2)), keys)
    true = quickly(jax.value_and_grad(exact), params)
    for estimate, value in zip(jax.tree.leaves(found), jax.tree.leaves(true), strict=True):
        error = np.std(estimate, 0) / np.sqrt(ESTIMATES)
        assert np.all(np.abs(np.mean(estimate, 0) - value) <= 5 * error + 1e-9)


def path_mean(params: Any, steps: int, cost: Any) -> Any:
    """E[sum_t cost(t, z[t])] of LETTERS, over all paths."""
    z = np.array(list(itertools.product(range(3), repeat=steps))).T
    mass = jax.nn.softmax(params["s"])[z[0]]
    for t in range(1, steps):
        mass *= jnp.take_along_axis(
            jax.nn.softmax(params["w"][t] * params["A"][z[t - 1]]), z[t][:, None], 1
        )[:, 0]
    return sum(jnp.sum(mass * cost(t, z[t])) for t in range(steps))


@pytest.mark.parametrize("grad", ["pathwise", "rloo"])
def test_real_draws_below_a_chain_are_drawn_for_each_of_its_values(grad: str) -> None:
    """E[(y - 1)^4] of y ~ Normal(m, 1) is m'^4 + 6 m'^2 + 3 with m' = m - 1."""
    below = (
        f"y[t in T] ~ Normal(w[t] * s[z[t]], 1) with grad={grad}\nminimize sum[t in T] (y[t] "
        "- 1)^4\n"
    )
    model = dpc.parse(LETTERS.format(T=3) + below)
    assert chosen(model) == {"z": ("enumerate", 3), "y": (grad, 1)}

    def exact(params: Any) -> Any:
        def cost(t: int, k: Any) -> Any:
            mean = params["w"][t] * params["s"][k] - 1
            return mean**4 + 6 * mean**2 + 3

        return path_mean(params, 3, cost)

    agree_in_the_mean(model, exact)


def test_a_real_draw_above_a_chain() -> None:
    """x ~ Normal(a, 1) by quadrature, the coins below it by their recursion."""
    text = """
    dim T = 3
    param a : real = 0.3
    x ~ Normal(a, 1)
    z[0] ~ Bernoulli(logits=x)
    z[t in T[1..]] ~ Bernoulli(logits=if z[t-1] then x else a)
    minimize sum[t in T] x * z[t]
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def exact(params: Any) -> Any:
        x = params["a"] + nodes
        up = first = jax.nn.sigmoid(x)
        total = up
        for _ in range(2):
            up = up * first + (1 - up) * jax.nn.sigmoid(params["a"])
            total += up
        return jnp.sum(weights / weights.sum() * x * total)

    model = dpc.parse(text)
    assert chosen(model) == {"x": ("pathwise", 1), "z": ("enumerate", 2)}
    agree_in_the_mean(model, exact)


def test_the_plan_says_what_is_summed(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "letters.dp"
    for steps, cost, words in (
        (400, EACH, "a finite chain: the sum over 3 values of each step"),
        (4, PAIRS, "a finite recurrence: the sum over its 81 paths is exact"),
        (40, PAIRS, "its paths are too many to sum"),
    ):
        path.write_text(LETTERS.format(T=steps) + cost)
        assert main(["plan", str(path)]) == 0
        assert words in capsys.readouterr().out
