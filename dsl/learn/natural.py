"""Natural gradients: the Fisher information of the laws of the data, seen through whatever computes their parameters.

A law of an exponential family is exp(<eta, T(y)> - A(eta)) up to its base measure, so that the loss is convex in its
natural parameters eta, and J' A'' J is both the Gauss-Newton matrix and the Fisher information of the unknowns (SO08).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln, logit

from .. import core as c
from ..build import run_passes
from ..graph import Graph, Kind, Node
from ..record import Record
from .likelihood import Arrays, Likelihood

Values = dict[str, Any]


class Family(Record):
    """`natural(arguments)` of a law, its log-partition A, and <eta, T(y)>; all elementwise."""

    natural: Callable[..., Any]
    log_partition: Callable[[Any], Any]
    score: Callable[[Any, Any], Any]

    def loss(self, eta: Any, y: Any) -> Any:
        return self.log_partition(eta) - self.score(eta, y)


def _product(eta: Any, y: Any) -> Any:
    return eta * jnp.asarray(y, float)


def _pair(eta: tuple[Any, Any], y: Any) -> Any:
    return eta[0] * y + eta[1] * y**2


def _chosen(eta: Any, y: Any) -> Any:
    return jnp.take_along_axis(eta, jnp.asarray(y)[..., None], axis=-1)[..., 0]


BERNOULLI = Family(lambda logits: logits, lambda eta: jax.nn.softplus(eta), _product)
BINOMIAL = Family(
    lambda n, logits: (logits, jnp.asarray(n, float)),
    lambda eta: eta[1] * jax.nn.softplus(eta[0]),
    lambda eta, y: eta[0] * y,
)
POISSON = Family(lambda log_rate: log_rate, lambda eta: jnp.exp(eta), _product)
CATEGORICAL = Family(lambda logits: logits, lambda eta: jax.nn.logsumexp(eta, axis=-1), _chosen)

FAMILIES: dict[tuple[str, tuple[str, ...]], Family] = {
    ("Bernoulli", ("logits",)): BERNOULLI,
    ("Bernoulli", ("p",)): BERNOULLI.replace(natural=lambda p: logit(p)),
    ("Binomial", ("n", "logits")): BINOMIAL,
    ("Binomial", ("n", "p")): BINOMIAL.replace(natural=lambda n, p: (logit(p), jnp.asarray(n, float))),
    ("Poisson", ("log_rate",)): POISSON,
    ("Poisson", ("rate",)): POISSON.replace(natural=lambda rate: jnp.log(rate)),
    ("Categorical", ("logits",)): CATEGORICAL,
    ("Categorical", ("p",)): CATEGORICAL.replace(natural=lambda p: jnp.log(p)),
    ("Exponential", ("rate",)): Family(lambda rate: -rate, lambda eta: -jnp.log(-eta), _product),
    ("Normal", ("mean", "sd")): Family(
        lambda mean, sd: (mean / sd**2, -0.5 / sd**2),
        lambda eta: -(eta[0] ** 2) / (4 * eta[1]) - jnp.log(-2 * eta[1]) / 2,
        _pair,
    ),
    ("Gamma", ("shape", "rate")): Family(
        lambda shape, rate: (shape, -rate),
        lambda eta: gammaln(eta[0]) - eta[0] * jnp.log(-eta[1]),
        lambda eta, y: eta[0] * jnp.log(y) + eta[1] * y,
    ),
}


def why_not_natural(likelihood: Likelihood) -> str:
    """Empty where every law of the data is a family of the table; else what is in the way."""
    if not likelihood.is_complete or not likelihood.roles.is_normalised:
        return "natural gradients need complete data and a directed model"
    if likelihood.masked:
        return f"natural gradients need complete data, and `{sorted(likelihood.masked)[0]}` has missing entries"
    for node in observed(likelihood):
        for piece in node.pieces:
            assert isinstance(piece.body, c.Law)
            if (piece.body.name, _names(piece.body)) not in FAMILIES:
                return f"`{node.name}` is {piece.body.name}({', '.join(_names(piece.body))}), which is not in the table"
            if piece.where is not None or len(piece.indices) != len(node.type.shape):
                return f"`{node.name}` is not one statement for all its places"
    return ""


def observed(likelihood: Likelihood) -> list[Node]:
    """The draws of the data whose law depends on something unknown."""
    graph = likelihood.roles.graph
    unknown = {node.name for node in likelihood.roles.unknowns}
    given = [graph[name] for name in sorted(likelihood.cases.given)]
    return [node for node in given if graph.ancestors([node.name], stop=likelihood.cases.given - {node.name}) & unknown]


def _names(law: c.Law) -> tuple[str, ...]:
    return tuple(name for name, _ in law.arguments)


def argument_name(node: Node, number: int, argument: str) -> str:
    return f"{node.name}.{argument}{number or ''}"


def with_arguments(graph: Graph, nodes: list[Node]) -> Graph:
    """The arguments of these draws' laws as computed nodes of their own, one for each piece."""
    found = []
    for node in nodes:
        for number, piece in enumerate(node.pieces):
            assert isinstance(piece.body, c.Law)
            binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
            shape = tuple(bind.dim for bind in binders)
            for argument, core in piece.body.arguments:
                name = argument_name(node, number, argument)
                type_ = core.type.replace(shape=(*shape, *core.type.shape), constraint="")
                own = piece.replace(indices=binders, body=core, settings=())
                found.append(Node(name, Kind.FUNCTION, type_, node.span, node.source, (own,)))
    return run_passes(graph.replace(nodes=(*graph.nodes, *found)))


