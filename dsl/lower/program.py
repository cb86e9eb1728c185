"""A graph as one Python module: functions of parameters, values and data."""

from ast import FunctionDef
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..graph import core as c
from ..graph.dependence import Recurrence, find_recurrences, lagged_edges, nodes_read
from ..graph.graph import Graph, Kind, Node
from ..graph.typed import Function, Piece
from ..library.bodies.source import with_uses
from ..record import Record
from . import code as py
from . import nodes as lowering
from .expressions import lower
from .recurrences import ValueOf, recurrence_statements
from .scope import Needs, Scope, Value, dim_key, parameter_names, python_names
from .shapes import as_array, as_number
from .sharing import shared


class LoweredProgram(Record):
    """Dims, functions, the helpers and constants they use, and its names, by `python_names`."""

    dims: list[py.Statement]
    functions: list[FunctionDef]
    helpers: tuple[str, ...]
    constants: dict[str, object]
    names: dict[str, str]

    @property
    def defined(self) -> frozenset[str]:
        return frozenset(function.name for function in self.functions)


class ProgramWriter:
    def __init__(self, graph: Graph, reserved: frozenset[str]):
        self.graph = graph
        self.needs = Needs(reserved, graph.functions)
        self.names = python_names(graph, reserved)
        self.scope = Scope(self.names, self.needs)

    def sizes(self, sources: dict[str, str]) -> Iterator[tuple[str, py.Statement]]:
        """Every dim without a size in the file is read off the first array that has it."""
        for dim in self.graph.dims:
            if dim.size is None:
                own, size = self.names[dim_key(dim.name)], py.entry("data", dim.name)
                having = [n for n in self.graph.nodes if n.name in sources and dim in n.type.shape]
                if having:
                    kinds = ("data", "params", "values")
                    node = min(having, key=lambda n: kinds.index(sources[n.name]))
                    shape = py.attribute(py.entry(sources[node.name], node.name), "shape")
                    size = py.index(shape, py.const(node.type.shape.index(dim)))
                yield own, py.assign(own, size)

    def reads(self, sources: dict[str, str], wanted: set[str]) -> Iterator[py.Statement]:
        for node in self.graph.nodes:
            if node.name in sources and node.name in wanted:
                yield py.assign(self.names[node.name], py.entry(sources[node.name], node.name))

    def pairs(self, names: Iterable[str]) -> py.Code:
        """The values of nodes, under their names."""
        return py.record((each, py.name(self.names[each])) for each in names)

    def computed(self, nodes: list[Node]) -> Iterator[py.Statement]:
        """The function nodes among these."""
        return self.sampled([n for n in nodes if n.kind is Kind.FUNCTION])

    def sampled(self, nodes: list[Node]) -> Iterator[py.Statement]:
        """Nodes in order, draws drawn; those that depend on each other are one scan."""
        groups = self.groups([n.name for n in nodes])
        by_member = {name: group for group in groups for name in group.members}
        keys = draw_keys(nodes)
        seen: set[str] = set()
        for node in nodes:
            group = by_member.get(node.name)
            if group is None and node.kind is Kind.DRAW:
                yield from lowering.draw_statements(node, keys[node.name], self.scope)
            elif group is None:
                yield from lowering.value_statements(node, self.scope)
            elif node.name not in seen:
                seen |= set(group.members)
                value_of = drawn_with(keys)
                yield from recurrence_statements(group, self.graph.by_name, self.scope, value_of)

    def groups(self, names: list[str]) -> list[Recurrence]:
        edges = [e for name in names for e in lagged_edges(self.graph[name]) if e.used in names]
        return find_recurrences(names, edges)[0]

    def function(self, function: Function) -> FunctionDef:
        names = parameter_names(function, self.scope.taken)
        ranks = {key: len(type_.shape) for key, type_ in function.parameters}
        scalars = {key: Value(py.name(names[key]), (), rank) for key, rank in ranks.items()}
        assert function.body is not None
        body = lower(function.body, self.scope.replace(scalars=scalars, owner=function.name))
        body = as_number(body, function.body.type, function.result)
        decorators = ["jnp.vectorize"] if function.of_numbers else []
        own = self.names[function.name]
        functions = frozenset(self.names[name] for name in self.needs.functions)
        lines, rest = shared(body.code, functions, frozenset({*self.scope.taken, *names.values()}))
        return py.define(
            own, [*names.values()], [*lines, py.give_back(rest)], decorators=decorators
        )

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

    def definition(
        self, head: str, doc: str, targets: list[str], tail: Sequence[py.Statement]
    ) -> FunctionDef:
        """A function that reads what is given, computes what the targets need, ends with `tail`."""
        sources = self.sources()
        direct = [parent for target in targets for parent in self.graph[target].parents]
        wanted = self.graph.ancestors([*targets, *direct], set(sources))
        nodes = [n for n in self.graph.nodes if n.name in wanted and n.name not in sources]
        body = [*self.reads(sources, wanted), *self.computed(nodes), *tail]
        return self.finish(head, doc, sources, body)

    def finish(
        self, head: str, doc: str, sources: dict[str, str], body: list[py.Statement]
    ) -> FunctionDef:
        """Sizes that the body mentions come first."""
        mentioned = py.names_read(body)
        sizes = [line for own, line in self.sizes(sources) if own in mentioned]
        types, result = SIGNATURES[head]
        return py.define(head, list(types), [*sizes, *body], doc, types, result)

    def scored(self) -> list[Node]:
        """The draws and factors that the log density sums up."""
        kinds = (Kind.DRAW, Kind.FACTOR)
        return [node for node in self.graph.nodes if node.kind in kinds and node.pieces]

    def log_prob(self) -> FunctionDef:
        nodes = self.scored()
        tail = [py.assign("total", py.const(0.0))]
        for node in nodes:
            tail += [py.add_to("total", term) for term in lowering.density_terms(node, self.scope)]
        has_factors = any(n.kind is Kind.FACTOR for n in nodes)
        more = " plus all log potentials, not normalised" if has_factors else ""
        doc = f"Log density of all draws{more}."
        targets = [n.name for n in nodes]
        return self.definition("log_prob", doc, targets, [*tail, py.give_back(py.name("total"))])

    def evaluate(self) -> FunctionDef:
        names = [n.name for n in self.graph.nodes if n.kind is Kind.FUNCTION]
        doc = "Values of all computed nodes."
        return self.definition("evaluate", doc, names, [py.give_back(self.pairs(names))])

    def objective(self) -> FunctionDef:
        (node,) = self.graph.of_kind(Kind.COST)
        value = lowering.lower_piece(node.pieces[0], node, self.scope)
        doc = f"What the model is to {node.name}, given the values of its draws."
        return self.definition("objective", doc, [node.name], [py.give_back(value.code)])

    def sample(self) -> FunctionDef:
        draws = [n for n in self.graph.nodes if n.kind is Kind.DRAW]
        sources = self.sources(sampled=True)
        wanted = self.graph.ancestors([n.name for n in draws], set(sources))
        nodes = [n for n in self.graph.nodes if n.name in wanted and n.name not in sources]
        body = [
            *self.reads(sources, wanted),
            split_keys(sum(len(n.pieces) for n in draws)),
            *self.sampled(nodes),
            py.give_back(self.pairs(n.name for n in draws)),
        ]
        doc = "One draw of every random variable, parents before children."
        return self.finish("sample", doc, sources, body)

    def init(self) -> FunctionDef:
        nodes = self.graph.parameters
        given = {name: "data" for name, source in self.sources().items() if source == "data"}
        start = py.record((n.name, lowering.starting_value(n, self.scope)) for n in nodes)
        reads = self.reads(given, {name for node in nodes for name in nodes_read(node.default)})
        doc = "Starting values of the parameters."
        return self.finish("init", doc, given, [*reads, py.give_back(start)])


