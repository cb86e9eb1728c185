"""Long lines of the printed program, broken inside their brackets."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap as fill

WIDTH = 120
OPEN, CLOSE = "([{", ")]}"


def wrap_lines(lines: list[str]) -> list[str]:
    return [part for line in lines for part in wrap(line)]


def wrap(line: str) -> list[str]:
    """The widest bracket of a line that is too long gets one item to a line, and so on inside."""
    if len(line) <= WIDTH or line.lstrip().startswith(("def ", '"""', "#")):
        return [line]
    group = _widest_group(line)
    if group is None:
        return [line]
    start, end = group
    indent = " " * (len(line) - len(line.lstrip()))
    items = list(_split(line[start + 1 : end]))
    comma = "," if len(items) > 1 or line[start + 1 : end].rstrip().endswith(",") else ""
    if all(_is_number(item) for item in items):
        inner = fill(", ".join(items) + comma, WIDTH, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    ")
    else:
        inner = [part for item in items for part in wrap(f"{indent}    {item}{comma}")]
    return [line[: start + 1], *inner, *wrap(f"{indent}{line[end:]}")]


def _is_number(text: str) -> bool:
    """Many numbers share a line."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _widest_group(line: str) -> tuple[int, int] | None:
    """The outermost brackets that hold most of the line."""
    groups = [(start, end) for start, end in _groups(line) if end - start > 1]
    return max(groups, key=lambda group: group[1] - group[0], default=None)


def _groups(line: str) -> Iterator[tuple[int, int]]:
    """Pairs of brackets that are inside no other."""
    depth = start = 0
    for place, char in _code(line):
        if char in OPEN:
            if depth == 0:
                start = place
            depth += 1
        elif char in CLOSE:
            depth -= 1
            if depth == 0:
                yield start, place


def _split(text: str) -> Iterator[str]:
    """The items between commas that are in no inner bracket."""
    depth = start = 0
    for place, char in _code(text):
        depth += (char in OPEN) - (char in CLOSE)
        if char == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _code(text: str) -> Iterator[tuple[int, str]]:
    """The characters of a line that are not inside a string."""
    quote = ""
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            yield place, char
