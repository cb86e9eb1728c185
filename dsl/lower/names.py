"""Names of the model as Python names: the same wherever Python allows it, always distinct."""

import builtins
import keyword
import re
import unicodedata
from collections.abc import Set

from ..graph.graph import Graph
from ..graph.typed import Function

MODULES = "jax jnp lax dist Arrays DATA Any Callable annotations"
VARIABLES = "params values data key keys total carry step init log_prob evaluate sample objective"
WORDS = (*dir(builtins), *keyword.kwlist, *keyword.softkwlist)
TAKEN = frozenset((*WORDS, *f"{MODULES} {VARIABLES}".split()))


def python_names(graph: Graph, helpers: frozenset[str]) -> dict[str, str]:
    """Nodes and functions by their names, dims by `dim_key`."""
    wanted = [(dim_key(dim.name), dim.name) for dim in graph.dims]
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


def parameter_names(function: Function, taken: frozenset[str]) -> dict[str, str]:
    """What the program calls the parameters of a function, by their names in the model."""
    names: dict[str, str] = {}
    for key, _ in function.parameters:
        names[key] = free_name(key, taken | set(names.values()))
    return names


def dim_key(name: str) -> str:
    """No name of a model has a newline in it, so that no node is taken for a dim."""
    return f"dim\n{name}"


def _plain(char: str) -> str:
    """Other letters by their Unicode names, as `alpha` or `e`."""
    if char.isascii():
        return char if char.isalnum() else "_"
    case, letter, rest = unicodedata.name(char, "").partition(" LETTER ")
    word = re.match("[A-Z]+", rest) if letter else None
    if word is None:
        return "_"
    return word[0].capitalize() if "CAPITAL" in case else word[0].lower()


def free_name(name: str, used: Set[str]) -> str:
    """The name as Python writes it, with underscores after it until nothing else is called that."""
    # ASCII letters, digits, underscores; not two in front, which mean something to Python.
    text = "".join(map(_plain, unicodedata.normalize("NFKC", name)))
    found = f"_{text}" if text[:1].isdigit() or not text else re.sub("^__+", "_", text)
    while found in used or found in TAKEN:
        found += "_"
    return found
