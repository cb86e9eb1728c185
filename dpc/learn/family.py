"""A random field with a score linear in theta is a family p(x) = h(x) exp(<theta, T(x)> - A).

    T(x) = d score(x) / d theta     E[T] = dA/d theta     Fisher information = d2A/d theta2 = Cov[T]

That it is one is found from the file. A is the log-partition by the inference engine (GM08, GM11).
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.record import Record
from dpc.inference.optimise.method import Minimised, minimise
from dpc.inference.optimise.newton import Newton

from ..model.model import Model
from .linear import Degree

Values = dict[str, Any]
STEPS = 200


class NotAFamily(ValueError):
    """A model whose score is not linear in its parameters."""


class NoMaximum(ValueError):
    """Moments that no parameters have, or only infinite ones: they are on the boundary."""


class FieldPrior(Record):
    """exp(<theta, statistic> - count A(theta)): as if `count` such cases were seen."""

    statistic: Values
    count: float


class FieldFamily:
    """Parameters, statistics and means are dictionaries by the names of the parameters."""

    def __init__(self, model: Model, data: Mapping[str, Any] | None = None):
        verify_linear(model.graph)
        self.model = model
        self.data = data
        self._zero: Values = jax.tree.map(jnp.zeros_like, model.init(data=data))

    @cached_property
    def _functions(self) -> dict[str, Callable[..., Any]]:
        def log_partition(theta: Values) -> Any:
            return self.model.log_partition(theta, self.data)

        def statistic(values: Values) -> Any:
            return jax.grad(lambda theta: self.model.log_prob(theta, values, self.data))(self._zero)

        mean = jax.grad(log_partition)
        return {
            "log_partition": jax.jit(log_partition),
            "mean": jax.jit(mean),
            "fisher": jax.jit(jax.hessian(log_partition)),
            "statistic": jax.jit(statistic),
        }

    def log_partition(self, theta: Values) -> jax.Array:
        found: jax.Array = self._functions["log_partition"](theta)
        return found

    def statistic(self, values: Values) -> Values:
        """T(x) of one configuration; average it over cases for observed moments."""
        found: Values = self._functions["statistic"](values)
        return found

    def mean(self, theta: Values) -> Values:
        """E[T], the gradient of the log-partition."""
        found: Values = self._functions["mean"](theta)
        return found

    def fisher(self, theta: Values) -> dict[str, Values]:
        """Cov[T], the Hessian of the log-partition."""
        found: dict[str, Values] = self._functions["fisher"](theta)
        return found

    def entropy(self, theta: Values) -> jax.Array:
        return self.model.entropy(theta, self.data)

    def kl(self, theta: Values, other: Values) -> jax.Array:
        """KL(p_theta, p_other) = A(other) - A(theta) - <other - theta, E_theta[T]>."""
        difference = jax.tree.map(lambda a, b: jnp.asarray(b) - jnp.asarray(a), theta, other)
        rise = self.log_partition(other) - self.log_partition(theta)
        return rise - _dot(difference, self.mean(theta))

    # ---- from means to parameters

    def natural(self, mean: Values, prior: FieldPrior | None = None) -> Values:
        """The parameters with these means: the convex min A(theta) - <theta, mean> (most entropy).

        With a prior, the mode of the posterior after one case.
        """
        result = self._solve(mean, prior)
        if not result.converged:
            raise NoMaximum(f"no parameters have these means: {result.reason}")
        found: Values = result.raw
        return found

    def _solve(self, mean: Values, prior: FieldPrior | None) -> Minimised:
        target = {name: jnp.asarray(mean[name], float) for name in self._zero}
        weight = 1.0 + (prior.count if prior else 0.0)
        if prior:
            target = jax.tree.map(jnp.add, target, prior.statistic)

        return minimise(Newton(self._distance, (weight, target)), self._zero, STEPS)

    @cached_property
    def _distance(self) -> Callable[..., Any]:
        """weight A(theta) - <theta, target>: one function, so that it is compiled once."""

        def loss(theta: Values, data: tuple[float, Values]) -> Any:
            weight, target = data
            return weight * self.model.log_partition(theta, self.data) - _dot(theta, target)

        return loss

    def update(self, prior: FieldPrior, statistics: Values, count: float) -> FieldPrior:
        """The posterior after `count` cases with this sum of statistics."""
        return FieldPrior(jax.tree.map(jnp.add, prior.statistic, statistics), prior.count + count)

    def mode(self, prior: FieldPrior) -> Values:
        """The mode of a conjugate density: the mean there is statistic / count."""
        return self.natural(jax.tree.map(lambda s: s / prior.count, prior.statistic))


def verify_linear(graph: Graph) -> None:
    """Raises NotAFamily with the place that is not linear in the parameters."""
    names = {node.name for node in graph.parameters}
    if not names:
        raise NotAFamily("the model has no parameters")
    for node in graph.parameters:
        if node.type.constraint or min(map(abs, node.type.bounds)) < jnp.inf:
            raise NotAFamily(f"`{node.name}` is {node.type}: natural parameters are free")
    degree = Degree(graph, names)
    limits = {Kind.DRAW: 0, Kind.FACTOR: 1}
    for node in graph.of_kind(*limits):
        if any(degree.highest(piece.body) > limits[node.kind] for piece in node.pieces):
            what = "it is not linear in them"
            if node.kind is Kind.DRAW:
                what = "its law depends on parameters"
            keeps = "keeps the model from being an exponential family of its parameters"
            raise NotAFamily(f"`{node.name}` {keeps}: {what}")


def _dot(a: Values, b: Values) -> jax.Array:
    floats = [{name: jnp.asarray(v, float) for name, v in x.items()} for x in (a, b)]
    flat_a, flat_b = (ravel_pytree(x)[0] for x in floats)
    return jnp.vdot(flat_a, flat_b)
