"""Distributions for NumPyro sites that no constructor names: written or kept in order."""

from collections.abc import Callable
from math import lgamma, prod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from numpyro.distributions import Distribution, biject_to, constraints
from numpyro.distributions.transforms import ComposeTransform, OrderedTransform

Shape = tuple[int, ...]
# supports that NumPyro reaches from the line by an increasing map
RISING = (constraints.greater_than, constraints.interval, constraints.open_interval)


class Written(Distribution):  # type: ignore[misc]
    """A distribution given by `draw(key)` and `log_density(value)`, which has the batch shape."""

    arg_constraints: ClassVar[dict[str, Any]] = {}
    support = constraints.dependent
    pytree_aux_fields = ("draw", "log_density", "support")

    def __init__(
        self,
        draw: Callable[[Any], Any],
        log_density: Callable[[Any], Any],
        support: Any,
        batch_shape: Shape,
        event_shape: Shape,
    ):
        self.draw = draw
        self.log_density = log_density
        extra = len(event_shape) - support.event_dim
        self.support = constraints.independent(support, extra) if extra > 0 else support
        super().__init__(batch_shape, event_shape)

    def sample(self, key: Any, sample_shape: Shape = ()) -> Any:
        if not sample_shape:
            return self.draw(key)
        drawn = jax.vmap(self.draw)(jax.random.split(key, prod(sample_shape)))
        return jnp.reshape(drawn, (*sample_shape, *self.batch_shape, *self.event_shape))

    def log_prob(self, value: Any, intermediates: Any = None) -> Any:
        return self.log_density(value)


class OrderedIn(constraints.Constraint):  # type: ignore[misc]
    """Increasing along the last axis, every element within an interval of the line."""

    event_dim = 1

    def __init__(self, inside: Any):
        self.inside = inside

    def __call__(self, x: Any) -> Any:
        return jnp.all(self.inside(x), axis=-1) & jnp.all(x[..., 1:] > x[..., :-1], axis=-1)

    def feasible_like(self, prototype: Any) -> Any:
        return biject_to(self)(constraints.real_vector.feasible_like(prototype))

    def tree_flatten(self) -> Any:
        return (self.inside,), (("inside",), {})


@biject_to.register(OrderedIn)  # type: ignore[untyped-decorator]
def _ordered_inside(constraint: OrderedIn) -> Any:
    """Increasing numbers, through the increasing map onto the interval."""
    return ComposeTransform([OrderedTransform(), biject_to(constraint.inside)])


class Ordered(Distribution):  # type: ignore[misc]
    """K independent draws in order: K! times their density where they increase, else none."""

    arg_constraints: ClassVar[dict[str, Any]] = {}
    support = constraints.dependent
    pytree_data_fields = ("base",)
    pytree_aux_fields = ("support",)

    def __init__(self, base: Distribution):
        self.base = base
        self.support = constraints.ordered_vector
        if isinstance(base.support, RISING):
            self.support = OrderedIn(base.support)
        super().__init__(base.batch_shape[:-1], base.batch_shape[-1:])

    def sample(self, key: Any, sample_shape: Shape = ()) -> Any:
        return jnp.sort(self.base.sample(key, sample_shape), axis=-1)

    def log_prob(self, value: Any, intermediates: Any = None) -> Any:
        rising = jnp.all(jnp.diff(value, axis=-1) > 0, axis=-1)
        found = jnp.sum(self.base.log_prob(value), axis=-1) + lgamma(self.event_shape[0] + 1.0)
        return jnp.where(rising, found, -jnp.inf)


class Joint:
    """Variables that are drawn together: the value of each site belongs to one draw of all."""

    def __init__(self) -> None:
        self.drawn: dict[str, Any] = {}

    def member(
        self, name: str, key: Any, earlier: dict[str, Any], draw: Callable[[Any], dict[str, Any]]
    ) -> Any:
        """`draw` draws this and all after it given the `earlier`, unless they are of one draw."""
        same = [value is self.drawn.get(other) for other, value in earlier.items()]
        if not same or not all(same):
            self.drawn = {**earlier, **draw(key)}
        return self.drawn[name]


class Hidden:
    """Variables that are summed over: drawn at most once a run, and only if asked for."""

    def __init__(self) -> None:
        self.drawn: dict[str, Any] = {}

    def value(self, name: str, key: Any, draw: Callable[[Any], dict[str, Any]]) -> Any:
        if name not in self.drawn:
            self.drawn.update(draw(key))
        return self.drawn[name]
