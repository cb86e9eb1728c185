"""d log Z / dp where a probability p is 0 or 1: the limit, which is finite where Z is not 0.

With Z = a + p b, d log Z / dp = b / Z also at p = 0; as P(entry) d log p it is 0 times infinity.
So log p keeps its value of minus infinity, and derivatives alone are taken as if p were the
least number: b / Z = (least b / Z) / least. The same holds for what is a ratio of such sums.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from .path.layout import everywhere

Array = Any
LEAST = {8: 1e-150, 4: 1e-18}
"""By bytes of a number: products of two are not 0, and what is added of it is lost."""


def _least(p: Array) -> float:
    return LEAST.get(jnp.result_type(p).itemsize, LEAST[4])


@jax.custom_jvp
def log_probability(p: Array) -> Array:
    """log p, with a derivative that `with_limits` makes the right one at p = 0."""
    return jnp.log(p)


@log_probability.defjvp
def _slope(primals: Any, tangents: Any) -> Any:
    (p,), (dp,) = primals, tangents
    return log_probability(p), dp * _inverse(p)


@jax.custom_jvp
def _inverse(p: Array) -> Array:
    return 1 / jnp.where(p == 0, _least(p), p)


@_inverse.defjvp
def _unknown_slope(primals: Any, tangents: Any) -> Any:
    """Second derivatives are limits of differences that are lost in rounding: none are given."""
    (p,), (dp,) = primals, tangents
    return _inverse(p), jnp.where(p == 0, jnp.nan, -(_inverse(p) ** 2)) * dp


Answer = Callable[[Sequence[Array], Array], Any]


def with_limits(answer: Answer, has_limits: Sequence[bool]) -> Answer:
    """The same answer; the tables that are marked hold logarithms of probabilities."""
    if not any(has_limits):
        return answer

    @jax.custom_jvp
    def run(tables: Sequence[Array], log_evidence: Array) -> Any:
        return answer(tables, log_evidence)

    @run.defjvp
    def along(primals: Any, tangents: Any) -> Any:
        tables, log_evidence = primals
        marked = [t for t, is_marked in zip(tables, has_limits, strict=True) if is_marked]
        is_zero = jnp.stack([jnp.any(jnp.isneginf(table)) for table in marked])
        near = [
            jnp.where(jnp.isneginf(t), jnp.log(_least(t)), t) if is_marked else t
            for t, is_marked in zip(tables, has_limits, strict=True)
        ]
        beside, slope = jax.jvp(answer, (near, log_evidence), tangents)
        found = jax.lax.cond(
            everywhere(~jnp.any(is_zero)), lambda: beside, lambda: answer(tables, log_evidence)
        )
        return found, slope

    return run


@jax.custom_jvp
def without_slope(log_z: Array) -> Array:
    """log Z; where it is minus infinity its derivatives are not numbers."""
    return log_z


@without_slope.defjvp
def _slope_where_possible(primals: Any, tangents: Any) -> Any:
    (log_z,), (slope,) = primals, tangents
    return without_slope(log_z), slope * jnp.where(log_z > -jnp.inf, 1.0, jnp.nan)
