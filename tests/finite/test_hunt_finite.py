"""A small part of `make hunt`: random finite models and evidence against adding up everything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

from hunt_finite import judge

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program is run a few times"


@pytest.mark.parametrize("seed", [3, 7, 9, 12])
def test_no_answer_is_wrong_without_a_word(seed: int) -> None:
    outcome, said, text = judge(seed)
    assert outcome in ("right", "impossible"), f"{said}\n{text}"
