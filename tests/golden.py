"""Golden programs: what the compiler says about each, kept beside it. `make update-golden` rewrites
the answers.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

from dpc.dsl.check.program import CheckResult
from dpc.dsl.diagnostics import DpError
from dpc.dsl.graph.build import build_graph
from dpc.dsl.graph.dump import show_graph
from dpc.dsl.pipeline import decode_source
from dpc.dsl.report import format_diagnostics
from dpc.model.check import check_model

FOLDER = Path(__file__).parent / "golden"


def golden_programs() -> Iterator[Path]:
    """Files whose names start with `_` are there to be imported; a long one is kept compressed."""
    yield from sorted(p for p in FOLDER.rglob("*.dp*") if not p.name.startswith("_"))


def answer(path: Path) -> str:
    """The diagnostics of a program and, if it has no errors, its graph."""
    result = _check(str(path.relative_to(FOLDER.parent.parent)).removesuffix(".gz"), _content(path))
    parts = [format_diagnostics(result.diagnostics)] if result.diagnostics else []
    parts += [show_graph(build_graph(result.typed))] if result.typed else []
    return "\n\n".join(parts) + "\n"


def _content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _check(name: str, content: bytes) -> CheckResult:
    try:
        return check_model(decode_source(name, io.BytesIO(content)))
    except DpError as error:
        return CheckResult(None, error.diagnostics)


def expected_file(path: Path) -> Path:
    return path.parent / f"{path.name.partition('.')[0]}.txt"


if __name__ == "__main__":
    for program in golden_programs():
        expected_file(program).write_text(answer(program), encoding="utf-8")
