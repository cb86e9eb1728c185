"""Every program in the documentation is one.

```dp blocks check and are in canonical form, ```dp-part blocks parse, ```dp-bad blocks are refused.
The ```python blocks of a page run one after the other, ```console blocks are typed at the root of
the project.
"""

import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from marks import slow_ones

from dpc.dsl.source import Source
from dpc.dsl.text.format import format_source
from dpc.dsl.text.parser import parse_program
from dpc.model.check import check_model

LOOSE_JAX = "NumPyro promotes types and ranks"

DOCS = Path(__file__).parents[1] / "docs"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(dp|dp-part|dp-bad)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[object]:
    found = []
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            if match[1] == kind:
                found.append(
                    pytest.param(Source(f"{path.name}:{line}", match[2]), id=f"{path.stem}-{line}")
                )
    return found


@pytest.mark.parametrize("source", blocks("dp"))
def test_programs_check(source: Source) -> None:
    assert [d.message for d in check_model(source).diagnostics if d.is_error] == []


@pytest.mark.parametrize("source", blocks("dp"))
def test_programs_are_formatted(source: Source) -> None:
    assert format_source(source) == source.text


@pytest.mark.parametrize("source", blocks("dp-part"))
def test_parts_of_programs_parse(source: Source) -> None:
    assert parse_program(source)[1] == []


@pytest.mark.parametrize("source", blocks("dp-bad"))
def test_bad_programs_are_refused(source: Source) -> None:
    assert any(diagnostic.is_error for diagnostic in check_model(source).diagnostics)


def test_there_are_programs() -> None:
    assert len(blocks("dp")) > 20
    assert blocks("dp-bad")


CONSOLE = re.compile(r"^\$ dpc (.*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
TYPED = [
    (page.stem, *found)
    for page in sorted(DOCS.glob("*.md"))
    for found in CONSOLE.findall(page.read_text())
]


@pytest.mark.parametrize(
    ("page", "words", "output"), TYPED, ids=[f"{page}-{words}" for page, words, _ in TYPED]
)
def test_consoles_show_what_is_printed(page: str, words: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpc", *words.split()],
        cwd=DOCS.parent,
        capture_output=True,
        text=True,
    )
    assert done.stdout + done.stderr == output


def python_pages() -> list[Path]:
    return [
        path
        for path in sorted(DOCS.glob("*.md"))
        if PYTHON.search(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    "path", slow_ones(python_pages(), [DOCS / "posterior.md"]), ids=lambda path: path.stem
)
def test_python_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    space: dict[str, object] = {"__name__": path.stem}
    with jax.enable_x64(True):
        for block in PYTHON.finditer(text):
            lines_above = "\n" * text.count("\n", 0, block.start(1))
            exec(compile(lines_above + block[1], str(path), "exec"), space)


PATH = re.compile(
    r"`((?:dpc|dsl|estimators|inference|tests|bench|docs|passes|check|text)/[\w/.]+)`"
)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/inside.md"])
def test_the_places_that_pages_name_are_there(page: str) -> None:
    root = DOCS.parent
    named = PATH.findall((root / page).read_text(encoding="utf-8"))
    assert named
    missing = [name for name in named if not any((top / name).exists() for top in tops(root))]
    assert not missing


def tops(root: Path) -> list[Path]:
    """Names in a room may leave the room out."""
    return [root, root / "dsl", root / "dsl/graph"]
