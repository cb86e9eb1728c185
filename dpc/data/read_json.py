"""JSON in Stan's layout: one object, whose values are scalars and nested lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .errors import collect_each, problem
from .items import variable_from_nested
from .raw import Origin, Raw, repeated
from .read_text import read_text


def read_json(path: Path) -> Raw:
    where = path.name
    entries = _parse(read_text(path), where)
    if not isinstance(entries, _Object):
        help = 'as in {"N": 3, "y": [1.5, 2, 4]}'
        raise problem("", f"{where} holds no object of names and values", help, where)
    twice = repeated(name for name, _ in entries.pairs)
    if twice is not None:
        raise problem(twice, f"`{twice}` comes twice in {where}", place=where)
    return Raw(
        where,
        collect_each(
            lambda name, value: variable_from_nested(value, Origin(where, name)), entries.pairs
        ),
    )


class _Object:
    """Keeps what a dict would lose: that a name comes twice."""

    def __init__(self, pairs: list[tuple[str, Any]]):
        self.pairs = pairs


def _parse(text: str, where: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        place = f"{where}, line {error.lineno}, column {error.colno}"
        raise problem("", f"{where} is not JSON: {error.msg}", place=place) from None
    except RecursionError:
        raise problem("", f"{where} is nested too deeply", place=where) from None
    except ValueError:
        raise problem("", f"{where} has a number with too many digits", place=where) from None
