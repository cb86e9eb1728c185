"""Files of cases: every row is evidence, and all rows are answered at once."""

import csv
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpc.dsl.diagnostics import did_you_mean
from dpc.inference.queries import infer_cases

from ..exits import UsageError
from ..show.table import Table
from .answers import FiniteAnswer
from .discrete import Discrete
from .given import WrongEvidence, state_of


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
    return FiniteAnswer("cases", content, Table(head, rows, dict.fromkeys(head, ".6f")))


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
