"""What follows from the log-partition A alone (PL18 to PL20), over leading axes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .family import Array, Family, Usual
from .special import floats, over_leading

compiled = partial(jax.jit, static_argnums=0)


def from_usual(family: Family, **usual: Array) -> Array:
    """The natural parameters of the parameters that NumPyro takes."""
    return by_name(family.from_usual, family.usual_ndims, usual, family.name)


def by_name(
    function: Callable[..., Any], ndims: Mapping[str, int], usual: Usual, whose: str
) -> Any:
    """A function of these parameters, which have so many axes of their own, over leading axes."""
    names = tuple(ndims)
    if set(usual) != set(names):
        given = ", ".join(usual) or "nothing"
        raise TypeError(f"{whose} takes {', '.join(names)}, not {given}")
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
