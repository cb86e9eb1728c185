"""The finite variables of a model, compiled: tables by the program, answers by the engine.

Structure is found once for given sizes and for the data that variables are indexed by; parameters,
other data and evidence can be traced, and new ones never compile anything again. All answers but
`kbest` are pure functions that jit, vmap and grad accept.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.evaluate import NeedsJax
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.parts import compute_only
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import REAL, Fixed, Type
from dpc.dsl.lower.run import run_graph
from dpc.dsl.record import Record
from dpc.inference.engines.choose import choose_engine
from dpc.inference.engines.engine import Engine
from dpc.inference.engines.path.layout import Domain
from dpc.inference.engines.tree.structure import FactorGroup, Structure
from dpc.inference.queries import infer_kbest

from ..data import BoundData
from ..exits import UsageError
from ..model.check import random_ancestors
from ..model.functions import split_data
from .answers import WrongEvidence, check_given, state_of
from .discrete import Discrete, Grounded, discrete_model, ground_model
from .ground import FiniteTerm, tables_of
from .slots import TRUTH, value_dim


def table_name(number: int) -> str:
    """No name of a model has a newline in it."""
    return f"table\n{number}"


def _table_node(number: int, term: FiniteTerm, graph: Graph) -> Node:
    """A table that serves all places of its term's binders is computed once, without their axes."""
    origin, body = graph[term.name], term.body
    if isinstance(body, c.Law):
        assert term.value is not None
        body = c.LogDensity(body.span, REAL, body, term.value)
    if term.where is not None and not term.is_shared:
        body = c.If(body.span, REAL, term.where, body, c.Const(body.span, REAL, 0.0))
    axes = tuple(slot.bind for slot in term.slots) if term.is_shared else term.axes
    type_ = Type(REAL.domain, tuple(Fixed(None) for _ in axes))
    pieces, place = (Piece(origin.span, axes, None, body),), (origin.span, origin.source)
    return Node(table_name(number), Kind.FUNCTION, type_, *place, pieces, nodes_read(body))


Tables = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], list[Any]]


def load_tables(
    graph: Graph,
    terms: tuple[FiniteTerm, ...],
    finite: Mapping[str, Node],
    externs: Mapping[str, Any],
) -> Tables:
    """One array for every term, traceable; axes of binders that a table ignores have length one."""
    nodes = [_table_node(number, term, graph) for number, term in enumerate(terms)]
    dims = [value_dim(node.type, name) for name, node in finite.items()]
    evaluate = run_graph(compute_only(graph, nodes, [TRUTH, *dims]), externs)["evaluate"]

    def tables(
        params: Mapping[str, Any], values: Mapping[str, Any], data: Mapping[str, Any]
    ) -> list[Any]:
        found = evaluate(params, values, data)
        whole = [found[table_name(number)] for number in range(len(terms))]
        for number, term in enumerate(terms):
            if term.is_shared:
                shape = (1,) * len(term.binders) + whole[number].shape
                whole[number] = whole[number].reshape(shape)
        return whole

    return tables


