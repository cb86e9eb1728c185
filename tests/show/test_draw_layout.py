"""What every layout promises, over random pictures: nothing overlaps, plates hold their own."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from math import hypot

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.show.draw.geometry import Outline, Point, Rect, sampled
from dpc.show.draw.layout import PictureLayout, infer_layout
from dpc.show.draw.paint import compose_scene
from dpc.show.draw.picture import Arrow, Box, BoxKind, Picture, Plate, within
from dpc.show.draw.rows import acyclic, infer_rows, oriented_edges

HOMES = [(), ("N",), ("N", "K"), ("K",), ("M", "N", "K"), ("K", "N")]
PLATES = (Plate("N", "n in Neighbourhoods"), Plate("K", "k"))


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    """Any boxes, plates in any nesting, and arrows that may form cycles, loops and parallels."""
    count = draw(st.integers(0, 12))
    labels = st.text(alphabet="abW_ 1", max_size=14)
    boxes = tuple(
        Box(
            f"v{number}",
            draw(labels),
            draw(st.sampled_from(BoxKind)),
            draw(st.booleans()),
            draw(st.sampled_from(["", "Normal"])),
            draw(st.sampled_from(HOMES)),
        )
        for number in range(count)
    )
    names = st.sampled_from([box.name for box in boxes] or ["none"])
    arrows = st.builds(Arrow, names, names, st.booleans(), st.sampled_from(["", "", "t-1"]))
    return Picture("random", boxes, tuple(draw(st.lists(arrows, max_size=2 * count))), PLATES)


@settings(max_examples=60, deadline=None)
@given(pictures())
def test_layout_keeps_its_promises(picture: Picture) -> None:
    layout = infer_layout(picture)
    verify_boxes_apart(layout)
    verify_plates_hold_their_own(layout)
    verify_arrows_end_on_borders(layout)
    verify_arrows_avoid_boxes(layout)


def verify_boxes_apart(layout: PictureLayout) -> None:
    for one, other in combinations(layout.nodes, 2):
        assert not one.room.overlaps(other.room)


def contains(outer: Rect, inner: Rect) -> bool:
    across = outer.left <= inner.left and inner.right <= outer.right
    return across and outer.top <= inner.top and inner.bottom <= outer.bottom


def verify_plates_hold_their_own(layout: PictureLayout) -> None:
    for frame, node in product(layout.frames, layout.nodes):
        if frame.path in within(node.box.plates):
            assert contains(frame.rect, node.room)
        else:
            assert not frame.rect.overlaps(node.room)
    for outer, inner in combinations(layout.frames, 2):
        if inner.path[: len(outer.path)] == outer.path:
            assert contains(outer.rect, inner.rect)
        else:
            assert not outer.rect.overlaps(inner.rect)


def verify_arrows_end_on_borders(layout: PictureLayout) -> None:
    outlines = {node.box.name: node.outline for node in layout.nodes}
    for route in layout.routes:
        assert border_distance(outlines[route.arrow.source], route.curve[0]) < 1e-6
        assert border_distance(outlines[route.arrow.target], route.curve[-1]) < 1e-6


def border_distance(outline: Outline, point: Point) -> float:
    """How far the point is from where its own ray meets the border."""
    border = outline.towards(point)
    return hypot(border[0] - point[0], border[1] - point[1])


def verify_arrows_avoid_boxes(layout: PictureLayout) -> None:
    for route in layout.routes:
        for node in layout.nodes:
            if not route.arrow.lag and node.box.name not in (
                route.arrow.source,
                route.arrow.target,
            ):
                assert not any(
                    node.outline.rect.grown(-1).holds(point) for point in sampled(route.curve, 3)
                )


def test_border_distance_is_zero_only_on_the_border() -> None:
    ellipse, box = Outline(0, 0, 5, 3, True), Outline(0, 0, 5, 3, False, corner=1)
    assert border_distance(ellipse, (3.0, 2.4)) == pytest.approx(0)
    assert border_distance(ellipse, (0.0, 4.0)) == pytest.approx(1)
    assert border_distance(box, (5.0, 1.0)) == pytest.approx(0)
    assert border_distance(box, (4 + 0.6, 2 + 0.8)) == pytest.approx(0)
    assert border_distance(box, (5.0, 3.0)) > 0.3


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.data())
def test_any_graph_becomes_acyclic_and_rows_increase(count: int, data: st.DataObject) -> None:
    ends = st.integers(0, count - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends).filter(lambda edge: edge[0] != edge[1])))
    kept = acyclic(count, edges)
    assert {frozenset(edge) for edge in kept} == {frozenset(edge) for edge in edges}
    rows = infer_rows([()] * count, kept)
    assert all(rows[upper] < rows[lower] for upper, lower in kept)


def test_an_acyclic_graph_keeps_its_directions() -> None:
    edges = [(3, 1), (1, 0), (3, 2), (2, 0)]
    assert sorted(acyclic(4, edges)) == sorted(edges)


def boxes(kind: BoxKind, *names: str, plates: tuple[str, ...] = ()) -> tuple[Box, ...]:
    return tuple(Box(name, name, kind, plates=plates) for name in names)


def arrows(text: str, directed: bool = True) -> tuple[Arrow, ...]:
    return tuple(Arrow(*pair.split(">"), directed) for pair in text.split())


def heights(picture: Picture) -> dict[str, float]:
    return {node.box.name: node.outline.y for node in infer_layout(picture).nodes}


def test_sources_stand_just_above_what_they_enter() -> None:
    picture = Picture("", boxes(BoxKind.DRAW, "a", "b", "c", "late"), arrows("a>b b>c late>c"))
    y = heights(picture)
    assert y["a"] < y["b"] == y["late"] < y["c"]


def test_a_parent_of_two_stands_between_them() -> None:
    picture = Picture("", boxes(BoxKind.DRAW, "top", "left", "right"), arrows("top>left top>right"))
    top, left, right = (node.outline.x for node in infer_layout(picture).nodes)
    assert top == pytest.approx((left + right) / 2, abs=1)


def test_recurrences_do_not_shape_the_rows() -> None:
    chain = Picture("", boxes(BoxKind.DRAW, "x", "y"), arrows("x>y"))
    looped = Picture(
        "", chain.boxes, (*chain.arrows, Arrow("y", "x", lag="t-1"), Arrow("x", "x", lag="t-1"))
    )
    assert oriented_edges(looped) == oriented_edges(chain) == [(0, 1)]
    assert list(heights(looped).values()) == sorted(heights(looped).values())


def test_factors_hang_between_what_they_join() -> None:
    parts = (
        boxes(BoxKind.PARAM, "J")
        + boxes(BoxKind.LATENT, "s", "t")
        + boxes(BoxKind.FACTOR, "pair", "single")
    )
    picture = Picture("", parts, arrows("pair>J pair>s pair>t single>t", directed=False))
    y = heights(picture)
    assert y["J"] < y["pair"]
    assert y["s"] < y["pair"] < y["t"]
    assert y["single"] < y["t"]


def test_a_shared_key_under_two_prefixes_gets_two_rectangles() -> None:
    parts = boxes(BoxKind.DRAW, "a", plates=("N",)) + boxes(BoxKind.DRAW, "b", plates=("N", "K"))
    picture = Picture("", parts + boxes(BoxKind.DRAW, "c", plates=("K",)), (), PLATES)
    frames = {frame.path: frame.label for frame in infer_layout(picture).frames}
    assert frames == {("N",): "n in Neighbourhoods", ("N", "K"): "k", ("K",): "k"}


def test_the_lags_of_a_loop_are_listed_together() -> None:
    loops = (Arrow("x", "x", lag="t-1"), Arrow("x", "x", lag="t-2"), Arrow("x", "x", lag="t-1"))
    (route,) = infer_layout(Picture("", boxes(BoxKind.DRAW, "x"), loops)).routes
    assert route.lag == "t-1, t-2"


def ladder(rungs: int) -> Picture:
    names = [f"v{number}" for number in range(rungs)]
    text = " ".join(
        f"v{upper}>v{upper + step}" for step in (1, 3, 7) for upper in range(0, rungs - step, step)
    )
    return Picture("ladder", boxes(BoxKind.DRAW, *names), arrows(text))


def star(points: int, lag: str = "") -> Picture:
    names = [f"v{number}" for number in range(points)]
    rays = tuple(Arrow("v0", name, lag=lag) for name in names[1:])
    return Picture("star", boxes(BoxKind.DRAW, *names), rays)


def chain(length: int) -> Picture:
    names = [f"v{number}" for number in range(length)]
    links = tuple(Arrow(one, other) for one, other in pairwise(names))
    return Picture("chain", boxes(BoxKind.DRAW, *names), links)


@pytest.mark.parametrize(
    "picture", [ladder(40), star(400), star(150, "t-1"), chain(1000)], ids=lambda p: p.title
)
def test_even_a_large_picture_is_placed(picture: Picture) -> None:
    layout = infer_layout(picture)
    verify_boxes_apart(layout)
    verify_arrows_end_on_borders(layout)


def test_the_same_picture_is_always_drawn_the_same() -> None:
    assert compose_scene(ladder(25)) == compose_scene(ladder(25))
