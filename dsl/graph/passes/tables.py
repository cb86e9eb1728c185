"""Tables of constants as parameters, for files that have nothing else to learn."""

from .. import core as c
from ..graph import Graph, Kind, Node
from ..typed import Piece
from ..types import Axis, Bool, Fixed, IndexOf, Real, Type
from .standard import rewrite, run_passes

TWO = Fixed(2)


@rewrite
def tables_as_parameters(graph: Graph) -> Graph:
    """A table of constants becomes a parameter `x.p` that starts at them; zeros, ones are logic."""
    found: list[Node] = []
    nodes = []
    for node in graph.nodes:
        pieces = [_with_parameter(node, k, found) for k in range(len(node.pieces))]
        nodes.append(node.replace(pieces=tuple(pieces)))
    return run_passes(graph.replace(nodes=(*found, *nodes))) if found else graph


def _with_parameter(node: Node, number: int, found: list[Node]) -> Piece:
    piece = node.pieces[number]
    law = piece.body
    if not isinstance(law, c.Law) or not law.facts.finite:
        return piece
    arguments = dict(law.arguments)
    table = arguments.get("p")
    if table is None or not is_table(table):
        return piece
    name = f"{node.name}.p" if len(node.pieces) == 1 else f"{node.name}.p{number}"
    parents = table.parents if isinstance(table, c.Lookup) else ()
    domains = [parent.type.domain for parent in parents]
    axes = tuple(domain.dim if isinstance(domain, IndexOf) else TWO for domain in domains)
    type_ = table.type.replace(domain=Real(0, 1), shape=(*axes, *table.type.shape))
    type_ = type_.replace(constraint="simplex" if table.type.shape else "")
    start = _nested(table, axes, type_)
    found.append(Node(name, Kind.PARAMETER, type_, node.span, node.source, default=start))
    whole = c.Ref(table.span, type_, name)
    places = tuple(map(_index, parents))
    element = c.At(table.span, table.type, whole, places) if places else whole
    arguments["p"] = element
    return piece.replace(body=law.replace(arguments=tuple(arguments.items())))


def is_table(core: c.Core) -> bool:
    """Constants, a row for every combination of parents, that are more than a logical function."""
    rows = core.entries if isinstance(core, c.Lookup) else (core,)
    cells = [cell for row in rows for cell in (row.items if isinstance(row, c.Stack) else (row,))]
    values = [cell.value for cell in cells if isinstance(cell, c.Const)]
    return len(values) == len(cells) and any(0 < value < 1 for value in values)


def _index(parent: c.Core) -> c.Core:
    """A truth value as the position that a row has: false first."""
    if not isinstance(parent.type.domain, Bool):
        return parent
    type_ = Type(IndexOf(TWO))
    one, zero = (c.Const(parent.span, type_, position) for position in (1, 0))
    return c.If(parent.span, type_, parent, one, zero)


def _nested(table: c.Core, axes: tuple[Axis, ...], type_: Type) -> c.Core:
    """The rows of a table, in row-major order, as an array with an axis for each parent."""
    if not isinstance(table, c.Lookup):
        return table
    rows = list(table.entries)
    for k in range(len(axes) - 1, -1, -1):
        size = axes[k].size or 1
        inner = type_.replace(shape=type_.shape[k:])
        starts = range(0, len(rows), size)
        rows = [c.Stack(table.span, inner, tuple(rows[i : i + size])) for i in starts]
    return rows[0]
