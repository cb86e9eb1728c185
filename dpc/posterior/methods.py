"""The ways to a posterior: each takes a request and gives draws, statistics, attributes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from dpc.dsl.graph.graph import Kind
from dpc.inference.mcmc.container import smooth_weights
from dpc.inference.mcmc.run import NutsPlan, key_for
from dpc.inference.mcmc.target import (
    FlatTarget,
    Gaussian,
    TargetDensity,
    Weighted,
    draw_gaussian,
    draw_student,
    fit_laplace,
    fit_svi,
    flatten,
)

from ..data.bound import Data
from ..exits import UsageError
from ..gradient.optimise import OptimisePlan, optimise, start
from .numpyro_model import NumpyroModel

Values = dict[str, Any]
OVERSAMPLING = 4
"""Proposals for each draw of importance sampling."""


class Request(NamedTuple):
    model: Any
    data: Data
    plan: NutsPlan
    draws: int
    steps: int

    @property
    def target(self) -> TargetDensity:
        verify_continuous(self.model.posteriors.decentred)
        return TargetDensity(self.model.to_numpyro(self.data))

    @property
    def keys(self) -> Any:
        return jax.random.split(key_for("fit", self.plan.seed), 3)


class PosteriorDraws(NamedTuple):
    """[chain, draw, ...] of values and statistics."""

    values: Values
    stats: Values
    attributes: Values


def verify_continuous(model: NumpyroModel) -> None:
    """Raises UsageError unless what is not summed over is continuous, and is something."""
    draws = [node for node in model.graph.of_kind(Kind.DRAW) if not node.observed]
    latent = [node for node in draws if node.name not in model.sites.hidden]
    for node in latent:
        if node.type.whole:
            why = "it cannot be summed over, and has no gradient"
            bound = "Bound it (`Binomial` with a constant `n`, a dim)"
            raise UsageError(
                f"`{node.name}` is a whole number without bounds: {why}. {bound}, or approximate "
                "it by a continuous draw"
            )
    if not latent and not model.graph.of_kind(Kind.PARAMETER):
        raise UsageError(
            "nothing in this model is continuous and unknown: its marginals and its mode are exact "
            "(`dpc query`, `m.marginals`, `m.mode`)"
        )


# ---- Gaussians


def _laplace(request: Request) -> PosteriorDraws:
    flat = flatten(request.target, request.keys[0])
    return _as_drawn(request, flat, fit_laplace(flat), {"method": "laplace"})


def _svi(request: Request) -> PosteriorDraws:
    if request.model.graph.guide is not None:
        return _own_guide(request)
    flat = flatten(request.target, request.keys[0])
    gaussian, losses = fit_svi(flat, request.keys[2], request.steps)
    tail = losses[-max(1, len(losses) // 100) :]
    return _as_drawn(request, flat, gaussian, {"method": "svi", "elbo": -float(np.mean(tail))})


def _as_drawn(
    request: Request, flat: FlatTarget, gaussian: Gaussian, attributes: Values
) -> PosteriorDraws:
    """Draws of the Gaussian as they are; their weights tell how near it is."""
    drawn = draw_gaussian(flat, gaussian, request.keys[1], request.draws)
    about = {**attributes, "pareto_k": smooth_weights(drawn.log_ratios).k}
    return PosteriorDraws(_constrained(request, flat, drawn.points), {}, about)


def _importance(request: Request) -> PosteriorDraws:
    """Proposals from a Student's t at the mode, resampled by their smoothed weights."""
    flat = flatten(request.target, request.keys[0])
    first, second = jax.random.split(request.keys[1])
    drawn: Weighted = draw_student(flat, fit_laplace(flat), first, OVERSAMPLING * request.draws)
    smoothed = smooth_weights(drawn.log_ratios)
    chosen = _systematic(smoothed.log_weights, float(jax.random.uniform(second)), request.draws)
    about = {"pareto_k": smoothed.k, "effective_draws": smoothed.effective}
    values = _constrained(request, flat, drawn.points[chosen])
    return PosteriorDraws(values, {}, {"method": "importance", **about})


def _systematic(log_weights: Any, offset: float, count: int) -> Any:
    """Each point is taken count * weight times, rounded up or down."""
    steps = (np.arange(count) + offset) / count
    edges = np.cumsum(np.exp(log_weights))
    order = np.searchsorted(edges / edges[-1], steps)
    return np.random.default_rng(0).permutation(order)


def _constrained(request: Request, flat: FlatTarget, points: Any) -> Values:
    constrain = TargetDensity(request.model.to_numpyro(request.data)).constrain
    found = jax.jit(jax.vmap(lambda point: constrain(flat.unravel(point))))(points)
    return {name: np.asarray(value)[None] for name, value in found.items()}


# ---- the guide of the file


def _own_guide(request: Request) -> PosteriorDraws:
    """The guide at the parameters that maximise the file's own bound."""
    model, data, count = request.model, request.data, request.draws
    steps = OptimisePlan(request.steps, seed=request.plan.seed)
    state = start(model, model.init(request.keys[0], data), data, steps)
    for after in optimise(model, data, steps, state):
        state = after
    params = model.constrain(state.raw)
    guide = model.functions.load(model.graph.guide)["sample"]
    given = {**data.arrays, **data.sizes}
    draw = jax.jit(jax.vmap(lambda key: guide(key, params, given)))
    drawn = draw(jax.random.split(request.keys[1], count))
    values = {name: np.asarray(value)[None] for name, value in drawn.items()}
    for node in model.graph.of_kind(Kind.PARAMETER):
        fixed = params[node.name]
        values[node.name] = np.broadcast_to(fixed, (1, count, *np.shape(fixed)))
    elbo = -float(np.mean(state.losses[-100:]))
    return PosteriorDraws(values, {}, {"method": "svi", "elbo": elbo})


METHODS: dict[str, Callable[[Request], PosteriorDraws]] = {
    "svi": _svi,
    "laplace": _laplace,
    "importance": _importance,
}
