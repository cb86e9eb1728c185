"""A network file as a .dp program: one dim for each set of states, one statement for each variable.

Names and states that are no identifiers stand between backquotes. Tables that would make the text
too long go to arrays beside it, declared as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

import numpy as np

from dpc.dsl.library.distributions import distributions_by_name
from dpc.dsl.library.functions import functions_by_name
from dpc.dsl.limits import MAX_SOURCE
from dpc.dsl.record import Record
from dpc.dsl.source import Source
from dpc.dsl.text.format import format_source
from dpc.dsl.text.keywords import quote_name
from dpc.inference.formats.network import Network, NetworkTable, NetworkVariable

LONGEST_TEXT = MAX_SOURCE // 4
SMALL_TABLE = 64


class Converted(Record):
    """`text` reads `arrays` as data, where the tables are too many to be written out."""

    text: str
    arrays: dict[str, np.ndarray]


def program_of(network: Network) -> Converted:
    writer = _ProgramWriter(network)
    inline = writer.text(apart=False)
    if len(inline) <= LONGEST_TEXT:
        return Converted(format_source(Source("<network>", inline)), {})
    text = writer.text(apart=True)
    return Converted(format_source(Source("<network>", text)), writer.arrays)


class _ProgramWriter:
    def __init__(self, network: Network):
        self.network = network
        self.dims = _dim_names(network)
        self.taken = {v.name for v in network.variables} | set(self.dims.values())
        self.arrays: dict[str, np.ndarray] = {}

    def text(self, apart: bool) -> str:
        self.arrays = {}
        lines = [*self._head(), *self._dims(), ""]
        statements = list(self._statements(apart))
        lines += [f"data {quote_name(name)}{declared}" for name, declared in self._declared(apart)]
        return "\n".join([*lines, *statements]) + "\n"

    def _head(self) -> Iterator[str]:
        yield from (f"# property {text}" for text in self.network.properties)
        if self.network.name and "`" not in self.network.name:
            yield f"model {quote_name(self.network.name)}"

    def _dims(self) -> Iterator[str]:
        for states, name in self.dims.items():
            counted = states == tuple(map(str, range(len(states))))
            values = str(len(states)) if counted else " | ".join(map(quote_name, states))
            yield f"dim {quote_name(name)} = {values}"

    def _dim(self, variable: str) -> str:
        return quote_name(self.dims[self.network.by_name[variable].states])

    # ---- tables as data

    def _declared(self, apart: bool) -> Iterator[tuple[str, str]]:
        for table in self.network.tables if apart else ():
            name = self._array_name(table)
            if name in self.arrays:
                parents = ", ".join(map(self._dim, table.parents))
                yield (
                    name,
                    (f"[{parents}]" if parents else "") + f" : simplex[{self._dim(table.child)}]",
                )

    def _array_name(self, table: NetworkTable) -> str:
        name = f"table of {table.child}"
        while name in self.taken:
            name += "_"
        return name

    # ---- statements

    def _statements(self, apart: bool) -> Iterator[str]:
        if not self.network.is_bayesian:
            yield from self._undirected()
            return
        for table in self.network.tables:
            variable = self.network.by_name[table.child]
            yield from (f"# property {text}" for text in (*variable.properties, *table.properties))
            yield (
                f"{quote_name(variable.name)} : {self._dim(variable.name)} ~ "
                f"{self._law(table, variable, apart)}"
            )

    def _law(self, table: NetworkTable, variable: NetworkVariable, apart: bool) -> str:
        if apart and table.values.size > SMALL_TABLE:
            name = self._array_name(table)
            self.arrays[name] = table.values
            place = f"[{', '.join(map(quote_name, table.parents))}]" if table.parents else ""
            return f"Categorical({quote_name(name)}{place})"
        if not table.parents:
            numbers = table.values.tolist()
            if self._is_counted(variable.name):
                return f"Categorical([{', '.join(map(repr, numbers))}])"
            pairs = zip(variable.states, numbers, strict=True)
            return f"Categorical({', '.join(f'{quote_name(state)}={p!r}' for state, p in pairs)})"
        columns = ", ".join(map(self._key, [variable.name] * len(variable.states), variable.states))
        return (
            f"table {', '.join(map(quote_name, table.parents))} => {columns} "
            f"{{\n{self._rows(table, 1)}\n}}"
        )

    def _is_counted(self, name: str) -> bool:
        states = self.network.by_name[name].states
        return states == tuple(map(str, range(len(states))))

    def _key(self, variable: str, state: str) -> str:
        return state if self._is_counted(variable) else quote_name(state)

    def _rows(self, table: NetworkTable, own: int) -> str:
        """One row for every combination of all but the last `own` variables."""
        keyed = table.scope[: len(table.scope) - own]
        lines = []
        for place in np.ndindex(table.values.shape[: len(keyed)]):
            states = (
                self.network.by_name[name].states[i] for name, i in zip(keyed, place, strict=True)
            )
            key = ", ".join(
                self._key(name, state) for name, state in zip(keyed, states, strict=True)
            )
            numbers = np.atleast_1d(table.values[place]).tolist()
            lines.append(f"    {key} => {', '.join(map(repr, numbers))}")
        return "\n".join(lines)

    def _undirected(self) -> Iterator[str]:
        for variable in self.network.variables:
            yield f"latent {quote_name(variable.name)} : {self._dim(variable.name)}"
        names = (name for name in map("f{}".format, count()) if name not in self.taken)
        for table, name in zip(self.network.tables, names, strict=False):
            if table.scope:
                scope = ", ".join(map(quote_name, table.scope))
                yield f"factor {name} : log(table {scope} {{\n{self._rows(table, 0)}\n}})"
            else:
                yield f"factor {name} : log({table.values.item()!r})"


def _dim_names(network: Network) -> dict[tuple[str, ...], str]:
    """YesNo for yes | no; a longer list is called after the first variable that has it."""
    taken = (
        {variable.name for variable in network.variables}
        | set(distributions_by_name())
        | set(functions_by_name())
    )
    found: dict[tuple[str, ...], str] = {}
    for variable in network.variables:
        if variable.states not in found:
            name = _joined_states(variable.states) or f"{_capital(variable.name)}State"
            while name in taken:
                name += "_"
            taken.add(name)
            found[variable.states] = name
    return found


def _joined_states(states: tuple[str, ...]) -> str:
    words = [_capital(state) for state in states]
    joined = "".join(words)
    return (
        joined if len(joined) <= 16 and all(words) and re.fullmatch(r"[A-Za-z]\w*", joined) else ""
    )


def _capital(word: str) -> str:
    plain = re.sub(r"\W+", "", word)
    return plain[:1].upper() + (plain[1:].lower() if plain.isupper() else plain[1:])
