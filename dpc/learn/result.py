"""What a fit found: parameters, how sure they are, and how they were found."""

import json
from collections.abc import Mapping
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np

from dpc.dsl.files import read_text, reason_of, write_whole
from dpc.dsl.graph.types import Dim, Type
from dpc.dsl.printable import InWords
from dpc.dsl.record import NOTHING, Record

from ..data.raw import MAX_BYTES
from ..exits import UsageError
from ..jsons import parse_json
from ..show.answer import Answer, AnswerTable, entry_names


class NotApplicable(InWords, ValueError):
    """A method or option that was asked for, on a model it does not suit."""


class FitOptions(Record):
    """`smoothing` is added to every count, or with "bdeu:N" shared out over each table; `tolerance`
    is of the gradient, relative to the value; at most 1000 `steps`; `restarts` are the starts of
    which the best is kept; `rate` (0.01) and `batch`, the
    cases of a step (all), are for stochastic gradients.
    """

    method: str = "auto"
    loss: str = "likelihood"
    rate: float | None = None
    batch: int | None = None
    steps: int | None = None
    tolerance: float | None = None
    smoothing: float | str | None = None
    seed: int = 0
    restarts: int | None = None
    errors: bool = True


STEPS, RATE = 1000, 0.01
USED = {"counts": {"smoothing"}, "stochastic": {"rate", "batch", "steps"}}
UNUSED = {
    "smoothing": "is added to counts, and `{method}` counts nothing: write a prior in the file",
    "rate": "is for stochastic gradients, and this is `{method}`",
    "batch": "is for stochastic gradients, and this is `{method}`",
    "tolerance": "has no meaning for `{method}`, which has no gradient to judge by",
    "steps": "has no meaning for `{method}`, which takes one",
    "restarts": "is for methods that can end in different maxima, and this is `{method}`",
}


def verify_options(options: FitOptions, method: str) -> None:
    """Raises NotApplicable for an option that the method would ignore."""
    used = USED.get(method, {"tolerance", "steps", "restarts"})
    for name, why in UNUSED.items():
        if getattr(options, name) is not None and name not in used:
            raise NotApplicable(f"`{name}` {why.format(method=method)}")


BDEU = "bdeu:"


def read_smoothing(value: float | str | None, shape: tuple[int, ...] = ()) -> float:
    """What each cell gets by `0.5`, or by `bdeu:10`, spread over all."""
    is_spread = isinstance(value, str) and value.startswith(BDEU)
    try:
        amount = float(str(value).removeprefix(BDEU)) if value is not None else 0.0
    except ValueError:
        amount = -1.0
    if not 0 <= amount < inf:
        takes = "a number from 0 up, or `bdeu:N` with the equivalent sample size N"
        raise UsageError(f"`smoothing=` is {takes}, not {value}")
    return amount / prod(shape) if is_spread else amount


MOST_ROWS = 40
Values = dict[str, Any]


