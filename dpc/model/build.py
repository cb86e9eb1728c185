"""Programs to take away: a readable Python file, or one function as a jaxpr or as StableHLO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..exits import UsageError
from .constraints import known_inputs

if TYPE_CHECKING:
    from .model import Model

FUNCTIONS = ("log_prob", "evaluate", "objective", "sample")
FORMS = ("python", "jaxpr", "stablehlo")


def build(model: Model, emit: str, function: str, params: Any, data: Any, seed: int) -> bytes:
    if emit not in FORMS:
        raise UsageError(f"`emit=` takes {', '.join(FORMS)}, not {emit}")
    if emit == "python":
        return model.program.encode()
    import jax

    traced, arguments = _traced(model, function, params, data, seed)
    if emit == "jaxpr":
        return f"{jax.make_jaxpr(traced)(*arguments)}\n".encode()
    # A serialized jax.export.Exported: `jax.export.deserialize(content).call(...)` runs it
    # without dpc.
    from jax import export

    return bytes(export.export(jax.jit(traced))(*arguments).serialize())


def _traced(
    model: Model, name: str, params: Any, data: Any, seed: int
) -> tuple[Any, tuple[Any, ...]]:
    """The function as one of arrays alone, and arguments of the shapes that it will get."""
    import jax

    sources = model._sources(data)
    params, data = known_inputs(model, params or {}, sources, seed, partial=True)
    key = jax.random.key_data(jax.random.key(seed))

    def draw(key: Any, params: Any) -> Any:
        return model.sample(jax.random.wrap_key_data(key), params, data)

    if name == "sample":
        return draw, (key, params)
    values = _example_values(model, data, lambda: draw(key, params))
    seen = {k: v for k, v in values.items() if model.graph[k].observed and k not in data.arrays}

    def function(params: Any, values: Any, arrays: Any) -> Any:
        whole = {**data.sizes, **arrays}
        if name == "log_prob":
            return model.log_prob(params, values, whole)
        ask = model.value if name == "objective" else model.evaluate
        return ask(params, whole, values)

    return function, (params, values, {**data.arrays, **seen})


def _example_values(model: Model, data: Any, draw: Any) -> dict[str, Any]:
    """Only the shapes matter: a draw where there is an order to draw in, zeros for a field."""
    import jax.numpy as jnp

    fields = [node for node in model.graph.nodes if node.undirected]
    if fields:
        shapes = {n.name: [data.sizes[str(axis)] for axis in n.type.shape] for n in fields}
        return {name: jnp.zeros(shape, int) for name, shape in shapes.items()}
    return draw() if any(node.random for node in model.graph.nodes) else {}
