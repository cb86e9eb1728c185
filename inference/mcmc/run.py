"""NUTS in chunks: warm-up and draws of several chains, each a pure function of the state before.

A state is arrays alone, every draw is made from the key in it, and all chunks run one compiled
program: a run that continues from any state is the same run, bit for bit.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import NUTS
from numpyro.infer.util import ParamInfo

from .target import Start, TargetDensity, Values, find_starts

PORTION = 100
CHUNK = 100
PURPOSES = {"run": 0, "fit": 1, "groups": 2}
APART = 10**6  # keys that are split or counted off from a seed have smaller numbers than this


def over_draws(function: Callable[..., Any], values: dict[str, Any], key: Any = None) -> Any:
    """function(values of one draw), or with a key of its own too, as [chain, draw, ...]."""
    chains, draws = next(iter(values.values())).shape[:2]
    flat = {
        name: jnp.reshape(value, (chains * draws, *value.shape[2:]))
        for name, value in values.items()
    }
    given = (flat,) if key is None else (flat, jax.random.split(key, chains * draws))
    run = jax.jit(lambda g: jax.lax.map(lambda one: function(*one), g, batch_size=PORTION))
    found = run(given)
    return jax.tree.map(lambda x: np.asarray(x).reshape(chains, draws, *x.shape[1:]), found)


def key_for(purpose: str, seed: int) -> Any:
    """A key of its own for every use of one seed."""
    return jax.random.fold_in(jax.random.PRNGKey(seed), APART + PURPOSES[purpose])


class NutsPlan(NamedTuple):
    """How to run; the number of draws is not part of it, a run can always be made longer."""

    warmup: int = 1000
    chains: int = 4
    seed: int = 0
    target_accept: float = 0.8
    max_tree_depth: int = 10
    dense_mass: bool = False


class NutsState(NamedTuple):
    """After `step` steps, warm-up included: the kernel's state, chains along first axes."""

    step: int
    kernel: Any


class Draws(NamedTuple):
    """[chain, draw, ...] of every latent and deterministic site, and of sampler statistics."""

    values: dict[str, np.ndarray[Any, Any]]
    stats: dict[str, np.ndarray[Any, Any]]

    @property
    def length(self) -> int:
        return int(self.stats["diverging"].shape[1])


Seen = Callable[[int, Draws], None]
"""Given a chain and its newest [draw, ...]; called from the chain's own thread."""


def join(parts: list[Draws]) -> Draws:
    """Chunks one after the other."""
    found: Draws = jax.tree.map(lambda *pieces: np.concatenate(pieces, axis=1), *parts)
    return found


