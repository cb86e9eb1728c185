"""Files are read with bounds and written whole."""

from __future__ import annotations

import gzip
import io
import os
import threading
from pathlib import Path

import pytest

from dpc.dsl import files
from dpc.dsl.files import (
    CannotWrite,
    UnreadableFile,
    read_file,
    read_stream,
    read_text,
    write_whole,
)


class Endless(io.RawIOBase):
    """A stream that never ends, and counts what was taken from it."""

    taken = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0
        self.taken += size
        return b"x" * size


def test_a_stream_without_an_end_is_given_up() -> None:
    stream = Endless()
    with pytest.raises(UnreadableFile, match="at most 1e\\+04 are read"):
        read_stream(stream, 10_000)
    assert stream.taken == files.CHUNK


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"0" * 50_000_000))
    with pytest.raises(UnreadableFile, match="at most"):
        read_file(path, 1_000_000)


def test_a_damaged_gzip_file_is_refused_in_words(tmp_path: Path) -> None:
    whole = gzip.compress(os.urandom(200))
    path = tmp_path / "x.gz"
    for at in (0, -7, -1):  # the name of the format, the checksum, the length
        bent = bytearray(whole)
        bent[at] ^= 0xFF
        for content in (bytes(bent), whole[:40]):
            path.write_bytes(content)
            with pytest.raises(UnreadableFile, match="no whole gzip file"):
                read_file(path, 1000)


def test_text_is_utf8_without_zero_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for content, words in ((b"a\n\xff", "line 2 is not UTF-8"), (b"a\n\0", "a zero byte")):
        path.write_bytes(content)
        with pytest.raises(UnreadableFile, match=words):
            read_text(path, 100)


# ---- writing


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_link_to_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_text() == "new"


def test_devices_and_pipes_are_written_in_place(tmp_path: Path) -> None:
    write_whole(os.devnull, b"gone")
    assert not Path(os.devnull).is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"through")
    reader.join()
    assert found == [b"through"]
    assert pipe.is_fifo()


def test_it_is_synced_before_it_takes_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x"
    events = []
    replace, sync = Path.replace, os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: events.append("sync") or sync(file))
    monkeypatch.setattr(
        Path, "replace", lambda own, other: events.append("name") or replace(own, other)
    )
    write_whole(target, b"new")
    assert events == ["sync", "name"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    for path, words in (
        (".", "Is a directory"),
        (tmp_path, "Is a directory"),
        ("/dev/full", "No space left"),
        (tmp_path / "no" / "x", "No such file"),
        ("a\0b", "null byte"),
        (tmp_path / ("x" * 300), "name too long"),
    ):
        with pytest.raises(CannotWrite, match=f"(?s)cannot write .*{words}"):
            write_whole(path, b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "x"
    target.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="No space left"):
        write_whole(target, b"new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
