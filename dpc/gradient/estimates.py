"""Many independent estimates of an objective and its derivatives: means and their errors."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dpc.dsl.record import Record

TOGETHER = 128


class EstimateMoments(Record):
    """Of `count` estimates of an array: the mean, and the variance of one estimate."""

    mean: np.ndarray
    variance: np.ndarray
    count: int

    @property
    def error(self) -> np.ndarray:
        """The standard error of the mean."""
        return np.sqrt(self.variance / self.count)


class Estimates(Record):
    """`gradient` by parameter, `hessian` by pairs; `seconds` is the time of one estimate."""

    value: EstimateMoments
    gradient: dict[str, EstimateMoments]
    hessian: dict[tuple[str, str], EstimateMoments]
    seconds: float


class Estimator:
    """Estimates of an objective at these parameters, in batches, by one compiled program."""

    def __init__(self, model: Any, params: Any, data: Any, together: int, hessian: bool = False):
        import jax

        def one(key: Any) -> Any:
            value, gradient = model.value_and_grad(key, params, data)
            second = jax.hessian(lambda p: model.surrogate(key, p, data))(params) if hessian else {}
            return value, gradient, second

        self.together = min(together, TOGETHER)
        keys = jax.random.split(jax.random.key(0), self.together)
        self.batch = jax.jit(jax.vmap(one)).lower(keys).compile()

    def estimate(self, key: Any, count: int, turns: int = 1) -> Estimates:
        """`count` estimates; the time is the best of this many turns."""
        import jax

        batches = -(-count // self.together)
        keys = jax.random.split(key, (batches, self.together))
        found, seconds = self._timed(keys, turns)
        value, gradient, second = jax.tree.map(
            lambda *parts: moments(np.concatenate(parts)[:count]), *found
        )
        pairs = {(a, b): m for a, row in second.items() for b, m in row.items()}
        return Estimates(value, gradient, pairs, seconds / (batches * self.together))

    def _timed(self, keys: Any, turns: int) -> tuple[list[Any], float]:
        import jax

        best = float("inf")
        for _ in range(turns):
            start = time.perf_counter()
            found = jax.block_until_ready([self.batch(own) for own in keys])
            best = min(best, time.perf_counter() - start)
        return found, best


def moments(array: Any) -> EstimateMoments:
    """Estimates are along the first axis."""
    array = np.asarray(array)
    many = len(array) > 1
    return EstimateMoments(
        array.mean(0), array.var(0, ddof=1) if many else np.zeros(array.shape[1:]), len(array)
    )
