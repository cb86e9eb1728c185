"""Loopy belief propagation: m_f->v = sum f prod m, m_v->f = unary prod m, to a fixed point (GM26).

Sum-product gives marginals and the Bethe estimate of the log-partition; max-product gives
max-marginals and a configuration. Both are exact on trees; on graphs with cycles they are an
approximation, if they converge at all. A zero that they find is a true zero.
"""

from functools import partial
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...errors import InferenceError
from ...factors.factor_graph import Array, FactorGraph, Floats, Given, impossible
from ..numpy.decisions import Configuration
from . import messages as bp
from .blocks import improve
from .feasible import find_feasible
from .layout import FactorLayout, lay_out, soft_columns
from .messages import Messages, MessageSetting, Potentials, ProductKind, Schedule
from .results import Approximation

CLOSE = 1e-9
ON_A_TREE = "exact to the tolerance, as the graph has no cycles"
# rounds between two looks at the change of the messages; the residual schedule looks at every round
EVERY = 5


class PropagationOptions(NamedTuple):
    """How messages are sent and for how long; `tolerance` is of their largest change in a round."""

    schedule: Schedule = "flooding"
    damping: float = 0.0
    tolerance: float = 1e-8
    max_iterations: int = 1000


DEFAULT = PropagationOptions()


class FixedPoint(NamedTuple):
    """Messages where the rounds ended."""

    messages: Messages
    iterations: Array
    residual: Array


@partial(jax.jit, static_argnames="setting")
def propagate(
    potentials: Potentials,
    damping: Array,
    tolerance: Array,
    max_iterations: Array,
    *,
    setting: MessageSetting,
) -> FixedPoint:
    """Rounds of messages until the largest change is at most the tolerance."""

    def rounds(state: FixedPoint) -> FixedPoint:
        count = jnp.minimum(EVERY, max_iterations - state.iterations)

        def body(_: Array, last: tuple[Messages, Messages]) -> tuple[Messages, Messages]:
            return bp.next_messages(potentials, last[0], damping, setting), last[0]

        new, old = jax.lax.fori_loop(0, count, body, (state.messages, state.messages))
        return FixedPoint(new, state.iterations + count, bp.largest(bp.changes(new, old)))

    def bulk_round(state: FixedPoint) -> FixedPoint:
        new = bp.next_messages(potentials, state.messages, damping, setting)
        sent, top = bp.send_largest(new, state.messages)
        return FixedPoint(sent, state.iterations + 1, top)

    def going(state: FixedPoint) -> Array:
        return (state.residual > tolerance) & (state.iterations < max_iterations)

    messages, none = bp.first_messages(potentials, setting), jnp.zeros_like(max_iterations)
    step = rounds if setting.schedule == "flooding" else bulk_round
    return jax.lax.while_loop(going, step, FixedPoint(messages, none, jnp.full((), jnp.inf)))


@partial(jax.jit, static_argnames="setting")
def read_messages(
    potentials: Potentials, messages: Messages, *, setting: MessageSetting
) -> tuple[Array, Array]:
    """Log beliefs, not normalised, and the Bethe value; from the potentials as logarithms."""
    logs = jax.tree.map(jnp.log, messages) if setting.scaled else messages
    in_logs = setting._replace(scaled=False)
    totals = bp.totals_of(potentials, logs, in_logs)
    return totals, bethe(potentials, logs, totals, in_logs)


def bethe(
    potentials: Potentials, messages: Messages, totals: Array, setting: MessageSetting
) -> Array:
    """log Z = sum_v log Z_v + sum_f log Z_f - sum_fv log Z_fv, from log-messages; exact on trees.
    Z_v sums unary_v prod_f m_f->v, Z_f sums f prod_v m_v->f, Z_fv sums m_f->v m_v->f (or takes
    their maxima, for the mode). No message changes it to first order at a fixed point.
    """
    arithmetic = setting.arithmetic
    outgoing = bp.outgoing_messages(potentials, messages, setting)
    value = jnp.sum(bp.add_up(arithmetic, totals))
    for group, inward, out in zip(potentials.groups, messages, outgoing, strict=True):
        answer = bp.contract_others(arithmetic, group.logs, out, 0)
        value += jnp.sum(bp.add_up(arithmetic, answer + out[0]))
        for m, o in zip(inward, out, strict=True):
            value -= jnp.sum(bp.add_up(arithmetic, m + o))
    return value


@partial(jax.jit, static_argnames="setting")
def expected_score(potentials: Potentials, messages: Messages, *, setting: MessageSetting) -> Array:
    """sum_v E[unary_v] + sum_f E[log f] under the beliefs, that of f being f prod_v m_v->f."""
    logs = jax.tree.map(jnp.log, messages) if setting.scaled else messages
    in_logs = setting._replace(scaled=False)
    value = mean_of(potentials.unary, bp.totals_of(potentials, logs, in_logs), 1)
    outgoing = bp.outgoing_messages(potentials, logs, in_logs)
    for group, out in zip(potentials.groups, outgoing, strict=True):
        belief = group.logs
        for axis, message in enumerate(out):
            shape = [1] * group.arity + [message.shape[1]]
            shape[axis] = message.shape[0]
            belief = belief + message.reshape(shape)
        value += mean_of(group.logs, belief, group.arity)
    return value


def mean_of(logs: Array, log_belief: Array, axes: int) -> Array:
    """E[logs] over the first axes under unnormalised beliefs, summed over the last one."""
    over = tuple(range(axes))
    weights = jnp.exp(log_belief - jnp.max(log_belief, axis=over, keepdims=True))
    totals = jnp.sum(weights * jnp.where(weights > 0, logs, 0.0), axis=over)
    return jnp.sum(totals / jnp.sum(weights, axis=over))


