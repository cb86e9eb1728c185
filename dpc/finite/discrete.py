"""A model with finite variables as a factor graph: what the inference engine takes.

Parameters, data and the values of continuous draws are given; the finite draws that are not given
become variables, observed ones too: an observation that is absent is a variable like the others.
"""

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dpc.dsl.graph.evaluate import Array, Evaluator, NeedsJax, Sizes
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Bool, Dim, IndexOf
from dpc.dsl.record import NOTHING, Record
from dpc.inference.factors.factor_graph import Factor, FactorGraph
from dpc.inference.queries import Term

from ..data import BoundData, bind_data
from ..data.arrays import evaluate_default, is_plain
from ..exits import UsageError
from ..model.model import Model
from ..model.values import ValueReader
from ..show.answer import entry_names
from .evidence import FiniteVariable, Variables, variable_of
from .ground import FiniteTerm, Tabulator, TermGroup, tables_of
from .slots import NotTabular

LARGEST_TABLE = 2**27
"""Entries of one table of the model, before inference: a gigabyte."""


class Discrete(Record):
    """`states` are the labels of every variable; `factors` speak of the same names. The tables of
    `asked` add up to a computed number that is asked about.
    """

    states: dict[str, tuple[str, ...]]
    factors: FactorGraph
    directed: bool
    asked: tuple[Term, ...] = ()
    nodes: tuple[FiniteVariable, ...] = ()
    """Variables with indices as the file has them; none of a network."""

    @cached_property
    def variables(self) -> Variables:
        alone = (FiniteVariable(name, states) for name, states in self.states.items())
        return Variables(self.nodes or alone, self.states)


class Grounded(Record):
    """The finite part of a model for given sizes: which variables each table of a term is about.

    Variables are numbered in the order of `states`. Nothing in here depends on parameters. The last
    `asked` terms add up to a computed number: no densities.
    """

    terms: tuple[FiniteTerm, ...]
    groups: tuple[tuple[TermGroup, ...], ...]
    finite: dict[str, Node]
    nodes: tuple[FiniteVariable, ...]
    states: dict[str, tuple[str, ...]]
    directed: bool
    asked: int = 0

    @cached_property
    def variables(self) -> Variables:
        return Variables(self.nodes, self.states)


def ground_model(graph: Graph, known: BoundData, asked: str | None = None) -> Grounded:
    """Only indices are evaluated: the data that index variables must be numbers. An array that is
    traced is known as None.
    """
    relevant = _relevant(graph, frozenset(known.arrays))
    draws = {node.name for node in graph.of_kind(Kind.DRAW)}
    needed = relevant | (graph.ancestors([asked], draws) if asked else set())
    names = {n.name for n in finite_draws(graph)}
    for node in graph.of_kind(Kind.DRAW):
        if node.name in needed - names and node.name not in known.arrays:
            what = f"`{node.name}` is not finite and not given"
            raise NotTabular(f"{what}: give it a value, sums are over finite variables")
    for dim in graph.dims:
        if dim.size is None and dim.name not in known.sizes:
            raise NotTabular(f"the size of `{dim.name}` is not known: give data, or its size")
    finite = tuple(n for n in finite_draws(graph) if n.name not in known.arrays)
    tabulator = Tabulator(graph, finite, _evaluator(graph, known))
    densities = tuple(tabulator.terms(relevant))
    terms = (*densities, *(tabulator.values(graph[asked]) if asked else ()))
    for term in terms:
        _verify_size(term, tabulator.sizes)
    groups = tuple(tuple(tabulator.groups(term)) if term.slots else () for term in terms)
    states: dict[str, tuple[str, ...]] = {}
    nodes = []
    for node in finite:
        shape, own_states = tabulator.shapes[node.name], states_of(node, known)
        nodes.append(variable_of(node, own_states, shape))
        names_of_entries = entry_names(node.name, node.type, shape, known.labels)
        states |= dict.fromkeys(names_of_entries, own_states)
    directed = not any(n.kind is Kind.FACTOR and n.name in relevant for n in graph.nodes)
    count = len(terms) - len(densities)
    return Grounded(terms, groups, tabulator.finite, tuple(nodes), states, directed, count)


def _verify_size(term: FiniteTerm, sizes: Sizes) -> None:
    """A table over too many variables at once is refused before it is made."""
    entries = prod(len(sizes.places(bind)) for bind in term.axes)
    if entries > LARGEST_TABLE:
        ties = f"ties {len(term.slots)} finite variables in one table of {entries:,} entries"
        raise NotTabular(f"`{term.name}` {ties}: write it as a sum of factors over fewer variables")


def discrete_model(
    graph: Graph,
    known: BoundData,
    externs: Mapping[str, Any] = NOTHING,
    asked: str | None = None,
) -> Discrete:
    """By NumPy where that is enough; other tables together by one compiled program."""
    grounded, evaluator = ground_model(graph, known, asked), _evaluator(graph, known)
    by_numpy: list[Array | None] = []
    for term in grounded.terms:
        try:
            by_numpy.append(term.table(evaluator))
        except NeedsJax:
            by_numpy.append(None)
    pairs = zip(grounded.terms, by_numpy, strict=True)
    left = tuple(term for term, table in pairs if table is None)
    rest = iter(_by_jax(graph, left, grounded, known, externs) if left else ())
    tables = [next(rest) if table is None else table for table in by_numpy]
    sizes: dict[Any, int] = {name: len(labels) for name, labels in grounded.states.items()}
    densities = len(tables) - grounded.asked
    factors = FactorGraph(sizes, tuple(_factors(grounded, tables, slice(densities))))
    values = _factors(grounded, tables, slice(densities, None))
    terms = tuple(Term(factor.variables, factor.log_values) for factor in values)
    return Discrete(grounded.states, factors, grounded.directed, terms, grounded.nodes)


