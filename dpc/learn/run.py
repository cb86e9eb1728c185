"""One door to fitting: the objective of a file, or data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpc.dsl.graph.graph import Kind
from dpc.dsl.record import Record

from ..exits import UsageError
from .options import read_smoothing

if TYPE_CHECKING:
    from ..model.model import Model
    from .objective import ObjectiveFit
    from .result import Fit

OBJECTIVE = frozenset({"steps", "rate", "samples", "optimizer", "seed"})
OPTIMIZERS = ("adam", "sgd")
LEAST = {"steps": 1, "samples": 1, "batch": 1}


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
    options = {name: value for name, value in said.items() if value is not None}
    _verify_numbers(options)
    if model.graph.of_kind(Kind.COST) and method is None:
        return _fit_objective(model, request, options)
    return _fit_data(model, method, request, options)


def _verify_numbers(options: Mapping[str, Any]) -> None:
    for name, least in LEAST.items():
        if options.get(name, least) < least:
            raise UsageError(f"`{name}=` takes a number from {least} up")
    for name in ("rate", "tolerance"):
        value = options.get(name, 1.0)
        if not 0 < value < float("inf"):
            raise UsageError(f"`{name}=` takes a positive number, not {value}")
    try:
        read_smoothing(options.get("smoothing"))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _fit_objective(model: Model, request: FitRequest, options: Mapping[str, Any]) -> ObjectiveFit:
    from ..gradient.optimise import OptimisePlan
    from .objective import OPTIMIZER, RATE, STEPS, fit_objective

    unused = [name for name in options if name not in OBJECTIVE]
    unused += [name for name in ("by", "test", "stream", "mesh") if getattr(request, name)]
    if unused:
        raise UsageError(
            f"`{unused[0]}=` is not for a file with an objective; `method=auto` leaves that, and "
            "fits the data"
        )
    optimizer = options.get("optimizer", OPTIMIZER)
    if optimizer not in OPTIMIZERS:
        raise UsageError(f"`optimizer=` takes {' or '.join(OPTIMIZERS)}, not {optimizer}")
    seed = options.get("seed", 0)
    plan = OptimisePlan(
        options.get("steps", STEPS),
        options.get("rate", RATE),
        options.get("samples"),
        seed,
        optimizer,
    )
    params, data = model._known(request.start, list(request.sources), seed)
    return fit_objective(
        model, params, data, plan, request.checkpoint, request.resume, request.watch
    )


def _fit_data(
    model: Model, method: str | None, request: FitRequest, options: dict[str, Any]
) -> Fit:
    from .data_fit import fit_data
    from .options import FitOptions

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
    return fit_data(model, request, FitOptions(**{"method": method or "auto", **options}))
