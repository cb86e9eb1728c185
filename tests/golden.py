"""Golden programs: what the compiler says about each, kept beside it. `make update-golden` rewrites the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dpc.dsl.build import build_graph
from dpc.dsl.compiler import check_source
from dpc.dsl.report import format_diagnostics
from dpc.dsl.show import show_graph
from dpc.dsl.source import Source

FOLDER = Path(__file__).parent / "golden"


def golden_programs() -> Iterator[Path]:
    """Files whose names start with `_` are there to be imported."""
    yield from sorted(p for p in FOLDER.rglob("*.dp") if not p.name.startswith("_"))


def answer(path: Path) -> str:
    """The diagnostics of a program and, if it has no errors, its graph."""
    source = Source(str(path.relative_to(FOLDER.parent.parent)), path.read_text(encoding="utf-8"))
    result = check_source(source)
    parts = [format_diagnostics(result.diagnostics)] if result.diagnostics else []
    parts += [show_graph(build_graph(result.typed))] if result.typed else []
    return "\n\n".join(parts) + "\n"


def expected_file(path: Path) -> Path:
    return path.with_suffix(".txt")


if __name__ == "__main__":
    for program in golden_programs():
        expected_file(program).write_text(answer(program), encoding="utf-8")
