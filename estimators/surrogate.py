"""A surrogate of the whole program: it and its derivatives estimate those of E[sum of costs].

For a cost c with the draws D(c) above it, summed over all samples and elements, sum_c prod_{d in
D(c)} weight_d * c + sum_w prod_{d in D(w)} weight_d * (1 - box(log p_w)) * b_w, where the second
sum is over the draws w that have a baseline b_w. Only costs below a draw weigh its score, and a
baseline is boxed with the log probabilities of earlier draws only: both sums have the right
derivatives of every order.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpyro

from .axes import Labelled, Placed, contract
from .box import magic_box
from .errors import EstimatorError
from .methods.baselines import SeenCosts
from .methods.method import Method
from .program import Block, Cost, Draw, Score, Step, Upto
from .run import BaselineState, Drawn, ProgramRun, cost_term


class Estimate(NamedTuple):
    """`value` estimates the expected cost, its derivatives too; `state` is the baselines'."""

    value: jax.Array
    state: BaselineState


def surrogate(
    steps: Iterable[Step], key: jax.Array, particles: int = 1, state: BaselineState | None = None
) -> Estimate:
    """One estimate from this many particles, samples of all draws without a number of own."""
    if particles < 1:
        raise EstimatorError(f"{particles} samples have no mean: draw at least one")
    run = ProgramRun(list(steps), particles, dict(state or {}))
    with numpyro.validation_enabled(False):
        for number, step in enumerate(run.steps):
            run.take(step, jax.random.fold_in(key, number))
        return _Sums(run).estimate()


def initial_state(steps: Iterable[Step]) -> BaselineState:
    """What baselines remember before anything was drawn."""
    parts = [
        part for step in steps for part in (step.scores if isinstance(step, Block) else [step])
    ]
    return starting_state(
        {part.name: part.method for part in parts if isinstance(part, Draw | Score)}
    )


def starting_state(methods: Mapping[str, Method]) -> BaselineState:
    """The same, from the methods of draws and scores by their names."""
    baselines = {name: method.baseline for name, method in methods.items()}
    return {
        name: jnp.asarray(b.start, float)
        for name, b in baselines.items()
        if b and b.start is not None
    }


def least_particles(methods: Iterable[Method]) -> int:
    """How many samples every baseline can do with."""
    return max((method.baseline.needs for method in methods if method.baseline), default=1)


class _Sums:
    """The two sums of the surrogate."""

    def __init__(self, run: ProgramRun):
        self.run = run
        self.state = run.state

    def estimate(self) -> Estimate:
        totals = [self._cost_term(cost, value) for cost, value in self.run.costs]
        totals += [
            self._baseline_term(drawn)
            for drawn in self.run.drawn.values()
            if drawn.baseline or drawn.critic
        ]
        return Estimate(jnp.asarray(sum(totals)), self.state)

    def _cost_term(self, cost: Cost, value: Placed) -> jax.Array:
        terms = [
            cost_term(cost, value),
            *self.run.weights(sorted(self.run.above[cost.name]), cost.follows),
        ]
        return contract(terms) / self.run.count(terms)

    def _baseline_term(self, drawn: Drawn) -> jax.Array:
        """sum over samples and elements of weight * (1 - box(log p)) * b: 0 in value and mean."""
        assert drawn.log_prob is not None
        costs = self._costs_below(drawn)
        if costs is None:
            return jnp.zeros(())
        baseline = jax.lax.stop_gradient(self._critic(drawn, costs) + self._baseline(drawn, costs))
        weighed = _expand_to(1 - magic_box(drawn.log_prob), costs.ndim) * baseline
        labels = (*drawn.axes, *(("plate", k) for k in range(drawn.plates)))
        trailing = (None,) * (costs.ndim - len(labels))
        terms = [
            Labelled(weighed, (*labels, *trailing)),
            *self.run.weights(sorted(self.run.above[drawn.name] - {drawn.name}), drawn.follows),
        ]
        return contract(terms) / self.run.count(terms)

    def _critic(self, drawn: Drawn, costs: jax.Array) -> jax.Array:
        """The value that the draw's critic expects, for each of its samples and elements."""
        if drawn.critic is None:
            return jnp.zeros(())
        if drawn.name in self.run.above[drawn.critic]:
            raise EstimatorError(
                f"{drawn.critic} depends on {drawn.name}, so it cannot be the baseline of its costs"
            )
        value, axes = self.run.values[drawn.critic]
        if not set(axes) <= set(drawn.axes):
            raise EstimatorError(
                f"{drawn.critic} depends on draws that {drawn.name} does not depend on"
            )
        missing = [k for k, axis in enumerate(drawn.axes) if axis not in axes]
        return _expand_to(jnp.expand_dims(value, missing), costs.ndim)

    def _baseline(self, drawn: Drawn, costs: jax.Array) -> jax.Array:
        """What other samples, or earlier estimates, say about the costs less the critic's."""
        if drawn.baseline is None:
            return jnp.zeros(())
        self._verify_count(drawn)
        costs = costs - self._critic(drawn, costs)
        own = None if drawn.own is None else drawn.axes.index(drawn.own)
        squares = None if drawn.squares is None else _expand_to(drawn.squares, costs.ndim)
        state = self.state.get(drawn.name, drawn.baseline.start)
        found = drawn.baseline.values(SeenCosts(costs, own, squares, state))
        if drawn.name in self.state:
            self.state[drawn.name] = jax.lax.stop_gradient(
                drawn.baseline.update(costs, self.state[drawn.name])
            )
        return found

    def _costs_below(self, drawn: Drawn) -> jax.Array | None:
        """All costs below each element of a draw, without derivatives, for each of its samples."""
        found = []
        for cost, value in self.run.costs:
            if drawn.name not in self.run.above[cost.name]:
                continue
            between = self.run.above[cost.name] - self.run.above[drawn.name] - {drawn.name}
            terms = [
                cost_term(cost, value),
                *self.run.weights(sorted(between), cost.follows, boxed=False),
            ]
            terms = [Labelled(jax.lax.stop_gradient(term.array), term.labels) for term in terms]
            along = {theirs: own for own, theirs in cost.follows.get(drawn.name, {}).items()}
            plates = [("plate", theirs) for theirs in sorted(along, key=lambda k: along[k])]
            present = {label for term in terms for label in term.labels}
            axes = [axis for axis in drawn.axes if axis in present]
            total = contract(terms, [*axes, *plates]) / self.run.count(terms, drawn.axes)
            missing = [k for k, axis in enumerate(drawn.axes) if axis not in present]
            missing += [len(drawn.axes) + k for k in range(drawn.plates) if k not in along.values()]
            total = jnp.expand_dims(total, missing)
            for axis, own in along.items():
                if isinstance(axis, Upto):
                    total = jax.lax.cumsum(total, len(drawn.axes) + own, reverse=True)
            found.append(total)
        return jnp.asarray(sum(found)) if found else None

    def _verify_count(self, drawn: Drawn) -> None:
        assert drawn.baseline is not None
        have = 1 if drawn.own is None else self.run.sizes[drawn.own]
        if have < drawn.baseline.needs:
            raise EstimatorError(
                f"the baseline of {drawn.name} is made of other samples, and it has only {have}: "
                f"draw at least {drawn.baseline.needs} particles, or give the draw a number of "
                "samples"
            )


def _expand_to(array: jax.Array, rank: int) -> jax.Array:
    return jnp.expand_dims(array, range(array.ndim, rank))
