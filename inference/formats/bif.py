"""BIF, the interchange format of Bayesian networks, as in the bnlearn repository.

    network NAME { property ...; }
    variable NAME { type discrete [ 2 ] { yes, no }; property ...; }
    probability ( child | parent, ... ) { (state, ...) 0.1, 0.9; default 0.5, 0.5; table ...;
    property ...; }

A `table` lists all numbers, the child's state moving slowest. Comments are // and /* */. Names that
hold blanks or punctuation stand between double quotes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from .network import (
    Floats,
    FormatError,
    Network,
    NetworkTable,
    NetworkVariable,
    normalise_rows,
    numbers_of,
    refuse_states,
    refuse_table,
    whole_number,
)

_TOKEN = re.compile(r'"[^"\n]*"|[{}()\[\];|]|[^\s{}()\[\];|",]+')
_COMMENT = re.compile(r'("[^"\n]*")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_ROW = re.compile(r"[\s,]*\(([^()\"]*)\)([^;()]*);")
_BLANK = re.compile(r"[\s,]*")
BLOCKS = "`network`, `variable` or `probability`"
_PLAIN = re.compile(r"[^\s{}()\[\];|\",]+")


@dataclass
class _Block:
    """A probability block as written: rows by parents' states, table, default; and where."""

    place: int
    scope: list[str] = field(default_factory=list)
    rows: dict[tuple[str, ...], list[float]] = field(default_factory=dict)
    row_places: dict[tuple[str, ...], int] = field(default_factory=dict)
    table: list[float] | None = None
    default: list[float] | None = None
    properties: list[str] = field(default_factory=list)


def read_bif(text: str, path: str = "<bif>") -> Network:
    return _Reader(text, path).network()


