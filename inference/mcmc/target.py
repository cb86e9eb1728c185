"""The density that is sampled, a NumPyro model over unconstrained space, and where chains start."""

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from numpyro.distributions import biject_to
from numpyro.handlers import seed, substitute, trace
from numpyro.infer import init_to_uniform, util

Values = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]
RADIUS = 2.0
TRIES = 100
ITERATIONS = 500
SMALL = 1e-6  # nats that the next step of Newton's method may still promise
LEAST_RISE = 0.01
MOST_DAMPING = 1e12
MOST_FULL = 50  # above this many dimensions SVI keeps a diagonal covariance
Array = np.ndarray[Any, Any]


class TargetDensity:
    """`model` is called without arguments; its latent sites must be continuous."""

    def __init__(self, model: Callable[[], None]):
        self.model = model

    def potential(self, raw: Values) -> Any:
        """Minus the log density in unconstrained space, volume of the bijections included."""
        return util.potential_energy(self.model, (), {}, raw)

    def constrain(self, raw: Values) -> Values:
        """The values of all latent and deterministic sites."""
        found: Values = util.constrain_fn(self.model, (), {}, raw, return_deterministic=True)
        return found

    @cached_property
    def shapes(self) -> Shapes:
        """The shape of every latent site in unconstrained space; nothing is computed."""
        found: Shapes = {}

        def run(key: Any) -> None:
            started = substitute(seed(self.model, key), substitute_fn=init_to_uniform())
            for name, site in trace(started).get_trace().items():
                if site["type"] == "sample" and not site["is_observed"]:
                    with util.helpful_support_errors(site):
                        shape: tuple[int, ...] = biject_to(site["fn"].support).inverse_shape(
                            tuple(site["fn"].shape())
                        )
                    found[name] = shape

        jax.eval_shape(run, jax.random.PRNGKey(0))
        return found


class NoStart(ValueError):
    """No point with a finite density was found; the message names the sites that are to blame."""


class Start(NamedTuple):
    """A point of unconstrained space, the potential there, and its gradient."""

    raw: Values
    potential: Any
    gradient: Values


def find_starts(target: TargetDensity, keys: Any) -> list[Start]:
    @jax.jit
    def attempt(key: Any) -> Start:
        raw: Values = {}
        parts = jax.random.split(key, max(1, len(target.shapes)))
        for own, (name, shape) in zip(parts, target.shapes.items(), strict=False):
            raw[name] = jax.random.uniform(own, shape, minval=-RADIUS, maxval=RADIUS)
        return Start(raw, *jax.value_and_grad(target.potential)(raw))

    return [_find_start(target, attempt, key) for key in keys]


def _find_start(target: TargetDensity, attempt: Callable[[Any], Start], key: Any) -> Start:
    for number in range(TRIES):
        start = attempt(jax.random.fold_in(key, number))
        parts = start.potential, *start.gradient.values()
        if all(np.all(np.isfinite(part)) for part in parts):
            return start
    raise NoStart(explain(target, start.raw, start.gradient))


def explain(target: TargetDensity, raw: Values, gradient: Values) -> str:
    """The sites whose log density is not finite here, with the first value that has it so."""
    blamed = list(_impossible_sites(target, raw))
    if not blamed:
        for name, part in gradient.items():
            if not np.all(np.isfinite(part)):
                where = f"its gradient along `{name}` is not, at {_show(raw[name])} unconstrained"
                blamed.append(f"the density is finite, but {where}")
    tries = f"{TRIES} tries between -{RADIUS:g} and {RADIUS:g} in unconstrained space"
    head = f"no starting point: {tries} failed. The last:"
    return "\n".join([head, *(f"  {line}" for line in blamed)])


