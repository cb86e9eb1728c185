"""raw' = raw - step(gradient of an estimate of E[objective]), in unconstrained space.

Every step draws with a key made from the seed and the step's number, and steps are taken in chunks
of one length by one compiled program: a run that continues from the state after any chunk is the
same run, bit for bit.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dpc.dsl.graph.graph import Kind
from dpc.dsl.printable import InWords
from dpc.inference.optimise.stochastic import (
    CHUNK,
    LEAST_STEPS,
    OPTIMIZERS,
    is_level,
    is_surely_level,
    last_fall,
)

CHECKS = 2


class OptimisePlan(NamedTuple):
    """`samples` of the program for each estimate; None is as few as its estimators need."""

    steps: int = 5000
    rate: float = 0.01
    samples: int | None = None
    seed: int = 0
    optimizer: str = "adam"


class OptimiseState(NamedTuple):
    """After `step` steps: unconstrained parameters, what optimiser and baselines keep, losses."""

    step: int
    raw: Any
    memory: Any
    losses: np.ndarray

    @property
    def value(self) -> float:
        """The loss, as far as its noise lets us see."""
        return float(self.losses[-CHUNK:].mean())


class LossTrend(NamedTuple):
    """How much the loss fell between the halves of the last half of a run, and its error."""

    fall: float
    error: float


def start(model: Any, params: Mapping[str, Any], data: Any, plan: OptimisePlan) -> OptimiseState:
    raw = model.unconstrain(dict(params))
    memory = OPTIMIZERS[plan.optimizer](plan.rate).init(raw), model.objective(data).initial_state
    return OptimiseState(0, raw, memory, np.zeros(0))


def optimise(
    model: Any, data: Any, plan: OptimisePlan, state: OptimiseState
) -> Iterator[OptimiseState]:
    """The state after every stretch, until the steps are done or nothing more is gained."""
    advance = _stretch(model, data, plan)
    key = jax.random.key(plan.seed)
    while state.step < plan.steps and not is_over(state.losses):
        count = min(CHUNK - state.step % CHUNK, plan.steps - state.step)
        raw, memory, losses = advance(key, state.step, count, state.raw, state.memory)
        losses = np.concatenate([state.losses, np.asarray(losses)[:count]])
        state = OptimiseState(state.step + count, raw, memory, losses)
        if not np.all(np.isfinite(state.losses[-count:])):
            step = int(np.argmax(~np.isfinite(state.losses)))
            raise Diverged(f"the loss was not finite at step {step}: a smaller rate may help")
        yield state


class Diverged(InWords, ArithmeticError):
    """The loss left the finite numbers."""


def _stretch(model: Any, data: Any, plan: OptimisePlan) -> Callable[..., Any]:
    """Up to CHUNK steps; how many is an argument, so that all chunks run the same program."""
    optimizer = OPTIMIZERS[plan.optimizer](plan.rate)
    sign = 1.0 if model.graph.of_kind(Kind.COST)[0].minimize else -1.0

    objective = model.objective(data)
    samples = objective.least_samples if plan.samples is None else plan.samples

    def loss(raw: Any, key: Any, baselines: Any) -> Any:
        value, after = objective.estimate(model.constrain(raw), data or {}, key, samples, baselines)
        return sign * value, after

    def advance(key: Any, first: Any, count: Any, raw: Any, memory: Any) -> Any:
        def step(k: Any, carried: Any) -> Any:
            raw, (memory, baselines), losses = carried
            own = jax.random.fold_in(key, first + k)
            (value, baselines), gradient = jax.value_and_grad(loss, has_aux=True)(
                raw, own, baselines
            )
            change, memory = optimizer.update(gradient, memory, raw)
            return optax.apply_updates(raw, change), (memory, baselines), losses.at[k].set(value)

        return jax.lax.fori_loop(0, count, step, (raw, memory, jnp.zeros(CHUNK)))

    return jax.jit(advance)


# ---- when to stop


def has_converged(losses: np.ndarray) -> bool:
    """What is left to fall, if anything, the noise hides: at several checks in a row."""
    return _at_checks(losses, is_level)


def is_over(losses: np.ndarray) -> bool:
    """More steps would gain nothing: a noise that could hide a fall is a reason to go on."""
    return _at_checks(losses, is_surely_level)


def _at_checks(losses: np.ndarray, test: Callable[[np.ndarray], bool]) -> bool:
    """One after each whole stretch."""
    ends = [(len(losses) // CHUNK - k) * CHUNK for k in range(CHECKS)]
    return ends[-1] >= LEAST_STEPS and all(test(losses[:end]) for end in ends)


def progress(losses: np.ndarray) -> LossTrend:
    """Of the last half of the losses, the mean of the first half less the mean of the second."""
    return LossTrend(*last_fall(losses))


VALUES = 1000
"""Estimates of the objective that is reported."""


def value_at(
    model: Any, data: Any, plan: OptimisePlan, state: OptimiseState
) -> tuple[float, float]:
    """The mean objective at the parameters of the state, and its standard error."""
    objective = model.objective(data)
    samples = objective.least_samples if plan.samples is None else plan.samples

    @jax.jit
    def values(raw: Any, keys: Any, baselines: Any) -> Any:
        params = model.constrain(raw)
        value = lambda key: objective.estimate(params, data or {}, key, samples, baselines)[0]  # noqa: E731
        return jax.lax.map(value, keys)

    keys = jax.random.split(jax.random.fold_in(jax.random.key(plan.seed), state.step), VALUES)
    found = np.asarray(values(state.raw, keys, state.memory[1]))
    return float(found.mean()), float(found.std(ddof=1) / VALUES**0.5)


def smoothed(losses: np.ndarray) -> np.ndarray:
    """The mean of the losses of a window that ends at each step."""
    total = np.concatenate([[0.0], np.cumsum(losses)])
    end = np.arange(1, len(losses) + 1)
    begin = np.maximum(end - CHUNK, 0)
    mean: np.ndarray = (total[end] - total[begin]) / (end - begin)
    return mean
