"""Starting values of parameters: those of the file, which may use the data; a plain value of its type elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from .. import core as c
from ..graph import Graph, Kind, Node
from ..types import Type
from .expressions import lower
from .scope import Scope, size_text


def parameters(graph: Graph) -> tuple[Node, ...]:
    """Those of the model and of its guide."""
    own = graph.guide.of_kind(Kind.PARAMETER) if graph.guide else ()
    return tuple({node.name: node for node in (*graph.of_kind(Kind.PARAMETER), *own)}.values())


def mentioned(node: Node) -> Iterator[str]:
    """The data that the starting value of a parameter is computed from."""
    if node.default is not None:
        yield from dict.fromkeys(core.name for core in c.walk(node.default) if isinstance(core, c.Ref))


def start_text(node: Node, scope: Scope) -> str:
    sizes = [size_text(axis, scope.names) for axis in node.type.shape]
    shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
    if node.default is not None:
        value = lower(node.default, scope.replace(owner=node.name)).text
        return f"jnp.full({shape}, {value}, float)" if sizes and not node.default.type.shape else _number(value)
    if node.type.constraint == "simplex":
        return f"jnp.full({shape}, 1 / {sizes[-1]})"
    if node.type.constraint in ("cholesky", "corr_cholesky", "covariance", "correlation"):
        return f"jnp.broadcast_to(jnp.eye({sizes[-1]}), {shape})"
    if "ordered" in node.type.constraint:
        return f"jnp.broadcast_to(1.0 + jnp.arange({sizes[-1]}), {shape})"
    if node.type.constraint == "unit_vector":
        return f"jnp.full({shape}, {sizes[-1]} ** -0.5)"
    value = repr(_inside(node.type))
    return f"jnp.full({shape}, {value}, float)" if sizes else _number(value)


def _number(value: str) -> str:
    return f"jnp.asarray({value}, float)"


def _inside(type_: Type) -> float:
    """A number within the bounds of a type."""
    low, high = (bound if abs(bound) < 1e300 else None for bound in type_.bounds)
    if low is not None and high is not None:
        return (low + high) / 2
    return low + 1.0 if low is not None else high - 1.0 if high is not None else 0.0
