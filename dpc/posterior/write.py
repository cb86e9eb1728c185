"""A graph as a NumPyro model: one site for each draw under its own name, written as Python.

    def model(data):
        mu = numpyro.sample("mu", dist.Normal(loc=0, scale=5))
        with numpyro.plate("School", School, dim=-1):
            effect = numpyro.sample("effect", dist.Normal(loc=mu, scale=sd), obs=data.get("effect"))

What no NumPyro distribution says in one line (recurrences, several statements, hidden variables
that are summed over) is a site with a function that draws it and one that gives its log density.
"""

from ast import FunctionDef
from collections.abc import Iterable, Sequence

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import Recurrence
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import REAL, Bool
from dpc.dsl.lower.code import (
    Code,
    Statement,
    assign,
    call,
    choose,
    const,
    define,
    do,
    entry,
    fail,
    function,
    give_back,
    index,
    infix,
    method,
    name,
    pack,
    record,
    set_at,
    summed,
    within,
)
from dpc.dsl.lower.distributions import (
    expanded,
    has_mass,
    lower_density,
    lower_distribution,
    lower_log_mass,
    unchecked,
)
from dpc.dsl.lower.nodes import (
    as_domain,
    density_terms,
    empty_array,
    is_ordered,
    mask_of,
    masked,
    own_axes,
    piece_scope,
    places_of,
    value_of,
)
from dpc.dsl.lower.program import ProgramWriter, split_keys
from dpc.dsl.lower.scope import align, dim_key, free_name, size_code
from dpc.dsl.lower.shapes import as_array

from .sites import Sites, find_sites, is_plain

CALLED = ("numpyro", "supports", "eliminate", "flat", "Written", "Ordered", "Joint", "Hidden")
VARIABLES = ("model", "hidden", "joint", "value", "found")
RESERVED = frozenset(CALLED + VARIABLES)


def model_parts(writer: ProgramWriter) -> list[FunctionDef]:
    return [ModelWriter(writer).model()]


