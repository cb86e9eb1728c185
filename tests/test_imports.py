"""Imports run one way, and the front door is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ["dpc", "dpc.dsl", "dpc.estimators", "dpc.inference"]
FOLDERS = {
    "dpc": "dpc",
    "dpc.dsl": "dsl",
    "dpc.estimators": "estimators",
    "dpc.inference": "inference",
}
HEAVY = {
    "jax",
    "jaxlib",
    "numpyro",
    "arviz",
    "matplotlib",
    "numpy",
    "rich",
    "optax",
    "pandas",
    "xarray",
}
MODEL = "model coin\np ~ Beta(1, 1)\nheads ~ Bernoulli(p)\n"


def layer_of(module: str) -> str:
    return max(
        (layer for layer in LAYERS if module == layer or module.startswith(layer + ".")), key=len
    )


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_run_one_way(layer: str) -> None:
    below = LAYERS[LAYERS.index(layer) :]
    for path in (ROOT / FOLDERS[layer]).rglob("*.py"):
        for module in imported_modules(path):
            assert module.partition(".")[0] not in {"dsl", "inference", "estimators"}, (
                f"{path} imports {module} bare"
            )
            if module == "dpc" or module.startswith("dpc."):
                assert layer_of(module) in below, f"{path} imports {module}"


def test_relative_imports_stay_in_their_folder() -> None:
    for folder in FOLDERS.values():
        for path in (ROOT / folder).rglob("*.py"):
            depth = len(path.relative_to(ROOT / folder).parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                assert not isinstance(node, ast.ImportFrom) or node.level <= depth, path


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "-"],
        ["fmt", "-"],
        ["info", "-"],
        ["graph", "-"],
        ["graph", "-", "--format", "svg"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_light_commands_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from dpc.cli import main\n"
        f"try: assert main({arguments!r}) == 0\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], input=MODEL, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in run.stderr.split()}
    assert not loaded & HEAVY


def test_what_is_imported_is_declared() -> None:
    """Every package that the source imports, lazily or not, is a dependency or in an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [project["optional-dependencies"][name] for name in ("highlight", "parquet", "png")]
    wanted = [*project["dependencies"], *(line for extra in extras for line in extra)]
    declared = {re.split(r"[^\w-]", line)[0].replace("-", "_").lower() for line in wanted}
    imported = set()
    for folder in FOLDERS.values():
        for path in (ROOT / folder).rglob("*.py"):
            imported |= {module.partition(".")[0] for module in imported_modules(path)}
    outside = imported - set(sys.stdlib_module_names) - {"dpc"}
    assert {name.lower() for name in outside} <= declared
