"""Questions to a model with finite variables; those that are not given are summed over.

Parameters, data and the values of continuous draws are given. All but `kbest` are pure functions
that jit, vmap and grad accept.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind
from dpc.inference.engines.path.layout import Domain
from dpc.inference.queries import infer_kbest

from ..data import BoundData
from ..exits import UsageError
from ..model.check import random_ancestors
from ..model.functions import split_data
from .answers import check_given
from .discrete import Discrete, discrete_model
from .finite import Finite, build_finite, digest

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
        return self.finite.ask(question, *self[1:], **options)

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

    @property
    def tables(self) -> tuple[Finite, list[jax.Array], jax.Array]:
        """The structure, its log-potentials and the log-likelihoods of evidence."""
        data = {**self.arrays, **self.sizes}
        potentials = self.finite.potentials(self.params, self.values, data)
        return self.finite, potentials, self.finite.evidence(self.evidence)

    def expected_tables(self) -> tuple[jax.Array, list[jax.Array]]:
        finite, tables, evidence = self.tables
        found: tuple[jax.Array, list[jax.Array]]
        found = jax.value_and_grad(lambda t: finite.engine.log_partition(t, evidence))(tables)
        return found

    def expected_score(self, expected: list[jax.Array]) -> jax.Array:
        total = jnp.zeros(())
        for table, weights in zip(self.tables[1], expected, strict=True):
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
        discrete = self._discrete(known)
        found = infer_kbest(discrete.factors, k, check_given(discrete, known.evidence))
        states = np.array([[c.states[name] for name in discrete.states] for c in found])
        scores = np.array([c.log_score for c in found])
        return known.finite.by_node(states, with_states=False), scores

    def discrete(self, params: Given, data: Given, values: Given) -> Discrete:
        return self._discrete(self.known(params, data, values))

    def _discrete(self, part: FinitePart) -> Discrete:
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