class NutsRun:
    def __init__(self, model: Callable[[], None], plan: NutsPlan):
        self.target = TargetDensity(model)
        self.plan = plan
        self.kernel = NUTS(
            potential_fn=self.target.potential,
            target_accept_prob=plan.target_accept,
            max_tree_depth=plan.max_tree_depth,
            dense_mass=plan.dense_mass,
        )

    def start(self) -> NutsState:
        """Before the first step; raises NoStart. The program of the steps is compiled meanwhile."""
        _ = self._program
        keys = jax.random.split(key_for("run", self.plan.seed), 2 * self.plan.chains)
        starts = find_starts(self.target, keys[: self.plan.chains])
        init = jax.jit(self._init)
        pairs = zip(keys[self.plan.chains :], starts, strict=True)
        states = [init(key, start) for key, start in pairs]
        return NutsState(0, jax.tree.map(lambda *leaves: jnp.stack(leaves), *states))

    def _init(self, key: Any, start: Start) -> Any:
        return self.kernel.init(key, self.plan.warmup, ParamInfo(*start), (), {})

    @property
    def _blank(self) -> Any:
        """The shapes of one chain's state."""
        raw = {name: jnp.zeros(shape) for name, shape in self.target.shapes.items()}
        return jax.eval_shape(self._init, jax.random.PRNGKey(0), Start(raw, jnp.zeros(()), raw))

    def blank(self) -> NutsState:
        """A state without numbers, to put kept ones in."""
        return NutsState(0, self._blank)

    @cached_property
    def _program(self) -> Future[Any]:
        """Traced here, as threads do not know the caller's precision; compiled in a thread."""
        lowered = jax.jit(self._steps).lower(self._blank, jnp.asarray(0))
        pool = ThreadPoolExecutor(1)
        program = pool.submit(lowered.compile)
        pool.shutdown(wait=False)
        return program

    def advance(
        self, state: NutsState, count: int, seen: Seen = lambda chain, draws: None
    ) -> tuple[NutsState, Draws]:
        """`count` more steps, draws after the warm-up; chains call `seen` after each chunk."""
        parts: list[Draws] = []
        end = state.step + count
        while state.step < end:
            until_draws = self.plan.warmup - state.step
            steps = min(CHUNK, end - state.step, until_draws if until_draws > 0 else CHUNK)
            state, draws = self._advance_chunk(state, steps, seen)
            warm = jax.tree.map(lambda leaf: leaf[:, :0], draws)
            parts.append(draws if until_draws <= 0 else warm)
        return state, join(parts) if parts else self._no_draws(state)

    def _no_draws(self, state: NutsState) -> Draws:
        _, draws = jax.eval_shape(self._steps, _part(state.kernel, 0), 0)
        nothing: Draws = jax.tree.map(
            lambda leaf: np.zeros((self.plan.chains, 0, *leaf.shape[1:]), leaf.dtype), draws
        )
        return nothing

    def _advance_chunk(self, state: NutsState, steps: int, seen: Seen) -> tuple[NutsState, Draws]:
        """Every chain in a thread of its own: JAX runs them side by side on the cores there are."""
        kernel = jax.tree.map(jnp.asarray, state.kernel)
        chains = [_part(kernel, k) for k in range(self.plan.chains)]
        advance, count = self._program.result(), jnp.asarray(steps)

        def run(chain: int) -> tuple[Any, Draws]:
            after, draws = jax.block_until_ready(advance(chains[chain], count))
            draws = jax.tree.map(lambda leaf: np.asarray(leaf)[:steps], draws)
            seen(chain, draws)
            return after, draws

        with ThreadPoolExecutor(min(self.plan.chains, os.cpu_count() or 1)) as pool:
            found = list(pool.map(run, range(self.plan.chains)))
        kernel = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(after for after, _ in found))
        draws = jax.tree.map(lambda *own: np.stack(own), *(own for _, own in found))
        return NutsState(state.step + steps, kernel), draws

    def _steps(self, state: Any, steps: Any) -> tuple[Any, Draws]:
        """Up to CHUNK steps of one chain, as an argument, so that one program serves all."""

        def step(k: Any, carried: Any) -> Any:
            state, raw, stats = carried
            state = self.kernel.sample(state, (), {})
            raw = jax.tree.map(lambda all, one: all.at[k].set(one), raw, state.z)
            stats = jax.tree.map(lambda all, one: all.at[k].set(one), stats, _stats(state))
            return state, raw, stats

        blank = state.z, _stats(state)
        empty = jax.tree.map(lambda x: jnp.zeros((CHUNK, *x.shape), x.dtype), blank)
        state, raw, stats = jax.lax.fori_loop(0, steps, step, (state, *empty))
        return state, Draws(jax.vmap(self.target.constrain)(raw), stats)


def _part(tree: Any, k: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[k], tree)


def _stats(state: Any) -> Values:
    """Under ArviZ's names."""
    return {
        "diverging": state.diverging,
        "energy": state.energy,
        "lp": -state.potential_energy,
        "acceptance_rate": state.accept_prob,
        "n_steps": state.num_steps,
        "tree_depth": jnp.asarray(jnp.floor(jnp.log2(state.num_steps)), int) + 1,
        "step_size": state.adapt_state.step_size,
    }
