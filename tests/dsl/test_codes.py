"""Every code that the compiler can say has an entry, whose bad program gives that code and whose
good one nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpc.dsl.codes import Code, all_codes, chapters, format_code
from dpc.dsl.graph.build import build_graph
from dpc.dsl.library.distributions import DISTRIBUTIONS
from dpc.dsl.library.functions import FUNCTIONS
from dpc.dsl.source import Source
from dpc.model.check import check_model

ROOT = Path(__file__).parent.parent.parent
CODES = list(all_codes().values())

NOT_SHOWN = {
    "E0002": "a program in an entry is text, and this is about bytes that are not",
    "E0006": "it would need a million characters",
    "E0007": "it would need a hundred brackets",
}
LIBRARY = {
    "lib.dp": "fn double(x: real) -> real = 2 * x\n",
    "circle.dp": 'import "main.dp" as main\nx = 1\n',
    "objective.dp": "param w : real = 1\nminimize w^2\n",
}


def codes_of(text: str, folder: Path) -> list[str]:
    for name, content in LIBRARY.items():
        (folder / name).write_text(content, encoding="utf-8")
    result = check_model(Source(str(folder / "main.dp"), text))
    if result.typed:
        build_graph(result.typed)
    return [diagnostic.code for diagnostic in result.diagnostics]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with the files that entries import; the program itself is there for those that
    import it.
    """
    (tmp_path / "main.dp").write_text('import "circle.dp" as other\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "code", [c for c in CODES if c.code not in NOT_SHOWN], ids=lambda c: c.code
)
def test_bad_program_gives_exactly_this_code(code: Code, library: Path) -> None:
    assert codes_of(code.bad, library) == [code.code]


@pytest.mark.parametrize("code", CODES, ids=lambda c: c.code)
def test_good_program_gives_nothing(code: Code, library: Path) -> None:
    assert codes_of(code.good, library) == []


def test_codes_are_those_of_the_sources() -> None:
    sources = [
        p
        for folder in ("dsl", "dpc")
        for p in (ROOT / folder).rglob("*.py")
        if p.parent.name != "codes"
    ]
    emitted = {
        code
        for p in sources
        for code in re.findall(r'"([EW]\d{4})"', p.read_text(encoding="utf-8"))
    }
    assert emitted == set(all_codes())


def test_codes_are_in_order_and_in_their_chapters() -> None:
    for number, codes in enumerate(chapters().values()):
        own = [code.code for code in codes]
        assert own == sorted(set(own))
        assert all(code.startswith((f"E0{number}", "W")) for code in own)


@pytest.mark.parametrize("code", CODES, ids=lambda c: c.code)
def test_entry_is_short_and_plain(code: Code) -> None:
    assert len(code.title) <= 70
    assert not code.title.endswith(".")
    assert code.text.endswith(".")
    assert all(len(line) <= 120 for line in format_code(code).splitlines())
    assert code.bad != code.good


def test_every_function_and_distribution_is_documented() -> None:
    for page, rows in (("functions.md", FUNCTIONS), ("distributions.md", DISTRIBUTIONS)):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert [row.text for row in rows if f"`{row.text}`" not in text] == []


def test_documentation_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
