"""Chains of slices: several variables a step, factors that reach back some steps; grids by row.

A message over the variables that later factors still need moves from slice to slice, in scaled
numbers where that is safe (layout.py). One variable of lags 0 and 1 runs as a plain chain.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError, MemoryLimitError
from ...planning.plan import default_memory_limit, format_bytes
from ..engine import Decoded, Engine, Tables
from ..path import decode as chain_decode
from ..path import layout, sums
from ..path.layout import WIDE, Array, ArrayLike, Domain
from ..path.scaled import finite_top
from ..tree.circuit import STATIC
from ..tree.structure import Structure
from .slice_passes import LOGS, MAX, SCALED, Algebra, Logs, decode, pull_back, run_slices
from .slice_plan import Scope, SlicePlan, plan_slice, reaches

NAMED = 6
Ints = NDArray[np.intp]
FEWEST_STEPS = 8
WIDEST_MESSAGE = 2**12
MOST_SCOPES = 400


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Slices:
    """exp(sum of factors) over x[t, v] with `sizes[v]` states, t < `steps`. A scope names (lag,
    variable) pairs, with lag 0 among them; its values [T - largest lag, d1, d2, ...] at row s are
    those of the factor whose lag 0 is the step s + largest lag.
    """

    sizes: tuple[int, ...] = field(metadata=STATIC)
    steps: int = field(metadata=STATIC)
    scopes: tuple[Scope, ...] = field(metadata=STATIC)
    values: tuple[ArrayLike, ...]


class SliceMarginals(NamedTuple):
    """`unary[v]` is [T, d_v]; `factors[i]` has the shape of the factor's values."""

    unary: tuple[Array, ...]
    factors: tuple[Array, ...]


def log_partition(slices: Slices, *, domain: Domain = "auto") -> Array:
    """log sum_x exp(sum of factors): messages over the interface, one slice at a time (GM12)."""
    checked = check_slices(slices)
    layout.verify_domain(domain, of_log_partition=True)
    if is_plain_chain(checked):
        return sums.log_partition(*as_chain(checked), domain=domain)
    return log_partition_of_logs(plan_of(checked), domain, padded(checked))


def marginals(slices: Slices, *, domain: Domain = "auto") -> SliceMarginals:
    """p(x[t, v]) and the marginal of every factor: the gradient of log Z; zeros if impossible."""
    checked = check_slices(slices)
    layout.verify_domain(domain)
    found = jax.grad(partial(log_partition, domain=domain))(checked).values
    pairs = zip(checked.scopes, found, strict=True)
    given = {scope[0][1]: own for scope, own in pairs if len(scope) == 1}
    unary = tuple(given[v] for v in range(len(slices.sizes)))
    return SliceMarginals(unary, found[: len(slices.values)])


def mode(slices: Slices) -> Decoded:
    """One most probable configuration."""
    checked = check_slices(slices)
    if is_plain_chain(checked):
        found = chain_decode.mode(*as_chain(checked))
        return Decoded(found.states[:, None], found.score)
    states = decoded(checked, MAX, lambda logs, _: jnp.argmax(logs, axis=-1), jnp.zeros((1,)))[:, 0]
    return Decoded(states, score(checked, states))


def sample(key: Array, slices: Slices, *, draws: int, domain: Domain = "auto") -> Array:
    """`draws` exact samples [draws, T, variables]; they mean nothing where nothing is possible."""
    checked = check_slices(slices)
    layout.verify_domain(domain)
    if is_plain_chain(checked):
        return chain_decode.sample(key, *as_chain(checked), draws=draws, domain=domain)[..., None]
    plan = plan_of(checked)
    blocks = max(len(in_algebra(plan, algebra).blocks) for algebra in (SCALED, LOGS))
    uniforms = jax.random.uniform(key, (checked.steps + 1, blocks, draws), checked.values[0].dtype)
    states = layout.choose_domain(
        domain,
        lambda: is_safe(plan, padded(checked)),
        lambda: decoded(checked, SCALED, chain_decode.invert_logs, uniforms),
        lambda: decoded(checked, LOGS, chain_decode.invert_logs, uniforms),
    )
    return jnp.moveaxis(states, 1, 0)


