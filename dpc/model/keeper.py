"""Keeping the state of a long run in a folder, so that it can be continued."""

import fcntl
import hashlib
import io
import os
import time
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpc.dsl.files import reason_of, write_whole
from dpc.dsl.printable import InWords

from ..data.npz import arrays_of_npz
from ..exits import UsageError


class WrongCheckpoint(InWords, ValueError):
    """A file that is no checkpoint, or one of another run."""


def digest(words: Iterable[str], arrays: Iterable[tuple[str, Any]]) -> str:
    found = hashlib.sha256()
    for word in words:
        found.update(word.encode())
    for name, value in arrays:
        array = np.asarray(value)
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


SAVE_SECONDS = 1.0
FILE = "checkpoint.npz"


LOCK = ".lock"


def _locked(folder: Path) -> int:
    """The folder, made where it is not there, for this run alone: until the file is closed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / LOCK, os.O_WRONLY | os.O_CREAT, 0o666)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {reason_of(error)}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        what = f"another run keeps its state in {folder}"
        raise UsageError(f"{what}: wait until it ends, or name another folder") from None
    return file


def load_arrays(path: Path) -> dict[str, Any]:
    """The arrays of a file of a checkpoint; what is damaged is a WrongCheckpoint."""
    try:
        return arrays_of_npz(path)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # libraries raise anything on a damaged file
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        what = f"{path} is no checkpoint of dpc, or a damaged one"
        raise WrongCheckpoint(f"{what} ({reason}): start anew in another folder") from None


class Keeper:
    """Writes arrays of the `run` with this fingerprint once a second; without a folder, nothing."""

    def __init__(self, folder: str | None, resume: bool, run: str):
        self.run = run
        self.wanted = folder is not None
        self.path = Path(folder or "") / FILE
        self.next = 0.0
        self.kept = -1
        if resume and not self.wanted:
            raise UsageError("`resume=` needs the `checkpoint=` to continue from")
        if resume and not self.path.exists():
            raise UsageError(f"there is no checkpoint in {folder} to continue from")
        if self.wanted and self.path.exists() and not resume:
            what = "`resume=` continues it, another folder starts anew"
            raise UsageError(f"{self.path} is there already: {what}")
        if self.wanted:
            self.lock = weakref.finalize(self, os.close, _locked(self.path.parent))

    def keep(self, step: int, tree: Any, now: bool = False) -> None:
        if self.wanted and step > self.kept and (now or self.is_due):
            arrays: dict[str, Any] = {
                f"leaf {k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(tree))
            }
            content = io.BytesIO()
            np.savez(content, run=np.array(self.run), **arrays)
            write_whole(self.path, content.getvalue())
            self.kept, self.next = step, time.monotonic() + SAVE_SECONDS

    def release(self) -> None:
        """Lets other runs use the folder."""
        if self.wanted:
            self.lock()

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self.next

    def load(self, like: Any) -> Any:
        """The tree that was kept last, which has the structure of `like`."""
        try:
            return self._load(like)
        except (WrongCheckpoint, OSError):
            self.release()
            raise

    def _load(self, like: Any) -> Any:
        found = load_arrays(self.path)
        if str(found.get("run")) != self.run:
            same = "model, data, start and options must be the same, but for the length of the run"
            raise WrongCheckpoint(f"{self.path} is of another run: {same}")
        old, structure = jax.tree.flatten(like)
        leaves = []
        for k, leaf in enumerate(old):
            array = found.get(f"leaf {k}")
            if array is None:
                raise WrongCheckpoint(f"{self.path} lacks a part of the state: start anew")
            is_plain = isinstance(leaf, np.ndarray | int)
            leaves.append(array if is_plain else jax.numpy.asarray(array))
        return jax.tree.unflatten(structure, leaves)