def split_keys(count: int) -> py.Statement:
    return py.assign("keys", py.call("jax.random.split", py.name("key"), py.const(max(1, count))))


def draw_keys(nodes: list[Node]) -> dict[str, list[py.Code]]:
    """One of `keys` for each piece of each draw."""
    found: dict[str, list[py.Code]] = {}
    count = 0
    for node in nodes:
        if node.kind is Kind.DRAW:
            places = range(count, count + len(node.pieces))
            found[node.name] = [py.index(py.name("keys"), py.const(place)) for place in places]
            count += len(node.pieces)
    return found


def drawn_with(keys: dict[str, list[py.Code]], frozen: frozenset[str] = frozenset()) -> ValueOf:
    """Draws of each step have their own keys, the rest is computed; frozen ones no gradient."""

    def value_of(node: Node, piece: Piece, numbers: tuple[py.Code, ...], scope: Scope) -> py.Code:
        if node.kind is not Kind.DRAW:
            # A plain number gets the node's type, because a scan keeps the types that it carries.
            code = lowering.lower_piece(piece, node, scope).code
            return code if py.number(code) is None else as_array(code, lowering.dtype_of(node.type))
        key = keys[node.name][[own.span for own in node.pieces].index(piece.span)]
        for step in numbers:
            key = py.call("jax.random.fold_in", key, step)
        drawn = lowering.drawn_value(node, piece, key, scope)
        return py.call("lax.stop_gradient", drawn) if node.name in frozen else drawn

    return value_of