class _Reader:
    def __init__(self, text: str, path: str):
        self.text = _COMMENT.sub(_blanked, text)
        self.path = path
        self.tokens = self._tokens_from(0)
        self.token = ""
        self.place = 0
        self.advance()

    # ---- tokens

    def _tokens_from(self, place: int) -> Iterator[tuple[str, int]]:
        end = len(self.text)
        while True:
            place = _BLANK.match(self.text, place).end()  # type: ignore[union-attr]
            if place >= end:
                break
            found = _TOKEN.match(self.text, place)
            if not found:
                self.place = place
                raise self.error(f"`{self.text[place]}` does not belong in a BIF file")
            place = found.end()
            yield found[0], found.start()
        yield "", end

    def advance(self) -> str:
        last = self.token
        self.token, self.place = next(self.tokens, ("", len(self.text)))
        return last

    def error(self, reason: str, place: int | None = None) -> FormatError:
        line = self.text.count("\n", 0, self.place if place is None else place) + 1
        return FormatError(self.path, line, reason)

    def take(self, expected: str) -> None:
        if self.token != expected:
            raise self.error(f"expected `{expected}`, found {self._shown()}")
        self.advance()

    def _shown(self) -> str:
        return f"`{self.token}`" if self.token else "the end of the file"

    def word(self, what: str) -> str:
        if not self.token or self.token in "{}()[];|":
            raise self.error(f"expected {what}, found {self._shown()}")
        return self.advance().strip('"')

    def words_until(self, end: str, what: str) -> list[str]:
        found = []
        while self.token != end:
            found.append(self.word(what))
        self.advance()
        return found

    def numbers(self) -> list[float]:
        """Straight from the text up to a semicolon: half a million numbers are common."""
        end = self._end_of("the numbers before this are")
        found = self._floats(self.text[self.place : end])
        self._skip_to(end + 1)
        return found

    def _end_of(self, what: str) -> int:
        end = self.text.find(";", self.place)
        if end < 0:
            raise self.error(f"{what} not ended by `;`")
        return end

    def _floats(self, text: str) -> list[float]:
        try:
            return numbers_of(text.replace(",", " "))
        except ValueError as error:
            raise self.error(f"expected numbers up to `;`: {error}") from None

    def property(self) -> str:
        end = self._end_of("this property is")
        found = " ".join(self.text[self.place : end].split())
        self._skip_to(end + 1)
        return found

    def _skip_to(self, place: int) -> None:
        self.tokens = self._tokens_from(place)
        self.advance()

    # ---- blocks

    def network(self) -> Network:
        name, properties = "unknown", []
        variables: dict[str, NetworkVariable] = {}
        blocks: list[_Block] = []
        while self.token:
            place = self.place
            word = self.word(BLOCKS)
            if word == "network":
                name = self.word("the name of the network")
                properties = self._properties()
            elif word == "variable":
                variable = self._variable()
                if variable.name in variables:
                    raise self.error(f"the variable `{variable.name}` is declared twice")
                variables[variable.name] = variable
            elif word == "probability":
                blocks.append(self._probability(variables))
            else:
                raise self.error(f"expected {BLOCKS}, found `{word}`", place)
        reason = refuse_states(sum(len(variable.states) for variable in variables.values()))
        if reason:
            raise self.error(reason)
        tables = tuple(self._table(block, variables) for block in blocks)
        seen: set[str] = set()
        for block in blocks:
            child = block.scope[-1]
            if child in seen:
                raise self.error(f"`{child}` has two tables", block.place)
            seen.add(child)
        missing = [name for name in variables if name not in seen]
        if missing:
            raise self.error(f"`{missing[0]}` has no table", len(self.text.rstrip()))
        return Network(name, tuple(variables.values()), tables, True, tuple(properties))

    def _properties(self) -> list[str]:
        found = []
        self.take("{")
        while self.token != "}":
            if self.word("`property` or `}`") != "property":
                raise self.error("only properties stand here")
            found.append(self.property())
        self.advance()
        return found

    def _variable(self) -> NetworkVariable:
        name = self.word("the name of a variable")
        states: list[str] = []
        properties = []
        self.take("{")
        while self.token != "}":
            word = self.word("`type`, `property` or `}`")
            if word == "type":
                if self.word("`discrete`") != "discrete":
                    raise self.error(f"the variable `{name}` is not discrete")
                self.take("[")
                size = self.word("the number of states")
                self.take("]")
                self.take("{")
                states = self.words_until("}", "a state")
                self.take(";")
                if whole_number(size) != len(states):
                    raise self.error(f"`{name}` says it has {size} states and lists {len(states)}")
                if len(set(states)) < len(states):
                    raise self.error(f"`{name}` lists a state twice")
            elif word == "property":
                properties.append(self.property())
            else:
                raise self.error(f"expected `type` or `property`, found `{word}`")
        self.advance()
        if not states:
            raise self.error(f"the variable `{name}` has no `type`")
        return NetworkVariable(name, tuple(states), tuple(properties))

    def _probability(self, variables: dict[str, NetworkVariable]) -> _Block:
        block = _Block(self.place)
        self.take("(")
        child = self.word("the name of a variable")
        parents = []
        if self.token == "|":
            self.advance()
            parents = self.words_until(")", "the name of a parent")
        else:
            self.take(")")
        for name in (child, *parents):
            if name not in variables:
                raise self.error(f"`{name}` is not declared as a variable", block.place)
        block.scope = [*parents, child]
        if len(set(block.scope)) < len(block.scope):
            raise self.error(f"the table of `{child}` names a variable twice", block.place)
        self.take("{")
        start = self.place
        while found := _ROW.match(self.text, self.place):
            keys, numbers = found.groups()
            self.place = found.start(1)
            self._add_row(block, tuple(keys.replace(",", " ").split()), self._floats(numbers))
            self.place = found.end()
        if self.place > start:
            self._skip_to(self.place)
        while self.token != "}":
            self._entry(block)
        self.advance()
        return block

    def _add_row(self, block: _Block, key: tuple[str, ...], row: list[float]) -> None:
        if key in block.rows:
            raise self.error(f"the row ({', '.join(key)}) of `{block.scope[-1]}` is there twice")
        block.row_places[key] = self.place
        block.rows[key] = row

    def _entry(self, block: _Block) -> None:
        if self.token == "(":
            self.advance()
            key = tuple(self.words_until(")", "a state"))
            self._add_row(block, key, [])
            block.rows[key] = self.numbers()
            return
        word = self.token
        if word in ("table", "default"):
            self.place += len(word)
            setattr(block, word, self.numbers())
        elif word == "property":
            self.advance()
            block.properties.append(self.property())
        else:
            known = "a row `(state, ...)`, `table`, `default` or `property`"
            raise self.error(f"expected {known}, found {self._shown()}")

    # ---- tables

    def _table(self, block: _Block, variables: dict[str, NetworkVariable]) -> NetworkTable:
        states = [variables[name].states for name in block.scope]
        shape = tuple(map(len, states))
        reason = refuse_table(shape)
        if reason:
            raise self.error(f"the table of `{block.scope[-1]}`: {reason}", block.place)
        if block.table is None:
            values = self._rows(block, states, shape)
        else:
            if len(block.table) != prod(shape):
                seen = f"the table of `{block.scope[-1]}` has {len(block.table)} numbers"
                raise self.error(f"{seen}, not {prod(shape)}", block.place)
            values = np.moveaxis(np.reshape(block.table, (shape[-1], *shape[:-1])), 0, -1)
        values, wrong = normalise_rows(values)
        if wrong is not None:
            key = tuple(names[place] for names, place in zip(states, wrong, strict=False))
            row = f"the row ({', '.join(key)}) of" if key else "the table of"
            total = f"it sums to {float(values[wrong].sum()):g}"
            reason = f"{row} `{block.scope[-1]}` is no distribution: {total}"
            raise self.error(reason, block.row_places.get(key, block.place))
        return NetworkTable(tuple(block.scope), values, tuple(block.properties))

    def _rows(self, block: _Block, states: list[tuple[str, ...]], shape: tuple[int, ...]) -> Floats:
        child = block.scope[-1]
        values = np.full(shape, np.nan)
        places = [{state: i for i, state in enumerate(names)} for names in states[:-1]]
        if block.default is not None:
            values[...] = self._checked_row(block.default, shape[-1], child, block.place)
        for key, row in block.rows.items():
            place = block.row_places[key]
            try:
                index = tuple(own[state] for own, state in zip(places, key, strict=True))
            except (KeyError, ValueError):
                parents = ", ".join(block.scope[:-1]) or "no parents"
                raise self.error(f"({', '.join(key)}) are no states of {parents}", place) from None
            values[index] = self._checked_row(row, shape[-1], child, place)
        missing = np.isnan(values).any(-1)
        if missing.any():
            absent = np.unravel_index(int(np.argmax(missing)), missing.shape)
            key = tuple(names[int(i)] for names, i in zip(states, absent, strict=False))
            raise self.error(f"`{child}` has no row for ({', '.join(key)})", block.place)
        return values

    def _checked_row(self, row: list[float], size: int, child: str, place: int) -> list[float]:
        if len(row) != size:
            raise self.error(f"this row of `{child}` has {len(row)} numbers, not {size}", place)
        return row


