"""Graphviz, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from typing import Literal

TIMEOUT_SECONDS = 30


class GraphvizError(RuntimeError):
    """The `dot` program is missing or failed."""


def run_graphviz(dot_text: str, format_name: Literal["svg", "png"]) -> bytes:
    program = shutil.which("dot")
    if program is None:
        raise GraphvizError("Graphviz is not installed: no `dot` on the path")
    options = ["-Gdpi=144"] if format_name == "png" else []
    try:
        done = subprocess.run(
            [program, f"-T{format_name}", *options],
            input=dot_text.encode(),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GraphvizError(f"`dot` did not run: {error}") from error
    if done.returncode != 0 or not done.stdout:
        raise GraphvizError(f"`dot` failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