def _by_jax(
    graph: Graph,
    terms: tuple[FiniteTerm, ...],
    grounded: Grounded,
    known: BoundData,
    externs: Mapping[str, Any],
) -> list[Array]:
    """In double precision."""
    import jax

    from .finite import load_tables

    with jax.enable_x64(True):
        arrays = {name: jax.numpy.asarray(array) for name, array in known.arrays.items()}
        tables = load_tables(graph, terms, grounded.finite, externs)
        return [np.asarray(table) for table in tables(arrays, arrays, {**known.sizes, **arrays})]


def _evaluator(graph: Graph, known: BoundData) -> Evaluator:
    functions = {function.name: function for function in graph.functions}
    return Evaluator(known.arrays, Sizes(known.sizes), functions)


def _relevant(graph: Graph, known: frozenset[str]) -> frozenset[str]:
    """Draws and factors, but for open continuous draws that nothing depends on."""
    finite = {n.name for n in finite_draws(graph)}
    nodes = graph.of_kind(Kind.DRAW, Kind.FACTOR)
    needed = [n.name for n in nodes if n.kind is Kind.FACTOR or n.name in known | finite]
    return frozenset(graph.ancestors(needed) & {n.name for n in nodes})


def states_of(node: Node, known: BoundData) -> tuple[str, ...]:
    domain = node.type.domain
    if isinstance(domain, Bool):
        return ("false", "true")
    if isinstance(domain, IndexOf):
        dim = domain.dim
        labels = (dim.labels or known.labels.get(dim.name, ())) if isinstance(dim, Dim) else ()
        return labels or tuple(map(str, range(Sizes(known.sizes).of(dim))))
    low, high = node.type.bounds
    return tuple(str(value) for value in range(int(low), int(high) + 1))


def _factors(grounded: Grounded, tables: list[Array], part: slice) -> list[Factor]:
    names = list(grounded.states)
    factors = []
    constant = 0.0
    terms = zip(grounded.terms[part], grounded.groups[part], tables[part], strict=True)
    for term, groups, table in terms:
        if not term.slots:
            constant += float(np.sum(table))
        for group in groups:
            stacked = tables_of(group, np.asarray(table), len(term.binders))
            stacked = np.broadcast_to(stacked, (len(group.scopes), *stacked.shape[1:]))
            for scope, values in zip(group.scopes.tolist(), stacked, strict=True):
                variables = tuple(names[number] for number in scope)
                child = None if term.child is None else variables[group.diagonal[term.child]]
                factors.append(Factor(variables, values, child))
    if constant:
        factors.append(Factor((), np.asarray(constant)))
    return factors


Values = Mapping[str, Any]


def tabulate(
    model: Model,
    data: Any = (),
    params: Values = NOTHING,
    values: Values = NOTHING,
    asked: str | None = None,
) -> Discrete:
    """The tables of a model, given data, parameters and the values of continuous draws."""
    if model.network is not None:
        if data or params or values:
            what = f"{model.network.name} has all its numbers in it"
            raise UsageError(f"{what}: `data=` and `params=` are for .dp models")
        states = {variable.name: variable.states for variable in model.network.variables}
        factors, directed = model.network.factor_graph(), model.network.is_bayesian
        return Discrete(states, factors, directed)
    bound = bind_data(model.graph, *as_sources(data), partial=True)
    reader = ValueReader(model.graph, bound.sizes, wide=True)
    reader.labels |= bound.labels
    reader.arrays = dict(bound.arrays)  # what the data have, no value may say again
    arrays: dict[str, Any] = {
        **bound.arrays,
        **_parameters(model.graph, reader, params, bound),
        **reader.draws(values, whole=False),
    }
    return discrete_model(model.graph, bound.replace(arrays=arrays), model.externs, asked)


def as_sources(data: Any) -> list[Any]:
    """One source of data, several in a list or tuple, or none."""
    if data is None:
        return []
    return list(data) if isinstance(data, list | tuple) else [data]


def _parameters(
    graph: Graph, reader: ValueReader, given: Values, bound: BoundData
) -> dict[str, Any]:
    """What was given, or the file; a question is never answered with numbers that nobody wrote."""
    found = reader.parameters(given, whole=False)
    for node in graph.parameters:
        if node.name in found:
            continue
        if node.default is None or not is_plain(node.default):
            what = f"the parameter `{node.name}` has no value in the file"
            raise UsageError(f"{what}: give it with `params={node.name}`")
        sizes = {str(axis): bound.sizes.get(str(axis), axis.size) for axis in node.type.shape}
        known = {name: size for name, size in sizes.items() if size is not None}
        found[node.name] = evaluate_default(node, known)
    return found