class Finite(Record):
    """The finite part of a model. `indices` are data that decide what a table is about."""

    grounded: Grounded
    layouts: list[np.ndarray[Any, Any]]
    structure: Structure
    tables: Tables
    indices: dict[str, bytes]
    domain: Domain

    @cached_property
    def engine(self) -> Engine:
        """Chosen when first asked for: a structure too wide for it can still be scored."""
        return choose_engine(self.structure, self.layouts, domain=self.domain)

    @cached_property
    def answer(self) -> Callable[..., Any]:
        """The answer of the engine; compiled once for every question and shape."""

        def run(
            question: str, params: Any, values: Any, arrays: Any, evidence: Any, **options: Any
        ) -> Any:
            data = {**arrays, **dict(options.pop("sizes"))}
            tables, asked = self.potentials(params, values, data)
            if question == "moments":
                return self._moments(tables, asked, evidence)
            answer = getattr(self.engine, question)
            found = answer(tables=tables, log_evidence=evidence, **options)
            return found.states if question == "mode" else found

        return jax.jit(run, static_argnames=("question", "sizes", "count"), inline=True)

    def _moments(self, tables: list[Any], asked: list[Any], evidence: Any) -> Any:
        """E[f] = d/ds log Z(s), Var[f] = d2/ds2 log Z(s) at s = 0, with s f in the score."""

        def mean_at(tables: list[Any]) -> Any:
            log_partition = lambda t: self.engine.log_partition(t, evidence)  # noqa: E731
            return jax.jvp(log_partition, (tables,), (asked,))[1]

        return jax.jvp(mean_at, (tables,), (asked,))

    def potentials(
        self, params: Any, values: Any, data: Any, names: Collection[str] | None = None
    ) -> tuple[list[Any], list[Any]]:
        """One array for each group, and the sum of what mentions no finite variable (of these nodes
        alone): of the log-potentials and of what is asked about, zero in the other's groups.
        """
        found = self.tables(params, values, data)
        densities = len(found) - self.grounded.asked
        arrays: tuple[list[Any], list[Any]] = ([], [])
        constants = [jnp.zeros(()), jnp.zeros(())]
        for number, (term, groups, table) in enumerate(
            zip(self.grounded.terms, self.grounded.groups, found, strict=True)
        ):
            own = int(number >= densities)
            if not term.slots and (names is None or term.name in names):
                constants[own] += jnp.sum(table)
            for group in groups:
                stacked = tables_of(group, jnp.asarray(table, float), len(term.binders), jnp)
                arrays[own].append(stacked)
                arrays[1 - own].append(jnp.zeros_like(stacked))
        return [*arrays[0], constants[0][None]], [*arrays[1], constants[1][None]]

    def evidence(self, given: Mapping[str, Any]) -> Any:
        """Log-likelihoods [variables, most states] of evidence; values may be traced."""
        found = jnp.zeros((len(self.structure.sizes), self.structure.most_states))
        for name, value in given.items():
            places, states = self._places(name)
            found = found.at[places].add(self._likelihood(name, value, places.shape, states))
        return found

    def _places(self, name: str) -> tuple[np.ndarray[Any, Any], tuple[str, ...]]:
        """The numbers of a variable's elements, in its shape, or of one element."""
        labels = list(self.grounded.states)
        if name in self.grounded.shapes:
            shape, start = self.grounded.shapes[name], self.grounded.starts[name]
            states = self.grounded.states[labels[start]] if prod(shape) else ()
            return np.arange(start, start + prod(shape)).reshape(shape), states
        if name in self.grounded.states:
            return np.asarray(labels.index(name)), self.grounded.states[name]
        hint = did_you_mean(name, [*self.grounded.shapes, *labels])
        raise WrongEvidence(f"there is no variable `{name}`{hint and f'; {hint}'}")

    def _likelihood(
        self, name: str, value: Any, shape: tuple[int, ...], states: tuple[str, ...]
    ) -> Any:
        """[shape, most states] of log-likelihoods; an element of -1 is open."""
        most = self.structure.most_states
        if isinstance(value, str | bool | set | frozenset):
            wanted = value if isinstance(value, set | frozenset) else {value}
            chosen = {state_of(name, states, item) for item in wanted}
            return jnp.asarray([0.0 if k in chosen else -jnp.inf for k in range(most)])
        array = jnp.asarray(value)
        if array.shape == shape:
            number = array.astype(int)[..., None]
            return jnp.where((number < 0) | (jnp.arange(most) == number), 0.0, -jnp.inf)
        if array.shape != (*shape, len(states)):
            what = f"`{name}` has shape {shape} and {len(states)} states"
            raise WrongEvidence(f"{what}; its evidence has shape {array.shape}")
        padding = [(0, 0)] * len(shape) + [(0, most - len(states))]
        return jnp.pad(jnp.log(array.astype(float)), padding)

    def states(self, values: Mapping[str, Any]) -> Any:
        """[variables]: the numbers of the states that these values are, of all variables."""
        parts = [jnp.zeros(0, int)]
        for name in self.grounded.shapes:
            lowest = int(self.grounded.finite[name].type.bounds[0])
            parts.append(jnp.ravel(jnp.asarray(values[name]).astype(int) - lowest))
        return jnp.concatenate(parts)

    def by_node(self, found: Any, with_states: bool) -> dict[str, Any]:
        """[..., variables(, states)] to arrays by node [..., shape(, states)]."""
        answers = {}
        for name in self.grounded.shapes:
            places, states = self._places(name)
            answers[name] = found[..., places, : len(states)] if with_states else found[..., places]
        return answers