def _impossible_sites(target: TargetDensity, raw: Values) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPyro warns of what is said below
        values = target.constrain(raw)
        found, sites = util.compute_log_probs(target.model, (), {}, values, sum_log_prob=False)
    for name, terms in found.items():
        terms = np.asarray(terms)
        bad = np.argwhere(~np.isfinite(terms))
        if len(bad):
            index = tuple(int(k) for k in bad[0])
            dist = getattr(sites[name]["fn"], "base_dist", sites[name]["fn"])
            where = f"[{', '.join(map(str, index))}]" if index else ""
            value = np.asarray(sites[name]["value"])
            value = value[index] if value.ndim >= len(index) else value
            density = f"log density {terms[index]:g}{_arguments(dist, index)}"
            yield f"`{name}{where}` = {_show(value)} has {density}"


def _arguments(dist: Any, index: tuple[int, ...]) -> str:
    """The parameters of a distribution where it failed, as far as it has any."""
    shown = []
    for word in getattr(dist, "arg_constraints", {}):
        value = getattr(dist, word, None)
        if value is not None and np.ndim(value) <= len(index):
            array = np.asarray(value)
            here = array[index[len(index) - array.ndim :]] if array.size > 1 else array.reshape(())
            shown.append(f"{word}={_show(here)}")
    return f" under {type(dist).__name__}({', '.join(shown)})" if shown else ""


def _show(value: Any) -> str:
    array = np.asarray(value)
    if array.size > 6:
        return f"an array from {array.min():.4g} to {array.max():.4g}"
    return f"{array:.4g}" if array.ndim == 0 else np.array2string(array, precision=4)


# ---- A Gaussian in unconstrained space for the posterior: at its mode, or closest (SVI)


class NoMode(ArithmeticError):
    """The density has no mode that a Gaussian could stand at."""


class Gaussian(NamedTuple):
    """N(mean, factor factor') over the flattened unconstrained space."""

    mean: jax.Array
    factor: jax.Array


class FlatTarget(NamedTuple):
    """The target as a function of one vector."""

    potential: Callable[[jax.Array], jax.Array]
    unravel: Callable[[jax.Array], Any]
    start: jax.Array


def flatten(target: TargetDensity, key: Any) -> FlatTarget:
    (start,) = find_starts(target, key[None])
    vector, unravel = ravel_pytree(start.raw)
    return FlatTarget(lambda x: target.potential(unravel(x)), unravel, vector)


class Local(NamedTuple):
    """The potential at a point, its gradient and its Hessian."""

    value: Array
    gradient: Array
    curvature: Array


def fit_laplace(flat: FlatTarget) -> Gaussian:
    """mean = argmin potential, covariance = inverse of its Hessian there."""
    mode, found = _minimise(flat)
    values, vectors = np.linalg.eigh(found.curvature)
    is_level = values[0] > 0 and np.sum((vectors.T @ found.gradient) ** 2 / values) < SMALL
    if not is_level or _is_flat(flat, mode, found):
        raise NoMode(
            "no mode was found: the density grows without end, or is flat, in some direction of "
            "unconstrained space. A scale that may shrink to zero does that; `method='nuts'` has "
            "no such trouble"
        )
    lower = jnp.linalg.cholesky(jnp.asarray(found.curvature))
    inverse = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(mode)), lower=True)
    return Gaussian(mode, inverse.T)


def _is_flat(flat: FlatTarget, mode: jax.Array, found: Local) -> bool:
    """Whether the potential fails to rise a standard deviation away (a Gaussian's by a half):
    rounding makes the curvature along a ridge positive, and a plateau has some that vanishes.
    """
    values, vectors = np.linalg.eigh(found.curvature)
    away = (vectors / np.sqrt(values)).T
    points = mode + jnp.asarray(np.concatenate([away, -away]))
    there = np.asarray(jax.jit(lambda p: jax.lax.map(flat.potential, p, batch_size=100))(points))
    return bool(np.any(there - found.value < LEAST_RISE))


