"""A program as it is run: every step for all samples at once, and the weights of what was drawn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpyro.distributions import Distribution

from .axes import Labelled, Placed, batched, joint, mapped
from .box import magic_box
from .methods.enumeration import path_points, path_weights
from .methods.method import Baseline, EstimatorError, Points
from .program import NOTHING, Block, Compute, Cost, Draw, Follows, Path, Step, Upto

BaselineState = dict[str, Any]


class Drawn(NamedTuple):
    """`axes` are the sample axes of weights and log_prob; independent along `own`."""

    name: str
    axes: tuple[int, ...]
    own: int | None
    plates: int
    local: tuple[int, ...] = ()
    follows: Follows = NOTHING
    weights: Array | None = None
    log_prob: Array | None = None
    squares: Array | None = None
    baseline: Baseline | None = None
    critic: str | None = None


class ProgramRun:
    def __init__(self, steps: list[Step], particles: int, state: BaselineState):
        self.steps = steps
        self.state = state
        self.values: dict[str, Placed] = {}
        self.above: dict[str, frozenset[str]] = {}
        self.drawn: dict[str, Drawn] = {}
        self.costs: list[tuple[Cost, Placed]] = []
        self.sizes: list[int] = [particles]
        self.independent: set[int] = {0}
        self.local = _local_axes(steps)

    # ---- the steps

    def take(self, step: Step, key: Array) -> None:
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
        elif isinstance(step, Path):
            self._path(step)
            self.above[step.name] = above | {step.name}
        else:
            self._block(step, key)

    def _above(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(self.above[name] for name in names))

    def _given(self, names: Iterable[str]) -> dict[str, Placed]:
        return {name: self.values[name] for name in names}

    def _draw(self, step: Draw, key: Array) -> None:
        given = self._given(step.parents)
        local = self.local[step.name]
        above = joint([value.axes for value in given.values()])
        own = None if step.method.free else self._own_axis(step.samples, above)
        axes = above if own is None else joint([above, (0, own)])
        dist = self._dist_of_all(step, given, axes, own)
        if dist:  # samples are elements of one draw, from one key; nothing below mixes them
            samples = len(axes)
            wide = (*range(samples), *(samples + axis for axis in local))
            found = step.method.points(key, dist, wide)
            found = jax.tree.map(lambda array: jnp.moveaxis(array, 0, samples), found)
        else:
            found = self._points(step, given, key, axes)
        if step.method.single:
            found = jax.tree.map(lambda x: jax.lax.index_in_dim(x, 0, len(axes), False), found)
            self.values[step.name] = Placed(found.values, axes)
        else:
            points_axis = self._new_axis(jax.tree.leaves(found.values)[0].shape[len(axes)])
            if step.method.free:
                first = jax.tree.map(lambda array: array[(0,) * len(axes)], found.values)
                self.values[step.name] = Placed(first, (points_axis,))
            else:
                self.values[step.name] = Placed(found.values, (*axes, points_axis))
            axes = (*axes, points_axis)
        drawn = Drawn(step.name, axes, own, step.plates, local, step.follows, *found[1:])
        drawn = drawn._replace(baseline=step.method.baseline, critic=step.critic)
        self.drawn[step.name] = drawn

    def _dist_of_all(
        self, step: Draw, given: dict[str, Placed], axes: tuple[int, ...], own: int | None
    ) -> Distribution | None:
        """One distribution for all samples, unless each one's own score is asked for."""
        if own is None or (step.method.baseline and step.method.baseline.squares):
            return None
        shape = tuple(self.sizes[axis] for axis in axes)
        if any(value.axes for value in given.values()):
            return batched(step.dist, given, axes, shape)
        dist = step.dist({name: value.value for name, value in given.items()})
        return dist.expand((*shape, *dist.batch_shape))

    def _points(
        self, step: Draw, given: dict[str, Placed], key: Array, axes: tuple[int, ...]
    ) -> Points:
        """The same for every sample of the parents on its own, each with a key of its own."""
        local = self.local[step.name]

        def points(arguments: Mapping[str, Any]) -> Points:
            return step.method.points(arguments[""], step.dist(arguments), local)

        found: Points = mapped(points, {"": self._keys(key, axes), **given}).value
        return found

    def _path(self, step: Path) -> None:
        local, given = self.local[step.name], self._given(step.parents)
        weights, above = mapped(lambda values: path_weights(step, values, local), given)
        points = path_points(step, local)
        axes, plates = (*above, self._new_axis(len(points))), len(step.shape)
        self.values[step.name] = Placed(points, axes[-1:])
        drawn = Drawn(step.name, axes, None, plates, local, step.follows, weights)
        self.drawn[step.name] = drawn

    def _block(self, step: Block, key: Array) -> None:
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
            value, axes = mapped(score.log_prob, self._given(score.parents))
            missing = [k for k, axis in enumerate(found.axes) if axis not in axes]
            samples = [self.sizes[axis] for axis in found.axes]
            shape = (*samples, *value.shape[len(axes) :])
            log_prob = jnp.broadcast_to(jnp.expand_dims(value, missing), shape)
            self.above[score.name] = self._above(step.parents)
            drawn = Drawn(score.name, found.axes, own, score.plates, log_prob=log_prob)
            self.drawn[score.name] = drawn._replace(baseline=score.method.baseline)

    # ---- sample axes

    def _new_axis(self, size: int) -> int:
        self.sizes.append(size)
        return len(self.sizes) - 1

    def _own_axis(self, samples: int | None, above: tuple[int, ...]) -> int:
        """Draws of as many samples share an axis, unless one is above another."""
        if samples is None:
            return 0
        for axis in sorted(self.independent - {0}):
            if self.sizes[axis] == samples and axis not in above:
                return axis
        found = self._new_axis(samples)
        self.independent.add(found)
        return found

    def _keys(self, key: Array, axes: tuple[int, ...]) -> Placed:
        shape = tuple(self.sizes[axis] for axis in axes)
        return Placed(jax.random.split(key, shape) if shape else key, axes)

    # ---- weights

    def weights(
        self, names: Sequence[str], follows: Follows, boxed: bool = True
    ) -> Iterator[Labelled]:
        """The weights of these draws on the axes of something below; boxes on like axes join."""
        boxes: dict[tuple[Any, ...], Array] = {}
        for name in names:
            drawn = self.drawn[name]
            along = follows.get(name, {})
            if drawn.weights is not None:
                plates = tuple(("plate", along[k]) for k in drawn.local)
                yield Labelled(drawn.weights, (*drawn.axes, *plates))
            if drawn.log_prob is not None and boxed:
                first = len(drawn.axes)
                log_prob = drawn.log_prob
                for k, axis in along.items():
                    if isinstance(axis, Upto):
                        log_prob = jnp.cumsum(log_prob, first + k)
                summed = tuple(first + k for k in range(drawn.plates) if k not in along)
                plates = tuple(("plate", along[k]) for k in range(drawn.plates) if k in along)
                labels = (*drawn.axes, *plates)
                boxes[labels] = boxes.get(labels, 0.0) + jnp.sum(log_prob, summed)
        for labels, log_prob in boxes.items():
            yield Labelled(magic_box(log_prob), labels)

    def count(self, terms: Sequence[Labelled], without: tuple[int, ...] = ()) -> int:
        """How many independent samples the sum is over."""
        present = {label for term in terms for label in term.labels} - set(without)
        return prod(self.sizes[axis] for axis in present & self.independent)


