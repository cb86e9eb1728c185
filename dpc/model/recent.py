"""Results that are worth keeping for a while: the oldest goes when there are too many."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KEPT = 64
"""Programs of one kind; each holds compiled code and index arrays of its own."""

T = TypeVar("T")


class Recent(Generic[T]):
    """The results of the last `KEPT` keys that were asked for."""

    def __init__(self, kept: int = KEPT):
        self.kept = kept
        self.found: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self.found:
            self.found[key] = make()
        self.found.move_to_end(key)
        while len(self.found) > self.kept:
            self.found.popitem(last=False)
        return self.found[key]
