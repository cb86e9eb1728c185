"""Draws whose values are given: by the data where they are observed, by the guide where it draws
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from dpc.dsl.graph.dependence import Recurrence
from dpc.dsl.graph.graph import Kind, Node


def as_given(node: Node) -> Node:
    return node.replace(kind=Kind.INPUT, pieces=(), parents=(), random=False)


def without(names: Set[str], recurrences: Iterable[Recurrence]) -> Iterator[Recurrence]:
    """What is left to compute step by step where these members are given."""
    for group in recurrences:
        members = tuple(name for name in group.members if name not in names)
        if members:
            yield group.replace(members=members, inner=tuple(without(names, group.inner)))
