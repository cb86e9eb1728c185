"""The distribution of maximum entropy on finitely many points with given moments (PL21)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import linprog

from ..errors import InferenceError
from .errors import NoMaximumError
from .family import Array, Family
from .fits import MomentFit, fit_to_moments
from .special import floats


def finite(statistics: Array, log_base: Array | None = None) -> Family:
    """The family on the points 0 to n - 1 with the statistics of each as a row: A = log sum h
    exp(statistics theta).

    Its set of means is the polytope of the rows; `maximise_entropy` says whether moments are inside
    it.
    """
    statistics = floats(statistics)
    size = statistics.shape[0]
    base = jnp.zeros(size, statistics.dtype) if log_base is None else floats(log_base)

    def probs(theta: Array) -> Array:
        return jax.nn.softmax(statistics @ theta + base)

    def from_probs(probs: Array) -> Array:
        """Least squares, exact for a member of the family."""
        centred = statistics - statistics.mean(axis=0, keepdims=True)
        logits = jnp.log(probs) - base
        return jnp.linalg.lstsq(centred, logits - logits.mean())[0]

    return Family(
        name="Finite",
        support=f"whole numbers from 0 to {size - 1}",
        event_ndim=0,
        statistic=lambda x: statistics[x.astype(int)],
        log_base=lambda x: base[x.astype(int)],
        mean_log_base=lambda theta: probs(theta) @ base,
        contains=lambda x: (x >= 0) & (x < size) & (x == jnp.floor(x)),
        log_partition=lambda theta: jax.nn.logsumexp(statistics @ theta + base),
        in_domain=lambda theta: jnp.isfinite(theta).all(),
        slack=lambda mean: jnp.ones_like(mean[0]),
        from_usual=from_probs,
        to_usual=lambda theta: {"probs": probs(theta)},
        usual_ndims={"probs": 1},
        examples=(),
        start=jnp.zeros_like,
    )


def maximise_entropy(
    statistics: Array, moments: Array, log_base: Array | None = None
) -> tuple[Array, MomentFit]:
    """argmax_p H(p) + <p, log_base> such that p' statistics = moments; the fit holds the Lagrange
    multipliers.

    One row of `statistics` to a point, one column to a moment. The probabilities are
    softargmax(statistics natural + log_base).
    """
    verify_independent(np.asarray(statistics))
    verify_inside(np.asarray(statistics), np.asarray(moments))
    family = finite(statistics, log_base)
    fit = fit_to_moments(family, moments)
    return family.to_usual(fit.natural)["probs"], fit


def verify_independent(statistics: Any) -> None:
    centred = statistics - statistics.mean(axis=0)
    rank = int(np.linalg.matrix_rank(centred))
    if rank < statistics.shape[1]:
        raise InferenceError(
            f"{statistics.shape[1]} statistics of which only {rank} are affinely independent: some moment is "
            f"fixed by the others, or is a constant; leave it out"
        )


def verify_inside(statistics: Any, moments: Any) -> None:
    """Inside the rows' polytope: max t with p >= t, sum p = 1, p' statistics = moments is > 0."""
    size, count = statistics.shape
    if moments.shape != (count,):
        raise InferenceError(
            f"{count} statistics need moments of shape ({count},), not {moments.shape}"
        )
    scale = np.abs(statistics - moments).max(axis=0)
    rows = np.vstack([((statistics - moments) / scale).T, np.ones(size)])
    with_t = np.hstack([rows, rows.sum(axis=1, keepdims=True)])
    found = linprog(
        np.append(np.zeros(size), -1.0),
        A_eq=with_t,
        b_eq=np.append(np.zeros(count), 1.0),
        method="highs",
    )
    least = found.x[-1] if found.status == 0 else -np.inf
    if least <= 8 * np.finfo(statistics.dtype).eps:
        raise NoMaximumError(
            f"no maximum exists: the moments {moments.tolist()} are not inside the polytope of the statistics but on "
            f"its boundary or outside, so that some point has probability zero or no distribution has these moments"
        )