class Propagated(NamedTuple):
    """What the rounds led to, on the host."""

    layout: FactorLayout
    setting: MessageSetting
    messages: Messages
    log_beliefs: Floats
    bethe: float
    iterations: int
    residual: float
    converged: bool

    @property
    def is_exact(self) -> bool:
        """Without cycles, a factor graph is a forest: edges = nodes - parts."""
        scopes, count = self.layout.scopes, self.layout.count
        ends = np.array([(count + f, v) for f, scope in enumerate(scopes) for v in scope], int)
        nodes = count + len(scopes)
        graph = coo_array((np.ones(len(ends)), ends.reshape(-1, 2).T), shape=(nodes, nodes))
        return self.converged and len(ends) == nodes - connected_components(graph)[0]


def run(
    graph: FactorGraph, given: Given, product: ProductKind, options: PropagationOptions
) -> Propagated:
    """Rounds of messages on a graph; raises if a belief is zero everywhere."""
    verify_options(options)
    layout = lay_out(graph, given)
    scaled = product == "sum" and bp.fits_scaled(layout)
    setting = MessageSetting(product, options.schedule, scaled, layout.has_zeros)
    potentials = bp.potentials_of(layout, setting)
    limits = (
        jnp.float64(options.damping),
        jnp.float64(options.tolerance),
        jnp.int32(options.max_iterations),
    )
    fixed = propagate(potentials, *limits, setting=setting)
    in_logs = Potentials(layout.unary, layout.groups)
    beliefs, value = map(np.asarray, read_messages(in_logs, fixed.messages, setting=setting))
    if (beliefs.max(axis=0, initial=-np.inf) == -np.inf).any():
        raise impossible(layout.bound.evidence)
    residual, count = float(fixed.residual), int(fixed.iterations)
    bethe, done = layout.constant + float(value), residual <= options.tolerance
    return Propagated(layout, setting, fixed.messages, beliefs, bethe, count, residual, done)


def verify_options(options: PropagationOptions) -> None:
    if options.schedule not in get_args(Schedule):
        known = ", ".join(get_args(Schedule))
        raise InferenceError(f"schedule is one of {known}, not {options.schedule!r}")
    if not 0 <= options.damping < 1:
        raise InferenceError(f"damping is at least 0 and below 1, not {options.damping}")
    if options.max_iterations < 1:
        raise InferenceError(f"max_iterations is at least 1, not {options.max_iterations}")


def infer_marginals_bp(
    graph: FactorGraph, given: Given = None, options: PropagationOptions = DEFAULT
) -> Approximation:
    """Sum-product: approximate marginals and the Bethe log-partition; exact without cycles."""
    with jax.enable_x64(True):
        found = run(graph, given, "sum", options)
    return report(
        found,
        f"loopy belief propagation ({options.schedule})",
        "approximate",
        marginals=found.layout.named_marginals(soft_columns(found.log_beliefs)),
        log_partition=found.bethe,
        log_partition_is="exact" if found.is_exact else "estimate",
        is_exact=found.is_exact,
    )


def report(
    found: Propagated, method: str, otherwise: str, is_exact: bool, **answers: Any
) -> Approximation:
    """What was found; `otherwise` is its guarantee where it is not exact."""
    return Approximation(
        method=method,
        guarantee=ON_A_TREE if is_exact else otherwise,
        converged=found.converged,
        iterations=found.iterations,
        residual=found.residual,
        is_exact=is_exact,
        **answers,
    )


def infer_entropy_bp(
    graph: FactorGraph, given: Given = None, options: PropagationOptions = DEFAULT
) -> Approximation:
    """Bethe's entropy H = sum_f H(b_f) - sum_v (d_v - 1) H(b_v) = log Z - E[score] by the beliefs:
    exact on trees, else an estimate from neither side, which can be negative.
    """
    with jax.enable_x64(True):
        found = run(graph, given, "sum", options)
        layout = found.layout
        potentials = Potentials(layout.unary, layout.groups)
        mean = float(expected_score(potentials, found.messages, setting=found.setting))
    return report(
        found,
        f"loopy belief propagation ({options.schedule})",
        "approximate, the entropy of Bethe's formula",
        entropy=found.bethe - layout.constant - mean,
        is_exact=found.is_exact,
    )


def possible_mode(layout: FactorLayout, beliefs: Floats) -> Configuration:
    """A configuration that respects every zero, improved where that keeps it possible."""
    states = find_feasible(layout, beliefs)
    first = layout.named_configuration(states)
    second = layout.named_configuration(improve(layout, states))
    return max(first, second, key=lambda found: found.log_score)


def infer_mode_bp(
    graph: FactorGraph, given: Given = None, options: PropagationOptions = DEFAULT
) -> Approximation:
    """Max-product: the best state of each variable, improved on one forest after another. That
    never lowers the score, and settles ties. `marginals` are the max-marginals, normalised. It is a
    mode for certain only on a tree, where the best score is known.
    """
    with jax.enable_x64(True):
        found = run(graph, given, "max", options)
        states = improve(found.layout, found.log_beliefs.argmax(axis=0))
        mode = found.layout.named_configuration(states)
        if mode.log_score == -np.inf:
            mode = possible_mode(found.layout, found.log_beliefs)
    is_mode = found.is_exact and mode.log_score >= found.bethe - CLOSE * (1 + abs(found.bethe))
    return report(
        found,
        f"max-product belief propagation ({options.schedule}), improved by forests",
        "a good configuration, not certainly the best",
        marginals=found.layout.named_marginals(soft_columns(found.log_beliefs)),
        mode=mode,
        is_exact=is_mode,
    )
