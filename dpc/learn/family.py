"""A random field with a score linear in theta is a family p(x) = h(x) exp(<theta, T(x)> - A).

    T(x) = d score(x) / d theta     E[T] = dA/d theta     Fisher information = d2A/d theta2 = Cov[T]

That it is one is found from the file. A is the log-partition by the inference engine (GM08, GM11).
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.moments import argument_name, arguments_as_nodes
from dpc.dsl.graph.passes.parts import compute_only
from dpc.dsl.graph.types import LAST
from dpc.dsl.library.constructor import argument_names, constructor, evaluate
from dpc.dsl.library.rows import Distribution
from dpc.dsl.lower.run import run_graph
from dpc.dsl.printable import InWords
from dpc.dsl.record import Record
from dpc.inference.families.family import Family, floats, over_leading
from dpc.inference.families.features import from_usual
from dpc.inference.families.table import FAMILIES, find_family
from dpc.inference.losses.fenchel_young import fenchel_young, tsallis
from dpc.inference.optimise.method import minimise
from dpc.inference.optimise.newton import Newton

from ..model.model import Model
from .likelihood import Arrays, Likelihood
from .roles import Degree

Values = dict[str, Any]
STEPS = 200


class NotAFamily(InWords, ValueError):
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

        def log_partition(theta: Values) -> jax.Array:
            return model.log_partition(theta, data)

        def statistic(values: Values) -> Any:
            return jax.grad(lambda theta: model.log_prob(theta, values, data))(self._zero)

        def distance(theta: Values, known: tuple[float, Values]) -> Any:
            """weight A(theta) - <theta, target>: one function, so that it is compiled once."""
            weight, target = known
            return weight * log_partition(theta) - _dot(theta, target)

        self._distance = distance
        self.log_partition: Callable[[Values], jax.Array] = jax.jit(log_partition)
        self.statistic: Callable[[Values], Values] = jax.jit(statistic)
        """T(x) of one configuration; average it over cases for observed moments."""
        self.mean: Callable[[Values], Values] = jax.jit(jax.grad(log_partition))
        """E[T], the gradient of the log-partition."""
        self.fisher: Callable[[Values], dict[str, Values]] = jax.jit(jax.hessian(log_partition))
        """Cov[T], the Hessian of the log-partition."""

    def entropy(self, theta: Values) -> jax.Array:
        return self.model.entropy(theta, self.data)

    def kl(self, theta: Values, other: Values) -> jax.Array:
        """KL(p_theta, p_other) = A(other) - A(theta) - <other - theta, E_theta[T]>."""
        difference = jax.tree.map(lambda a, b: jnp.asarray(b) - jnp.asarray(a), theta, other)
        rise = self.log_partition(other) - self.log_partition(theta)
        return rise - _dot(difference, self.mean(theta))

    def natural(self, mean: Values, prior: FieldPrior | None = None) -> Values:
        """The convex min A(theta) - <theta, mean> (most entropy); with a prior, the mode."""
        target = {name: jnp.asarray(mean[name], float) for name in self._zero}
        weight = 1.0 + (prior.count if prior else 0.0)
        if prior:
            target = jax.tree.map(jnp.add, target, prior.statistic)

        result = minimise(Newton(self._distance, (weight, target)), self._zero, STEPS)
        if not result.converged:
            raise NoMaximum(f"no parameters have these means: {result.reason}")
        found: Values = result.raw
        return found

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
    flat_a, flat_b = (ravel_pytree(jax.tree.map(floats, x))[0] for x in (a, b))
    return jnp.vdot(flat_a, flat_b)


# ---- natural gradients (SO08). With laws exp(<eta, T(y)> - A(eta)) the loss is convex in eta, and
# J' A'' J is both the Gauss-Newton matrix and the Fisher information of the unknowns.


class LawFamily(Record):
    """The exponential family of a distribution in the way its row gives the parameters."""

    row: Distribution

    @property
    def is_known(self) -> bool:
        """Whether the family takes the arguments that the row's NumPyro constructor has."""
        if not self.row.family:
            return False
        wanted = FAMILIES[self.row.family].example.keys()
        usual = set(argument_names(self.row)) - {"total_count"}
        return wanted <= {"total_count", "size"} and (
            bool(self.row.natural) or usual == self._family(2, 2).usual_ndims.keys()
        )

    def natural(self, **arguments: Any) -> Values:
        """The natural parameters [..., k], and the number of trials where there is one."""
        call = constructor(self.row.text)
        words = {"exp": jnp.exp, "sqrt": jnp.sqrt, "log": jnp.log, str(call.func.id): dict}  # type: ignore[attr-defined]
        usual = evaluate(call, {**words, **arguments})
        trials = usual.pop("total_count", None)
        known = {} if trials is None else {"trials": floats(trials)}
        if self.row.natural:
            logits = floats(arguments[self.row.natural])
            eta = logits[..., :-1] - logits[..., -1:] if self._is_table else logits[..., None]
            return {"eta": eta, **known}
        size = jnp.shape(next(iter(usual.values())))[-1] if self._is_table else 2
        return {"eta": from_usual(self._family(2, size), **usual), **known}

    def loss(self, outputs: Values, y: Any) -> Any:
        """A(eta) - <eta, T(y)>, element by element."""
        eta = outputs["eta"]
        event = self._family(2, 2).event_ndim

        def of_one(eta: Any, y: Any, trials: Any) -> Any:
            family = self._family(trials, eta.shape[-1] + 1)
            return family.log_partition(eta) - eta @ family.statistic(y).astype(eta.dtype)

        return over_leading(of_one, (eta, 1), (floats(y), event), (outputs.get("trials", 1.0), 0))

    @property
    def _is_table(self) -> bool:
        return "size" in FAMILIES[self.row.family].example

    def _family(self, trials: Any, size: int) -> Family:
        known = {"total_count": trials, "size": size}
        wanted = FAMILIES[self.row.family].example
        return find_family(self.row.family, **{name: known[name] for name in wanted})


