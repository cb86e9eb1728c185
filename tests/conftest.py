"""Shared by all tests."""

import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

os.environ.setdefault(
    "JAX_DISABLE_MOST_OPTIMIZATIONS", "true"
)  # the tests compile much more than they compute
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "dsl")]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from marks import mark_costly

    mark_costly(items, is_whole=config.args == config.getini("testpaths"))


MODULES = count(1)


@pytest.fixture(scope="module", autouse=True)
def _compiled_programs_are_forgotten() -> Iterator[None]:
    """Compiled programs are kept by JAX until told otherwise, and thousands of them fill the
    memory.

    Some are for many modules: they are forgotten now and then.
    """
    yield
    if next(MODULES) % 6 == 0 and "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
