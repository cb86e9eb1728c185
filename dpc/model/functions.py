"""The functions of a model's program, compiled when they are first asked for."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from dpc.dsl.graph.graph import Graph
from dpc.dsl.graph.passes.parts import draws_given
from dpc.dsl.lower.run import run_graph

from ..data.bound import Data
from ..exits import UsageError
from .constraints import known_inputs
from .model import Model

Sizes = tuple[tuple[str, int], ...]


def compiled(function: Callable[..., Any], **static: Any) -> Callable[..., Any]:
    """A function of data, last, as one of arrays and, by name, of static values."""

    def run(*arguments: Any, sizes: Sizes, **options: Any) -> Any:
        *others, arrays = arguments
        return function(*others, {**arrays, **dict(sizes)}, **options)

    return jax.jit(run, static_argnames=("sizes", *static), inline=True)


def split_data(data: Mapping[str, Any], dims: frozenset[str]) -> tuple[dict[str, Any], Sizes]:
    """Arrays, and the sizes of dims; a size that is traced stays among the arrays."""
    if isinstance(data, Data):
        return data.arrays, data.layout.sizes
    static = {name for name in data if name in dims and not isinstance(data[name], jax.core.Tracer)}
    sizes = tuple((name, int(data[name])) for name in data if name in static)
    return {name: data[name] for name in data if name not in static}, sizes


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
        self.dims = frozenset(dim.name for dim in graph.dims)
        self._compiled: dict[tuple[str, Any], Callable[..., Any]] = {}

    @cached_property
    def defined(self) -> dict[str, Any]:
        """What the program defines, by name; not yet compiled."""
        return self.load(self.graph)

    def load(self, graph: Graph) -> dict[str, Any]:
        return run_graph(graph, self.externs)

    def call(self, name: str, *arguments: Any, data: Mapping[str, Any] | None) -> Any:
        """A function of the program, or a derivative of the objective."""
        if (name, NOTHING) not in self._compiled:
            needed, transform = DERIVATIVES.get(name, (name, lambda function: function))
            if needed not in self.defined:
                raise UsageError(f"the model {self.graph.name!r} {MISSING[needed]}")
            self._compiled[name, NOTHING] = compiled(transform(self.defined[needed]))
        arrays, sizes = split_data(data or {}, self.dims)
        return self._compiled[name, NOTHING](*arguments, arrays, sizes=sizes)

    def sample(
        self, key: Any, params: Values, data: Mapping[str, Any], n: int | None, given: Values
    ) -> Values:
        """Draws of all random variables that are not given, parents before children (DI27)."""
        arrays, sizes = split_data(data, self.dims)
        names = frozenset(given)
        if ("sample", names) not in self._compiled:
            functions = self.load(draws_given(self.graph, names)) if given else self.defined
            if "sample" not in functions:
                raise UsageError("nothing in this model is random")
            self._compiled["sample", names] = compiled(many(functions["sample"]), n=None)
        draw = self._compiled["sample", names]
        found: Values = draw(key, params, {**arrays, **given}, sizes=sizes, n=n)
        return found

    def sizes(self, data: Mapping[str, Any]) -> Sizes:
        """The size of every dim, from the file, from the data or from the arrays that have it."""
        found = {dim.name: dim.size for dim in self.graph.dims if dim.size is not None}
        for node in self.graph.nodes:
            if node.name in data:
                shape = jnp.shape(data[node.name])
                pairs = zip(node.type.shape, shape, strict=False)
                found |= {axis.name: n for axis, n in pairs if hasattr(axis, "name")}
        found |= {name: int(data[name]) for name in self.dims if name in data}
        return tuple(sorted(found.items()))

    def with_sizes(self, data: Mapping[str, Any]) -> Values:
        """Arrays and sizes together, as programs take them."""
        arrays, _ = split_data(data, self.dims)
        return {**arrays, **dict(self.sizes(data))}


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
    """The function as one of arrays alone, and arguments of the shapes that it will get."""
    sources = model._sources(data)
    params, data = known_inputs(model, params or {}, sources, seed, partial=True)
    key = jax.random.key_data(jax.random.key(seed))

    def draw(key: Any, params: Any) -> Any:
        return model.sample(jax.random.wrap_key_data(key), params, data)

    if name == "sample":
        return draw, (key, params)
    # Only the shapes matter: a draw where there is an order to draw in, zeros for a field.
    values: Values = {}
    if fields := [node for node in model.graph.nodes if node.undirected]:
        shapes = {n.name: [data.sizes[str(axis)] for axis in n.type.shape] for n in fields}
        values = {name: jnp.zeros(shape, int) for name, shape in shapes.items()}
    elif any(node.random for node in model.graph.nodes):
        values = draw(key, params)
    seen = {k: v for k, v in values.items() if model.graph[k].observed and k not in data.arrays}

    def function(params: Any, values: Any, arrays: Any) -> Any:
        whole = {**data.sizes, **arrays}
        if name == "log_prob":
            return model.log_prob(params, values, whole)
        ask = model.value if name == "objective" else model.evaluate
        return ask(params, whole, values)

    return function, (params, values, {**data.arrays, **seen})
