"""The random part of a program as functions of single nodes: laws, values, costs and their scores.

def program(params, data):
    theta = params["theta"]                     # what is certain is computed once
    def law_z(v): ...                           # what is random takes the values above it
    def cost_0(v): ...
    return {"law z": law_z, ...}
"""

from ast import FunctionDef
from collections.abc import Iterable, Sequence

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import Recurrence, nodes_read
from dpc.dsl.graph.forms import entry as entry_of
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import Bool, Real, Type
from dpc.dsl.lower.code import (
    Code,
    Statement,
    assign,
    attribute,
    call,
    const,
    define,
    entry,
    give_back,
    index,
    name,
    pack,
    record,
    set_at,
    summed,
)
from dpc.dsl.lower.distributions import expanded, lower_distribution
from dpc.dsl.lower.expressions import lower
from dpc.dsl.lower.nodes import (
    density_terms,
    draw_statements,
    own_axes,
    piece_scope,
    place_along,
    places_of,
)
from dpc.dsl.lower.program import ProgramWriter, draw_keys, drawn_with, split_keys
from dpc.dsl.lower.recurrences import recurrence_statements
from dpc.dsl.lower.scope import Scope, free_name, size_code
from dpc.dsl.lower.shapes import as_array, as_number, full
from dpc.dsl.lower.smooth import lower_smooth

from .costs import NUMBER, CostTerm
from .follow import group_of, has_elements

GIVEN = (Kind.INPUT, Kind.PARAMETER)


class StepWriter:
    """Writes one function for each random node and each cost."""

    def __init__(self, writer: ProgramWriter, frozen: frozenset[str], summed: frozenset[str]):
        self.writer = writer
        self.summed = summed
        self.graph = writer.graph
        self.frozen = frozen
        self.entries: list[tuple[str, str]] = []

    def write(self, terms: list[CostTerm]) -> FunctionDef:
        sources = {
            n.name: "params" if n.kind is Kind.PARAMETER else "data"
            for n in self.graph.nodes
            if n.kind in GIVEN
        }
        certain = [n for n in self.graph.nodes if n.kind is Kind.FUNCTION and not n.random]
        body = [*self.writer.reads(sources, set(sources)), *self.writer.computed(certain)]
        for critic in certain_critics(self.graph):
            body.append(self.define("value", critic, (), [give_back(self.variable(critic))]))
        for node in self.graph.nodes:
            if node.random and node.kind in (Kind.FUNCTION, Kind.DRAW):
                body += self.node(node)
        body += [self.cost(number, term) for number, term in enumerate(terms)]
        body.append(give_back(record((key, name(made)) for key, made in self.entries)))
        sizes = [line for _, line in self.writer.sizes(sources)]
        return define("program", ["params", "data"], [*sizes, *body])

    # ---- nodes

    def node(self, node: Node) -> list[Statement]:
        group = group_of(node.name, self.graph)
        if node.kind is Kind.FUNCTION:
            return self.value(node, group)
        if group is None and is_simple(node, self.graph):
            law = self.law(node, node.pieces[0])
            return [self.define("law", node.name, outside(node, self.graph), [give_back(law)])]
        if node.name in self.summed:
            return [self.mass(node)]
        members = group.members if group else (node.name,)
        first_draw = next(each for each in members if self.graph[each].kind is Kind.DRAW)
        found: list[Statement] = [self.score(node)]
        return [*found, self.block(node, members, group)] if node.name == first_draw else found

    def define(
        self,
        word: str,
        about: str,
        reads: Iterable[str],
        body: Iterable[Statement],
        parameters: Sequence[str] = ("v",),
    ) -> Statement:
        """A function about a node, which begins by reading the values of other nodes."""
        used = {
            *self.writer.names.values(),
            *self.writer.needs.reserved,
            *(made for _, made in self.entries),
        }
        function = free_name(f"{word}_{self.writer.names.get(about, about)}", used)
        self.entries.append((f"{word} {about}", function))
        return define(function, parameters, [*map(self.read, reads), *body])

    def variable(self, node: str) -> Code:
        return name(self.writer.names[node])

    def read(self, node: str) -> Statement:
        """Laws draw truth values as whole numbers."""
        value = entry("v", node)
        is_truth = isinstance(self.graph[node].type.domain, Bool)
        return assign(self.writer.names[node], as_array(value, "bool") if is_truth else value)

    def value(self, node: Node, group: Recurrence | None) -> list[Statement]:
        if group and any(self.graph[member].kind is Kind.DRAW for member in group.members):
            return []
        members = group.members if group else (node.name,)
        body = [
            *self.writer.computed([self.graph[member] for member in members]),
            give_back(self.variable(node.name)),
        ]
        return [self.define("value", node.name, outside_all(members, self.graph), body)]

    def law(self, node: Node, piece: Piece) -> Code:
        assert isinstance(piece.body, c.Law)
        inside = piece_scope(node, piece, self.writer.scope)
        axes = own_axes(piece, self.writer.scope)
        return expanded(lower_distribution(piece.body, axes, inside), axes, inside)

    def mass(self, node: Node) -> Statement:
        """The probability of a value for each element of a recurrent draw, given the past."""
        body = [assign("total", call("jnp.zeros", attribute(name("values"), "shape")))]
        for piece in node.pieces:
            places = places_of(piece) or [const(...)]
            here = index(name("values"), *places)
            body.append(set_at("total", places, call("element_mass", self.law(node, piece), here)))
        body.append(give_back(name("total")))
        reads = [*outside(node, self.graph), node.name]
        return self.define("mass", node.name, reads, body, ("v", "values"))

    def score(self, node: Node) -> Statement:
        return self.define(
            "score", node.name, [*outside(node, self.graph), node.name], self.score_lines(node)
        )

    def score_lines(self, node: Node) -> list[Statement]:
        group = group_of(node.name, self.graph)
        if not has_steps(group):
            return [give_back(summed(density_terms(node, self.writer.scope)))]
        assert group is not None
        length = size_code(node.type.shape[group.axis], self.writer.scope.names)
        lines = [assign("total", call("jnp.zeros", length))]
        for piece in node.pieces:
            place = place_along(piece, group.axis)
            density = self.step_density(node, piece, group.axis)
            lines.append(set_at("total", [place], density, "add"))
        return [*lines, give_back(name("total"))]

    def step_density(self, node: Node, piece: Piece, axis: int) -> Code:
        """The log density of each step of a recurrence."""
        term = density_cost(node, piece)
        code = lower_cost(term, self.writer.scope.replace(owner=node.name))
        others = [k for k, bind in enumerate(term.binders) if bind is not piece.indices[axis]]
        return call("jnp.sum", code, axis=pack(map(const, others))) if others else code

    def block(self, node: Node, members: tuple[str, ...], group: Recurrence | None) -> Statement:
        keys = draw_keys([self.graph[member] for member in members])
        body = [split_keys(sum(map(len, keys.values())))]
        if group:
            body += recurrence_statements(
                group, self.graph.by_name, self.writer.scope, drawn_with(keys, self.frozen)
            )
        else:
            body += draw_statements(node, keys[node.name], self.writer.scope)
            if node.name in self.frozen:
                kept = call("lax.stop_gradient", self.variable(node.name))
                body.append(assign(self.writer.names[node.name], kept))
        body.append(give_back(self.writer.pairs(members)))
        reads = outside_all(members, self.graph)
        return self.define("sample", node.name, reads, body, ("key", "v"))

    # ---- costs

    def cost(self, number: int, term: CostTerm) -> Statement:
        body = [give_back(lower_cost(term, self.writer.scope))]
        return self.define("cost", str(number), random_names(term.body, self.graph), body)


