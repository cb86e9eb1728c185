"""The mean of a statement when its inputs are noisy: E f(x + s z), and derivatives of that mean
(CV10).

E f(x + s z) = integral of f(u) p((u - x) / s) / s over u. The places u stay where they are when x
moves, and the density carries every derivative: E[f(x + s z) nu'(z) / s] for p = exp(-nu) (CV12).
So f may jump, and its own derivative with respect to x is never used. All noise has mean 0.

| noise | density |
|---|---|
| gaussian | exp(-z^2 / 2) / sqrt(2 pi) |
| logistic | exp(-z) / (1 + exp(-z))^2 |
| gumbel | exp(-t - exp(-t)) for t = z + Euler's constant |
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from .elementary import as_real
from .soft import weighted


def log_density_gaussian(z: jax.Array) -> jax.Array:
    """-z^2 / 2 - log(2 pi) / 2."""
    return -jnp.square(z) / 2 - 0.9189385332046727


def log_density_logistic(z: jax.Array) -> jax.Array:
    """log(logistic(z)) + log(logistic(-z))."""
    return -jax.nn.softplus(z) - jax.nn.softplus(-z)


def log_density_gumbel(z: jax.Array) -> jax.Array:
    """-t - exp(-t) for t = z + Euler's constant, so that the mean is 0 (CV16)."""
    t = z + 0.5772156649015329
    return -t - jnp.exp(-t)


def centred_gumbel(key: jax.Array, shape: tuple[int, ...], dtype: jnp.dtype) -> jax.Array:
    """-log(-log(U)) less Euler's constant (CV17)."""
    return jax.random.gumbel(key, shape, dtype) - 0.5772156649015329


# ---- one or two inputs: an integral, cut where f jumps


def panel_rule(dtype: jnp.dtype) -> tuple[jax.Array, jax.Array]:
    """The eight Gauss-Legendre nodes on [0, 1] and their weights, exact up to degree 15."""
    nodes = jnp.array(
        [0.18343464249564980, 0.52553240991632899, 0.79666647741362674, 0.96028985649753623], dtype
    )
    weights = jnp.array(
        [0.36268378337836198, 0.31370664587788729, 0.22238103445337447, 0.10122853629037626], dtype
    )
    return jnp.concatenate([1 - nodes, 1 + nodes]) / 2, jnp.concatenate([weights, weights]) / 2


def halve_interval(
    f: "Callable[[jax.Array], jax.Array]", ends: tuple[jax.Array, ...]
) -> tuple[jax.Array, ...]:
    """The half of the interval over which f changes more, with the values of f at its ends."""
    left, right, first, last = ends
    middle = (left + right) / 2
    value = lax.stop_gradient(jax.vmap(f)(middle))
    own = tuple(range(left.ndim, value.ndim))
    is_before = jnp.sum(jnp.abs(value - first), axis=own) > jnp.sum(jnp.abs(value - last), axis=own)
    wide = jnp.expand_dims(is_before, own)
    new_ends = jnp.where(is_before, left, middle), jnp.where(is_before, middle, right)
    return *new_ends, jnp.where(wide, first, value), jnp.where(wide, value, last)


def jump_places(
    functions: "list[Callable[[jax.Array], jax.Array]]", left: jax.Array, right: jax.Array
) -> list[jax.Array]:
    """Bisection: where each function jumps, and any place between where it does not."""
    states = [
        (left, right, *(lax.stop_gradient(jax.vmap(f)(end)) for end in (left, right)))
        for f in functions
    ]

    def halve_all(_: int, states: "list[tuple[jax.Array, ...]]") -> "list[tuple[jax.Array, ...]]":
        return [halve_interval(f, state) for f, state in zip(functions, states, strict=True)]

    return [(left + right) / 2 for left, right, *_ in lax.fori_loop(0, 45, halve_all, states)]


