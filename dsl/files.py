"""Reading files with bounds, and writing them so that nobody ever sees half of one."""

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from .printable import InWords

CHUNK = 1 << 20
ALWAYS_UNPACKED = 1 << 26
MOST_PACKED = 100
"""Text is packed to a tenth of its size or so; what is packed to a thousandth holds nothing."""


class CannotWrite(InWords, OSError):
    """A file that cannot be written; the message names it and says why."""


class UnreadableFile(InWords, OSError):
    """A file that is there, and has too much in it, or not what it should have."""


# ---- reading


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


def read_stream(stream: Bytes, most: int, likely: int | None = None) -> bytes:
    """All of it; in parts, so that a stream without an end, or a bomb, is given up early."""
    content = bytearray()
    while part := stream.read(CHUNK):
        content += part
        if len(content) > most:
            raise UnreadableFile(f"it holds more bytes than are read: at most {most:.3g} are read")
        if likely is not None and len(content) > likely:
            what = f"it unpacks to more than {MOST_PACKED} times its size"
            raise UnreadableFile(f"{what}, as files do that are made to fill the memory")
    return bytes(content)


def read_file(path: str | os.PathLike[str], most: int) -> bytes:
    """At most so many bytes, unpacked where the name ends in .gz; raises OSError."""
    with open(path, "rb") as file:
        if not os.fspath(path).lower().endswith(".gz"):
            return read_stream(file, most)
        likely = max(ALWAYS_UNPACKED, MOST_PACKED * os.fstat(file.fileno()).st_size)
        try:
            with gzip.open(file) as unpacked:
                return read_stream(unpacked, most, likely)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise UnreadableFile(f"it is no whole gzip file ({error})") from None


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """A file of UTF-8 text; raises OSError, also for bytes that are no text."""
    return text_of(read_file(path, most))


def text_of(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"{content[error.start]:#04x}"
        raise UnreadableFile(
            f"line {line} is not UTF-8 text: it has the byte {byte}; save it as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableFile(f"line {line} is not text: it has a zero byte")
    return text


def reason_of(error: OSError) -> str:
    """Why, in words, without the path and the number that Python puts in front."""
    return error.strerror or str(error) or type(error).__name__


# ---- writing


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """The file appears whole or not at all; one that is replaced keeps its mode.

    A link is followed. What cannot be replaced, a device or a pipe, is written in place.
    """
    with written_whole(path) as beside, open(beside, "wb") as file:
        file.write(content)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path to write to, whose file takes the name when all is written; raises CannotWrite."""
    try:
        if _is_regular_or_new(path):
            with _replacing(Path(os.path.realpath(path))) as beside:
                yield beside
        else:
            yield Path(path)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise CannotWrite(f"cannot write {os.fspath(path)}: {reason}") from None


def _is_regular_or_new(path: str | os.PathLike[str]) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    # A name that nobody can guess, and never one that is there: others may write to the folder.
    beside = target.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with open(beside, "xb"):
            yield beside
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
