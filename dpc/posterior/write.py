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
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import FIRST, LAST, REAL, Bool
from dpc.dsl.lower import code as py
from dpc.dsl.lower import distributions as laws
from dpc.dsl.lower import nodes as lowered
from dpc.dsl.lower.code import Code, Statement
from dpc.dsl.lower.program import ProgramWriter, split_keys
from dpc.dsl.lower.scope import align, dim_key, free_name, size_code
from dpc.dsl.lower.shapes import as_array
from dpc.dsl.record import Record


class Sites(Record):
    """A finite draw that is not observed is `hidden`: no site, summed over. Draws and factors that
    depend on one, directly or through computed nodes (`veiled`), are `touched`: terms of that sum.
    `carrier` is the site with the density of the whole sum; else it is a factor.
    """

    graph: Graph
    hidden: frozenset[str]
    veiled: frozenset[str]
    touched: tuple[str, ...]
    carrier: str | None


def find_sites(graph: Graph) -> Sites:
    hidden = frozenset(node.name for node in finite_draws(graph) if not node.observed)
    stop = {node.name for node in graph.nodes if node.kind is not Kind.FUNCTION}
    below = [n for n in graph.nodes if graph.ancestors(n.parents, stop) & hidden]
    veiled = frozenset(node.name for node in below if node.kind is Kind.FUNCTION)
    touched = tuple(n.name for n in below if n.name not in hidden | veiled)
    draws = [graph[name] for name in touched if graph[name].kind is Kind.DRAW]
    seen = [node.name for node in draws if node.observed]
    names = seen or [node.name for node in draws]
    return Sites(graph, hidden, veiled, touched, names[-1] if names else None)


