"""Do the pieces of a variable tile it? Symbolic answer against counting on a concrete dim."""

from __future__ import annotations

import pytest
from helpers import codes
from hypothesis import given, settings
from hypothesis import strategies as st

SIZE = 9
bounds = st.sampled_from([None, 0, 1, 2, 3, -3, -2, -1])
ranges = st.tuples(bounds, bounds)
fixed = st.sampled_from([0, 1, 2, -2, -1])


def members(piece: int | tuple[int | None, int | None]) -> list[int]:
    """Python's own slices and indices are the other way of knowing."""
    inside = list(range(SIZE))
    return [inside[piece]] if isinstance(piece, int) else inside[piece[0] : piece[1]]


def text_of(number: int, piece: int | tuple[int | None, int | None]) -> str:
    if isinstance(piece, int):
        return f"x[{piece}] = {number}.0"
    low, high = ("" if b is None else str(b) for b in piece)
    return f"x[i in D[{low}..{high}]] = {number}.0"


@pytest.mark.parametrize("declaration", [f"dim D = {SIZE}", "dim D"])
@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.one_of(fixed, ranges), min_size=1, max_size=4))
def test_tiling(declaration: str, pieces: list[int | tuple[int | None, int | None]]) -> None:
    sets = [members(piece) for piece in pieces]
    if not all(sets) or all(isinstance(piece, int) for piece in pieces):
        return
    counts = [sum(k in inside for inside in sets) for k in range(SIZE)]
    expected = ["E0501"] if max(counts) > 1 else ["E0502"] if min(counts) == 0 else []
    found = codes(
        "\n".join([declaration, *map(text_of, range(len(pieces)), pieces), "y := sum(x)"])
    )
    assert bool(found) == bool(expected)
    assert set(found) <= {"E0501", "E0502"}


def test_two_axes() -> None:
    head = "dim I = 3\ndim J\n"
    tiles = (
        "x[0, j in J] = 1.0\nx[i in I[1..], 0] = 2.0\nx[i in I[1..], j in J[1..]] = 3.0\ny := "
        "sum(x)\n"
    )
    assert codes(head + tiles) == []
    assert codes(head + tiles.replace("x[0, j in J]", "x[0, j in J[1..]]")) == ["E0502"]
    assert codes(head + tiles.replace("I[1..], 0]", "I, 0]")) == ["E0501"]
