"""Keeping the state of a long run in a folder, so that it can be continued."""

import hashlib
import io
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpc.dsl.files import write_whole

from ..exits import UsageError


class WrongCheckpoint(ValueError):
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
        try:
            if self.wanted:
                self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            where = self.path.parent
            raise UsageError(f"cannot write {where}: {error.strerror or error}") from None

    def keep(self, step: int, tree: Any, now: bool = False) -> None:
        if self.wanted and step > self.kept and (now or self.is_due):
            arrays: dict[str, Any] = {
                f"leaf {k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(tree))
            }
            content = io.BytesIO()
            np.savez(content, run=np.array(self.run), **arrays)
            write_whole(self.path, content.getvalue())
            self.kept, self.next = step, time.monotonic() + SAVE_SECONDS

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self.next

    def load(self, like: Any) -> Any:
        """The tree that was kept last, which has the structure of `like`."""
        try:
            with np.load(self.path) as arrays:
                found = {name: arrays[name] for name in arrays.files}
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
            raise WrongCheckpoint(f"{self.path} is no checkpoint of dpc") from None
        if str(found.get("run")) != self.run:
            same = "model, data, start and options must be the same, but for the length of the run"
            raise WrongCheckpoint(f"{self.path} is of another run: {same}")
        old, structure = jax.tree.flatten(like)
        leaves = []
        for k, leaf in enumerate(old):
            array = found[f"leaf {k}"]
            is_plain = isinstance(leaf, np.ndarray | int)
            leaves.append(array if is_plain else jax.numpy.asarray(array))
        return jax.tree.unflatten(structure, leaves)