Each = Callable[[Distribution, Values, Any], Any]
"""A loss of what `LawFamily.natural` gave and of values, for a distribution."""


def why_not_natural(likelihood: Likelihood) -> str:
    """Empty where every law of the data is a family of the table; else what is in the way."""
    if not likelihood.is_complete or not likelihood.roles.is_normalised:
        return "natural gradients need complete data and a directed model"
    if likelihood.masked:
        first = min(likelihood.masked)
        return f"natural gradients need complete data, and `{first}` has missing entries"
    for node in observed(likelihood):
        for law, piece in zip(node.laws, node.pieces, strict=True):
            if not LawFamily(law.facts).is_known:
                return f"`{node.name}` is {_written(law)}, which is not in the table"
            if piece.where is not None or len(piece.indices) != len(node.type.shape):
                return f"`{node.name}` is not one statement for all its places"
    return ""


def observed(likelihood: Likelihood) -> list[Node]:
    """The draws of the data whose law depends on something unknown."""
    graph, given = likelihood.roles.graph, likelihood.cases.given
    unknown = {node.name for node in likelihood.roles.unknowns}
    names = [n for n in sorted(given) if graph.ancestors([n], stop=given - {n}) & unknown]
    return [graph[name] for name in names]


def _written(law: c.Law) -> str:
    return f"{law.name}({', '.join(dict(law.arguments))})"


class Natural:
    """The two halves of a loss: natural parameters, and a convex function of them."""

    def __init__(self, likelihood: Likelihood):
        self.likelihood = likelihood
        self.nodes = observed(likelihood)
        self.model = likelihood.model_of(arguments_as_nodes(likelihood.model.graph, self.nodes))

    def outputs(self, raw: Values, arrays: list[Arrays]) -> Any:
        params = self.likelihood.constrain(raw)

        def natural(known: Values, sizes: Mapping[str, int]) -> dict[str, Any]:
            values = self.model.evaluate(*self.likelihood.known(params, known, sizes))
            found = {}
            for node in self.nodes:
                for number, law in enumerate(node.laws):
                    given = {n: values[argument_name(node, number, n)] for n, _ in law.arguments}
                    found[f"{node.name} {number}"] = LawFamily(law.facts).natural(**given)
            return found

        cases = zip(self.likelihood.cases.groups, arrays, strict=True)
        found = [self.likelihood.map_cases(group, own, natural) for group, own in cases]
        return found, params if self.likelihood.roles.prior else {}

    def loss(self, outputs: Any, arrays: list[Arrays]) -> Any:
        """sum of A(eta) - <eta, T(y)> over the data, less the log density of the prior."""
        natural, params = outputs
        prior = self.likelihood.log_prior(params) if params else jnp.zeros(())
        each = lambda row, outputs, y: LawFamily(row).loss(outputs, y)  # noqa: E731
        return self.total(each, natural, arrays) - prior

    def total(self, each: Each, natural: Any, arrays: list[Arrays]) -> Any:
        """The sum over all data of a loss."""

        def loss(known: Values, sizes: Mapping[str, int], eta: Any) -> Any:
            total = jnp.zeros(())
            for node in self.nodes:
                for number, (law, piece) in enumerate(zip(node.laws, node.pieces, strict=True)):
                    outputs, y = eta[f"{node.name} {number}"], known[node.name][_places(piece)]
                    total = total + jnp.sum(each(law.facts, outputs, y))
            return total

        total = jnp.zeros(())
        for group, own, eta in zip(self.likelihood.cases.groups, arrays, natural, strict=True):
            found = self.likelihood.map_cases(group, own, loss, eta)
            total = total + jnp.sum(own.weights * found)
        return total


