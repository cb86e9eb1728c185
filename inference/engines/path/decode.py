"""The mode and samples of a chain: messages are stored, choices made again on the way back."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import scan

from .domains import Domain, choose_domain, verify_domain
from .functionals import score_by_time
from .layout import Array, ArrayLike, Chain, Transition, lay_out, pair_at, transitions
from .logs import log_backward
from .scaled import Forward, finite_top, is_safe, run_reverse

TRIANGLE = 64


class Sequences(NamedTuple):
    """`states` [..., T], 0 in the padding, and `score` [...], -inf where nothing is possible."""

    states: Array
    score: Array


def mode(log_unary: ArrayLike, log_pair: ArrayLike, length: ArrayLike | None = None) -> Sequences:
    """The most probable sequence, of ties the lexicographic first (GM14, book line 12127)."""
    chain, batch = lay_out(log_unary, log_pair, length)
    states = follow_best(chain, best_to_go(chain))
    scores = score_by_time(chain, states[:, None, :])
    return Sequences(states.T.reshape(*batch, chain.steps), scores.reshape(batch))


def best_to_go(chain: Chain) -> Array:
    """v_t(i) = unary[t, i] + max_j pair[t, i, j] + v_{t+1}(j), up to a constant of t; [T, B, K]."""
    turned = jnp.swapaxes(chain.pair[:, 0], 1, 2) if chain.same_pair else None

    def retreat(ahead: Array, read: tuple[Array, Transition]) -> tuple[Array, Array]:
        unary, step = read
        top = finite_top(ahead, (-1,))
        new = unary + best_next(chain, turned, step, ahead) - top
        new = new if step.inside is None else jnp.where(step.inside, new, unary)
        return new, new

    last = chain.unary[-1]
    _, values = scan(retreat, last, (chain.unary[:-1], transitions(chain)), reverse=True)
    return jnp.concatenate([values, last[None]])


def best_next(chain: Chain, turned: Array | None, step: Transition, ahead: Array) -> Array:
    """max_j pair[i, j] + ahead[j]; an unchanging potential is `turned` once, for the inner loop."""
    if turned is not None:
        return jnp.max(turned + ahead[:, :, None], axis=1)
    return jnp.max(pair_at(chain, step) + ahead[:, None, :], axis=2)


def follow_best(chain: Chain, values: Array) -> Array:
    """x_0 = argmax v_0, x_{t+1} = argmax_j pair[t, x_t, j] + v_{t+1}(j); [T, B]."""

    def advance(state: Array, read: tuple[Array, Array]) -> tuple[Array, Array]:
        time, ahead = read
        new = first_best(pair_rows(chain, time, state) + ahead)
        return new, new

    first = first_best(values[0])
    _, rest = scan(advance, first, (jnp.arange(chain.steps - 1), values[1:]))
    states = jnp.concatenate([first[None], rest])
    return states if chain.inside is None else jnp.where(chain.inside[:, :, 0], states, 0)


def first_best(scores: Array) -> Array:
    """argmax along the last axis, the first of ties: two narrow reductions are the fastest."""
    index = jnp.arange(scores.shape[-1], dtype=jnp.int32).reshape(*[1] * (scores.ndim - 1), -1)
    top = jnp.max(scores, axis=-1, keepdims=True)
    return jnp.min(jnp.where(scores == top, index, scores.shape[-1] - 1), axis=-1).astype(int)


def pair_rows(chain: Chain, time: Array, states: Array) -> Array:
    """pair[b, t, x_b, :] for states [..., B], read in place: [..., B, K]."""
    return chain.pair[batch_of(chain, states), 0 if chain.same_pair else time, states]


def batch_of(chain: Chain, states: Array) -> Array:
    """Which pair potential each of the states [..., B] goes by."""
    batch = jnp.zeros(states.shape[-1], int) if chain.shared_pair else jnp.arange(states.shape[-1])
    return jnp.broadcast_to(batch, states.shape)


def sample(
    key: Array,
    log_unary: ArrayLike,
    log_pair: ArrayLike,
    length: ArrayLike | None = None,
    *,
    draws: int,
    domain: Domain = "auto",
) -> Array:
    """`draws` independent exact samples, [draws, ..., T]: p(x_{t+1} | x_t) ~ w(x_t, x_{t+1})
    c(x_{t+1}).

    States are 0 in the padding. Where nothing is possible (log Z is minus infinity) they mean
    nothing.
    """
    verify_domain(domain)
    chain, batch = lay_out(log_unary, log_pair, length)
    uniforms = jax.random.uniform(
        key, (chain.steps, draws, chain.unary.shape[1]), chain.unary.dtype
    )
    states = draw(chain, uniforms, domain)
    if chain.inside is not None:
        states = jnp.where(chain.inside[:, None, :, 0], states, 0)
    return jnp.moveaxis(states, 0, -1).reshape(draws, *batch, chain.steps)


def draw(chain: Chain, uniforms: Array, domain: Domain) -> Array:
    """[T, draws, B]."""
    if domain == "log":
        return draw_in_logs(chain, uniforms)
    reverse = run_reverse(chain)
    return choose_domain(  # type: ignore[no-any-return]
        domain,
        lambda: is_safe(chain, reverse),
        lambda: draw_scaled(chain, reverse, uniforms),
        lambda: draw_in_logs(chain, uniforms),
    )


def draw_scaled(chain: Chain, reverse: Forward, uniforms: Array) -> Array:
    messages, weights = reverse.messages, reverse.weights

    def choose(time: Array, states: Array, message: Array, uniform: Array) -> Array:
        if weights.pair is not None:
            rows = weights.pair[batch_of(chain, states), states]
        else:
            tops = weights.pair_top[batch_of(chain, states), time, 0]
            rows = jnp.exp(pair_rows(chain, time, states) - tops)
        return invert(rows * message[None], uniform)

    return draw_forwards(chain, messages, uniforms, invert, choose)


def draw_in_logs(chain: Chain, uniforms: Array) -> Array:
    def choose(time: Array, states: Array, message: Array, uniform: Array) -> Array:
        return invert_logs(pair_rows(chain, time, states) + message[None], uniform)

    return draw_forwards(chain, chain.unary + log_backward(chain), uniforms, invert_logs, choose)


def draw_forwards(
    chain: Chain,
    messages: Array,
    uniforms: Array,
    choose_first: Callable[[Array, Array], Array],
    choose_next: Callable[[Array, Array, Array, Array], Array],
) -> Array:
    """x_0 from the first message, x_{t+1} from x_t and the next; [T, draws, B]."""

    def advance(states: Array, read: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        time, message, uniform = read
        new = choose_next(time, states, message, uniform)
        return new, new

    first = choose_first(
        jnp.broadcast_to(messages[0], (uniforms.shape[1], *messages.shape[1:])), uniforms[0]
    )
    _, rest = scan(advance, first, (jnp.arange(chain.steps - 1), messages[1:], uniforms[1:]))
    return jnp.concatenate([first[None], rest])


def invert(weights: Array, uniform: Array) -> Array:
    """The first state of positive weight whose cumulative weight exceeds uniform * total."""
    heights = cumulative(weights)
    index = jnp.arange(weights.shape[-1]).reshape(*[1] * uniform.ndim, -1)
    last = jnp.max(jnp.where(weights > 0, index, 0), axis=-1)
    reached = (heights > uniform[..., None] * heights[..., -1:]) & (weights > 0)
    return jnp.min(jnp.where(reached, index, last[..., None]), axis=-1)


def cumulative(weights: Array) -> Array:
    """Cumulative sums along the last axis; of few terms, faster as a product with a triangle."""
    count = weights.shape[-1]
    if count > TRIANGLE:
        return jnp.cumsum(weights, axis=-1)
    return weights @ jnp.triu(jnp.ones((count, count), weights.dtype))


def invert_logs(logs: Array, uniform: Array) -> Array:
    return invert(jnp.exp(logs - finite_top(logs, (-1,))), uniform)
