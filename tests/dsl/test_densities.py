"""Densities that SciPy has no function for: by change of variables, quadrature, and checked
constants.
"""

from __future__ import annotations

from itertools import product

import jax
import numpy as np
import pytest
import scipy.integrate as si
import scipy.linalg as sl
import scipy.special as sp
import scipy.stats as st

import dpc
from dpc.dsl.library.distributions import DISTRIBUTIONS

LOOSE_JAX = "NumPyro promotes types and ranks"

ROOT = np.array([[1.2, 0, 0], [0.4, 0.9, 0], [-0.3, 0.5, 1.4]])
CORRELATION = np.array([[1, 0.3, -0.2], [0.3, 1, 0.5], [-0.2, 0.5, 1]])


def log_prob(text: str, x: object, **data: object) -> float:
    model = dpc.parse(text)
    return float(jax.jit(lambda x: model.log_prob({}, {"x": x}, data))(np.asarray(x)))


# ---- vectors


@pytest.mark.parametrize("size", [2, 4])
def test_zero_sum_normal_is_a_gaussian_on_an_orthonormal_basis(size: int) -> None:
    x = np.random.default_rng(0).normal(size=size)
    x -= x.mean()
    basis = sl.null_space(np.ones((1, size)))
    expected = st.norm.logpdf(basis.T @ x, 0, 0.7).sum()
    np.testing.assert_allclose(
        log_prob(f"dim D = {size}\nx ~ ZeroSumNormal(D, 0.7)\n", x), expected, rtol=1e-9
    )


@pytest.mark.parametrize("mean", [(0.8, -0.5), (0.4, 1.1, -0.6)])
def test_projected_normal_is_a_gaussian_summed_along_the_ray(mean: tuple[float, ...]) -> None:
    """f(u) = int_0^inf r^(n-1) N(r u; mean, 1) dr."""
    n = len(mean)
    u = np.arange(1.0, n + 1)
    u /= np.linalg.norm(u)
    ray = si.quad(
        lambda r: r ** (n - 1) * np.exp(st.norm.logpdf(r * u, mean).sum()),
        0,
        np.inf,
        epsabs=0,
        epsrel=1e-12,
    )
    text = f"dim N = {n}\ndata mean[N] : real\nx ~ ProjectedNormal(mean)\n"
    np.testing.assert_allclose(log_prob(text, u, mean=np.array(mean)), np.log(ray[0]), rtol=1e-9)


# ---- correlations


def log_volume(size: int, eta: float) -> float:
    """The integral of det^(eta - 1) over correlation matrices (Lewandowski, Kurowicka and Joe
    2009).
    """
    k = np.arange(1, size)
    return (
        k / 2 * np.log(np.pi)
        + sp.gammaln(eta + (size - 1 - k) / 2)
        - sp.gammaln(eta + (size - 1) / 2)
    ).sum()


def test_the_volume_of_correlation_matrices() -> None:
    """In two dimensions over one correlation, in three over those with a positive determinant."""
    flat = si.quad(lambda r: (1 - r * r) ** 0.5, -1, 1)[0]
    np.testing.assert_allclose(log_volume(2, 1.5), np.log(flat), rtol=1e-8)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    total = 0.0
    for (a, wa), (b, wb) in product(zip(nodes, weights, strict=True), repeat=2):
        width = np.sqrt((1 - a * a) * (1 - b * b))
        c = a * b + width * nodes
        total += wa * wb * width * (weights * (1 + 2 * a * b * c - a * a - b * b - c * c)).sum()
    np.testing.assert_allclose(log_volume(3, 2.0), np.log(total), rtol=1e-4)


@pytest.mark.parametrize("eta", [0.8, 2.5])
def test_lkj(eta: float) -> None:
    expected = (eta - 1) * np.linalg.slogdet(CORRELATION)[1] - log_volume(3, eta)
    np.testing.assert_allclose(
        log_prob(f"dim K = 3\nx ~ LKJ(K, {eta})\n", CORRELATION), expected, rtol=1e-9
    )


