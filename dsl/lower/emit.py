"""The printed program: a module as a person would write it, needing only jax and numpyro."""

from textwrap import wrap

from ..graph.graph import Graph, Kind, Node
from ..graph.typed import Function
from ..graph.types import Bool, Real, Type
from ..library.bodies.source import helper_source, helpers, with_uses
from . import code as py
from .expressions import lower
from .nodes import dtype_of
from .printer import WIDTH, print_statements
from .program import LoweredProgram, lower_program
from .scope import Needs, Scope, parameter_names

EXAMPLE_SIZE = 5
STANDARD = {"Callable": "from collections.abc import Callable", "Any": "from typing import Any"}
OTHERS = {
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "dist": "import numpyro.distributions as dist",
    "lax": "from jax import lax",
}
ARRAYS = py.assign("Arrays", py.index(py.name("dict"), py.name("str"), py.name("jax.Array")))


def program_text(program: LoweredProgram) -> str:
    """The functions alone: what the compiler itself runs, to be read or compared."""
    return print_statements([*program.dims, *_tables(program), *program.functions]) + "\n"


def emit_module(graph: Graph, introduction: str) -> str:
    """The whole file: what it is, its dims and parameters, its functions, and a run of them."""
    program = lower_program(graph)
    # Defaults of the data, and arrays of the right shape where there are none, to try it with.
    given = [n for n in graph.nodes if n.kind is Kind.INPUT or n.observed]
    inputs = [n for n in given if n.kind is Kind.INPUT]
    seen = {axis for n in inputs for axis in n.type.shape}
    unseen = [d for d in graph.dims if d.size is None and d not in seen]
    rows = [(n.name, _example(n, program)) for n in given]
    examples = rows + [(dim.name, py.const(EXAMPLE_SIZE)) for dim in unseen]
    data = [py.assign("DATA", py.record(examples))] if examples else []
    top = [program.dims, _tables(program), [ARRAYS], data]
    stubs = [_stub(function, program) for function in graph.functions if function.body is None]
    main = _main(graph, program, py.name("DATA") if examples else py.record([]))
    trees = [*(line for part in top for line in part), *stubs, *program.functions, main]
    sections = [
        "\n\n".join(print_statements(part) for part in top if part),
        print_statements(stubs),
        helper_source(program.helpers).strip("\n") if program.helpers else "",
        print_statements([*program.functions, main]),
    ]
    used = py.names_read(trees)
    for helper in with_uses(program.helpers):
        used |= helpers()[helper].reads if helper in helpers() else set()
    groups = ([line for key, line in rows.items() if key in used] for rows in (STANDARD, OTHERS))
    head = [
        print_statements([_docstring(graph, introduction)]),
        "from __future__ import annotations",
        "\n\n".join("\n".join(group) for group in groups if group),
    ]
    return "\n\n".join(head) + "\n\n" + "\n\n\n".join(filter(None, sections)) + "\n"


def _docstring(graph: Graph, introduction: str) -> py.Statement:
    lines = [part for line in introduction.splitlines() for part in wrap(line, WIDTH - 3)]
    lines = lines or [f"The model {graph.name}."]
    return py.do(py.const("\n".join([*lines, "", "Written by dpc; edit it as you like.\n"])))


def _tables(program: LoweredProgram) -> list[py.Statement]:
    """Nested lists, not arrays: the precision is that of JAX where they are used."""
    return [py.assign(key, py.nested(numbers)) for key, numbers in program.constants.items()]


def _stub(function: Function, program: LoweredProgram) -> py.Statement:
    """A place for a function that the caller binds."""
    names = parameter_names(function, frozenset())
    types = ", ".join(str(type_) for _, type_ in function.parameters)
    return py.define(
        program.names[function.name],
        [*names.values()],
        [py.fail("TypeError", f"{function.name} is yours to write")],
        f"Yours to write: from {types} to {function.result}.",
        dict.fromkeys(names.values(), "jax.Array"),
        "jax.Array",
    )


def _example(node: Node, program: LoweredProgram) -> py.Code:
    if node.default is not None:
        value = lower(node.default, Scope(program.names, Needs())).code
        return _filled(node.type, value, bool(node.default.type.shape))
    plain: dict[type, bool | float] = {Bool: False, Real: 1.0}
    return _filled(node.type, py.const(plain.get(type(node.type.domain), 0)), False)


def _filled(type_: Type, value: py.Code, is_array: bool) -> py.Code:
    dtype = py.name(dtype_of(type_))
    if is_array or not type_.shape:
        return py.call("jnp.asarray", value, dtype)
    shape = py.pack(py.const(axis.size or EXAMPLE_SIZE) for axis in type_.shape)
    return py.call("jnp.full", shape, value, dtype)


def _main(graph: Graph, program: LoweredProgram, data: py.Code) -> py.Statement:
    """What `python out.py` shows."""
    lines = [py.assign("params", py.call("init", data))]
    observed = [n.name for n in graph.nodes if n.observed and n.pieces]
    if "sample" in program.defined:
        key = py.call("jax.random.key", py.const(0))
        lines.append(py.assign("values", py.call("sample", key, py.name("params"), data)))
        lines.append(py.do(py.call("print", py.const("one draw:"), py.name("values"))))
        if observed:
            drawn = py.record((each, py.entry("values", each)) for each in observed)
            lines.append(py.assign("data", py.infix(data, "|", drawn)))
            data = py.name("data")
    else:
        undirected = [n for n in graph.nodes if n.undirected]
        zeros = py.record((n.name, _filled(n.type, py.const(0), False)) for n in undirected)
        lines.append(py.assign("values", zeros))
    for each in ("log_prob", "evaluate", "objective"):
        if each in program.defined:
            found = py.call(each, py.name("params"), py.name("values"), data)
            lines.append(py.do(py.call("print", py.const(f"{each}:"), found)))
    return py.when_run(lines)
