"""What a rewrite is: a pure function from graph to graph, whose result is verified."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..graph import Graph, verify_graph

Rewrite = TypeVar("Rewrite", bound=Callable[..., Any])


class Unfit(Exception):
    """A node for which a rewrite has no meaning: what is wrong, and what to do instead."""

    def __init__(self, node: str, message: str, help: str):
        super().__init__(message)
        self.node, self.message, self.help = node, message, help


def rewrite(change: Rewrite) -> Rewrite:
    """The result, a graph or a record that has one, is verified before anybody sees it."""

    @wraps(change)
    def verified(*arguments: Any, **named: Any) -> Any:
        found = change(*arguments, **named)
        verify_graph(found if isinstance(found, Graph) else found.graph)
        return found

    return verified  # type: ignore[return-value]
