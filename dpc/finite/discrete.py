"""A model with finite variables as a factor graph: what the inference engine takes.

Parameters, data and the values of continuous draws are given; the finite draws that are not given
become variables, observed ones too: an observation that is absent is a variable like the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dpc.dsl.graph.evaluate import Array, Evaluator, NeedsJax, Sizes
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Bool, Dim, IndexOf
from dpc.dsl.record import NOTHING, Record
from dpc.inference.factors.factor_graph import Factor, FactorGraph

from ..data import bind_data
from ..data.arrays import evaluate_default, is_plain
from ..exits import UsageError
from .ground import FiniteTerm, Ground, Tabulator, TermGroup, check_size, each_table
from .slots import NotTabular

if TYPE_CHECKING:
    from ..model.model import Model

LARGEST_TABLE = 2**27
"""Entries of one table of the model, before inference: a gigabyte."""

TablesByJax = Callable[[Graph, tuple[FiniteTerm, ...], Mapping[str, Node]], list[Array]]


class Discrete(Record):
    """`states` are the labels of every variable; `factors` speak of the same names."""

    states: dict[str, tuple[str, ...]]
    factors: FactorGraph
    directed: bool


class KnownArrays(Record):
    """What is known: arrays by node (None for one that is traced), sizes and labels by dim."""

    arrays: Mapping[str, Array | None]
    sizes: Mapping[str, int]
    labels: Mapping[str, tuple[str, ...]]


class Grounded(Record):
    """The finite part of a model for given sizes: which variables each table of a term is about.
    Variables are numbered in the order of `states`. Nothing in here depends on parameters. The last
    `asked` terms are no densities: they add up to a computed number that is asked about.
    """

    terms: tuple[FiniteTerm, ...]
    groups: tuple[tuple[TermGroup, ...], ...]
    finite: dict[str, Node]
    shapes: dict[str, tuple[int, ...]]
    states: dict[str, tuple[str, ...]]
    directed: bool
    asked: int = 0


def ground_model(graph: Graph, known: KnownArrays, asked: str | None = None) -> Grounded:
    """Only indices are evaluated: the data that index variables must be numbers."""
    relevant = _relevant(graph, frozenset(known.arrays))
    names = {n.name for n in finite_draws(graph)}
    for node in graph.of_kind(Kind.DRAW):
        if node.name in relevant - names and node.name not in known.arrays:
            what = f"`{node.name}` is not finite and not given"
            raise NotTabular(f"{what}: give it a value, sums are over finite variables")
    for dim in graph.dims:
        if dim.size is None and dim.name not in known.sizes:
            raise NotTabular(f"the size of `{dim.name}` is not known: give data, or its size")
    finite = tuple(n for n in finite_draws(graph) if n.name not in known.arrays)
    tabulator = Tabulator(graph, finite, known.sizes)
    evaluator = _evaluator(graph, known)
    densities = tuple(tabulator.terms(relevant))
    terms = (*densities, *(tabulator.values(graph[asked]) if asked else ()))
    for term in terms:
        check_size(term, evaluator, LARGEST_TABLE)
    ground = Ground(tabulator.finite, evaluator)
    groups = tuple(tuple(ground.groups(term)) if term.slots else () for term in terms)
    states: dict[str, tuple[str, ...]] = {}
    for node in finite:
        own = element_names(node, ground.shapes[node.name], known.labels)
        states |= dict.fromkeys(own, states_of(node, known))
    directed = not any(n.kind is Kind.FACTOR and n.name in relevant for n in graph.nodes)
    asked_terms = len(terms) - len(densities)
    return Grounded(terms, groups, tabulator.finite, ground.shapes, states, directed, asked_terms)


def discrete_model(graph: Graph, known: KnownArrays, by_jax: TablesByJax) -> Discrete:
    grounded, evaluator = ground_model(graph, known), _evaluator(graph, known)
    # By NumPy where that is enough; the others together by one compiled program.
    by_numpy: list[Array | None] = []
    for term in grounded.terms:
        try:
            by_numpy.append(term.table(evaluator))
        except NeedsJax:
            by_numpy.append(None)
    pairs = zip(grounded.terms, by_numpy, strict=True)
    left = tuple(term for term, table in pairs if table is None)
    rest = iter(by_jax(graph, left, grounded.finite) if left else ())
    tables = [next(rest) if table is None else table for table in by_numpy]
    sizes: dict[Any, int] = {name: len(labels) for name, labels in grounded.states.items()}
    factors = FactorGraph(sizes, tuple(_factors(grounded, tables)))
    return Discrete(grounded.states, factors, grounded.directed)


def _evaluator(graph: Graph, known: KnownArrays) -> Evaluator:
    functions = {function.name: function for function in graph.functions}
    return Evaluator(known.arrays, Sizes(known.sizes), functions)


def _relevant(graph: Graph, known: frozenset[str]) -> frozenset[str]:
    """Draws and factors, but for open continuous draws that nothing depends on."""
    kept = {n.name for n in graph.of_kind(Kind.DRAW, Kind.FACTOR)}
    finite = {n.name for n in finite_draws(graph)}
    for node in reversed(graph.nodes):
        is_open = node.kind is Kind.DRAW and node.name not in known | finite
        if is_open and not _used(node.name, graph, kept):
            kept.discard(node.name)
    return frozenset(kept)


def _used(name: str, graph: Graph, kept: set[str]) -> bool:
    """Whether a kept node needs this one, directly or through computed nodes."""
    reached, before = {name}, 0
    while before < len(reached):
        before = len(reached)
        for node in graph.nodes:
            if node.name not in reached and reached & set(node.parents):
                if node.name in kept:
                    return True
                reached |= {node.name} if node.kind is Kind.FUNCTION else set()
    return False


def element_names(
    node: Node, shape: tuple[int, ...], labels: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """`z[3]`, or `level[north]` where the dim has labels: as the file would write it."""
    if not shape:
        yield node.name
        return
    places = []
    for axis, size in zip(node.type.shape, shape, strict=True):
        known = (axis.labels or labels.get(axis.name, ())) if isinstance(axis, Dim) else ()
        places.append(known or [str(place) for place in range(size)])
    yield from (f"{node.name}[{', '.join(place)}]" for place in product(*places))


def states_of(node: Node, known: KnownArrays) -> tuple[str, ...]:
    domain = node.type.domain
    if isinstance(domain, Bool):
        return ("false", "true")
    if isinstance(domain, IndexOf):
        dim = domain.dim
        labels = (dim.labels or known.labels.get(dim.name, ())) if isinstance(dim, Dim) else ()
        return labels or tuple(map(str, range(Sizes(known.sizes).of(dim))))
    low, high = node.type.bounds
    return tuple(str(value) for value in range(int(low), int(high) + 1))


def _factors(grounded: Grounded, tables: list[Array]) -> list[Factor]:
    names = list(grounded.states)
    factors = []
    constant = 0.0
    for term, groups, table in zip(grounded.terms, grounded.groups, tables, strict=True):
        if not term.slots:
            constant += float(np.sum(table))
        for group in groups:
            stacked = each_table(group, np.asarray(table), len(term.binders))
            for scope, values in zip(group.scopes.tolist(), stacked, strict=True):
                variables = tuple(names[number] for number in scope)
                child = None if term.child is None else variables[group.diagonal[term.child]]
                factors.append(Factor(variables, values, child))
    if constant:
        factors.append(Factor((), np.asarray(constant)))
    return factors


Values = Mapping[str, Any]


class Tabulated(Record):
    """`graph` and `known` are there for .dp files: what can be asked beyond variables."""

    discrete: Discrete
    graph: Graph | None = None
    known: KnownArrays | None = None


def tabulate(
    model: Model, data: Any = (), params: Values = NOTHING, values: Values = NOTHING
) -> Tabulated:
    """The tables of a model, given data, parameters and the values of continuous draws."""
    if model.network is not None:
        if data or params or values:
            what = f"{model.network.name} has all its numbers in it"
            raise UsageError(f"{what}: `data=` and `params=` are for .dp models")
        states = {variable.name: variable.states for variable in model.network.variables}
        factors, directed = model.network.factor_graph(), model.network.is_bayesian
        return Tabulated(Discrete(states, factors, directed))
    # Data, parameters and whatever else was given, as arrays.
    bound = bind_data(model.graph, *as_sources(data), partial=True)
    arrays: dict[str, Any] = {
        **bound.arrays,
        **_parameters(model.graph, params, bound),
        **{name: np.asarray(value) for name, value in values.items()},
    }
    known = KnownArrays(arrays, bound.sizes, bound.labels)

    def by_jax(*question: Any) -> Any:
        """Tables that NumPy alone does not evaluate are compiled, in double precision."""
        import jax

        from .finite import tables_once

        with jax.enable_x64(True):
            return tables_once(known.arrays, known.sizes, model.externs)(*question)

    return Tabulated(discrete_model(model.graph, known, by_jax), model.graph, known)


def as_sources(data: Any) -> list[Any]:
    """One source of data, several in a list or tuple, or none."""
    if data is None:
        return []
    return list(data) if isinstance(data, list | tuple) else [data]


def _parameters(graph: Graph, given: Values, bound: Any) -> dict[str, Any]:
    """What was given, or the file; a question is never answered with numbers that nobody wrote."""
    parameters = {node.name: node for node in graph.of_kind(Kind.PARAMETER)}
    for name in given:
        if name not in parameters:
            raise UsageError(f"the model has no parameter `{name}`")
    values: dict[str, Any] = {}
    for name, node in parameters.items():
        sizes = {str(axis): bound.sizes.get(str(axis), axis.size) for axis in node.type.shape}
        if name in given:
            shape = tuple(sizes[str(axis)] for axis in node.type.shape)
            values[name] = np.asarray(given[name], float)
            if values[name].shape != shape:
                both = f"{shape}, but `params=` gives {values[name].shape}"
                raise UsageError(f"`{name}` has shape {both}")
        elif node.default is not None and is_plain(node.default):
            values[name] = evaluate_default(node, sizes)
        else:
            what = f"the parameter `{name}` has no value in the file"
            raise UsageError(f"{what}: give it with `params={name}`")
    return values