def _blanked(comment: re.Match[str]) -> str:
    """Blanks of the same length and lines; a quoted text is no comment."""
    return comment[1] or re.sub(r"[^\n]", " ", comment[0])


def write_bif(network: Network) -> str:
    parts = [f"network {_quoted(network.name)} {{\n{_properties(network.properties)}}}\n"]
    for variable in network.variables:
        states = ", ".join(map(_quoted, variable.states))
        kind = f"  type discrete [ {len(variable.states)} ] {{ {states} }};\n"
        inner = f"{kind}{_properties(variable.properties)}"
        parts.append(f"variable {_quoted(variable.name)} {{\n{inner}}}\n")
    parts += [_table_text(table, network) for table in network.tables]
    return "".join(parts)


def _properties(properties: tuple[str, ...]) -> str:
    return "".join(f"  property {text};\n" for text in properties)


def _table_text(table: NetworkTable, network: Network) -> str:
    parents = [network.by_name[name] for name in table.parents]
    given = f" | {', '.join(_quoted(p.name) for p in parents)}" if parents else ""
    lines = []
    for place in np.ndindex(table.values.shape[:-1]):
        key = ", ".join(_quoted(parent.states[i]) for parent, i in zip(parents, place, strict=True))
        row = ", ".join(map(repr, table.values[place].tolist()))
        lines.append(f"  ({key}) {row};\n" if parents else f"  table {row};\n")
    inner = f"{''.join(lines)}{_properties(table.properties)}"
    return f"probability ( {_quoted(table.child)}{given} ) {{\n{inner}}}\n"


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and not name.startswith(("//", "/*")) else f'"{name}"'
