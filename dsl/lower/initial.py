"""Starting values of parameters: those of the file, which may use data, or plain ones."""

from __future__ import annotations

from collections.abc import Iterator

from ..graph import core as c
from ..graph.graph import Graph, Kind, Node
from ..graph.types import Type
from .code import Code, call, const, infix, name, pack
from .expressions import lower
from .scope import Scope, size_code
from .shapes import as_array


def parameters(graph: Graph) -> tuple[Node, ...]:
    """Those of the model and of its guide."""
    own = graph.guide.of_kind(Kind.PARAMETER) if graph.guide else ()
    return tuple({node.name: node for node in (*graph.of_kind(Kind.PARAMETER), *own)}.values())


def mentioned(node: Node) -> Iterator[str]:
    """The data that the starting value of a parameter is computed from."""
    if node.default is not None:
        yield from dict.fromkeys(
            core.name for core in c.walk(node.default) if isinstance(core, c.Ref)
        )


def starting_value(node: Node, scope: Scope) -> Code:
    sizes = [size_code(axis, scope.names) for axis in node.type.shape]
    shape = pack(sizes)
    if node.default is not None:
        value = lower(node.default, scope.replace(owner=node.name)).code
        return _filled(shape, value) if sizes and not node.default.type.shape else _real(value)
    if node.type.constraint == "simplex":
        return call("jnp.full", shape, infix(const(1), "/", sizes[-1]))
    if node.type.constraint in ("cholesky", "corr_cholesky", "covariance", "correlation"):
        return call("jnp.broadcast_to", call("jnp.eye", sizes[-1]), shape)
    if "ordered" in node.type.constraint:
        rising = infix(const(1.0), "+", call("jnp.arange", sizes[-1]))
        return call("jnp.broadcast_to", rising, shape)
    if node.type.constraint == "unit_vector":
        return call("jnp.full", shape, infix(sizes[-1], "**", const(-0.5)))
    value = const(_inside(node.type))
    return _filled(shape, value) if sizes else _real(value)


def _filled(shape: Code, value: Code) -> Code:
    return call("jnp.full", shape, value, name("float"))


def _real(value: Code) -> Code:
    return as_array(value, "float")


def _inside(type_: Type) -> float:
    """A number within the bounds of a type."""
    low, high = (bound if abs(bound) < 1e300 else None for bound in type_.bounds)
    if low is not None and high is not None:
        return (low + high) / 2
    return low + 1.0 if low is not None else high - 1.0 if high is not None else 0.0
