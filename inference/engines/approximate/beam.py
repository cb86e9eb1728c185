"""Beam search for the k best configurations of a wide model, partial ones along an order.

A partial configuration is worth sum_f max over what is open of log f, an upper bound of all it can
become. Only the `width` best survive each variable. The best bound among those dropped tells what
may have been missed: if the k-th found is at least as good, the k found are the k best.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors.factor_graph import FactorGraph, Floats, Given, Name, impossible
from ...planning.orders import neighbours_of
from ..numpy.decisions import Configuration
from .layout import FactorLayout, lay_out

ROUNDING = 1e-12
WIDTH = 1000


@dataclass(frozen=True, eq=False)
class Beam:
    """Configurations in descending order of exact scores; none missing scores above `missed`."""

    configurations: tuple[Configuration, ...]
    missed: float
    width: int

    @property
    def is_proven(self) -> bool:
        """Whether these are certainly the best ones, to the rounding of sums."""
        worst = self.configurations[-1].log_score
        return self.missed <= worst + ROUNDING * (1 + abs(worst))

    def __str__(self) -> str:
        claim = f"approximate, none missing scores above {self.missed:.6g}"
        claim = "proven the best" if self.is_proven else claim
        found, best = len(self.configurations), self.configurations[0].log_score
        head = f"beam search (width {self.width})"
        return f"{head}: {found} found, {claim}, log-score {best:.6g}"


class Assignment(NamedTuple):
    """Assigning one variable after the `earlier` adds `after` at all of them less `before`."""

    earlier: tuple[int, ...]
    before: Floats
    after: Floats


def infer_kbest_by_beam(
    graph: FactorGraph,
    k: int,
    given: Given = None,
    *,
    width: int = WIDTH,
    order: Sequence[Name] | None = None,
) -> Beam:
    """The k best configurations that a beam of `width` finds along `order`."""
    if not 1 <= k <= width:
        raise InferenceError(
            f"the {k} best by a beam of width {width}: k is at least 1 and at most the width"
        )
    layout = lay_out(graph, given)
    numbers = breadth_order(layout)
    if order is not None:
        free = [v for v in order if v not in layout.bound.fixed]
        if Counter(free) != Counter(layout.names):
            raise InferenceError(
                "the order of a beam search names every variable that is not observed, once"
            )
        number = {v: i for i, v in enumerate(layout.names)}
        numbers = [number[v] for v in free]
    steps = steps_along(layout, numbers)
    states = np.zeros((1, layout.count), dtype=np.intp)
    tops = [layout.unary.max(axis=0, initial=-np.inf)]
    tops += [group.logs.max(axis=tuple(range(group.arity))) for group in layout.groups]
    scores = np.array([layout.constant + sum([top.sum() for top in tops])])
    missed = -np.inf
    for v in numbers:
        states, scores, dropped = extend(layout, states, scores, v, steps[v], width)
        missed = max(missed, dropped)
    if not scores.size and missed == -np.inf:
        raise impossible(layout.bound.evidence)
    if not scores.size:
        lost = "lost every configuration of non-zero potential"
        raise InferenceError(f"a beam of width {width} {lost}; widen it")
    found = [layout.named_configuration(row) for row in states[:k]]
    found.sort(key=lambda c: -c.log_score)
    return Beam(tuple(found), max(missed, float(scores[k]) if scores.size > k else -np.inf), width)


def breadth_order(layout: FactorLayout) -> list[int]:
    """Next is the variable with the most neighbours already placed: factors close early."""
    near = neighbours_of(layout.count, layout.scopes)
    placed = np.zeros(layout.count)
    order: list[int] = []
    for _ in range(layout.count):
        v = int(placed.argmax())
        order.append(v)
        placed[list(near[v])] += 1
        placed[order] = -1
    return order


def steps_along(layout: FactorLayout, order: Sequence[int]) -> list[list[Assignment]]:
    """For each variable, what its factors add when it is assigned after those before it."""
    rank = np.empty(layout.count, dtype=int)
    rank[list(order)] = np.arange(layout.count)
    steps: list[list[Assignment]] = [[] for _ in order]
    for group in layout.groups:
        tables = np.moveaxis(group.logs, -1, 0)
        for scope, logs in zip(group.members.T.tolist(), tables, strict=True):
            axes = sorted(range(len(scope)), key=lambda axis: rank[scope[axis]])
            trimmed = logs[tuple([slice(layout.sizes[v]) for v in scope])].transpose(axes)
            ordered = [scope[axis] for axis in axes]
            best = [trimmed.max(axis=tuple(range(i, len(scope)))) for i in range(len(scope) + 1)]
            for i, v in enumerate(ordered):
                steps[v].append(Assignment(tuple(ordered[:i]), best[i], best[i + 1]))
    return steps


def extend(
    layout: FactorLayout,
    states: NDArray[np.intp],
    scores: Floats,
    v: int,
    steps: Sequence[Assignment],
    width: int,
) -> tuple[NDArray[np.intp], Floats, float]:
    """Every partial configuration with every state of v: the best `width`, the best dropped."""
    size = layout.sizes[v]
    own = layout.unary[:size, v]
    grown = scores[:, None] + (own - own.max())[None]
    for step in steps:
        at = tuple([states[:, u] for u in step.earlier])
        grown = grown + (step.after[at] - np.asarray(step.before[at])[..., None]).reshape(-1, size)
    flat = grown.ravel()
    order = np.argsort(-flat, kind="stable")
    order = order[: np.count_nonzero(flat > -np.inf)]
    kept = order[:width]
    chosen = states[kept // size].copy()
    chosen[:, v] = kept % size
    return chosen, flat[kept], float(flat[order[width]]) if order.size > width else -np.inf
