"""Files of cases: every row is evidence, and all rows are answered at once."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpc.commands.answers import Answer
from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.tabulate.discrete import Discrete
from dpc.dsl.tabulate.given import WrongEvidence, state_of
from dpc.exits import UsageError
from dpc.inference.queries import infer_cases


def answer_cases(discrete: Discrete, path: str, names: list[str], memory: int | None) -> Answer:
    """The log-probability of every case, and the marginals of `names`, or of all that no case observes."""
    columns = case_columns(discrete, read_cases(path))
    names = names or [name for name in discrete.states if name not in columns]
    answers = infer_cases(discrete.factors, columns, names, memory=memory)
    marginals = {name: answers.marginals[name] for name in names}
    rows: list[tuple[str, ...]] = [("case", "log p", *(f"{n}={state}" for n in names for state in discrete.states[n]))]
    for k, log_p in enumerate(answers.log_evidence):
        rows.append((str(k + 1), f"{log_p:.6f}", *(f"{p:.6f}" for name in names for p in marginals[name][k])))
    found = {
        "log_evidence": answers.log_evidence.tolist(),
        "marginals": {name: table.tolist() for name, table in marginals.items()},
    }
    return Answer("cases", found, rows)


def read_cases(path: str) -> list[dict[str, str]]:
    """A CSV file whose columns are variables: one case in each row, an empty cell is not observed."""
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
