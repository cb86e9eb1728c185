"""What no certificate sees: states that explain nothing, densities without bound, open ends."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph.core import Ref
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Node
from dpc.inference.optimise.em import look
from dpc.inference.optimise.units import plain_units

from ..data.bind import BoundData
from ..finite.discrete import states_of
from .blame import term_tables
from .cases import CaseGroup
from .choose import MethodChoice, expect_in_units
from .likelihood import Arrays, Likelihood

Values = dict[str, Any]
Array = np.ndarray[Any, Any]

NOTHING = 1e-3
"""Of an expected count: less is not a part of anything that was seen."""
COLLAPSED = 1e8
"""How many times narrower than the data a density is that has collapsed on some of them."""


def what_is_wrong(
    likelihood: Likelihood, choice: MethodChoice, params: Values, data: list[Arrays]
) -> str:
    """Why this is no maximum worth the name, in words; or nothing."""
    found = collapsed(likelihood, params) or dead(likelihood, choice, params, data)
    return found or ends_at_data(likelihood, params)


# ---- hidden states without data


def dead(likelihood: Likelihood, choice: MethodChoice, params: Values, data: list[Arrays]) -> str:
    if choice.method != "em":
        return ""
    unknown = {node.name for node in likelihood.roles.unknowns}
    cases = likelihood.cases
    setting = BoundData(cases.groups[0].sizes, cases.labels, {})
    counts = state_counts(likelihood, params, data)
    for node in likelihood.roles.summed:
        above = likelihood.roles.graph.ancestors({n for law in node.laws for n in nodes_read(law)})
        gone = np.flatnonzero(counts[node.name] < NOTHING)
        if len(gone) and above & unknown:
            state = states_of(node, setting)[gone[0]]
            what = f"the state {state} of `{node.name}` explains none of the data"
            return f"{what}: fewer states will do, or other starts (`restarts=`, `seed=`)"
    return ""


def state_counts(likelihood: Likelihood, params: Values, data: list[Arrays]) -> dict[str, Array]:
    """How often each state of each hidden draw is expected in the data."""
    raw = likelihood.unconstrain(params)
    known = plain_units(raw), data
    before, first = jnp.full((), jnp.inf), jnp.full((), -1, jnp.int32)
    for expect in expect_in_units(likelihood):
        state = look(expect, known, first, raw, before)
        if np.isfinite(state.value):
            break
    found: dict[str, Array] = {}
    groups = zip(likelihood.cases.groups, data, state.memory.of_latents, strict=True)
    for group, own, tables in groups:
        finite = finite_part(likelihood, params, group, own)
        axis = (0, 1) if own.stacked else (0,)
        for factors, table in zip(finite.structure.groups, tables, strict=True):
            total = np.asarray(table).sum(axis=axis)
            for name, counted in _by_draw(finite, factors.scopes, total):
                old = found.get(name, np.zeros(len(counted)))
                found[name] = np.maximum(old, counted)
    return found


def _by_draw(finite: Any, scopes: Array, total: Array) -> Iterator[tuple[str, Array]]:
    """The axes of a summed table that are about one draw."""
    for axis in range(scopes.shape[1]):
        others = tuple(k for k in range(total.ndim) if k != axis)
        for name, start in finite.variables.starts.items():
            size = prod(finite.variables.by_name[name].shape)
            is_own = (start <= scopes[:, axis]) & (scopes[:, axis] < start + size)
            if len(scopes) and is_own.all():
                yield name, total.sum(axis=others)


def finite_part(likelihood: Likelihood, params: Values, group: CaseGroup, own: Arrays) -> Any:
    """The finite variables of a case: found by tracing, nothing is computed."""
    seen: list[Any] = []

    def of_case(known: Values, sizes: Mapping[str, int]) -> Any:
        part = likelihood.model.questions.known(*likelihood.known(params, known, sizes))
        seen.append(part.finite)
        return jnp.zeros(())

    jax.eval_shape(lambda arrays: likelihood.map_cases(group, arrays, of_case), own)
    return seen[0]


# ---- densities without bound


def collapsed(likelihood: Likelihood, params: Values) -> str:
    """Where a density is far narrower than the data are, it has collapsed on some of them."""
    graph = likelihood.roles.graph
    for group, arrays in zip(likelihood.cases.groups, likelihood.arrays, strict=True):
        for term, table in zip(*term_tables(likelihood, params, group, arrays), strict=True):
            node = graph.by_name.get(term.name)
            if node is None or term.name not in likelihood.cases.given or not len(node.laws):
                continue
            if any(law.facts.finite for law in node.laws) or not table.size:
                continue
            values = group.stacked.get(term.name, group.shared.get(term.name))
            if values is None or values.dtype.kind != "f":
                continue
            slots = tuple(range(table.ndim - len(term.slots), table.ndim))
            best = table.max(axis=slots)
            is_narrow = best.max() > highest(values, bool(group.stacked), len(term.binders))
            if is_narrow or best.min() < -(COLLAPSED**2) / 2:
                what = f"the density of `{term.name}` grows without bound: a law has collapsed on "
                help = "a lower bound of its spread, as in `real(lower=0.1)`, or a prior keeps it"
                return f"{what}some of the data; {help}"
    return ""


def highest(values: Array, by_case: bool, binders: int) -> float:
    """The log density of a law that is COLLAPSED times narrower than the data."""
    whole = values if by_case else values[None] if values.ndim == 0 else values
    rows = whole if len(whole) > 2 else whole.reshape(-1, 1)
    spread = rows.std(axis=0)
    narrow = np.log(COLLAPSED) - np.log(np.where(spread > 0, spread, 1.0))
    event = values.ndim - by_case - binders
    return float(narrow.reshape(-1).max() if event <= 0 else narrow.sum())


# ---- ends that are open


LIMITS = {
    "NegativeBinomial": {"concentration": "Poisson", "shape": "Poisson", "n": "Poisson"},
    "ZeroInflatedNegativeBinomial": {"concentration": "ZeroInflatedPoisson"},
    "BetaBinomial": {"concentration": "Binomial"},
    "StudentT": {"df": "Normal"},
    "HalfStudentT": {"df": "HalfNormal"},
    "MultivariateStudentT": {"df": "MultivariateNormal"},
}
"""By distribution and argument, what is left as the argument grows."""


def without_maximum(likelihood: Likelihood, params: Values, data: list[Arrays]) -> str:
    """Why no parameters are best: one of them could grow for ever."""
    nodes = likelihood.roles.graph.nodes
    laws = [
        (node, law) for node in nodes if node.name in likelihood.cases.given for law in node.laws
    ]
    for node, law in laws:
        for argument, core in law.arguments:
            limit = LIMITS.get(law.name, {}).get(argument)
            if not (limit and isinstance(core, Ref) and core.name in params):
                continue
            value = float(likelihood.loss(params, data))
            larger = params | {core.name: params[core.name] * 1000}
            there = float(likelihood.loss(larger, data))
            if abs(there - value) <= LEVEL * max(1.0, abs(value)):
                what = f"`{core.name}` may grow without end: `{node.name}` is then {limit}"
                return f"{what}, which fits as well; use that, or a prior"
    return ""


def ends_at_data(likelihood: Likelihood, params: Values) -> str:
    """What a fit has missed whose maximum is where the support of a density ends."""
    for node in likelihood.roles.graph.nodes:
        for law in node.laws if node.name in likelihood.cases.given else ():
            for argument, core in law.arguments:
                if argument in law.facts.edges and {*nodes_read(core)} & params.keys():
                    return (
                        f"`{argument}` of {law.name} is an end of what `{node.name}` can be: the "
                        "maximum is where it meets the data, and no derivative leads there"
                    )
    return ""


NEAR = 1e-4
"""Of the range, or of one: a parameter nearer to a bound than this may be on its way there."""
FURTHER = 5.0
"""How far an unconstrained number is moved to see whether anything depends on it."""
LEVEL = 1e-7
"""Of the value: less is no change."""


def at_bounds(
    likelihood: Likelihood, choice: MethodChoice, raw: Values, data: list[Arrays]
) -> tuple[Values, str]:
    """The parameters, those at a bound exactly there if the density allows; which, in words. At a
    bound is what can come nearer to it without any change of the loss.
    """
    params = likelihood.constrain(raw)
    if choice.method == "stochastic" or choice.loss != "likelihood":
        return params, ""
    nodes = likelihood.roles.unknowns
    near = {n.name: near_bounds(n, np.asarray(params[n.name])) for n in nodes}
    near = {name: own for name, own in near.items() if own[0].any()}
    if not near:
        return params, ""
    value = float(likelihood.loss(params, data))
    slack = LEVEL * max(1.0, abs(value))
    said, found = [], dict(params)
    for name, (is_near, bound, sign) in near.items():
        moved = raw | {name: np.where(is_near, raw[name] + sign * FURTHER, raw[name])}
        there = float(likelihood.loss(likelihood.constrain(moved), data))
        if abs(there - value) <= slack:
            exact = found | {name: np.where(is_near, bound, params[name])}
            if float(likelihood.loss(exact, data)) <= value + slack:
                found = exact
            said.append(f"`{name}` is at the bound {bound[is_near].flat[0]:g} of its range")
    return found, "; ".join(said)


def near_bounds(node: Node, value: Array) -> tuple[Array, Array, Array]:
    """Which entries are near a bound, the bound, and the way there in unconstrained numbers."""
    lower, upper = node.type.bounds
    if node.type.constraint:
        return np.zeros(value.shape, bool), value, value
    near = NEAR * (upper - lower if np.isfinite(upper - lower) else 1.0)
    is_low, is_high = value - lower <= near, upper - value <= near
    # A number that has no bound above is unconstrained to minus infinity at the one below, and
    # the other way round it is, too.
    sign = np.where(is_low | (lower == -np.inf), -1.0, 1.0)
    return is_low | is_high, np.where(is_low, lower, upper), sign
