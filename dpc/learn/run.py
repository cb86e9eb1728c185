"""One door to fitting: the objective of a file, or data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.graph import Kind
from dpc.dsl.graph.types import Type
from dpc.dsl.printable import InWords
from dpc.dsl.record import Record

from ..exits import UsageError, verify_seed
from ..model.constraints import constraint_of
from ..model.keeper import Keeper
from ..model.traced import is_masked
from .cases import is_read, opened, read_cases, settings_for_both, shape_of
from .choose import choose
from .counts import fit_csv, table_entries
from .fit import fingerprint, fit_likelihood
from .likelihood import Likelihood
from .predict import log_likelihoods
from .result import Fit, FitOptions, NotApplicable, read_smoothing, verify_options

if TYPE_CHECKING:
    from ..model.model import Model
    from .objective import ObjectiveFit

OPTIMIZERS = ("adam", "sgd")
LEAST = {"steps": 1, "samples": 1, "batch": 1, "restarts": 1}


class FitRequest(Record):
    """What a fit is asked for, beside its options."""

    sources: tuple[Any, ...]
    by: str | None
    start: Mapping[str, Any]
    test: tuple[Any, ...]
    stream: bool
    checkpoint: str | None
    resume: bool
    watch: Any
    mesh: Any


def fit(
    model: Model, method: str | None, request: FitRequest, said: Mapping[str, Any]
) -> Fit | ObjectiveFit:
    """In double precision, whatever the caller's: no certificate holds in single."""
    options = {name: value for name, value in said.items() if value is not None}
    _verify_numbers(options)
    # What is held out is read before the work, too.
    request = request.replace(test=tuple(map(opened, request.test)))
    with jax.enable_x64(True):
        if model.graph.of_kind(Kind.COST) and method is None:
            return _fit_objective(model, request, options)
        return _fit_data(model, method, request, options)


def _verify_numbers(options: Mapping[str, Any]) -> None:
    verify_seed(options.get("seed", 0))
    for name, least in LEAST.items():
        if options.get(name, least) < least:
            raise UsageError(f"`{name}=` takes a number from {least} up")
    for name in ("rate", "tolerance"):
        value = options.get(name, 1.0)
        if not 0 < value < float("inf"):
            raise UsageError(f"`{name}=` takes a positive number, not {value}")
    read_smoothing(options.get("smoothing"))


def _fit_objective(model: Model, request: FitRequest, options: Mapping[str, Any]) -> ObjectiveFit:
    from ..gradient.optimise import OptimisePlan
    from .objective import fit_objective

    unused = [name for name in options if name not in OptimisePlan._fields]
    unused += [name for name in ("by", "test", "stream", "mesh") if getattr(request, name)]
    if unused:
        what = f"`{unused[0]}=` is not for a file with an objective"
        raise UsageError(f"{what}; `method=auto` leaves that, and fits the data")
    plan = OptimisePlan(**options)
    if plan.optimizer not in OPTIMIZERS:
        raise UsageError(f"`optimizer=` takes {' or '.join(OPTIMIZERS)}, not {plan.optimizer}")
    params, data = model._known(request.start, list(request.sources), plan.seed)
    return fit_objective(model, params, data, plan, request)


def _fit_data(
    model: Model, method: str | None, request: FitRequest, options: dict[str, Any]
) -> Fit:
    for name in ("samples", "optimizer"):
        if name in options:
            raise UsageError(
                f"`{name}=` is for the objective of a file, and it is the data that are fitted here"
            )
    if not request.sources:
        reason = "is to be fitted to data"
        if method is None:
            reason = "has no objective (add `minimize` or `maximize`)"
        raise UsageError(f"{model.title} {reason}, and there are no `data=` to fit")
    found = _find(model, request, FitOptions(**{"method": method or "auto", **options})).replace(
        title=model.title, file=model.graph.source.path, table_names=table_entries(model.graph)
    )
    return found.replace(test=held_out(model, found, request)) if request.test else found


WORDS = {
    "simplex": "positive numbers that sum to one",
    "ordered": "numbers that increase",
    "positive_ordered": "positive numbers that increase",
    "unit_vector": "a vector of length one",
    "cholesky": "a lower triangular matrix with a positive diagonal",
    "corr_cholesky": "a lower triangular matrix with a positive diagonal and rows of length one",
    "covariance": "a symmetric, positive definite matrix",
    "correlation": "a symmetric, positive definite matrix with ones on its diagonal",
}


class WrongStart(InWords, ValueError):
    """A value that no fit of this model can begin with."""


def verify_start(likelihood: Likelihood, start: Mapping[str, Any]) -> None:
    """Values for unknowns, each within its domain."""
    nodes = {node.name: node for node in likelihood.roles.unknowns}
    for name, value in start.items():
        if name not in nodes:
            hint = did_you_mean(name, list(nodes)) or f"the unknowns are {', '.join(nodes)}"
            what = f"`start=` gives `{name}`, which is not an unknown of this fit"
            raise WrongStart(f"{what}; {hint}")
        shape = shape_of(nodes[name], likelihood.cases.groups[0].sizes)
        _verify_value(name, nodes[name].type, shape, value)


