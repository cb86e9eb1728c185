"""Maximum likelihood, or the mode of the posterior where there are priors, by the best method."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from dpc.inference.optimise.method import Minimised
from dpc.inference.optimise.newton import standard_errors
from dpc.inference.optimise.sharded import replicate

from ..model.keeper import digest
from .blame import blame
from .cases import about_cases
from .choose import FEW, MethodChoice, choose, choose_newton, loss_of, spread_cases
from .counts import fit_tables
from .descent import STAGES, Load, StartedFit, Watch, is_stationary
from .health import at_bounds, what_is_wrong, without_maximum
from .likelihood import FIELD_LOSSES, Arrays, Likelihood
from .regression import estimate, find_regression
from .result import STEPS, Fit, FitOptions, verify_options
from .starts import starts

Values = dict[str, Any]
MOST_TRIED = 4
"""Starts that are followed to the end, best first, until one leads to a maximum."""
SADDLE = "a saddle: the likelihood rises on both sides of it; start elsewhere, or more often"
MOST_ERRORS = 1000
"""Numbers of parameters up to which standard errors are worth a Hessian."""


def fit_likelihood(
    likelihood: Likelihood,
    options: FitOptions,
    start: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    load: Load | None = None,
    mesh: Mesh | None = None,
    at_once: bool = True,
) -> Fit:
    """`watch` sees the number, name and states of each stage; `load` gives back where to go on.
    With a mesh, cases are spread over its devices. What is found `at_once` has no states to see.
    """
    if at_once and mesh is None and (found := fit_by_regression(likelihood, options, start)):
        return found
    choice = choose(likelihood, options)
    verify_options(options, choice.method)
    if choice.method == "counts":
        cases, notes = [likelihood.cases], about_data(likelihood)
        return fit_tables(likelihood.roles, cases, options.smoothing, choice.why, notes)
    data = likelihood.arrays
    raws = starts(likelihood, choice, options, start or {}, data)
    if mesh is not None:
        data, raws = spread_cases(data, mesh), [replicate(raw, mesh) for raw in raws]
    descent = StartedFit(likelihood, choice, options, data, watch, load)
    result = best_of(descent, raws)
    params, on_bounds = at_bounds(likelihood, choice, result.raw, data)
    if on_bounds:
        result = result._replace(value=float(likelihood.loss(params, data)))
    if on_bounds and is_stationary(result, options.tolerance):
        result = result._replace(converged=True, reason=on_bounds)
    errors, about_errors, is_saddle = errors_of(likelihood, choice, result, options, data)
    if is_saddle:
        result = result._replace(converged=False, reason=SADDLE)
    prior = float(likelihood.log_prior(params))
    said = [f"the best of {len(raws)} starts"] if len(raws) > 1 else []
    said += [*about_data(likelihood), *about_errors, *([on_bounds] if on_bounds else [])]
    return Fit(
        params=jax.tree.map(np.asarray, params),
        errors=jax.tree.map(np.asarray, errors),
        value=value_of(likelihood, choice, result, params, data) - prior,
        log_prior=prior,
        method=choice.method,
        loss=choice.loss,
        why=choice.why,
        converged=result.converged,
        reason=reason_of(likelihood, result, params),
        gradient_norm=result.gradient_norm,
        steps=result.steps,
        notes=tuple(said),
        **about_cases(likelihood.roles.unknowns, likelihood.cases),
    )


def value_of(
    likelihood: Likelihood,
    choice: MethodChoice,
    result: Minimised,
    params: Values,
    data: list[Arrays],
) -> float:
    """Minus the loss at these parameters: some methods know another one, or its mean on the way."""
    if choice.method not in ("natural", "stochastic"):
        return -result.value
    if choice.loss == "likelihood":
        return -float(likelihood.loss(params, data))
    if choice.loss in FIELD_LOSSES:
        return -float(likelihood.field_loss(choice.loss, params, data))
    return -float(loss_of(likelihood, choice)(result.raw, data))


def reason_of(likelihood: Likelihood, result: Minimised, params: Values) -> str:
    """Why it stopped; where the value is not finite, the entries that are to blame."""
    culprits = "" if np.isfinite(result.value) else blame(likelihood, params)
    if not culprits:
        return result.reason
    when = f"after {result.steps} steps" if result.steps else "at the start"
    what = f"the log density is {-result.value:g} {when}: {culprits}"
    return f"{what}. Mend the data, or start from other parameters"


def fit_by_regression(
    likelihood: Likelihood, options: FitOptions, start: Mapping[str, Any] | None
) -> Fit | None:
    """Newton's method in NumPy where the model is a regression and there is a certificate."""
    if (options.method, options.loss) != ("auto", "likelihood"):
        return None
    model = find_regression(likelihood)
    if model is None or (count := model.count(likelihood)) > FEW:
        return None
    verify_options(options, "newton")
    steps = STEPS if options.steps is None else options.steps
    found = estimate(model, likelihood, start or {}, steps, options.tolerance)
    if found is None:
        return None
    # Without a maximum, where a regression leaves nothing, there are no errors.
    errors = found.errors if options.errors and found.converged else None
    why, notes = choose_newton(count).why, about_data(likelihood)
    return found.replace(errors=errors, why=why, notes=notes)


