"""How large the source is: lines by folder, the longest functions, the densest ones, shared names.

Density is nodes of the syntax tree for a line of code: a short function of dense lines is not a
simple one.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = ("dpc", "dsl", "estimators", "inference")
SHOWN = 10
LEAST_LINES = 8  # of a function whose density is worth a look


class FunctionSize(NamedTuple):
    where: str
    name: str
    lines: int
    density: float


def folders() -> Counter[str]:
    found: Counter[str] = Counter()
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            inside = path.relative_to(ROOT).parent
            found["/".join(inside.parts[:2])] += len(path.read_text(encoding="utf-8").splitlines())
    return found


def trees() -> Iterator[tuple[str, ast.Module]]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            yield where, ast.parse(path.read_text(encoding="utf-8"))


def functions() -> Iterator[FunctionSize]:
    for where, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body:
                    lines = (body[-1].end_lineno or 0) - body[0].lineno + 1
                    nodes = sum(1 for part in body for _ in ast.walk(part))
                    yield FunctionSize(where, node.name, lines, nodes / lines)


def shared_names() -> dict[str, list[str]]:
    """Classes of one name in several files."""
    found: dict[str, list[str]] = defaultdict(list)
    for where, tree in trees():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(where)
    return {name: files for name, files in sorted(found.items()) if len(files) > 1}


def main() -> None:
    sizes = folders()
    for folder, lines in sorted(sizes.items()):
        print(f"{lines:7,}  {folder}")
    print(f"{sum(sizes.values()):7,}  in all\n")
    every = list(functions())
    print("the longest functions")
    for own in sorted(every, key=lambda f: -f.lines)[:SHOWN]:
        print(f"{own.lines:7}  {own.where} {own.name}")
    print("\nthe densest functions, in nodes of the syntax tree a line")
    long_enough = [own for own in every if own.lines >= LEAST_LINES]
    for own in sorted(long_enough, key=lambda f: -f.density)[:SHOWN]:
        print(f"{own.density:7.1f}  {own.where} {own.name}")
    names = shared_names()
    print(f"\n{len(names)} class names with more than one meaning")
    for name, files in names.items():
        print(f"         {name}: {', '.join(files)}")


if __name__ == "__main__":
    main()
