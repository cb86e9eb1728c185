"""What follows from the log-partition A alone (PL18 to PL20), over leading axes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .family import Array, ConjugatePrior, Family, NoClosedFormError, Usual, floats, over_leading

compiled = partial(jax.jit, static_argnums=0)


def from_usual(family: Family, **usual: Array) -> Array:
    """The natural parameters of the parameters that NumPyro takes."""
    return by_name(family.from_usual, family.usual_ndims, usual, family.name)


def by_name(function: Callable[..., Any], ndims: Mapping[str, int], usual: Usual, name: str) -> Any:
    """A function of these parameters, which have so many axes of their own, over leading axes."""
    names = tuple(ndims)
    if set(usual) != set(names):
        given = ", ".join(usual) or "nothing"
        raise TypeError(f"{name} takes {', '.join(names)}, not {given}")
    arguments = [(floats(usual[name]), ndims[name]) for name in names]
    return over_leading(
        lambda *values: function(**dict(zip(names, values, strict=True))), *arguments
    )


@compiled
def to_usual(family: Family, natural: Array) -> Usual:
    """The parameters that NumPyro takes, by name."""
    usual: Usual = over_leading(family.to_usual, (floats(natural), 1))
    return usual


@compiled
def statistic(family: Family, value: Array) -> Array:
    """T(x)."""
    return over_leading(family.statistic, (floats(value), family.event_ndim))


@compiled
def contains(family: Family, value: Array) -> Array:
    """Whether the value is in the support."""
    return over_leading(family.contains, (floats(value), family.event_ndim))


@compiled
def in_domain(family: Family, natural: Array) -> Array:
    """Whether A is finite."""
    return over_leading(family.in_domain, (floats(natural), 1))


@compiled
def log_partition(family: Family, natural: Array) -> Array:
    """A(natural) = log sum h(x) exp <natural, T(x)>; infinite outside its domain (PL18)."""
    return over_leading(lambda theta: extended(family, theta), (floats(natural), 1))


def extended(family: Family, natural: Array) -> Array:
    return jnp.where(family.in_domain(natural), family.log_partition(natural), jnp.inf)


@compiled
def log_prob(family: Family, natural: Array, value: Array) -> Array:
    """<natural, T(x)> - A(natural) + log h(x); minus infinity outside the support (PL15)."""

    def of_one(theta: Array, x: Array) -> Array:
        inside = family.contains(x)
        t = jnp.where(inside, family.statistic(x), 0).astype(theta.dtype)
        base = jnp.where(inside, family.log_base(x), -jnp.inf).astype(theta.dtype)
        return t @ theta - extended(family, theta) + base

    return over_leading(of_one, (floats(natural), 1), (floats(value), family.event_ndim))


@compiled
def mean(family: Family, natural: Array) -> Array:
    """E T(X) = grad A(natural) (PL19)."""
    return over_leading(jax.grad(family.log_partition), (floats(natural), 1))


@compiled
def fisher(family: Family, natural: Array) -> Array:
    """The Fisher information in natural parameters, Cov T(X) = Hessian of A (PL19)."""
    return over_leading(jax.hessian(family.log_partition), (floats(natural), 1))


@compiled
def entropy(family: Family, natural: Array) -> Array:
    """H = A(natural) - <natural, grad A> - E log h(X), in nats; differential if continuous."""

    def of_one(theta: Array) -> Array:
        value, mu = jax.value_and_grad(family.log_partition)(theta)
        return value - theta @ mu - family.mean_log_base(theta)

    return over_leading(of_one, (floats(natural), 1))


@compiled
def kl(family: Family, natural: Array, other: Array) -> Array:
    """KL(p || q) = A(q) - A(p) - <q - p, grad A(p)>, the Bregman divergence of A."""

    def of_one(p: Array, q: Array) -> Array:
        value, mu = jax.value_and_grad(family.log_partition)(p)
        return extended(family, q) - value - (q - p) @ mu

    return over_leading(of_one, (floats(natural), 1), (floats(other), 1))


# ---- Conjugate priors: observing adds statistics and counts; all else are normalisers
#
# The log density of theta is <theta, statistic> - sum_j counts_j A_j(theta) - B(statistic,
# counts).


class Prior(NamedTuple):
    """What was seen before: the sum of the statistics, and a count for each piece of A."""

    statistic: Array
    counts: Array


def prior_from_usual(family: Family, **usual: Array) -> Prior:
    """The prior in its usual parameters, NumPyro's where it has `conjugate.name`."""
    conjugate = closed(family)
    name = f"the {conjugate.name} prior"
    found = by_name(conjugate.from_usual, conjugate.usual_ndims, usual, name)
    return Prior(*found)


@compiled
def prior_to_usual(family: Family, prior: Prior) -> Usual:
    usual: Usual = over_leading(closed(family).to_usual, *with_axes(prior))
    return usual


@compiled
def update(family: Family, prior: Prior, values: Array, weights: Array | None = None) -> Prior:
    """(statistic + sum_i w_i T(x_i), counts + sum_i w_i), i along the last axis but a value's."""
    statistics = statistic(family, values)
    ones = jnp.ones(statistics.shape[:-1], statistics.dtype)
    shares = ones if weights is None else floats(weights)
    total = (shares[..., None] * statistics).sum(axis=-2)
    shape = (*shares.shape[:-1], prior.counts.shape[-1])
    seen = jnp.broadcast_to(shares.sum(axis=-1)[..., None], shape)
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
    after = log_normaliser(family, update(family, prior, values))
    return after - log_normaliser(family, prior) + base


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