def score(slices: Slices, states: ArrayLike) -> Array:
    """The sum of the factors at `states` [T, variables]."""
    given = jnp.asarray(states)
    total = jnp.zeros((), jnp.result_type(*slices.values))
    for scope, values in zip(slices.scopes, slices.values, strict=True):
        rows = values.shape[0]
        late = slices.steps - rows
        index = tuple(given[late - lag : late - lag + rows, v] for lag, v in scope)
        total = total + jnp.sum(values[(jnp.arange(rows), *index)])
    return total


def check_slices(slices: Slices) -> Slices:
    """The same in one dtype, with a unary factor for every variable; shapes and memory verified."""
    if slices.steps < 1 or not slices.sizes or min(slices.sizes) < 1:
        raise InferenceError(
            "slices need at least one step, one variable, and one state a variable"
        )
    for scope, values in zip(slices.scopes, slices.values, strict=True):
        known = all(lag >= 0 and 0 <= v < len(slices.sizes) for lag, v in scope)
        if not known or len(set(scope)) < len(scope) or 0 not in [lag for lag, _ in scope]:
            raise InferenceError(
                f"the scope {scope} needs distinct (lag, variable) pairs, lags from 0 with 0 "
                f"among them, variables below {len(slices.sizes)}"
            )
        rows = slices.steps - max(lag for lag, _ in scope)
        shape = (rows, *(slices.sizes[v] for _, v in scope))
        if rows < 0 or jnp.shape(values) != shape:
            raise InferenceError(
                f"the factor on {scope} has shape {jnp.shape(values)}, needs {shape}"
            )
    single = {scope[0][1] for scope in slices.scopes if len(scope) == 1}
    missing = [v for v in range(len(slices.sizes)) if v not in single]
    given = layout.as_floats(*slices.values) if slices.values else []
    dtype = given[0].dtype if given else jnp.result_type(float)
    zeros = [jnp.zeros((slices.steps, slices.sizes[v]), dtype) for v in missing]
    scopes = (*slices.scopes, *(((0, v),) for v in missing))
    checked = replace(slices, scopes=scopes, values=(*given, *zeros))
    plan = plan_of(checked)
    needed = prod(plan.shape(plan.largest)) * checked.values[0].dtype.itemsize * (checked.steps + 4)
    if needed > default_memory_limit():
        names = ", ".join(f"x[t{-lag or ''}, {v}]" for lag, v in plan.largest[:NAMED])
        more = f" and {len(plan.largest) - NAMED} more" if len(plan.largest) > NAMED else ""
        raise MemoryLimitError(
            f"messages on {names}{more} for {checked.steps} slices take {format_bytes(needed)}, "
            "more than half of the free memory; make slices narrower, or use an approximate method"
        )
    return checked


def is_plain_chain(slices: Slices) -> bool:
    return len(slices.sizes) == 1 and reaches(slices.sizes, slices.scopes)[0] <= 1


def as_chain(slices: Slices) -> tuple[Array, Array]:
    states, dtype = slices.sizes[0], slices.values[0].dtype
    unary = jnp.zeros((slices.steps, states), dtype)
    pair = jnp.zeros((slices.steps - 1, states, states), dtype)
    for scope, values in zip(slices.scopes, slices.values, strict=True):
        if len(scope) == 1:
            unary = unary + values
        else:
            pair = pair + (values if scope[0][0] == 1 else jnp.swapaxes(values, 1, 2))
    return unary, pair


def padded(slices: Slices) -> Logs:
    """Every factor for all T slices: before it can begin it is one."""
    widths = [((slices.steps - v.shape[0], 0), *((0, 0),) * (v.ndim - 1)) for v in slices.values]
    return tuple(jnp.pad(v, width) for v, width in zip(slices.values, widths, strict=True))


def plan_of(slices: Slices) -> SlicePlan:
    return plan_slice(slices.sizes, slices.scopes)


def in_algebra(plan: SlicePlan, algebra: Algebra) -> SlicePlan:
    """Products of matrices are worth blocks; other sums hold all terms at once, so one by one."""
    return plan if algebra is SCALED else plan_slice(plan.sizes, plan.scopes, table=0)


