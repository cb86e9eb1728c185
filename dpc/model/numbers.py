"""What is not a number is said in words, not shown: a draw, a density or an estimate that is NaN.

Only eager answers are looked at: what JAX traces, it may still put right or leave out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.printable import InWords

from .traced import is_traced


class NotANumber(InWords, ArithmeticError):
    """Numbers end before the answer."""


def verify_draws(graph: Graph, found: Mapping[str, Any]) -> None:
    """The first draw that is NaN is named: those below it are so because of it."""
    if is_traced(found):
        return
    for node in graph.of_kind(Kind.DRAW):
        if node.name not in found:
            continue
        array = np.asarray(found[node.name])
        if array.dtype.kind != "f":
            continue
        # Heavy tails may overflow, but what is cut to a range has ends, or mass that is not there.
        is_lost = not np.isfinite(array).all() if is_cut(node) else np.isnan(array).any()
        if is_lost:
            raise NotANumber(_of_draw(node) + _more_digits(array))


def verify_density(graph: Graph, found: Any) -> None:
    if not is_traced(found) and np.isnan(found).any():
        raise NotANumber(f"the log density is not a number{_because(graph)}{_more_digits(found)}")


def verify_estimates(graph: Graph, found: Mapping[str, Any]) -> None:
    """`found` are means of estimates by the names that they are shown under."""
    if is_traced(found):
        return
    for name, mean in found.items():
        if np.isnan(mean).any():
            said = f"the estimate of {name} is not a number"
            raise NotANumber(said + _because(graph) + _more_digits(mean))


def is_cut(node: Node) -> bool:
    return any(law.is_truncated for law in node.laws)


def _of_draw(node: Node) -> str:
    names = " or ".join(dict.fromkeys(law.name for law in node.laws))
    if is_cut(node):
        return (
            f"`{node.name}` is cut to a range in which {names} has no mass that numbers can hold, "
            "or to none: widen the range, or change the distribution"
        )
    return (
        f"`{node.name}` is not a number: an argument of {names or 'its distribution'} is outside "
        "of its domain, or too large or too small for numbers"
    )


def _because(graph: Graph) -> str:
    cut = [f"`{node.name}`" for node in graph.of_kind(Kind.DRAW) if is_cut(node)]
    if not cut:
        return ""
    names = " or ".join(cut)
    return f": perhaps {names} is cut to a range that has no mass that numbers can hold"


def _more_digits(array: Any) -> str:
    if np.asarray(array).dtype != np.float32:
        return ""
    return "; single precision has 7 digits, jax.config.update('jax_enable_x64', True) gives 16"
