"""Which estimator each draw gets, and why: the file's, or the best that its distribution allows.

A finite draw is summed exactly where that is cheap, one along a recurrence by the marginals of its
steps or over all its paths; a draw that is a differentiable function of its parameters, with
nothing but differentiable functions below it, is followed along its path; all others weigh their
scores, each sample against the mean of the others.
"""

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Any

from dpc.dsl.diagnostics import DpError
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Bool, IndexOf
from dpc.dsl.record import Record
from dpc.inference.planning.plan import plan_contraction

from ..data import bind_data
from ..exits import UsageError
from ..show.info import EstimatorPlan
from .costs import CostTerm, averages_weights
from .follow import Followed, Lagged, element_axes, group_of, is_chain, is_path
from .prepare import Prepared, prepare
from .refuse import grad_setting, moving_edges, obstacle, refusals, wrong
from .steps import is_simple, random_names

MOST_POINTS = 4096
LARGEST_TABLE = 2**20


class EstimatorChoice(Record):
    """`points` is how many values the draw has in every sample of what is above it."""

    name: str
    method: str
    options: tuple[tuple[str, object], ...]
    reason: str
    points: int
    given: bool = False
    exact: bool = False

    def __str__(self) -> str:
        """As it is written in a file."""
        options = ", ".join(f"{name}={value}" for name, value in self.options)
        return f"{self.method}({options})" if options else self.method

    def to_dict(self) -> dict[str, Any]:
        names = {"draw": self.name, "estimator": str(self)}
        return {**names, "reason": self.reason, "points": self.points}


def choose_methods(
    prepared: Prepared, sizes: Mapping[str, int], weighed: bool = False
) -> list[EstimatorChoice]:
    """One choice for each draw, parents first; where samples are weighed, every draw is sampled."""
    graph = prepared.graph
    problems = list(refusals(graph, prepared.losses, weighed))
    if problems:
        raise DpError(problems)
    chooser = _Chooser(prepared, sizes, weighed)
    return [chooser.choices[node.name] for node in graph.of_kind(Kind.DRAW)]


class _Chooser:
    def __init__(self, prepared: Prepared, sizes: Mapping[str, int], weighed: bool):
        self.graph = graph = prepared.graph
        self.terms = prepared.terms
        self.losses = prepared.losses
        self.sizes = sizes
        draws = graph.of_kind(Kind.DRAW)
        self.paths = frozenset(node.name for node in draws if is_path(node, graph))
        self.followed = Followed(graph, self.paths)
        self.choices: dict[str, EstimatorChoice] = {}
        self.weighed = weighed
        self.summed = set() if weighed else self._summed(draws)
        for node in reversed(draws):
            self.choices[node.name] = self._choose(node)

    def _choose(self, node: Node) -> EstimatorChoice:
        name, setting = node.name, grad_setting(node)
        if setting:
            points = (self._points(node) or 1) if setting.method == "enumerate" else 1
            said = "as the model says"
            exact = setting.method == "enumerate"
            return EstimatorChoice(name, setting.method, setting.options, said, points, True, exact)
        if name in self.summed:
            points = self._points(node) or 1
            why = self._why_summed(node, points)
            return EstimatorChoice(name, "enumerate", (), why, points, exact=True)
        blocked = "its draws are no differentiable function of parameters"
        if all(law.facts.reparametrised for law in node.laws):
            blocked = obstacle(name, self.losses)
        if not blocked:
            why = "reparametrised, and all below it is differentiable"
            return EstimatorChoice(name, "pathwise", (), why, 1)
        moving = moving_edges(node, self.graph)
        if moving:
            message = f"no gradient passes `{name}`: {blocked}, and {moving}"
            raise DpError([wrong(node, message, "write what jumps `with soft(...)`")])
        if support_of(node, self.sizes):
            blocked += f", and {self._unsummed(node)}"
        return EstimatorChoice(name, "rloo", (), blocked, 1)

    def _unsummed(self, node: Node) -> str:
        if self.weighed:
            return "the bound is one over samples"
        if node.name in self.paths:
            return "its paths are too many to sum"
        if is_simple(node, self.graph) and self._local(node) != set(range(self._plates(node))):
            return "its elements meet below it: their joint values are too many to sum"
        if is_simple(node, self.graph):
            return "its values are too many to sum"
        return "only draws of one statement, or alone in their recurrence, are summed"

    def _why_summed(self, node: Node, points: int) -> str:
        if node.name not in self.paths:
            return f"finite: the sum over {points} values is exact"
        group = group_of(node.name, self.graph)
        if group and group.axis in self._local(node):
            sum_ = f"the sum over {points} values of each step, by their marginals"
            return f"a finite chain: {sum_}, is exact"
        return f"a finite recurrence: the sum over its {points} paths is exact"

    # ---- sums

    def _points(self, node: Node) -> int | None:
        """How many joint values the elements have that are not summed side by side."""
        support = support_of(node, self.sizes)
        if support is None or not (is_simple(node, self.graph) or node.name in self.paths):
            return None
        local = self._local(node)
        shape = [size_of(axis, self.sizes) for axis in node.type.shape[: self._plates(node)]]
        together = prod(length for axis, length in enumerate(shape) if axis not in local)
        return support**together if together * support.bit_length() < 64 else 2**63

    def _links(self, node: Node) -> int:
        """How many pairs of values the neighbours along a recurrence have, all together."""
        support = support_of(node, self.sizes) or 1
        return support**2 * prod(size_of(axis, self.sizes) for axis in node.type.shape)

    def _plates(self, node: Node) -> int:
        return len(node.type.shape) if node.name in self.paths else element_axes(node, self.graph)

    def _local(self, node: Node) -> set[int]:
        """The axes along which everything below is element by element."""
        if node.name in self.paths and not is_chain(node, self.graph):
            return set()
        found = set(range(self._plates(node)))
        costs = (self.followed.follows(term.binders, [term.body]) for term in self.terms)
        for own in (*self.followed.known.values(), *costs):
            if node.name in own:
                found &= {a for a, place in own[node.name].items() if not isinstance(place, Lagged)}
        return found

    def _summed(self, draws: Sequence[Node]) -> set[str]:
        """The finite draws that are summed, as long as no table on the way gets too large."""
        found: dict[str, int] = {}
        for node in draws:
            setting, points = grad_setting(node), self._points(node)
            sampled = setting is not None and setting.method != "enumerate"
            if points is None or points > MOST_POINTS or sampled:
                continue
            sizes = [self._table(term, {**found, node.name: points}) for term in self.terms]
            if node.name in self.paths:
                sizes.append(self._links(node))
            if max(sizes, default=0) <= LARGEST_TABLE:
                found[node.name] = points
        return set(found)

    def _table(self, term: CostTerm, summed: Mapping[str, int]) -> int:
        """The largest table on the way to the mean of a cost."""
        reach = {name: self._reaching(name, summed) for name in self.followed.known}
        seen = {name for used in random_names(term.body, self.graph) for name in reach[used]}
        operands, waiting = [sorted(seen)], list(seen)
        while waiting:
            name = waiting.pop()
            parents = [parent for parent in self.graph[name].parents if parent in reach]
            above = {a for parent in parents for a in reach[parent]}
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
        """The summed draws that a node's value depends on, not looking beyond them."""
        if name in summed:
            return {name}
        group = group_of(name, self.graph)
        members = group.members if group else (name,)
        parents = {p for member in members for p in self.graph[member].parents} - {*members}
        known = parents & self.followed.known.keys()
        return {found for parent in known for found in self._reaching(parent, summed)}


