"""Gradients along the paths of random matrices, against closed forms of their means."""

import numpy as np
import pytest

import dpc

LOOSE_JAX = "NumPyro promotes types and ranks"

SIGMAS = 5.0
SIZE, DF = 2, 7.0
SCALE = np.array([[1.0, 0.4], [0.4, 2.0]])
MEANS = {"Wishart": lambda df: df * SCALE, "InverseWishart": lambda df: SCALE / (df - SIZE - 1)}


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("Wishart", False),
        ("InverseWishartCholesky", True),
        pytest.param("WishartCholesky", True, marks=pytest.mark.slow),
        pytest.param("InverseWishart", False, marks=pytest.mark.slow),
    ],
)
def test_the_path_of_a_matrix_passes_the_degrees_of_freedom(name: str, root: bool) -> None:
    mean = MEANS[name.removesuffix("Cholesky")]
    truth = np.sum(mean(DF + 1e-4) - mean(DF - 1e-4)) / 2e-4
    scale = "cholesky(S)" if root else "S"
    whole = "A @ transpose(A)" if root else "A"
    text = f"""
        dim N = {SIZE}
        data S : covariance[N, N] = {SCALE.tolist()}
        param t : real(lower=0) = {DF}
        A ~ {name}(t, {scale})
        minimize sum({whole})
    """
    found = dpc.parse(text).grad(samples=2000)
    assert [choice.method for choice in found.choices] == ["pathwise"]
    moments = found.estimates.gradient["t"]
    assert abs(float(moments.mean) - truth) < SIGMAS * float(moments.error)
