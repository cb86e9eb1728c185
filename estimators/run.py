"""A program as it is run: every step for all samples at once, and the weights of what was drawn.

Values have named sample axes: a function of one sample is mapped over those of its arguments. Axes
are numbers, in the order in which they were made; a value's own axes come after them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import distributions as numpyro_dist
from numpyro.distributions import Distribution, ExpandedDistribution

from .box import magic_box
from .methods.distributions import kind_of
from .methods.enumeration import path_points, path_weights
from .methods.method import Baseline, EstimatorError, Points
from .program import NOTHING, Block, Compute, Cost, Draw, Follows, Path, Step, Upto

BaselineState = dict[str, Any]


class Placed(NamedTuple):
    """`value` is a tree of arrays that all have these sample axes first."""

    value: Any
    axes: tuple[int, ...]


def joint(axes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({axis for own in axes for axis in own}))


def mapped(function: Callable[[Mapping[str, Any]], Any], arguments: Mapping[str, Placed]) -> Placed:
    """The function for every sample of its arguments at once."""
    axes = joint([argument.axes for argument in arguments.values()])
    for axis in reversed(axes):
        places = {name: 0 if axis in own.axes else None for name, own in arguments.items()}
        function = jax.vmap(function, in_axes=(places,))
    return Placed(function({name: argument.value for name, argument in arguments.items()}), axes)


class Labelled(NamedTuple):
    """A factor of a product: an array and the label of each axis, None for those at the end."""

    array: Array
    labels: tuple[Any, ...]


def contract(terms: Sequence[Labelled], keep: Sequence[Any] = ()) -> Array:
    """The product of all terms, summed over labels that are not kept; axes without one come last.
    Small products are one multiplication; einsum orders what does not fit on the first's axes.
    """
    first, *others = terms
    trailing = len(first.labels) - len([label for label in first.labels if label is not None])
    if all(set(term.labels) <= set(first.labels) for term in others):
        array = first.array
        for term in others:
            array = array * _aligned(term, first.labels)
        labels = first.labels[: len(first.labels) - trailing]
        kept = [label for label in labels if label in keep]
        summed = tuple(k for k, label in enumerate(labels) if label not in keep)
        array = jnp.sum(array, summed) if summed else array
        order = [kept.index(label) for label in keep if label in kept]
        return jnp.transpose(array, [*order, *(len(kept) + k for k in range(trailing))])
    return _einsum(terms, keep, trailing)


def _aligned(term: Labelled, labels: tuple[Any, ...]) -> Array:
    """The term's axes in the order of the labels, with axes of length one where it has none."""
    order = sorted(range(len(term.labels)), key=lambda k: labels.index(term.labels[k]))
    missing = [k for k, label in enumerate(labels) if label is None or label not in term.labels]
    return jnp.expand_dims(jnp.transpose(term.array, order), missing)


def _einsum(terms: Sequence[Labelled], keep: Sequence[Any], trailing: int) -> Array:
    numbers: dict[Any, int] = {}
    operands: list[Any] = []
    for position, term in enumerate(terms):
        ends = iter(range(trailing if position == 0 else 0))
        labels = [("end", next(ends)) if label is None else label for label in term.labels]
        operands += [term.array, [numbers.setdefault(label, len(numbers)) for label in labels]]
    have = [label for label in keep if label in numbers]
    out = [numbers[label] for label in have] + [numbers["end", k] for k in range(trailing)]
    return jnp.einsum(*operands, out, optimize="greedy", precision="highest")


PARAMETERS: dict[type, dict[str, int]] = {
    numpyro_dist.Normal: {"loc": 0, "scale": 0},
    numpyro_dist.LogNormal: {"loc": 0, "scale": 0},
    numpyro_dist.Laplace: {"loc": 0, "scale": 0},
    numpyro_dist.Logistic: {"loc": 0, "scale": 0},
    numpyro_dist.Cauchy: {"loc": 0, "scale": 0},
    numpyro_dist.Gumbel: {"loc": 0, "scale": 0},
    numpyro_dist.StudentT: {"df": 0, "loc": 0, "scale": 0},
    numpyro_dist.Uniform: {"low": 0, "high": 0},
    numpyro_dist.HalfNormal: {"scale": 0},
    numpyro_dist.Exponential: {"rate": 0},
    numpyro_dist.Gamma: {"concentration": 0, "rate": 0},
    numpyro_dist.Beta: {"concentration1": 0, "concentration0": 0},
    numpyro_dist.Dirichlet: {"concentration": 1},
    numpyro_dist.BernoulliProbs: {"probs": 0},
    numpyro_dist.BernoulliLogits: {"logits": 0},
    numpyro_dist.CategoricalProbs: {"probs": 1},
    numpyro_dist.CategoricalLogits: {"logits": 1},
    numpyro_dist.BinomialProbs: {"probs": 0, "total_count": 0},
    numpyro_dist.BinomialLogits: {"logits": 0, "total_count": 0},
    numpyro_dist.GeometricProbs: {"probs": 0},
    numpyro_dist.GeometricLogits: {"logits": 0},
    numpyro_dist.Poisson: {"rate": 0},
}
"""Distributions made of arrays alone, and how many axes of an event each of them has."""


def batched(
    dist: Callable[[Mapping[str, Any]], Distribution],
    given: Mapping[str, Placed],
    axes: tuple[int, ...],
    shape: tuple[int, ...],
) -> Distribution | None:
    """The distribution with these sample axes before its plates; None if not made of arrays."""
    every, own = mapped(dist, given)
    base = every.base_dist if isinstance(every, ExpandedDistribution) else every
    if kind_of(base) not in PARAMETERS:
        return None
    plates: tuple[int, ...] = every.batch_shape

    def placed(array: Array, event: int) -> Array:
        """Axes of length one for samples that it is independent of and plates it lacks."""
        array = jnp.expand_dims(array, [k for k, axis in enumerate(axes) if axis not in own])
        missing = len(axes) + len(plates) + event - array.ndim
        return jnp.expand_dims(array, range(len(axes), len(axes) + missing))

    events = PARAMETERS[kind_of(base)].items()
    parameters = {name: placed(getattr(base, name), event) for name, event in events}
    return type(base)(**parameters).expand((*shape, *plates))


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
        if isinstance(step, Block):
            self._block(step, key)
            return
        self.above[step.name] = self._above(step.parents)
        if isinstance(step, Compute):
            self.values[step.name] = mapped(step.value, self._given(step.parents))
        elif isinstance(step, Cost):
            self.costs.append((step, mapped(step.value, self._given(step.parents))))
        else:
            self.above[step.name] |= {step.name}
            if isinstance(step, Draw):
                self._draw(step, key)
            else:
                self._path(step)

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
        self.drawn[step.name] = drawn._replace(baseline=step.method.baseline, critic=step.critic)

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
        self.drawn[step.name] = Drawn(step.name, axes, None, plates, local, step.follows, weights)

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