def decoded(slices: Slices, algebra: Algebra, choose: Any, uniforms: Array) -> Array:
    plan = in_algebra(plan_of(slices), algebra)
    shape = (slices.steps + 1, len(plan.blocks), uniforms.shape[-1])
    given = jnp.zeros(shape) if uniforms.ndim == 1 else uniforms[:, : len(plan.blocks)]
    return decode(plan, algebra, padded(slices), choose, given)


def spans(plan: SlicePlan, logs: Logs, arity: int) -> tuple[Array, Array]:
    """The ranges of a slice's factors of at least `arity`, added, with zeros and without."""
    chosen = [v for scope, v in zip(plan.scopes, logs, strict=True) if len(scope) >= arity]
    with_zeros, finite = jnp.zeros(logs[0].shape[0]), jnp.zeros(logs[0].shape[0])
    for size in {v[0].size for v in chosen}:
        alike = jnp.stack([v.reshape(-1, size) for v in chosen if v[0].size == size])
        below = finite_top(alike, (-1,)) - jax.lax.stop_gradient(alike)
        with_zeros = with_zeros + jnp.sum(jnp.max(below, axis=-1), axis=0)
        bounded = jnp.where(jnp.isposinf(below), 0.0, below)
        finite = finite + jnp.sum(jnp.max(bounded, axis=-1), axis=0)
    return jnp.max(with_zeros), jnp.max(finite)


def is_safe(plan: SlicePlan, logs: Logs) -> Array:
    """(a) of layout.py, or (b): what is lost counts for at most the factors still to come."""
    reach = max([1, *reaches(plan.sizes, plan.scopes)])
    narrow = spans(plan, logs, 2)[0] * reach <= WIDE * layout.exponent_range(logs[0].dtype)

    def messages_held() -> Array:
        last, _, messages = run_slices(plan, SCALED, jax.lax.stop_gradient(logs), keep=True)
        lowest = jnp.minimum(layout.lowest_positive(messages), layout.lowest_positive(last))
        return layout.nothing_lost(spans(plan, logs, 0)[1], lowest)

    return jax.lax.cond(narrow, lambda: jnp.array(True), messages_held)  # type: ignore[no-any-return]


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def log_partition_of_logs(plan: SlicePlan, domain: Domain, logs: Logs) -> Array:
    def total(algebra: Algebra) -> Array:
        return jnp.sum(run_slices(in_algebra(plan, algebra), algebra, logs, keep=False)[1])

    return layout.choose_domain(  # type: ignore[no-any-return]
        domain, lambda: is_safe(plan, logs), lambda: total(SCALED), lambda: total(LOGS)
    )


@log_partition_of_logs.defjvp
def derivative(
    plan: SlicePlan, domain: Domain, primals: tuple[Logs], tangents: tuple[Logs]
) -> tuple[Array, Array]:
    """d log Z = sum of marginals * d logs: forward with the T messages kept, then back."""
    (logs,), (changes,) = primals, tangents

    def found(algebra: Algebra) -> tuple[Array, Logs]:
        own = in_algebra(plan, algebra)
        _, totals, messages = run_slices(own, algebra, logs, keep=True)
        log_z = jnp.sum(totals)
        weight = jnp.where(log_z > -jnp.inf, jnp.ones_like(log_z), 0.0)
        return log_z, pull_back(own, algebra, logs, messages, weight)

    log_z, marginals = layout.choose_domain(
        domain, lambda: is_safe(plan, logs), lambda: found(SCALED), lambda: found(LOGS)
    )
    changed = [jnp.vdot(p, change) for p, change in zip(marginals, changes, strict=True)]
    return log_z, sum(changed, jnp.zeros_like(log_z))


# ---- Steps among the variables: where tables reach back a few steps, a scan over slices
#
# Coupled and factorial chains, chains of higher order and grids: the variables of one step are a
# slice, and a table is known by which variables of which of the last slices it is about.


class ScopeTables(NamedTuple):
    """The tables of a group that share a scope: which they are, and at which step each stands."""

    group: int
    scope: Scope
    rows: Ints
    steps: Ints


