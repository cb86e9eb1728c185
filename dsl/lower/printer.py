"""The one place where a tree of code becomes text, in lines of at most 100 columns.

Python itself writes a statement on one line, which is then read as words and brackets. A line that
is too long opens its widest bracket, with one item to a line, and so on inside; many numbers share
a line.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap as fill

from ..diagnostics import InternalError
from ..record import Record

WIDTH = 100
INDENT = "    "
CLOSING = {"(": ")", "[": "]", "{": "}"}

_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_TOKEN = re.compile(
    rf"{_STRING}|[()\[\]{{}}:]|, ?|\blambda\b|(?:(?!\blambda\b)[^'\"()\[\]{{}}:,])+"
)
_NUMBER = re.compile(r"-?[\d.]+(e[-+]?\d+)?|True|False")


class BracketWords(Record):
    """`items` are separated by commas; `comma` says that one stands after a single item too."""

    opening: str
    items: list[Words]
    comma: bool

    @property
    def text(self) -> str:
        inside = ", ".join(map(_flat, self.items)) + "," * self.comma
        return f"{self.opening}{inside}{CLOSING[self.opening]}"


Words = list["str | BracketWords"]


def print_statements(body: Iterable[ast.stmt]) -> str:
    """Statements of a module; definitions are set apart by two empty lines."""
    return "\n".join(_body(list(body), "", 2))


# ---- statements


def _body(body: Sequence[ast.stmt], indent: str, space: int = 1) -> Iterator[str]:
    """Empty lines stand around definitions."""
    before: ast.stmt | None = None
    for statement in body:
        definitions = [x for x in (before, statement) if isinstance(x, ast.FunctionDef | ast.If)]
        if before is not None and definitions and not _is_doc(before):
            yield from [""] * space
        if _is_doc(statement):
            yield from _docstring(statement.value.value, indent)  # type: ignore[attr-defined]
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
    escaped = ((char, char.encode("unicode_escape").decode()) for char in line)
    return "".join(c if c.isprintable() and c != "\\" else code for c, code in escaped)


# ---- words and brackets


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


# ---- lines


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
        yield from fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
        return
    for item in bracket.items:
        yield from _lines([*item, comma], indent)
