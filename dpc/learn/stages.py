"""The methods that look for the maximum one after the other, and the functions they work on."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dpc.inference.optimise.em import ExpectationMaximisation
from dpc.inference.optimise.gauss_newton import GaussNewton
from dpc.inference.optimise.lbfgs import Lbfgs
from dpc.inference.optimise.method import Minimiser
from dpc.inference.optimise.newton import Newton
from dpc.inference.optimise.sharded import left_to_the_compiler, place, replicate, shard_rows
from dpc.inference.optimise.stochastic import Stochastic

from .choose import MethodChoice
from .likelihood import Arrays, Likelihood
from .natural import SPARSE_LOSSES, Natural, sparse_loss
from .options import RATE, FitOptions, NotApplicable
from .sweep import find_updates, sweep

Values = dict[str, Any]


def stages(
    likelihood: Likelihood, choice: MethodChoice, options: FitOptions, data: list[Arrays]
) -> list[Minimiser]:
    """Methods that ask again when they see NaN compile the scaled likelihood alone."""
    loss, tolerance = loss_of(likelihood, choice), options.tolerance
    if choice.method == "newton":
        return [Newton(loss, data, tolerance)]
    if choice.method == "natural":
        natural = Natural(likelihood)
        return [GaussNewton(natural.outputs, natural.loss, data, tolerance)]
    if choice.method == "stochastic":
        estimate = batch_loss(likelihood, choice, options.batch)
        rate = RATE if options.rate is None else options.rate
        return [Stochastic(estimate, data, rate=rate, seed=options.seed)]
    checked = loss_of(likelihood.checked, choice)
    descent: list[Minimiser] = [Lbfgs(checked, data, tolerance, otherwise=loss)]
    if choice.method == "lbfgs":
        return descent
    (expect, quick), (otherwise, safe) = halves(likelihood.checked), halves(likelihood)
    maximise = quick if likelihood.roles.is_normalised else safe
    return [ExpectationMaximisation(expect, maximise, data, tolerance, otherwise), *descent]


def loss_of(likelihood: Likelihood, choice: MethodChoice) -> Callable[[Values, list[Arrays]], Any]:
    """Of unconstrained parameters and arrays; the same function whenever it is asked for."""
    if choice.loss not in likelihood.losses:
        likelihood.losses[choice.loss] = new_loss(likelihood, choice.loss)
    return likelihood.losses[choice.loss]


def new_loss(likelihood: Likelihood, name: str) -> Callable[[Values, list[Arrays]], Any]:
    if name in SPARSE_LOSSES:
        return sparse_loss(likelihood, name)
    whole = likelihood.loss if name == "likelihood" else partial(likelihood.field_loss, name)

    def loss(raw: Values, arrays: list[Arrays]) -> Any:
        return whole(likelihood.constrain(raw), arrays)

    return loss


def batch_loss(
    likelihood: Likelihood, choice: MethodChoice, batch: int | None
) -> Callable[..., Any]:
    """An unbiased estimate of the loss from `batch` cases, or all; groups give their share."""
    count = likelihood.cases.count
    if batch is not None and not all(own.stacked for own in likelihood.arrays):
        what = "the data are one case, which cannot be drawn from"
        raise NotApplicable(f"{what}: leave the batch out")
    if batch is not None and batch > count:
        what = f"a batch of {batch} cases cannot be drawn from {count}"
        raise NotApplicable(f"{what}: ask for fewer, or leave it out")

    def loss(raw: Values, arrays: list[Arrays], key: Any) -> Any:
        params = likelihood.constrain(raw)
        drawing, own = jax.random.split(key)
        chosen = arrays if batch is None else draw_cases(arrays, batch / count, drawing)
        if choice.loss == "likelihood":
            return likelihood.loss(params, chosen)
        return likelihood.field_loss(choice.loss, params, chosen, own)

    return loss


def draw_cases(arrays: list[Arrays], share: float, key: Any) -> list[Arrays]:
    """This share of each group's cases, at least one, weighted so that sums are unbiased."""
    found = []
    for number, own in enumerate(arrays):
        count = own.weights.shape[0]
        few = max(1, round(share * count))
        rows = jax.random.randint(jax.random.fold_in(key, number), (few,), 0, count)
        stacked = jax.tree.map(lambda leaf, rows=rows: leaf[rows], own.stacked)
        found.append(Arrays(own.shared, stacked, own.weights[rows] * (count / few)))
    return found


def halves(likelihood: Likelihood) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two halves of EM; the same functions whenever they are asked for."""
    if "maximise" not in likelihood.losses:
        likelihood.losses["expect"], likelihood.losses["maximise"] = new_halves(likelihood)
    return likelihood.losses["expect"], likelihood.losses["maximise"]


def new_halves(likelihood: Likelihood) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """With complete data the first has nothing to expect."""
    nodes = {node.name: node for node in likelihood.roles.unknowns}
    updates = find_updates(likelihood.roles)

    def expect(raw: Values, arrays: list[Arrays]) -> tuple[Any, Any]:
        params = likelihood.constrain(raw)
        if likelihood.is_complete:
            return -likelihood.loss(params, arrays), ()
        value, expected = likelihood.expect(params, arrays)
        return value + likelihood.log_prior(params), expected

    def maximise(raw: Values, expected: Any, arrays: list[Arrays]) -> Values:
        def score(params: Values) -> Any:
            if likelihood.is_complete:
                return -likelihood.loss(params, arrays)
            return likelihood.expected_score(params, expected, arrays)

        return likelihood.unconstrain(sweep(score, likelihood.constrain(raw), nodes, updates))

    return expect, maximise


# ---- cases over devices


def spread_cases(groups: list[Arrays], mesh: Mesh) -> list[Arrays]:
    """Arrays by case are cut along cases; of a single case along the first axis, if possible."""
    return [_spread(own, mesh) for own in groups]


def _spread(own: Arrays, mesh: Mesh) -> Arrays:
    if own.stacked:
        stacked, weights = shard_rows(own.stacked, own.weights, mesh)
        return Arrays(replicate(own.shared, mesh), stacked, weights)
    shared = jax.tree.map(lambda array: _cut_evenly(np.asarray(array), mesh), own.shared)
    return Arrays(shared, {}, replicate(own.weights, mesh))


def _cut_evenly(array: np.ndarray, mesh: Mesh) -> Any:
    if not array.ndim or array.shape[0] % mesh.devices.shape[0]:
        return replicate(array, mesh)
    spec = PartitionSpec(mesh.axis_names[0])
    return place(array, NamedSharding(left_to_the_compiler(mesh), spec))
