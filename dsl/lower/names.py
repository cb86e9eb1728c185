"""Names of the model as names of a Python program: the same wherever Python allows it, and always distinct."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Set

from ..graph import Graph

MODULES = "jax jnp lax dist Arrays DATA"
VARIABLES = "params values data key keys total carry step init log_prob evaluate sample objective"
TAKEN = frozenset(dir(builtins)) | frozenset(f"{MODULES} {VARIABLES}".split())


def python_names(graph: Graph, helpers: frozenset[str]) -> dict[str, str]:
    """Nodes and functions by their names, dims as `dim NAME`."""
    wanted = [(f"dim {dim.name}", dim.name) for dim in graph.dims]
    wanted += [(function.name, function.name) for function in graph.functions]
    nodes = [*graph.nodes, *(graph.guide.nodes if graph.guide else ())]
    wanted += [(node.name, node.name) for node in nodes]
    used = set(helpers)
    found: dict[str, str] = {}
    for key, name in wanted:
        if key not in found:
            found[key] = free_name(name, used)
            used.add(found[key])
    return found


def _identifier(name: str) -> str:
    text = re.sub(r"\W", "_", unicodedata.normalize("NFKC", name))
    return text if text.isidentifier() else f"_{text}"


def free_name(name: str, used: Set[str]) -> str:
    """The name as Python writes it, with underscores after it until nothing else is called that."""
    found = _identifier(name)
    while keyword.iskeyword(found) or keyword.issoftkeyword(found) or found in used or found in TAKEN:
        found += "_"
    return found
