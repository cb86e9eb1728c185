"""Core forms as rewrites build them: numbers, arithmetic, and entries of arrays."""

from . import core as c
from .graph import Kind, Node
from .typed import Piece
from .types import BOOL, REAL, IndexOf, Type


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


def input_like(node: Node, part: str, type_: Type) -> Node:
    """A new input `x.part` that belongs to the node `x`."""
    return Node(f"{node.name}.{part}", Kind.INPUT, type_, node.span, node.source)


def factor_like(node: Node, part: str, pieces: tuple[Piece, ...]) -> Node:
    return Node(f"{node.name}.{part}", Kind.FACTOR, REAL, node.span, node.source, pieces)


def for_every_place(piece: Piece, body: c.Core) -> Piece:
    """A factor's piece that says something of every place that a draw's piece speaks of."""
    binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
    return piece.replace(indices=binders, body=body, settings=())