_GIVEN = {"params": "Arrays", "values": "Arrays", "data": "Arrays"}
SIGNATURES: dict[str, tuple[dict[str, str], str]] = {
    "log_prob": (_GIVEN, "jax.Array"),
    "evaluate": (_GIVEN, "Arrays"),
    "objective": (_GIVEN, "jax.Array"),
    "sample": ({"key": "jax.Array", "params": "Arrays", "data": "Arrays"}, "Arrays"),
    "init": ({"data": "Arrays"}, "Arrays"),
}

Parts = Callable[["ProgramWriter"], list[FunctionDef]]


def lower_program(
    graph: Graph, parts: Parts | None = None, reserved: frozenset[str] = frozenset()
) -> LoweredProgram:
    """Lowered again where a variable took the name of a helper or constant, now reserved."""
    program = _lower(graph, parts or standard_parts, reserved)
    fixed = frozenset({*with_uses(program.helpers), *program.constants})
    if fixed & py.names_bound([*program.dims, *program.functions]):
        return _lower(graph, parts or standard_parts, reserved | fixed)
    return program


def _lower(graph: Graph, parts: Parts, reserved: frozenset[str]) -> LoweredProgram:
    writer = ProgramWriter(graph, reserved)
    functions = [writer.function(f) for f in graph.functions if f.body is not None]
    functions += parts(writer)
    sized = [dim for dim in graph.dims if dim.size is not None]
    dims = [py.assign(writer.names[dim_key(d.name)], py.const(d.size)) for d in sized]
    needs = writer.needs
    return LoweredProgram(dims, functions, tuple(needs.helpers), needs.constants, writer.names)


def standard_parts(writer: ProgramWriter) -> list[FunctionDef]:
    """The functions of the printed program, each where the model has something for it to do."""
    graph = writer.graph
    parts = []
    if writer.scored():
        parts.append(writer.log_prob())
    if graph.of_kind(Kind.FUNCTION):
        parts.append(writer.evaluate())
    if graph.of_kind(Kind.DRAW) and not any(n.undirected for n in graph.nodes):
        parts.append(writer.sample())
    costs = [part for node in graph.of_kind(Kind.COST) for part in c.walk(node.pieces[0].body)]
    if costs and not any(isinstance(x, c.Apply) and x.function in c.BOUNDS for x in costs):
        parts.append(writer.objective())
    return [*parts, writer.init()]
