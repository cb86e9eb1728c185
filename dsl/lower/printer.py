"""The one place where a tree of code becomes text: lines of at most 100 columns, broken inside
brackets.

An expression is first a list of words and brackets. A line that is too long opens its widest
bracket, with one item to a line, and so on inside; many numbers share a line.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap as fill
from typing import Any

from ..diagnostics import InternalError
from ..record import Record

WIDTH = 100
INDENT = "    "

# How tightly Python's operators bind.
LOOSE, COMPARISON, OR, AND, SUM, PRODUCT, SIGN, POWER, ATOM = range(9)

_SIGNS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.Pow: ("**", POWER),
    ast.BitAnd: ("&", AND),
    ast.BitOr: ("|", OR),
    ast.Lt: ("<", COMPARISON),
    ast.LtE: ("<=", COMPARISON),
    ast.Gt: (">", COMPARISON),
    ast.GtE: (">=", COMPARISON),
    ast.Eq: ("==", COMPARISON),
    ast.NotEq: ("!=", COMPARISON),
    ast.Is: ("is", COMPARISON),
}


class Bracket(Record):
    """`items` are separated by commas; `comma` says that one stands after a single item too."""

    opening: str
    items: list[list[Any]]
    closing: str
    width: int
    comma: bool = False
    numbers: bool = False


Words = list[str | Bracket]


def print_statements(body: Iterable[ast.stmt]) -> str:
    """Statements of a module; definitions are set apart by two empty lines."""
    return "\n".join(_body(list(body), "", 2))


def flat(code: ast.expr) -> str:
    """An expression on one line."""
    return _flat(_words(code))


# ---- statements


def _body(body: Sequence[ast.stmt], indent: str, space: int = 1) -> Iterator[str]:
    """Empty lines stand around definitions."""
    before: ast.stmt | None = None
    for statement in body:
        definitions = [x for x in (before, statement) if isinstance(x, ast.FunctionDef | ast.If)]
        if before is not None and definitions and not _is_doc(before):
            yield from [""] * space
        yield from _statement(statement, indent)
        before = statement


def _statement(statement: ast.stmt, indent: str) -> Iterator[str]:
    if _is_doc(statement):
        yield from _docstring(statement.value.value, indent)  # type: ignore[attr-defined]
    elif isinstance(statement, ast.FunctionDef):
        yield from (f"{indent}@{flat(each)}" for each in statement.decorator_list)
        yield from _lines(_header(statement), indent)
        yield from _body(statement.body, indent + INDENT)
    elif isinstance(statement, ast.With):
        (item,) = statement.items
        yield from _lines(["with ", *_words(item.context_expr), ":"], indent)
        yield from _body(statement.body, indent + INDENT)
    elif isinstance(statement, ast.If):
        yield from _lines(["if ", *_words(statement.test), ":"], indent)
        yield from _body(statement.body, indent + INDENT)
    else:
        is_table = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict)
        yield from _lines(_simple(statement), indent, opened=is_table and not indent)


def _simple(statement: ast.stmt) -> Words:
    if isinstance(statement, ast.Assign):
        (target,) = statement.targets
        return [*_words(target, in_statement=True), " = ", *_words(statement.value)]
    if isinstance(statement, ast.AugAssign):
        return [*_words(statement.target), " += ", *_words(statement.value)]
    if isinstance(statement, ast.Return) and statement.value:
        return ["return ", *_words(statement.value, in_statement=True)]
    if isinstance(statement, ast.Raise) and statement.exc:
        return ["raise ", *_words(statement.exc)]
    if isinstance(statement, ast.Expr):
        return _words(statement.value)
    raise InternalError(f"no way to print {type(statement).__name__}")


def _header(function: ast.FunctionDef) -> Words:
    result = [" -> ", *_words(function.returns)] if function.returns else []
    parameters = _bracket("(", _parameters(function.args), ")")
    return ["def ", _name(function.name), parameters, *result, ":"]


def _parameters(arguments: ast.arguments) -> list[Words]:
    """Only the last ones have defaults."""
    gap: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
    found = []
    for each, default in zip(arguments.args, [*gap, *arguments.defaults], strict=True):
        words: Words = [_name(each.arg)]
        words += [": ", *_words(each.annotation)] if each.annotation else []
        words += ["=", *_words(default)] if default else []
        found.append(words)
    return found


def _is_doc(statement: ast.stmt) -> bool:
    found = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(found, ast.Constant) and isinstance(found.value, str)


def _docstring(text: str, indent: str) -> list[str]:
    """Lines as they are, of characters that cannot end the string or hide in it."""
    lines = [_shown(line) for line in text.split("\n")]
    whole = "\n".join(f"{indent}{line}".rstrip() for line in lines).lstrip()
    whole = whole.replace('"""', '\\"\\"\\"')
    if whole.endswith('"'):
        whole = f'{whole[:-1]}\\"'
    if len(lines) > 1:
        whole += f"\n{indent}" if not whole.endswith("\n") else indent
    return f'{indent}"""{whole}"""'.split("\n")


