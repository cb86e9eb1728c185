"""From terms with plates to factors over single variables, once data is known."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from dpc.dsl.graph.evaluate import Array, Evaluator
from dpc.dsl.graph.graph import Node
from dpc.dsl.record import Record

from .expand import NotTabular
from .slots import Slot
from .terms import FiniteTerm


class TermGroup(Record):
    """Factors of one shape: row n of `scopes` are the variables that table n is about, as numbers.

    `places` are the rows of the term's table, flattened over its binders, that the group takes;
    `diagonal` is the group's axis of each slot, when two slots can be one variable.
    """

    scopes: Array
    places: Array
    diagonal: tuple[int, ...]

    def is_whole(self, rows: int) -> bool:
        """Whether the group takes all rows of the table, in their order."""
        return len(self.places) == rows and bool((self.places == np.arange(rows)).all())


class Ground:
    """All elements of the finite variables, numbered in the order of the file."""

    def __init__(self, finite: Mapping[str, Node], evaluator: Evaluator):
        self.evaluator, self.sizes = evaluator, evaluator.sizes
        self.shapes = {
            name: tuple(map(self.sizes.of, node.type.shape)) for name, node in finite.items()
        }
        counts = accumulate((prod(shape) for shape in self.shapes.values()), initial=0)
        self.starts = dict(zip(self.shapes, counts, strict=False))

    def groups(self, term: FiniteTerm) -> list[TermGroup]:
        """The factors of a term; where `where` fails there is none."""
        lengths = [len(self.sizes.places(bind)) for bind in term.binders]
        scopes = np.stack([self._numbers(slot, term, lengths) for slot in term.slots], -1)
        places = np.arange(len(scopes))
        if term.where is not None:
            holds = self.evaluator.value(term.where, term.binders)
            holds = np.broadcast_to(holds, lengths).reshape(-1)
            scopes, places = scopes[holds], places[holds]
        return list(_by_coincidence(scopes, places)) if len(scopes) else []

    def _numbers(self, slot: Slot, term: FiniteTerm, lengths: list[int]) -> Array:
        """The number of the slot's variable at every place of the binders."""
        total = np.zeros(lengths, int)
        for index, size in zip(slot.indices, self.shapes[slot.node], strict=True):
            place = np.asarray(self.evaluator.value(index, term.binders), int)
            total = total * size + np.where(place < 0, place + size, place)
        return (total + self.starts[slot.node]).reshape(-1)


def _by_coincidence(scopes: Array, places: Array) -> Iterator[TermGroup]:
    """Rows in which the same slots are one variable make a group: its tables are diagonals."""
    arity = scopes.shape[1]
    same = np.argmax(scopes[:, :, None] == scopes[:, None, :], axis=2)
    if not np.any(same != np.arange(arity)):
        yield TermGroup(scopes, places, tuple(range(arity)))
        return
    for pattern in np.unique(same, axis=0):
        chosen = np.all(same == pattern, axis=1)
        firsts = sorted(set(pattern.tolist()))
        diagonal = tuple(firsts.index(first) for first in pattern.tolist())
        yield TermGroup(scopes[chosen][:, firsts], places[chosen], diagonal)


def tables_of(group: TermGroup, table: Any, binders: int, numpy: Any = np) -> Any:
    """The tables of a group, stacked; slots that coincide share an axis, one for all stays one.

    `numpy` is the library of the table: NumPy, or jax.numpy for one that is traced.
    """
    rows = table.reshape((-1, *table.shape[binders:]))
    flat = rows if len(rows) == 1 or group.is_whole(len(rows)) else rows[group.places]
    if len(set(group.diagonal)) == len(group.diagonal):
        return flat
    letters = "".join(chr(ord("a") + axis) for axis in group.diagonal)
    kept = "".join(dict.fromkeys(letters))
    return numpy.einsum(f"...{letters}->...{kept}", flat)


def each_table(group: TermGroup, table: Array, binders: int) -> Array:
    """The tables of a group, one for each factor."""
    found = tables_of(group, table, binders)
    return np.broadcast_to(found, (len(group.scopes), *found.shape[1:]))


def check_size(term: FiniteTerm, evaluator: Evaluator, limit: int) -> None:
    """A table over too many variables at once is refused before it is made."""
    entries = prod(len(evaluator.sizes.places(bind)) for bind in term.axes)
    if entries > limit:
        ties = f"ties {len(term.slots)} finite variables in one table of {entries:,} entries"
        raise NotTabular(f"`{term.name}` {ties}: write it as a sum of factors over fewer variables")
