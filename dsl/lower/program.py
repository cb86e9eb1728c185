"""A graph as one Python module: functions of parameters, values and data, with jax and numpyro the only imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .. import core as c
from ..check.order import Recurrence, find_recurrences
from ..check.typed import Function, Piece
from ..graph import Graph, Kind, Node
from ..record import Record
from ..types import Dim
from .expressions import lower
from .initial import mentioned, parameters, start_text
from .lags import lagged_edges
from .names import free_name, python_names
from .nodes import density_terms, draw_statements, draw_text, dtype_text, lower_piece, value_statements
from .recurrences import ValueOf, recurrence_statements
from .scope import Needs, Scope
from .shapes import as_number
from .value import Value


class Program(Record):
    """The text of dims and functions, and the helpers and constants that they use."""

    dims: str
    text: str
    helpers: tuple[str, ...]
    constants: dict[str, str]


class Writer:
    def __init__(self, graph: Graph, reserved: frozenset[str]):
        self.graph = graph
        self.needs = Needs(reserved)
        self.names = python_names(graph, reserved)
        self.needs.vectorized |= {f.name for f in graph.functions if f.body and _is_scalar(f)}
        self.scope = Scope(self.names, self.needs)

    # ---- pieces of functions

    def sizes(self, sources: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Every dim without a size in the file is read off the first array that has it."""
        for dim in self.graph.dims:
            if dim.size is None:
                name = self.names[f"dim {dim.name}"]
                yield name, f"{name} = {self._size_source(dim, sources)}"

    def _size_source(self, dim: Dim, sources: dict[str, str]) -> str:
        for kind in ("data", "params", "values"):
            for node in self.graph.nodes:
                if sources.get(node.name) == kind and dim in node.type.shape:
                    return f'{kind}["{node.name}"].shape[{node.type.shape.index(dim)}]'
        return f'data["{dim.name}"]'

    def reads(self, sources: dict[str, str], wanted: set[str]) -> Iterator[str]:
        for node in self.graph.nodes:
            if node.name in sources and node.name in wanted:
                yield f'{self.names[node.name]} = {sources[node.name]}["{node.name}"]'

    def computed(self, nodes: list[Node]) -> Iterator[str]:
        """Function nodes in order; those that depend on each other are one scan."""
        functions = [n for n in nodes if n.kind is Kind.FUNCTION]
        groups = self.groups([n.name for n in functions])
        by_member = {name: group for group in groups for name in group.members}
        seen: set[str] = set()
        for node in functions:
            group = by_member.get(node.name)
            if group is None:
                yield from value_statements(node, self.scope)
            elif node.name not in seen:
                seen |= set(group.members)
                yield from recurrence_statements(group, self.graph.by_name, self.scope, _value_of)

    def groups(self, names: list[str]) -> list[Recurrence]:
        edges = [e for name in names for e in lagged_edges(self.graph[name]) if e.used in names]
        return find_recurrences(names, edges)[0]

    # ---- functions

    def function(self, function: Function) -> list[str]:
        names = [free_name(name, self.scope.taken) for name, _ in function.parameters]
        parameters = zip(names, function.parameters, strict=True)
        scalars = {name: Value(text, (), len(type_.shape)) for text, (name, type_) in parameters}
        assert function.body is not None
        body = lower(function.body, self.scope.replace(scalars=scalars, owner=function.name))
        body = as_number(body, function.body.type, function.result)
        head = ["@jnp.vectorize"] if function.name in self.needs.vectorized else []
        return [*head, f"def {self.names[function.name]}({', '.join(names)}):", f"    return {body.text}"]

    def sources(self, sampled: bool = False) -> dict[str, str]:
        """Where each given node is read from."""
        found = {}
        for node in self.graph.nodes:
            if node.kind is Kind.PARAMETER:
                found[node.name] = "params"
            elif node.kind is Kind.INPUT or (node.observed and not sampled):
                found[node.name] = "data"
            elif node.kind is Kind.DRAW and not sampled:
                found[node.name] = "values"
        return found

    def definition(self, head: str, doc: str, targets: list[str], tail: list[str]) -> list[str]:
        """A function that reads what is given, computes what the targets need, and ends with `tail`."""
        sources = self.sources()
        direct = [parent for target in targets for parent in self.graph[target].parents]
        wanted = self.graph.ancestors([*targets, *direct], set(sources))
        nodes = [n for n in self.graph.nodes if n.name in wanted and n.name not in sources]
        body = [*self.reads(sources, wanted), *self.computed(nodes), *tail]
        return self.finish(head, doc, sources, body)

    def finish(self, head: str, doc: str, sources: dict[str, str], body: list[str]) -> list[str]:
        """Sizes that the body mentions come first."""
        sizes = [line for name, line in self.sizes(sources) if _mentions(body, name)]
        return [f"def {head}:", f'    """{doc}"""', *(f"    {line}".rstrip() for line in [*sizes, *body])]

    def log_prob(self) -> list[str]:
        nodes = [n for n in self.graph.nodes if (n.kind is Kind.DRAW and n.pieces) or n.kind is Kind.FACTOR]
        tail = ["total = 0.0"]
        for node in nodes:
            tail += [f"total += {term}" for term in density_terms(node, self.scope)]
        has_factors = any(n.kind is Kind.FACTOR for n in nodes)
        doc = "Log density of all draws" + (" plus all log potentials, not normalised." if has_factors else ".")
        return self.definition(
            "log_prob(params: Arrays, values: Arrays, data: Arrays) -> jax.Array",
            doc,
            [n.name for n in nodes],
            [*tail, "return total"],
        )

    def evaluate(self) -> list[str]:
        nodes = [n for n in self.graph.nodes if n.kind is Kind.FUNCTION]
        pairs = ", ".join(f'"{n.name}": {self.names[n.name]}' for n in nodes)
        return self.definition(
            "evaluate(params: Arrays, values: Arrays, data: Arrays) -> Arrays",
            "Values of all computed nodes.",
            [n.name for n in nodes],
            [f"return {{{pairs}}}"],
        )

    def objective(self) -> list[str]:
        (node,) = self.graph.of_kind(Kind.COST)
        piece = node.pieces[0]
        value = lower_piece(piece, node, self.scope)
        doc = f"What the model is to {node.name}, given the values of its draws."
        return self.definition(
            "objective(params: Arrays, values: Arrays, data: Arrays) -> jax.Array",
            doc,
            [node.name],
            [f"return {value.text}"],
        )

    def sample(self) -> list[str]:
        draws = [n for n in self.graph.nodes if n.kind is Kind.DRAW]
        sources = self.sources(sampled=True)
        wanted = self.graph.ancestors([n.name for n in draws], set(sources))
        nodes = [n for n in self.graph.nodes if n.name in wanted and n.name not in sources]
        body = [*self.reads(sources, wanted)]
        body += [f"keys = jax.random.split(key, {max(1, sum(len(n.pieces) for n in draws))})"]
        body += self.sampled(nodes)
        pairs = ", ".join(f'"{n.name}": {self.names[n.name]}' for n in draws)
        doc = "One draw of every random variable, parents before children."
        return self.finish(
            "sample(key: jax.Array, params: Arrays, data: Arrays) -> Arrays",
            doc,
            sources,
            [*body, f"return {{{pairs}}}"],
        )

    def init(self) -> list[str]:
        nodes = parameters(self.graph)
        given = {name: "data" for name, source in self.sources().items() if source == "data"}
        rows = [f'    "{n.name}": {start_text(n, self.scope)},' for n in nodes]
        body = ["return {", *rows, "}"] if rows else ["return {}"]
        reads = self.reads(given, {name for node in nodes for name in mentioned(node)})
        return self.finish("init(data: Arrays) -> Arrays", "Starting values of the parameters.", given, [*reads, *body])

    def sampled(self, nodes: list[Node]) -> Iterator[str]:
        groups = {name: group for group in self.groups([n.name for n in nodes]) for name in group.members}
        keys = key_texts(nodes)
        seen: set[str] = set()
        for node in nodes:
            group = groups.get(node.name)
            if group is not None:
                if node.name not in seen:
                    seen |= set(group.members)
                    yield from recurrence_statements(group, self.graph.by_name, self.scope, drawn_with(keys))
            elif node.kind is Kind.DRAW:
                yield from draw_statements(node, keys[node.name], self.scope)
            else:
                yield from value_statements(node, self.scope)