def _places(piece: Any) -> Any:
    """Where along the axes of its draw a piece stands."""
    found: list[slice | int] = []
    for index in piece.indices:
        if isinstance(index, c.Bind):
            stop = None if index.high == LAST else index.high.offset + 1
            found.append(slice(index.low.offset, stop))
        else:
            found.append(int(index.value))
    return tuple(found)


SPARSE_LOSSES: dict[str, tuple[float, str]] = {
    "sparsemax": (2.0, "sparsemax: Gini's entropy in place of Shannon's"),
    "entmax": (1.5, "1.5-entmax: Tsallis' entropy in place of Shannon's"),
}


def why_not_sparse(likelihood: Likelihood) -> str:
    """Empty where all laws of the data are Categorical or Bernoulli with logits."""
    if not likelihood.is_complete or not likelihood.roles.is_normalised or likelihood.masked:
        return "it needs complete data and a directed model"
    for node in observed(likelihood):
        for law in node.laws:
            if not (law.facts.finite and law.facts.natural):
                return f"`{node.name}` is {_written(law)}, and it is for laws with logits"
    return ""


def sparse_loss(likelihood: Likelihood, name: str) -> Callable[[Values, list[Arrays]], Any]:
    """L = Omega*(theta) + Omega(y) - <theta, y>, less the prior (DU07, DU08); it predicts zeros."""
    regulariser = tsallis(SPARSE_LOSSES[name][0])
    natural = Natural(likelihood)

    def each(row: Distribution, outputs: Values, y: Any) -> Any:
        theta = _scores(row, outputs)
        seen = jax.nn.one_hot(jnp.asarray(y, int), theta.shape[-1], dtype=theta.dtype)
        return fenchel_young(regulariser, theta, seen)

    def loss(raw: Values, arrays: list[Arrays]) -> Any:
        outputs, _ = natural.outputs(raw, arrays)
        prior = likelihood.log_prior(likelihood.constrain(raw))
        return natural.total(each, outputs, arrays) - prior

    return loss


def _scores(row: Distribution, outputs: Values) -> Any:
    """Of every state, up to a constant."""
    # The reference, with logit zero, is `false` of a Bernoulli and the last of a Categorical.
    odds = outputs["eta"]
    zero = jnp.zeros_like(odds[..., :1])
    return jnp.concatenate([zero, odds] if row.coin else [odds, zero], axis=-1)


class SparseChances:
    """p = grad Omega*(theta), argmax_p <theta, p> - Omega(p): what the loss `name` predicts."""

    def __init__(self, graph: Graph, name: str, loss: str, externs: Mapping[str, Any]):
        self.node = graph[name]
        self.predict = tsallis(SPARSE_LOSSES[loss][0]).predict
        whole = arguments_as_nodes(graph, [self.node])
        self.names = [
            {n: argument_name(self.node, number, n) for n, _ in law.arguments}
            for number, law in enumerate(self.node.laws)
        ]
        wanted = [whole[own] for names in self.names for own in names.values()]
        self.evaluate = run_graph(compute_only(graph, wanted, ()), externs)["evaluate"]

    def __call__(
        self, params: Values, data: Mapping[str, Any], values: Values, shape: tuple[int, ...]
    ) -> Any:
        """[shape, states]."""
        found = self.evaluate(params, values, dict(data))
        chances = jnp.zeros(())
        for law, piece, names in zip(self.node.laws, self.node.pieces, self.names, strict=True):
            arguments = {argument: found[own] for argument, own in names.items()}
            own = self.predict(_scores(law.facts, LawFamily(law.facts).natural(**arguments)))
            whole = chances if chances.ndim else jnp.zeros((*shape, own.shape[-1]))
            chances = whole.at[_places(piece)].set(own)
        return chances
