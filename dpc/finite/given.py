"""Evidence as people write it, as the engine takes it: labels are states, arrays elements."""

import csv
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpc.dsl.diagnostics import did_you_mean
from dpc.inference.queries import infer_cases

from ..exits import UsageError
from ..show.answer import AnswerTable
from .answers import FiniteAnswer
from .discrete import Discrete


class WrongEvidence(ValueError):
    """Evidence on a variable that is not there, or with a value that it cannot have."""


def check_given(discrete: Discrete, given: Mapping[str, Any]) -> dict[str, Any]:
    """States, sets of states and likelihood vectors by variable.

    A value is a label or a position, a set of them, or a sequence of likelihoods, one for each
    state. For a variable with indices, `z`, a sequence gives all its elements and `z[3]` one of
    them; None leaves an element open.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in discrete.states:
            found[name] = _value(name, discrete.states[name], value)
        else:
            found |= _elements(discrete, name, value)
    return found


def _elements(discrete: Discrete, name: str, value: Any) -> dict[str, Any]:
    own = [element for element in discrete.states if element.startswith(f"{name}[")]
    if not own:
        hint = did_you_mean(
            name, [*discrete.states, *{e.partition("[")[0] for e in discrete.states}]
        )
        raise WrongEvidence(f"there is no variable `{name}`{hint and f'; {hint}'}")
    items = np.asarray(value, dtype=object).reshape(-1).tolist()
    if len(items) != len(own):
        raise WrongEvidence(f"`{name}` has {len(own)} elements, the evidence {len(items)}")
    pairs = zip(own, items, strict=True)
    return {
        element: _value(element, discrete.states[element], item)
        for element, item in pairs
        if item is not None
    }


def _value(name: str, states: tuple[str, ...], value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return {state_of(name, states, item) for item in value}
    if np.ndim(value) == 1:
        likelihood = np.asarray(value, float)
        if len(likelihood) != len(states):
            raise WrongEvidence(
                f"`{name}` has {len(states)} states, the likelihood {len(likelihood)} entries"
            )
        return likelihood
    return state_of(name, states, value)


def state_of(name: str, states: Sequence[str], value: Any) -> int:
    """The position of a label, or of a number or truth value."""
    text = str(value).lower() if isinstance(value, bool | np.bool_) else str(value)
    if text in states:
        return list(states).index(text)
    if text.isdigit() and int(text) < len(states) and not states[0].isdigit():
        return int(text)
    hint = did_you_mean(text, states)
    shown = ", ".join(states[:12]) + (", ..." if len(states) > 12 else "")
    raise WrongEvidence(f"`{name}` is one of {shown}, not `{text}`{hint and f'; {hint}'}")


def answer_cases(
    discrete: Discrete, path: str, names: list[str], memory: int | None
) -> FiniteAnswer:
    """The log-probability of every case, and marginals of `names`, or of all that none observes."""
    observed = case_columns(discrete, read_cases(path))
    names = names or [name for name in discrete.states if name not in observed]
    answers = infer_cases(discrete.factors, observed, names, memory=memory)
    marginals = {name: answers.marginals[name] for name in names}
    states = [f"{name}={state}" for name in names for state in discrete.states[name]]
    rows = []
    for k, log_p in enumerate(answers.log_evidence.tolist()):
        cells = [p for name in names for p in marginals[name][k].tolist()]
        rows.append((k + 1, log_p, *cells))
    head = ("case", "log p", *states)
    content = {
        "log_evidence": answers.log_evidence.tolist(),
        "marginals": {name: table.tolist() for name, table in marginals.items()},
    }
    return FiniteAnswer("cases", content, AnswerTable(head, rows, dict.fromkeys(head, ".6f")))


def read_cases(path: str) -> list[dict[str, str]]:
    """A CSV file whose columns are variables: a case a row, empty cells are not observed."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text") from None
    if not rows:
        raise UsageError(f"{path} has no cases below its header")
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise UsageError(f"{path}:{number}: this line has not as many cells as the header")
    return [{name: cell.strip() for name, cell in row.items() if cell.strip()} for row in rows]


def case_columns(discrete: Discrete, rows: list[dict[str, str]]) -> dict[Any, NDArray[np.intp]]:
    """The states of every variable that some case observes, -1 where one does not."""
    found: dict[Any, NDArray[np.intp]] = {}
    for number, row in enumerate(rows):
        for name, cell in row.items():
            if name not in discrete.states:
                hint = did_you_mean(name, discrete.states)
                raise WrongEvidence(f"the column `{name}` is no variable{hint and f'; {hint}'}")
            column = found.setdefault(name, np.full(len(rows), -1, np.intp))
            try:
                column[number] = state_of(name, discrete.states[name], cell)
            except WrongEvidence as error:
                raise WrongEvidence(f"case {number + 1}: {error}") from None
    if not found:
        raise WrongEvidence("no case observes anything")
    return found