def build_finite(
    graph: Graph,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int],
    externs: Mapping[str, Any],
    asked: str | None = None,
    domain: Domain = "auto",
) -> Finite:
    concrete: dict[str, Any] = {
        name: None if isinstance(a, jax.core.Tracer) else np.asarray(a)
        for name, a in arrays.items()
    }
    try:
        grounded = ground_model(graph, BoundData(dict(sizes), {}, concrete), asked)
    except NeedsJax as error:
        raise UsageError(
            f"which variables depend on each other is told by `{error}`, whose value is not known "
            "inside jax.jit: bind the data outside, and let the function that is compiled close "
            "over it"
        ) from None
    counts = tuple(len(states) for states in grounded.states.values())
    scopes = [group.scopes for groups in grounded.groups for group in groups]
    structure = Structure(counts, tuple(map(FactorGroup, [*scopes, np.zeros((1, 0), np.intp)])))
    tables = load_tables(graph, grounded.terms, grounded.finite, externs)
    # The nodes that indices of finite variables, and conditions on tables, mention.
    mentioned: set[str] = set()
    for term in grounded.terms:
        own = [index for slot in term.slots for index in slot.indices]
        mentioned |= set(nodes_read(*own, term.where))
    indices = {name: digest(concrete[name]) for name in mentioned if name in concrete}
    return Finite(grounded, layouts(grounded, sizes), structure, tables, indices, domain)


def layouts(grounded: Grounded, sizes: Mapping[str, int]) -> list[np.ndarray[Any, Any]]:
    """For dims that every finite variable has once, the index of each element; longest first."""
    axes = {name: list(map(str, node.type.shape)) for name, node in grounded.finite.items()}
    shared = set.intersection(*map(set, axes.values())) if axes else set()
    found = []
    for dim in sorted(shared, key=lambda name: -sizes.get(name, 0)):
        if all(own.count(dim) == 1 for own in axes.values()):
            steps = [
                np.indices(grounded.shapes[name])[own.index(dim)].reshape(-1)
                for name, own in axes.items()
            ]
            found.append(np.concatenate(steps))
    return found


def digest(array: Any) -> bytes:
    """What tells data apart when structure depends on them."""
    if array is None or isinstance(array, jax.core.Tracer):
        return b""
    return np.asarray(array).tobytes()


Values = dict[str, Any]
Given = Mapping[str, Any] | None


class FinitePart(NamedTuple):
    """The finite variables of a model, and all that is known when they are asked about."""

    finite: Finite
    params: Values
    values: Values
    arrays: Values
    sizes: dict[str, int]
    evidence: Values

    def ask(self, question: str, **options: Any) -> Any:
        """The answer of the engine, for all variables in a row."""
        known = self.params, self.values, self.arrays, self.finite.evidence(self.evidence)
        return self.finite.answer(question, *known, sizes=tuple(self.sizes.items()), **options)

    def by_node(self, question: str, with_states: bool = False) -> Values:
        """The same in the shapes of the model."""
        return self.finite.by_node(self.ask(question), with_states)

    def sample(self, key: Any, n: int | None) -> Values:
        drawn = self.ask("sample", key=key, count=n or 1)
        found = self.finite.by_node(drawn[0] if n is None else drawn, with_states=False)
        return {name: value for name, value in found.items() if name not in self.evidence}

    @property
    def term_tables(self) -> list[Any]:
        """One array for every term of the log density."""
        return self.finite.tables(self.params, self.values, {**self.arrays, **self.sizes})

    def tables(
        self, names: Collection[str] | None = None
    ) -> tuple[Finite, list[jax.Array], jax.Array]:
        """The structure, its log-potentials and the log-likelihoods of evidence."""
        data = {**self.arrays, **self.sizes}
        potentials, _ = self.finite.potentials(self.params, self.values, data, names)
        return self.finite, potentials, self.finite.evidence(self.evidence)

    def expected_tables(self) -> tuple[jax.Array, list[jax.Array]]:
        finite, tables, evidence = self.tables()
        found: tuple[jax.Array, list[jax.Array]]
        found = jax.value_and_grad(lambda t: finite.engine.log_partition(t, evidence))(tables)
        return found

    def expected_score(self, expected: list[jax.Array]) -> jax.Array:
        total = jnp.zeros(())
        for table, weights in zip(self.tables()[1], expected, strict=True):
            total += jnp.sum(jnp.where(weights > 0, table, 0.0) * weights)
        return total


