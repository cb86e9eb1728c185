"""A model with finite variables as a network that other programs read."""

import numpy as np

from dpc.dsl.source import Source
from dpc.dsl.text.parser import parse_program
from dpc.dsl.text.syntax import DrawStmt, ModelStmt
from dpc.inference.factors.factor_graph import Factor
from dpc.inference.formats.network import Network, NetworkTable, NetworkVariable

from .discrete import Discrete

_PROPERTY = "# property "


def network_of(discrete: Discrete, source: Source) -> Network:
    """A Bayesian network when every variable has one table of its own, else a Markov one."""
    name, properties = properties_of(source)
    factors = discrete.factors.factors
    children = [factor.child for factor in factors]
    is_bayesian = sorted(map(str, children)) == sorted(discrete.states)
    variables = tuple(
        NetworkVariable(v, states, properties.get(v, ())) for v, states in discrete.states.items()
    )
    tables = tuple(
        _conditional(factor) if is_bayesian else _potential(factor) for factor in factors
    )
    return Network(name, variables, tables, is_bayesian, properties.get("", ()))


def _conditional(factor: Factor) -> NetworkTable:
    place = factor.variables.index(factor.child)
    scope = (*(str(v) for v in factor.variables if v != factor.child), str(factor.child))
    return NetworkTable(scope, np.moveaxis(np.exp(factor.log_values), place, -1))


def _potential(factor: Factor) -> NetworkTable:
    return NetworkTable(tuple(map(str, factor.variables)), np.exp(factor.log_values))


def properties_of(source: Source) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The model's name, and the properties in comments before statements; "" is the model."""
    program, _ = parse_program(source)
    found: dict[str, tuple[str, ...]] = {}
    name = "unknown"
    after = 0
    for statement in program.statements:
        lines = [c.text for c in program.comments if after <= c.span.start < statement.span.start]
        texts = tuple(line.removeprefix(_PROPERTY) for line in lines if line.startswith(_PROPERTY))
        after = statement.span.end
        if isinstance(statement, ModelStmt):
            name = statement.name.name
            found[""] = texts
        elif isinstance(statement, DrawStmt) and texts:
            found[statement.target.name.name] = texts
    return name, found
