"""Charts: what is larger stands further, ticks are round, and every writer can draw them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpc.show.draw.chart import (
    MOST_POINTS,
    Panel,
    Series,
    _spanning,
    _thinned,
    _ticks,
    curve_chart,
    row_chart,
    write_chart,
)
from dpc.show.draw.scene import Ellipse, Scene, Stroke, Text


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-3.0, 12.0, [-2, 0, 2, 4, 6, 8, 10, 12]),
        (0.0, 4e-7, [0, 1e-7, 2e-7, 3e-7, 4e-7]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert _ticks(low, high) == pytest.approx(ticks)


def test_a_scale_holds_all_values_and_one_alone() -> None:
    scale = _spanning([2.0, 7.0], 100.0, 0.0)
    assert 100 > scale.place(2.0) > scale.place(7.0) > 0
    assert _spanning([3.0], 0.0, 10.0).place(3.0) == 5


def test_long_curves_are_thinned_but_keep_their_ends() -> None:
    points = [(float(k), 0.0) for k in range(10 * MOST_POINTS + 3)]
    kept = _thinned(points)
    assert len(kept) <= MOST_POINTS + 1
    assert (kept[0], kept[-1]) == (points[0], points[-1])


def curves() -> Scene:
    return curve_chart(
        "t",
        "step",
        "loss",
        [
            Series("raw", ((1, 5), (2, 1), (3, float("inf"))), True),
            Series("mean", ((1, 5), (2, 3))),
        ],
    )


def test_a_curve_falls_where_its_values_do() -> None:
    """Down is up: the vertical axis of a drawing grows downwards."""
    strokes = {
        group.says: shape.curve
        for group in curves().groups
        for shape in group.shapes
        if isinstance(shape, Stroke)
    }
    assert strokes["mean"][0][1] < strokes["mean"][-1][1] < strokes["raw"][-1][1]
    assert len(strokes["raw"]) == 4


def test_rows_are_on_a_logarithmic_scale_and_zero_is_a_ring() -> None:
    scene = row_chart(
        "t",
        "note",
        ["a", "b", "c", "zero"],
        [Panel("variance", (0.1, 1.0, 10.0, 0.0), ("p", "q", "r", "s"))],
    )
    dots = [shape for group in scene.groups for shape in group.shapes if isinstance(shape, Ellipse)]
    first, second, third, ring = dots
    assert second.rect.left - first.rect.left == pytest.approx(third.rect.left - second.rect.left)
    assert ring.rect.left < first.rect.left
    assert ring.ink.stroke
    assert not first.ink.stroke
    words = {
        shape.text for group in scene.groups for shape in group.shapes if isinstance(shape, Text)
    }
    assert {"a", "zero", "variance", "note", "p", "s"} <= words


def test_both_writers(tmp_path: Path) -> None:
    write_chart(curves(), tmp_path / "out.svg")
    write_chart(curves(), tmp_path / "out.png")
    titles = [
        e.text
        for e in ElementTree.fromstring((tmp_path / "out.svg").read_text()).iter()
        if e.tag.endswith("title")
    ]
    assert titles == ["t", "axes", "raw", "mean"]
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
