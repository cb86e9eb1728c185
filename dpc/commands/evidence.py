"""Evidence on the command line: --given a=yes,z[3]=rain."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from typing import Any

from dpc.exits import UsageError

_PARTS = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")


def add_given_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--given",
        action="append",
        default=[],
        metavar="A=V,B=V",
        help=(
            "what is known: a label (a=yes), several (a=yes|maybe), likelihoods (a=[0.2,0.8]), "
            "an element (z[3]=on)"
        ),
    )


def read_given(written: Sequence[str]) -> dict[str, Any]:
    """Values by name: labels, sets of labels, or lists."""
    found: dict[str, Any] = {}
    for text in written:
        for part in _PARTS.findall(text):
            name, value = _pair(part)
            if name in found:
                raise UsageError(f"--given names `{name}` twice")
            found[name] = value
    return found


def _pair(part: str) -> tuple[str, Any]:
    found = re.fullmatch(r"\s*([^=\[]+(?:\[[^\]]*\])?)\s*=\s*(.+?)\s*", part)
    if not found:
        raise UsageError(f"--given takes NAME=VALUE, not {part}")
    name, value = found.groups()
    return re.sub(r"\s*,\s*", ", ", name.strip()), _value(value)


def _value(text: str) -> Any:
    if text.startswith("["):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return [item.strip() for item in text[1:-1].split(",")]
    return set(text.split("|")) if "|" in text else text