def _minimise(flat: FlatTarget) -> tuple[jax.Array, Local]:
    """Newton's method with |eigenvalues| + damping as curvature: downhill, quadratic at last."""

    def evaluate(point: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        value, gradient = jax.value_and_grad(flat.potential)(point)
        return value, gradient, jax.hessian(flat.potential)(point)

    compiled = jax.jit(evaluate)
    point, damping = flat.start, 1.0
    here = Local(*map(np.asarray, compiled(point)))
    for _ in range(ITERATIONS):
        values, vectors = np.linalg.eigh(here.curvature)
        along = vectors.T @ here.gradient
        if (values[0] > 0 and np.sum(along**2 / values) < 1e-3 * SMALL) or damping > MOST_DAMPING:
            break
        step = vectors @ (along / (np.abs(values) + damping))
        there = Local(*map(np.asarray, compiled(point - step)))
        is_better = bool(there.value <= here.value) and bool(np.all(np.isfinite(there.curvature)))
        if is_better:
            point, here = point - step, there
        damping = damping / 4 if is_better else damping * 8
    return point, here


def fit_svi(
    flat: FlatTarget, key: Any, steps: int, rate: float = 0.01, particles: int = 8
) -> tuple[Gaussian, Array]:
    """Adam on an estimate of -ELBO = E[potential(mean + factor noise)] - log |factor|."""
    size = len(flat.start)
    is_full = size <= MOST_FULL
    optimizer = optax.adam(optax.cosine_decay_schedule(rate, steps))

    def factor_of(raw: Any) -> jax.Array:
        _, logs, below = raw
        return jnp.diag(jnp.exp(logs)) + (jnp.tril(below, -1) if is_full else 0.0)

    def loss(raw: Any, key: Any) -> jax.Array:
        noise = jax.random.normal(key, (particles, size))
        points = raw[0] + (noise @ factor_of(raw).T if is_full else noise * jnp.exp(raw[1]))
        return jnp.mean(jax.vmap(flat.potential)(points)) - jnp.sum(raw[1])

    def step(carried: Any, k: Any) -> Any:
        raw, state = carried
        value, gradient = jax.value_and_grad(loss)(raw, jax.random.fold_in(key, k))
        gradient = jax.tree.map(lambda part: jnp.where(jnp.isfinite(part), part, 0.0), gradient)
        change, state = optimizer.update(gradient, state, raw)
        return (optax.apply_updates(raw, change), state), value

    below = jnp.zeros((size, size) if is_full else ())
    start = (flat.start, jnp.full(size, -2.0), below)
    run = jax.jit(lambda raw: jax.lax.scan(step, (raw, optimizer.init(raw)), jnp.arange(steps)))
    (raw, _), losses = run(start)
    return Gaussian(raw[0], factor_of(raw)), np.asarray(losses)


class Weighted(NamedTuple):
    """Points of unconstrained space and log density - log proposal, up to a constant."""

    points: jax.Array
    log_ratios: Array


def draw_gaussian(flat: FlatTarget, gaussian: Gaussian, key: Any, count: int) -> Weighted:
    noise = jax.random.normal(key, (count, len(gaussian.mean)))
    return _weighted(flat, gaussian, noise, -0.5 * jnp.sum(noise**2, axis=-1))


def draw_student(
    flat: FlatTarget, gaussian: Gaussian, key: Any, count: int, df: float = 5.0
) -> Weighted:
    """Tails like |x|^-(df + size), so that few weights get out of hand."""
    size = len(gaussian.mean)
    first, second = jax.random.split(key)
    widths = jnp.sqrt(df / jax.random.chisquare(second, df, shape=(count, 1)))
    noise = jax.random.normal(first, (count, size)) * widths
    log_density = -0.5 * (df + size) * jnp.log1p(jnp.sum(noise**2, axis=-1) / df)
    return _weighted(flat, gaussian, noise, log_density)


def _weighted(
    flat: FlatTarget, gaussian: Gaussian, noise: jax.Array, log_proposal: jax.Array
) -> Weighted:
    points = gaussian.mean + noise @ gaussian.factor.T
    potentials = jax.jit(lambda p: jax.lax.map(flat.potential, p, batch_size=100))(points)
    ratios = np.asarray(-potentials - log_proposal)
    return Weighted(points, np.where(np.isfinite(ratios), ratios, -np.inf))
