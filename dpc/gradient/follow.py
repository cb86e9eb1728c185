"""Which elements of a draw an element below it depends on: those at its own index, or all.

s[n] = f(z[n]) follows z along n, and so does what follows s along n. A sum over n follows nothing.
A recurrence, or an index n - 1, follows what is at its own index and before it.
"""

from collections.abc import Iterable, Iterator

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import Recurrence, nodes_read, offset_of
from dpc.dsl.graph.forms import is_whole
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import Bool, Dim, IndexOf

Map = dict[int, int]
Follows = dict[str, Map]


class Lagged(int):
    """An axis along which something depends on its own place and on all before it."""


class Followed:
    """What every random node follows; a recurrence follows all it uses up to its own step.

    What is below `summed` draws along a recurrence follows their elements one by one.
    """

    def __init__(self, graph: Graph, summed: frozenset[str] = frozenset()):
        self.graph = graph
        self.summed = summed
        self.known: dict[str, Follows] = {}
        for node in graph.of_kind(Kind.FUNCTION, Kind.DRAW):
            if node.random and node.name not in self.known:
                group = group_of(node.name, graph)
                self.known |= self._of_group(group) if group else {node.name: self._of_node(node)}

    def _of_node(self, node: Node) -> Follows:
        if not has_elements(node, self.graph):
            return {name: {} for name in self.draws_above(_roots(node))}
        binders = tuple(index for index in node.pieces[0].indices if isinstance(index, c.Bind))
        return self.follows(binders, _roots(node))

    def _of_group(self, group: Recurrence) -> dict[str, Follows]:
        """Every member at step t depends on everything that any member uses up to step t."""
        together: Follows = {}
        for piece in (piece for name in group.members for piece in self.graph[name].pieces):
            index = piece.indices[group.axis]
            own = {}
            if isinstance(index, c.Bind) and not group.reverse:
                own = {index.name: (group.axis, index.dim)}
            for name, indices in _uses_of(piece):
                if name in self.known and name not in group.members:
                    along = _axis_map(self.graph[name], indices, own)
                    lagged: Map = {a: Lagged(b) for a, b in along.items()}
                    _meet(together, self._through(name, lagged))
        steps: Map = {} if group.reverse or group.inner else {group.axis: Lagged(group.axis)}
        drawn = {n: steps for n in group.members if self.graph[n].kind is Kind.DRAW}
        drawn = {name: own for name, own in drawn.items() if name not in self.summed}
        return {name: {**together, **drawn} for name in group.members}

    def draws_above(self, roots: Iterable[c.Core | c.Law]) -> set[str]:
        found: set[str] = set()
        for name in nodes_read(*roots):
            if name in self.known:
                found |= set(self.known[name])
                found |= {name} if self.graph[name].kind is Kind.DRAW else set()
        return found

    def follows(self, binders: tuple[c.Bind, ...], roots: Iterable[c.Core | c.Law]) -> Follows:
        """For something with these binders that mentions these expressions."""
        own = {bind.name: (axis, bind.dim) for axis, bind in enumerate(binders) if is_whole(bind)}
        found: Follows = {}
        for root in roots:
            for name, indices in uses(root, frozenset()):
                if name in self.known:
                    _meet(found, self._through(name, _axis_map(self.graph[name], indices, own)))
        return found

    def _through(self, name: str, along: Map) -> Follows:
        """What is followed by way of a node."""
        node = self.graph[name]
        found = {
            draw: {a: _joined(b, along[b]) for a, b in own.items() if b in along}
            for draw, own in self.known[name].items()
        }
        if node.kind is Kind.DRAW and name not in found:
            plates = len(node.type.shape) if name in self.summed else element_axes(node, self.graph)
            found[name] = {axis: place for axis, place in along.items() if axis < plates}
        return found


def _roots(node: Node) -> list[c.Core | c.Law]:
    roots = [root for piece in node.pieces for root in (piece.body, piece.where)]
    return [root for root in roots if root is not None]


def _uses_of(piece: Piece) -> Iterator[tuple[str, tuple[c.Core, ...]]]:
    for root in (piece.body, piece.where):
        if root is not None:
            yield from uses(root, frozenset())


