"""Imports: from the folder of the root file alone, each file once, ordinary files alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dpc
from dpc.cli import main
from dpc.dsl.limits import MAX_FILES

SECRET = "the password is swordfish"
LIBRARY = "fn double(x: real) -> real = 2 * x\n"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.dp").write_text(text)


def said(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    code = main(["check", str(path), *options])
    return code, capsys.readouterr().err


def importing(path: object) -> str:
    return f'import "{path}" as lib\ny := lib.double(3)\n'


def test_outside_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = tmp_path / "model"
    write(tmp_path, lib=LIBRARY)
    write(inner, up=importing("../lib.dp"), absolute=importing(tmp_path / "lib.dp"))
    (inner / "link.dp").symlink_to(tmp_path / "lib.dp")
    write(inner, linked=importing("link.dp"))
    for name in ("up", "absolute", "linked"):
        path = inner / f"{name}.dp"
        code, text = said(path, capsys)
        assert code == 1
        assert "outside of the folder of the model" in text
        assert f"--import-path {tmp_path}" in text
        assert said(path, capsys, "--import-path", str(tmp_path)) == (0, "")
        with pytest.raises(dpc.DpError, match="outside"):
            dpc.load(path)
        assert dpc.load(path, import_paths=[tmp_path]).run()["y"] == 6


def test_what_imports_import_stays_in_the_same_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, lib=LIBRARY)
    inner = tmp_path / "model"
    write(inner, root=importing("sub/mid.dp"))
    write(inner / "sub", mid='import "../../lib.dp" as deep\n' + LIBRARY)
    assert "outside of the folder" in said(inner / "root.dp", capsys)[1]
    write(inner / "sub", mid='import "../beside.dp" as deep\n' + LIBRARY)
    write(inner, beside=LIBRARY)
    assert "outside" not in said(inner / "root.dp", capsys)[1]


@pytest.mark.parametrize("name", ["secret.txt", "secret"])
def test_the_text_of_another_file_is_not_printed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(SECRET)
    (tmp_path / "renamed.dp").symlink_to(tmp_path / name)
    for path in (name, "renamed.dp", f"x/../{name}"):
        write(tmp_path, root=importing(path))
        code, text = said(tmp_path / "root.dp", capsys)
        assert code == 1
        assert "swordfish" not in text
        assert "called something.dp" in text


def test_devices_pipes_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.dp")  # to open it for reading would wait for ever
    (tmp_path / "folder.dp").mkdir()
    (tmp_path / "zero.dp").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "zero"):
        write(tmp_path, root=importing(f"{name}.dp"))
        code, text = said(tmp_path / "root.dp", capsys)
        assert code == 1
        assert "E0601" in text


def test_a_name_that_no_file_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a\0b.dp", "a" * 5000 + ".dp"):
        write(tmp_path, root=importing(name))
        assert "E0601" in said(tmp_path / "root.dp", capsys)[1]


def test_a_file_is_loaded_once(tmp_path: Path) -> None:
    """Each imports the next under two names: copies would be 2^40."""
    depth = 40
    for k in range(depth):
        both = f'import "f{k + 1}.dp" as a\nimport "./f{k + 1}.dp" as b\n'
        write(tmp_path, **{f"f{k}": f"{both}fn g(x: real) -> real = a.g(x) + 1\n"})
    write(tmp_path, **{f"f{depth}": "fn g(x: real) -> real = x + 1\n"})
    write(tmp_path, root='import "f0.dp" as lib\ny := lib.g(1)\n')
    model = dpc.load(tmp_path / "root.dp")
    assert len(model.graph.functions) == depth + 1


def test_two_names_for_one_file_are_one_file(tmp_path: Path) -> None:
    write(tmp_path, lib="param t : real = 2\n")
    write(tmp_path, root='import "lib.dp" as a\nimport "lib.dp" as b\ny := a.t + b.t\n')
    model = dpc.load(tmp_path / "root.dp")
    assert [node.name for node in model.graph.parameters] == ["a.t"]
    assert model.run({"a.t": 5.0})["y"] == 10


def test_too_many_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for k in range(MAX_FILES + 1):
        write(tmp_path, **{f"f{k}": f'import "f{k + 1}.dp" as a\n'})
    assert f"at most {MAX_FILES} files" in said(tmp_path / "f0.dp", capsys)[1]


def test_a_circle_by_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, root='import "sub/../root.dp" as a\n')
    assert "E0602" in said(tmp_path / "root.dp", capsys)[1]


def test_one_folder_is_not_a_list() -> None:
    with pytest.raises(ValueError, match="takes a list of folders"):
        dpc.parse("y = 1\n", import_paths="lib")
