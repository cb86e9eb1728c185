"""Advice names keywords of Python, as in `target_accept=0.95`; on the command line the same are options."""

from __future__ import annotations

import re

KEYWORDS = ("method", "draws", "warmup", "chains", "target_accept", "max_tree_depth", "dense_mass", "steps")
QUOTES = "'\""
KEYWORD = re.compile(rf"`({'|'.join(KEYWORDS)})=([^`]+)`")


def as_options(text: str) -> str:
    """The text with `target_accept=0.95` spelled `--target-accept 0.95`, and `dense_mass=True` `--dense-mass`."""
    return KEYWORD.sub(lambda found: f"`{_option(found[1], found[2].strip(QUOTES))}`", text)


def _option(keyword: str, value: str) -> str:
    name = f"--{keyword.replace('_', '-')}"
    return name if value == "True" else f"{name} {value}"
