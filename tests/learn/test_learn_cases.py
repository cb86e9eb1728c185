"""A list of cases: thousands are bound as one long case and cut, which must change nothing but the
time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpc
from dpc.data.errors import DataError
from dpc.learn import cases as reading
from dpc.learn.cases import Cases, read_cases

TAGGER = """
dim T
dim F
dim Tag = 3
data x[T, F]   : real
data word[T]   : Tag
data bias      : real = 0
param w[Tag, F] : real = 0
latent tag[T]  : Tag
observed y[T]  : real
factor emit[t in T]      : bias + dot(w[tag[t]], x[t])
factor old[t in T[1..]]  : if tag[t] == tag[t-1] then 1 else 0
y[t in T] ~ Normal(0, 1)
"""
GROUPED = """
dim T
dim G
data g[T]     : G
observed y[T] : real
param m       : real = 0
b[k in G]     ~ Normal(0, 1)
y[t in T]     ~ Normal(m + b[g[t]], 1)
"""


def tagged(*lengths: int) -> list[dict[str, Any]]:
    chance = np.random.default_rng(0)
    return [
        {
            "x": chance.normal(size=(n, 2)),
            "word": chance.integers(0, 3, n),
            "tag": chance.integers(0, 3, n).tolist(),
            "y": chance.normal(size=n),
        }
        for n in lengths
    ]


def by_number(cases: Cases) -> dict[int, dict[str, Any]]:
    """What each case holds, by its number among the sources; NaN where it is missing."""
    found, numbers = {}, iter(cases.numbers)
    for group in cases.groups:
        held = {**group.shared, **group.stacked}
        arrays = {
            name: np.where(group.missing.get(name, False), np.nan, array)
            for name, array in held.items()
        }
        for k in range(group.count):
            own = {
                name: array[k] if name in group.stacked else array for name, array in arrays.items()
            }
            found[next(numbers)] = {**own, "sizes": group.sizes}
    return found


def was_at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Says of each reading from now on whether it was at once."""
    seen: list[bool] = []
    plain = reading.bind_at_once

    def watched(*words: Any) -> Cases | None:
        found = plain(*words)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(reading, "bind_at_once", watched)
    return seen


@pytest.mark.parametrize("gap", [False, True])
def test_at_once_and_one_by_one_are_the_same(gap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, cases, shared = dpc.parse(TAGGER).graph, tagged(3, 1, 4, 3), {"bias": 2.0}
    if gap:
        cases[2]["y"][1] = np.nan
    seen = was_at_once(monkeypatch)
    at_once = read_cases(graph, cases, shared, join=False)
    assert seen == [True]
    monkeypatch.setattr(reading, "bind_at_once", lambda *_: None)
    one_by_one = read_cases(graph, cases, shared, join=False)
    assert (at_once.given, at_once.labels, at_once.count) == (
        one_by_one.given,
        one_by_one.labels,
        4,
    )
    ours, theirs = by_number(at_once), by_number(one_by_one)
    for number, expected in theirs.items():
        for name, value in expected.items():
            np.testing.assert_equal(ours[number][name], value, err_msg=f"{name} of case {number}")


def test_a_wrong_entry_is_found_in_its_case() -> None:
    cases = tagged(3, 1, 4)
    cases[1]["word"][0] = 7
    with pytest.raises(DataError, match="has the position 7") as caught:
        read_cases(dpc.parse(TAGGER).graph, cases)
    assert "case 2" in str(caught.value)
    cases = tagged(3, 1, 4)
    cases[2]["x"] = cases[2]["x"][:3]
    with pytest.raises(DataError) as caught:
        read_cases(dpc.parse(TAGGER).graph, cases)
    assert "case 3" in str(caught.value)


def test_cases_whose_values_tell_a_size_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are numbered anew in each case: these are two and three groups, not three in
    common.
    """
    seen = was_at_once(monkeypatch)
    data = [{"g": np.array([0, 1]), "y": np.zeros(2)}, {"g": np.array([0, 1, 2]), "y": np.zeros(3)}]
    found = read_cases(dpc.parse(GROUPED).graph, data)
    assert seen == [False]
    assert [group.sizes["G"] for group in found.groups] == [2, 3]


def test_data_that_are_held_are_copies_of_their_own() -> None:
    model = dpc.parse("dim N\nobserved y[N] : real\nparam m : real = 0\ny[i in N] ~ Normal(m, 1)")
    y = np.array([1.0, 2.0])
    bound, cases, likelihood = (
        model.bind({"y": y}),
        model.cases({"y": y}),
        model.likelihood({"y": y}),
    )
    before = float(likelihood.loss({"m": np.zeros(())}))
    y[:] = 5.0
    assert np.asarray(bound["y"]).tolist() == [1.0, 2.0]
    assert cases.groups[0].shared["y"].tolist() == [1.0, 2.0]
    assert float(likelihood.loss({"m": np.zeros(())})) == before
