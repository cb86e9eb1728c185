"""The finite variables of a model, compiled: tables by the program, answers by the engine.

Structure is found once for given sizes and for the data that variables are indexed by; parameters,
other data and evidence can be traced, and new ones never compile anything again. All answers but
`kbest` are pure functions that jit, vmap and grad accept.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
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
from dpc.dsl.lower.distributions import has_limit, mass_at
from dpc.dsl.lower.run import run_graph
from dpc.dsl.record import Record
from dpc.inference.engines.choose import choose_engine
from dpc.inference.engines.engine import Engine
from dpc.inference.engines.limits import log_probability, with_limits, without_slope
from dpc.inference.engines.path.layout import Domain
from dpc.inference.engines.tree.model import each_table
from dpc.inference.engines.tree.structure import FactorGroup, Structure
from dpc.inference.errors import ImpossibleEvidenceError
from dpc.inference.losses.fields import score
from dpc.inference.queries import infer_kbest

from ..data import BoundData
from ..exits import UsageError
from ..model.check import random_ancestors
from ..model.recent import Recent
from ..model.room import verify_room
from ..model.traced import is_traced
from ..model.values import ValueReader
from .discrete import Discrete, Grounded, discrete_model, ground_model
from .evidence import Variables, impossible
from .ground import FiniteTerm, tables_of
from .slots import TRUTH, value_dim


def table_name(number: int) -> str:
    """No name of a model has a newline in it."""
    return f"table\n{number}"


def _table_node(number: int, term: FiniteTerm, graph: Graph) -> Node:
    """A table that serves all places of its term's binders is computed once, without their axes."""
    origin, body = graph[term.name], term.body
    nothing, mass = 0.0, _mass(term)
    if mass is not None:
        nothing, body = 1.0, mass
    elif isinstance(body, c.Law):
        assert term.value is not None
        body = c.LogDensity(body.span, REAL, body, term.value, limited=has_limit(body, graph))
    if term.where is not None and not term.is_shared:
        body = c.If(body.span, REAL, term.where, body, c.Const(body.span, REAL, nothing))
    axes = tuple(slot.bind for slot in term.slots) if term.is_shared else term.axes
    type_ = Type(REAL.domain, tuple(Fixed(None) for _ in axes))
    pieces, place = (Piece(origin.span, axes, None, body),), (origin.span, origin.source)
    return Node(table_name(number), Kind.FUNCTION, type_, *place, pieces, nodes_read(body))


def _mass(term: FiniteTerm) -> c.Core | None:
    """The probability whose logarithm the table has, where it is an expression."""
    if not isinstance(term.body, c.Law) or term.value is None:
        return None
    return mass_at(term.body, term.value)


def _has_limit(term: FiniteTerm, graph: Graph) -> bool:
    """Whether a derivative of a logarithm in its table is a limit where a probability is 0."""
    if not isinstance(term.body, c.Law) or term.value is None:
        return False
    return _mass(term) is not None or has_limit(term.body, graph)


Tables = Callable[..., list[Any]]
RATIOS = ("log_partition", "marginals", "moments")
"""Questions whose derivatives have limits where a probability is 0."""


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
        params: Mapping[str, Any],
        values: Mapping[str, Any],
        data: Mapping[str, Any],
        log: Callable[[Any], Any] = jnp.log,
    ) -> list[Any]:
        found = evaluate(params, values, data)
        whole = [found[table_name(number)] for number in range(len(terms))]
        for number, term in enumerate(terms):
            if _mass(term) is not None:
                whole[number] = log(whole[number])
            if term.is_shared:
                shape = (1,) * len(term.binders) + whole[number].shape
                whole[number] = whole[number].reshape(shape)
        return whole

    return tables


