"""Posteriors that others computed: models/bayes/ against the means and standard deviations of
references.json.

A quantity is written as its source prints it: mean, standard deviation and, where it is given, the
Monte Carlo error. A mean must lie within 4 errors (ours, theirs and their rounding) and within a
tenth of a standard deviation of theirs, a variance within 4 errors. If all is right, one of the 242
numbers fails with a chance of 1 in 65; seeds are fixed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pytest

import dpc

LOOSE_JAX = "NumPyro promotes types and ranks"

BAYES = Path(__file__).parent.parent / "models" / "bayes"
REFERENCES = json.loads((BAYES / "references.json").read_text(encoding="utf-8"))
QUICK = ("eight_schools_noncentered", "kidscore_momhs")
DRAWS = 3000
SETTINGS: dict[str, dict[str, Any]] = {
    "eight_schools_centered": {"draws": 10_000, "target_accept": 0.99},
    "eight_schools_noncentered": {"draws": 1000, "target_accept": 0.9},
    "kidscore_momhs": {"draws": 1000},
    "dyes": {"draws": 10_000, "target_accept": 0.99},
    "gp_poisson": {"target_accept": 0.95},
}
"""Where the posterior is steep, smaller steps; where steps are small, more of them."""


def posterior_of(name: str) -> Any:
    model = dpc.load(BAYES / f"{name}.dp")
    data = model.bind(*(BAYES / file for file in REFERENCES[name].get("data", [f"{name}.json"])))
    settings = {"draws": DRAWS, **SETTINGS.get(name, {})}
    return model.posterior(data, seed=1, prior=False, predictive=False, **settings).posterior


def entries(found: Any) -> Iterator[str]:
    """The printed entries of a quantity, in the order of its elements."""
    if isinstance(found, str):
        yield found
    else:
        for part in found:
            yield from entries(part)


def verify(printed: str, draws: np.ndarray, name: str) -> None:
    """Draws [chain, draw] of one element against one printed entry."""
    words = [*printed.split(), "0"]
    mean, sd, error = map(float, words[:3])
    rounding = unit(words[0]) / np.sqrt(12)
    difference = draws.mean() - mean
    z = difference / np.hypot(np.asarray(az.mcse(draws)).item(), np.hypot(error, rounding))
    assert abs(z) < 4, f"{name}: {draws.mean():.6g} and {mean:.6g} are {z:.1f} errors apart"
    assert abs(difference) < 0.1 * sd, (
        f"{name}: {draws.mean():.6g} and {mean:.6g}, the sd is {sd:.6g}"
    )
    squares = (draws - draws.mean()) ** 2
    theirs = np.hypot(squares.std() * error / sd, 2 * sd * unit(words[1]) / np.sqrt(12))
    z = (squares.mean() - sd**2) / np.hypot(np.asarray(az.mcse(squares)).item(), theirs)
    assert abs(z) < 4, f"{name}: the sds {draws.std():.6g} and {sd:.6g} are {z:.1f} errors apart"


def unit(number: str) -> float:
    """One in the last place."""
    return 10.0 ** int(Decimal(number).as_tuple().exponent)


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in REFERENCES]
)
def test_posterior_is_the_published_one(name: str) -> None:
    found = posterior_of(name)
    for quantity, printed in REFERENCES[name]["quantities"].items():
        draws = found[quantity].values
        columns = draws.reshape(*draws.shape[:2], -1)
        for i, entry in enumerate(entries(printed)):
            verify(entry, columns[..., i], f"{quantity}, element {i}")


def test_every_model_has_a_reference() -> None:
    assert {path.stem for path in BAYES.glob("*.dp")} == set(REFERENCES)
