"""Maximum likelihood, or the mode of the posterior where there are priors, by the best method."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from dpc.dsl.graph import core as c
from dpc.dsl.graph.evaluate import Sizes
from dpc.dsl.graph.graph import Kind
from dpc.dsl.graph.passes.joined import place_name
from dpc.inference.optimise.method import Minimised, Minimiser, State, minimise
from dpc.inference.optimise.newton import standard_errors
from dpc.inference.optimise.sharded import replicate

from ..finite.ground import FiniteTerm
from ..model.keeper import digest
from .cases import CaseGroup, about_cases
from .choose import FEW, MethodChoice, choose, choose_newton, loss_of, spread_cases, stages
from .counts import fit_tables
from .likelihood import Arrays, Likelihood
from .regression import estimate, find_regression
from .result import STEPS, Fit, FitOptions, verify_options

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
    data, raw = likelihood.arrays, start_of(likelihood, options, start)
    if mesh is not None:
        data, raw = spread_cases(data, mesh), replicate(raw, mesh)
    result = run(stages(likelihood, choice, options, data), raw, options, watch, load)
    params = likelihood.constrain(result.raw)
    errors, note = errors_of(likelihood, choice, result, options, data)
    prior = float(likelihood.log_prior(params))
    is_other = choice.loss == "likelihood" and choice.method in ("natural", "stochastic")
    return Fit(
        params=jax.tree.map(np.asarray, params),
        errors=jax.tree.map(np.asarray, errors),
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
        **about_cases(likelihood.roles.unknowns, likelihood.cases),
    )


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


def start_of(
    likelihood: Likelihood, options: FitOptions, start: Mapping[str, Any] | None
) -> Values:
    return likelihood.unconstrain(likelihood.start(jax.random.key(options.seed), start or {}))


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


def run(
    methods: list[Minimiser],
    raw: Values,
    options: FitOptions,
    watch: Watch | None = None,
    load: Load | None = None,
) -> Minimised:
    """One method after the other, until one has a certificate or has taken all steps."""
    steps = STEPS if options.steps is None else options.steps
    first, state = 0, None
    if load is not None:
        # The stage that the run had come to; `load` restores what its argument is.
        first = int(load((0,))[0])
        _, state = load((0, methods[first].like(raw)))
    result: Minimised | None = None
    for number, method in enumerate(methods[first:], first):
        limit = min(EM_STEPS, steps) if number < len(methods) - 1 else steps
        seen = None if watch is None else partial(watch, number, method.name)
        result = minimise(method, raw if result is None else result.raw, limit, seen, state)
        if result.converged or result.steps >= steps:
            break
        state = None
    assert result is not None
    return result


def errors_of(
    likelihood: Likelihood,
    choice: MethodChoice,
    result: Minimised,
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


Place = tuple[int, ...]


def blame(likelihood: Likelihood, params: Values) -> str:
    """Why the data have no density: the first bad entry of each draw and input, in words."""
    first = 0
    said: dict[str, str] = {}
    for group, arrays in zip(likelihood.cases.groups, likelihood.arrays, strict=True):
        teller = Teller(likelihood, params, group, first)
        tables = term_tables(likelihood, params, group, arrays)
        for name, words in (*teller.impossible(*tables), *teller.infinite()):
            said.setdefault(name, words)
        first += group.count
    return "; ".join(said.values())


def term_tables(
    likelihood: Likelihood, params: Values, group: CaseGroup, arrays: Any
) -> tuple[list[FiniteTerm], list[Any]]:
    """The terms of log p for a group of cases, with their tables by case."""
    terms: list[FiniteTerm] = []

    def tables(known: Values, sizes: Mapping[str, int]) -> list[Any]:
        """Draws that are integrated out are zero: their distributions are normal."""
        own, data, given = likelihood.known(params, known, sizes)
        blocks = likelihood._blocks(sizes).shapes if likelihood.roles.integrated else {}
        hidden = {name: jnp.zeros(shape) for name, shape in blocks.items()}
        part = likelihood.model.questions.known(own, data, {**given, **hidden})
        terms[:] = part.finite.grounded.terms
        return part.term_tables

    # NumPyro refuses what is not traced.
    run = jax.jit(lambda arrays: likelihood.map_cases(group, arrays, tables))
    found = [np.asarray(table) for table in run(arrays)]
    return terms, found if arrays.stacked else [table[None] for table in found]


class Teller:
    """Words for entries of a group whose first case has the number `first`."""

    def __init__(self, likelihood: Likelihood, params: Values, group: CaseGroup, first: int):
        self.cases, self.graph = likelihood.cases, likelihood.roles.graph
        self.params, self.group, self.first = params, group, first

    def impossible(self, terms: list[FiniteTerm], tables: list[Any]) -> Iterator[tuple[str, str]]:
        """A term over hidden finite draws is impossible where all of their values are."""
        for term, table in zip(terms, tables, strict=True):
            best = table.max(axis=tuple(range(table.ndim - len(term.slots), table.ndim)))
            bad = np.argwhere(~np.isfinite(best))
            if len(bad):
                case, *at = map(int, bad[0])
                value = f"{best[tuple(bad[0])]:g}"
                place = self._place(term, tuple(at))
                entry, there = self._entry(term.name, case, place)
                words = f"`{entry}` is {value}{there}"
                if isinstance(term.body, c.Law):
                    own = self._value(term.name, case, place)
                    words = f"`{entry}`{own}{there} has log density {value} under {term.body.name}"
                yield term.name, words

    def _place(self, term: FiniteTerm, at: Place) -> Place:
        """Indices of the element that the term is about."""
        sizes = Sizes(self.group.sizes)
        found = {bind.name: sizes.places(bind)[k] for bind, k in zip(term.binders, at, strict=True)}
        if isinstance(term.value, c.At):
            known = [
                found[i.name] if isinstance(i, c.Var) else i.value
                for i in term.value.indices
                if isinstance(i, c.Var | c.Const)
            ]
            if len(known) == len(term.value.indices):
                return tuple(map(int, known))
        return tuple(found.values())

    def infinite(self) -> Iterator[tuple[str, str]]:
        """Inputs may be infinite, as a bound that is none; what is computed from them may not."""
        for node in self.graph.of_kind(Kind.INPUT):
            own = self.group.stacked.get(node.name, self.group.shared.get(node.name))
            if own is None or own.dtype.kind != "f":
                continue
            bad = np.argwhere(np.isinf(own))
            if len(bad):
                place = tuple(map(int, bad[0]))
                value, case = own[place], 0
                if node.name in self.group.stacked:
                    case, place = place[0], place[1:]
                entry, there = self._entry(node.name, case, place)
                yield node.name, f"`{entry}`{there} is {value:g}"

    def _value(self, name: str, case: int, place: Place) -> str:
        array = self.group.shared.get(name, self.params.get(name))
        if name in self.group.stacked:
            array = self.group.stacked[name][case]
        value = None if array is None else np.asarray(array)[place]
        return f" = {value:.6g}" if value is not None and value.ndim == 0 else ""

    def _entry(self, name: str, case: int, place: Place) -> tuple[str, str]:
        """The entry, and its case, as the caller knows them: joined cases stand in one array."""
        axes, joined = self.graph[name].type.shape, self.cases.joined
        if place and joined and axes and str(axes[0]) == joined:
            own = self.group.shared[place_name(joined)]
            case = int((own[: place[0] + 1] == 0).sum()) - 1
            place = (int(own[place[0]]), *place[1:])
        entry = f"{name}[{', '.join(map(str, place))}]" if place else name
        if self.cases.count == 1:
            return entry, ""
        number = self.cases.numbers[self.first + case]
        return entry, f" in case {self.cases.names[number] if self.cases.names else number + 1}"
