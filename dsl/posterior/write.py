"""A graph as a NumPyro model: one site for each draw under its own name, written as Python.

    def model(data):
        mu = numpyro.sample("mu", dist.Normal(loc=0, scale=5))
        with numpyro.plate("School", School, dim=-1):
            effect = numpyro.sample("effect", dist.Normal(loc=mu, scale=sd), obs=data.get("effect"))

What no NumPyro distribution says in one line (recurrences, several statements, hidden variables that are summed over)
is a site with a function that draws it and one that gives its log density.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import core as c
from ..check.order import Recurrence
from ..check.typed import Piece
from ..graph import Graph, Kind, Node
from ..lower.expressions import lower
from ..lower.laws import lower_density, lower_law, unchecked
from ..lower.mass import has_mass, lower_log_mass
from ..lower.names import free_name
from ..lower.nodes import as_domain, density_terms, empty_array, own_axes, piece_scope, place_text
from ..lower.program import Writer
from ..lower.scope import length_text, size_text
from ..lower.value import Value, align
from ..types import REAL, Bool
from .sites import Sites, find_sites, is_ordered, is_plain

CALLED = ("numpyro", "supports", "eliminate", "flat", "Written", "Ordered", "Joint", "Hidden")
VARIABLES = ("model", "hidden", "joint", "value", "found")
RESERVED = frozenset(CALLED + VARIABLES)


def model_parts(writer: Writer) -> list[list[str]]:
    return [ModelWriter(writer).model()]


class ModelWriter:
    def __init__(self, writer: Writer):
        self.writer = writer
        self.graph: Graph = writer.graph
        self.names = writer.names
        self.scope = writer.scope
        self.sites: Sites = find_sites(self.graph)
        visible = [n.name for n in self.graph.nodes if n.kind in (Kind.DRAW, Kind.FUNCTION)]
        self.groups = writer.groups([name for name in visible if not self.graph[name].undirected])

    def model(self) -> list[str]:
        body: list[str] = []
        done: set[str] = set()
        for node in self.graph.nodes:
            group = self.group_of(node.name)
            if node.name not in done:
                body += self.group(group) if group else self.node(node)
                done |= set(group.members) if group else {node.name}
        body += self.sum_as_factor()
        head = ["hidden = Hidden()"] if self.sites.hidden else []
        sizes = [f'{self.names[f"dim {d.name}"]} = data["{d.name}"]' for d in self.graph.dims if d.size is None]
        lines = [*sizes, *head, *body]
        doc = f"The model {self.graph.name} for NumPyro; what the data do not give is drawn."
        return ["def model(data):", f'    """{doc}"""', *(f"    {line}".rstrip() for line in lines)]

    def fresh(self, word: str, name: str) -> str:
        """The name of a function about a node, which no node has."""
        return free_name(f"{word}_{name}", frozenset(self.names.values()))

    def group_of(self, name: str) -> Recurrence | None:
        return next((group for group in self.groups if name in group.members), None)

    # ---- single nodes

    def node(self, node: Node) -> list[str]:
        if node.kind is Kind.INPUT:
            return [f'{self.names[node.name]} = data["{node.name}"]']
        if node.kind is Kind.PARAMETER:
            return [f'{self.names[node.name]} = numpyro.sample("{node.name}", {self.flat(node)})']
        if node.kind is Kind.COST or node.name in self.sites.veiled:
            return []
        if node.kind is Kind.FUNCTION:
            return [*self.writer.computed([node]), *self.kept([node])]
        if node.kind is Kind.FACTOR:
            return self.factor(node)
        if node.name in self.sites.touched or node.name in self.sites.hidden:
            return self.touched(node, [node])
        if node.undirected:
            return [f'{self.names[node.name]} = numpyro.sample("{node.name}", {self.flat(node)}{self.given(node)})']
        return self.plain(node) if is_plain(node, self.groups) else self.written(node, [node], ())

    def kept(self, nodes: Iterable[Node]) -> list[str]:
        kept = [(n.name, self.names[n.name]) for n in nodes if n.kept and not self.sites.is_veiled(n.name)]
        return [f'{text} = numpyro.deterministic("{name}", {text})' for name, text in kept]

    def factor(self, node: Node) -> list[str]:
        if node.name in self.sites.touched:
            return []
        terms = " + ".join(density_terms(node, self.scope))
        return [f'numpyro.factor("{node.name}", {terms})']

    def flat(self, node: Node) -> str:
        """No law of its own: uniform over all that its type allows, which need not have a finite integral."""
        return f'flat(supports["{node.name}"], {self.shape(node)})'

    def given(self, node: Node) -> str:
        if not node.observed:
            return ""
        text = f'data.get("{node.name}")'
        return f", obs=None if {text} is None else jnp.asarray({text}, int)" if is_truth(node) else f", obs={text}"

    def shape(self, node: Node, start: int = 0, stop: int | None = None) -> str:
        sizes = [size_text(axis, self.names) for axis in node.type.shape[start:stop]]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"

    # ---- sites that NumPyro has a distribution for

    def plain(self, node: Node) -> list[str]:
        (piece,) = node.pieces
        inside = piece_scope(node, piece, self.scope)
        axes = own_axes(piece, self.scope)
        assert isinstance(piece.body, c.Law)
        law = unchecked(lower_law(piece.body, axes, inside), piece.body)
        if is_ordered(piece):
            lengths = ", ".join(length_text(inside.bind(axis), self.names) for axis in axes)
            return self.assign(node, f"Ordered({law}.expand(({lengths},)))")
        if piece.where is not None:
            law += f".mask({self.mask(piece, axes, node)})"
        plates = [inside.bind(axis) for axis in axes]
        lines = []
        for depth, bind in enumerate(plates):
            name = plate_name(bind, plates[:depth])
            size = self.names[f"dim {bind.dim}"]
            lines.append("    " * depth + f'with numpyro.plate("{name}", {size}, dim={depth - len(plates)}):')
        return [*lines, *("    " * len(plates) + line for line in self.assign(node, law))]

    def mask(self, piece: Piece, axes: tuple[str, ...], node: Node) -> str:
        assert piece.where is not None
        inside = piece_scope(node, piece, self.scope)
        return align(lower(piece.where, inside.replace(soft=None)), axes, 0).text

    def assign(self, node: Node, law: str) -> list[str]:
        drawn = f'numpyro.sample("{node.name}", {law}{self.given(node)})'
        return [f"{self.names[node.name]} = {as_domain(drawn, node.type)}"]

    # ---- sites with a density and a draw of their own

    def group(self, group: Recurrence) -> list[str]:
        """The draws of a recurrence are sites one after the other; computed members follow when all are known.

        What is observed comes last, so that it can be predicted given the others.
        """
        members = [self.graph[name] for name in group.members]
        draws = sorted((node for node in members if node.kind is Kind.DRAW), key=lambda node: node.observed)
        lines: list[str] = ["joint = Joint()"] if len(draws) > 1 else []
        for number, node in enumerate(draws):
            if node.name in self.sites.touched or node.name in self.sites.hidden:
                lines += self.touched(node, members)
            else:
                lines += self.written(node, members, tuple(n.name for n in draws[:number]))
        functions = [node for node in members if node.kind is Kind.FUNCTION and node.name not in self.sites.veiled]
        if not any(node.kept or self.is_used(node.name, group) for node in functions):
            return lines
        return [*lines, *self.writer.computed(functions), *self.kept(functions)]

    def is_used(self, name: str, group: Recurrence) -> bool:
        """Whether anything outside the recurrence needs this member of it."""
        return any(name in node.parents for node in self.graph.nodes if node.name not in group.members)

    def written(self, node: Node, members: list[Node], earlier: tuple[str, ...]) -> list[str]:
        rest = [member for member in members if member.name not in earlier]
        draws = [member.name for member in members if member.kind is Kind.DRAW]
        own = self.fresh("draw", node.name)
        drawn = self.draw(own, rest, [name for name in draws if name not in earlier])
        lines = [*drawn, *self.log_density(node, members)]
        if len(draws) > 1:
            known = ", ".join(f'"{name}": {self.names[name]}' for name in earlier)
            draw = f'lambda key, joint=joint: joint.member("{node.name}", key, {{{known}}}, {own})'
        else:
            draw = f'lambda key: {own}(key)["{node.name}"]'
        density = self.fresh("log_density", node.name)
        law = f'Written({draw}, {density}, supports["{node.name}"], {self.split_shape(node)})'
        return [*lines, *self.assign(node, law)]

    def split_shape(self, node: Node) -> str:
        """Batch and event: observed nodes have a density for each element, others one for all."""
        event = len(node.laws[0].type.shape) if node.observed else len(node.type.shape)
        cut = len(node.type.shape) - event
        return f"{self.shape(node, 0, cut)}, {self.shape(node, cut)}"

    def draw(self, name: str, nodes: list[Node], wanted: list[str]) -> list[str]:
        """A function from a key to draws, given what is known where it stands."""
        count = sum(len(node.pieces) for node in nodes if node.kind is Kind.DRAW)
        pairs = ", ".join(f'"{name}": {self.names[name]}' for name in wanted)
        needs = self.needs(nodes)
        hidden = (
            f'{self.names[other]} = hidden.value("{other}", keys[{count + k}], {self.fresh("draw", other)})'
            for k, other in enumerate(needs)
        )
        lines = [
            f"keys = jax.random.split(key, {max(1, count + len(needs))})",
            *hidden,
            *self.writer.sampled(nodes),
            f"return {{{pairs}}}",
        ]
        return [f"def {name}(key):", *(f"    {line}".rstrip() for line in lines)]

    def needs(self, nodes: list[Node]) -> list[str]:
        """The hidden draws that these nodes mention."""
        own = {node.name for node in nodes}
        return [name for name in _parents(nodes) if name in self.sites.hidden and name not in own]

    def log_density(self, node: Node, members: list[Node]) -> list[str]:
        functions = [member for member in members if member.kind is Kind.FUNCTION]
        needed = self.graph.ancestors(node.parents, {n.name for n in self.graph.nodes if n.kind is Kind.DRAW})
        lines = [*self.writer.computed([n for n in functions if n.name in needed])]
        if not node.observed:
            lines.append(f"return {' + '.join(density_terms(node, self.scope))}")
        elif len(node.pieces) == 1 and is_plain(node, []):
            lines.append(f"return {self.elements(node, node.pieces[0])}")
        else:
            batch = node.type.replace(domain=REAL.domain, constraint="", shape=node.type.shape[: _batch_rank(node)])
            lines.append(f"found = {empty_array(batch, self.scope)}")
            for piece in node.pieces:
                place = place_text(piece, self.scope) or "[...]"
                lines.append(f"found = found.at{place}.set({self.elements(node, piece)})")
            lines.append("return found")
        text = self.names[node.name]
        return [f"def {self.fresh('log_density', node.name)}({text}):", *(f"    {line}".rstrip() for line in lines)]

    def elements(self, node: Node, piece: Piece) -> str:
        """The log density of every element that a piece defines."""
        inside = piece_scope(node, piece, self.scope)
        axes = own_axes(piece, self.scope)
        assert isinstance(piece.body, c.Law)
        if has_mass(piece):
            return align(lower_log_mass(node, piece, inside), axes, 0).text
        value = f"{self.names[node.name]}{place_text(piece, self.scope)}"
        value = f"jnp.asarray({value}, int)" if is_truth(node) else value
        text = Value(lower_density(piece.body, value, axes, inside), axes).text
        return text if piece.where is None else f"jnp.where({self.mask(piece, axes, node)}, {text}, 0.0)"

    # ---- what is summed over

    def touched(self, node: Node, members: list[Node]) -> list[str]:
        """A hidden draw is a function that draws it; what depends on one is a site whose density is in the sum."""
        draw = self.fresh("draw", node.name)
        draws = [n.name for n in members if n.kind is Kind.DRAW]
        if node.undirected:
            return [
                f"def {draw}(key):",
                f'    raise ValueError("`{node.name}` has no law to draw it from, only factors")',
            ]
        lines = self.draw(draw, self.between(members), draws)
        if node.name in self.sites.hidden:
            return lines
        is_mixed = any(name in self.sites.hidden for name in draws)
        call = f'hidden.value("{node.name}", key, {draw})' if is_mixed else f'{draw}(key)["{node.name}"]'
        return [*lines, *self.assign(node, self.member_law(node, f"lambda key: {call}"))]

    def between(self, members: list[Node]) -> list[Node]:
        """The members, and the computed nodes without a value that they need, in the order of the graph."""
        stop = {n.name for n in self.graph.nodes if n.kind is Kind.DRAW}
        names = {member.name for member in members}
        wanted = self.graph.ancestors([p for m in members for p in m.parents if p not in names], stop)
        return [n for n in self.graph.nodes if n.name in names or (n.name in wanted and n.name in self.sites.veiled)]

    def member_law(self, node: Node, draw: str) -> str:
        density = "lambda value: jnp.zeros(())"
        if node.name == self.sites.carrier:
            density = f"lambda value: eliminate(data, {self.known(node.name)})"
        return f'Written({draw}, {density}, supports["{node.name}"], (), {self.shape(node)})'

    def known(self, value_of: str | None = None) -> str:
        """The values that the sum is taken at, as they are when the density is asked for."""
        random = self.graph.of_kind(Kind.DRAW, Kind.PARAMETER)
        names = [node.name for node in random if node.name not in self.sites.hidden]
        value = as_domain("value", self.graph[value_of].type) if value_of else ""
        pairs = (f'"{name}": {value if name == value_of else self.names[name]}' for name in names)
        return f"{{{', '.join(pairs)}}}"

    def sum_as_factor(self) -> list[str]:
        if self.sites.carrier or not self.sites.touched:
            return []
        return [f'numpyro.factor("{" ".join(sorted(self.sites.hidden))}", eliminate(data, {self.known()}))']


def _parents(nodes: list[Node]) -> list[str]:
    return list(dict.fromkeys(parent for node in nodes for parent in node.parents))


def _batch_rank(node: Node) -> int:
    return len(node.type.shape) - len(node.laws[0].type.shape)


def is_truth(node: Node) -> bool:
    return isinstance(node.type.domain, Bool)


def plate_name(bind: c.Bind, outer: list[c.Bind]) -> str:
    """A dim that is bound twice is two plates."""
    count = sum(other.dim == bind.dim for other in outer)
    return bind.dim.name if not count else f"{bind.dim.name} {count + 1}"
