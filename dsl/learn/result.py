"""What a fit found: parameters, how sure they are, and how they were found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_whole
from ..record import Record
from ..types import Dim, Type

Values = dict[str, Any]


class Fit(Record):
    """Parameters at the maximum, and what is known about them.

    `value` is the log-likelihood (of another `loss`, minus its value), `log_prior` that of the prior there, zero
    without one. `given` are the draws that the data had values for. `errors` are standard errors from the observed
    information, NaN where there is none. `reason` says why it stopped.
    """

    params: Values
    errors: Values | None
    value: float
    log_prior: float
    method: str
    loss: str
    why: str
    converged: bool
    reason: str
    gradient_norm: float
    steps: int
    cases: int
    notes: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    types: dict[str, Type]
    sizes: dict[str, int]
    given: tuple[str, ...]

    @property
    def dims(self) -> dict[str, Any]:
        """The labels, or the sizes, of the dims that parameters have: other data of the model must have the same."""
        axes = {axis.name for type_ in self.types.values() for axis in type_.shape if isinstance(axis, Dim)}
        return {name: list(self.labels[name]) if name in self.labels else self.sizes[name] for name in sorted(axes)}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, lists and text; what is not a number is None, infinity the text `Infinity`."""
        return {
            "params": {name: plain(value) for name, value in self.params.items()},
            "standard_errors": None if self.errors is None else {n: plain(e) for n, e in self.errors.items()},
            "log_likelihood" if self.loss == "likelihood" else "minus_loss": plain(self.value),
            "log_prior": plain(self.log_prior),
            "method": self.method,
            "loss": self.loss,
            "why": self.why,
            "converged": self.converged,
            "reason": self.reason,
            "gradient_norm": plain(self.gradient_norm),
            "steps": self.steps,
            "cases": self.cases,
            "notes": list(self.notes),
            "labels": {name: list(own) for name, own in self.labels.items()},
            "dims": self.dims,
            "given": list(self.given),
        }

    def save(self, path: str | Path) -> None:
        write_whole(path, (json.dumps(self.to_dict()) + "\n").encode())

    def __str__(self) -> str:
        state = "converged" if self.converged else "not converged"
        what = "log-likelihood" if self.loss == "likelihood" else f"minus the loss ({self.loss})"
        lines = [f"{self.method}: {self.why}", f"{what} {self.value:.8g}; {state}: {self.reason}"]
        for name, value in self.params.items():
            shown = np.array2string(np.asarray(value), precision=5, suppress_small=True, threshold=20)
            lines.append(f"{name} = {shown}".replace("\n", "\n    "))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def plain(value: Any) -> Any:
    """Numbers and lists of them as JSON has them: NaN as None, infinity as the text that float() reads."""
    array = np.asarray(value)
    if array.ndim:
        return array.tolist() if np.isfinite(array).all() else [plain(item) for item in array]
    number = array.item()
    if np.isnan(number):
        return None
    return number if np.isfinite(number) else repr(number).replace("inf", "Infinity")


class Learned(Record):
    """What a fit tells about other data: parameters, the dims that they have, the draws they were learned from."""

    params: Values
    dims: dict[str, Any]
    given: frozenset[str] = frozenset()


def learned(fit: Any) -> Learned:
    """From a fit, from a file that one was saved to, or from parameters alone; raises ValueError for another file."""
    if isinstance(fit, Learned):
        return fit
    if isinstance(fit, Fit):
        return Learned(fit.params, fit.dims, frozenset(fit.given))
    if isinstance(fit, Mapping):
        return Learned(dict(fit), {})
    try:
        found = json.loads(Path(fit).read_text(encoding="utf-8"))
        params = {name: np.asarray(value, float) for name, value in found["params"].items()}
        return Learned(params, found["dims"], frozenset(found["given"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "`dpc fit FILE --data D -o fit.json` writes one, and so does `.save` of what m.fit gives"
        raise ValueError(f"{fit} is not a fit from data: {hint}") from None
