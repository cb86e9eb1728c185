"""Stochastic gradients: raw' = raw - step(gradient of loss(raw, some rows, key)), Adam or descent.

Every step has a key of its own, made from the seed and its number, for the rows it draws (with
replacement) and for the loss. Steps are taken in chunks of one length by one compiled program, so
that a run that goes on after any chunk is the same run, bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from ..errors import InferenceError
from .method import Array, Minimiser, State, Verdict, largest, not_finite

CHUNK = 50
LEAST_STEPS = 1000
SMALL = 1e-6
WORTH = 1e-3
"""Of what a run has gained: a fall over its last half that is worth going on for."""
OPTIMIZERS: dict[str, Callable[[float], optax.GradientTransformation]] = {
    "adam": optax.adam,
    "sgd": optax.sgd,
}


class StochasticMemory(NamedTuple):
    """What the optimiser remembers, and the losses of all steps."""

    optimizer: Any
    losses: Array


@dataclass(frozen=True, eq=False)
class Stochastic(Minimiser):
    """`loss(raw, batch, key)` estimates what is minimised from `batch_size` rows of the data (all
    if None), the leading axis of every array. The value of a state is the mean over its last chunk,
    the gradient norm that of the mean gradient over it. At the `limit` of steps a fall that noise
    hides is none; before, more steps may show it.
    """

    loss: Callable[[Any, Any, Array], Array]
    data: Any = None
    batch_size: int | None = None
    rate: float = 0.01
    optimizer: str = "adam"
    seed: int = 0
    limit: int | None = None
    name: str = "stochastic gradients"

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise InferenceError(
                f"optimizer is one of {', '.join(OPTIMIZERS)}, not {self.optimizer!r}"
            )
        if self.batch_size is not None and self.batch_size < 1:
            raise InferenceError(f"batch_size is at least 1, not {self.batch_size}")

    def start(self, raw: Any) -> State:
        """Nothing is estimated yet: value and gradient norm are no numbers."""
        dtype = ravel_pytree(raw)[0].dtype
        first = OPTIMIZERS[self.optimizer](self.rate).init(raw)
        memory = StochasticMemory(first, np.zeros(0, dtype))
        unknown = jnp.full((), jnp.nan, dtype)
        return State(jnp.zeros((), jnp.int32), raw, unknown, unknown, memory)

    def advance(self, state: State) -> State:
        past: StochasticMemory = state.memory
        setting = self.loss, self.optimizer, self.batch_size
        key = jax.random.key(self.seed)
        begin = state.step, state.raw, past.optimizer
        raw, memory, losses, norm = run_chunk(setting, self.rate, self.data, key, *begin)
        seen = np.concatenate([past.losses, np.asarray(losses)])
        value = jnp.where(jnp.isfinite(losses).all(), jnp.mean(losses), jnp.nan)
        return State(state.step + CHUNK, raw, value, norm, StochasticMemory(memory, seen))

    def verdict(self, state: State) -> Verdict | None:
        """No certificate: over when the loss neither falls nor rises."""
        losses = np.asarray(state.memory.losses)
        if losses.size and (wrong := not_finite(state)) is not None:
            return wrong
        is_last = self.limit is not None and len(losses) >= self.limit
        test = is_level if is_last else is_surely_level
        if len(losses) < LEAST_STEPS or not all(map(test, (losses, losses[:-CHUNK]))):
            return None
        fall, error = last_fall(losses)
        change = f"the loss fell by {fall:.2g}, its noise being {error:.2g}"
        return Verdict(True, f"over the last half of the run {change}")


def last_fall(losses: np.ndarray) -> tuple[float, float]:
    """The mean over the third quarter of a run less that of the fourth, and its error."""
    quarter = len(losses) // 4
    earlier, later = losses[-2 * quarter : -quarter], losses[-quarter:]
    error = np.sqrt((np.var(earlier, ddof=1) + np.var(later, ddof=1)) / quarter)
    return float(earlier.mean() - later.mean()), float(error)


def is_level(losses: np.ndarray) -> bool:
    """Neither falls nor rises beyond its noise."""
    fall, error = last_fall(losses)
    return abs(fall) < max(2 * error, small_change(losses))


def is_surely_level(losses: np.ndarray) -> bool:
    """Also, the noise is too small to hide a fall that is worth more steps."""
    fall, error = last_fall(losses)
    gained = abs(float(losses[:CHUNK].mean()) - float(losses[-CHUNK:].mean()))
    return abs(fall) + 2 * error < max(WORTH * gained, small_change(losses))


def small_change(losses: np.ndarray) -> float:
    level = abs(float(losses[-(len(losses) // 4) :].mean()))
    return SMALL * (1 + level)


@partial(jax.jit, static_argnums=0)
def run_chunk(
    setting: Any, rate: Array, data: Any, key: Array, first: Array, raw: Any, memory: Any
) -> Any:
    """CHUNK steps: parameters, the optimiser's memory, losses, norm of the mean gradient."""
    loss, optimizer, batch_size = setting
    update = OPTIMIZERS[optimizer](rate).update

    def step(carried: Any, number: Array) -> Any:
        raw, memory, total = carried
        drawing, own = jax.random.split(jax.random.fold_in(key, number))
        batch = data
        if batch_size is not None:
            rows = jax.tree.leaves(data)[0].shape[0]
            chosen = jax.random.randint(drawing, (batch_size,), 0, rows)
            batch = jax.tree.map(lambda leaf: leaf[chosen], data)
        value, gradient = jax.value_and_grad(loss)(raw, batch, own)
        with jax.numpy_dtype_promotion("standard"):  # optax raises floats to the power of counts
            change, memory = update(gradient, memory, raw)
        return (optax.apply_updates(raw, change), memory, total + ravel_pytree(gradient)[0]), value

    start = raw, memory, jnp.zeros_like(ravel_pytree(raw)[0])
    numbers = first + jnp.arange(CHUNK, dtype=jnp.int32)
    (raw, memory, total), losses = jax.lax.scan(step, start, numbers)
    return raw, memory, losses, largest(total) / CHUNK
