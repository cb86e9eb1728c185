"""Posteriors of a model: a NumPyro program, draws, and what was done with missing data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpyro
from numpyro.distributions import ImproperUniform, constraints
from numpyro.handlers import seed, substitute, trace

from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.passes.noncentered import decentre
from dpc.dsl.graph.types import Bool
from dpc.dsl.lower.emit import program_text
from dpc.dsl.lower.program import lower_program
from dpc.dsl.lower.run import run_program
from dpc.dsl.record import Record
from dpc.inference.mcmc.distributions import Hidden, Joint, Ordered, Written

from ..data.bound import Data
from ..data.errors import unfit_as_problem
from ..exits import UsageError
from ..finite.finite import Finite
from ..finite.ground import tables_of
from ..model.constraints import constraint_of
from .write import RESERVED, find_sites, model_parts

if TYPE_CHECKING:
    from dpc.inference.mcmc.run import NutsPlan, NutsRun

    from ..model.model import Model


Values = dict[str, Any]
LEAST = {"draws": 4, "chains": 1, "warmup": 0, "max_tree_depth": 1, "steps": 1}


class Posteriors:
    """What a model says once there are data."""

    def __init__(self, model: Model):
        self.model = model

    def to_numpyro(self, data: Mapping[str, Any]) -> Callable[..., None]:
        bound = self.model.functions.with_sizes(data)

        def model(data: Mapping[str, Any] | None = None) -> None:
            own = bound if data is None else self.model.functions.with_sizes(data)
            self.decentred.run(own)

        return model

    @cached_property
    def decentred(self) -> NumpyroModel:
        """With standard noise in place of draws that are `noncentered`: what is sampled."""
        graph = decentre(self.model.graph)
        if graph == self.model.graph:
            return self.as_written
        return NumpyroModel(type(self.model)(graph, externs=self.model.externs))

    @cached_property
    def as_written(self) -> NumpyroModel:
        return NumpyroModel(self.model)

    def draw(self, method: str, data: Data, options: PosteriorOptions) -> Any:
        """Values and statistics [chain, draw, ...] of what is unknown, and attributes."""
        from .methods import METHODS, Request, verify_continuous

        verify_continuous(self.decentred)
        return METHODS[method](Request(self.model, data, options))

    def run(self, data: Data, plan: NutsPlan) -> NutsRun:
        """NUTS in stretches: `start()` gives a state, `advance(state, n)` the next and draws."""
        from dpc.inference.mcmc.run import NutsRun

        from .methods import verify_continuous

        verify_continuous(self.decentred)
        return NutsRun(self.to_numpyro(data), plan)

    def with_missing(self, sources: tuple[Any, ...], sizes: dict[str, int]) -> tuple[Model, Data]:
        from dpc.dsl.graph.passes.missing import open_missing

        from ..data import bind_data

        bound = bind_data(self.model.graph, *sources, sizes=sizes, missing=True).own()
        if not bound.missing:
            return self.model, Data(bound.arrays, bound.sizes, bound.labels)
        with unfit_as_problem():
            opened = open_missing(self.model.graph, bound.arrays, bound.missing)
        model = type(self.model)(opened.graph, externs=self.model.externs, notes=opened.notes)
        labels = {**bound.labels, **opened.labels}
        return model, Data(opened.arrays, {**bound.sizes, **opened.sizes}, labels)

    def opened(self, data: Any) -> tuple[Model, Data]:
        """The model that takes these data; those that were bound have nothing missing."""
        if isinstance(data, Data):
            return self.model, data
        sources = data if isinstance(data, tuple) else () if data is None else (data,)
        return self.with_missing(sources, {})


class PosteriorOptions(Record):
    """What a posterior is asked for; `plan` is for NUTS, `steps` for variational inference."""

    plan: NutsPlan
    draws: int
    steps: int
    checkpoint: str | None
    resume: bool
    progress: Any


def read_options(
    method: str, draws: int, seed: int, progress: Any, resume: bool, said: Mapping[str, Any]
) -> PosteriorOptions:
    """Options that were said, checked: each is for one method, and a number has a least value."""
    from dpc.inference.mcmc.run import NutsPlan

    from .methods import METHODS

    if method not in METHODS:
        raise UsageError(f"there is no method {method!r}: {', '.join(METHODS)}")
    known = {name: value for name, value in said.items() if value is not None}
    if resume:
        known["resume"] = True
    for name in known:
        owner = "svi" if name == "steps" else "nuts"
        if method != owner:
            raise UsageError(f"`{name}=` is for `method={owner}`, not {method}")
    for name, least in LEAST.items():
        value = {**known, "draws": draws}.get(name, least)
        if value < least:
            raise UsageError(f"`{name}=` takes a number from {least} up, not {value}")
    if not 0 < known.get("target_accept", 0.5) < 1:
        accept = known["target_accept"]
        raise UsageError(f"`target_accept=` takes a number between 0 and 1, not {accept}")
    plan = NutsPlan(**{name: known[name] for name in NutsPlan._fields if name in known}, seed=seed)
    steps, folder = known.get("steps", 10_000), known.get("checkpoint")
    return PosteriorOptions(plan, draws, steps, folder, resume, progress)


def numpyro_text(graph: Graph) -> str:
    """The model function as text, by which runs are told apart."""
    return program_text(lower_program(graph, model_parts, RESERVED))


class NumpyroModel:
    """`run` is the NumPyro model, a function of data; `model` is what it is written from."""

    def __init__(self, model: Any):
        self.model = model
        self.graph: Graph = model.graph
        self.sites = find_sites(self.graph)
        self._in_sum = frozenset({*self.sites.touched, *self.sites.hidden})

    @cached_property
    def run(self) -> Callable[[Mapping[str, Any]], None]:
        graph = self.graph
        given: Values = {
            "numpyro": numpyro,
            "supports": {
                n.name: constraints.nonnegative_integer if n.type.whole else constraint_of(n.type)
                for n in graph.of_kind(Kind.DRAW, Kind.PARAMETER)
            },
            "flat": lambda support, shape: ImproperUniform(support, (), shape),
            "eliminate": self.eliminate,
            **{law.__name__: law for law in (Written, Ordered, Joint, Hidden)},
        }
        program = lower_program(graph, model_parts, RESERVED)
        return run_program(program, self.model.externs, given)["model"]

    def eliminate(self, data: Mapping[str, Any], known: Values) -> Any:
        """log of the sum over hidden draws of all that depends on them."""
        finite, groups, constant = self._tables(data, known)
        return finite.engine.log_partition([*groups, constant[None]], finite.evidence({}))

    def _tables(self, data: Mapping[str, Any], known: Values) -> tuple[Finite, list[Any], Any]:
        """The terms of hidden draws as the engine takes them, and the sum of the others."""
        params = {node.name: known[node.name] for node in self.graph.of_kind(Kind.PARAMETER)}
        seen = {n.name: known[n.name] for n in self.graph.of_kind(Kind.DRAW) if n.observed}
        values = {name: value for name, value in known.items() if name not in {*params, *seen}}
        part = self.model.questions.known(params, {**data, **seen}, values)
        groups: list[Any] = []
        constant = jnp.zeros(())
        grounded = part.finite.grounded
        for term, own, table in zip(grounded.terms, grounded.groups, part.term_tables, strict=True):
            if not term.slots and term.name in self._in_sum:
                constant += jnp.sum(table)
            array = jnp.asarray(table, float)
            groups += [tables_of(group, array, len(term.binders), jnp) for group in own]
        return part.finite, groups, constant

    def log_likelihood(self, data: Mapping[str, Any], values: Values) -> Values:
        """The log density of every observed node given one draw, by independent element."""
        sites = trace(substitute(lambda: self.run(data), data=values)).get_trace()
        seen = [node.name for node in self.graph.of_kind(Kind.DRAW) if node.observed]
        alone = [name for name in seen if name not in self.sites.touched]
        found = {name: sites[name]["fn"].log_prob(sites[name]["value"]) for name in alone}
        if self.sites.carrier and all(self.graph[name].observed for name in self.sites.touched):
            found[self.sites.carrier] = self._summed_likelihood(data, values)
        return found

    def _summed_likelihood(self, data: Mapping[str, Any], values: Values) -> Any:
        """The sum over each hidden draw where they stand alone, else over all."""
        nodes = self.graph.of_kind(Kind.DRAW, Kind.PARAMETER)
        visible = [node.name for node in nodes if node.name not in self.sites.hidden]
        known = {name: values[name] if name in values else data[name] for name in visible}
        finite, groups, constant = self._tables(data, known)
        shape = self._own_places(finite)
        if shape is None:
            return finite.engine.log_partition([*groups, constant[None]], finite.evidence({}))
        counts = jnp.asarray(finite.structure.sizes)[:, None]
        is_state = jnp.arange(finite.structure.most_states) < counts
        scores = jnp.where(is_state, 0.0, -jnp.inf)
        for group, table in zip(finite.structure.groups, groups, strict=False):
            scores = scores.at[group.scopes[:, 0], : table.shape[1]].add(table)
        return jnp.reshape(jax.nn.logsumexp(scores, axis=1), shape)

    def _own_places(self, finite: Finite) -> tuple[int, ...] | None:
        """The shape of the one hidden node, if its elements share no table."""
        groups = finite.structure.groups[:-1]
        if len(self.sites.hidden) != 1 or any(group.scopes.shape[1] != 1 for group in groups):
            return None
        (name,) = self.sites.hidden
        assert self.sites.carrier is not None
        own, outer = self.graph[name].type.shape, self.graph[self.sites.carrier].type.shape
        covered = all(term.slots for term in finite.grounded.terms if term.name in self._in_sum)
        is_prefix = own == outer[: len(own)] and covered
        return finite.grounded.shapes[name] if is_prefix and len(self.sites.touched) == 1 else None

    def predict(self, data: Mapping[str, Any], values: Values, key: Any) -> Values:
        """New observations given one draw; hidden draws are new, too."""
        seen = {node.name: node.type for node in self.graph.of_kind(Kind.DRAW) if node.observed}
        blank = {name: value for name, value in data.items() if name not in seen}
        sites = trace(seed(substitute(lambda: self.run(blank), data=values), key)).get_trace()
        found = {name: sites[name]["value"] for name in seen}
        for name, type_ in seen.items():
            if isinstance(type_.domain, Bool):
                found[name] = jnp.asarray(found[name], bool)  # NumPyro has whole numbers for these
        return found
