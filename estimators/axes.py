"""Values with named sample axes: a function of one sample is mapped over those of its arguments.

Axes are numbers, in the order in which they were made; a value's own axes come after them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import distributions as numpyro_dist
from numpyro.distributions import Distribution, ExpandedDistribution


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
    if type(base) not in PARAMETERS:
        return None
    plates: tuple[int, ...] = every.batch_shape

    def placed(array: Array, event: int) -> Array:
        """Axes of length one for samples that it is independent of and plates it lacks."""
        array = jnp.expand_dims(array, [k for k, axis in enumerate(axes) if axis not in own])
        missing = len(axes) + len(plates) + event - array.ndim
        return jnp.expand_dims(array, range(len(axes), len(axes) + missing))

    events = PARAMETERS[type(base)].items()
    parameters = {name: placed(getattr(base, name), event) for name, event in events}
    return type(base)(**parameters).expand((*shape, *plates))
