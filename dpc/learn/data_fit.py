"""Fitting a file to data: maximum likelihood, or the mode of the posterior under its priors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exits import UsageError
from ..model.keeper import Keeper
from .begin import verify_start
from .cases import is_read
from .choose import NotApplicable
from .counts import table_entries
from .fit import choose, fingerprint, fit_likelihood
from .likelihood import Likelihood
from .options import FitOptions, verify_options
from .predict import log_likelihoods
from .read_cases import read_cases
from .result import Fit

if TYPE_CHECKING:
    from ..model.model import Model
    from .run import FitRequest

LARGE = 1 << 28
"""Bytes of a CSV from which on tables are counted a part of it at a time."""

Curves = dict[str, list[tuple[float, float]]]
Watch = Callable[[int, str, Any], None]


def fit_data(model: Model, request: FitRequest, options: FitOptions) -> Fit:
    """The fit; with `test`, also how probable cases are that were not learned from."""
    found = _find(model, request, options).replace(
        title=model.title,
        file=model.graph.source.path,
        table_names=table_entries(model.graph),
    )
    return found.replace(test=held_out(model, found, request)) if request.test else found


def _find(model: Model, request: FitRequest, options: FitOptions) -> Fit:
    if request.stream:
        return fit_stream(model, request, options)
    if is_large(request):
        with suppress(NotApplicable, UsageError):
            return fit_stream(model, request, options)
    return fit_at_once(model, request, options)


def is_large(request: FitRequest) -> bool:
    first = request.sources[0] if request.sources else None
    if not isinstance(first, str | Path):
        return False
    path = Path(first)
    return path.name.endswith(".csv") and path.exists() and path.stat().st_size > LARGE


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
        found = fit_likelihood(
            likelihood,
            options,
            request.start,
            watcher.see,
            load,
            mesh=request.mesh,
            at_once=not request.checkpoint and request.watch is None,
        )
    finally:
        watcher.end()
    return found.replace(curves=watcher.curves)


class Watcher:
    """Keeps every state and the curve of losses, and shows them to whoever watches."""

    def __init__(self, keeper: Keeper, watch: Watch | None):
        self.keeper = keeper
        self.watch = watch
        self.last: tuple[int, Any] | None = None
        self.seen = 0
        self.curves: Curves = {}

    def see(self, stage: int, name: str, state: Any) -> None:
        """Before the first stretch of a stochastic method nothing is known of its loss."""
        self.seen += 1
        self.last = stage, state
        self.keeper.keep(self.seen, self.last)
        step, value = int(state.step), float(state.value)
        if not np.isnan(value):
            self.curves.setdefault(name, []).append((step, value))
            if self.watch is not None:
                self.watch(stage, name, state)

    def end(self) -> None:
        if self.last is not None:
            self.keeper.keep(self.seen, self.last, now=True)


def fit_stream(model: Model, request: FitRequest, options: FitOptions) -> Fit:
    """Tables from a CSV that is never in memory as a whole."""
    from .stream import fit_csv

    if len(request.sources) != 1 or not isinstance(request.sources[0], str | Path):
        raise UsageError("`stream=True` reads one CSV, and a column has the data")
    if request.start:
        raise UsageError(
            f"a value of `{next(iter(request.start))}` does not go with `stream=True`: a column "
            "has the data"
        )
    for name in ("by", "checkpoint"):
        if getattr(request, name) is not None:
            raise UsageError(f"`{name}=` does not go with `stream=True`")
    return fit_csv(model.graph, str(request.sources[0]), options)


def held_out(model: Model, fit: Fit, request: FitRequest) -> dict[str, Any]:
    """The log-likelihood of cases that were not learned from, their mean and its error."""
    given = [source for source in request.sources if isinstance(source, Mapping)]
    _, each = log_likelihoods(model.graph, fit, *request.test, *given, by=request.by)
    known = len(each) > 1 and bool(np.isfinite(each).all())
    error = float(each.std(ddof=1) / len(each) ** 0.5) if known else float("nan")
    return {
        "log_likelihood": float(each.sum()),
        "cases": len(each),
        "mean": float(each.mean()),
        "standard_error": error,
    }
