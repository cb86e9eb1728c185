"""Shared by all tests: JAX at its strictest, every flag put back, long cases left to test-all."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import count, groupby
from pathlib import Path

import jax
import pytest
from hypothesis import settings

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "dsl")]

settings.register_profile("dpc", deadline=None, derandomize=True)
settings.load_profile("dpc")

# ---- flags of JAX

STRICT = {
    "jax_enable_x64": True,
    "jax_numpy_dtype_promotion": "strict",
    "jax_numpy_rank_promotion": "raise",
}
LOOSE = {
    "jax_enable_x64": True,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
}
"""For modules with a constant LOOSE_JAX, which says why: NumPyro promotes types and ranks."""


QUICK = {"jax_disable_most_optimizations": True}
"""For modules with a constant QUICKLY_COMPILED, which says why; all others run optimised code."""


@pytest.fixture(scope="module", autouse=True)
def _jax_is_strict(request: pytest.FixtureRequest) -> Iterator[None]:
    flags = LOOSE if hasattr(request.module, "LOOSE_JAX") else STRICT
    quick = QUICK if hasattr(request.module, "QUICKLY_COMPILED") else {}
    yield from _with_flags({**flags, **quick})


@pytest.fixture(autouse=True)
def _flags_are_put_back() -> Iterator[None]:
    yield from _with_flags({})


def _with_flags(flags: dict[str, object]) -> Iterator[None]:
    before = dict(jax.config.values)
    for name, value in flags.items():
        jax.config.update(name, value)
    yield
    for name, value in before.items():
        if jax.config.values[name] != value:
            jax.config.update(name, value)


# ---- compiled programs

MODULES = count(1)


@pytest.fixture(scope="module", autouse=True)
def _compiled_programs_are_forgotten() -> Iterator[None]:
    """JAX keeps programs until told otherwise, and thousands fill the memory; a few are shared."""
    yield
    if next(MODULES) % 6 == 0:
        jax.clear_caches()


# ---- long cases

DURATIONS = HERE / "durations.json"
"""Seconds of the cases that took one or more, on 2 idle cores; `make durations` measures again."""

LONG = 1.0
"""Seconds from which a case is slow, where a shorter one of the same test runs beside it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help="write tests/durations.json")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seconds = json.loads(DURATIONS.read_text(encoding="utf-8"))
    for _, group in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        cases = sorted(group, key=lambda item: seconds.get(item.nodeid, 0.0))
        for item in cases[1:]:
            if seconds.get(item.nodeid, 0.0) >= LONG:
                item.add_marker(pytest.mark.slow)


class Recorder:
    """Adds up what each case took, and writes the longer ones at the end."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        before = json.loads(DURATIONS.read_text(encoding="utf-8"))
        known = {name: time for name, time in before.items() if name not in self.seconds}
        known |= {name: round(time, 1) for name, time in self.seconds.items() if time >= 1}
        text = json.dumps(dict(sorted(known.items())), indent=0)
        DURATIONS.write_text(text + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("--record-durations") and not is_worker:
        config.pluginmanager.register(Recorder())