@dataclass(frozen=True, eq=False)
class SliceEngine(Engine):
    """`order` [steps, variables of a slice] and its inverse; `domain` is of the log-partition."""

    structure: Structure
    order: Ints
    places: Ints
    rows: tuple[ScopeTables, ...]
    domain: Domain = "auto"

    def log_partition(self, tables: Tables, log_evidence: Array) -> Array:
        slices, constant = self._slices(tables, log_evidence)
        return log_partition(slices, domain=self.domain) + constant

    def in_any_range(self) -> Self:
        return replace(self, domain="auto") if self.domain == "checked" else self

    def mode(self, tables: Tables, log_evidence: Array) -> Decoded:
        slices, constant = self._slices(tables, log_evidence)
        found = mode(slices)
        return Decoded(found.states[self.places[:, 0], self.places[:, 1]], found.score + constant)

    def sample(self, key: Array, count: int, tables: Tables, log_evidence: Array) -> Array:
        slices, _ = self._slices(tables, log_evidence)
        return sample(key, slices, draws=count)[:, self.places[:, 0], self.places[:, 1]]

    def _slices(self, tables: Tables, log_evidence: Array) -> tuple[Slices, Array]:
        """Evidence as a factor of every variable, and every table added at its step."""
        steps, width = self.order.shape
        sizes = tuple(self.structure.sizes[v] for v in self.order[0])
        scopes: dict[Scope, Array] = {}
        for k in range(width):
            scopes[((0, k),)] = log_evidence[self.order[:, k], : sizes[k]]
        for own in self.rows:
            table = tables[own.group]
            table = table if len(table) == 1 else table[own.rows]
            reach = max(lag for lag, _ in own.scope)
            if own.scope not in scopes:
                scopes[own.scope] = jnp.zeros((steps - reach, *table.shape[1:]), log_evidence.dtype)
            scopes[own.scope] = scopes[own.scope].at[own.steps - reach].add(table)
        constant = jnp.zeros((), log_evidence.dtype)
        for group, table in zip(self.structure.groups, tables, strict=True):
            if not group.scopes.shape[1]:
                constant = constant + jnp.sum(table)
        return Slices(sizes, steps, tuple(scopes), tuple(scopes.values())), constant


def find_slices(structure: Structure, steps: Ints, domain: Domain = "auto") -> SliceEngine | None:
    """The structure as equal slices by the `steps` of the variables; None where it does not pay."""
    count = int(steps.max()) + 1 if len(steps) else 0
    members = [np.flatnonzero(steps == t) for t in range(count)]
    if count < FEWEST_STEPS or len({len(own) for own in members}) != 1:
        return None
    order = np.stack(members)
    sizes = np.array(structure.sizes)[order]
    if (sizes != sizes[0]).any():
        return None
    places = np.empty((len(steps), 2), np.intp)
    places[order] = np.stack(np.meshgrid(*map(np.arange, order.shape), indexing="ij"), -1)
    rows: list[ScopeTables] = []
    for number, group in enumerate(structure.groups):
        if group.scopes.shape[1]:
            rows += _tables_by_scope(number, places[group.scopes])
    reach = max((lag for own in rows for lag, _ in own.scope), default=0)
    message = prod(sizes[0].tolist()) ** max(reach, 1)
    if message > WIDEST_MESSAGE or len(rows) > MOST_SCOPES or reach >= count:
        return None
    return SliceEngine(structure, order, places, tuple(rows), domain)


def _tables_by_scope(group: int, places: Ints) -> Iterator[ScopeTables]:
    """A scope has for each of the table's variables the lag, and the place in the slice."""
    steps, within = places[..., 0], places[..., 1]
    last = steps.max(1)
    keys = np.stack([last[:, None] - steps, within], -1)
    patterns, which = np.unique(keys.reshape(len(keys), -1), axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        scope = tuple((int(lag), int(place)) for lag, place in pattern.reshape(-1, 2))
        rows = np.flatnonzero(which.reshape(-1) == k)
        yield ScopeTables(group, scope, rows, last[rows])
