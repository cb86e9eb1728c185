"""JSON whose numbers are numbers: Python's reader makes infinity of 1e400."""

import json
import re
from collections.abc import Callable
from math import isinf
from typing import Any

# A number may be too large only if it has an exponent of three digits, or hundreds of its own.
_LARGE = re.compile(r"[eE]\+?\d{3}|\d{300}")


def parse_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """What the text says; a ValueError has the rest of a sentence that starts with its name."""
    strict: dict[str, Any] = {"parse_float": _finite, "parse_int": _whole}
    if not _LARGE.search(text):
        strict = {}
    try:
        return json.loads(text, object_pairs_hook=pairs, **strict)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _finite(written: str) -> float:
    found = float(written)
    if isinf(found):
        raise ValueError(f"has the number {written[:40]}, which is larger than any (1.8e308)")
    return found


def _whole(written: str) -> int:
    if len(written) > MOST_DIGITS:
        raise ValueError(f"has a number with too many digits: {written[:20]}...")
    return int(written)


MOST_DIGITS = 400
