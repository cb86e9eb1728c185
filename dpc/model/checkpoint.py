"""The state of a long run in a file: whole or not at all, and of one run only."""

import hashlib
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpc.dsl.files import write_whole


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


def save_tree(path: Path, tree: Any, run: str) -> None:
    arrays: dict[str, Any] = {
        f"leaf {k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(tree))
    }
    content = io.BytesIO()
    np.savez(content, run=np.array(run), **arrays)
    write_whole(path, content.getvalue())


def load_tree(path: Path, like: Any, run: str) -> Any:
    """What was saved, whose structure `like` has."""
    try:
        with np.load(path) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise WrongCheckpoint(f"{path} is no checkpoint of dpc") from None
    if str(found.get("run")) != run:
        raise WrongCheckpoint(
            f"{path} is of another run: model, data, start and options must be the same, but for "
            "the length of the run"
        )
    old, structure = jax.tree.flatten(like)
    leaves = [
        found[f"leaf {k}"]
        if isinstance(leaf, np.ndarray | int)
        else jax.numpy.asarray(found[f"leaf {k}"])
        for k, leaf in enumerate(old)
    ]
    return jax.tree.unflatten(structure, leaves)
