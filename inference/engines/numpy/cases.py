"""Many cases at once: a table of evidence with one row per case, answered in one pass.

The axis of cases is a kept variable that multiplies no structure: a table with observed variables
is read at every row, a node has the axis if something observed lies below it, a gradient if
anywhere else. Rows that observe the same variables share a plan; chunks stay in the cache.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ImpossibleEvidenceError, InferenceError
from ...factors import factor_graph
from ...factors.factor_graph import Array, Evidence, Factor, FactorGraph, Floats, Name
from ...planning.plan import Memory, Plan, plan_contraction, verify_memory
from .passes import BoundGraph, bind, collect, distribute, node_marginal
from .program import program_of, smallest_holders

Ints = NDArray[np.intp]
MISSING = -1
CHUNK_ENTRIES = 1 << 20


class Case:
    """The name of the axis of cases: no variable of a graph is equal to it."""

    def __repr__(self) -> str:
        return "case"


CASE = Case()


class CaseAnswers(NamedTuple):
    """One row per case: the log-evidence, and the marginals of each variable."""

    log_evidence: Floats
    marginals: dict[Name, Floats]


@dataclass(frozen=True, eq=False)
class BoundCases(BoundGraph):
    """The leaves of a chunk of cases: with a leading axis where one of the `states` is read."""

    states: Mapping[Name, Ints]

    def read(self, factor: Factor, values: Floats) -> Floats:
        """values at the states of each case: cases first, then the free variables."""
        observed = [v for v in factor.variables if v in self.states]
        if not observed:
            return values[self.index(factor.variables)]
        fixed = [v for v in factor.variables if v in self.fixed]
        free = [v for v in factor.variables if v not in self.fixed]
        turned = values.transpose([factor.variables.index(v) for v in (*fixed, *free)])
        rows: Floats = turned[tuple([self.states.get(v, 0) for v in fixed])]
        return rows

    def real_leaves(self) -> tuple[list[Floats], float, list[float]]:
        tables = self.tables
        leaves = [self.read(f, t.values) for f, t in zip(self.factors, tables, strict=True)]
        return leaves, sum([t.log_scale for t in tables]), [t.low for t in tables]

    def log_leaves(self) -> list[Floats]:
        return [self.read(f, np.asarray(f.log_values, dtype=np.float64)) for f in self.factors]


def infer_cases(
    graph: FactorGraph,
    given: Mapping[Name, Array],
    variables: Collection[Name] | None = None,
    *,
    memory: Memory = None,
) -> CaseAnswers:
    """log P(given) and P(v | given) for every row: `given` maps a variable to its states, one
    integer per case (-1 where it is not observed), or to likelihood vectors, one row per case.
    """
    factor_graph.verify_known(graph.sizes, [*given, *(variables or ())])
    columns = {v: check_column(v, np.asarray(c), graph.sizes[v]) for v, c in given.items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise InferenceError(
            f"a table of cases needs columns of one length, these have {sorted(lengths)}"
        )
    count = lengths.pop()
    asked = list(graph.sizes if variables is None else variables)
    answers = CaseAnswers(np.zeros(count), {v: np.zeros((count, graph.sizes[v])) for v in asked})
    for rows, observed in patterns(columns, count):
        answer_pattern(graph, {v: columns[v] for v in observed}, rows, variables, memory, answers)
    return answers


def check_column(name: Name, column: Array, size: int) -> Array:
    """States in range or missing; likelihoods not negative and not all zero."""
    if column.ndim == 1 and np.issubdtype(column.dtype, np.integer):
        wrong = (column < MISSING) | (column >= size)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InferenceError(
                f"case {row}: {name!r} = {column[row]}, but its states are 0 to {size - 1}"
            )
        return column.astype(np.intp)
    if column.ndim != 2 or column.shape[1] != size:
        raise InferenceError(
            f"cases of {name!r} are integers, or likelihoods of shape (cases, {size})"
        )
    if not (np.isfinite(column).all() and (column >= 0).all()):
        raise InferenceError(f"the likelihoods of {name!r} must be finite and not negative")
    return column.astype(np.float64)


def patterns(columns: Mapping[Name, Array], count: int) -> Iterator[tuple[Ints, list[Name]]]:
    """Rows grouped by which variables they observe."""
    seen = [c != MISSING if c.ndim == 1 else np.ones(count, bool) for c in columns.values()]
    kinds, which = np.unique(np.stack(seen, axis=1), axis=0, return_inverse=True)
    for i, kind in enumerate(kinds):
        observed = [v for v, here in zip(columns, kind, strict=True) if here]
        yield np.flatnonzero(which.ravel() == i), observed


def answer_pattern(
    graph: FactorGraph,
    columns: Mapping[Name, Array],
    rows: Ints,
    variables: Collection[Name] | None,
    memory: Memory,
    answers: CaseAnswers,
) -> None:
    hard = {v: 0 for v, column in columns.items() if column.ndim == 1}
    soft = {v: np.ones(graph.sizes[v]) for v, column in columns.items() if column.ndim == 2}
    one = bind(graph, Evidence(hard, soft), variables)
    scopes: list[tuple[Name, ...]] = []  # with the axis of cases where evidence is read
    for i, (factor, scope) in enumerate(zip(one.factors, one.scopes, strict=True)):
        own = factor.variables
        is_likelihood = i >= len(one.positions) and own[0] in soft
        read = is_likelihood or not hard.keys().isdisjoint(own)
        scopes.append((CASE, *scope) if read else scope)
    scopes.append((CASE,))
    plan = plan_contraction({**graph.sizes, CASE: 1}, scopes, keep=[CASE], along=CASE)
    chunk = max(1, CHUNK_ENTRIES // sum(plan.tree.entries))
    for start in range(0, len(rows), chunk):
        here = rows[start : start + chunk]
        if plan.sizes[-1] != len(here):
            sizes = {**graph.sizes, CASE: len(here)}
            plan = plan_contraction(sizes, scopes, keep=[CASE], along=CASE)
        verify_memory(plan, memory)
        states = {v: columns[v][here] for v in hard}
        extras = [Factor((CASE,), np.zeros(len(here)))]
        for factor in reversed(one.extras):
            (v,) = factor.variables
            if v in soft:  # a likelihood has a row for each case
                factor = factor_graph.factor_of_values((CASE, v), columns[v][here])
            extras.insert(0, factor)
        evidence = f"all of the cases {here[0]} to {here[-1]}"
        every = graph, evidence, one.fixed, one.positions, tuple(extras), scopes
        answer_chunk(plan, BoundCases(*every, states), here, answers)


def answer_chunk(plan: Plan, bound: BoundCases, rows: Ints, answers: CaseAnswers) -> None:
    upward = collect(plan, bound)
    root = upward.values[plan.tree.roots[0]]
    with np.errstate(divide="ignore"):
        logs = root if upward.logs else np.log(root) + upward.log_scale
    answers.log_evidence[rows] = logs
    dead = np.isneginf(answers.log_evidence[rows])
    if dead.any():
        raise ImpossibleEvidenceError(
            f"the evidence of case {rows[np.argmax(dead)]} is impossible: probability zero"
        )
    position = {name: i for i, name in enumerate(plan.names)}
    free = sum({1 << position[v] for v in answers.marginals if v in position})
    holders = smallest_holders(plan.tree, free)
    upward, downward = distribute(plan, bound, upward, list(holders.values()))
    program = program_of(plan)
    for rank, node in holders.items():
        present = program.subscripts[node] + downward.descent.varies[node]
        case = program.kept if program.kept in present else ""
        marginal = node_marginal(plan, upward, downward, node, program.letters[rank], case)
        answers.marginals[plan.names[rank]][rows] = marginal
    for v in answers.marginals.keys() & bound.fixed.keys():
        answers.marginals[v][rows, bound.states.get(v, 0)] = 1.0