@pytest.mark.parametrize("eta", [0.8, 2.5])
def test_lkj_cholesky(eta: float) -> None:
    """dR / dL is the product of L_kk^(K - k) over the rows after the first."""
    root = np.linalg.cholesky(CORRELATION)
    jacobian = np.log(np.diag(root)) @ [0, 1, 0]
    expected = (eta - 1) * np.linalg.slogdet(CORRELATION)[1] - log_volume(3, eta) + jacobian
    np.testing.assert_allclose(
        log_prob(f"dim K = 3\nx ~ LKJCholesky(K, {eta})\n", root), expected, rtol=1e-9
    )


def test_the_jacobian_of_a_correlation_root() -> None:
    """By finite differences of the entries below the diagonal."""
    root = np.linalg.cholesky(CORRELATION)
    below = np.tril_indices(3, -1)

    def correlations(free: np.ndarray) -> np.ndarray:
        found = np.zeros((3, 3))
        found[below] = free
        found[np.diag_indices(3)] = np.sqrt(1 - (found**2).sum(axis=1))
        return (found @ found.T)[below]

    steps = 1e-6 * np.eye(3)
    matrix = [(correlations(root[below] + s) - correlations(root[below] - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(
        np.linalg.slogdet(matrix)[1], np.log(np.diag(root)) @ [0, 1, 0], rtol=1e-6
    )


# ---- covariances


@pytest.mark.parametrize(
    ("name", "peer"), [("WishartCholesky", st.wishart), ("InverseWishartCholesky", st.invwishart)]
)
def test_roots_of_wishart_matrices(name: str, peer: object) -> None:
    """d(L L^T) / dL is 2^n times the product of L_ii^(n - i + 1)."""
    chol = np.array([[0.9, 0, 0], [0.2, 1.1, 0], [0.5, -0.4, 0.8]])
    expected = (
        peer.logpdf(ROOT @ ROOT.T, 4.5, chol @ chol.T)
        + 3 * np.log(2)
        + np.log(np.diag(ROOT)) @ [3, 2, 1]
    )
    text = f"dim N = 3\ndata chol : cholesky[N, N]\nx ~ {name}(4.5, chol)\n"
    np.testing.assert_allclose(log_prob(text, ROOT, chol=chol), expected, rtol=1e-9)


# ---- outside the support

ARGUMENTS = {"positive": "1.3", "real": "0.4", "unit": "0.3"}
OUTSIDE = {
    "HalfNormal(1)": -1.0, "HalfCauchy(2)": -0.5, "Exponential(1)": -0.1, "Gamma(2, 3)": -1.0, "Beta(2, 3)": 1.5,
    "LogNormal(0, 1)": -1.0, "InverseGamma(5, 5)": -2.0, "Uniform(0, 1)": 1.1, "Pareto(1, 2)": 0.5,
    "TruncatedNormal(0, 1, lower=0)": -0.1, "Logistic(0, 1)": -np.inf, "Gumbel(0, 1)": np.inf,
    "Poisson(3)": -1, "Binomial(4, 0.5)": 5, "Geometric(0.5)": -1,
}  # fmt: skip


@pytest.mark.parametrize("law", OUTSIDE)
def test_outside_the_support_the_density_is_zero(law: str) -> None:
    assert log_prob(f"x ~ {law}\n", OUTSIDE[law]) == -np.inf


def test_off_the_simplex_the_density_is_zero() -> None:
    text = "dim K = 3\nx ~ Dirichlet(ones(K))\n"
    assert log_prob(text, np.array([0.2, 0.3, 0.6])) == -np.inf
    assert log_prob(text, np.array([0.7, 0.5, -0.2])) == -np.inf


@pytest.mark.parametrize("row", [r for r in DISTRIBUTIONS if r.on_the_line], ids=lambda r: r.text)
def test_laws_on_the_whole_line_need_no_check(row: object) -> None:
    """Their support is the line: a density at every number, and none at its ends."""
    arguments = ", ".join(f"{p.name}={ARGUMENTS[p.type.domain]}" for p in row.signature.params)
    model = dpc.parse(f"x ~ {row.name}({arguments})\n")
    assert "validate_args=False" in model.program
    points = np.array([-np.inf, np.inf, -1e6, -1.0, 0.0, 0.4, 1e6])
    found = jax.vmap(lambda x: model.log_prob({}, {"x": x}))(points)
    assert (found[:2] == -np.inf).all()
    assert np.isfinite(found[2:]).all()