def is_plain(node: Node, groups: list[Recurrence]) -> bool:
    """One statement for all of the variable, with no lag: a NumPyro distribution as it is."""
    if len(node.pieces) != 1 or any(node.name in group.members for group in groups):
        return False
    for index in node.pieces[0].indices:
        if not isinstance(index, c.Bind) or index.low != FIRST:
            return False
        size = index.dim.size
        if index.high not in (LAST, *([FIRST.shift(size - 1)] if size is not None else [])):
            return False
    return True


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
        if self.sites.touched and not self.sites.carrier:
            own = "\n".join(sorted(self.sites.hidden))  # no node has a newline in its name
            total = py.call("eliminate", py.name("data"), self.known())
            body.append(py.do(site("factor", own, total)))
        head = [py.assign("hidden", py.call("Hidden"))] if self.sites.hidden else []
        sizes = [
            py.assign(self.names[dim_key(d.name)], py.entry("data", d.name))
            for d in self.graph.dims
            if d.size is None
        ]
        doc = f"The model {self.graph.name} for NumPyro; what the data do not give is drawn."
        return py.define("model", ["data"], [*sizes, *head, *body], doc)

    def fresh(self, word: str, node: str) -> str:
        """The name of a function about a node, which no node has."""
        return free_name(f"{word}_{self.names[node]}", frozenset(self.names.values()))

    def group_of(self, node: str) -> Recurrence | None:
        return next((group for group in self.groups if node in group.members), None)

    def node(self, node: Node) -> list[Statement]:
        if node.kind is Kind.INPUT:
            return [py.assign(self.names[node.name], py.entry("data", node.name))]
        if node.kind is Kind.PARAMETER:
            return [py.assign(self.names[node.name], site("sample", node.name, self.flat(node)))]
        if node.kind is Kind.COST or node.name in self.sites.veiled:
            return []
        is_touched = node.name in self.sites.touched
        if node.kind is Kind.FUNCTION:
            return [*self.writer.computed([node]), *self.kept([node])]
        if node.kind is Kind.FACTOR:
            total = py.summed(lowered.density_terms(node, self.scope))
            return [] if is_touched else [py.do(site("factor", node.name, total))]
        if is_touched or node.name in self.sites.hidden:
            return self.touched(node, [node])
        if node.undirected:
            drawn = site("sample", node.name, self.flat(node), **self.given(node))
            return [py.assign(self.names[node.name], drawn)]
        return self.plain(node) if is_plain(node, self.groups) else self.written(node, [node], ())

    def kept(self, nodes: Iterable[Node]) -> list[Statement]:
        kept = [
            n.name for n in nodes if n.kept and n.name not in self.sites.hidden | self.sites.veiled
        ]
        sites = {each: site("deterministic", each, py.name(self.names[each])) for each in kept}
        return [py.assign(self.names[each], value) for each, value in sites.items()]

    def flat(self, node: Node) -> Code:
        """No distribution of its own: uniform over its type, perhaps improper."""
        return py.call("flat", py.entry("supports", node.name), self.shape(node))

    def given(self, node: Node) -> dict[str, Code]:
        """The observed values, if there are any."""
        if not node.observed:
            return {}
        value = py.method(py.name("data"), "get", py.const(node.name))
        if isinstance(node.type.domain, Bool):
            is_missing = py.infix(value, "is", py.const(None))
            value = py.choose(is_missing, py.const(None), as_array(value, "int"))
        return {"obs": value}

    def shape(self, node: Node, start: int = 0, stop: int | None = None) -> Code:
        return py.pack(size_code(axis, self.names) for axis in node.type.shape[start:stop])

    def plain(self, node: Node) -> list[Statement]:
        (piece,) = node.pieces
        inside = lowered.piece_scope(node, piece, self.scope)
        axes = lowered.own_axes(piece, self.scope)
        assert isinstance(piece.body, c.Law)
        law = laws.unchecked(laws.lower_distribution(piece.body, axes, inside), piece.body)
        if lowered.is_ordered(piece):
            return [self.assign(node, py.call("Ordered", laws.expanded(law, axes, inside)))]
        if piece.where is not None:
            law = py.method(law, "mask", lowered.mask_of(piece.where, axes, inside))
        plates = [inside.bind(axis) for axis in axes]
        found = self.assign(node, law)
        for depth, bind in reversed(list(enumerate(plates))):
            # A dim that is bound twice is two plates.
            count = sum(outer.dim == bind.dim for outer in plates[:depth])
            own = py.const(f"{bind.dim.name} {count + 1}" if count else bind.dim.name)
            place = py.const(depth - len(plates))
            plate = py.call("numpyro.plate", own, size_code(bind.dim, self.names), dim=place)
            found = py.within(plate, [found])
        return [found]

    def assign(self, node: Node, law: Code) -> Statement:
        drawn = site("sample", node.name, law, **self.given(node))
        return py.assign(self.names[node.name], lowered.as_domain(drawn, node.type))

    def group(self, group: Recurrence) -> list[Statement]:
        """Draws of a recurrence, observed ones last: they are predicted given the others."""
        members = [self.graph[name] for name in group.members]
        draws = sorted(
            (node for node in members if node.kind is Kind.DRAW), key=lambda node: node.observed
        )
        lines = [py.assign("joint", py.call("Joint"))] if len(draws) > 1 else []
        for number, node in enumerate(draws):
            if node.name in self.sites.touched or node.name in self.sites.hidden:
                lines += self.touched(node, members)
            else:
                lines += self.written(node, members, tuple(n.name for n in draws[:number]))
        computed = [n for n in members if n.kind is Kind.FUNCTION]
        functions = [n for n in computed if n.name not in self.sites.veiled]
        outside = [n for n in self.graph.nodes if n.name not in group.members]
        used = {parent for node in outside for parent in node.parents}
        if not any(node.kept or node.name in used for node in functions):
            return lines
        return [*lines, *self.writer.computed(functions), *self.kept(functions)]

    def written(self, node: Node, members: list[Node], earlier: tuple[str, ...]) -> list[Statement]:
        rest = [member for member in members if member.name not in earlier]
        draws = [member.name for member in members if member.kind is Kind.DRAW]
        own = self.fresh("draw", node.name)
        drawn = self.draw(own, rest, [each for each in draws if each not in earlier])
        density = self.log_density(node, members)
        if len(draws) > 1:
            joint = py.name("joint")
            given = py.name("key"), self.writer.pairs(earlier), py.name(own)
            draw = py.method(joint, "member", py.const(node.name), *given)
            draw = py.function(["key"], draw, joint=joint)
        else:
            draw = py.function(["key"], py.index(py.call(own, py.name("key")), py.const(node.name)))
        # Batch and event: observed nodes have a density for each element, others one for all.
        event = len(node.laws[0].type.shape) if node.observed else len(node.type.shape)
        cut = len(node.type.shape) - event
        shapes = self.shape(node, 0, cut), self.shape(node, cut)
        support = py.entry("supports", node.name)
        law = py.call("Written", draw, py.name(density.name), support, *shapes)
        return [drawn, density, self.assign(node, law)]

    def draw(self, own: str, nodes: list[Node], wanted: Sequence[str]) -> FunctionDef:
        """A function from a key to draws, given what is known where it stands."""
        count = sum(len(node.pieces) for node in nodes if node.kind is Kind.DRAW)
        needs = self.needs(nodes)
        lines = [split_keys(count + len(needs))]
        for number, other in enumerate(needs, start=count):
            key = py.index(py.name("keys"), py.const(number))
            drawn = py.name(self.fresh("draw", other))
            value = py.method(py.name("hidden"), "value", py.const(other), key, drawn)
            lines.append(py.assign(self.names[other], value))
        lines += [*self.writer.sampled(nodes), py.give_back(self.writer.pairs(wanted))]
        return py.define(own, ["key"], lines)

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
            lines.append(py.give_back(py.summed(lowered.density_terms(node, self.scope))))
        elif len(node.pieces) == 1 and is_plain(node, []):
            lines.append(py.give_back(self.elements(node, node.pieces[0])))
        else:
            shape = node.type.shape[: len(node.type.shape) - len(node.laws[0].type.shape)]
            batch = node.type.replace(domain=REAL.domain, constraint="", shape=shape)
            lines.append(py.assign("found", lowered.empty_array(batch, self.scope)))
            for piece in node.pieces:
                places = lowered.places_of(piece)
                lines.append(py.set_at("found", places, self.elements(node, piece)))
            lines.append(py.give_back(py.name("found")))
        return py.define(self.fresh("log_density", node.name), [self.names[node.name]], lines)

    def elements(self, node: Node, piece: Piece) -> Code:
        """The log density of every element that a piece defines."""
        inside = lowered.piece_scope(node, piece, self.scope)
        axes = lowered.own_axes(piece, self.scope)
        assert isinstance(piece.body, c.Law)
        if laws.has_mass(piece):
            return align(laws.lower_log_mass(node, piece, inside), axes, 0).code
        value = lowered.value_of(node, piece, self.scope)
        density = laws.lower_density(piece.body, value, axes, inside)
        return lowered.masked(density, axes, piece, inside)

    def touched(self, node: Node, members: list[Node]) -> list[Statement]:
        """A hidden draw is a function that draws it; what depends on one is in the sum."""
        own = self.fresh("draw", node.name)
        draws = [n.name for n in members if n.kind is Kind.DRAW]
        if node.undirected:
            message = f"`{node.name}` has no law to draw it from, only factors"
            return [py.define(own, ["key"], [py.fail("ValueError", message)])]
        drawn = self.draw(own, self.between(members), draws)
        if node.name in self.sites.hidden:
            return [drawn]
        key = py.name("key")
        if any(each in self.sites.hidden for each in draws):
            value = py.method(py.name("hidden"), "value", py.const(node.name), key, py.name(own))
        else:
            value = py.index(py.call(own, key), py.const(node.name))
        draw, density = py.function(["key"], value), py.call("jnp.zeros", py.pack([]))
        if node.name == self.sites.carrier:
            density = py.call("eliminate", py.name("data"), self.known(node.name))
        of_value, support = py.function(["value"], density), py.entry("supports", node.name)
        law = py.call("Written", draw, of_value, support, py.pack([]), self.shape(node))
        return [drawn, self.assign(node, law)]

    def between(self, members: list[Node]) -> list[Node]:
        """The members and the computed nodes that they need, in the order of the graph."""
        names = {member.name for member in members}
        outer = [p for m in members for p in m.parents if p not in names]
        wanted = names | (self.graph.ancestors(outer, self.draws) & self.sites.veiled)
        return [node for node in self.graph.nodes if node.name in wanted]

    def known(self, value_of: str | None = None) -> Code:
        """The values that the sum is taken at, as they are when the density is asked for."""
        random = self.graph.of_kind(Kind.DRAW, Kind.PARAMETER)
        values = {
            n.name: py.name(self.names[n.name]) for n in random if n.name not in self.sites.hidden
        }
        if value_of:
            values[value_of] = lowered.as_domain(py.name("value"), self.graph[value_of].type)
        return py.record(values.items())


def site(kind: str, own: str, value: Code, **named: Code) -> Code:
    """A statement of NumPyro about a node, under its name in the model."""
    return py.call(f"numpyro.{kind}", py.const(own), value, **named)
