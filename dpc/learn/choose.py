"""Which method suits a likelihood, and why: counts where they are all, else exact derivatives."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dpc.dsl.graph.graph import Kind
from dpc.dsl.library.rows import Update
from dpc.dsl.record import Record
from dpc.inference.errors import MemoryLimitError
from dpc.inference.optimise.em import ExpectationMaximisation
from dpc.inference.optimise.gauss_newton import GaussNewton
from dpc.inference.optimise.lbfgs import Lbfgs
from dpc.inference.optimise.method import Minimiser
from dpc.inference.optimise.newton import Newton
from dpc.inference.optimise.sharded import left_to_the_compiler, place, replicate, shard_rows
from dpc.inference.optimise.stochastic import Stochastic
from dpc.inference.optimise.units import in_units, to_free, to_raw

from ..data.errors import problem
from .counts import table_uses
from .family import SPARSE_LOSSES, Natural, sparse_loss, why_not_natural, why_not_sparse
from .likelihood import FIELD_LOSSES, Arrays, Likelihood
from .result import RATE, STEPS, FitOptions, NotApplicable
from .roles import find_updates, sweep

FEW = 60
"""Parameters up to which the exact Hessian pays."""

METHODS = ("auto", "counts", "closed form", "em", "newton", "lbfgs", "natural", "stochastic")
LOSSES = ("likelihood", *FIELD_LOSSES, *SPARSE_LOSSES)


class MethodChoice(Record):
    """`loss` is one of LOSSES."""

    method: str
    why: str
    loss: str = "likelihood"


def choose(likelihood: Likelihood, options: FitOptions) -> MethodChoice:
    """The method that suits, or the one that was asked for if it can be used."""
    if not likelihood.cases.given:
        draws = ", ".join(f"`{node.name}`" for node in likelihood.roles.graph.of_kind(Kind.DRAW))
        message = "the data have no value of any draw, so there is nothing to learn from"
        raise problem("", message, f"the model draws {draws or 'nothing'}")
    own_loss = options.loss != "likelihood"
    if options.method == "auto":
        return choose_for_loss(options.loss, likelihood) if own_loss else choose_method(likelihood)
    verify_method(options.method, likelihood)
    loss = choose_for_loss(options.loss, likelihood).loss if own_loss else "likelihood"
    return MethodChoice(options.method, "as asked", loss)


def choose_method(likelihood: Likelihood) -> MethodChoice:
    roles = likelihood.roles
    if likelihood.is_complete and table_uses(roles):
        why = "the data are complete and all that is unknown are tables: relative frequencies"
        return MethodChoice("counts", why)
    if _all_closed(likelihood):
        why = "the data are complete and every unknown is a mean of something"
        return MethodChoice("closed form", why)
    count = likelihood.count
    few = numbers(count)
    if likelihood.is_complete and roles.is_normalised:
        if count <= FEW:
            return choose_newton(count)
        return MethodChoice("lbfgs", f"the data are complete and {few} are unknown")
    if roles.integrated:
        hidden = ", ".join(f"`{node.name}`" for node in roles.integrated[:3])
        why = f"{hidden} integrated out exactly: all laws are normal and all means affine"
        return MethodChoice("lbfgs", why)
    if roles.is_normalised:
        hidden = ", ".join(f"`{node.name}`" for node in roles.summed[:3]) or "missing entries"
        verb = "is" if len(roles.summed) == 1 else "are"
        why = f"{hidden} {verb} hidden: exact expectations, then L-BFGS on the likelihood itself"
        return MethodChoice("em", why)
    return _choose_for_field(likelihood, few)


def numbers(count: int) -> str:
    return f"{count} numbers" if count != 1 else "one number"


def choose_newton(count: int) -> MethodChoice:
    verb = "are" if count != 1 else "is"
    why = f"the data are complete and {numbers(count)} {verb} unknown: exact Hessian"
    return MethodChoice("newton", why)


def _choose_for_field(likelihood: Likelihood, few: str) -> MethodChoice:
    """Gradients alone: the Hessian of a log-partition takes longer to compile than it saves."""
    try:
        likelihood.verify_exact()
    except MemoryLimitError as error:
        if not likelihood.is_complete:
            raise
        why = (
            f"exact inference is too wide ({str(error).partition(':')[0]}): the "
            "pseudo-likelihood, which is consistent"
        )
        return MethodChoice("lbfgs", why, "pseudo")
    return MethodChoice("lbfgs", f"a random field with {few} unknown: exact log-partition")


def choose_for_loss(loss: str, likelihood: Likelihood) -> MethodChoice:
    """The method for a loss that was asked for."""
    if loss in SPARSE_LOSSES:
        if reason := why_not_sparse(likelihood):
            raise NotApplicable(f"the loss {loss!r} cannot be used: {reason}")
        return MethodChoice("lbfgs", SPARSE_LOSSES[loss][1], loss)
    if loss not in FIELD_LOSSES:
        raise NotApplicable(f"there is no loss {loss!r}: it is one of {', '.join(LOSSES)}")
    if likelihood.roles.is_normalised:
        raise NotApplicable(
            f"the loss {loss!r} is for random fields, and no factor speaks about this model's draws"
        )
    if not likelihood.is_complete:
        hidden = [*(node.name for node in likelihood.roles.summed), *sorted(likelihood.open)]
        what = f"the loss {loss!r} needs complete data"
        raise NotApplicable(f"{what}, and `{hidden[0]}` is hidden or has missing entries")
    found = FIELD_LOSSES[loss]
    return MethodChoice(
        "stochastic" if found.keyed or not found.smooth else "lbfgs", found.about, loss
    )


def _all_closed(likelihood: Likelihood) -> bool:
    if not (likelihood.is_complete and likelihood.roles.is_normalised):
        return False
    return Update.NEWTON not in find_updates(likelihood.roles).values()


def verify_method(method: str, likelihood: Likelihood) -> None:
    """Raises NotApplicable unless the method can find the maximum."""
    roles = likelihood.roles
    if method not in METHODS:
        raise NotApplicable(f"there is no method {method!r}: it is one of {', '.join(METHODS)}")
    if method == "counts" and not (likelihood.is_complete and table_uses(roles)):
        raise NotApplicable("`counts` needs complete data and tables as the only unknowns")
    if method == "closed form" and not _all_closed(likelihood):
        what = "`closed form` needs complete data"
        raise NotApplicable(f"{what}, a directed model and unknowns that enter laws directly")
    if method == "natural" and (reason := why_not_natural(likelihood)):
        raise NotApplicable(reason)
    if method == "em" and roles.integrated:
        message = "`em` sums over finite variables, and those hidden here are integrated out"
        raise NotApplicable(f"{message}: use lbfgs")
    if method == "em" and likelihood.is_complete:
        message = "`em` is for hidden variables, and the data are complete"
        raise NotApplicable(f"{message}: use newton or lbfgs")


Values = dict[str, Any]


def stages(likelihood: Likelihood, choice: MethodChoice, options: FitOptions) -> list[Minimiser]:
    """The methods in turn, in units and without data; those that ask again when they see NaN
    compile the scaled one alone.
    """
    tolerance = options.tolerance
    safe, quick = scaled_losses(likelihood, choice)
    if choice.method == "newton":
        return [Newton(safe, tolerance=tolerance)]
    if choice.method == "natural":
        natural = Natural(likelihood)
        outputs = in_units(natural.outputs)
        of_outputs = lambda outputs, known: natural.loss(outputs, known[1])  # noqa: E731
        return [GaussNewton(outputs, of_outputs, tolerance=tolerance)]
    if choice.method == "stochastic":
        estimate = batch_loss(likelihood, choice, options.batch)

        def scaled(free: Values, known: Any, key: Any) -> Any:
            units, data = known
            return estimate(to_raw(free, units), data, key)

        rate = RATE if options.rate is None else options.rate
        limit = STEPS if options.steps is None else options.steps
        return [Stochastic(scaled, rate=rate, seed=options.seed, limit=limit)]
    descent: list[Minimiser] = [Lbfgs(quick, tolerance=tolerance, otherwise=safe)]
    if choice.method == "lbfgs":
        return descent
    is_normalised = likelihood.roles.is_normalised
    _, maximise = halves(likelihood.checked if is_normalised else likelihood)
    scaled = _maximise_in_units(likelihood, maximise)
    first, otherwise = expect_in_units(likelihood)
    return [ExpectationMaximisation(first, scaled, None, tolerance, otherwise), *descent]


def expect_in_units(likelihood: Likelihood) -> list[Callable[..., Any]]:
    """The first half of EM: the one that compiles faster, and the one that is never NaN."""
    own = likelihood.checked, likelihood
    return [_cached(one, "expect", halves(one)[0]) for one in own]


def scaled_losses(
    likelihood: Likelihood, choice: MethodChoice
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """In units: the one that has a value everywhere, and one that compiles faster."""
    safe = loss_of(likelihood, choice)
    if choice.method not in ("lbfgs", "em", "closed form"):
        found = _cached(likelihood, choice.loss, safe)
        return found, found
    quick = loss_of(likelihood.checked, choice)
    return (
        _cached(likelihood, choice.loss, safe),
        _cached(likelihood.checked, choice.loss, quick),
    )


def _cached(likelihood: Likelihood, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function whenever it is asked for: JAX compiles it once."""
    return likelihood.losses.setdefault(f"{name} in units", in_units(function))


