"""The random part of a program as functions of single nodes: laws, values, costs and their scores.

def program(params, data):
    theta = params["theta"]                     # what is certain is computed once
    def law_z(v): ...                           # what is random takes the values above it
    def cost_0(v): ...
    return {"law z": law_z, ...}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .. import core as c
from ..check.order import Recurrence
from ..check.typed import Piece
from ..graph import Graph, Kind, Node
from ..lower.expressions import lower
from ..lower.laws import lower_law
from ..lower.names import free_name
from ..lower.nodes import density_terms, draw_statements, own_axes, piece_scope, place_text
from ..lower.program import Writer, drawn_with, key_texts
from ..lower.recurrences import recurrence_statements
from ..lower.scope import Scope, length_text, size_text, slice_text
from ..lower.shapes import as_number, full
from ..lower.smooth import lower_smooth
from ..types import Bool, Real, Type
from .costs import NUMBER, CostTerm
from .follow import has_elements

GIVEN = (Kind.INPUT, Kind.PARAMETER)


class StepWriter:
    """Writes one function for each random node and each cost."""

    def __init__(self, writer: Writer, frozen: frozenset[str], summed: frozenset[str]):
        self.writer = writer
        self.summed = summed
        self.graph = writer.graph
        self.frozen = frozen
        self.entries: list[tuple[str, str]] = []

    def write(self, terms: list[CostTerm]) -> list[str]:
        sources = {
            n.name: "params" if n.kind is Kind.PARAMETER else "data" for n in self.graph.nodes if n.kind in GIVEN
        }
        certain = [n for n in self.graph.nodes if n.kind is Kind.FUNCTION and not n.random]
        body = [*self.writer.reads(sources, set(sources)), *self.writer.computed(certain)]
        for name in certain_critics(self.graph):
            body += [*self.define("value", name, "v", ()), f"    return {self.writer.names[name]}"]
        for node in self.graph.nodes:
            if node.random and node.kind in (Kind.FUNCTION, Kind.DRAW):
                body += self.node(node)
        for number, term in enumerate(terms):
            body += self.cost(number, term)
        pairs = ", ".join(f'"{key}": {name}' for key, name in self.entries)
        body.append(f"return {{{pairs}}}")
        sizes = [line for _, line in self.writer.sizes(sources)]
        return ["def program(params, data):", *(f"    {line}".rstrip() for line in [*sizes, *body])]

    # ---- nodes

    def node(self, node: Node) -> Iterator[str]:
        group = group_of(node.name, self.graph)
        if node.kind is Kind.FUNCTION:
            yield from self.value(node, group)
        elif group is None and is_simple(node, self.graph):
            law = self.define("law", node.name, "v", outside(node, self.graph))
            yield from law
            yield f"    return {self.law(node, node.pieces[0])}"
        elif node.name in self.summed:
            yield from self.mass(node)
        else:
            yield from self.score(node)
            members = group.members if group else (node.name,)
            first_draw = next(name for name in members if self.graph[name].kind is Kind.DRAW)
            if node.name == first_draw:
                yield from self.block(node, members, group)

    def define(self, word: str, name: str, arguments: str, reads: Iterable[str]) -> Iterator[str]:
        used = {*self.writer.names.values(), *self.writer.needs.reserved, *(made for _, made in self.entries)}
        function = free_name(f"{word}_{self.writer.names.get(name, name)}", used)
        self.entries.append((f"{word} {name}", function))
        yield f"def {function}({arguments}):"
        for parent in reads:
            yield f"    {self.read(parent)}"

    def read(self, name: str) -> str:
        """Laws draw truth values as whole numbers."""
        text = f'v["{name}"]'
        is_truth = isinstance(self.graph[name].type.domain, Bool)
        return f"{self.writer.names[name]} = {f'jnp.asarray({text}, bool)' if is_truth else text}"

    def value(self, node: Node, group: Recurrence | None) -> Iterator[str]:
        if group and any(self.graph[name].kind is Kind.DRAW for name in group.members):
            return
        members = group.members if group else (node.name,)
        yield from self.define("value", node.name, "v", outside_all(members, self.graph))
        statements = list(self.writer.computed([self.graph[name] for name in members]))
        yield from (f"    {line}".rstrip() for line in statements)
        yield f"    return {self.writer.names[node.name]}"

    def law(self, node: Node, piece: Piece) -> str:
        assert isinstance(piece.body, c.Law)
        inside = piece_scope(node, piece, self.writer.scope)
        axes = own_axes(piece, self.writer.scope)
        lengths = [length_text(inside.bind(axis), self.writer.scope.names) for axis in axes]
        expand = f".expand(({', '.join(lengths)}{',' if len(lengths) == 1 else ''}))" if axes else ""
        return f"{lower_law(piece.body, axes, inside)}{expand}"

    def mass(self, node: Node) -> Iterator[str]:
        """The probability of a value for each element of a draw along a recurrence, given the elements before it."""
        yield from self.define("mass", node.name, "v, values", [*outside(node, self.graph), node.name])
        yield "    total = jnp.zeros(values.shape)"
        for piece in node.pieces:
            place = place_text(piece, self.writer.scope) or "[...]"
            yield f"    total = total.at{place}.set(element_mass({self.law(node, piece)}, values{place}))"
        yield "    return total"

    def score(self, node: Node) -> Iterator[str]:
        yield from self.define("score", node.name, "v", [*outside(node, self.graph), node.name])
        group = group_of(node.name, self.graph)
        if not has_steps(group):
            yield f"    return {' + '.join(density_terms(node, self.writer.scope))}"
            return
        assert group is not None
        length = size_text(node.type.shape[group.axis], self.writer.scope.names)
        yield f"    total = jnp.zeros({length})"
        for piece in node.pieces:
            place, density = place_along(piece, group.axis), self.step_density(node, piece, group.axis)
            yield f"    total = total.at[{place}].add({density})"
        yield "    return total"

    def step_density(self, node: Node, piece: Piece, axis: int) -> str:
        """The log density of each step of a recurrence."""
        term = density_cost(node, piece)
        text = lower_cost(term, self.writer.scope.replace(owner=node.name))
        index = piece.indices[axis]
        others = [k for k, bind in enumerate(term.binders) if bind is not index]
        return f"jnp.sum({text}, axis={tuple(others)})" if others else text

    def block(self, node: Node, members: tuple[str, ...], group: Recurrence | None) -> Iterator[str]:
        nodes = [self.graph[name] for name in members]
        keys = key_texts(nodes)
        yield from self.define("sample", node.name, "key, v", outside_all(members, self.graph))
        yield f"    keys = jax.random.split(key, {sum(map(len, keys.values()))})"
        if group:
            lines = recurrence_statements(group, self.graph.by_name, self.writer.scope, drawn_with(keys, self.frozen))
            yield from (f"    {line}".rstrip() for line in lines)
        else:
            yield from (f"    {line}" for line in draw_statements(node, keys[node.name], self.writer.scope))
            if node.name in self.frozen:
                name = self.writer.names[node.name]
                yield f"    {name} = lax.stop_gradient({name})"
        pairs = ", ".join(f'"{name}": {self.writer.names[name]}' for name in members)
        yield f"    return {{{pairs}}}"

    # ---- costs

    def cost(self, number: int, term: CostTerm) -> Iterator[str]:
        yield from self.define("cost", str(number), "v", random_names(term.body, self.graph))
        yield f"    return {lower_cost(term, self.writer.scope)}"


def lower_cost(term: CostTerm, scope: Scope) -> str:
    """The cost of every place of its binders, at full length."""
    settings = {setting.name: setting for setting in term.settings}
    inside = scope.inside(*term.binders).replace(soft=settings.get("soft"), owner="cost")
    smooth = settings.get("smooth")
    value = lower_smooth(term.body, smooth, inside) if smooth else lower(term.body, inside)
    value = as_number(value, term.body.type, Type(Real()))
    return full(value, tuple(bind.name for bind in term.binders), 0, inside, ()).text


def density_cost(node: Node, piece: Piece, frozen: bool = False) -> CostTerm:
    """One piece of a log density or log potential, for every place of its binders."""
    binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
    body = piece.body
    if isinstance(body, c.Law):
        body = c.LogDensity(body.span, NUMBER, body, place_of(node, piece), frozen)
    if piece.where is not None:
        body = c.If(body.span, NUMBER, piece.where, body, c.Const(body.span, NUMBER, 0.0))
    return CostTerm(binders, body, piece.settings)


def place_of(node: Node, piece: Piece) -> c.Core:
    """The places of the node that a piece defines."""
    rest = node.type.shape[len(piece.indices) :]
    whole = c.Ref(piece.span, node.type, node.name)
    if not piece.indices:
        return whole
    places = tuple(
        c.Var(index.span, Type(node.type.domain), index.name) if isinstance(index, c.Bind) else index
        for index in piece.indices
    )
    return c.At(piece.span, Type(node.type.domain, rest, node.type.constraint), whole, places)


def place_along(piece: Piece, axis: int) -> str:
    """The steps of a piece along an axis, as a Python index."""
    index = piece.indices[axis]
    if isinstance(index, c.Bind):
        return slice_text(index)
    assert isinstance(index, c.Const)
    return str(int(index.value))


# ---- what depends on what


def has_steps(group: Recurrence | None) -> bool:
    """A recurrence whose steps are elements: later ones depend on earlier ones along one axis."""
    return group is not None and not group.reverse and not group.inner


def certain_critics(graph: Graph) -> list[str]:
    """Values that are subtracted from costs and do not depend on draws."""
    settings = [s for node in graph.of_kind(Kind.DRAW) for s in node.settings if s.name == "grad"]
    names = [str(value) for setting in settings for name, value in setting.options if name == "control"]
    return [name for name in dict.fromkeys(names) if not graph[name].random]


def group_of(name: str, graph: Graph) -> Recurrence | None:
    return next((group for group in graph.recurrences if name in group.members), None)


def is_simple(node: Node, graph: Graph) -> bool:
    """A draw of one law for all its elements, all of which are drawn."""
    piece = node.pieces[0]
    return has_elements(node, graph) and piece.where is None and not any(s.name == "ordered" for s in piece.settings)


def random_names(core: c.Core | c.Law, graph: Graph) -> list[str]:
    names = [part.name for part in c.walk(core) if isinstance(part, c.Ref)]
    return [name for name in dict.fromkeys(names) if graph[name].random]


def outside(node: Node, graph: Graph) -> list[str]:
    return [name for name in node.parents if graph[name].random and name != node.name]


def outside_all(members: Iterable[str], graph: Graph) -> list[str]:
    members = tuple(members)
    names = [name for member in members for name in graph[member].parents if graph[name].random]
    return [name for name in dict.fromkeys(names) if name not in members]
