"""A graph as a NumPyro model that runs: its density, its likelihoods and its predictions."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
from numpyro.distributions import ImproperUniform, constraints
from numpyro.handlers import seed, substitute, trace

from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.types import Bool
from dpc.dsl.lower.emit import program_text
from dpc.dsl.lower.program import lower_program
from dpc.dsl.lower.run import run_program
from dpc.inference.mcmc.distributions import Hidden, Joint, Ordered, Written

from ..finite.finite import Finite
from ..model.constraints import constraint_of
from ..model.model import Model
from .write import RESERVED, find_sites, model_parts

Values = dict[str, Any]


def numpyro_text(graph: Graph) -> str:
    """The model function as text, by which runs are told apart."""
    return program_text(lower_program(graph, model_parts, RESERVED))


class NumpyroModel:
    """`run` is the NumPyro model, a function of data; `model` is what it is written from."""

    def __init__(self, model: Model):
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
        finite, *tables = self._tables(data, known)
        return finite.engine.log_partition(*tables)

    def _tables(self, data: Mapping[str, Any], known: Values) -> tuple[Finite, list[Any], Any]:
        """The terms of hidden draws as the engine takes them, the sum of the others last."""
        params = {node.name: known[node.name] for node in self.graph.of_kind(Kind.PARAMETER)}
        seen = {n.name: known[n.name] for n in self.graph.of_kind(Kind.DRAW) if n.observed}
        values = {name: value for name, value in known.items() if name not in {*params, *seen}}
        part = self.model.questions.known(params, {**data, **seen}, values)
        return part.tables(self._in_sum)

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
        finite, groups, evidence = self._tables(data, known)
        shape = self._own_places(finite)
        if shape is None:
            return finite.engine.log_partition(groups, evidence)
        counts = jnp.asarray(finite.structure.sizes)[:, None]
        is_state = jnp.arange(finite.structure.most_states) < counts
        scores = jnp.where(is_state, 0.0, -jnp.inf)
        for group, table in zip(finite.structure.groups[:-1], groups[:-1], strict=True):
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
        shape = finite.variables.by_name[name].shape
        return shape if is_prefix and len(self.sites.touched) == 1 else None

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
