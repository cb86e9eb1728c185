"""What a fit found: parameters, how sure they are, and how they were found."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_whole
from ..record import Record
from ..types import Type

Values = dict[str, Any]


class Fit(Record):
    """Parameters at the maximum, and what is known about them.

    `value` is the log-likelihood (of another `loss`, minus its value), `log_prior` that of the prior there, zero
    without one. `errors` are standard errors from the observed information, NaN where there is none. `reason` says why
    it stopped.
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

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, lists and text; what is not a number is None."""
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
        }

    def save(self, path: str | Path) -> None:
        write_whole(path, (json.dumps(self.to_dict()) + "\n").encode())

    def __str__(self) -> str:
        state = "converged" if self.converged else "not converged"
        lines = [f"{self.method}: {self.why}", f"log-likelihood {self.value:.8g}; {state}: {self.reason}"]
        for name, value in self.params.items():
            shown = np.array2string(np.asarray(value), precision=5, suppress_small=True, threshold=20)
            lines.append(f"{name} = {shown}".replace("\n", "\n    "))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def plain(value: Any) -> Any:
    """Numbers and lists of them as JSON has them."""
    array = np.asarray(value, float)
    if array.ndim:
        return [plain(item) for item in array]
    number = float(array)
    return number if np.isfinite(number) else None


def load_params(path: str | Path) -> Values:
    """The parameters of a fit that was saved."""
    found = json.loads(Path(path).read_text())
    return {name: np.asarray(value, float) for name, value in found["params"].items()}
