"""What a likelihood has beside its tables: the laws of a network in which nothing is unknown."""

import jax
import jax.numpy as jnp

from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.passes.parts import without_pieces
from dpc.dsl.graph.typed import Piece

from ..model.model import Model
from .cases import CaseGroup, Cases
from .counts import Use
from .roles import Roles


def log_likelihood_of_rest(roles: Roles, uses: list[Use], cases: Cases) -> float:
    """Of all cases, what no unknown table says: minus infinity where logic is contradicted."""
    rest = graph_of_rest(roles, uses)
    return 0.0 if rest is None else sum(_log_prob(Model(rest), group) for group in cases.groups)


def _log_prob(model: Model, group: CaseGroup) -> float:
    known = {**group.sizes, **group.shared}
    if not group.stacked:
        return float(model.log_prob({}, {}, known))
    each = jax.vmap(lambda own: model.log_prob({}, {}, {**known, **own}))(group.stacked)
    return float(jnp.sum(each))


def graph_of_rest(roles: Roles, uses: list[Use]) -> Graph | None:
    """The draws whose laws are known, all others given; None where there are none."""
    tables = {node.name for node in roles.unknowns}
    counted: dict[str, list[Piece]] = {}
    for use in uses:
        counted.setdefault(use.child.name, []).append(use.piece)
    rest = without_pieces(roles.graph, tables, counted)
    return rest if rest.of_kind(Kind.DRAW) else None
