"""UAI, the format of the inference competitions: BAYES or MARKOV, sizes, scopes, then tables.

Variables have numbers and no names: they are called x0, x1 and so on, their states 0, 1 and so on.
Evidence files list a count and then pairs of a variable and its state.
"""

from math import prod

import numpy as np

from .network import (
    FormatError,
    Network,
    NetworkTable,
    NetworkVariable,
    normalise_rows,
    numbers_of,
    refuse_states,
    refuse_table,
    shortened,
    whole_number,
)

KINDS = {"BAYES": True, "MARKOV": False}
MOST_NAMED = 12


class _Numbers:
    """The words of a file, one after another; remembers where, to say where a mistake is."""

    def __init__(self, text: str, path: str):
        self.text = text
        self.path = path
        self.words = text.split()
        self.place = 0

    def next(self, what: str) -> str:
        if self.place >= len(self.words):
            raise self.at_end(f"the file ends where {what} should stand")
        self.place += 1
        return self.words[self.place - 1]

    def whole(self, what: str) -> int:
        word = self.next(what)
        found = whole_number(word)
        if found is None:
            raise self.error(f"expected {what}, found `{shortened(word)}`")
        return found

    def floats(self, count: int, what: str) -> list[float]:
        words = self.words[self.place : self.place + count]
        self.place += len(words)
        if len(words) < count:
            raise self.at_end(f"the file ends within {what}")
        try:
            return numbers_of(" ".join(words))
        except ValueError as error:
            raise self.error(f"{what}: {error}") from None

    def at_end(self, reason: str) -> FormatError:
        return FormatError(self.path, self.text.count("\n") + 1, reason)

    def error(self, reason: str) -> FormatError:
        """The line of the last word read."""
        seen = 0
        for number, line in enumerate(self.text.split("\n"), 1):
            seen += len(line.split())
            if seen >= self.place:
                return FormatError(self.path, number, reason)
        return FormatError(self.path, None, reason)


def read_uai(text: str, path: str = "<uai>") -> Network:
    numbers = _Numbers(text, path)
    kind = numbers.next("BAYES or MARKOV")
    if kind not in KINDS:
        raise numbers.error(f"expected BAYES or MARKOV, found `{kind}`")
    sizes = []
    for i in range(numbers.whole("the number of variables")):
        sizes.append(numbers.whole(f"the size of variable {i}"))
        if sizes[i] < 1:
            raise numbers.error(f"variable {i} has no states")
    reason = refuse_states(sum(sizes))
    if reason:
        raise numbers.error(reason)
    scopes = [_scope(numbers, len(sizes)) for _ in range(numbers.whole("the number of tables"))]
    children = sorted(scope[-1:] for scope in scopes)
    if KINDS[kind] and children != [(v,) for v in range(len(sizes))]:
        reason = "a BAYES file has one table for each variable, the variable named last"
        raise FormatError(path, None, reason)
    tables = tuple(_table(numbers, scope, sizes, KINDS[kind]) for scope in scopes)
    if numbers.place < len(numbers.words):
        numbers.place += 1
        raise numbers.error("there is more in the file than its tables")
    states = [tuple(map(str, range(size))) for size in sizes]
    variables = tuple(NetworkVariable(f"x{i}", own) for i, own in enumerate(states))
    return Network("unknown", variables, tables, KINDS[kind])


def _scope(numbers: _Numbers, count: int) -> tuple[int, ...]:
    scope = tuple(numbers.whole("a variable") for _ in range(numbers.whole("the size of a scope")))
    outside = [v for v in scope if v >= count]
    if outside:
        raise numbers.error(f"variable {outside[0]} is not one of 0 to {count - 1}")
    if len(set(scope)) < len(scope):
        names = " ".join(map(str, scope[:MOST_NAMED]))
        raise numbers.error(f"the scope {names} names a variable twice")
    return scope


def _table(
    numbers: _Numbers, scope: tuple[int, ...], sizes: list[int], is_bayesian: bool
) -> NetworkTable:
    shape = tuple(sizes[v] for v in scope)
    reason = refuse_table(shape)
    if reason:
        raise numbers.error(f"the table over {' '.join(map(str, scope[:MOST_NAMED]))}: {reason}")
    count = numbers.whole("the number of entries of a table")
    if count != prod(shape):
        raise numbers.error(
            f"the table over {' '.join(map(str, scope))} has {count} entries, not {prod(shape)}"
        )
    values = np.reshape(numbers.floats(count, f"the table over {' '.join(map(str, scope))}"), shape)
    if (values < 0).any():
        raise numbers.error("a potential is negative")
    if is_bayesian:
        values, wrong = normalise_rows(values)
        if wrong is not None:
            raise numbers.error(f"a row of the table of variable {scope[-1]} does not sum to one")
    return NetworkTable(tuple(f"x{v}" for v in scope), values)


def read_uai_evidence(text: str, path: str = "<evid>") -> dict[int, int]:
    """The states of observed variables; some files start with the number of samples, one."""
    numbers = _Numbers(text, path)
    if not numbers.words:
        return {}
    count = numbers.whole("the number of observations")
    second = numbers.words[1] if numbers.words[1:] else ""
    pairs = whole_number(second)
    if count == 1 and pairs is not None and len(numbers.words) == 2 + 2 * pairs:
        count = numbers.whole("the number of observations")
    found = {}
    for _ in range(count):
        variable = numbers.whole("a variable")
        found[variable] = numbers.whole("a state")
    if numbers.place < len(numbers.words):
        numbers.place += 1
        raise numbers.error(f"there is more in the file than its {count} observations")
    return found


def write_uai(network: Network) -> str:
    number = {variable.name: str(i) for i, variable in enumerate(network.variables)}
    lines = ["BAYES" if network.is_bayesian else "MARKOV", str(len(network.variables))]
    lines.append(" ".join(str(len(variable.states)) for variable in network.variables))
    lines.append(str(len(network.tables)))
    for table in network.tables:
        lines.append(" ".join([str(len(table.scope)), *map(number.__getitem__, table.scope)]))
    for table in network.tables:
        numbers = " ".join(map(repr, table.values.reshape(-1).tolist()))
        lines += ["", str(table.values.size), numbers]
    return "\n".join(lines) + "\n"
