"""What stands between a draw and the costs that has no useful derivative: a comparison, a step, a
rounding.

The mean of a step is differentiable, but the derivative of a step is zero: a pathwise gradient
would leave out what the step does, silently. Statements that are `soft` or `smooth` have
derivatives.
"""

from collections.abc import Iterable

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import reads_any
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.typed import Setting
from dpc.dsl.library.functions import functions_by_text

from .costs import CostTerm

COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
CHOICES = frozenset({"argmax", "argmin", "any", "all"})


def obstacle(name: str, graph: Graph, terms: Iterable[CostTerm], passing: frozenset[str]) -> str:
    """Why derivatives do not pass from this draw to the costs; empty if they do."""
    touched = {name}
    for node in graph.nodes:
        if node.name == name or not touched & set(node.parents):
            continue
        for piece in node.pieces:
            found = _hard(piece.body, piece.settings, touched, graph) or _hard_choice(
                piece.where, touched
            )
            if found:
                return f"`{node.name}` makes {found} of it"
        if node.kind is Kind.FUNCTION or node.name in passing:
            touched.add(node.name)
    for term in terms:
        found = _hard(term.body, term.settings, touched, graph)
        if found:
            return f"the objective makes {found} of it"
    return ""


def _hard_choice(where: c.Core | None, touched: set[str]) -> str:
    return "a choice" if where is not None and reads_any(where, touched) else ""


def _hard(
    body: c.Core | c.Law, settings: tuple[Setting, ...], touched: set[str], graph: Graph
) -> str:
    if any(setting.name in ("soft", "smooth") for setting in settings):
        return ""
    for part in c.walk(body):
        word = _jump(part)
        if word and any(reads_any(inner, touched) for inner in _jumping(part)):
            return word
        if isinstance(part, c.Call) and reads_any(part, touched):
            word = _jump_inside(part.function, graph)
            if word:
                return word
    return ""


def _jump(part: c.Core | c.Law) -> str:
    """What this form does that jumps, in words."""
    if isinstance(part, c.Apply) and part.function in COMPARISONS:
        return "a comparison"
    if isinstance(part, c.Reduce) and part.operator in CHOICES:
        return f"`{part.operator}`"
    if isinstance(part, c.Apply) and part.row and functions_by_text()[part.row].jumps:
        return f"`{part.function}`"
    return ""


def _jumping(part: c.Core | c.Law) -> list[c.Core]:
    """The inner expressions in which a form jumps: a lookup does in its keys, not in its values."""
    if not isinstance(part, c.Apply) or not part.row:
        return c.parts(part)
    names = functions_by_text()[part.row].jumps.split()
    return [argument for name, argument in part.arguments if name in names]


def _jump_inside(function: str, graph: Graph) -> str:
    """A function of the program that jumps; a caller's is taken to have derivatives."""
    body = next((f.body for f in graph.functions if f.name == function), None)
    parts = list(c.walk(body)) if body is not None else []
    return next((word for part in parts if (word := _jump(part))), "") or next(
        (
            word
            for part in parts
            if isinstance(part, c.Call) and (word := _jump_inside(part.function, graph))
        ),
        "",
    )
