"""Values of nodes for people: labels in place of positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpc.dsl.graph.graph import Kind
from dpc.dsl.graph.types import Dim, IndexOf

from ..exits import UsageError
from .answer import Answer, AnswerTable

if TYPE_CHECKING:
    from ..data.bound import Data
    from ..model.model import Model

Values = dict[str, Any]


def readable(value: Any, node_type: Any, labels: Mapping[str, tuple[str, ...]]) -> Any:
    """Numbers as Python numbers, positions as their labels."""
    items = value.tolist() if hasattr(value, "tolist") else value
    domain = node_type.domain
    if not isinstance(domain, IndexOf):
        return items
    names = domain.dim.labels if isinstance(domain.dim, Dim) else ()
    names = names or labels.get(str(domain.dim), ())
    return _relabel(items, names) if names else items


def _relabel(items: Any, names: tuple[str, ...]) -> Any:
    return [_relabel(item, names) for item in items] if isinstance(items, list) else names[items]


class Samples(Answer):
    """Draws of random variables, a row for each."""

    def __init__(self, model: Model, draws: Values, labels: Mapping[str, tuple[str, ...]]):
        nodes = [node for node in model.graph.nodes if node.name in draws]
        self.draws = {n.name: readable(draws[n.name], n.type, labels) for n in nodes}

    def tables(self) -> list[AnswerTable]:
        rows = list(zip(*self.draws.values(), strict=True))
        return [AnswerTable(tuple(self.draws), rows)]

    def to_dict(self) -> Values:
        return self.draws


class Computed(Answer):
    """The values of computed nodes, and of the objective with its gradient."""

    def __init__(self, found: Values):
        self.found = found

    def __getitem__(self, name: str) -> Any:
        return self.found[name]

    def tables(self) -> list[AnswerTable]:
        return [AnswerTable((), list(self.found.items()))]

    def to_dict(self) -> Values:
        return self.found


def compute(model: Model, params: Values, data: Data, seed: int, grad: bool) -> Computed:
    # Random variables that the data do not give are drawn once.
    import jax

    draws = model.graph.of_kind(Kind.DRAW)
    if any(node.undirected for node in draws):
        what = "the values of a random field depend on its latent variables"
        raise UsageError(f"{what}: ask `dpc query`")
    values = model.sample(jax.random.key(seed), params, data) if draws else {}
    given = {**values, **{name: data[name] for name in data}}
    nodes = model.graph.of_kind(Kind.FUNCTION)
    computed = model.evaluate(params, given, values) if nodes else {}
    found = {n.name: readable(computed[n.name], n.type, data.labels) for n in nodes}
    for cost in model.graph.of_kind(Kind.COST)[:1]:
        if cost.random and grad:
            raise UsageError("the gradient of an expectation needs an estimator: ask `dpc grad`")
        found[cost.name] = float(model.value(params, given, values))
        gradient = model.gradient(params, given, values) if grad else {}
        found |= {f"d/d {name}": value.tolist() for name, value in gradient.items()}
    if not found:
        raise UsageError(f"{model.title} computes nothing: it has no `=`, `:=` or objective")
    return Computed(found)