def cost_term(cost: Cost, value: Placed) -> Labelled:
    plates = tuple(("plate", k) for k in range(cost.plates))
    trailing = jnp.ndim(value.value) - len(value.axes) - cost.plates
    if trailing < 0:
        raise EstimatorError(f"the cost {cost.name} has fewer axes than its {cost.plates} plates")
    return Labelled(jnp.asarray(value.value), (*value.axes, *plates, *(None,) * trailing))


def _local_axes(steps: Sequence[Step]) -> dict[str, tuple[int, ...]]:
    """The axes of each draw along which everything below it is element by element."""
    above: dict[str, frozenset[str]] = {}
    local: dict[str, set[int]] = {}
    for step in steps:
        found = frozenset().union(*(above.get(parent, frozenset()) for parent in step.parents))
        if isinstance(step, Draw | Path | Cost):
            for name in found & set(local):
                along = step.follows.get(name, {}).items()
                local[name] &= {axis for axis, place in along if not isinstance(place, Upto)}
        if isinstance(step, Draw):
            local[step.name] = set(range(step.plates))
            found |= {step.name}
        elif isinstance(step, Path):
            local[step.name] = set(range(len(step.shape))) if step.chain else set()
            found |= {step.name}
        elif isinstance(step, Block):
            for name in found & set(local):
                local[name] = set()
        for name in step.gives if isinstance(step, Block) else (step.name,):
            above[name] = found
    return {name: tuple(sorted(axes)) for name, axes in local.items()}