def _shown(line: str) -> str:
    return "".join(char if char.isprintable() and char != "\\" else _escape(char) for char in line)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


# ---- expressions


def _words(code: ast.AST, level: int = LOOSE, in_statement: bool = False) -> Words:
    """In parentheses unless the outermost operator binds at least as tightly as `level`."""
    if in_statement and isinstance(code, ast.Tuple) and len(code.elts) > 1:
        return _joined(code.elts)
    words, own = _PRINTERS[type(code)](code)
    return words if own >= level else [_bracket("(", [words], ")")]


def _joined(codes: Iterable[ast.expr]) -> Words:
    found: Words = []
    for code in codes:
        found += [", ", *_words(code)] if found else _words(code)
    return found


def _bracket(opening: str, items: list[Words], closing: str, comma: bool = False) -> Bracket:
    inside = sum(_width(item) for item in items) + 2 * max(len(items) - 1, 0)
    width = len(opening) + inside + (comma and len(items) == 1) + len(closing)
    return Bracket(opening, items, closing, width, comma)


def _name(identifier: str) -> str:
    """The last guard: nothing but a plain identifier is written as a name."""
    if not (identifier.isascii() and identifier.isidentifier()) or keyword.iskeyword(identifier):
        raise InternalError(f"{identifier!r} is no name of a program")
    return identifier


def _constant(code: ast.Constant) -> tuple[Words, int]:
    if code.value is Ellipsis:
        return ["..."], ATOM
    text = repr(code.value)
    if isinstance(code.value, str) and '"' not in text:
        text = f'"{text[1:-1]}"'  # repr prefers single quotes, and has escaped none here
    return [text], ATOM


def _attribute(code: ast.Attribute) -> tuple[Words, int]:
    return [*_words(code.value, ATOM), ".", _name(code.attr)], ATOM


def _call(code: ast.Call) -> tuple[Words, int]:
    items = [_words(argument) for argument in code.args]
    items += [[_name(str(word.arg)), "=", *_words(word.value)] for word in code.keywords]
    return [*_words(code.func, ATOM), _bracket("(", items, ")")], ATOM


def _subscript(code: ast.Subscript) -> tuple[Words, int]:
    several = isinstance(code.slice, ast.Tuple) and len(code.slice.elts) > 1
    places = code.slice.elts if several else [code.slice]  # type: ignore[attr-defined]
    inside = _bracket("[", [_words(place) for place in places], "]")
    return [*_words(code.value, ATOM), inside], ATOM


def _slice(code: ast.Slice) -> tuple[Words, int]:
    low, high = (_words(end) if end else [] for end in (code.lower, code.upper))
    return [*low, ":", *high], ATOM


def _list(code: ast.List) -> tuple[Words, int]:
    found = _bracket("[", [_words(item) for item in code.elts], "]")
    return [found.replace(numbers=all(map(_is_number, code.elts)))], ATOM


