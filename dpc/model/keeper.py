"""Keeping the state of a long run in a folder, so that it can be continued."""

import time
from pathlib import Path
from typing import Any

from ..exits import UsageError
from .checkpoint import load_tree, save_tree

SAVE_SECONDS = 1.0
FILE = "checkpoint.npz"


class Keeper:
    """Writes a tree of arrays when the last one is a second old.

    `run` is the fingerprint of what it belongs to. Without a folder nothing is written.
    """

    def __init__(self, folder: str | None, resume: bool, run: str):
        self.run = run
        self.wanted = folder is not None
        self.resume = resume
        self.path = Path(folder or "") / FILE
        self.next = 0.0
        self.kept = -1
        self._verify(folder)

    def _verify(self, folder: str | None) -> None:
        if self.resume and not self.wanted:
            raise UsageError("`resume=` needs the `checkpoint=` to continue from")
        if self.resume and not self.path.exists():
            raise UsageError(f"there is no checkpoint in {folder} to continue from")
        if self.wanted and self.path.exists() and not self.resume:
            raise UsageError(
                f"{self.path} is there already: `resume=` continues it, another folder starts anew"
            )
        if self.wanted:
            self._make_folder()

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path.parent}: {error.strerror or error}"
            ) from None

    def keep(self, step: int, tree: Any, now: bool = False) -> None:
        if now or self.is_due:
            self._write(step, tree)

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self.next

    def _write(self, step: int, tree: Any) -> None:
        if self.wanted and step > self.kept:
            save_tree(self.path, tree, self.run)
            self.kept, self.next = step, time.monotonic() + SAVE_SECONDS

    def load(self, like: Any) -> Any:
        """The tree that was kept last, which has the structure of `like`."""
        return load_tree(self.path, like, self.run)
