"""Natural gradients against Newton's method and closed forms, and losses with sparse
predictions.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpc
from dpc.inference.optimise.gauss_newton import GaussNewton
from dpc.inference.optimise.newton import Newton
from dpc.learn.choose import MethodChoice, NotApplicable, loss_of
from dpc.learn.family import Natural

MIXTURE = """
dim N
dim K = 2
observed x[N] : real
param w[K]    : simplex
param mu[K]   : real
z[i in N] ~ Categorical(w)
x[i in N] ~ Normal(mu[z[i]], 1)
"""

GLM = """
dim N
dim F
data x[N, F]    : real
observed a[N]   : bool
observed n[N]   : int
param w[F] : real
param v[F] : real
a[i in N] ~ Bernoulli(logits=dot(x[i], w))
n[i in N] ~ Poisson(log_rate=dot(x[i], v))
"""


@pytest.fixture(scope="module")
def regression() -> Any:
    rng = np.random.default_rng(11)
    x = rng.normal(size=(30, 2))
    data = {"x": x, "a": rng.random(30) < 0.5, "n": rng.poisson(1.5, 30)}
    with jax.enable_x64(True):
        return x, data, dpc.parse(GLM).likelihood(data)


def test_with_canonical_links_newton_is_the_natural_gradient(regression: Any) -> None:
    x, data, likelihood = regression
    natural = Natural(likelihood)
    raw = {"w": jnp.asarray([0.2, -0.1]), "v": jnp.asarray([0.1, 0.3])}
    methods = [
        Newton(lambda r, d: likelihood.loss(likelihood.constrain(r), d), likelihood.arrays),
        GaussNewton(natural.outputs, natural.loss, likelihood.arrays, inner_steps=50),
    ]
    after = [method.advance(method.start(raw)).raw for method in methods]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-8), *after)
    weights = np.exp(x @ raw["v"])
    step = np.linalg.solve(x.T @ (weights[:, None] * x), x.T @ (data["n"] - weights))
    np.testing.assert_allclose(after[0]["v"], raw["v"] + step, rtol=1e-8)


def test_fisher_is_gauss_newton_is_the_covariance_of_the_score(regression: Any) -> None:
    x, _, likelihood = regression
    natural = Natural(likelihood)
    raw = {"w": jnp.asarray([0.2, -0.1]), "v": jnp.asarray([0.1, 0.3])}

    def product(vector: Any) -> Any:
        out, push = jax.linearize(lambda r: natural.outputs(r, likelihood.arrays), raw)
        curved = jax.jvp(
            jax.grad(lambda o: natural.loss(o, likelihood.arrays)), (out,), (push(vector),)
        )[1]
        return jax.linear_transpose(push, raw)(curved)[0]

    found = np.stack([jax.jit(product)({"w": e, "v": jnp.zeros(2)})["w"] for e in jnp.eye(2)])
    p = 1 / (1 + np.exp(-x @ raw["w"]))
    scores = [
        (np.outer(row, row), (1 - q) ** 2 * q + q**2 * (1 - q)) for row, q in zip(x, p, strict=True)
    ]
    np.testing.assert_allclose(found, sum(outer * share for outer, share in scores), atol=1e-10)


def test_natural_gradients_find_the_same_maximum(regression: Any) -> None:
    _, data, _ = regression
    model = dpc.parse(GLM)
    natural, newton = (
        model.fit(data, method=method, errors=False) for method in ("natural", "newton")
    )
    assert natural.converged
    assert natural.value == pytest.approx(newton.value, abs=1e-9)
    with pytest.raises(NotApplicable, match="natural gradients need complete data"):
        dpc.parse(MIXTURE).fit({"x": np.zeros(3)}, method="natural")


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    law = "param w[K] : real\ny[i in N] ~ Categorical(logits=x[i] * w)"
    text = f"dim N\ndim K = 3\ndata x[N] : real\nobserved y[N] : K\n{law}"
    likelihood = dpc.parse(text).likelihood({"x": [1.0, 2.0], "y": [0, 1]})
    loss = jax.jit(loss_of(likelihood, MethodChoice("lbfgs", "", "sparsemax")))
    theta = np.array([[0.3, 0.1, -0.9], [0.6, 0.2, -1.8]])
    expected = 0.0
    for row, y in zip(theta, (0, 1), strict=True):
        p = min((q for q in simplex_grid(200)), key=lambda q: float(np.sum((q - row) ** 2)))
        expected += p @ row - (p @ p - 1) / 2 - row[y]
    assert float(loss({"w": jnp.asarray(theta[0])}, likelihood.arrays)) == pytest.approx(
        expected, abs=1e-4
    )
    with pytest.raises(NotApplicable, match="it is for laws with logits"):
        dpc.parse("b ~ Bernoulli(0.4)").fit({"b": [True]}, loss="sparsemax")


def simplex_grid(n: int) -> list[np.ndarray]:
    return [np.array([i, j, n - i - j]) / n for i in range(n + 1) for j in range(n + 1 - i)]
