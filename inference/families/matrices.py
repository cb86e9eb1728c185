"""Families of positive definite matrices: Wishart."""

from typing import Any

import jax.numpy as jnp
from jax.scipy.special import multigammaln

from .family import Array, Family, Usual
from .normals import inverse
from .special import dual_lower, dual_symmetric, is_positive_definite, log_det, lower, symmetric


def wishart(size: int) -> Family:
    """exp(trace(theta_1 X) + theta_2 log |X| - A), theta = (-scale_matrix^-1 / 2, (concentration -
    size - 1) / 2).

    Symmetric matrices are packed by their lower triangle (`special.py`).
    """

    def half_count(theta: Array) -> Array:
        return theta[-1] + (size + 1) / 2

    def log_partition(theta: Array) -> Array:
        half = half_count(theta)
        return multigammaln(half, size) - half * log_det(-dual_symmetric(theta[:-1]))

    def in_domain(theta: Array) -> Array:
        return (
            jnp.isfinite(theta).all()
            & (theta[-1] > -1)
            & is_positive_definite(-dual_symmetric(theta[:-1]))
        )

    def from_usual(concentration: Array, scale_matrix: Array) -> Array:
        return jnp.append(dual_lower(-inverse(scale_matrix) / 2), (concentration - size - 1) / 2)

    def to_usual(theta: Array) -> Usual:
        return {
            "concentration": 2 * half_count(theta),
            "scale_matrix": inverse(-2 * dual_symmetric(theta[:-1])),
        }

    def slack(mean: Array) -> Array:
        """log |E X| - E log |X|, positive by Jensen's inequality."""
        return jnp.nan_to_num(log_det(symmetric(mean[:-1])) - mean[-1])

    def start(mean: Array) -> Array:
        """log |E X| - E log |X| is about size (size + 1) / 2 / concentration."""
        count = size - 1 + size * (size + 1) / 2 / slack(mean)
        return from_usual(count, symmetric(mean[:-1]) / count)

    return Family(
        name="Wishart",
        support=f"positive definite matrices of {size} rows",
        event_ndim=2,
        statistic=lambda x: jnp.append(lower(x), log_det(x)),
        log_base=lambda x: jnp.zeros_like(x[0, 0]),
        mean_log_base=lambda theta: jnp.zeros((), theta.dtype),
        contains=lambda x: is_positive_definite(x) & (x == x.T).all(),
        log_partition=log_partition,
        in_domain=in_domain,
        slack=slack,
        from_usual=from_usual,
        to_usual=to_usual,
        usual_ndims={"concentration": 0, "scale_matrix": 2},
        examples=wishart_examples(size),
        start=start,
    )


def wishart_examples(size: int) -> tuple[dict[str, Any], ...]:
    near = [[0.5 ** abs(i - j) * (1 + 0.2 * (i + j)) for j in range(size)] for i in range(size)]
    return {"concentration": size + 0.5, "scale_matrix": near}, {
        "concentration": size + 9.0,
        "scale_matrix": near,
    }