def summed_paths(graph: Graph, choices: Sequence[EstimatorChoice]) -> frozenset[str]:
    """The draws along a recurrence that are summed."""
    return frozenset(
        one.name for one in choices if one.method == "enumerate" and is_path(graph[one.name], graph)
    )


def size_of(axis: object, sizes: Mapping[str, int]) -> int:
    size = getattr(axis, "size", None) or sizes.get(str(axis))
    if size is None:
        what = f"the size of `{axis}` is needed to choose estimators"
        raise UsageError(f"{what}: pass the bound data")
    return int(size)


def support_of(node: Node, sizes: Mapping[str, int]) -> int | None:
    """How many values one element can have."""
    if isinstance(node.type.domain, Bool):
        return 2
    if isinstance(node.type.domain, IndexOf):
        dim = node.type.domain.dim
        return dim.size if dim.size is not None else sizes.get(str(dim))
    return None


def plan_estimators(graph: Graph, sources: list[Any]) -> EstimatorPlan:
    prepared = prepare(graph)
    if not prepared.graph.of_kind(Kind.DRAW):
        return EstimatorPlan([])
    bound = bind_data(graph, *sources, partial=True)
    chosen = choose_methods(prepared, bound.sizes, averages_weights(prepared.bound))
    return EstimatorPlan(for_people(chosen, prepared.cuts))


def for_people(
    choices: Sequence[EstimatorChoice], cuts: Mapping[str, tuple[str, ...]]
) -> list[EstimatorChoice]:
    """The choices by the draws of the file: a split draw is its side and the noise within it."""
    by_name = {choice.name: choice for choice in choices}
    found = []
    for choice in choices:
        draw, _, part = choice.name.rpartition(".")
        if draw not in cuts or part not in ("side", "noise", "choice"):
            found.append(choice)
        elif part == "choice":
            how = "summed" if choice.method == "enumerate" else f"{choice.method}: {choice.reason}"
            why = f"`{cuts[draw][0]}` with Gumbel noise is a categorical draw: {how}"
            found.append(EstimatorChoice(draw, "split", (), why, choice.points, exact=choice.exact))
        elif part == "side":
            places = " and ".join(f"`{text}`" for text in dict.fromkeys(cuts[draw]))
            count = len(cuts[draw]) + 1
            how = "summed" if choice.method == "enumerate" else f"{choice.method}: {choice.reason}"
            inside = "; pathwise within each" if f"{draw}.noise" in by_name else ""
            why = f"split at {places}: {count} sides, {how}{inside}"
            exact = choice.method == "enumerate" and not inside
            found.append(EstimatorChoice(draw, "split", (), why, choice.points, exact=exact))
    return found
