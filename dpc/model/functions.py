"""The functions of a model's program, compiled when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.passes.parts import draws_given
from dpc.dsl.lower.run import run_graph

from ..exits import UsageError
from .check import is_upstream
from .constraints import known_inputs
from .model import Model
from .numbers import verify_density, verify_draws
from .recent import Recent
from .room import entries_of, verify_room
from .values import CheckedData, Sizes, ValueReader, is_one_value

if TYPE_CHECKING:
    from ..finite.finite import FinitePart


def compiled(function: Callable[..., Any], **static: Any) -> Callable[..., Any]:
    """A function of data, last, as one of arrays and, by name, of static values."""

    def run(*arguments: Any, sizes: Sizes, **options: Any) -> Any:
        *others, arrays = arguments
        return function(*others, {**arrays, **dict(sizes)}, **options)

    return jax.jit(run, static_argnames=("sizes", *static), inline=True)


def many(draw: Callable[..., Any]) -> Callable[..., Any]:
    """`n` draws along a new first axis, or one without it."""

    def draws(key: Any, params: Any, data: Any, n: int | None) -> Any:
        if n is None:
            return draw(key, params, data)
        return jax.vmap(lambda k: draw(k, params, data))(jax.random.split(key, n))

    return draws


def _jvp(objective: Callable[..., Any]) -> Callable[..., Any]:
    def along(params: Any, direction: Any, values: Any, data: Any) -> Any:
        return jax.jvp(lambda p: objective(p, values, data), (params,), (direction,))

    return along


def _hvp(objective: Callable[..., Any]) -> Callable[..., Any]:
    def product(params: Any, direction: Any, values: Any, data: Any) -> Any:
        return jax.jvp(lambda p: jax.grad(objective)(p, values, data), (params,), (direction,))[1]

    return product


DERIVATIVES: dict[str, tuple[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "gradient": ("objective", jax.grad),
    "hessian": ("objective", jax.hessian),
    "jvp": ("objective", _jvp),
    "hvp": ("objective", _hvp),
}


Values = dict[str, Any]
NOTHING: frozenset[str] = frozenset()
MISSING = {
    "log_prob": "has no density: nothing in it is random",
    "evaluate": "computes nothing",
    "objective": "has no objective",
}


class Functions:
    """Functions of a graph, and derivatives of its objective, on dictionaries by name."""

    def __init__(self, graph: Graph, externs: Mapping[str, Callable[..., Any]]):
        self.graph = graph
        self.externs = dict(externs)
        self._compiled = Recent[Callable[..., Any]]()

    @cached_property
    def defined(self) -> dict[str, Any]:
        """What the program defines, by name; not yet compiled."""
        return self.load(self.graph)

    def load(self, graph: Graph) -> dict[str, Any]:
        return run_graph(graph, self.externs)

    def call(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        values: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        direction: Mapping[str, Any] | None = None,
    ) -> Any:
        """A function of the program, or a derivative of the objective (along a direction)."""
        needed, transform = DERIVATIVES.get(name, (name, lambda function: function))
        if needed not in self.defined:
            raise UsageError(f"the model {self.graph.name!r} {MISSING[needed]}")
        reader = ValueReader(self.graph, data)
        read = self.read(needed, reader, params or {}, values or {})
        if direction is not None:
            nodes = {node.name: node for node in self.graph.parameters}
            along = {n: reader.direction(nodes[n], d) for n, d in direction.items()}
            read = [read[0], along, *read[1:]]
        make = lambda: compiled(transform(self.defined[needed]))  # noqa: E731
        found = self._compiled.get((name, NOTHING), make)(
            *read, reader.arrays, sizes=reader.given_sizes
        )
        if name != "log_prob":
            return reader.or_outside(found, jnp.nan)
        found = reader.or_outside(found, -jnp.inf)
        verify_density(self.graph, found)
        return found

    def read(
        self, name: str, reader: ValueReader, params: Mapping[str, Any], values: Mapping[str, Any]
    ) -> list[Values]:
        """What a function of the program takes besides data, checked."""
        if name == "init":
            return []
        kinds = {"log_prob": (Kind.DRAW, Kind.FACTOR), "objective": (Kind.COST,)}
        asked = [node.name for node in self.graph.of_kind(*kinds.get(name, (Kind.FUNCTION,)))]
        above = self.graph.ancestors(asked)
        is_random = any(self.graph[n].kind is Kind.DRAW for n in above)
        draws = reader.draws(values, whole=is_random)
        reader.require(sorted(above), draws)
        # The program looks for what is observed among the data.
        seen = {name: value for name, value in draws.items() if self._is_observed(name)}
        reader.arrays |= seen
        return [reader.parameters(params), {n: v for n, v in draws.items() if n not in seen}]

    def draws_in_order(self, given: Mapping[str, Any]) -> bool:
        """Whether parents can be drawn before children: what is given is all upstream, and known
        as it is.
        """
        if any(node.undirected for node in self.graph.nodes):
            return False
        if not is_upstream(self.graph, frozenset(given)):
            return False
        return all(is_one_value(self.graph[name], value) for name, value in given.items())

    def sample(
        self,
        key: Any,
        params: Mapping[str, Any] | None,
        data: Mapping[str, Any] | None,
        n: int | None,
        given: Mapping[str, Any],
    ) -> Values:
        """Draws of all random variables that are not given, parents before children (DI27)."""
        reader, names = ValueReader(self.graph, data), frozenset(given)
        known_sizes = {name: size for name, (size, _) in reader.sizes.items()}
        verify_room(n or 1, "draws", entries_of(self.graph, known_sizes))
        read = [reader.parameters(params), reader.draws(given, whole=False)]
        draws = [node.name for node in self.graph.of_kind(Kind.DRAW)]
        above = self.graph.ancestors([n for n in draws if n not in given], names)
        reader.require([n for n in sorted(above) if n not in draws], {})
        if draws and names.issuperset(draws):
            return {}

        def make() -> Callable[..., Any]:
            functions = self.load(draws_given(self.graph, names)) if given else self.defined
            if "sample" not in functions:
                raise UsageError("nothing in this model is random")
            return compiled(many(functions["sample"]), n=None)

        draw = self._compiled.get(("sample", names), make)
        arrays = {**reader.arrays, **read[1]}
        drawn = draw(key, read[0], arrays, sizes=reader.given_sizes, n=n)
        found: Values = reader.or_outside(drawn, jnp.nan)
        verify_draws(self.graph, found)
        return found

    def sample_rest(
        self,
        key: Any,
        part: FinitePart,
        data: Mapping[str, Any] | None,
        n: int | None,
        given: Mapping[str, Any],
    ) -> Values:
        """Exact draws of the finite variables, then of what is drawn below them."""
        first, second = jax.random.split(key)
        drawn = part.sample(first, n)
        nodes = self.graph.of_kind(Kind.DRAW)
        found = drawn
        if not any(node.undirected for node in nodes):
            inputs = {k: v for k, v in (data or {}).items() if not self._is_observed(k)}
            known = {name: part.values[name] for name in part.values}
            seen = {k: v for k, v in part.arrays.items() if self._is_observed(k)}

            def below(key: Any, drawn: Values) -> Values:
                own = {**known, **seen, **drawn}
                return {**drawn, **self.sample(key, part.params, inputs, None, own)}

            if len(known) + len(seen) + len(drawn) < len(nodes):
                keys = second if n is None else jax.random.split(second, n)
                found = below(keys, drawn) if n is None else jax.vmap(below)(keys, drawn)
                verify_draws(self.graph, found)
        exactly = {k for k, v in given.items() if k in self.graph.by_name}
        exactly = {k for k in exactly if is_one_value(self.graph[k], given[k])}
        return {name: value for name, value in found.items() if name not in exactly}

    def _is_observed(self, name: str) -> bool:
        return name in self.graph.by_name and self.graph[name].observed

    def sizes(self, data: Mapping[str, Any]) -> Sizes:
        """The size of every dim, from the file, from the data or from the arrays that have it."""
        found = {dim.name: dim.size for dim in self.graph.dims if dim.size is not None}
        for node in self.graph.nodes:
            if node.name in data:
                shape = jnp.shape(data[node.name])
                pairs = zip(node.type.shape, shape, strict=False)
                found |= {axis.name: n for axis, n in pairs if hasattr(axis, "name")}
        dims = {dim.name for dim in self.graph.dims}
        found |= {name: int(data[name]) for name in dims if name in data}
        return tuple(sorted(found.items()))

    def with_sizes(self, data: Mapping[str, Any]) -> Values:
        """Arrays and sizes together, as programs take them."""
        return {**ValueReader(self.graph, data).arrays, **dict(self.sizes(data))}


FORMS = ("python", "jaxpr", "stablehlo")


def build(model: Model, emit: str, function: str, params: Any, data: Any, seed: int) -> bytes:
    """A program to take away: a Python file, or one function as a jaxpr or as StableHLO."""
    if emit not in FORMS:
        raise UsageError(f"`emit=` takes {', '.join(FORMS)}, not {emit}")
    if emit == "python":
        return model.program.encode()
    traced, arguments = _traced(model, function, params, data, seed)
    if emit == "jaxpr":
        return f"{jax.make_jaxpr(traced)(*arguments)}\n".encode()
    # A serialized Exported: `jax.export.deserialize(content).call(...)` runs it without dpc.
    from jax import export

    return bytes(export.export(jax.jit(traced))(*arguments).serialize())


def _traced(
    model: Model, name: str, params: Any, data: Any, seed: int
) -> tuple[Any, tuple[Any, ...]]:
    """The method as a function of arrays alone, its arguments in the same order, and arguments of
    the shapes that it will get. A key is one of `jax.random.key_data`.
    """
    sources = model._sources(data)
    params, data = known_inputs(model, params or {}, sources, seed, partial=True)
    key = jax.random.key_data(jax.random.key(seed))

    def draw(key: Any, params: Any, arrays: Any) -> Any:
        known = CheckedData({**data.sizes, **arrays})
        return model.sample(jax.random.wrap_key_data(key), params, known)

    if name == "sample":
        return draw, (key, params, data.arrays)
    # Only the shapes matter: a draw where there is an order to draw in, zeros for a field.
    values: Values = {}
    if fields := [node for node in model.graph.nodes if node.undirected]:
        shapes = {n.name: [data.sizes[str(axis)] for axis in n.type.shape] for n in fields}
        values = {name: jnp.zeros(shape, int) for name, shape in shapes.items()}
    elif any(node.random for node in model.graph.nodes):
        values = draw(key, params, data.arrays)
    observed = {n for n in values if model.graph[n].observed}
    arrays = {**{k: v for k, v in values.items() if k in observed}, **data.arrays}
    values = {k: v for k, v in values.items() if k not in observed}

    def density(params: Any, values: Any, arrays: Any) -> Any:
        return model.log_prob(params, values, CheckedData({**data.sizes, **arrays}))

    def function(params: Any, arrays: Any, values: Any) -> Any:
        ask = model.value if name == "objective" else model.evaluate
        return ask(params, CheckedData({**data.sizes, **arrays}), values)

    if name == "log_prob":
        return density, (params, values, arrays)
    return function, (params, arrays, values)
