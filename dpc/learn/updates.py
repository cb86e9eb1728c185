"""How the best value of an unknown is found, when all others and all draws are known.

An unknown that enters the density in one way only has the closed form of that argument: the rows of
the library say which (`dpc.dsl.library.rows.Update`). Everything else takes a step of Newton's
method, which is exact where the log density is quadratic: in the weights of linear regressions.
"""

from collections.abc import Iterator

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import reads_any
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.library.rows import Update

from .roles import Roles


def find_updates(roles: Roles) -> dict[str, Update]:
    """The update of each unknown, by name."""
    return {node.name: _update(node, roles.graph) for node in roles.unknowns}


def _update(node: Node, graph: Graph) -> Update:
    uses = set(_uses(node, graph))
    if node.kind is Kind.DRAW:
        uses |= {law.facts.prior for law in node.laws}
        uses |= {
            Update.NEWTON for piece in node.pieces if piece.settings or piece.where is not None
        }
    return uses.pop() if len(uses) == 1 else Update.NEWTON


def _uses(node: Node, graph: Graph) -> Iterator[Update]:
    """What every mention of the unknown allows."""
    for other in graph.nodes:
        for piece in other.pieces:
            if isinstance(piece.body, c.Law):
                for name, argument in piece.body.arguments:
                    update = piece.body.facts.updates.get(name, Update.NEWTON)
                    yield from _argument_uses(node, update, argument)
            elif mentions(piece.body, node.name):
                yield Update.NEWTON
            if piece.where is not None and mentions(piece.where, node.name):
                yield Update.NEWTON


def _argument_uses(node: Node, found: Update, core: c.Core) -> Iterator[Update]:
    if not mentions(core, node.name):
        return
    direct = entry_of(core, node.name)
    whole_rows = (found is Update.PROBABILITIES) == (node.type.constraint == "simplex")
    yield (
        found
        if direct and whole_rows and len(core.type.shape) == whole_rank(found)
        else Update.NEWTON
    )


def whole_rank(update: Update) -> int:
    return 1 if update is Update.PROBABILITIES else 0


def entry_of(core: c.Core, name: str) -> bool:
    """The unknown itself, or an entry or row of it."""
    if isinstance(core, c.At) and not any(mentions(index, name) for index in core.indices):
        core = core.base
    return isinstance(core, c.Ref) and core.name == name


def mentions(core: c.Core | c.Law, name: str) -> bool:
    return reads_any(core, (name,))
