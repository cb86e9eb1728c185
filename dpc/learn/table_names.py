"""Learned tables in words: `tub=yes | asia=no` for each entry of the parameter `tub.p`."""

from itertools import product

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.graph.passes.tables import is_table
from dpc.dsl.graph.types import Bool, Dim, IndexOf, Type


def table_entries(graph: Graph) -> dict[str, list[str]]:
    """The entries of every table of constants with named states, in the order of `x.p`."""
    found = {}
    for node in graph.nodes:
        for number, piece in enumerate(node.pieces):
            table = dict(piece.body.arguments).get("p") if isinstance(piece.body, c.Law) else None
            if table is not None and is_table(table):
                name = f"{node.name}.p" if len(node.pieces) == 1 else f"{node.name}.p{number}"
                found[name] = entries(node, table)
    return {name: names for name, names in found.items() if names}


def entries(node: Node, table: c.Core) -> list[str]:
    parents = table.parents if isinstance(table, c.Lookup) else ()
    if any(not isinstance(parent, c.Ref) for parent in parents) or len(node.pieces) > 1:
        return []
    states = [states_of(parent.type) for parent in parents]
    own = states_of(node.type) if table.type.shape else ["true"]
    if not own or not all(states):
        return []
    names = [parent.name for parent in parents if isinstance(parent, c.Ref)]
    return [
        f"{node.name}={state}{' | ' if names else ''}{', '.join(map('='.join, zip(names, row, strict=True)))}"
        for row in product(*states)
        for state in own
    ]


def states_of(type_: Type) -> list[str]:
    domain = type_.domain
    if isinstance(domain, Bool):
        return ["false", "true"]
    if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim):
        return list(domain.dim.labels)
    return []
