"""A few of the programs of `make hunt`, which runs hundreds: no gradient is wrong without a word.

Every answer is compared to a difference over quasi-random noise. Off by more than five standard
errors, one in a million by chance, is wrong; the seeds are fixed.
"""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

from hunt import judge

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"
FIRST, COUNT = 300, 15


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_no_gradient_is_wrong_without_a_word(seed: int) -> None:
    verdict = judge(seed, hessian=seed % 3 == 0, points=2**16)
    assert verdict.outcome in ("right", "refused", "undecided"), verdict