def _is_scalar(function: Function) -> bool:
    shapes = [function.result.shape, *(type_.shape for _, type_ in function.parameters)]
    return bool(function.parameters) and not any(shapes)


def _mentions(lines: list[str], name: str) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\b", line) for line in lines)


def key_texts(nodes: list[Node]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    count = 0
    for node in nodes:
        if node.kind is Kind.DRAW:
            found[node.name] = [f"keys[{count + k}]" for k in range(len(node.pieces))]
            count += len(node.pieces)
    return found


def _value_of(node: Node, piece: Piece, numbers: tuple[str, ...], scope: Scope) -> str:
    """A plain number gets the type of the node, because a scan does not change the types that it carries."""
    text = lower_piece(piece, node, scope).text
    return f"jnp.asarray({text}, {dtype_text(node.type)})" if _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("True", "False")
    return True


def drawn_with(keys: dict[str, list[str]], frozen: frozenset[str] = frozenset()) -> ValueOf:
    """Draws of every step have keys of their own; everything else is computed. Frozen draws have no derivatives."""

    def value_of(node: Node, piece: Piece, numbers: tuple[str, ...], scope: Scope) -> str:
        if node.kind is not Kind.DRAW:
            return _value_of(node, piece, numbers, scope)
        key = keys[node.name][[own.span for own in node.pieces].index(piece.span)]
        for number in numbers:
            key = f"jax.random.fold_in({key}, {number})"
        text = draw_text(node, piece, key, scope)
        return f"lax.stop_gradient({text})" if node.name in frozen else text

    return value_of


Parts = Callable[["Writer"], list[list[str]]]


def lower_program(graph: Graph, parts: Parts | None = None, reserved: frozenset[str] = frozenset()) -> Program:
    """Written twice: the first time tells the helpers and constants, so that no variable takes their names."""
    draft = _write(graph, parts or standard_parts, reserved)
    return _write(graph, parts or standard_parts, frozenset({*reserved, *draft.helpers, *draft.constants}))


def _write(graph: Graph, parts: Parts, reserved: frozenset[str]) -> Program:
    writer = Writer(graph, reserved)
    written = [writer.function(f) for f in graph.functions if f.body is not None] + parts(writer)
    sized = [f"{writer.names[f'dim {d.name}']} = {d.size}" for d in graph.dims if d.size is not None]
    text = "\n\n\n".join("\n".join(part) for part in written) + "\n"
    return Program("\n".join(sized), text, tuple(writer.needs.helpers), writer.needs.constants)


def standard_parts(writer: Writer) -> list[list[str]]:
    """The functions of the printed program, each where the model has something for it to do."""
    graph = writer.graph
    parts = []
    if any((n.kind is Kind.DRAW and n.pieces) or n.kind is Kind.FACTOR for n in graph.nodes):
        parts.append(writer.log_prob())
    if graph.of_kind(Kind.FUNCTION):
        parts.append(writer.evaluate())
    if graph.of_kind(Kind.DRAW) and not any(n.undirected for n in graph.nodes):
        parts.append(writer.sample())
    if graph.of_kind(Kind.COST) and not _has_bound(graph):
        parts.append(writer.objective())
    return [*parts, writer.init()]


def _has_bound(graph: Graph) -> bool:
    (cost,) = graph.of_kind(Kind.COST)
    return any(isinstance(x, c.Apply) and x.function in c.BOUNDS for x in c.walk(cost.pieces[0].body))
