"""What a likelihood has beside its tables: the laws of a network in which nothing is unknown."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from dpc.dsl.graph.build import run_passes
from dpc.dsl.graph.graph import Graph, Kind, Node

from ..model.model import Model
from .cases import Cases, Group
from .counts import Use
from .roles import Roles


def log_likelihood_of_rest(roles: Roles, uses: list[Use], cases: Cases) -> float:
    """Of all cases, what is not looked up in a table that is unknown: minus infinity where logic is
    contradicted.
    """
    rest = graph_of_rest(roles, uses)
    return 0.0 if rest is None else sum(_log_prob(Model(rest), group) for group in cases.groups)


def _log_prob(model: Model, group: Group) -> float:
    known = {**group.sizes, **group.shared}
    if not group.stacked:
        return float(model.log_prob({}, {}, known))
    each = jax.vmap(lambda own: model.log_prob({}, {}, {**known, **own}))(group.stacked)
    return float(jnp.sum(each))


def graph_of_rest(roles: Roles, uses: list[Use]) -> Graph | None:
    """The draws whose laws are known, all others given; None where there are none."""
    tables = {node.name for node in roles.unknowns}
    nodes = [_known_part(node, uses) for node in roles.graph.nodes if node.name not in tables]
    if not any(node.kind is Kind.DRAW for node in nodes):
        return None
    return run_passes(roles.graph.replace(nodes=tuple(nodes), recurrences=()))


def _known_part(node: Node, uses: list[Use]) -> Node:
    if node.kind is not Kind.DRAW:
        return node
    counted = [use.piece for use in uses if use.child.name == node.name]
    pieces = tuple(piece for piece in node.pieces if piece not in counted)
    if pieces:
        return node.replace(pieces=pieces, observed=True)
    return node.replace(kind=Kind.INPUT, pieces=(), parents=(), random=False, observed=False)
