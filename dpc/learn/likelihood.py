"""Minus the log-likelihood of a model's parameters, with everything that was not seen summed out.

    loss(params) = - sum over cases [log Z(params, the case) - log Z(params)] - log prior(params)

log Z sums over the finite draws that are not given, by the inference engine, or integrates over
normal ones of which all means are affine; in a directed model log Z(params) is zero. Its gradient
is expected minus observed statistics (GM11). Missing entries are summed over, or left out where
nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.passes.joined import join_cases
from dpc.dsl.graph.passes.missing import leave_out_missing, present_name
from dpc.dsl.graph.passes.parts import mark_observed, needed_for
from dpc.dsl.record import NOTHING, Record
from dpc.inference.engines.path.layout import Domain
from dpc.inference.engines.tree.model import each_table
from dpc.inference.losses import fields
from dpc.inference.losses.structured import perceptron_loss, sparsemap_loss

from ..data.errors import unfit_as_problem
from ..finite.finite import Finite
from ..model.constraints import constrain_nodes, initial_nodes, unconstrain_nodes
from ..model.model import Model
from ..model.values import OPEN, CheckedData
from .cases import CaseGroup, Cases, shape_of
from .roles import Blocks, Roles, block_dim, find_roles, log_integral, verify_block


class FieldLoss(Record):
    """`modes`: it asks for exact ones. `keyed`: every evaluation has a key of its own."""

    about: str
    function: Callable[..., Any]
    modes: bool = False
    keyed: bool = False
    smooth: bool = True

    def loss(self, finite: Finite, tables: list[Any], states: Any, key: Any) -> Any:
        solver = [_mode(finite)] if self.modes else []
        keys = [key] if self.keyed else []
        return self.function(finite.structure, *solver, tables, states, *keys)


def _mode(finite: Finite) -> Callable[..., Any]:
    def solve(tables: Any, evidence: Any = None) -> Any:
        known = finite.evidence({}) if evidence is None else evidence
        return finite.engine.mode(list(tables), known).states

    return solve


FIELD_LOSSES: dict[str, FieldLoss] = {
    "pseudo": FieldLoss(
        "the pseudo-likelihood: each variable given all others", fields.pseudo_likelihood
    ),
    "bethe": FieldLoss("Bethe's log-partition by loopy belief propagation", fields.bethe_loss),
    "contrastive": FieldLoss(
        "contrastive divergence: one Gibbs sweep from the data", fields.contrastive_loss, keyed=True
    ),
    "perturbed": FieldLoss(
        "perturb-and-MAP: the mean of perturbed maxima",
        fields.perturbed_loss,
        modes=True,
        keyed=True,
    ),
    "perceptron": FieldLoss(
        "the structured perceptron: the best score less that of the data",
        perceptron_loss,
        modes=True,
        smooth=False,
    ),
    "sparsemap": FieldLoss(
        "SparseMAP: the nearest mixture of few configurations", sparsemap_loss, modes=True
    ),
}


Values = dict[str, Any]


class Arrays(Record):
    """What of a group JAX may trace: arrays for all cases, arrays by case, and weights."""

    shared: Values
    stacked: Values
    weights: Any


jax.tree_util.register_pytree_node(
    Arrays, lambda a: ((a.shared, a.stacked, a.weights), None), lambda _, parts: Arrays(*parts)
)


class Likelihood:
    """How well parameters explain cases: a pure function of parameters and arrays."""

    def __init__(
        self,
        graph: Graph,
        cases: Cases,
        externs: Mapping[str, Callable[..., Any]] | None = None,
        domain: Domain = "auto",
    ):
        self.graph, self.cases, self.domain = graph, cases, domain
        graph = join_cases(graph, cases.joined) if cases.joined else graph
        many = cases.count > 1 or any(group.stacked for group in cases.groups)
        self.roles: Roles = find_roles(graph, cases.given, many)
        self.externs = dict(externs or {})
        finite = {node.name for node in finite_draws(self.roles.graph)}
        missing = {name for group in cases.groups for name in group.missing}
        self.open = missing & finite
        """Given finite draws with missing entries: these are evidence, -1 where missing."""
        self.masked = missing - finite
        observed = mark_observed(self.roles.graph, cases.given - self.open)
        with unfit_as_problem():
            self.model = self.model_of(leave_out_missing(observed, sorted(self.masked)))
        self.free = self.model_of(self.roles.graph) if not self.roles.is_normalised else None
        self.losses: dict[str, Callable[..., Any]] = {}
        """Of unconstrained parameters, by name: JAX compiles the same function once."""

    def model_of(self, graph: Graph) -> Model:
        return Model(graph, "", self.externs, self.domain)

    @cached_property
    def checked(self) -> Likelihood:
        """The same, but NaN where a chain needs logarithms: it compiles in half the time."""
        twin = Likelihood(self.graph, self.cases, self.externs, "checked")
        twin.arrays = self.arrays
        return twin

    def _fixed(self, group: CaseGroup) -> Values:
        """Inputs that may decide the structure of finite variables: they are never traced."""
        if self.is_complete and self.free is None:
            return {}
        held = group.shared.items()
        return {name: a for name, a in held if name in self._inputs and a.dtype.kind in "ib"}

    @cached_property
    def arrays(self) -> list[Arrays]:
        """What JAX is given of the data, group by group; counting and regression do without."""
        return [self._arrays(group) for group in self.cases.groups]

    def _arrays(self, group: CaseGroup) -> Arrays:
        fixed = self._fixed(group)
        stacked = dict(group.stacked)
        shared = {name: array for name, array in group.shared.items() if name not in fixed}
        for name, mask in group.missing.items():
            own = stacked if name in stacked else shared
            own[name] = np.where(mask, OPEN, own[name]) if name in self.open else own[name]
        for name in self.masked:
            own = stacked if name in stacked else shared
            own[present_name(name)] = ~group.missing.get(name, np.zeros(own[name].shape, bool))
        count = group.count if stacked else 1
        with jax.ensure_compile_time_eval():
            found: Arrays = jax.tree.map(jnp.asarray, Arrays(shared, stacked, np.ones(count)))
        return found

    def start(self, key: Any = None, own: Mapping[str, Any] = NOTHING) -> Values:
        """The caller's own values, then the file's; others near zero in unconstrained space."""
        group = self.cases.groups[0]
        data = CheckedData({**group.sizes, **group.shared})
        rest = [node for node in self.roles.unknowns if node.name not in own]
        compute = partial(self.model.functions.call, "init", data=data)
        return {**own, **initial_nodes(rest, key, data, compute)}

    @cached_property
    def count(self) -> int:
        """How many numbers are unknown."""
        raw = jax.eval_shape(lambda: self.unconstrain(self.start()))
        return sum(prod(leaf.shape) for leaf in jax.tree.leaves(raw))

    @cached_property
    def constrain(self) -> Callable[[Values], Values]:
        return jax.jit(partial(constrain_nodes, self.roles.unknowns), inline=True)

    @cached_property
    def unconstrain(self) -> Callable[[Values], Values]:
        return jax.jit(partial(unconstrain_nodes, self.roles.unknowns), inline=True)

    def loss(self, params: Values, arrays: list[Arrays] | None = None) -> jax.Array:
        """Minus the log-likelihood of all cases, minus the log density of the prior."""
        return -self.log_likelihood(params, arrays) - self.log_prior(params)

    def log_likelihood(self, params: Values, arrays: list[Arrays] | None = None) -> jax.Array:
        total = jnp.zeros(())
        each = self.by_case(params, arrays)
        for (_, own), by_case in zip(self._groups(arrays), each, strict=True):
            total = total + jnp.sum(own.weights * by_case)
        return total

    def by_case(self, params: Values, arrays: list[Arrays] | None = None) -> list[jax.Array]:
        """The log-likelihood of every case, group by group."""
        used = self.arrays if arrays is None else arrays
        found: list[jax.Array] = self._compiled_by_case(params, used)
        return found

    @cached_property
    def _compiled_by_case(self) -> Callable[..., Any]:
        def run(params: Values, arrays: list[Arrays]) -> list[jax.Array]:
            return [
                self._by_case(group, own, params, self._joint) - self._log_free(group, own, params)
                for group, own in self._groups(arrays)
            ]

        return jax.jit(run, inline=True)

    def _by_case(
        self, group: CaseGroup, arrays: Arrays, params: Values, score: Callable[..., Any]
    ) -> jax.Array:
        found = self.map_cases(group, arrays, partial(score, params))
        return jnp.broadcast_to(found, arrays.weights.shape)

    def _log_free(self, group: CaseGroup, arrays: Arrays, params: Values) -> jax.Array:
        """What the joint density is normalised by: log Z of a field, else that of the prior."""
        if self.free is None:
            return self.log_prior(params)
        return self._by_case(group, arrays, params, self._free)

    def _groups(self, arrays: list[Arrays] | None) -> Iterator[tuple[CaseGroup, Arrays]]:
        used = self.arrays if arrays is None else arrays
        return zip(self.cases.groups, used, strict=True)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is summed over."""
        return not self.roles.summed and not self.open and not self.roles.integrated

    def _joint(self, params: Values, known: Values, sizes: Mapping[str, int]) -> Any:
        """log of the joint density of what is given and estimated, finite draws summed out."""
        own, data, given = self.known(params, known, sizes)
        if self.roles.integrated:
            blocks = self._blocks(sizes)
            return log_integral(lambda h: self.model.log_prob(own, {**given, **h}, data), blocks)
        if self.is_complete:
            return self.model.log_prob(own, given, data)
        return self.model.log_partition(own, data, given=given)

    def _blocks(self, sizes: Mapping[str, int]) -> Blocks:
        """How the draws that are integrated out are laid out for cases of these sizes."""
        nodes = self.roles.integrated
        shapes = {n.name: shape_of(n, sizes) for n in nodes}
        dim = block_dim(self.roles.graph, nodes)
        blocks = Blocks(shapes[nodes[0].name][0] if dim else 1, shapes)
        verify_block(blocks.entries, nodes)
        return blocks

    def known(
        self, params: Values, known: Values, sizes: Mapping[str, int]
    ) -> tuple[Values, Values, Values]:
        """Parameters, data, and what is given: estimated draws, and evidence with gaps."""
        own, values = self._split(params)
        evidence = {name: known[name] for name in self.open if name in known}
        data = {name: array for name, array in known.items() if name not in evidence}
        return own, CheckedData({**sizes, **data}), {**values, **evidence}

    def _free(self, params: Values, known: Values, sizes: Mapping[str, int]) -> jax.Array:
        """log Z with nothing given but the inputs."""
        assert self.free is not None
        return self.free.log_partition(*self._known_of_field(params, known, sizes))

    @cached_property
    def _inputs(self) -> set[str]:
        return {node.name for node in self.roles.graph.of_kind(Kind.INPUT)}

    def field_loss(
        self, name: str, params: Values, arrays: list[Arrays] | None = None, key: Any = None
    ) -> jax.Array:
        """A loss of `FIELD_LOSSES` in place of minus the log-likelihood; the prior stays."""
        first = jax.random.key(0) if key is None else key

        def score(known: Values, sizes: Mapping[str, int], key: Any) -> Any:
            assert self.free is not None
            finite, tables, _ = self.free.tables(*self._known_of_field(params, known, sizes))
            each = list(each_table(finite.structure, tables))
            return FIELD_LOSSES[name].loss(finite, each, finite.states(known), key)

        total = -self.log_prior(params)
        for number, (group, own) in enumerate(self._groups(arrays)):
            keys = jax.random.split(jax.random.fold_in(first, number), len(own.weights))
            each = self.map_cases(group, own, score, keys if own.stacked else keys[0])
            total = total + jnp.sum(own.weights * each)
        return total

    def _known_of_field(
        self, params: Values, known: Values, sizes: Mapping[str, int]
    ) -> tuple[Values, Values, Values]:
        """With nothing given but the inputs."""
        own, values = self._split(params)
        inputs = {name: a for name, a in known.items() if name in self._inputs}
        return own, CheckedData({**sizes, **inputs}), values

    def verify_exact(self) -> None:
        """Raises MemoryLimitError where the field is too wide for exact inference."""
        if (free := self.checked.free) is not None:
            for group, own in self._groups(None):
                stacked = {name: array[0] for name, array in own.stacked.items()}
                first = {**self._fixed(group), **own.shared, **stacked}
                assert free.finite(*self._known_of_field(self.start(), first, group.sizes)).engine

    def expect(
        self, params: Values, arrays: list[Arrays] | None = None
    ) -> tuple[jax.Array, list[Any]]:
        """The log-likelihood, and how probable each entry of each table is, given the data (GM10).
        Its gradient is that of the expected log density, with what is expected held fast (Fisher's
        identity): the sums over hidden draws are never differentiated twice.
        """
        total, found = self._expect(jax.lax.stop_gradient(params), arrays)
        score = self.expected_score(params, found, arrays) - self.log_prior(params)
        return total + (score - jax.lax.stop_gradient(score)), found

    def _expect(self, params: Values, arrays: list[Arrays] | None) -> tuple[jax.Array, list[Any]]:
        def expected(known: Values, sizes: Mapping[str, int]) -> Any:
            return self.model.expected_tables(*self.known(params, known, sizes))

        total, found = jnp.zeros(()), []
        for group, own in self._groups(arrays):
            joint, tables = self.map_cases(group, own, expected)
            total = total + jnp.sum(own.weights * (joint - self._log_free(group, own, params)))
            found.append(tables)
        return total, found

    def expected_score(
        self, params: Values, expected: list[Any], arrays: list[Arrays] | None = None
    ) -> jax.Array:
        """E[log joint density], with finite draws as probable as `expected` says; one prior."""

        def score(known: Values, sizes: Mapping[str, int], tables: Any) -> jax.Array:
            return self.model.expected_score(tables, *self.known(params, known, sizes))

        total = self.log_prior(params)
        for (group, own), tables in zip(self._groups(arrays), expected, strict=True):
            each = self.map_cases(group, own, score, tables)
            total = total + jnp.sum(own.weights * (each - self._log_free(group, own, params)))
        return total

    def map_cases(
        self, group: CaseGroup, arrays: Arrays, function: Callable[..., Any], *by_case: Any
    ) -> Any:
        shared = {**self._fixed(group), **arrays.shared}
        if not arrays.stacked:
            return function(shared, group.sizes, *by_case)

        def run(own: Values, *rest: Any) -> Any:
            return function({**shared, **own}, group.sizes, *rest)

        return jax.vmap(run)(arrays.stacked, *by_case)

    def log_prior(self, params: Values) -> jax.Array:
        """The log density of estimated draws, and the factors that speak about nothing else."""
        if not self.roles.prior:
            return jnp.zeros(())
        own, values = self._split(params)
        group = self.cases.groups[0]
        known = CheckedData({**group.sizes, **self._fixed(group), **self.arrays[0].shared})
        return self._prior.log_prob(own, values, known)

    @cached_property
    def _prior(self) -> Model:
        return self.model_of(needed_for(self.roles.graph, self.roles.prior))

    def _split(self, params: Values) -> tuple[Values, Values]:
        drawn = {node.name for node in self.roles.estimated}
        own = {name: value for name, value in params.items() if name not in drawn}
        return own, {name: value for name, value in params.items() if name in drawn}