def _verify_value(name: str, type_: Type, shape: tuple[int, ...], value: Any) -> None:
    array, said = np.asarray(value), "`start=`"
    if array.shape != shape:
        raise WrongStart(f"`{name}` has shape {shape}, but {said} gives {array.shape}")
    if array.dtype.kind not in "iuf" or is_masked(value):
        raise WrongStart(f"`{name}` is a number, or an array of them, but {said} gives {value}")
    lower, upper = type_.bounds
    word = type_.constraint
    if not word and not np.all((lower < array) & (array < upper)):
        raise WrongStart(f"`{name}` lies between {lower:g} and {upper:g}, but {said} gives {value}")
    # No step leads away from a probability of zero.
    stuck = word == "simplex" and not np.all(array > 0)
    if word and (stuck or not np.all(constraint_of(type_)(array.astype(float)))):
        raise WrongStart(f"`{name}` is {word}, {WORDS[word]}, but {said} gives {value}")


LARGE = 1 << 28
"""Bytes of a CSV from which on tables are counted a part of it at a time."""


def _find(model: Model, request: FitRequest, options: FitOptions) -> Fit:
    if request.stream:
        return fit_stream(model, request, options)
    first = request.sources[0]
    is_csv = isinstance(first, str | Path) and str(first).endswith(".csv") and Path(first).exists()
    if is_csv and Path(first).stat().st_size > LARGE:
        with suppress(NotApplicable, UsageError):
            return fit_stream(model, request, options)
    return fit_at_once(model, request, options)


def fit_at_once(model: Model, request: FitRequest, options: FitOptions) -> Fit:
    sources = request.sources
    cases = sources[0] if is_read(sources) else read_cases(model.graph, *sources, by=request.by)
    likelihood = Likelihood(model.graph, cases, model.externs)
    verify_start(likelihood, request.start)
    method = choose(likelihood, options).method
    verify_options(options, method)
    if method == "counts" and request.checkpoint:
        raise UsageError(
            "`checkpoint=` is for methods that take steps, and tables are counted at once"
        )
    run = fingerprint(likelihood, options, request.start) if request.checkpoint else ""
    watcher = Watcher(Keeper(request.checkpoint, request.resume, run), request.watch)
    load = watcher.keeper.load if request.resume else None
    try:
        at_once = not request.checkpoint and request.watch is None
        see, mesh = watcher.see, request.mesh
        found = fit_likelihood(likelihood, options, request.start, see, load, mesh, at_once)
    finally:
        watcher.end()
    return found.replace(curves=watcher.curves)


class Watcher:
    """Keeps every state and the curve of losses, and shows them to whoever watches."""

    def __init__(self, keeper: Keeper, watch: Callable[[int, str, Any], None] | None):
        self.keeper, self.watch = keeper, watch
        self.last: tuple[int, Any, Any] | None = None
        self.seen = 0
        self.curves: dict[str, list[tuple[float, float]]] = {}

    def see(self, stage: int, name: str, state: Any, units: Any) -> None:
        """Before the first chunk of a stochastic method nothing is known of its loss."""
        self.seen += 1
        self.last = stage, units, state
        self.keeper.keep(self.seen, self.last)
        step, value = int(state.step), float(state.value)
        if not np.isnan(value):
            self.curves.setdefault(name, []).append((step, value))
            if self.watch is not None:
                self.watch(stage, name, state)

    def end(self) -> None:
        if self.last is not None:
            self.keeper.keep(self.seen, self.last, now=True)
        self.keeper.release()


def fit_stream(model: Model, request: FitRequest, options: FitOptions) -> Fit:
    """Tables from a CSV that is never in memory as a whole."""
    if len(request.sources) != 1 or not isinstance(request.sources[0], str | Path):
        raise UsageError("`stream=True` reads one CSV, and a column has the data")
    if request.start:
        what = f"a value of `{next(iter(request.start))}` does not go with `stream=True`"
        raise UsageError(f"{what}: a column has the data")
    for name in ("by", "checkpoint"):
        if getattr(request, name) is not None:
            raise UsageError(f"`{name}=` does not go with `stream=True`")
    return fit_csv(model.graph, str(request.sources[0]), options)


def held_out(model: Model, fit: Fit, request: FitRequest) -> dict[str, Any]:
    """The log-likelihood of cases that were not learned from, their mean and its error."""
    both = settings_for_both(model.graph, request.sources, request.test)
    _, each = log_likelihoods(model, fit, *request.test, *both, by=request.by)
    known = len(each) > 1 and bool(np.isfinite(each).all())
    error = float(each.std(ddof=1) / len(each) ** 0.5) if known else float("nan")
    return {
        "log_likelihood": float(each.sum()),
        "cases": len(each),
        "mean": float(each.mean()),
        "standard_error": error,
    }
