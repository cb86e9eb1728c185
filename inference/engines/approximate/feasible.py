"""A configuration whose potential is not zero, by search: hard constraints are respected.

Depth first: the variable with fewest states left takes its most promising state, and zeros are
propagated until every state of every variable has support in every table (arc consistency). What
runs out of states is left for the next state. The search proves that nothing is possible where it
ends before its budget does.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.factor_graph import Floats, impossible
from .layout import FactorLayout

Mask = NDArray[np.bool_]
BUDGET = 20_000
"""States tried before a search is given up; a propagation each."""


class Constraint(NamedTuple):
    """Which combinations of the states of `scope` a table leaves possible."""

    scope: tuple[int, ...]
    allowed: Mask

    def supported(self, alive: Mask, axis: int) -> Mask:
        """The states along an axis that some combination of the others' states supports."""
        left = self.allowed
        for other, variable in enumerate(self.scope):
            own = alive[: left.shape[other], variable]
            shape = [-1 if k == other else 1 for k in range(left.ndim)]
            left = left & own.reshape(shape)
        return np.asarray(left.any(axis=tuple(k for k in range(left.ndim) if k != axis)))


def find_feasible(layout: FactorLayout, beliefs: Floats) -> NDArray[np.intp]:
    """States by variable, those with the best `beliefs` [state, variable] first."""
    search = _Search(layout, beliefs)
    alive = layout.unary > -np.inf
    found = search.propagate(alive, range(len(search.constraints)))
    if found is not None:
        found = search.descend(found)
    if found is None:
        raise impossible(layout.bound.evidence)
    states: NDArray[np.intp] = np.where(found, beliefs, -np.inf).argmax(axis=0)
    return states


class _Search:
    def __init__(self, layout: FactorLayout, beliefs: Floats):
        self.constraints: list[Constraint] = []
        for group in layout.groups:
            tables = np.moveaxis(group.logs, -1, 0)
            for scope, table in zip(group.members.T.tolist(), tables, strict=True):
                if np.isneginf(table).any():
                    self.constraints.append(Constraint(tuple(scope), table > -np.inf))
        self.near: list[list[int]] = [[] for _ in range(layout.count)]
        for number, constraint in enumerate(self.constraints):
            for variable in constraint.scope:
                self.near[variable].append(number)
        self.tied = np.array([bool(own) for own in self.near], bool)
        self.order = np.argsort(-beliefs, axis=0, kind="stable")
        self.budget = BUDGET

    def propagate(self, alive: Mask, changed: Sequence[int]) -> Mask | None:
        """The states that are left, from these constraints on; None where a variable has none."""
        alive, waiting, queued = alive.copy(), deque(changed), set(changed)
        while waiting:
            number = waiting.popleft()
            queued.discard(number)
            constraint = self.constraints[number]
            for axis, variable in enumerate(constraint.scope):
                supported = constraint.supported(alive, axis)
                column = alive[: len(supported), variable]
                if not (column & ~supported).any():
                    continue
                column &= supported
                alive[len(supported) :, variable] = False
                if not column.any():
                    return None
                fresh = [n for n in self.near[variable] if n != number and n not in queued]
                waiting.extend(fresh)
                queued.update(fresh)
        return alive

    def descend(self, alive: Mask) -> Mask | None:
        """States that fit each other, where every tied variable has one left; None: there are none.

        A stack of choices in place of recursion: there may be thousands of variables.
        """
        stack = [(alive, *self._choice(alive))]
        while stack:
            alive, variable, states = stack.pop()
            if variable < 0:
                return alive
            if not states:
                continue
            if self.budget == 0:
                raise InferenceError(
                    f"no configuration without a zero was found in {BUDGET:,} trials, and none was "
                    "proved to be missing: use `method=exact`, or look at the hard constraints"
                )
            self.budget -= 1
            state, *others = states
            stack.append((alive, variable, others))
            fixed = alive.copy()
            fixed[:, variable] = False
            fixed[state, variable] = True
            left = self.propagate(fixed, self.near[variable])
            if left is not None:
                stack.append((left, *self._choice(left)))
        return None

    def _choice(self, alive: Mask) -> tuple[int, list[int]]:
        """The tied variable with fewest states left, and these, best first; -1 if all have one."""
        counts = np.where(self.tied, alive.sum(axis=0), 0)
        if counts.max(initial=0) < 2:
            return -1, []
        variable = int(np.where(counts > 1, counts, np.iinfo(int).max).argmin())
        return variable, [int(s) for s in self.order[:, variable] if alive[s, variable]]
