"""Conjugate priors: observing adds statistics and counts, all else is a difference of normalisers.

The log density of theta is <theta, statistic> - sum_j counts_j A_j(theta) - B(statistic, counts).
"""

from typing import NamedTuple

import jax.numpy as jnp

from .family import Array, ConjugatePrior, Family, NoClosedFormError, Usual
from .features import by_name, compiled, in_domain, log_partition, statistic
from .special import floats, over_leading


class Prior(NamedTuple):
    """What was seen before: the sum of the statistics, and a count for each piece of A."""

    statistic: Array
    counts: Array


def prior_from_usual(family: Family, **usual: Array) -> Prior:
    """The prior in its usual parameters, NumPyro's where it has `conjugate.name`."""
    conjugate = closed(family)
    found = by_name(
        conjugate.from_usual, conjugate.usual_ndims, usual, f"the {conjugate.name} prior"
    )
    return Prior(*found)


@compiled
def prior_to_usual(family: Family, prior: Prior) -> Usual:
    usual: Usual = over_leading(closed(family).to_usual, *with_axes(prior))
    return usual


@compiled
def update(family: Family, prior: Prior, values: Array, weights: Array | None = None) -> Prior:
    """The posterior (statistic + sum_i w_i T(x_i), counts + sum_i w_i), i the last axis but a
    value's.
    """
    statistics = statistic(family, values)
    shares = (
        jnp.ones(statistics.shape[:-1], statistics.dtype) if weights is None else floats(weights)
    )
    total = (shares[..., None] * statistics).sum(axis=-2)
    seen = jnp.broadcast_to(
        shares.sum(axis=-1)[..., None], (*shares.shape[:-1], prior.counts.shape[-1])
    )
    return Prior(added(prior.statistic, total), added(prior.counts, seen))


def added(x: Array, y: Array) -> Array:
    return jnp.add(*jnp.broadcast_arrays(x, y))


@compiled
def log_density(family: Family, prior: Prior, natural: Array) -> Array:
    """The log density of the natural parameters; up to a constant without a closed form."""
    natural = floats(natural)

    def of_one(theta: Array, chi: Array, nu: Array) -> Array:
        if family.conjugate:
            pieces = family.conjugate.pieces(theta)
        else:
            pieces = log_partition(family, theta)[None]
        constant = family.conjugate.log_normaliser(chi, nu) if family.conjugate else 0.0
        return jnp.where(in_domain(family, theta), theta @ chi - nu @ pieces - constant, -jnp.inf)

    return over_leading(of_one, (natural, 1), *with_axes(prior))


@compiled
def log_normaliser(family: Family, prior: Prior) -> Array:
    """B = log of the integral of exp(<theta, statistic> - sum_j counts_j A_j(theta)) d theta."""
    return over_leading(closed(family).log_normaliser, *with_axes(prior))


@compiled
def log_evidence(family: Family, prior: Prior, values: Array) -> Array:
    """log p(x_1, ..., x_n) = B(updated) - B + sum_i log h(x_i)."""
    base = over_leading(family.log_base, (floats(values), family.event_ndim)).sum(axis=-1)
    return (
        log_normaliser(family, update(family, prior, values)) - log_normaliser(family, prior) + base
    )


@compiled
def log_predictive(family: Family, prior: Prior, value: Array) -> Array:
    """log p(x) under the prior, or under a posterior: the evidence of one observation."""
    value = floats(value)
    alone = jnp.expand_dims(value, value.ndim - family.event_ndim)
    inside = over_leading(family.contains, (value, family.event_ndim))
    evidence = log_evidence(family, prior, alone)
    return jnp.where(jnp.broadcast_to(inside, evidence.shape), evidence, -jnp.inf)


def with_axes(prior: Prior) -> tuple[tuple[Array, int], tuple[Array, int]]:
    return (floats(prior.statistic), 1), (floats(prior.counts), 1)


def closed(family: Family) -> ConjugatePrior:
    if family.conjugate is None:
        raise NoClosedFormError(
            f"the conjugate prior of {family.name} has no normaliser in closed form: update it by "
            "`update`, and sample or integrate its unnormalised `log_density`"
        )
    return family.conjugate
