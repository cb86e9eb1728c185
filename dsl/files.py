"""Writing files so that nobody ever sees half of one."""

import os
from pathlib import Path


class CannotWrite(OSError):
    """A file that cannot be written; the message names it and says why."""


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """The file appears whole or not at all; one that is replaced keeps its mode."""
    try:
        target = Path(path)
        beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            beside.write_bytes(content)
            if target.exists():
                beside.chmod(target.stat().st_mode)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from None
