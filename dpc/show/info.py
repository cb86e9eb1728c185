"""What a model is and what its nodes are worth: class and plans, draws and computed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpc.dsl.graph.classify import classify
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Dim, IndexOf

from ..exits import UsageError
from .answer import Answer, AnswerTable, columns

if TYPE_CHECKING:
    from dpc.inference.planning.plan import Plan

    from ..data.bound import Data
    from ..gradient.choose import EstimatorChoice
    from ..gradient.smoothed import SmoothingErrors
    from ..model.model import Model


class Info(Answer):
    def __init__(self, graph: Graph):
        self.graph = graph
        self.kind = classify(graph)

    def before(self) -> list[str]:
        graph = self.graph
        lines = [f"{graph.name or graph.source.path}: {self.kind.name}"]
        lines += [f"  {line}" for line in (*self.kind.reasons, *self.kind.structure)]
        if graph.dims:
            dims = [(dim.name, _dim_text(dim, graph)) for dim in graph.dims]
            lines += ["", "dims", *columns(dims, "  ")]
        lines += ["", "nodes", *columns([_row(node) for node in graph.nodes], "  ")]
        if graph.guide:
            guide = [_row(node) for node in graph.guide.nodes if node.pieces]
            lines += ["", "guide", *columns(guide, "  ")]
        return lines

    def to_dict(self) -> dict[str, Any]:
        graph = self.graph
        return {
            "model": graph.name,
            "class": self.kind.name,
            "reasons": list(self.kind.reasons),
            "structure": list(self.kind.structure),
            "dims": [
                {"name": d.name, "size": d.size, "labels": list(d.labels)} for d in graph.dims
            ],
            "nodes": [_node_dict(node) for node in graph.nodes],
            "guide": [_node_dict(node) for node in graph.guide.nodes] if graph.guide else None,
            "recurrences": [
                {"members": list(r.members), "axis": r.axis, "order": r.order}
                for r in graph.recurrences
            ],
        }


def _dim_text(dim: Dim, graph: Graph) -> str:
    if dim.labels:
        shown = " | ".join(dim.labels[:8]) + (" | ..." if len(dim.labels) > 8 else "")
        return f"{dim.size}: {shown}"
    least = graph.least_sizes.get(dim.name, 0)
    return str(dim.size) if dim.size else "from data" + (f", at least {least}" if least else "")


def _row(node: Node) -> tuple[str, ...]:
    parents = ", ".join(node.parents)
    words = ["observed"] if node.observed else []
    words += ["undirected"] if node.undirected else [node.kind.value]
    if node.laws:
        words.append(node.laws[-1].name)
    elif node.random and not node.undirected:
        words.append("(random)")
    words += [_setting(setting.name, setting.method) for setting in node.settings]
    return node.name, str(node.type), " ".join(words), f"from {parents}" if parents else ""


def _setting(name: str, method: str) -> str:
    return f"{name}={method}" if method else name


def _node_dict(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "kind": node.kind.value,
        "type": str(node.type),
        "shape": [str(axis) for axis in node.type.shape],
        "distribution": node.laws[-1].name if node.laws else None,
        "parents": list(node.parents),
        "random": node.random,
        "observed": node.observed,
        "undirected": node.undirected,
        "kept": node.kept,
        "annotations": [_setting(s.name, s.method) for s in node.settings],
    }


class EliminationPlan(Answer):
    """The order in which finite variables are summed out, its operations and its bytes."""

    def __init__(self, plan: Plan):
        self.plan = plan

    def before(self) -> list[str]:
        return str(self.plan).split("\n")

    def to_dict(self) -> dict[str, Any]:
        clique, entries = self.plan.largest_clique
        return {
            "order": list(self.plan.names),
            "heuristic": self.plan.method,
            "operations": self.plan.operations,
            "bytes": self.plan.bytes,
            "largest_clique": {"variables": list(clique), "entries": entries},
        }


class EstimatorPlan(Answer):
    """The estimator of each draw of the objective, and why."""

    def __init__(self, choices: list[EstimatorChoice]):
        self.choices = choices

    def before(self) -> list[str]:
        exact = "the objective has no random part: its gradient is exact"
        return [] if self.choices else [exact]

    def tables(self) -> list[AnswerTable]:
        rows = [(c.name, str(c), c.points, c.reason) for c in self.choices]
        return [AnswerTable(("draw", "estimator", "points", "why"), rows)] if rows else []

    def to_dict(self) -> dict[str, Any]:
        rows = [
            {
                "draw": choice.name,
                "method": choice.method,
                "options": dict(choice.options),
                "reason": choice.reason,
                "points": choice.points,
            }
            for choice in self.choices
        ]
        return {"estimators": rows}


Values = dict[str, Any]


def readable(value: Any, node_type: Any, labels: Mapping[str, tuple[str, ...]]) -> Any:
    """Numbers as Python numbers, positions as their labels."""
    items = value.tolist() if hasattr(value, "tolist") else value
    domain = node_type.domain
    if not isinstance(domain, IndexOf):
        return items
    names = domain.dim.labels if isinstance(domain.dim, Dim) else ()
    return _relabel(items, names or labels.get(str(domain.dim), ()))


def _relabel(items: Any, names: tuple[str, ...]) -> Any:
    if isinstance(items, list):
        return [_relabel(item, names) for item in items]
    return names[items] if names else items


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

    def __init__(self, found: Values, smoothing: SmoothingErrors | None = None):
        self.found, self.smoothing = found, smoothing

    def __getitem__(self, name: str) -> Any:
        return self.found[name]

    def tables(self) -> list[AnswerTable]:
        return [AnswerTable((), list(self.found.items()))]

    def after(self) -> list[str]:
        return self.smoothing.lines() if self.smoothing else []

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.smoothing.warnings if self.smoothing else ()

    def to_dict(self) -> Values:
        errors = {"smoothing errors": dict(self.smoothing)} if self.smoothing else {}
        return {**self.found, **errors}


def compute(model: Model, params: Values, data: Data, seed: int, grad: bool) -> Computed:
    # Random variables that the data do not give are drawn once.
    import jax

    from ..gradient.smoothed import SmoothingErrors, another_rule

    draws = model.graph.of_kind(Kind.DRAW)
    if any(node.undirected for node in draws):
        what = "the values of a random field depend on its latent variables"
        raise UsageError(f"{what}: ask `dpc query`")
    drawn = model.sample(jax.random.key(seed), params, data) if draws else {}
    values = {name: value for name, value in drawn.items() if name not in data}
    found = _numbers(model, params, data, values, grad)
    if not found:
        raise UsageError(f"{model.title} computes nothing: it has no `=`, `:=` or objective")
    types = {node.name: node.type for node in model.graph.of_kind(Kind.FUNCTION)}
    shown = {
        name: readable(value, types[name], data.labels) if name in types else value.tolist()
        for name, value in found.items()
    }
    twin = another_rule(model)
    if twin is None:
        return Computed(shown)
    return Computed(shown, SmoothingErrors(found, _numbers(twin, params, data, values, grad)))


def _numbers(model: Model, params: Values, data: Data, values: Values, grad: bool) -> Values:
    """The values of all computed nodes and of the objective, and the gradient of that."""
    nodes = model.graph.of_kind(Kind.FUNCTION)
    computed = model.evaluate(params, data, values) if nodes else {}
    found = {node.name: computed[node.name] for node in nodes}
    for cost in model.graph.of_kind(Kind.COST)[:1]:
        if cost.random and grad:
            raise UsageError("the gradient of an expectation needs an estimator: ask `dpc grad`")
        found[cost.name] = model.value(params, data, values)
        gradient = model.gradient(params, data, values) if grad else {}
        found |= {f"d/d {name}": value for name, value in gradient.items()}
    return found
