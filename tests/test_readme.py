"""Every block of the README is run: models are checked, consoles are typed, and what is printed is
compared.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

LOOSE_JAX = "NumPyro promotes types and ranks"

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHOWN_AS_IS = "    make demo"


def run(command: str, folder: Path) -> str:
    words = command.split()
    if words[0] == "dpc":
        words[:1] = [sys.executable, "-m", "dpc"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_there_is_no_block_that_no_test_runs() -> None:
    assert {language for language, _ in BLOCKS} == {"dp", "console", "python"}
    assert SHOWN_AS_IS in README
    assert README.count("\n    make ") == 2


def test_consoles(tmp_path: Path) -> None:
    """`cat file` shows a file that the reader makes; every other command is run."""
    models = [text for language, text in BLOCKS if language == "dp"]
    (tmp_path / "umbrella.dp").write_text(models[0])
    for language, text in BLOCKS:
        if language == "console":
            for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                if command.startswith("cat "):
                    (tmp_path / command.split()[1]).write_text(output)
                else:
                    assert run(command, tmp_path) == output


def test_python() -> None:
    for language, text in BLOCKS:
        if language == "python":
            exec(compile(text, "README.md", "exec"), {})


def test_models_in_the_text_are_right(tmp_path: Path) -> None:
    for language, text in BLOCKS:
        if language == "dp":
            (tmp_path / "model.dp").write_text(text)
            assert ": ok, " in run("dpc check --strict model.dp", tmp_path)
            assert run("dpc fmt --check model.dp", tmp_path) == ""


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_somewhere(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_commands_of_the_readme_are_those_of_dpc() -> None:
    from dpc.cli import COMMANDS

    assert re.findall(r"^\| `dpc (\w+)", README, re.MULTILINE) == list(COMMANDS)


def test_the_makefile_has_the_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "test-all", "lint", "bench", "update-golden"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