class Natural:
    """The two halves of a loss: natural parameters of all laws of the data, and a convex function of them."""

    def __init__(self, likelihood: Likelihood):
        self.likelihood = likelihood
        self.nodes = observed(likelihood)
        self.model = likelihood.model_of(with_arguments(likelihood.model.graph, self.nodes))

    def outputs(self, raw: Values, arrays: list[Arrays]) -> Any:
        params = self.likelihood.constrain(raw)
        cases = zip(self.likelihood.cases.groups, arrays, strict=True)
        found = [
            self.likelihood.map_cases(group, own, lambda k, s: self._natural(params, k, s)) for group, own in cases
        ]
        return found, params if self.likelihood.roles.prior else {}

    def loss(self, outputs: Any, arrays: list[Arrays]) -> Any:
        """sum of A(eta) - <eta, T(y)> over the data, less the log density of the prior."""
        natural, params = outputs
        prior = self.likelihood.log_prior(params) if params else jnp.zeros(())
        return self.total(None, natural, arrays) - prior

    def total(self, each: Callable[[Any, Any], Any] | None, natural: Any, arrays: list[Arrays]) -> Any:
        """The sum over all data of a loss of natural parameters and values, minus the log-likelihood if it is None."""
        total = jnp.zeros(())
        for group, own, eta in zip(self.likelihood.cases.groups, arrays, natural, strict=True):
            found = self.likelihood.map_cases(group, own, lambda known, sizes, eta: self._loss(known, eta, each), eta)
            total = total + jnp.sum(own.weights * found)
        return total

    def _natural(self, params: Values, known: Values, sizes: Mapping[str, int]) -> dict[str, Any]:
        own, data, given = self.likelihood.known(params, known, sizes)
        values = self.model.evaluate(own, data, given)
        return {key: family.natural(**arguments) for key, family, arguments in self._laws(values)}

    def _laws(self, values: Values) -> list[tuple[str, Family, Values]]:
        found = []
        for node in self.nodes:
            for number, law in enumerate(node.laws):
                names = _names(law)
                arguments = {name: values[argument_name(node, number, name)] for name in names}
                found.append((f"{node.name} {number}", FAMILIES[law.name, names], arguments))
        return found

    def _loss(self, known: Values, eta: dict[str, Any], each: Callable[[Any, Any], Any] | None) -> Any:
        total = jnp.zeros(())
        for node in self.nodes:
            for number, (law, piece) in enumerate(zip(node.laws, node.pieces, strict=True)):
                rule = each or FAMILIES[law.name, _names(law)].loss
                total = total + jnp.sum(rule(eta[f"{node.name} {number}"], known[node.name][_places(piece)]))
        return total


def _places(piece: Any) -> Any:
    """Where along the axes of its draw a piece stands."""
    found: list[slice | int] = []
    for index in piece.indices:
        if isinstance(index, c.Bind):
            stop = None if index.high.offset == -1 and index.high.from_end else index.high.offset + 1
            found.append(slice(index.low.offset, stop))
        else:
            found.append(int(index.value))
    return tuple(found)
