"""Maximum likelihood, or the mode of the posterior where there are priors, by the best method."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from dpc.dsl.graph.graph import Kind
from dpc.inference.optimise.information import standard_errors
from dpc.inference.optimise.method import Method, Result, State, minimise
from dpc.inference.optimise.sharded import replicate

from ..data.errors import problem
from ..model.keeper import digest
from . import counts as by_counting
from .blame import blame
from .cases import Cases
from .choose import FEW, MethodChoice, choose_for_loss, choose_method, choose_newton, verify_method
from .counts import log_likelihood_of_rest
from .likelihood import Arrays, Likelihood
from .options import STEPS, FitOptions, read_smoothing, verify_options
from .regression import estimate, find_regression
from .result import Fit
from .stages import loss_of, spread_cases, stages

Values = dict[str, Any]
Watch = Callable[[int, str, State], None]
Load = Callable[[Any], Any]

EM_STEPS = 200
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
    """`watch` sees each stage, by number and name, and every state; `load` gives back where to go
    on.

    With a mesh, cases are spread over its devices. What can be found `at_once` has no states to
    see.
    """
    if at_once and mesh is None and (found := fit_by_regression(likelihood, options, start)):
        return found
    choice = choose(likelihood, options)
    verify_options(options, choice.method)
    if choice.method == "counts":
        return fit_tables(
            likelihood.roles, [likelihood.cases], options, choice, about_data(likelihood)
        )
    data, raw = likelihood.arrays, start_of(likelihood, options, start)
    if mesh is not None:
        data, raw = spread_cases(data, mesh), replicate(raw, mesh)
    result = run(stages(likelihood, choice, options, data), raw, options, watch, load)
    params = likelihood.constrain(result.raw)
    errors, note = errors_of(likelihood, choice, result, options, data)
    prior = float(likelihood.log_prior(params))
    is_other = choice.loss == "likelihood" and choice.method in ("natural", "stochastic")
    return Fit(
        params=params,
        errors=errors,
        value=float(likelihood.log_likelihood(params, data)) if is_other else -result.value - prior,
        log_prior=prior,
        method=choice.method,
        loss=choice.loss,
        why=choice.why,
        converged=result.converged,
        reason=reason_of(likelihood, result, params),
        gradient_norm=result.gradient_norm,
        steps=result.steps,
        notes=(*about_data(likelihood), *note),
        **about_model(likelihood),
    )


def reason_of(likelihood: Likelihood, result: Result, params: Values) -> str:
    """Why it stopped; where the value is not finite, the entries that are to blame."""
    culprits = "" if np.isfinite(result.value) else blame(likelihood, params)
    if not culprits:
        return result.reason
    when = f"after {result.steps} steps" if result.steps else "at the start"
    return (
        f"the log density is {-result.value:g} {when}: {culprits}. Mend the data, or start "
        "from other parameters"
    )


def about_model(likelihood: Likelihood) -> dict[str, Any]:
    """What every fit says about the model and its cases."""
    cases = likelihood.cases
    return {
        "cases": cases.count,
        "labels": cases.labels,
        "types": {node.name: node.type for node in likelihood.roles.unknowns},
        "sizes": cases.groups[0].sizes,
        "given": tuple(sorted(cases.given)),
    }


def fit_by_regression(
    likelihood: Likelihood, options: FitOptions, start: Mapping[str, Any] | None
) -> Fit | None:
    """Newton's method in NumPy where the model is a regression and there is a certificate."""
    model = (
        find_regression(likelihood)
        if (options.method, options.loss) == ("auto", "likelihood")
        else None
    )
    if model is None or (count := model.count(likelihood)) > FEW:
        return None
    verify_options(options, "newton")
    steps = STEPS if options.steps is None else options.steps
    found = estimate(model, likelihood, start or {}, steps, options.tolerance)
    if found is None:
        return None
    return Fit(
        params=found.params,
        errors=found.errors if options.errors and not found.exactly else None,
        value=found.value,
        log_prior=0.0,
        method="newton",
        loss="likelihood",
        why=choose_newton(count).why,
        converged=not found.exactly,
        reason=found.reason,
        gradient_norm=found.gradient_norm,
        steps=found.steps,
        notes=about_data(likelihood),
        **about_model(likelihood),
    )


def start_of(
    likelihood: Likelihood, options: FitOptions, start: Mapping[str, Any] | None
) -> Values:
    return likelihood.unconstrain(likelihood.start(jax.random.key(options.seed), start or {}))


def fingerprint(
    likelihood: Likelihood, options: FitOptions, start: Mapping[str, Any] | None = None
) -> str:
    """What a run depends on, but for its number of steps."""
    words = [likelihood.model.program, repr(options.replace(steps=0))]
    arrays = [
        (name, array)
        for group in likelihood.cases.groups
        for own in (group.shared, group.stacked, group.missing)
        for name, array in sorted(own.items())
    ]
    return digest(words, [*arrays, *sorted((start or {}).items())])


def verify_draws(likelihood: Likelihood) -> None:
    if not likelihood.cases.given:
        draws = ", ".join(f"`{node.name}`" for node in likelihood.roles.graph.of_kind(Kind.DRAW))
        message = "the data have no value of any draw, so there is nothing to learn from"
        raise problem(
            "", message, f"the model draws {draws}" if draws else "the model draws nothing"
        )


