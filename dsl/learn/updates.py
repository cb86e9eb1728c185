"""How the best value of an unknown is found, when all others and all draws are known.

An unknown that enters the density in one way only has a closed form; the derivative of the log density in it is

    probabilities   c_k / p_k                     p = c / sum c
    chance          a / p - b / (1 - p)           p = a / (a + b)
    rate            s / r - w                     r = s / w
    spread          q / s^3 - w / s               s = sqrt(q / w)
    mean            s - w m                       m = s / w

with sums c, a, b, s, w, q over the data that do not depend on it. Everything else takes a step of Newton's method,
which is exact where the log density is quadratic: in the weights of linear regressions.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from .. import core as c
from ..graph import Graph, Kind, Node
from .roles import Roles


class Update(Enum):
    PROBABILITIES = "counts"
    CHANCE = "counts of successes"
    RATE = "a ratio of sums"
    SPREAD = "a mean square"
    MEAN = "a mean"
    NEWTON = "Newton's method"


USES: dict[tuple[str, str], Update] = {
    ("Categorical", "p"): Update.PROBABILITIES,
    ("Multinomial", "p"): Update.PROBABILITIES,
    ("Bernoulli", "p"): Update.CHANCE,
    ("Binomial", "p"): Update.CHANCE,
    ("Geometric", "p"): Update.CHANCE,
    ("Poisson", "rate"): Update.RATE,
    ("Exponential", "rate"): Update.RATE,
    ("Gamma", "rate"): Update.RATE,
    ("Normal", "mean"): Update.MEAN,
    ("LogNormal", "location"): Update.MEAN,
    ("Normal", "sd"): Update.SPREAD,
    ("LogNormal", "scale"): Update.SPREAD,
    ("HalfNormal", "scale"): Update.SPREAD,
}
PRIORS: dict[str, Update] = {
    "Dirichlet": Update.PROBABILITIES,
    "Beta": Update.CHANCE,
    "Gamma": Update.RATE,
    "Normal": Update.MEAN,
}


def find_updates(roles: Roles) -> dict[str, Update]:
    """The update of each unknown, by name."""
    return {node.name: _update(node, roles.graph) for node in roles.unknowns}


def _update(node: Node, graph: Graph) -> Update:
    uses = set(_uses(node, graph))
    if node.kind is Kind.DRAW:
        uses |= {PRIORS.get(law.name, Update.NEWTON) for law in node.laws}
        uses |= {Update.NEWTON for piece in node.pieces if piece.settings or piece.where is not None}
    return uses.pop() if len(uses) == 1 else Update.NEWTON


def _uses(node: Node, graph: Graph) -> Iterator[Update]:
    """What every mention of the unknown allows."""
    for other in graph.nodes:
        for piece in other.pieces:
            if isinstance(piece.body, c.Law):
                for name, argument in piece.body.arguments:
                    yield from _argument_uses(node, piece.body.name, name, argument)
            elif mentions(piece.body, node.name):
                yield Update.NEWTON
            if piece.where is not None and mentions(piece.where, node.name):
                yield Update.NEWTON


def _argument_uses(node: Node, law: str, argument: str, core: c.Core) -> Iterator[Update]:
    if not mentions(core, node.name):
        return
    found = USES.get((law, argument), Update.NEWTON)
    direct = entry_of(core, node.name)
    whole_rows = (found is Update.PROBABILITIES) == (node.type.constraint == "simplex")
    yield found if direct and whole_rows and len(core.type.shape) == whole_rank(found) else Update.NEWTON


def whole_rank(update: Update) -> int:
    return 1 if update is Update.PROBABILITIES else 0


def entry_of(core: c.Core, name: str) -> bool:
    """The unknown itself, or an entry or row of it."""
    if isinstance(core, c.At) and not any(mentions(index, name) for index in core.indices):
        core = core.base
    return isinstance(core, c.Ref) and core.name == name


def mentions(core: c.Core | c.Law, name: str) -> bool:
    return any(isinstance(part, c.Ref) and part.name == name for part in c.walk(core))
