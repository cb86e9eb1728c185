"""A few of the fits that bench/hunt_fits.py hunts, against SciPy on data in any units."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

from hunt_fits import KINDS, judge

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

QUICK = ("line", "logistic", "family", "waiting", "rate", "bounded", "ordered")


@pytest.mark.parametrize("kind", QUICK)
def test_random_fits_agree_with_scipy(kind: str) -> None:
    verdict = judge(KINDS[kind](np.random.default_rng([7, len(kind)])))
    assert verdict.outcome in ("right", "better"), verdict.detail