def choose(likelihood: Likelihood, options: FitOptions) -> MethodChoice:
    """The method that suits, or the one that was asked for if it can be used."""
    verify_draws(likelihood)
    own_loss = options.loss != "likelihood"
    if options.method == "auto":
        return choose_for_loss(options.loss, likelihood) if own_loss else choose_method(likelihood)
    verify_method(options.method, likelihood)
    return MethodChoice(
        options.method,
        "as asked",
        choose_for_loss(options.loss, likelihood).loss if own_loss else "likelihood",
    )


def run(
    methods: list[Method],
    raw: Values,
    options: FitOptions,
    watch: Watch | None = None,
    load: Load | None = None,
) -> Result:
    """One method after the other, until one has a certificate or has taken all steps."""
    steps = STEPS if options.steps is None else options.steps
    first, state = (0, None) if load is None else load_stage(methods, raw, load)
    result: Result | None = None
    for number, method in enumerate(methods[first:], first):
        limit = min(EM_STEPS, steps) if number < len(methods) - 1 else steps
        seen = None if watch is None else partial(watch, number, method.name)
        result = minimise(method, raw if result is None else result.raw, limit, seen, state)
        if result.converged or result.steps >= steps:
            break
        state = None
    assert result is not None
    return result


def load_stage(methods: list[Method], raw: Values, load: Load) -> tuple[int, State]:
    """The stage that a run had come to, and its state; `load` restores what its argument is."""
    number = int(load((0,))[0])
    _, state = load((0, methods[number].like(raw)))
    return number, state


def errors_of(
    likelihood: Likelihood,
    choice: MethodChoice,
    result: Result,
    options: FitOptions,
    data: list[Arrays],
) -> tuple[Values | None, tuple[str, ...]]:
    """Of a likelihood only: the curvature of another loss says nothing about errors."""
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(result.raw))
    exact = choice.loss == "likelihood" and choice.method != "stochastic"
    if not options.errors or not result.converged or size > MOST_ERRORS or not exact:
        return None, ()
    found = standard_errors(loss_of(likelihood, choice), result.raw, data, likelihood.constrain)
    errors = jax.tree.map(lambda e: jnp.where(jnp.isfinite(e), e, jnp.nan), found.errors)
    return errors, (found.reason,) if found.reason else ()


# ---- counting


def fit_tables(
    roles: Any, chunks: Any, options: FitOptions, choice: MethodChoice, notes: tuple[str, ...]
) -> Fit:
    """From all chunks of cases together; every chunk is looked at once and forgotten."""
    uses = by_counting.table_uses(roles)
    assert uses is not None
    seen: dict[str, Any] = {}
    count, cases, rest = 0, None, 0.0
    for cases in chunks:
        shapes = {n.name: by_counting.count_shape(n, cases.groups[0].sizes) for n in roles.unknowns}
        seen = by_counting.add_counts([seen, by_counting.count_cases(uses, shapes, cases)])
        rest += log_likelihood_of_rest(roles, uses, cases)
        count += cases.count
    assert isinstance(cases, Cases)
    sizes = cases.groups[0].sizes
    smoothing = read_smoothing(options.smoothing)
    counts = {
        n.name: own + smoothing.of(own.shape) + by_counting.prior_counts(n, own.shape, sizes)
        for n in roles.unknowns
        for own in [seen[n.name]]
    }
    params = {n.name: by_counting.estimate(counts[n.name], n) for n in roles.unknowns}
    value = sum(
        by_counting.log_likelihood_at(seen[n.name], params[n.name], n) for n in roles.unknowns
    )
    impossible = (
        "the data are impossible by a law that the model fixes, such as the logic of a "
        "table of zeros and ones"
    )
    unseen = sum(by_counting.unseen_rows(counts[n.name]) for n in roles.unknowns)
    more = f"{unseen} rows of tables were never seen and are uniform: smoothing adds to each count"
    prior = [
        by_counting.log_prior_at(counts[n.name] - seen[n.name], params[n.name], n)
        for n in roles.unknowns
    ]
    return Fit(
        params=params,
        errors={n.name: by_counting.standard_errors(counts[n.name], n) for n in roles.unknowns},
        value=value + rest,
        log_prior=sum(prior),
        method="counts",
        loss="likelihood",
        why=choice.why,
        converged=True,
        reason="relative frequencies are the maximum",
        gradient_norm=0.0,
        steps=1,
        cases=count,
        notes=(*notes, *([more] if unseen else []), *([impossible] if rest == -np.inf else [])),
        labels=cases.labels,
        types={node.name: node.type for node in roles.unknowns},
        sizes=sizes,
        given=tuple(sorted(cases.given)),
    )


def about_data(likelihood: Likelihood) -> tuple[str, ...]:
    """What was done with what the data do not say."""
    notes = []
    for name in sorted(likelihood.open | likelihood.masked):
        count = sum(
            int(group.missing[name].sum())
            for group in likelihood.cases.groups
            if name in group.missing
        )
        how = "summed over" if name in likelihood.open else "integrated over"
        notes.append(f"{count} missing entries of `{name}` are {how}")
    for node in likelihood.roles.summed:
        notes.append(f"`{node.name}` is hidden, and summed over")
    for node in likelihood.roles.integrated:
        notes.append(f"`{node.name}` is hidden, and integrated over")
    for node in likelihood.roles.estimated:
        notes.append(f"`{node.name}` is estimated with its prior")
    return tuple(notes)