class Fit(Answer, Record):
    """Parameters at the maximum, and what is known about them. `value` is the log-likelihood (of
    another `loss`, minus its value), `log_prior` that of the prior there. `given` are the draws
    that the data had, `notes` what was done with the others. `errors` are standard errors from the
    observed information, NaN where there is none. `reason` says why it stopped. `table_names` are
    entries of learned tables in words, `curves` the losses by method and step, `test` what held-out
    cases say.
    """

    params: Values
    errors: Values | None
    value: float
    method: str
    why: str
    converged: bool
    reason: str
    steps: int
    cases: int
    labels: dict[str, tuple[str, ...]]
    types: dict[str, Type]
    sizes: dict[str, int]
    given: tuple[str, ...]
    log_prior: float = 0.0
    loss: str = "likelihood"
    gradient_norm: float = 0.0
    notes: tuple[str, ...] = ()
    table_names: Mapping[str, list[str]] = NOTHING
    curves: Mapping[str, list[tuple[float, float]]] = NOTHING
    test: dict[str, Any] | None = None
    title: str = ""
    file: str = ""

    @property
    def dims(self) -> dict[str, Any]:
        """Labels or sizes of the dims of parameters: other data must have the same."""
        axes = [axis for type_ in self.types.values() for axis in type_.shape]
        names = sorted({axis.name for axis in axes if isinstance(axis, Dim)})
        return {n: list(self.labels[n]) if n in self.labels else self.sizes[n] for n in names}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and text; NaN is None, infinity the text `Infinity`."""
        errors = self.errors and {name: plain(error) for name, error in self.errors.items()}
        value = "log_likelihood" if self.loss == "likelihood" else "minus_loss"
        words = ("method", "loss", "why", "converged", "reason")
        found = {
            "params": {name: plain(param) for name, param in self.params.items()},
            "standard_errors": errors,
            value: plain(self.value),
            "log_prior": plain(self.log_prior),
            **{word: getattr(self, word) for word in words},
            "gradient_norm": plain(self.gradient_norm),
            "steps": self.steps,
            "cases": self.cases,
            "notes": list(self.notes),
            "labels": {name: list(own) for name, own in self.labels.items()},
            "dims": self.dims,
            "given": list(self.given),
        }
        if self.file:
            found["file"] = self.file
        if self.test:
            found["test"] = {name: plain(number) for name, number in self.test.items()}
        return found

    def save(self, path: str | Path) -> None:
        write_whole(path, (json.dumps(self.to_dict()) + "\n").encode())

    def before(self) -> list[str]:
        return [f"{self.method}: {self.why}"]

    def tables(self) -> list[AnswerTable]:
        rows: list[tuple[Any, ...]] = []
        for name, value in self.params.items():
            array = np.asarray(value)
            names = self.table_names.get(name)
            names = names or entry_names(name, self.types[name], array.shape, self.labels)
            cells: list[list[Any]] = [array.ravel().tolist()]
            if self.errors is not None:
                errors = np.asarray(self.errors[name]).ravel().tolist()
                cells.append([error if np.isfinite(error) else "-" for error in errors])
            rows += zip(names, *cells, strict=True)
        head = ("parameter", "value", *(["std. error"] if self.errors is not None else []))
        more = "-o fit.json has them all"
        return [AnswerTable(head, rows, {"std. error": ".2g"}, most=MOST_ROWS, more=more)]

    def after(self) -> list[str]:
        what = "log-likelihood" if self.loss == "likelihood" else f"minus the loss ({self.loss})"
        lines = [f"{what} {self.value:.8g}"]
        if self.cases > 1:
            lines[0] += f" ({self.value / self.cases:.6g} for each of {self.cases} cases)"
        if self.log_prior:
            lines.append(f"log prior {self.log_prior:.8g}")
        if self.converged:
            steps = f" after {self.steps} step{'s' * (self.steps != 1)}"
            shown = "" if self.method == "counts" else steps
            lines.append(f"converged{shown}: {self.reason}")
        if self.test:
            lines.append(f"held-out log-likelihood {self.test['log_likelihood']:.8g}")
            if self.test["cases"] > 1:
                error = self.test["standard_error"]
                mean = f"{self.test['mean']:.6g}{f' ± {error:.2g}' if np.isfinite(error) else ''}"
                lines[-1] += f" ({mean} for each of {self.test['cases']} cases)"
        return [*lines, *(f"note: {note}" for note in self.notes)]

    @property
    def warnings(self) -> tuple[str, ...]:
        return () if self.converged else (f"not converged: {self.reason}",)

    def plot(self, path: str) -> None:
        """The learning curve, one line for each method that had a part in it: .svg or .png."""
        from ..show.draw.chart import Series, curve_chart, write_chart

        series = [Series(name, tuple(points)) for name, points in self.curves.items()]
        write_chart(curve_chart(f"{self.title}: learning curve", "step", "loss", series), path)


def plain(value: Any) -> Any:
    """Numbers and lists as JSON has them: NaN as None, infinity as text that float() reads."""
    array = np.asarray(value)
    if array.ndim:
        return array.tolist() if np.isfinite(array).all() else [plain(item) for item in array]
    number = array.item()
    if np.isnan(number):
        return None
    return number if np.isfinite(number) else repr(number).replace("inf", "Infinity")


class Learned(Record):
    """What a fit tells about other data: parameters, their dims, the draws that were seen, and the
    loss, which decides what is predicted.
    """

    params: Values
    dims: dict[str, Any]
    given: frozenset[str] = frozenset()
    loss: str = "likelihood"

    @property
    def as_sources(self) -> list[Any]:
        """The dims as a source of data, where there are some."""
        return [self.dims] if self.dims else []


def learned(fit: Any) -> Learned:
    """From a fit, its file, or parameters alone; raises ValueError for another file."""
    if isinstance(fit, Learned):
        return fit
    if isinstance(fit, Fit):
        return Learned(fit.params, fit.dims, frozenset(fit.given), fit.loss)
    if isinstance(fit, Mapping):
        return Learned(dict(fit), {})
    try:
        found = parse_json(read_text(fit, MAX_BYTES))
        params = {name: np.asarray(value, float) for name, value in found["params"].items()}
        loss = found.get("loss", "likelihood")
        return Learned(params, found["dims"], frozenset(found["given"]), loss)
    except OSError as error:
        raise UsageError(f"cannot read {fit}: {reason_of(error)}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "`dpc fit FILE --data D -o fit.json` writes one, and so does `.save` of what m.fit"
        raise UsageError(f"{fit} is not a fit from data: {hint} gives") from None
