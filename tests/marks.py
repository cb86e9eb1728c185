"""Which of many cases every run takes, and which only `make test-all`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_fast(cases: Iterable[Any], fast: int) -> list[Any]:
    """All cases; those after the first few are slow."""
    return [
        case if k < fast else pytest.param(case, marks=pytest.mark.slow)
        for k, case in enumerate(cases)
    ]


def slow_ones(cases: Iterable[Any], slow: Collection[Any]) -> list[Any]:
    """All cases; these are slow."""
    return [pytest.param(case, marks=pytest.mark.slow) if case in slow else case for case in cases]