class ModelWriter:
    def __init__(self, writer: ProgramWriter):
        self.writer = writer
        self.graph: Graph = writer.graph
        self.names = writer.names
        self.scope = writer.scope
        self.sites: Sites = find_sites(self.graph)
        self.draws = {node.name for node in self.graph.of_kind(Kind.DRAW)}
        visible = [n.name for n in self.graph.nodes if n.kind in (Kind.DRAW, Kind.FUNCTION)]
        self.groups = writer.groups([name for name in visible if not self.graph[name].undirected])

    def model(self) -> FunctionDef:
        body: list[Statement] = []
        done: set[str] = set()
        for node in self.graph.nodes:
            group = self.group_of(node.name)
            if node.name not in done:
                body += self.group(group) if group else self.node(node)
                done |= set(group.members) if group else {node.name}
        body += self.sum_as_factor()
        head = [assign("hidden", call("Hidden"))] if self.sites.hidden else []
        sizes = [
            assign(self.names[dim_key(d.name)], entry("data", d.name))
            for d in self.graph.dims
            if d.size is None
        ]
        doc = f"The model {self.graph.name} for NumPyro; what the data do not give is drawn."
        return define("model", ["data"], [*sizes, *head, *body], doc)

    def fresh(self, word: str, node: str) -> str:
        """The name of a function about a node, which no node has."""
        return free_name(f"{word}_{self.names[node]}", frozenset(self.names.values()))

    def variable(self, node: str) -> Code:
        return name(self.names[node])

    def group_of(self, node: str) -> Recurrence | None:
        return next((group for group in self.groups if node in group.members), None)

    # ---- single nodes

    def node(self, node: Node) -> list[Statement]:
        if node.kind is Kind.INPUT:
            return [assign(self.names[node.name], entry("data", node.name))]
        if node.kind is Kind.PARAMETER:
            return [assign(self.names[node.name], site("sample", node.name, self.flat(node)))]
        if node.kind is Kind.COST or node.name in self.sites.veiled:
            return []
        if node.kind is Kind.FUNCTION:
            return [*self.writer.computed([node]), *self.kept([node])]
        if node.kind is Kind.FACTOR:
            return self.factor(node)
        if node.name in self.sites.touched or node.name in self.sites.hidden:
            return self.touched(node, [node])
        if node.undirected:
            drawn = site("sample", node.name, self.flat(node), **self.given(node))
            return [assign(self.names[node.name], drawn)]
        return self.plain(node) if is_plain(node, self.groups) else self.written(node, [node], ())

    def kept(self, nodes: Iterable[Node]) -> list[Statement]:
        kept = [n.name for n in nodes if n.kept and not self.sites.is_veiled(n.name)]
        sites = {each: site("deterministic", each, self.variable(each)) for each in kept}
        return [assign(self.names[each], value) for each, value in sites.items()]

    def factor(self, node: Node) -> list[Statement]:
        if node.name in self.sites.touched:
            return []
        return [do(site("factor", node.name, summed(density_terms(node, self.scope))))]

    def flat(self, node: Node) -> Code:
        """No distribution of its own: uniform over its type, perhaps improper."""
        return call("flat", entry("supports", node.name), self.shape(node))

    def given(self, node: Node) -> dict[str, Code]:
        """The observed values, if there are any."""
        if not node.observed:
            return {}
        value = method(name("data"), "get", const(node.name))
        if is_truth(node):
            is_missing = infix(value, "is", const(None))
            value = choose(is_missing, const(None), as_array(value, "int"))
        return {"obs": value}

    def shape(self, node: Node, start: int = 0, stop: int | None = None) -> Code:
        return pack(size_code(axis, self.names) for axis in node.type.shape[start:stop])

    # ---- sites that NumPyro has a distribution for

    def plain(self, node: Node) -> list[Statement]:
        (piece,) = node.pieces
        inside = piece_scope(node, piece, self.scope)
        axes = own_axes(piece, self.scope)
        assert isinstance(piece.body, c.Law)
        law = unchecked(lower_distribution(piece.body, axes, inside), piece.body)
        if is_ordered(piece):
            return [self.assign(node, call("Ordered", expanded(law, axes, inside)))]
        if piece.where is not None:
            law = method(law, "mask", mask_of(piece.where, axes, inside))
        plates = [inside.bind(axis) for axis in axes]
        found = self.assign(node, law)
        for depth, bind in reversed(list(enumerate(plates))):
            own = const(plate_name(bind, plates[:depth]))
            place = const(depth - len(plates))
            plate = call("numpyro.plate", own, size_code(bind.dim, self.names), dim=place)
            found = within(plate, [found])
        return [found]

    def assign(self, node: Node, law: Code) -> Statement:
        drawn = site("sample", node.name, law, **self.given(node))
        return assign(self.names[node.name], as_domain(drawn, node.type))

    # ---- sites with a density and a draw of their own

    def group(self, group: Recurrence) -> list[Statement]:
        """Draws of a recurrence are sites one after the other; then computed members follow.

        What is observed comes last, so that it can be predicted given the others.
        """
        members = [self.graph[name] for name in group.members]
        draws = sorted(
            (node for node in members if node.kind is Kind.DRAW), key=lambda node: node.observed
        )
        lines = [assign("joint", call("Joint"))] if len(draws) > 1 else []
        for number, node in enumerate(draws):
            if node.name in self.sites.touched or node.name in self.sites.hidden:
                lines += self.touched(node, members)
            else:
                lines += self.written(node, members, tuple(n.name for n in draws[:number]))
        functions = [
            node
            for node in members
            if node.kind is Kind.FUNCTION and node.name not in self.sites.veiled
        ]
        if not any(node.kept or self.is_used(node.name, group) for node in functions):
            return lines
        return [*lines, *self.writer.computed(functions), *self.kept(functions)]

    def is_used(self, name: str, group: Recurrence) -> bool:
        """Whether anything outside the recurrence needs this member of it."""
        return any(
            name in node.parents for node in self.graph.nodes if node.name not in group.members
        )

    def written(self, node: Node, members: list[Node], earlier: tuple[str, ...]) -> list[Statement]:
        rest = [member for member in members if member.name not in earlier]
        draws = [member.name for member in members if member.kind is Kind.DRAW]
        own = self.fresh("draw", node.name)
        drawn = self.draw(own, rest, [each for each in draws if each not in earlier])
        density = self.log_density(node, members)
        if len(draws) > 1:
            known = self.writer.pairs(earlier)
            joint = name("joint")
            draw = method(joint, "member", const(node.name), name("key"), known, name(own))
            draw = function(["key"], draw, joint=joint)
        else:
            draw = function(["key"], index(call(own, name("key")), const(node.name)))
        support = entry("supports", node.name)
        law = call("Written", draw, name(density.name), support, *self.split_shape(node))
        return [drawn, density, self.assign(node, law)]

    def split_shape(self, node: Node) -> tuple[Code, Code]:
        """Batch and event: observed nodes have a density for each element, others one for all."""
        event = len(node.laws[0].type.shape) if node.observed else len(node.type.shape)
        cut = len(node.type.shape) - event
        return self.shape(node, 0, cut), self.shape(node, cut)

    def draw(self, own: str, nodes: list[Node], wanted: Sequence[str]) -> FunctionDef:
        """A function from a key to draws, given what is known where it stands."""
        count = sum(len(node.pieces) for node in nodes if node.kind is Kind.DRAW)
        needs = self.needs(nodes)
        lines = [split_keys(count + len(needs))]
        for number, other in enumerate(needs, start=count):
            key = index(name("keys"), const(number))
            drawn = name(self.fresh("draw", other))
            value = method(name("hidden"), "value", const(other), key, drawn)
            lines.append(assign(self.names[other], value))
        lines += [*self.writer.sampled(nodes), give_back(self.writer.pairs(wanted))]
        return define(own, ["key"], lines)

    def needs(self, nodes: list[Node]) -> list[str]:
        """The hidden draws that these nodes mention."""
        own = {node.name for node in nodes}
        parents = dict.fromkeys(parent for node in nodes for parent in node.parents)
        return [name for name in parents if name in self.sites.hidden and name not in own]

    def log_density(self, node: Node, members: list[Node]) -> FunctionDef:
        needed = self.graph.ancestors(node.parents, self.draws)
        functions = [m for m in members if m.kind is Kind.FUNCTION and m.name in needed]
        lines = [*self.writer.computed(functions)]
        if not node.observed:
            lines.append(give_back(summed(density_terms(node, self.scope))))
        elif len(node.pieces) == 1 and is_plain(node, []):
            lines.append(give_back(self.elements(node, node.pieces[0])))
        else:
            shape = node.type.shape[: len(node.type.shape) - len(node.laws[0].type.shape)]
            batch = node.type.replace(domain=REAL.domain, constraint="", shape=shape)
            lines.append(assign("found", empty_array(batch, self.scope)))
            for piece in node.pieces:
                lines.append(set_at("found", places_of(piece), self.elements(node, piece)))
            lines.append(give_back(name("found")))
        return define(self.fresh("log_density", node.name), [self.names[node.name]], lines)

    def elements(self, node: Node, piece: Piece) -> Code:
        """The log density of every element that a piece defines."""
        inside = piece_scope(node, piece, self.scope)
        axes = own_axes(piece, self.scope)
        assert isinstance(piece.body, c.Law)
        if has_mass(piece):
            return align(lower_log_mass(node, piece, inside), axes, 0).code
        value = value_of(node, piece, self.scope)
        return masked(lower_density(piece.body, value, axes, inside), axes, piece, inside)

    # ---- what is summed over

    def touched(self, node: Node, members: list[Node]) -> list[Statement]:
        """A hidden draw is a function that draws it; what depends on one is in the sum."""
        own = self.fresh("draw", node.name)
        draws = [n.name for n in members if n.kind is Kind.DRAW]
        if node.undirected:
            message = f"`{node.name}` has no law to draw it from, only factors"
            return [define(own, ["key"], [fail("ValueError", message)])]
        drawn = self.draw(own, self.between(members), draws)
        if node.name in self.sites.hidden:
            return [drawn]
        key = name("key")
        if any(each in self.sites.hidden for each in draws):
            value = method(name("hidden"), "value", const(node.name), key, name(own))
        else:
            value = index(call(own, key), const(node.name))
        return [drawn, self.assign(node, self.member_law(node, function(["key"], value)))]

    def between(self, members: list[Node]) -> list[Node]:
        """The members and the computed nodes that they need, in the order of the graph."""
        names = {member.name for member in members}
        outer = [p for m in members for p in m.parents if p not in names]
        wanted = names | (self.graph.ancestors(outer, self.draws) & self.sites.veiled)
        return [node for node in self.graph.nodes if node.name in wanted]

    def member_law(self, node: Node, draw: Code) -> Code:
        density = call("jnp.zeros", pack([]))
        if node.name == self.sites.carrier:
            density = call("eliminate", name("data"), self.known(node.name))
        support = entry("supports", node.name)
        of_value = function(["value"], density)
        return call("Written", draw, of_value, support, pack([]), self.shape(node))

    def known(self, value_of: str | None = None) -> Code:
        """The values that the sum is taken at, as they are when the density is asked for."""
        random = self.graph.of_kind(Kind.DRAW, Kind.PARAMETER)
        values = {n.name: self.variable(n.name) for n in random if n.name not in self.sites.hidden}
        if value_of:
            values[value_of] = as_domain(name("value"), self.graph[value_of].type)
        return record(values.items())

    def sum_as_factor(self) -> list[Statement]:
        if self.sites.carrier or not self.sites.touched:
            return []
        own = "\n".join(sorted(self.sites.hidden))  # no node has a newline in its name
        return [do(site("factor", own, call("eliminate", name("data"), self.known())))]


def site(kind: str, own: str, value: Code, **named: Code) -> Code:
    """A statement of NumPyro about a node, under its name in the model."""
    return call(f"numpyro.{kind}", const(own), value, **named)


def is_truth(node: Node) -> bool:
    return isinstance(node.type.domain, Bool)


def plate_name(bind: c.Bind, outer: list[c.Bind]) -> str:
    """A dim that is bound twice is two plates."""
    count = sum(other.dim == bind.dim for other in outer)
    return f"{bind.dim.name} {count + 1}" if count else bind.dim.name