def _joined(first: int, second: int) -> int:
    """The second axis, up to the place if either only says so."""
    return Lagged(second) if isinstance(first, Lagged) or isinstance(second, Lagged) else second


def has_elements(node: Node, graph: Graph) -> bool:
    """One statement with binders over whole dims, outside of recurrences."""
    if len(node.pieces) != 1 or group_of(node.name, graph):
        return False
    return all(isinstance(index, c.Bind) and is_whole(index) for index in node.pieces[0].indices)


def element_axes(node: Node, graph: Graph) -> int:
    return len(node.pieces[0].indices) if has_elements(node, graph) else 0


def uses(
    root: c.Core | c.Law, shadowed: frozenset[str]
) -> Iterator[tuple[str, tuple[c.Core, ...]]]:
    """Every mention of a node with its indices; a binder that an inner one hides is not ours."""
    if isinstance(root, c.Ref):
        yield root.name, ()
        return
    if isinstance(root, c.At) and isinstance(root.base, c.Ref):
        yield root.base.name, tuple(_hidden(index, shadowed) for index in root.indices)
        for index in root.indices:
            yield from uses(index, shadowed)
        return
    if isinstance(root, c.Reduce | c.Build):
        shadowed |= {bind.name for bind in root.binders}
    for part in c.parts(root):
        yield from uses(part, shadowed)


def _hidden(index: c.Core, shadowed: frozenset[str]) -> c.Core:
    return index.replace(name="") if isinstance(index, c.Var) and index.name in shadowed else index


def _axis_map(node: Node, indices: tuple[c.Core, ...], own: dict[str, tuple[int, Dim]]) -> Map:
    """Axes of the node that are at our own index, or before it; of z[n, n] the first alone."""
    found: Map = {}
    for axis, index in enumerate(indices):
        name, offset = offset_of(index) or (None, 0)
        if name not in own or offset > 0:
            continue
        place, dim = own[name]
        if node.type.shape[axis] == dim and place not in found.values():
            found[axis] = Lagged(place) if offset else place
    return found


def _meet(found: Follows, other: Follows) -> None:
    """Along an axis is followed what every mention follows."""
    for name, along in other.items():
        before = found.get(name, along)
        same = [axis for axis in along if axis in before and before[axis] == along[axis]]
        found[name] = {axis: _joined(before[axis], along[axis]) for axis in same}


# ---- recurrences


def group_of(name: str, graph: Graph) -> Recurrence | None:
    return next((group for group in graph.recurrences if name in group.members), None)


def is_path(node: Node, graph: Graph) -> bool:
    """A finite draw alone in its recurrence, all of whose elements are drawn: it can be summed."""
    group = group_of(node.name, graph)
    if group is None or group.members != (node.name,) or node.kind is not Kind.DRAW:
        return False
    finite = isinstance(node.type.domain, Bool | IndexOf)
    ordered = any(setting.name == "ordered" for setting in node.settings)
    return finite and not ordered and all(piece.where is None for piece in node.pieces)


def is_chain(node: Node, graph: Graph) -> bool:
    """Each element depends on its own one step before alone: z[t in T[1..]] ~ p(z[t-1]).

    Where nothing below looks at two steps of a chain at once, the marginals of each step are
    enough; elsewhere, and in other recurrences, the sum is over all paths.
    """
    group = group_of(node.name, graph)
    if group is None or group.reverse or group.inner or not is_path(node, graph):
        return False
    return all(_is_link(node, piece, group) for piece in node.pieces)


def _is_link(node: Node, piece: Piece, group: Recurrence) -> bool:
    others = [index for axis, index in enumerate(piece.indices) if axis != group.axis]
    if not all(isinstance(index, c.Bind) and is_whole(index) for index in others):
        return False
    mentions = [indices for name, indices in uses(piece.body, frozenset()) if name == node.name]
    return all(_is_one_before(piece, indices, group.axis) for indices in mentions)


def _is_one_before(piece: Piece, indices: tuple[c.Core, ...], axis: int) -> bool:
    if len(indices) != len(piece.indices):
        return False
    for place, (own, used) in enumerate(zip(piece.indices, indices, strict=True)):
        name, offset = (own.name, 0) if isinstance(own, c.Bind) else offset_of(own) or ("", 0)
        if offset_of(used) != (name, offset - (place == axis)):
            return False
    return True
