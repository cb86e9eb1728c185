"""Messages name keywords of Python, as in `target_accept=0.95`; in the shell these are options."""

from __future__ import annotations

import re
from collections.abc import Collection

KEYWORDS = {
    "params": "set",
    "start": "set",
}
"""Keywords whose option has another name."""

QUOTES = "'\""
KEYWORD = re.compile(r"`([a-z_]+)=([^`]*)`")


def as_options(text: str, options: Collection[str]) -> str:
    """`target_accept=0.95` is spelled `--target-accept 0.95`, `dense_mass=True` `--dense-mass`.

    `options` are those of the command; other keywords stay as they are.
    """

    def spelled(found: re.Match[str]) -> str:
        known = KEYWORDS.get(found[1], found[1]) in options
        return _option(found[1], found[2].strip(QUOTES)) if known else found[0]

    return KEYWORD.sub(spelled, text)


def _option(keyword: str, value: str) -> str:
    name = f"--{KEYWORDS.get(keyword, keyword).replace('_', '-')}"
    if keyword == "params" and value:
        return f"`{name} {value}=...`"
    if not value:
        return name
    return f"`{name}`" if value == "True" else f"`{name} {value}`"