def lower_cost(term: CostTerm, scope: Scope) -> Code:
    """The cost of every place of its binders, at full length."""
    settings = {setting.name: setting for setting in term.settings}
    inside = scope.inside(*term.binders).replace(soft=settings.get("soft"), owner="cost")
    smooth = settings.get("smooth")
    value = lower_smooth(term.body, smooth, inside) if smooth else lower(term.body, inside)
    value = as_number(value, term.body.type, Type(Real()))
    return full(value, tuple(bind.name for bind in term.binders), 0, inside, ()).code


def density_cost(node: Node, piece: Piece, frozen: bool = False) -> CostTerm:
    """One piece of a log density or log potential, for every place of its binders."""
    binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
    body = piece.body
    if isinstance(body, c.Law):
        body = c.LogDensity(body.span, NUMBER, body, entry_of(node, piece), frozen)
    if piece.where is not None:
        body = c.If(body.span, NUMBER, piece.where, body, c.Const(body.span, NUMBER, 0.0))
    return CostTerm(binders, body, piece.settings)


# ---- what depends on what


def has_steps(group: Recurrence | None) -> bool:
    """A recurrence whose steps are elements: later ones depend on earlier ones along one axis."""
    return group is not None and not group.reverse and not group.inner


def certain_critics(graph: Graph) -> list[str]:
    """Values that are subtracted from costs and do not depend on draws."""
    settings = [s for node in graph.of_kind(Kind.DRAW) for s in node.settings if s.name == "grad"]
    options = [option for setting in settings for option in setting.options]
    names = dict.fromkeys(str(value) for name, value in options if name == "control")
    return [name for name in names if not graph[name].random]


def is_simple(node: Node, graph: Graph) -> bool:
    """A draw of one law for all its elements, all of which are drawn."""
    piece = node.pieces[0]
    ordered = any(setting.name == "ordered" for setting in piece.settings)
    return has_elements(node, graph) and piece.where is None and not ordered


def random_names(core: c.Core | c.Law, graph: Graph) -> list[str]:
    return [name for name in nodes_read(core) if graph[name].random]


def outside(node: Node, graph: Graph) -> list[str]:
    return [name for name in node.parents if graph[name].random and name != node.name]


def outside_all(members: Iterable[str], graph: Graph) -> list[str]:
    members = tuple(members)
    names = [name for member in members for name in graph[member].parents if graph[name].random]
    return [name for name in dict.fromkeys(names) if name not in members]