class Finite(Record):
    """The finite part of a model. `indices` are data that decide what a table is about."""

    graph: Graph
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
            log = log_probability if question in RATIOS else jnp.log
            tables, asked = self.potentials(params, values, data, log=log)
            if question == "moments":
                return self._moments(tables, asked, evidence)
            answer = getattr(self.engine, question)
            if question in RATIOS:
                found = with_limits(answer, self.has_limits)(tables, evidence)
            else:
                found = answer(tables=tables, log_evidence=evidence, **options)
            if question in ("sample", "kbest", "mode"):
                return self._possible_states(question, found, tables, evidence)
            if question == "log_partition":
                return without_slope(found)
            if question == "marginals":
                is_possible = jnp.sum(found, axis=-1, keepdims=True) > 0
                return self.by_state(jnp.where(is_possible, found, jnp.nan))
            return jnp.where(found > -jnp.inf, found, jnp.nan)

        return jax.jit(run, static_argnames=("question", "sizes", "count", "k"), inline=True)

    @cached_property
    def has_limits(self) -> list[bool]:
        """Which tables hold logarithms of probabilities: a derivative at 0 is a limit."""
        terms = zip(self.grounded.terms, self.grounded.groups, strict=True)
        return [*(_has_limit(term, self.graph) for term, groups in terms for _ in groups), False]

    def _possible_states(
        self, question: str, found: Any, tables: list[Any], evidence: Any
    ) -> tuple[dict[str, Any], Any]:
        """Values by node and their scores; a position is -1 where nothing is possible."""
        if question == "sample":
            score = self._score(tables, evidence, found[0])
            states = found
        else:
            states, score = found
        is_possible = score > -jnp.inf
        wide = is_possible[..., None] if question == "kbest" else is_possible
        return self.values(jnp.where(wide, states, -1)), score

    def _score(self, tables: list[Any], evidence: Any, states: Any) -> Any:
        """The sum of log-potentials at one configuration."""
        each = list(each_table(self.structure, tables))
        own = jnp.take_along_axis(evidence, states[:, None], axis=1)
        return score(self.structure, each, states) + jnp.sum(own)

    def _moments(self, tables: list[Any], asked: list[Any], evidence: Any) -> Any:
        """E[f] = d/ds log Z(s), Var[f] = d2/ds2 log Z(s) at s = 0, with s f in the score."""
        count = len(tables)

        def moments(both: Sequence[Any], evidence: Any) -> Any:
            tables, asked = list(both[:count]), list(both[count:])

            def mean_at(tables: list[Any]) -> Any:
                log_partition = lambda t: self.engine.log_partition(t, evidence)  # noqa: E731
                log_z, mean = jax.jvp(log_partition, (tables,), (asked,))
                return jnp.where(log_z > -jnp.inf, mean, jnp.nan)

            return jax.jvp(mean_at, (tables,), (asked,))

        limits = [*self.has_limits, *[False] * len(asked)]
        return with_limits(moments, limits)([*tables, *asked], evidence)

    def potentials(
        self,
        params: Any,
        values: Any,
        data: Any,
        names: Collection[str] | None = None,
        log: Callable[[Any], Any] = jnp.log,
    ) -> tuple[list[Any], list[Any]]:
        """One array for each group, and the sum of what mentions no finite variable (of these nodes
        alone): of the log-potentials and of what is asked about, zero in the other's groups.
        """
        found = self.tables(params, values, data, log)
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

    @property
    def variables(self) -> Variables:
        return self.grounded.variables

    def evidence(self, given: Mapping[str, Any]) -> Any:
        """Log-likelihoods [variables, most states] of evidence; values may be traced."""
        return self.variables.log_likelihood(given, self.structure.most_states)

    def states(self, values: Mapping[str, Any]) -> Any:
        """[variables]: the numbers of the states that these values are, of all variables."""
        parts = [jnp.zeros(0, int)]
        for name, variable in self.variables.by_name.items():
            parts.append(jnp.ravel(jnp.asarray(values[name]).astype(int) - variable.lowest))
        return jnp.concatenate(parts)

    def values(self, positions: Any) -> dict[str, Any]:
        """[..., variables]: the values that these states are, by node [..., shape]."""
        found = {}
        for name in self.variables.by_name:
            variable, numbers = self.variables.of(name)
            found[name] = variable.values(positions[..., numbers])
        return found

    def by_state(self, found: Any) -> dict[str, Any]:
        """[variables, most states] to arrays by node [shape, states]."""
        answers = {}
        for name in self.variables.by_name:
            variable, numbers = self.variables.of(name)
            answers[name] = found[numbers, : len(variable.states)]
        return answers


def build_finite(
    graph: Graph,
    known: BoundData,
    externs: Mapping[str, Any],
    asked: str | None = None,
    domain: Domain = "auto",
) -> Finite:
    try:
        grounded = ground_model(graph, known, asked)
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
    indices = {name: digest(known.arrays[name]) for name in mentioned if name in known.arrays}
    arranged = layouts(grounded, known.sizes)
    return Finite(graph, grounded, arranged, structure, tables, indices, domain)