def best_of(descent: StartedFit, raws: list[Values]) -> Minimised:
    """The best start that leads to a maximum worth the name, or else what the last came to."""
    likelihood, choice = descent.likelihood, descent.choice
    hidden = not likelihood.is_complete
    for number, raw in enumerate(descent.best_first(raws)[:MOST_TRIED]):
        result = descent.run(raw, number * STAGES)
        if hidden and descent.is_scaled and is_stationary(result, descent.options.tolerance):
            result = descent.escape(result)
        if not np.isfinite(result.value):
            continue
        reason = ""
        if hidden or (not result.converged and likelihood.roles.is_normalised):
            params = likelihood.constrain(result.raw)
            reason = what_is_wrong(likelihood, choice, params, descent.data)
        if not reason and choice.loss == "likelihood" and likelihood.roles.is_normalised:
            params = likelihood.constrain(result.raw)
            reason = without_maximum(likelihood, params, descent.data)
        if not reason and result.converged:
            break
        if reason:
            result = result._replace(converged=False, reason=reason)
    return result


def fingerprint(
    likelihood: Likelihood, options: FitOptions, start: Mapping[str, Any] | None = None
) -> str:
    """What a run depends on, but for its number of steps."""
    words = [likelihood.model.program, repr(options.replace(steps=0))]
    arrays: list[tuple[str, Any]] = []
    for group in likelihood.cases.groups:
        for own in (group.shared, group.stacked, group.missing):
            arrays += sorted(own.items())
    return digest(words, [*arrays, *sorted((start or {}).items())])


def errors_of(
    likelihood: Likelihood,
    choice: MethodChoice,
    result: Minimised,
    options: FitOptions,
    data: list[Arrays],
) -> tuple[Values | None, tuple[str, ...], bool]:
    """Of a likelihood only: the curvature of another loss says nothing about errors. Also whether
    it curves down somewhere: then it is a saddle.
    """
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(result.raw))
    exact = choice.loss == "likelihood" and choice.method != "stochastic"
    if not options.errors or not result.converged or size > MOST_ERRORS or not exact:
        return None, (), False
    found = standard_errors(loss_of(likelihood, choice), result.raw, data, likelihood.constrain)
    errors = jax.tree.map(lambda e: jnp.where(jnp.isfinite(e), e, jnp.nan), found.errors)
    if found.negative and not likelihood.is_complete:
        return None, (), True
    return errors, (found.reason,) if found.reason else (), False


def about_data(likelihood: Likelihood) -> tuple[str, ...]:
    """What was done with what the data do not say."""
    notes, roles = [], likelihood.roles
    for name in sorted(likelihood.open | likelihood.masked):
        masks = [group.missing[name] for group in likelihood.cases.groups if name in group.missing]
        how = "summed over" if name in likelihood.open else "integrated over"
        notes.append(f"{sum(int(m.sum()) for m in masks)} missing entries of `{name}` are {how}")
    notes += [f"`{node.name}` is hidden, and summed over" for node in roles.summed]
    notes += [f"`{node.name}` is hidden, and integrated over" for node in roles.integrated]
    notes += [f"`{node.name}` is estimated with its prior" for node in roles.estimated]
    return tuple(notes)
