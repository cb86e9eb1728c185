"""One drawing, four formats: every label arrives, hostile ones are escaped, files appear whole."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpc.show.draw import write
from dpc.show.draw.measure import printable, shortened, text_width
from dpc.show.draw.paint import compose_scene
from dpc.show.draw.picture import Arrow, Box, BoxKind, Picture, Plate
from dpc.show.draw.scene import FONTS, emit_svg
from dpc.show.draw.write import (
    SCALE,
    GraphvizError,
    PngUnavailable,
    UnknownFormat,
    emit_dot,
    emit_mermaid,
    format_of,
    png_of_svg,
    render_picture,
    write_picture,
)

HOSTILE = [
    "end",
    '"quoted"',
    "<b>&amp;</b>",
    "back\\slash\\",
    "two\nlines",
    "]} --> x",
    "#35;",
    "1. one",
    "`md`",
]
STRANGE = ["\x00\x1b[0m", "\ud800", "σ²", "漢字", "", "W" * 90]

REGRESSION = Picture(
    "Radon",
    (
        Box("mu", "mu", BoxKind.DRAW, detail="Normal"),
        Box("w", "w", BoxKind.PARAM),
        Box("a", "a", BoxKind.DRAW, plates=("County",)),
        Box("x", "x", BoxKind.INPUT, plates=("Obs",)),
        Box("f", "f", BoxKind.FUNCTION, plates=("Obs",)),
        Box("y", "y", BoxKind.DRAW, observed=True, plates=("Obs",)),
        Box("loss", "loss", BoxKind.COST),
    ),
    (
        Arrow("mu", "a"),
        Arrow("a", "f"),
        Arrow("x", "f"),
        Arrow("f", "y"),
        Arrow("y", "y", lag="t-1"),
        Arrow("w", "loss"),
    ),
    (Plate("County", "c in County"), Plate("Obs", "i in Obs")),
)


def hostile(labels: list[str]) -> Picture:
    kinds = list(BoxKind)
    boxes = tuple(
        Box(f"v{number}", label, kinds[number % len(kinds)], detail=label, plates=(label,))
        for number, label in enumerate(labels)
    )
    arrows = tuple(Arrow("v0", box.name, lag=box.label) for box in boxes)
    return Picture(" ".join(labels), boxes, arrows, tuple(Plate(label, label) for label in labels))


def svg_texts(picture: Picture) -> list[str]:
    root = ElementTree.fromstring(emit_svg(compose_scene(picture)))
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_svg_has_a_title_a_description_and_every_label() -> None:
    root = ElementTree.fromstring(emit_svg(compose_scene(REGRESSION)))
    assert [child.text for child in root[:2]] == [
        "Radon",
        "A graph of 7 boxes and 6 arrows: mu (draw), w (parameter), a (draw), x (data), "
        "f (function), y (draw), loss (objective).",
    ]
    expected = {
        "Radon",
        "mu",
        "Normal",
        "w",
        "a",
        "x",
        "f",
        "y",
        "loss",
        "c in County",
        "i in Obs",
        "t-1",
    }
    assert expected <= set(svg_texts(REGRESSION))


def test_the_legend_names_only_the_kinds_present() -> None:
    legend = [
        text
        for text in svg_texts(REGRESSION)
        if text in {kind.value for kind in BoxKind} | {"observed draw"}
    ]
    assert legend == ["data", "parameter", "function", "draw", "observed draw", "objective"]


@pytest.mark.parametrize("label", HOSTILE + STRANGE)
def test_svg_escapes_any_label(label: str) -> None:
    texts = svg_texts(hostile([label]))
    assert texts.count(shortened(label)) >= (3 if label else 2), (
        "label, plate, and detail if there is one"
    )


def pixels(image: bytes) -> tuple[int, int]:
    """Width and height stand first in a PNG file."""
    assert image.startswith(b"\x89PNG")
    return int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")


def test_png_has_its_size() -> None:
    scene = compose_scene(REGRESSION)
    width, height = pixels(png_of_svg(emit_svg(scene)))
    assert width == pytest.approx(scene.width * SCALE, abs=1)
    assert height == pytest.approx(scene.height * SCALE, abs=1)


def test_png_paints_any_label() -> None:
    assert pixels(render_picture(hostile(HOSTILE + STRANGE), "png"))


@pytest.mark.parametrize("letters", ["alpha", "σ²", "é", "Σ"])
def test_png_has_the_letters(letters: str) -> None:
    """Without a font resvg would leave them out: the two pictures would be the same."""

    def painted(text: str) -> bytes:
        return png_of_svg(
            '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40" '
            f'font-family="{FONTS}"><text x="5" y="20">{text}</text></svg>'
        )

    assert painted(letters) != painted("") != painted(letters + letters)


@pytest.mark.parametrize("missing", ["resvg_py", "matplotlib"])
def test_what_png_needs_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing == "resvg_py":
        monkeypatch.setitem(sys.modules, missing, None)
    else:
        monkeypatch.setattr(write, "find_spec", lambda name: None)
    with pytest.raises(PngUnavailable, match=rf"PNG needs {missing}.*pip install 'dpc\[png\]'"):
        render_picture(REGRESSION, "png")


def test_the_width_table_orders_letters_as_fonts_do() -> None:
    assert (
        text_width("iii", 10)
        < text_width("nnn", 10)
        < text_width("WWW", 10)
        < text_width("漢漢漢漢", 10)
    )


def test_dot_nests_clusters_and_marks_recurrences() -> None:
    text = emit_dot(REGRESSION)
    assert text.count("subgraph cluster_") == 2
    assert 'n5 -> n5 [label="t-1", style=dashed, constraint=false]' in text


def test_dot_strings_are_closed_and_hold_their_labels() -> None:
    text = emit_dot(hostile(HOSTILE))
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    assert '"' not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    unescaped = {
        re.sub(r"\\(.)", r"\1", string.split("\\n")[0]).replace("&amp;", "&") for string in strings
    }
    assert {printable(label) for label in HOSTILE if "\\" not in label} <= unescaped


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_our_dot() -> None:
    svg = render_picture(hostile(HOSTILE), "svg", engine="graphviz")
    texts = {
        element.text
        for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    }
    spaced = {(text or "").replace("\N{NO-BREAK SPACE}", " ") for text in texts}
    assert {printable(label) for label in HOSTILE} <= spaced


def test_mermaid_labels_hold_no_character_with_a_meaning() -> None:
    text = emit_mermaid(hostile(HOSTILE))
    labels = re.findall(r'^ *n\d+[(\[]+"([^"\n]*)"[)\]]+:::\w+$', text, re.MULTILINE)
    assert len(labels) == len(HOSTILE)
    decoded = [
        re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label.split("<br/>")[0])
        for label in labels
    ]
    assert decoded == [printable(label) for label in HOSTILE]
    assert not any(set(label.replace("<br/>", "")) & set('"<>[]{}|\\`&*') for label in labels)


def test_mermaid_nests_subgraphs_and_marks_recurrences() -> None:
    text = emit_mermaid(REGRESSION)
    assert text.count("subgraph ") == text.count("\n  end\n") == 2
    assert 'n5 -. "t-1" .-> n5' in text
    assert "n0 --> n2" in text


@pytest.mark.parametrize("ending", ["svg", "png", "dot", "gv", "mmd", "mermaid"])
def test_a_file_is_written_whole(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{ending}"
    write_picture(REGRESSION, path, engine="builtin")
    assert path.read_bytes() == render_picture(REGRESSION, format_of(path), engine="builtin")
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.svg"
    path.write_text("old")

    def refuse(source: object, target: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(write.os, "replace", refuse)
    with pytest.raises(OSError, match="no room"):
        write_picture(REGRESSION, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_unknown_formats_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match="choose one of svg, png, dot, mermaid"):
        render_picture(REGRESSION, "gif")
    with pytest.raises(UnknownFormat, match="endings are"):
        write_picture(REGRESSION, tmp_path / "model.gif")


def test_without_graphviz_auto_draws_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert render_picture(REGRESSION, "svg") == render_picture(REGRESSION, "svg", engine="builtin")
    with pytest.raises(GraphvizError):
        render_picture(REGRESSION, "svg", engine="graphviz")


def test_importing_the_writers_stays_light() -> None:
    heavy = "{'resvg_py', 'arviz', 'jax', 'matplotlib', 'numpy', 'numpyro'}"
    code = f"import sys, dpc.show.draw.write; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_an_empty_picture_is_drawn() -> None:
    empty = Picture("", (), ())
    assert all(render_picture(empty, name, engine="builtin") for name in write.WRITERS)