def tail_edges(end: float, far: float, panels: int, dtype: jnp.dtype) -> jax.Array:
    """Half as many panels on each side of the others, each wider than the last by a factor."""
    steps = jnp.linspace(0.0, 1.0, panels // 2 + 1, dtype=dtype)
    return end * (far / end) ** steps


def slope(f: "Callable[[jax.Array], jax.Array]", x: jax.Array) -> jax.Array:
    """f'(x), which jumps where f has a kink."""
    _, tangent = jax.jvp(lambda u: as_real(f(u)), (x,), (jnp.ones_like(x),))
    return jnp.asarray(tangent)


def around_bump(
    g: "Callable[[jax.Array], jax.Array]", left: jax.Array, right: jax.Array, panels: int
) -> list[jax.Array]:
    """Places around the sharpest turn of g, or where it crosses 0 if it turns nowhere: from where g
    has changed by about 1, each at most three times as far from it as the last.
    """

    def turn(z: jax.Array) -> jax.Array:
        return jnp.sign(slope(g, z))

    def steepness(z: jax.Array) -> jax.Array:
        curvature = slope(lambda v: slope(g, v), z)
        return jnp.maximum(jnp.abs(slope(g, z)), jnp.sqrt(jnp.abs(curvature)))

    def found(test: "Callable[[jax.Array], jax.Array]") -> tuple[jax.Array, jax.Array]:
        (places,) = jump_places([test], left, right)
        is_crossed = jax.vmap(test)(left) != jax.vmap(test)(right)
        steep = jnp.where(is_crossed, jax.vmap(steepness)(places), 0.0)
        best = jnp.argmax(steep, axis=0, keepdims=True)
        place, most = (jnp.take_along_axis(x, best, axis=0) for x in (places, steep))
        return place, most

    place, most = found(turn)
    crossing, most_there = found(lambda z: jnp.sign(g(z)))
    place = jnp.where(most > 0, place, crossing)
    width = 1 / jnp.maximum(jnp.where(most > 0, most, most_there), 1e-30)
    powers = jnp.linspace(0.0, 12.0, max(13, panels), dtype=left.dtype)
    steps = width * 3.0 ** powers.reshape(-1, *(1,) * (left.ndim - 1))
    low, high = left[0], right[-1]
    return [jnp.clip(at, low, high) for at in (place, place - steps, place + steps)]


def integrated_mean(
    f: "Callable[..., jax.Array]",
    tests: "tuple[tuple[Callable[..., jax.Array], ...], ...]",
    inputs: tuple[jax.Array, ...],
    scale: float,
    log_density: "Callable[[jax.Array], jax.Array]",
    ends: tuple[float, float],
    far: tuple[float, float],
    near: tuple[float, float],
    panels: int,
) -> jax.Array:
    """sum_k w_k m(u_k) p((u_k - x) / s) for the first input x, m(u) being the mean of f(u, ...)
    over the others.

    Gauss and Legendre's rule between all places where f or a test jumps with the others in their
    places. The first tests jump at most once in a panel; those that round once in a cell: one of
    16 in a panel, of 4 where there are two inputs; comparisons of what is no straight line once
    between the places where the gap between both sides turns, of which each cell has one. Then
    come those gaps, what has a kink, and what is inside of an exp, ..., which may be a narrow bump.

    Between `ends` lies all but 1e-17 of the noise, but not of what grows: exp(8 z) has half of its
    mean beyond 8. From there to `far`, or to `near` in single precision, goes a coarser rule
    without cuts.
    """
    x, *others = (as_real(value) for value in inputs)
    centre, *fixed = (lax.stop_gradient(value) for value in (x, *others))
    low, high = jnp.arcsinh(jnp.array(ends, x.dtype))
    edges = jnp.sinh(jnp.linspace(low, high, panels + 1, dtype=x.dtype))
    edges = jnp.broadcast_to(edges.reshape(-1, *(1,) * x.ndim), (panels + 1, *x.shape))
    cells = 4 if others else 16
    shares = jnp.arange(cells, dtype=x.dtype).reshape(1, -1, *(1,) * x.ndim) / cells
    fine = edges[:-1, None] + shares * (edges[1:] - edges[:-1])[:, None]
    fine = jnp.concatenate([fine.reshape(-1, *x.shape), edges[-1:]])

    def probe(g: "Callable[..., jax.Array]") -> "Callable[[jax.Array], jax.Array]":
        return lambda z: as_real(g(centre + scale * z, *fixed))

    def bend(g: "Callable[..., jax.Array]") -> "Callable[..., jax.Array]":
        return lambda u, *rest: slope(lambda v: g(v, *rest), u)

    def turn(g: "Callable[..., jax.Array]") -> "Callable[..., jax.Array]":
        return lambda u, *rest: jnp.sign(slope(lambda v: g(v, *rest), u))

    once, often, bent, gaps, kinked, steep = tests
    bends = [bend(g) for g in (f, *kinked)]
    cuts = jump_places([probe(g) for g in (f, *once, *bends)], edges[:-1], edges[1:])
    for g in steep:
        cuts += around_bump(probe(g), fine[:-1], fine[1:], panels)
    cuts += jump_places([probe(g) for g in often], fine[:-1], fine[1:])
    if gaps:
        turns = jump_places([probe(turn(g)) for g in gaps], fine[:-1], fine[1:])
        fine = jnp.sort(jnp.concatenate([fine, *turns]), axis=0)
        cuts += jump_places([probe(g) for g in bent], fine[:-1], fine[1:])
    places = jnp.sort(jnp.concatenate([edges, *cuts]), axis=0)
    nodes, weights = (rule.reshape(-1, *(1,) * places.ndim) for rule in panel_rule(x.dtype))

    def rule(starts: jax.Array, widths: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Places in noise and their weights, with derivatives of the density in x."""
        z = (starts[None] + nodes * widths[None]).reshape(-1, *x.shape)
        sizes = (weights * widths[None]).reshape(-1, *x.shape)
        return z, sizes * jnp.exp(log_density(z + ((centre - x) / scale)[None]))

    z, mass = rule(places[:-1], places[1:] - places[:-1])

    def mean(u: jax.Array) -> jax.Array:
        if not others:
            return as_real(f(u))
        inner = tuple(tuple(lambda *rest, g=g: g(u, *rest) for g in own) for own in tests)
        return integrated_mean(
            lambda *rest: f(u, *rest),
            inner,
            tuple(others),
            scale,
            log_density,
            ends,
            far,
            near,
            panels,
        )

    found = jnp.sum(weighted(mass, jax.vmap(mean)(centre[None] + scale * z)), axis=0)
    for end, last in zip(ends, far if x.dtype.itemsize > 4 else near, strict=True):
        own = tail_edges(end, last, panels, x.dtype).reshape(-1, *(1,) * x.ndim)
        own = jnp.broadcast_to(own, (own.shape[0], *x.shape))
        z, mass = rule(jnp.minimum(own[:-1], own[1:]), jnp.abs(own[1:] - own[:-1]))
        u = centre[None] + scale * z
        lost = ~jnp.isfinite(lax.stop_gradient(jax.vmap(mean)(u)))
        # Out there what is written may overflow, with next to no weight: it is left out.
        is_lost = jnp.any(lost, axis=tuple(range(u.ndim, lost.ndim)))
        values = jax.vmap(mean)(jnp.where(is_lost, centre[None], u))
        found = found + jnp.sum(weighted(jnp.where(is_lost, 0.0, mass), values), axis=0)
    return found


# ---- many inputs: samples with a fixed seed


def mean_of_samples(
    f: "Callable[..., jax.Array]",
    inputs: tuple[jax.Array, ...],
    axes: int,
    scale: float,
    log_density: "Callable[[jax.Array], jax.Array]",
    draw: "Callable[..., jax.Array]",
    samples: int,
    seed: int,
    is_continuous: bool,
) -> jax.Array:
    """b + sum_k (f(u_k) - b) r_k / n with r_k = p((u_k - x) / s) / p(z_k), which is 1, and b = f(x)
    (CV12, CV14).

    Of a continuous f the first derivative is the mean of that of f, of much less variance: for a
    maximum it is the argmax. Its second derivative is the score's with the first one, so that kinks
    count: with d = x - its value, the mean of f(u_k) + f'(u_k) d (1 + r_k) / 2.

    `axes` leading axes of all inputs and of f are separate problems: noise in one does not move the
    others.
    """
    inputs = tuple(as_real(x) for x in inputs)
    centres = tuple(lax.stop_gradient(x) for x in inputs)
    keys = jax.random.split(jax.random.key(seed), len(inputs))
    noise = [draw(key, (samples, *x.shape), x.dtype) for key, x in zip(keys, inputs, strict=True)]
    logs = [
        jnp.sum(log_density(z + ((centre - x) / scale)[None]), axis=tuple(range(axes + 1, z.ndim)))
        for z, centre, x in zip(noise, centres, inputs, strict=True)
    ]
    ratio = jnp.exp(sum(log - lax.stop_gradient(log) for log in logs))
    places = tuple(centre[None] + scale * z for centre, z in zip(centres, noise, strict=True))
    if is_continuous:
        moves = (x - centre for x, centre in zip(inputs, centres, strict=True))
        moved = tuple(jnp.where(jnp.isfinite(move), move, 0.0) for move in moves)
        # In two turns of a loop: the derivative of a maximum looks for it among the places, which a
        # compiler may else compute anew, with another last digit.
        found, change = lax.map(
            lambda u: jax.jvp(f, u, moved), places, batch_size=max(samples // 2, 1)
        )
        return jnp.mean(found + weighted((1 + ratio) / 2, change), axis=0)
    found = as_real(jax.vmap(f)(*places))
    level = lax.stop_gradient(as_real(f(*centres)))
    level = jnp.where(jnp.isfinite(level), level, 0.0)
    return level + jnp.mean(weighted(ratio, found - level[None]), axis=0)
