"""A surrogate of the whole program: its value estimates E[sum of costs], its derivatives those of the expectation.

For a cost c with the draws D(c) above it, summed over all samples and elements,

    sum_c  prod_{d in D(c)} weight_d * c   +   sum_w  prod_{d in D(w)} weight_d * (1 - box(log p_w)) * b_w

where the second sum is over the draws w that have a baseline b_w. Only costs below a draw weigh its score, and a
baseline is boxed with the log probabilities of earlier draws only: both sums have the right derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpyro

from .axes import Placed, Term, contract, joint, mapped
from .box import magic_box
from .errors import EstimatorError
from .methods.baselines import Baseline
from .methods.method import Method, Points
from .program import Block, Compute, Cost, Draw, Follows, Score, Step

State = dict[str, Any]


class Estimate(NamedTuple):
    """`value` estimates the expected cost, as its derivatives do; `state` is what baselines remember for the next."""

    value: jax.Array
    state: State


def surrogate(steps: Iterable[Step], key: jax.Array, particles: int = 1, state: State | None = None) -> Estimate:
    """One estimate from this many particles, which are samples of all draws without a number of their own."""
    run = _Run(list(steps), particles, dict(state or {}))
    with numpyro.validation_enabled(False):
        for number, step in enumerate(run.steps):
            run.take(step, jax.random.fold_in(key, number))
        return run.estimate()


def initial_state(steps: Iterable[Step]) -> State:
    """What baselines remember before anything was drawn."""
    parts = [part for step in steps for part in (step.scores if isinstance(step, Block) else [step])]
    baselines = {part.name: part.method.baseline for part in parts if isinstance(part, Draw | Score)}
    return {name: jnp.asarray(b.start, float) for name, b in baselines.items() if b and b.start is not None}


def least_particles(methods: Iterable[Method]) -> int:
    """How many samples every baseline can do with."""
    return max((method.baseline.needs for method in methods if method.baseline), default=1)


class _Drawn(NamedTuple):
    """`axes` are the sample axes of weights and log probabilities; along `own` samples are independent."""

    name: str
    axes: tuple[int, ...]
    own: int | None
    plates: int
    local: tuple[int, ...]
    follows: Follows
    weights: jax.Array | None
    log_prob: jax.Array | None
    spread: jax.Array | None
    baseline: Baseline | None


class _Run:
    def __init__(self, steps: list[Step], particles: int, state: State):
        self.steps = steps
        self.state = state
        self.values: dict[str, Placed] = {}
        self.above: dict[str, frozenset[str]] = {}
        self.drawn: dict[str, _Drawn] = {}
        self.costs: list[tuple[Cost, Placed]] = []
        self.sizes: list[int] = [particles]
        self.independent: set[int] = {0}
        self.local = _local_axes(steps)

    # ---- the steps

    def take(self, step: Step, key: jax.Array) -> None:
        for parent in step.parents:
            if parent not in self.values:
                raise EstimatorError(f"{step.name} needs {parent}, which is not computed before it")
        above = self._above(step.parents)
        if isinstance(step, Compute):
            self.values[step.name] = mapped(step.value, self._given(step.parents))
            self.above[step.name] = above
        elif isinstance(step, Cost):
            self.costs.append((step, mapped(step.value, self._given(step.parents))))
            self.above[step.name] = above
        elif isinstance(step, Draw):
            self._draw(step, key)
            self.above[step.name] = above | {step.name}
        else:
            self._block(step, key)

    def _above(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(self.above[name] for name in names))

    def _given(self, names: Iterable[str]) -> dict[str, Placed]:
        return {name: self.values[name] for name in names}

    def _draw(self, step: Draw, key: jax.Array) -> None:
        given = self._given(step.parents)
        local = self.local[step.name]
        above = joint([value.axes for value in given.values()])
        own = None if step.method.free else self._own_axis(step.samples, above)
        keys = self._keys(key, above if own is None else joint([above, (0, own)]))

        def points(arguments: Mapping[str, Any]) -> Points:
            return step.method.points(arguments[""], step.law(arguments), local)

        found = mapped(points, {"": keys, **given})
        values, weights, log_prob, spread = found.value
        axes = found.axes
        if step.method.single:
            values, weights, log_prob, spread = jax.tree.map(
                lambda array: jax.lax.index_in_dim(array, 0, len(axes), keepdims=False),
                (values, weights, log_prob, spread),
            )
            self.values[step.name] = Placed(values, axes)
        else:
            count = jax.tree.leaves(values)[0].shape[len(axes)]
            points_axis = self._new_axis(count)
            every = jax.tree.map(lambda array: array[(0,) * len(axes)], values) if step.method.free else values
            self.values[step.name] = Placed(every, (points_axis,) if step.method.free else (*axes, points_axis))
            axes = (*axes, points_axis)
        self.drawn[step.name] = _Drawn(
            step.name, axes, own, step.plates, local, step.follows, weights, log_prob, spread, step.method.baseline
        )

    def _block(self, step: Block, key: jax.Array) -> None:
        given = self._given(step.parents)
        above = joint([value.axes for value in given.values()])
        own = self._own_axis(step.samples, above)
        keys = self._keys(key, joint([above, (0, own)]))
        found = mapped(lambda arguments: step.sample(arguments[""], arguments), {"": keys, **given})
        names = {score.name for score in step.scores}
        for name in step.gives:
            self.values[name] = Placed(found.value[name], found.axes)
            self.above[name] = self._above(step.parents) | names
        for score in step.scores:
            placed = mapped(score.log_prob, self._given(score.parents))
            log_prob = jnp.broadcast_to(
                jnp.expand_dims(placed.value, [k for k, axis in enumerate(found.axes) if axis not in placed.axes]),
                (*(self.sizes[axis] for axis in found.axes), *placed.value.shape[len(placed.axes) :]),
            )
            self.above[score.name] = self._above(step.parents)
            self.drawn[score.name] = _Drawn(
                score.name, found.axes, own, score.plates, (), {}, None, log_prob, None, score.method.baseline
            )

    # ---- sample axes

    def _new_axis(self, size: int) -> int:
        self.sizes.append(size)
        return len(self.sizes) - 1

    def _own_axis(self, samples: int | None, above: tuple[int, ...]) -> int:
        """Draws of the same number of samples share an axis, unless one is above another; others have one a particle."""
        if samples is None:
            return 0
        for axis in sorted(self.independent - {0}):
            if self.sizes[axis] == samples and axis not in above:
                return axis
        found = self._new_axis(samples)
        self.independent.add(found)
        return found

    def _keys(self, key: jax.Array, axes: tuple[int, ...]) -> Placed:
        shape = tuple(self.sizes[axis] for axis in axes)
        return Placed(jax.random.split(key, shape) if shape else key, axes)

    # ---- the estimate

    def estimate(self) -> Estimate:
        totals = [self._cost_term(cost, value) for cost, value in self.costs]
        totals += [self._baseline_term(drawn) for drawn in self.drawn.values() if drawn.baseline]
        return Estimate(jnp.asarray(sum(totals)), self.state)

    def _cost_term(self, cost: Cost, value: Placed) -> jax.Array:
        terms = [_cost_labels(cost, value), *self._weights(sorted(self.above[cost.name]), cost.follows)]
        return contract(terms) / self._count(terms)

    def _baseline_term(self, drawn: _Drawn) -> jax.Array:
        """sum over samples and elements of weight * (1 - box(log p)) * b, which is 0 in value and in expectation."""
        assert drawn.baseline is not None
        assert drawn.log_prob is not None
        costs = self._costs_below(drawn)
        if costs is None:
            return jnp.zeros(())
        own = None if drawn.own is None else drawn.axes.index(drawn.own)
        self._verify_count(drawn)
        spread = None if drawn.spread is None else _expand_to(drawn.spread, costs.ndim)
        baseline = jax.lax.stop_gradient(
            drawn.baseline.values(costs, own, spread, self.state.get(drawn.name, drawn.baseline.start))
        )
        if drawn.name in self.state:
            self.state[drawn.name] = jax.lax.stop_gradient(drawn.baseline.update(costs, self.state[drawn.name]))
        weighed = _expand_to(1 - magic_box(drawn.log_prob), costs.ndim) * baseline
        labels = (*drawn.axes, *(("plate", k) for k in range(drawn.plates)))
        trailing = (None,) * (costs.ndim - len(labels))
        terms = [
            Term(weighed, (*labels, *trailing)),
            *self._weights(sorted(self.above[drawn.name] - {drawn.name}), drawn.follows),
        ]
        return contract(terms) / self._count(terms)

    def _costs_below(self, drawn: _Drawn) -> jax.Array | None:
        """All costs below each element of a draw, without derivatives, for each of its samples."""
        found = []
        for cost, value in self.costs:
            if drawn.name not in self.above[cost.name]:
                continue
            between = self.above[cost.name] - self.above[drawn.name] - {drawn.name}
            terms = [_cost_labels(cost, value), *self._weights(sorted(between), cost.follows, boxed=False)]
            terms = [Term(jax.lax.stop_gradient(term.array), term.labels) for term in terms]
            along = {theirs: own for own, theirs in cost.follows.get(drawn.name, {}).items()}
            plates = [("plate", theirs) for theirs in sorted(along, key=lambda k: along[k])]
            present = {label for term in terms for label in term.labels}
            axes = [axis for axis in drawn.axes if axis in present]
            total = contract(terms, [*axes, *plates]) / self._count(terms, drawn.axes)
            missing = [k for k, axis in enumerate(drawn.axes) if axis not in present]
            missing += [len(drawn.axes) + k for k in range(drawn.plates) if k not in along.values()]
            found.append(jnp.expand_dims(total, missing))
        return jnp.asarray(sum(found)) if found else None

    def _weights(self, names: Sequence[str], follows: Follows, boxed: bool = True) -> Iterator[Term]:
        """The weights of these draws on the axes of something below them; boxes on the same axes are one."""
        boxes: dict[tuple[Any, ...], jax.Array] = {}
        for name in names:
            drawn = self.drawn[name]
            along = follows.get(name, {})
            if drawn.weights is not None:
                plates = tuple(("plate", along[k]) for k in drawn.local)
                yield Term(drawn.weights, (*drawn.axes, *plates))
            if drawn.log_prob is not None and boxed:
                first = len(drawn.axes)
                summed = tuple(first + k for k in range(drawn.plates) if k not in along)
                labels = (*drawn.axes, *(("plate", along[k]) for k in range(drawn.plates) if k in along))
                boxes[labels] = boxes.get(labels, 0.0) + jnp.sum(drawn.log_prob, summed)
        for labels, log_prob in boxes.items():
            yield Term(magic_box(log_prob), labels)

    def _count(self, terms: Sequence[Term], without: tuple[int, ...] = ()) -> int:
        """How many independent samples the sum is over."""
        present = {label for term in terms for label in term.labels} & self.independent - set(without)
        count = 1
        for axis in present:
            count *= self.sizes[axis]
        return count

    def _verify_count(self, drawn: _Drawn) -> None:
        assert drawn.baseline is not None
        have = 1 if drawn.own is None else self.sizes[drawn.own]
        if have < drawn.baseline.needs:
            raise EstimatorError(
                f"the baseline of {drawn.name} is made of other samples, and it has only {have}: draw at least "
                f"{drawn.baseline.needs} particles, or give the draw a number of samples"
            )


def _cost_labels(cost: Cost, value: Placed) -> Term:
    plates = tuple(("plate", k) for k in range(cost.plates))
    trailing = jnp.ndim(value.value) - len(value.axes) - cost.plates
    if trailing < 0:
        raise EstimatorError(f"the cost {cost.name} has fewer axes than its {cost.plates} plates")
    return Term(jnp.asarray(value.value), (*value.axes, *plates, *(None,) * trailing))


def _expand_to(array: jax.Array, rank: int) -> jax.Array:
    return jnp.expand_dims(array, range(array.ndim, rank))


def _local_axes(steps: Sequence[Step]) -> dict[str, tuple[int, ...]]:
    """The axes of each draw along which everything below it is element by element."""
    above: dict[str, frozenset[str]] = {}
    local: dict[str, set[int]] = {}
    for step in steps:
        found = frozenset().union(*(above.get(parent, frozenset()) for parent in step.parents))
        if isinstance(step, Draw | Cost):
            for name in found & set(local):
                local[name] &= set(step.follows.get(name, {}))
        if isinstance(step, Draw):
            local[step.name] = set(range(step.plates))
            found |= {step.name}
        elif isinstance(step, Block):
            for name in found & set(local):
                local[name] = set()
        for name in step.gives if isinstance(step, Block) else (step.name,):
            above[name] = found
    return {name: tuple(sorted(axes)) for name, axes in local.items()}