class MeanAndVariance(NamedTuple):
    mean: jax.Array
    variance: jax.Array


def verify_number(graph: Graph, name: str, given: set[str]) -> None:
    """A computed node that is one number, all of whose draws are finite or given."""
    functions = {node.name: node for node in graph.of_kind(Kind.FUNCTION)}
    if name not in functions:
        hint = did_you_mean(name, functions)
        what = f"the model computes no `{name}`{hint and f'; {hint}'}"
        raise UsageError(f"{what}: moments are of nodes with a `=` or `:=`")
    if functions[name].type.shape:
        message = f"`{name}` is an array"
        raise UsageError(f"{message}: ask for a node that is one of its elements, or a sum of them")
    known = given | {node.name for node in finite_draws(graph)}
    unknown = [draw for draw in random_ancestors(graph, name) if draw not in known]
    if unknown:
        what = f"`{name}` depends on `{unknown[0]}`, which is not finite and not given"
        raise UsageError(f"{what}: give it a value")


class Questions:
    """What can be asked of the finite variables of a model. `given` holds evidence on finite
    variables, whole ones (`{"z": [0, 2, 1]}`, where -1 is open) or elements (`{"z[3]": "rain"}`),
    as labels, positions, sets of them or likelihoods; and the values of continuous draws.
    """

    def __init__(self, graph: Graph, externs: Mapping[str, Callable[..., Any]], domain: Domain):
        self.graph = graph
        self.externs = externs
        self._dims = frozenset(dim.name for dim in graph.dims)
        self._finites: dict[Any, list[Finite]] = {}
        self._domain = domain

    def moments(self, name: str, params: Given, data: Given, given: Given) -> MeanAndVariance:
        verify_number(self.graph, name, {*(data or {}), *(given or {})})
        return MeanAndVariance(*self.known(params, data, given, asked=name).ask("moments"))

    def kbest(
        self, k: int, params: Given, data: Given, given: Given
    ) -> tuple[Values, np.ndarray[Any, Any]]:
        known = self.known(params, data, given)
        discrete = self.discrete(known)
        found = infer_kbest(discrete.factors, k, check_given(discrete, known.evidence))
        states = np.array([[c.states[name] for name in discrete.states] for c in found])
        scores = np.array([c.log_score for c in found])
        return known.finite.by_node(states, with_states=False), scores

    def discrete(self, part: FinitePart) -> Discrete:
        arrays = {**part.params, **part.values, **part.arrays}
        known = {name: np.asarray(a) for name, a in arrays.items()}
        return discrete_model(self.graph, BoundData(part.sizes, {}, known), self.externs)

    def known(
        self, params: Given, data: Given, given: Given, asked: str | None = None
    ) -> FinitePart:
        arrays, fixed = split_data(data or {}, self._dims)
        sizes = {dim.name: dim.size for dim in self.graph.dims if dim.size is not None}
        sizes |= dict(fixed)
        finite_names = {node.name for node in finite_draws(self.graph)} - set(arrays)
        values: Values = {}
        evidence: Values = {}
        for name, value in (given or {}).items():
            is_evidence = name.partition("[")[0] in finite_names or name not in self.graph.by_name
            (evidence if is_evidence else values)[name] = value
        finite = self._finite({**arrays, **(params or {}), **values}, sizes, asked)
        return FinitePart(finite, dict(params or {}), values, dict(arrays), sizes, evidence)

    def _finite(self, arrays: Values, sizes: dict[str, int], asked: str | None) -> Finite:
        """Found once for these names, sizes and indices."""
        places = self._finites.setdefault((frozenset(arrays), tuple(sizes.items()), asked), [])
        for found in places:
            if all(digest(arrays[name]) == seen for name, seen in found.indices.items()):
                return found
        places.append(build_finite(self.graph, arrays, sizes, self.externs, asked, self._domain))
        return places[-1]
