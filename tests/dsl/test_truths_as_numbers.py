"""Truth values and whole numbers are numbers wherever a number is wanted."""

import numpy as np
import pytest

import dpc
from dpc.dsl.library.functions import FUNCTIONS

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

VALUES = {0: 1, 1: [1, 0, 1], 2: [[1, 1, 0], [0, 1, 1], [1, 0, 1]]}
KINDS = {"bool": bool, "int": int, "real": float}
OPEN = {"num", "real", "nonnegative", "unit"}


def library_calls():
    """A call of every function of the library that takes numbers of any kind."""
    for row in FUNCTIONS:
        types = [parameter.type for parameter in row.signature.params]
        if types and {t.domain for t in types} <= OPEN and row.name != "branch_variance":
            yield f"{row.name}({', '.join(f'v{len(t.axes)}' for t in types)})"


def computed(calls, kind, extra=""):
    """What the calls give when `v0`, `v1` and `v2` are numbers of one kind."""
    lines = ["dim K = 3", *extra.splitlines()]
    for rank, dims in enumerate(["", "[K]", "[K, K]"]):
        lines.append(f"data v{rank}{dims} : {kind}")
    lines += [f"y{place} = {text}" for place, text in enumerate(calls)]
    data = {f"v{rank}": np.array(VALUES[rank]).astype(KINDS[kind]) for rank in VALUES}
    found = dpc.parse("\n".join(lines)).run(data=data)
    return [np.asarray(found[f"y{place}"], float) for place in range(len(calls))]


@pytest.mark.parametrize("kind", ["bool", "int"])
def test_library_functions_of_truth_values_and_whole_numbers(kind):
    calls = list(library_calls())
    assert len(calls) > 80
    pairs = zip(calls, computed(calls, kind), computed(calls, "real"), strict=True)
    for text, found, wanted in pairs:
        np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=text)


FUNCTIONS_OF_THE_FILE = """\
fn twice(w: real) -> real = w + w
fn scaled(u: real, w: real) -> real = (w + w) * u
fn total(w[K]: real) -> real = sum(w + w)
fn both(w[K]: real) -> real[K] = w + w
"""
CALLS = {
    "twice(v0)": 2,
    "scaled(scaled(0.5, v0), twice(v0))": 4,
    "total(v1)": 4,
    "sum(both(v1))": 4,
    "sum[k in K] scaled(twice(v1[k]), v1[k])": 8,
    "sum[k in K] total(v2[k])": 12,
    "(loop s = v0 while s < 3 max 9 do twice(s))": 4,
}


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_the_file_take_numbers_of_every_kind(kind):
    found = computed(list(CALLS), kind, FUNCTIONS_OF_THE_FILE)
    np.testing.assert_allclose(found, list(CALLS.values()))


def test_functions_from_outside_are_given_real_numbers():
    def doubled(w):
        return (w + w).sum()

    model = dpc.parse(
        "dim K = 3\ndata v1[K] : bool\nextern fn f(w[K]: real) -> real\ny = f(v1)\n", f=doubled
    )
    found = model.run(data={"v1": np.array(VALUES[1], bool)})
    assert float(found["y"]) == 4
