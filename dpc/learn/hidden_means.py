"""E[y] = E[E[y | z]] and Var[y] = E[Var[y | z]] + Var[E[y | z]], where y depends on finite draws z
that are hidden.

The sums over z given all that a case says are derivatives of a log-partition: with s[t] f[t](z)
added to the score,

    d log Z / d s[t] at s = 0  =  E[f[t](z) | case]

for f = E[y[t] | z], and then for f = Var[y[t] | z] + (E[y[t] | z] - E[y[t]])^2, which has nothing
to cancel.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.graph.passes.moments import tilt_moment

from ..model.model import Model

Values = dict[str, Any]


class HiddenMeans:
    """Mean and standard deviation of a draw, as a function of parameters, of data and of other
    draws.

    `graph` says what else a case gives, and need not have the draw itself.
    """

    def __init__(self, graph: Graph, node: Node, externs: Mapping[str, Callable[..., Any]]):
        self.node = node
        self.mean, self.variance = (
            Model(tilt_moment(graph, node, moment), "", externs)
            for moment in ("mean", "squared distance")
        )

    def __call__(
        self, params: Values, data: Mapping[str, Any], given: Values, sizes: Mapping[str, int]
    ) -> tuple[Any, Any]:
        shape = tuple(axis.size or sizes[str(axis)] for axis in self.node.type.shape)

        def expected(model: Model, centre: Any) -> Any:
            def log_partition(tilt: Any) -> Any:
                name = self.node.name
                tilted = {**data, f"{name}.tilt": tilt, f"{name}.centre": centre}
                return model.log_partition(params, tilted, given)

            return jax.grad(log_partition)(jnp.zeros(shape))

        mean = expected(self.mean, jnp.zeros(shape))
        return mean, jnp.sqrt(expected(self.variance, mean))
