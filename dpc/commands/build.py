"""dpc build: the model as a program, or what the compiler makes of it on the way there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from dpc.commands.inputs import add_input_arguments, bind_inputs, load_model, read_annotations
from dpc.commands.models import load_graph, load_typed, read_model
from dpc.dsl.diagnostics import DpError
from dpc.dsl.files import write_whole
from dpc.dsl.parser import parse_program
from dpc.dsl.show import show_graph, show_record, show_typed
from dpc.exits import OK, UsageError

FUNCTIONS = ("log_prob", "evaluate", "objective", "sample")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: standard output)")
    parser.add_argument("--emit", choices=EMITTERS, default="python", help="the form of the program (default python)")
    parser.add_argument(
        "--function", choices=FUNCTIONS, default="log_prob", help="which function, for jaxpr and stablehlo"
    )
    parser.add_argument("--dump", choices=STAGES, help="print a stage of the compiler instead")


def run(args: argparse.Namespace) -> int:
    content = (
        STAGES[args.dump](args.path, read_annotations(args.set)).encode() + b"\n"
        if args.dump
        else EMITTERS[args.emit](args)
    )
    if args.output is None:
        sys.stdout.buffer.write(content)
    else:
        try:
            write_whole(args.output, content)
        except OSError as error:
            raise UsageError(f"cannot write {args.output}: {error.strerror or error}") from None
    return OK


# ---- programs


def _emit_python(args: argparse.Namespace) -> bytes:
    from dpc.dsl.embed.load import introduction_of
    from dpc.dsl.lower.emit import emit_module

    graph = load_graph(args.path, read_annotations(args.set))
    text: str = emit_module(graph, introduction_of(graph.source))
    return text.encode()


def _traced(args: argparse.Namespace) -> tuple[Any, tuple[Any, ...]]:
    """The chosen function as a function of arrays alone, and arguments of the shapes that it will get."""
    import jax

    model = load_model(args.path, args.set)
    params, data = bind_inputs(model, args, partial=True)
    key = jax.random.key_data(jax.random.key(args.seed))
    draw = lambda key, params: model.sample(jax.random.wrap_key_data(key), params, data)  # noqa: E731
    if args.function == "sample":
        return draw, (key, params)
    values = _example_values(model, params, data, draw, key)
    given = {**data.arrays, **{k: v for k, v in values.items() if model.graph[k].observed and k not in data.arrays}}

    def function(params: Any, values: Any, arrays: Any) -> Any:
        whole = {**data.sizes, **arrays}
        if args.function == "log_prob":
            return model.log_prob(params, values, whole)
        return getattr(model, "value" if args.function == "objective" else "evaluate")(params, whole, values)

    return function, (params, values, given)


def _example_values(model: Any, params: Any, data: Any, draw: Any, key: Any) -> dict[str, Any]:
    """Only the shapes matter: a draw where there is an order to draw in, zeros for a random field."""
    import jax.numpy as jnp

    if any(node.undirected for node in model.graph.nodes):
        sized = {n.name: [data.sizes[str(a)] for a in n.type.shape] for n in model.graph.nodes if n.undirected}
        return {name: jnp.zeros(shape, int) for name, shape in sized.items()}
    return draw(key, params) if any(n.random for n in model.graph.nodes) else {}


def _emit_jaxpr(args: argparse.Namespace) -> bytes:
    import jax

    function, arguments = _traced(args)
    return f"{jax.make_jaxpr(function)(*arguments)}\n".encode()


def _emit_stablehlo(args: argparse.Namespace) -> bytes:
    """A serialized jax.export.Exported: `jax.export.deserialize(content).call(...)` runs it without dpc."""
    import jax
    from jax import export

    if args.output is None:
        raise UsageError("stablehlo is not text: name a file with -o")
    function, arguments = _traced(args)
    return bytes(export.export(jax.jit(function))(*arguments).serialize())


EMITTERS = {"python": _emit_python, "jaxpr": _emit_jaxpr, "stablehlo": _emit_stablehlo}


# ---- stages


def _dump_syntax(path: str, settings: Mapping[str, str]) -> str:
    """As the file has it: annotations from outside come in when it is checked."""
    program, errors = parse_program(read_model(path))
    if errors:
        raise DpError(errors)
    return "\n".join(show_record(statement) for statement in program.statements)


def _dump_typed(path: str, settings: Mapping[str, str]) -> str:
    return show_typed(load_typed(path, settings))


def _dump_graph(path: str, settings: Mapping[str, str]) -> str:
    return show_graph(load_graph(path, settings))


STAGES = {"syntax": _dump_syntax, "typed": _dump_typed, "graph": _dump_graph}