def _maximise_in_units(likelihood: Likelihood, maximise: Callable[..., Any]) -> Callable[..., Any]:
    def scaled(free: Values, expected: Any, known: Any) -> Values:
        units, data = known
        found: Values = to_free(maximise(to_raw(free, units), expected, data), units)
        return found

    return likelihood.losses.setdefault("maximise in units", scaled)


def loss_of(likelihood: Likelihood, choice: MethodChoice) -> Callable[[Values, list[Arrays]], Any]:
    """Of unconstrained parameters and arrays; the same function whenever it is asked for."""
    name = choice.loss
    if name not in likelihood.losses and name in SPARSE_LOSSES:
        likelihood.losses[name] = sparse_loss(likelihood, name)
    elif name not in likelihood.losses:
        whole = likelihood.loss if name == "likelihood" else partial(likelihood.field_loss, name)

        def loss(raw: Values, arrays: list[Arrays]) -> Any:
            return whole(likelihood.constrain(raw), arrays)

        likelihood.losses[name] = loss
    return likelihood.losses[name]


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
    """The two halves of EM, the same functions always; complete data leave nothing to expect."""
    if "maximise" in likelihood.losses:
        return likelihood.losses["expect"], likelihood.losses["maximise"]
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

    likelihood.losses |= {"expect": expect, "maximise": maximise}
    return expect, maximise


def spread_cases(groups: list[Arrays], mesh: Mesh) -> list[Arrays]:
    """Arrays by case are cut along cases; of a single case along the first axis, if possible."""

    def cut_evenly(leaf: Any) -> Any:
        array = np.asarray(leaf)
        if not array.ndim or array.shape[0] % mesh.devices.shape[0]:
            return replicate(array, mesh)
        spec = PartitionSpec(mesh.axis_names[0])
        return place(array, NamedSharding(left_to_the_compiler(mesh), spec))

    found = []
    for own in groups:
        if own.stacked:
            stacked, weights = shard_rows(own.stacked, own.weights, mesh)
            found.append(Arrays(replicate(own.shared, mesh), stacked, weights))
        else:
            shared = jax.tree.map(cut_evenly, own.shared)
            found.append(Arrays(shared, {}, replicate(own.weights, mesh)))
    return found