def _is_number(code: ast.expr) -> bool:
    inner = code.operand if isinstance(code, ast.UnaryOp) else code
    return isinstance(inner, ast.Constant) and isinstance(inner.value, int | float)


def _tuple(code: ast.Tuple) -> tuple[Words, int]:
    return [_bracket("(", [_words(item) for item in code.elts], ")", comma=True)], ATOM


def _dict(code: ast.Dict) -> tuple[Words, int]:
    pairs = zip(code.keys, code.values, strict=True)
    items = [[*_words(key), ": ", *_words(value)] for key, value in pairs if key]
    return [_bracket("{", items, "}")], ATOM


def _lambda(code: ast.Lambda) -> tuple[Words, int]:
    head: Words = []
    for words in _parameters(code.args):
        head += [", ", *words] if head else words
    return ["lambda ", *head, ": ", *_words(code.body)], LOOSE


def _choice(code: ast.IfExp) -> tuple[Words, int]:
    then, test = _words(code.body, COMPARISON), _words(code.test, COMPARISON)
    return [*then, " if ", *test, " else ", *_words(code.orelse, COMPARISON)], LOOSE


def _sign(code: ast.UnaryOp) -> tuple[Words, int]:
    sign = "-" if isinstance(code.op, ast.USub) else "~"
    return [sign, *_words(code.operand, SIGN)], SIGN


def _operation(code: ast.BinOp) -> tuple[Words, int]:
    """Operators of one level go from left to right, but for powers."""
    sign, level = _SIGNS[type(code.op)]
    left, right = level, level + 1
    if level == POWER:
        left, right = ATOM, SIGN
    elif level in (AND, OR):
        left = right = SUM
    return [*_words(code.left, left), f" {sign} ", *_words(code.right, right)], level


def _comparison(code: ast.Compare) -> tuple[Words, int]:
    (operator,), (right,) = code.ops, code.comparators
    sign, level = _SIGNS[type(operator)]
    return [*_words(code.left, level + 1), f" {sign} ", *_words(right, level + 1)], level


_PRINTERS: dict[type[ast.AST], Callable[[Any], tuple[Words, int]]] = {
    ast.Name: lambda code: ([_name(code.id)], ATOM),
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.IfExp: _choice,
    ast.UnaryOp: _sign,
    ast.BinOp: _operation,
    ast.Compare: _comparison,
}


# ---- lines


def _width(words: Words) -> int:
    return sum(len(word) if isinstance(word, str) else word.width for word in words)


def _flat(words: Words) -> str:
    parts = []
    for word in words:
        if isinstance(word, str):
            parts.append(word)
        else:
            comma = "," if word.comma and len(word.items) == 1 else ""
            inside = ", ".join(map(_flat, word.items))
            parts.append(f"{word.opening}{inside}{comma}{word.closing}")
    return "".join(parts)


def _lines(words: Words, indent: str, opened: bool = False) -> Iterator[str]:
    """The widest bracket of a line that is too long, or is to be `opened`, gets an item a line."""
    brackets = [k for k, word in enumerate(words) if isinstance(word, Bracket) and word.items]
    if not brackets or (len(indent) + _width(words) <= WIDTH and not opened):
        yield indent + _flat(words)
        return
    widest = max(brackets, key=lambda k: words[k].width)  # type: ignore[union-attr]
    bracket = words[widest]
    assert isinstance(bracket, Bracket)
    yield f"{indent}{_flat(words[:widest])}{bracket.opening}"
    yield from _items(bracket, indent + INDENT)
    yield from _lines([bracket.closing, *words[widest + 1 :]], indent)


def _items(bracket: Bracket, indent: str) -> Iterator[str]:
    comma = "," if len(bracket.items) > 1 or bracket.comma or bracket.opening == "{" else ""
    if bracket.numbers:
        text = ", ".join(map(_flat, bracket.items)) + comma
        yield from fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
        return
    for item in bracket.items:
        yield from _lines([*item, comma], indent)
