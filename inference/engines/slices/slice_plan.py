"""How a message moves over one slice: old variables are summed away, new ones enter with them.

A variable of the plan is (lag, number): lag 0 is the slice that enters. Each elimination multiplies
in the factors that touch the variable; eliminations that follow each other become one block while
their table stays small, so that the work is a few products of matrices: the front axes are summed
away, the new ones appear at the back, and after a slice the axes stand where they stood.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

Var = tuple[int, int]
Scope = tuple[Var, ...]
TABLE = 1024  # eliminations share a block while its table has at most so many entries


class SliceBlock(NamedTuple):
    """message[kept, summed, rest] * table[kept, summed, local, born], summed over the middle."""

    before: Scope
    kept: Scope
    summed: Scope
    rest: Scope
    local: Scope
    born: Scope
    factors: tuple[int, ...]
    touches: tuple[int, ...]
    """Factors multiplied in afterwards: they hold nothing that is summed here."""

    @property
    def table(self) -> Scope:
        return self.kept + self.summed + self.local + self.born

    @property
    def after(self) -> Scope:
        return self.kept + self.rest + self.born


class SlicePlan(NamedTuple):
    """`entry` are the message's axes before a slice enters; `leave` after it, a lag younger."""

    sizes: tuple[int, ...]
    scopes: tuple[Scope, ...]
    entry: Scope
    blocks: tuple[SliceBlock, ...]
    leave: Scope

    def shape(self, scope: Iterable[Var]) -> tuple[int, ...]:
        return tuple(self.sizes[number] for _, number in scope)

    @property
    def largest(self) -> Scope:
        """The axes of the largest message."""
        messages = (self.entry, *(block.after for block in self.blocks))
        return max(messages, key=lambda scope: prod(self.shape(scope)))


@lru_cache(maxsize=256)
def plan_slice(sizes: tuple[int, ...], scopes: tuple[Scope, ...], table: int = TABLE) -> SlicePlan:
    """Axes enter in the order in which they leave, where there is such an order."""
    lags = enumerate(reaches(sizes, scopes))
    entry = tuple((lag, v) for v, reach in lags for lag in range(reach, 0, -1))
    for _ in range(2):
        oldest = [(reach, v) for v, reach in enumerate(reaches(sizes, scopes))]
        groups: list[list[Var]] = []
        done: set[Var] = set()
        for var in eliminations(sizes, scopes, entry, oldest):
            joined = [*(groups[-1] if groups else []), var]
            held = holders(scopes, joined) - (done - set(joined))
            if groups and entries(sizes, held) <= table:
                groups[-1] = joined
            else:
                groups.append([var])
            done.add(var)
        everyone = {(0, v) for v in range(len(sizes))}
        unborn = everyone.difference(*(holders(scopes, group) for group in groups))
        chained = [[], *groups] if unborn else groups
        blocks = tuple(chain_blocks(scopes, entry, chained, tuple(sorted(unborn))))
        left = blocks[-1].after if blocks else ()
        leaving = tuple((lag + 1, v) for lag, v in left)
        if leaving == entry:
            break
        entry = leaving
    return SlicePlan(sizes, scopes, entry, blocks, tuple((lag - 1, v) for lag, v in entry))


def reaches(sizes: Sequence[int], scopes: Iterable[Scope]) -> list[int]:
    """For how many slices each variable is remembered."""
    found = [0] * len(sizes)
    for lag, v in (var for scope in scopes for var in scope):
        found[v] = max(found[v], lag)
    return found


def holders(scopes: Iterable[Scope], variables: Iterable[Var]) -> set[Var]:
    """The variables of all factors that touch these."""
    gone = set(variables)
    return gone.union(*(scope for scope in scopes if gone & set(scope)))


def entries(sizes: tuple[int, ...], variables: Iterable[Var]) -> int:
    return prod(sizes[v] for _, v in variables)


def eliminations(
    sizes: tuple[int, ...], scopes: tuple[Scope, ...], entry: Scope, oldest: list[Var]
) -> list[Var]:
    """Next is what leaves the smallest message, then what needs the smallest, then the first."""
    order: list[Var] = []
    alive = set(entry)
    waiting = sorted(oldest, key=lambda var: entry.index(var) if var in entry else len(entry))
    while waiting:
        held = {var: alive | (holders(scopes, [var]) - set(order)) for var in waiting}
        costs = {v: (entries(sizes, held[v] - {v}), entries(sizes, held[v])) for v in waiting}
        best = min(waiting, key=costs.__getitem__)
        waiting.remove(best)
        alive = held[best] - {best}
        order.append(best)
    return order


def chain_blocks(
    scopes: tuple[Scope, ...], entry: Scope, groups: Sequence[list[Var]], unborn: Scope
) -> list[SliceBlock]:
    """A factor goes into the first table that holds all of it, or is multiplied in afterwards."""
    axes, waiting, blocks = entry, list(range(len(scopes))), []
    later = {var for group in groups for var in group}
    for group in groups:
        gone = set(group)
        later -= gone
        table = set(gone) if group else set(unborn)
        table.update(*(scopes[i] for i in waiting if gone & set(scopes[i])))
        inside = [i for i in waiting if set(scopes[i]) <= table]
        born = tuple(sorted(table - set(axes) - gone))
        rest = tuple(v for v in axes if v not in table)
        kept = tuple(v for v in axes if v in table - gone)
        staying = (set(axes) - gone | set(born)) - later
        touches = [i for i in waiting if i not in inside and set(scopes[i]) <= staying]
        waiting = [i for i in waiting if i not in inside and i not in touches]
        summed = tuple(v for v in axes if v in gone)
        local = tuple(v for v in group if v not in axes)
        parts = axes, kept, summed, rest, local, born
        blocks.append(SliceBlock(*parts, tuple(inside), tuple(touches)))
        axes = blocks[-1].after
    return blocks
