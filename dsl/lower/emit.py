"""The printed program: a module as a person would write it, needing only jax and numpyro."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from textwrap import wrap

from ..graph.graph import Graph, Kind, Node
from ..graph.typed import Function
from ..graph.types import Bool, Real, Type
from ..library.bodies.source import helper_source, helpers, with_uses
from .code import (
    Code,
    Statement,
    assign,
    call,
    const,
    define,
    do,
    entry,
    fail,
    index,
    infix,
    name,
    names_read,
    nested,
    pack,
    record,
    when_run,
)
from .expressions import lower
from .names import parameter_names
from .nodes import dtype_of
from .printer import WIDTH, print_statements
from .program import Program, lower_program
from .scope import Needs, Scope

EXAMPLE_SIZE = 5
STANDARD = {
    "Callable": "from collections.abc import Callable",
    "Any": "from typing import Any",
}
OTHERS = {
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "dist": "import numpyro.distributions as dist",
    "lax": "from jax import lax",
}
ARRAYS = assign("Arrays", index(name("dict"), name("str"), name("jax.Array")))


def program_text(program: Program) -> str:
    """The functions alone: what the compiler itself runs, to be read or compared."""
    return print_statements([*program.dims, *_tables(program), *program.functions]) + "\n"


def emit_module(graph: Graph, introduction: str) -> str:
    """The whole file: what it is, its dims and parameters, its functions, and a run of them."""
    program = lower_program(graph)
    examples = _examples(graph, program)
    data = [assign("DATA", record(examples))] if examples else []
    top = [program.dims, _tables(program), [ARRAYS], data]
    stubs = [_stub(function, program) for function in graph.functions if function.body is None]
    main = _main(graph, program, name("DATA") if examples else record([]))
    trees = [*(line for part in top for line in part), *stubs, *program.functions, main]
    sections = [
        "\n\n".join(print_statements(part) for part in top if part),
        print_statements(stubs),
        helper_source(program.helpers).strip("\n") if program.helpers else "",
        print_statements([*program.functions, main]),
    ]
    head = [
        print_statements([_docstring(graph, introduction)]),
        "from __future__ import annotations",
        _imports(trees, program),
    ]
    return "\n\n".join(head) + "\n\n" + "\n\n\n".join(filter(None, sections)) + "\n"


def _docstring(graph: Graph, introduction: str) -> Statement:
    lines = [part for line in introduction.splitlines() for part in wrap(line, WIDTH - 3)]
    lines = lines or [f"The model {graph.name}."]
    return do(const("\n".join([*lines, "", "Written by dpc; edit it as you like.\n"])))


def _imports(trees: Iterable[ast.AST], program: Program) -> str:
    used = names_read(trees)
    for helper in with_uses(program.helpers):
        used |= helpers()[helper].reads if helper in helpers() else set()
    groups = ([line for key, line in rows.items() if key in used] for rows in (STANDARD, OTHERS))
    return "\n\n".join("\n".join(group) for group in groups if group)


def _tables(program: Program) -> list[Statement]:
    """Nested lists, not arrays: the precision is that of JAX where they are used."""
    return [assign(key, nested(numbers)) for key, numbers in program.constants.items()]


def _stub(function: Function, program: Program) -> Statement:
    """A place for a function that the caller binds."""
    names = parameter_names(function, frozenset())
    types = ", ".join(str(type_) for _, type_ in function.parameters)
    return define(
        program.names[function.name],
        [*names.values()],
        [fail("TypeError", f"{function.name} is yours to write")],
        f"Yours to write: from {types} to {function.result}.",
        dict.fromkeys(names.values(), "jax.Array"),
        "jax.Array",
    )


# ---- values of the file


def _examples(graph: Graph, program: Program) -> list[tuple[str, Code]]:
    """Defaults of the data, and arrays of the right shape where there are none, to try it with."""
    given = [n for n in graph.nodes if n.kind is Kind.INPUT or n.observed]
    inputs = [n for n in given if n.kind is Kind.INPUT]
    unseen = [
        d for d in graph.dims if d.size is None and not any(d in n.type.shape for n in inputs)
    ]
    rows = [(n.name, _example(n, program)) for n in given]
    return rows + [(dim.name, const(EXAMPLE_SIZE)) for dim in unseen]


def _example(node: Node, program: Program) -> Code:
    if node.default is not None:
        value = lower(node.default, Scope(program.names, Needs())).code
        return _filled(node.type, value, bool(node.default.type.shape))
    plain: dict[type, bool | float] = {Bool: False, Real: 1.0}
    return _filled(node.type, const(plain.get(type(node.type.domain), 0)), False)


def _filled(type_: Type, value: Code, is_array: bool) -> Code:
    dtype = name(dtype_of(type_))
    if is_array or not type_.shape:
        return call("jnp.asarray", value, dtype)
    shape = pack(const(axis.size or EXAMPLE_SIZE) for axis in type_.shape)
    return call("jnp.full", shape, value, dtype)


# ---- a run


def _main(graph: Graph, program: Program, data: Code) -> Statement:
    """What `python out.py` shows."""
    lines = [assign("params", call("init", data))]
    observed = [n.name for n in graph.nodes if n.observed and n.pieces]
    if "sample" in program.defined:
        key = call("jax.random.key", const(0))
        lines.append(assign("values", call("sample", key, name("params"), data)))
        lines.append(do(call("print", const("one draw:"), name("values"))))
        if observed:
            drawn = record((each, entry("values", each)) for each in observed)
            lines.append(assign("data", infix(data, "|", drawn)))
            data = name("data")
    else:
        undirected = [n for n in graph.nodes if n.undirected]
        zeros = record((n.name, _filled(n.type, const(0), False)) for n in undirected)
        lines.append(assign("values", zeros))
    for each in ("log_prob", "evaluate", "objective"):
        if each in program.defined:
            found = call(each, name("params"), name("values"), data)
            lines.append(do(call("print", const(f"{each}:"), found)))
    return when_run(lines)
