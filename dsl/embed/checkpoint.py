"""The state of an optimisation in a file: it appears whole or not at all, and belongs to one run only."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..files import write_whole
from .optimise import Plan, State


class WrongCheckpoint(ValueError):
    """A file that is no checkpoint, or one of another run."""


def fingerprint(model: Any, params: Mapping[str, Any], data: Any, plan: Plan) -> str:
    """What a run depends on, but for its number of steps: the program and its estimators, data, start and plan."""
    objective = model.objective(data)
    digest = hashlib.sha256(objective.text.encode())
    digest.update(repr(list(objective.choices.values())).encode())
    digest.update(repr(plan._replace(steps=0)).encode())
    for name, value in sorted([*params.items(), *data.items()]):
        array = np.asarray(value)
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def save_state(path: Path, state: State, run: str) -> None:
    leaves = jax.tree.leaves((state.raw, state.memory))
    arrays: dict[str, Any] = {f"leaf {k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
    arrays |= {"run": np.array(run), "step": np.array(state.step), "losses": state.losses}
    content = io.BytesIO()
    np.savez(content, **arrays)
    write_whole(path, content.getvalue())


def load_state(path: Path, like: State, run: str) -> State:
    """`like` is the state at the start of the run, whose structure the file's arrays have."""
    try:
        with np.load(path) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise WrongCheckpoint(f"{path} is no checkpoint of dpc") from None
    if str(found.get("run")) != run:
        raise WrongCheckpoint(
            f"{path} is of another run: model, data, start, rate, samples, seed and optimizer must be the same"
        )
    old, structure = jax.tree.flatten((like.raw, like.memory))
    leaves = [jax.numpy.asarray(found[f"leaf {k}"]) for k in range(len(old))]
    raw, memory = jax.tree.unflatten(structure, leaves)
    return State(int(found["step"]), raw, memory, found["losses"])
