"""Which estimator each draw gets, and why: the one of the file, or the best that its law and what is below it allow.

A finite draw is summed exactly where that is cheap; a draw that is a differentiable function of its parameters, with
nothing but differentiable functions below it, is followed along its path; all others weigh their scores, each sample
against the mean of the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod

from dpc.inference.planning.plan import plan_contraction

from .. import core as c
from ..check.typed import Setting
from ..diagnostics import DpError
from ..graph import Graph, Kind, Node
from ..record import Record
from ..signatures.distributions import DISTRIBUTIONS
from ..signatures.rows import Distribution
from ..types import Bool, IndexOf
from .costs import CostTerm
from .follow import Followed, Past, element_axes
from .refuse import PATHS, grad_setting, moving_edges, refusals, wrong
from .smoothness import obstacle
from .steps import is_simple, random_names

MOST_POINTS = 4096
LARGEST_TABLE = 2**20


class Choice(Record):
    """`points` is how many values the draw has in every sample of what is above it."""

    name: str
    method: str
    options: tuple[tuple[str, object], ...]
    reason: str
    points: int
    given: bool = False

    def __str__(self) -> str:
        """As it is written in a file."""
        options = ", ".join(f"{name}={value}" for name, value in self.options)
        return f"{self.method}({options})" if options else self.method


def choose_methods(
    graph: Graph, terms: Sequence[CostTerm], sizes: Mapping[str, int], weighed: bool = False
) -> list[Choice]:
    """One choice for each draw, parents first; where samples are weighed, every draw is sampled."""
    problems = list(refusals(graph, terms, weighed))
    if problems:
        raise DpError(problems)
    chooser = _Chooser(graph, terms, sizes, weighed)
    return [chooser.choices[node.name] for node in graph.of_kind(Kind.DRAW)]


class _Chooser:
    def __init__(self, graph: Graph, terms: Sequence[CostTerm], sizes: Mapping[str, int], weighed: bool):
        self.graph = graph
        self.terms = terms
        self.sizes = sizes
        self.followed = Followed(graph)
        self.choices: dict[str, Choice] = {}
        draws = graph.of_kind(Kind.DRAW)
        self.weighed = weighed
        self.summed = set() if weighed else self._summed(draws)
        for node in reversed(draws):
            self.choices[node.name] = self._choose(node)

    def _choose(self, node: Node) -> Choice:
        setting = grad_setting(node)
        if setting:
            return self._given(node, setting)
        if node.name in self.summed:
            points = self._points(node)
            return Choice(node.name, "enumerate", (), f"finite: the sum over {points} values is exact", points or 1)
        reparametrised = all(_row(law).reparametrised for law in node.laws)
        blocked = self._obstacle(node) if reparametrised else "its draws are no differentiable function of parameters"
        if not blocked:
            return Choice(node.name, "pathwise", (), "reparametrised, and all below it is differentiable", 1)
        moving = moving_edges(node, self.graph)
        if moving:
            message = f"no gradient passes `{node.name}`: {blocked}, and {moving}"
            raise DpError([wrong(node, message, "write what jumps `with soft(...)`")])
        why = blocked if not _support(node, self.sizes) else f"{blocked}, and {self._unsummed(node)}"
        return Choice(node.name, "rloo", (), why, 1)

    def _given(self, node: Node, setting: Setting) -> Choice:
        points = (self._points(node) or 1) if setting.method == "enumerate" else 1
        return Choice(node.name, setting.method, setting.options, "as the model says", points, given=True)

    def _obstacle(self, node: Node) -> str:
        """Draws further down have made their choices: derivatives pass those that follow their path."""
        passing = frozenset(name for name, choice in self.choices.items() if choice.method in PATHS)
        return obstacle(node.name, self.graph, self.terms, passing)

    def _unsummed(self, node: Node) -> str:
        if self.weighed:
            return "the bound is one over samples"
        together = is_simple(node, self.graph)
        return "its values are too many to sum" if together else "only draws of one statement are summed"

    # ---- sums

    def _points(self, node: Node) -> int | None:
        """How many joint values the elements have that do not go through the support side by side."""
        support = _support(node, self.sizes)
        if support is None or not is_simple(node, self.graph):
            return None
        local = self._local(node)
        shape = [self._size(axis) for axis in node.type.shape[: element_axes(node, self.graph)]]
        together = prod(length for axis, length in enumerate(shape) if axis not in local)
        return support**together if together * support.bit_length() < 64 else 2**63

    def _size(self, axis: object) -> int:
        size = getattr(axis, "size", None) or self.sizes.get(str(axis))
        if size is None:
            raise ValueError(f"the size of `{axis}` is needed to choose estimators: pass the bound data")
        return int(size)

    def _local(self, node: Node) -> set[int]:
        """The axes along which everything below is element by element."""
        found = set(range(element_axes(node, self.graph)))
        below = [own for own in self.followed.known.values() if node.name in own]
        below += [own for own in map(self._follows, self.terms) if node.name in own]
        for own in below:
            found &= {axis for axis, place in own[node.name].items() if not isinstance(place, Past)}
        return found

    def _follows(self, term: CostTerm) -> dict[str, dict[int, int]]:
        return self.followed.follows(term.binders, [term.body])

    def _summed(self, draws: Sequence[Node]) -> set[str]:
        """The finite draws that are summed: one after the other, as long as no table on the way gets too large."""
        found: dict[str, int] = {}
        for node in draws:
            setting = grad_setting(node)
            points = self._points(node)
            if points is None or (setting and setting.method != "enumerate") or points > MOST_POINTS:
                continue
            if all(self._table(term, {**found, node.name: points}) <= LARGEST_TABLE for term in self.terms):
                found[node.name] = points
        return set(found)

    def _table(self, term: CostTerm, summed: Mapping[str, int]) -> int:
        """The largest table on the way to the mean of a cost."""
        reach = {name: self._reaching(name, summed) for name in self.followed.known}
        seen = {name for used in random_names(term.body, self.graph) for name in reach[used]}
        operands, waiting = [sorted(seen)], list(seen)
        while waiting:
            name = waiting.pop()
            above = {a for parent in self.graph[name].parents if parent in reach for a in reach[parent]}
            operands.append(sorted({name} | above))
            waiting += [a for a in above if a not in seen]
            seen |= above
        if not seen:
            return 1
        sizes = [prod(summed[name] for name in names) for names in operands]
        if max(sizes) > LARGEST_TABLE:
            return max(sizes)
        scopes = [tuple(names) for names in operands if names]
        lengths: dict[Hashable, int] = {name: summed[name] for name in seen}
        return max(plan_contraction(lengths, scopes).largest_clique[1], *sizes)

    def _reaching(self, name: str, summed: Mapping[str, int]) -> set[str]:
        """The summed draws whose values the value of a node depends on; beyond a summed draw nothing is looked for."""
        if name in summed:
            return {name}
        parents = [p for p in self.graph[name].parents if p in self.followed.known and p != name]
        group = next((g for g in self.graph.recurrences if name in g.members), None)
        if group:
            parents = [p for m in group.members for p in self.graph[m].parents if p not in group.members]
            parents = [p for p in parents if p in self.followed.known]
        return {found for parent in dict.fromkeys(parents) for found in self._reaching(parent, summed)}


def _support(node: Node, sizes: Mapping[str, int]) -> int | None:
    """How many values one element can have."""
    if isinstance(node.type.domain, Bool):
        return 2
    if isinstance(node.type.domain, IndexOf):
        dim = node.type.domain.dim
        return dim.size if dim.size is not None else sizes.get(str(dim))
    return None


def _row(law: c.Law) -> Distribution:
    return next(row for row in DISTRIBUTIONS if row.text == law.row)
