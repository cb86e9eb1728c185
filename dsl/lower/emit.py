"""The printed program: a module that a person could have written, with jax and numpyro all it needs."""

from __future__ import annotations

import re
from textwrap import wrap as wrap_text

from ..graph import Graph, Kind, Node
from ..runtime.source import helper_source
from ..types import Bool, Real, Type
from .expressions import lower
from .nodes import dtype_text
from .program import Parts, Program, lower_program
from .scope import Needs, Scope
from .wrap import WIDTH, wrap_lines

EXAMPLE_SIZE = 5
IMPORTS = {
    "Callable": "from collections.abc import Callable",
    "Any": "from typing import Any",
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "dist": "import numpyro.distributions as dist",
    "lax": "from jax import lax",
}
ARRAYS = "Arrays = dict[str, jax.Array]"


def runnable(graph: Graph, parts: Parts | None = None, reserved: frozenset[str] = frozenset()) -> str:
    """The functions alone: what the compiler itself runs."""
    program = lower_program(graph, parts, reserved)
    return "\n".join(
        [*_imports(" ".join(IMPORTS)), ARRAYS, program.dims, _tables(program), _helpers(program), program.text]
    )


def emit_module(graph: Graph, introduction: str) -> str:
    """The whole file: what it is, its dims and parameters, its functions, and a run of them."""
    program = lower_program(graph)
    top = "\n\n".join(filter(None, [program.dims, _tables(program), ARRAYS, _constants(graph)]))
    body = [top, _externs(graph), _helpers(program), program.text, _main(graph, program)]
    text = "\n\n\n".join("\n".join(wrap_lines(part.strip("\n").split("\n"))) for part in body if part.strip())
    head = [_docstring(graph, introduction), "from __future__ import annotations", "\n".join(_imports(text))]
    return "\n\n".join(head) + "\n\n" + text.rstrip() + "\n"


def _docstring(graph: Graph, introduction: str) -> str:
    lines = [part for line in introduction.splitlines() for part in wrap_text(line, WIDTH - 3)]
    lines = lines or [f"The model {graph.name}."]
    text = "\n".join(line.replace("\\", "\\\\").replace('"""', "'''") for line in lines)
    return f'"""{text}\n\nWritten by dpc; edit it as you like.\n"""'


def _imports(text: str) -> list[str]:
    standard = [line for name, line in list(IMPORTS.items())[:2] if re.search(rf"\b{name}\b", text)]
    others = [line for name, line in list(IMPORTS.items())[2:] if re.search(rf"\b{name}\b", text)]
    return [*standard, *([""] if standard and others else []), *others]


def _helpers(program: Program) -> str:
    return helper_source(program.helpers) if program.helpers else ""


def _tables(program: Program) -> str:
    """Nested lists, not arrays: the precision is that of JAX where they are used."""
    return "\n".join(f"{name} = {numbers}" for name, numbers in program.constants.items())


def _externs(graph: Graph) -> str:
    """A place for every function that the caller binds."""
    parts = []
    for function in graph.functions:
        if function.body is None:
            arguments = ", ".join(f"{name}: jax.Array" for name, _ in function.parameters)
            types = ", ".join(str(type_) for _, type_ in function.parameters)
            parts.append(
                f"def {function.name}({arguments}) -> jax.Array:\n"
                f'    """Yours to write: from {types} to {function.result}."""\n'
                f'    raise TypeError("{function.name} is yours to write")'
            )
    return "\n\n\n".join(parts)


# ---- values of the file


def _scope(graph: Graph) -> Scope:
    return Scope({f"dim {dim.name}": dim.name for dim in graph.dims}, Needs())


def _constants(graph: Graph) -> str:
    """Defaults of the data, and arrays of the right shapes for what has none, to try the program with."""
    given = [n for n in graph.nodes if n.kind is Kind.INPUT or n.observed]
    rows = [f'    "{n.name}": {_example(n, graph)},' for n in given]
    inputs = [n for n in given if n.kind is Kind.INPUT]
    unseen = [d for d in graph.dims if d.size is None and not any(d in n.type.shape for n in inputs)]
    rows += [f'    "{dim.name}": {EXAMPLE_SIZE},' for dim in unseen]
    return "\n".join(["DATA = {", *rows, "}"]) if rows else ""


def _example(node: Node, graph: Graph) -> str:
    if node.default is not None:
        return _filled(node.type, lower(node.default, _scope(graph)).text, bool(node.default.type.shape))
    value = "False" if isinstance(node.type.domain, Bool) else "1.0" if isinstance(node.type.domain, Real) else "0"
    return _filled(node.type, value, False)


def _filled(type_: Type, text: str, is_array: bool) -> str:
    shape = [str(axis.size or EXAMPLE_SIZE) for axis in type_.shape]
    if is_array or not shape:
        return f"jnp.asarray({text}, {dtype_text(type_)})"
    return f"jnp.full(({', '.join(shape)}{',' if len(shape) == 1 else ''}), {text}, {dtype_text(type_)})"


# ---- a run


def _main(graph: Graph, program: Program) -> str:
    """What `python out.py` shows."""
    defined = set(re.findall(r"^def (\w+)", program.text, re.MULTILINE))
    data = "DATA" if _constants(graph) else "{}"
    lines = ['if __name__ == "__main__":', f"    params = init({data})"]
    observed = [n.name for n in graph.nodes if n.observed and n.pieces]
    if "sample" in defined:
        lines += [f"    values = sample(jax.random.key(0), params, {data})", '    print("one draw:", values)']
        if observed:
            lines.append(f"    data = {data} | {{name: values[name] for name in {observed!r}}}")
            data = "data"
    else:
        zeros = [f'"{n.name}": {_filled(n.type, "0", False)}' for n in graph.nodes if n.undirected]
        lines.append(f"    values = {{{', '.join(zeros)}}}")
    for name in ("log_prob", "evaluate", "objective"):
        if name in defined:
            lines.append(f'    print("{name}:", {name}(params, values, {data}))')
    return "\n".join(lines)
