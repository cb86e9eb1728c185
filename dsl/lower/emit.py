"""The printed program: a module as a person would write it, needing only jax and numpyro."""

import ast
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TypeAlias

from ..diagnostics import InternalError
from ..graph.graph import Graph, Kind, Node
from ..graph.typed import Function
from ..graph.types import Bool, Real, Type
from ..library.bodies.source import helper_source, helpers, with_uses
from ..record import Record
from . import code as py
from .expressions import lower
from .nodes import dtype_of
from .program import LoweredProgram, lower_program
from .scope import Needs, Scope, parameter_names

EXAMPLE_SIZE = 5
WIDTH = 100
INDENT = "    "
CLOSING = {"(": ")", "[": "]", "{": "}"}

_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_TOKEN = re.compile(
    rf"{_STRING}|[()\[\]{{}}:]|, ?|\blambda\b|(?:(?!\blambda\b)[^'\"()\[\]{{}}:,])+"
)
_NUMBER = re.compile(r"-?[\d.]+(e[-+]?\d+)?|True|False")
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


# ---- the one place where a tree of code becomes text, in lines of at most 100 columns
#
# Python itself writes a statement on one line, which is then read as words and brackets. A line
# that is too long opens its widest bracket, with one item to a line, and so on inside; many numbers
# share a line.


class BracketWords(Record):
    """`items` are separated by commas; `comma` says that one stands after a single item too."""

    opening: str
    items: "list[Words]"
    comma: bool

    @property
    def text(self) -> str:
        inside = ", ".join(map(_flat, self.items)) + "," * self.comma
        return f"{self.opening}{inside}{CLOSING[self.opening]}"


Words: TypeAlias = list[str | BracketWords]


def print_statements(body: Iterable[ast.stmt]) -> str:
    """Statements of a module; definitions are set apart by two empty lines."""
    return "\n".join(_body(list(body), "", 2))


def _body(body: Sequence[ast.stmt], indent: str, space: int = 1) -> Iterator[str]:
    """Empty lines stand around definitions."""
    before: ast.stmt | None = None
    for statement in body:
        definitions = [x for x in (before, statement) if isinstance(x, ast.FunctionDef | ast.If)]
        if before is not None and definitions and not _is_doc(before):
            yield from [""] * space
        if _is_doc(statement):
            yield from _doc_lines(statement.value.value, indent)  # type: ignore[attr-defined]
        elif isinstance(statement, ast.FunctionDef | ast.With | ast.If):
            fields = dict(ast.iter_fields(statement)) | {"body": [ast.Pass()], "lineno": 1}
            *headers, _ = _unparsed(type(statement)(**fields)).split("\n")
            for header in headers:
                yield from _lines(_words(header), indent)
            yield from _body(statement.body, indent + INDENT)
        else:
            is_table = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict)
            yield from _lines(_words(_simple(statement)), indent, opened=is_table and not indent)
        before = statement


def _simple(statement: ast.stmt) -> str:
    """As Python writes it, but for tuples returned or assigned to, which need no brackets."""
    if isinstance(statement, ast.Assign):
        (target,) = statement.targets
        return f"{_bare(target)} = {_unparsed(statement.value)}"
    if isinstance(statement, ast.Return) and statement.value:
        return f"return {_bare(statement.value)}"
    return _unparsed(statement)


def _bare(code: ast.expr) -> str:
    if isinstance(code, ast.Tuple) and len(code.elts) > 1:
        return ", ".join(map(_unparsed, code.elts))
    return _unparsed(code)


def _unparsed(tree: ast.AST) -> str:
    """The last guard: nothing but a plain identifier is written as a name."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name"):
            name = getattr(node, field, "x")
            is_plain = isinstance(name, str) and name.isascii() and name.isidentifier()
            if not is_plain or keyword.iskeyword(name):
                raise InternalError(f"{name!r} is no name of a program")
    return ast.unparse(tree)


def _is_doc(statement: ast.stmt) -> bool:
    found = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(found, ast.Constant) and isinstance(found.value, str)


def _doc_lines(text: str, indent: str) -> list[str]:
    """Lines as they are, of characters that cannot end the string or hide in it."""
    lines = []
    for line in text.split("\n"):
        escaped = ((char, char.encode("unicode_escape").decode()) for char in line)
        lines.append("".join(c if c.isprintable() and c != "\\" else code for c, code in escaped))
    whole = "\n".join(f"{indent}{line}".rstrip() for line in lines).lstrip()
    whole = whole.replace('"""', '\\"\\"\\"')
    if whole.endswith('"'):
        whole = f'{whole[:-1]}\\"'
    if len(lines) > 1:
        whole += f"\n{indent}" if not whole.endswith("\n") else indent
    return f'{indent}"""{whole}"""'.split("\n")


def _words(text: str) -> Words:
    (words,), _ = _read(iter(_TOKEN.findall(text)), "")
    return words


def _read(tokens: Iterator[str], closing: str) -> tuple[list[Words], bool]:
    """The items up to the closing bracket, and whether a comma stands after the last."""
    items: list[Words] = [[]]
    in_lambda = False
    for token in tokens:
        if token == closing:
            break
        if token in CLOSING:
            items[-1].append(BracketWords(token, *_read(tokens, CLOSING[token])))
        elif token.startswith(",") and closing and not in_lambda:
            items.append([])
        else:
            in_lambda = token == "lambda" or (in_lambda and token != ":")
            # Strings between double quotes, where that needs no other escapes.
            plain = token.startswith("'") and '"' not in token and "\\'" not in token
            items[-1].append(f'"{token[1:-1]}"' if plain else token)
    if closing and not items[-1]:
        return items[:-1], len(items) > 1
    return items, False


def _flat(words: Words) -> str:
    return "".join(word if isinstance(word, str) else word.text for word in words)


def _lines(words: Words, indent: str, opened: bool = False) -> Iterator[str]:
    """The widest bracket of a line that is too long, or is to be `opened`, gets an item a line."""
    found = {k: word for k, word in enumerate(words) if isinstance(word, BracketWords)}
    brackets = {k: word for k, word in found.items() if word.items}
    line = indent + _flat(words)
    if not brackets or (len(line) <= WIDTH and not opened):
        yield line
        return
    widest = max(brackets, key=lambda k: len(brackets[k].text))
    bracket = brackets[widest]
    yield f"{indent}{_flat(words[:widest])}{bracket.opening}"
    yield from _items(bracket, indent + INDENT)
    yield from _lines([CLOSING[bracket.opening], *words[widest + 1 :]], indent)


def _items(bracket: BracketWords, indent: str) -> Iterator[str]:
    comma = "," if len(bracket.items) > 1 or bracket.comma or bracket.opening == "{" else ""
    texts = [_flat(item) for item in bracket.items]
    if bracket.opening == "[" and all(map(_NUMBER.fullmatch, texts)):
        text = ", ".join(texts) + comma
        yield from wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
        return
    for item in bracket.items:
        yield from _lines([*item, comma], indent)