def layouts(grounded: Grounded, sizes: Mapping[str, int]) -> list[np.ndarray[Any, Any]]:
    """For dims that every finite variable has once, the index of each element; longest first."""
    axes = {name: list(map(str, node.type.shape)) for name, node in grounded.finite.items()}
    shapes = {variable.name: variable.shape for variable in grounded.nodes}
    shared = set.intersection(*map(set, axes.values())) if axes else set()
    found = []
    for dim in sorted(shared, key=lambda name: -sizes.get(name, 0)):
        if all(own.count(dim) == 1 for own in axes.values()):
            steps = [
                np.indices(shapes[name])[own.index(dim)].reshape(-1) for name, own in axes.items()
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
    reader: ValueReader

    def ask(self, question: str, **options: Any) -> Any:
        """The answer of the engine, by node where it is about nodes; raises where there is none."""
        known = self.params, self.values, self.arrays, self.finite.evidence(self.evidence)
        found = self.finite.answer(question, *known, sizes=tuple(self.sizes.items()), **options)
        found = self.reader.or_outside(found, jnp.nan)
        verify_possible(question, found, self.evidence)
        return found

    def sample(self, key: Any, n: int | None) -> Values:
        verify_room(n or 1, "draws", len(self.finite.structure.sizes))
        drawn: Values = self.ask("sample", key=key, count=n or 1)[0]
        return {name: own[0] for name, own in drawn.items()} if n is None else drawn

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


def verify_possible(question: str, found: Any, evidence: Mapping[str, Any]) -> None:
    """Raises where what was found says that nothing is possible; what is traced cannot tell."""
    if question == "log_partition" or is_traced((found, evidence)):
        return
    if question in ("sample", "kbest", "mode"):
        scores = np.asarray(found[1]).reshape(-1)
        # The best of several decides: there may be fewer than were asked for.
        nothing = bool(scores.size) and scores[0] == -np.inf
    else:
        leaves = (np.asarray(leaf) for leaf in jax.tree.leaves(found))
        nothing = any(np.isnan(leaf).any() for leaf in leaves)
    if nothing:
        raise impossible(evidence)


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
    variables, whole ones (`{"z": [0, None, 1]}`, where None is open) or elements (`{"z[3]":
    "rain"}`), as values, labels, sets of them or likelihoods; and the values of continuous draws.
    """

    def __init__(self, graph: Graph, externs: Mapping[str, Callable[..., Any]], domain: Domain):
        self.graph = graph
        self.externs = externs
        self._finites = Recent[list[Finite]]()
        self._domain = domain

    def moments(self, name: str, params: Given, data: Given, given: Given) -> MeanAndVariance:
        verify_number(self.graph, name, {*(data or {}), *(given or {})})
        return MeanAndVariance(*self.known(params, data, given, asked=name).ask("moments"))

    def kbest(self, k: int, params: Given, data: Given, given: Given) -> tuple[Values, Any]:
        """By the engine where everything, or something, is traced; else by NumPy."""
        known = self.known(params, data, given)
        if is_traced((known.params, known.values, known.arrays, known.evidence)):
            if not hasattr(known.finite.engine, "kbest"):
                what = "under jax.jit, the k best are found for a single chain alone"
                raise UsageError(f"{what}: ask for them outside")
            structure = known.finite.structure
            k = min(k, prod(structure.sizes))
            verify_room(k, "configurations", len(structure.sizes) * structure.most_states)
            values, scores = known.ask("kbest", k=k)
            return values, scores
        discrete = self.discrete(known)
        given = discrete.variables.by_element(known.evidence)
        try:
            found = infer_kbest(discrete.factors, k, given)
        except ImpossibleEvidenceError:
            raise impossible(known.evidence) from None
        states = np.array([[c.states[name] for name in discrete.states] for c in found])
        scores = np.array([c.log_score for c in found])
        return known.finite.values(states), scores

    def discrete(self, part: FinitePart) -> Discrete:
        arrays = {**part.params, **part.values, **part.arrays}
        known = {name: np.asarray(a) for name, a in arrays.items()}
        return discrete_model(
            self.graph, BoundData(part.sizes, part.reader.labels, known), self.externs
        )

    def known(
        self,
        params: Given,
        data: Given,
        given: Given,
        asked: str | None = None,
        given_data: bool = True,
    ) -> FinitePart:
        """Without `given_data`, what was observed is as open as the rest."""
        reader = ValueReader(self.graph, data)
        if not given_data:
            reader.forget_observed()
        arrays = reader.arrays
        sizes = {name: size for name, (size, _) in reader.sizes.items()}
        finite_names = {node.name for node in finite_draws(self.graph)}
        values: Values = {}
        evidence: Values = {}
        for name, value in (given or {}).items():
            owner = name.partition("[")[0]
            reader.verify_once(owner)
            is_evidence = owner in finite_names or name not in self.graph.by_name
            (evidence if is_evidence else values)[name] = value
        values = reader.draws(values, whole=False)
        reader.require(self._inputs, values)
        params = reader.parameters(params)
        finite = self._finite({**arrays, **params, **values}, sizes, asked, reader.labels)
        return FinitePart(finite, params, values, arrays, sizes, evidence, reader)

    @cached_property
    def _inputs(self) -> list[str]:
        """What the densities are computed from."""
        nodes = self.graph.of_kind(Kind.DRAW, Kind.FACTOR)
        above = self.graph.ancestors([node.name for node in nodes])
        return [node.name for node in self.graph.of_kind(Kind.INPUT) if node.name in above]

    def _finite(
        self,
        arrays: Values,
        sizes: dict[str, int],
        asked: str | None,
        labels: Mapping[str, tuple[str, ...]],
    ) -> Finite:
        """Found once for these names, sizes and indices."""
        key = (frozenset(arrays), tuple(sizes.items()), asked, tuple(labels.items()))
        places = self._finites.get(key, list)
        for found in places:
            if all(digest(arrays[name]) == seen for name, seen in found.indices.items()):
                return found
        bound = BoundData(dict(sizes), dict(labels), _concrete(arrays))
        places.append(build_finite(self.graph, bound, self.externs, asked, self._domain))
        del places[:-STRUCTURES_KEPT]
        return places[-1]


STRUCTURES_KEPT = 8
"""Of one model and sizes, for different index arrays: each has compiled programs of its own."""


def _concrete(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What is traced is known as None."""
    return {n: None if is_traced(a) else np.asarray(a) for n, a in arrays.items()}
