"""Every golden program gets the answer that is kept beside it, and every code has a program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden import FOLDER, answer, expected_file, golden_programs

from dpc.dsl.codes import all_codes

PROGRAMS = list(golden_programs())


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER.parent.parent)


@pytest.mark.parametrize(
    "program", PROGRAMS, ids=lambda p: f"{p.parent.name}/{p.name.partition('.')[0]}"
)
def test_answer(program: Path) -> None:
    assert answer(program) == expected_file(program).read_text(encoding="utf-8")


def test_bad_programs_have_errors_or_warnings_and_good_ones_none() -> None:
    for program in PROGRAMS:
        found = re.search(
            r"^(error|warning)\[", expected_file(program).read_text(encoding="utf-8"), re.MULTILINE
        )
        assert bool(found) == (program.parent.name == "bad"), program


def test_every_code_has_a_bad_program() -> None:
    text = "".join(
        expected_file(p).read_text(encoding="utf-8") for p in PROGRAMS if p.parent.name == "bad"
    )
    shown = set(re.findall(r"^(?:error|warning)\[(\w+)\]", text, re.MULTILINE))
    assert shown == set(all_codes())


def test_every_answer_fits_on_one_screen() -> None:
    for program in PROGRAMS:
        assert len(expected_file(program).read_text(encoding="utf-8").splitlines()) <= 60, program
