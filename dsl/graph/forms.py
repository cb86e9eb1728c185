"""Core forms as rewrites build them: numbers, arithmetic, and entries of arrays."""

from . import core as c
from .breaks import COMPARISONS
from .graph import Kind, Node
from .substitute import substitute
from .typed import Piece
from .types import BOOL, REAL, Dim, IndexOf, Place, Type


def number(at: c.Core | c.Law | Piece | Node, value: float) -> c.Const:
    return c.Const(at.span, REAL, value)


def arithmetic(function: str, a: c.Core, b: c.Core) -> c.Core:
    """add, subtract or multiply; a number goes with every entry of an array."""
    return c.Apply(a.span, Type(REAL.domain, a.type.shape or b.type.shape), function, pair(a, b))


def compare(function: str, a: c.Core, b: c.Core) -> c.Core:
    return c.Apply(a.span, BOOL, function, pair(a, b))


def pair(a: c.Core, b: c.Core) -> tuple[tuple[str, c.Core], ...]:
    return ("a", a), ("b", b)


def both(a: c.Core | None, b: c.Core | None) -> c.Core | None:
    """`a and b`, where None is no condition."""
    if a is None or b is None:
        return a if b is None else b
    return compare("and", a, b)


def index_type(bind: c.Bind) -> Type:
    return Type(IndexOf(bind.dim, bind.low, bind.high))


def index_of(index: c.Bind | c.Core) -> c.Core:
    """What stands for a binder in an expression below it."""
    if isinstance(index, c.Bind):
        return c.Var(index.span, index_type(index), index.name)
    return index


def entry(node: Node, piece: Piece) -> c.Core:
    """What a piece speaks of, read off a node with the piece's leading axes."""
    whole = c.Ref(piece.span, node.type, node.name)
    if not piece.indices:
        return whole
    rest = node.type.replace(shape=node.type.shape[len(piece.indices) :])
    return c.At(piece.span, rest, whole, tuple(map(index_of, piece.indices)))


ELEMENTWISE = frozenset({"add", "subtract", "multiply", "divide", "negate", *COMPARISONS})


def element(core: c.Core, index: c.Core) -> c.Core:
    """The entry of an array along its first axis, written with entries of what it is made of."""
    rest = core.type.replace(shape=core.type.shape[1:], constraint="")
    if isinstance(core, c.Apply) and core.function in ELEMENTWISE:
        values = [value for _, value in core.arguments]
        if all(value.type.shape in ((), core.type.shape) for value in values):
            arguments = tuple(
                (name, element(value, index) if value.type.shape else value)
                for name, value in core.arguments
            )
            return core.replace(type=rest, arguments=arguments)
    if isinstance(core, c.Stack) and isinstance(index, c.Const):
        return core.items[int(index.value)]
    if isinstance(core, c.Build) and len(core.binders) == 1 and is_whole(core.binders[0]):
        return substitute(core.body, {core.binders[0].name: index})
    if isinstance(core, c.At):
        return core.replace(type=rest, indices=(*core.indices, index))
    return c.At(core.span, rest, core, (index,))


def is_whole(bind: c.Bind) -> bool:
    last = Place(-1, True) if bind.dim.size is None else Place(bind.dim.size - 1)
    return bind.low == Place(0) and bind.high in (last, Place(-1, True))


def whole_axis(at: c.Core, name: str, dim: Dim) -> c.Bind:
    """A binder over all of a dim."""
    high = Place(-1, True) if dim.size is None else Place(dim.size - 1)
    return c.Bind(at.span, name, dim, Place(0), high)


def input_like(node: Node, part: str, type_: Type) -> Node:
    """A new input `x.part` that belongs to the node `x`."""
    return Node(f"{node.name}.{part}", Kind.INPUT, type_, node.span, node.source)


def factor_like(node: Node, part: str, pieces: tuple[Piece, ...]) -> Node:
    return Node(f"{node.name}.{part}", Kind.FACTOR, REAL, node.span, node.source, pieces)


def for_every_place(piece: Piece, body: c.Core) -> Piece:
    """A factor's piece that says something of every place that a draw's piece speaks of."""
    binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
    return piece.replace(indices=binders, body=body, settings=())
