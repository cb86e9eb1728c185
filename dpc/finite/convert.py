"""Networks between .dp and the formats of other programs."""

import re
from collections.abc import Iterator
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from dpc.dsl.files import write_whole
from dpc.dsl.graph.graph import Kind
from dpc.dsl.library.distributions import distributions_by_name
from dpc.dsl.library.functions import functions_by_name
from dpc.dsl.limits import MAX_SOURCE
from dpc.dsl.printable import printable
from dpc.dsl.record import Record
from dpc.dsl.source import Source
from dpc.dsl.text.format import format_source
from dpc.dsl.text.keywords import quote_name
from dpc.dsl.text.parser import parse_program
from dpc.dsl.text.syntax import DrawStmt, ModelStmt
from dpc.inference.formats.network import Network, NetworkTable, NetworkVariable
from dpc.inference.formats.registry import FORMATS, format_of

from ..exits import UsageError
from ..model.model import Model
from .discrete import Discrete, tabulate


def network_of_model(model: Model, data: Any, params: Any) -> Network:
    if model.network is not None and not data and not params:
        return model.network
    discrete = tabulate(model, model._sources(data), params or {})
    return network_of(discrete, model.graph.source)


def learned_network(model: Model, fit: Any, path: str) -> Network:
    """The network with the tables that a fit learned, where those are all that it learned."""
    from dpc.dsl.graph.passes.tables import tables_as_parameters

    graph = tables_as_parameters(model.graph)
    learned = {node.name for node in graph.of_kind(Kind.PARAMETER)}
    if fit.params.keys() != learned or graph is model.graph:
        what = f"{path} would be a network with learned tables"
        raise UsageError(f"{what}, and tables are not all that was learned here")
    own = Model(graph, externs=model.externs)
    return network_of(tabulate(own, params=fit.params), model.graph.source)


class Saved(Record):
    """The files that a network was written to, and what it is."""

    files: tuple[str, ...]
    kind: str
    variables: int

    def __str__(self) -> str:
        return f"{printable(', '.join(self.files))}: {self.kind} of {self.variables} variables"


def write_network(network: Network, path: str) -> Saved:
    """Writes a network in the format of the file's ending."""
    if not network.variables:
        what = "the model has no finite variables that are drawn or in a factor"
        raise UsageError(f"{what}: there is no network to write to {path}")
    files = _contents(network, path)
    for name, content in files.items():
        write_whole(name, content)
    kind = "Bayesian network" if network.is_bayesian else "Markov network"
    return Saved(tuple(files), kind, len(network.variables))


def _contents(network: Network, path: str) -> dict[str, bytes]:
    if path.endswith(".dp"):
        # Tables too large for a text go to an array file beside it.
        text, arrays = program_of(network)
        files = {path: text.encode()}
        if arrays:
            buffer = BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **arrays)
            files[str(Path(path).with_suffix(".npz"))] = buffer.getvalue()
        return files
    found = format_of(path)
    if found is None or path.endswith(".gz"):
        endings = ", ".join(row.ending for row in FORMATS)
        raise UsageError(f"the ending of {path} is none of .dp, {endings}")
    if found.only_bayesian and not network.is_bayesian:
        what = f"{found.name} holds Bayesian networks only, and this is a Markov network"
        raise UsageError(f"{what}: write .uai or .dp")
    return {path: found.write(network).encode()}


_PROPERTY = "# property "


def network_of(discrete: Discrete, source: Source) -> Network:
    """A Bayesian network when every variable has one table of its own, else a Markov one."""
    name, properties = properties_of(source)
    factors = discrete.factors.factors
    is_bayesian = sorted(str(factor.child) for factor in factors) == sorted(discrete.states)
    variables = [
        NetworkVariable(v, states, properties.get(v, ())) for v, states in discrete.states.items()
    ]
    tables = []
    for factor in factors:
        scope, values = [str(v) for v in factor.variables], np.exp(factor.log_values)
        if is_bayesian:
            place = factor.variables.index(factor.child)
            scope.append(scope.pop(place))
            values = np.moveaxis(values, place, -1)
        tables.append(NetworkTable(tuple(scope), values))
    about = properties.get("", ())
    return Network(name, tuple(variables), tuple(tables), is_bayesian, about)


def properties_of(source: Source) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The model's name, and the properties in comments before statements; "" is the model."""
    program, _ = parse_program(source)
    properties: dict[str, tuple[str, ...]] = {}
    name = "unknown"
    after = 0
    for statement in program.statements:
        lines = [c.text for c in program.comments if after <= c.span.start < statement.span.start]
        texts = tuple(line.removeprefix(_PROPERTY) for line in lines if line.startswith(_PROPERTY))
        after = statement.span.end
        if isinstance(statement, ModelStmt):
            name = statement.name.name
            properties[""] = texts
        elif isinstance(statement, DrawStmt) and texts:
            properties[statement.target.name.name] = texts
    return name, properties


LONGEST_TEXT = MAX_SOURCE // 4
SMALL_TABLE = 64


def program_of(network: Network) -> tuple[str, dict[str, np.ndarray]]:
    """A text, and the arrays that it reads as data where tables are too many to be written out."""
    writer = _ProgramWriter(network)
    inline = writer.text(apart=False)
    if len(inline) <= LONGEST_TEXT:
        return format_source(Source("<network>", inline)), {}
    text = writer.text(apart=True)
    return format_source(Source("<network>", text)), writer.arrays


class _ProgramWriter:
    """A dim for each set of states, a statement for each variable."""

    def __init__(self, network: Network):
        self.network = network
        # YesNo for yes | no; a longer list is called after the first variable that has it.
        self.taken = {variable.name for variable in network.variables}
        words = {*distributions_by_name(), *functions_by_name()}
        self.dims: dict[tuple[str, ...], str] = {}
        for variable in network.variables:
            if variable.states not in self.dims:
                name = _joined_states(variable.states) or f"{_capital(variable.name)}State"
                self.dims[variable.states] = _free_name(name, self.taken | words)
                self.taken.add(self.dims[variable.states])
        self.arrays: dict[str, np.ndarray] = {}

    def text(self, apart: bool) -> str:
        self.arrays = {}
        lines = [f"# property {text}" for text in self.network.properties]
        if self.network.name and "`" not in self.network.name:
            lines.append(f"model {quote_name(self.network.name)}")
        for states, name in self.dims.items():
            values = " | ".join(map(quote_name, states))
            values = str(len(states)) if _is_counted(states) else values
            lines.append(f"dim {quote_name(name)} = {values}")
        lines.append("")
        statements = list(self._statements(apart))
        for table in self.network.tables if apart else ():
            name = self._array_name(table)
            if name in self.arrays:
                shape = f"[{', '.join(map(self._dim, table.parents))}]" if table.parents else ""
                kind = f"simplex[{self._dim(table.child)}]"
                lines.append(f"data {quote_name(name)}{shape} : {kind}")
        return "\n".join([*lines, *statements]) + "\n"

    def _dim(self, variable: str) -> str:
        return quote_name(self.dims[self.network.by_name[variable].states])

    def _array_name(self, table: NetworkTable) -> str:
        return _free_name(f"table of {table.child}", self.taken)

    def _statements(self, apart: bool) -> Iterator[str]:
        if not self.network.is_bayesian:
            yield from self._undirected()
            return
        for table in self.network.tables:
            variable = self.network.by_name[table.child]
            yield from (f"# property {text}" for text in (*variable.properties, *table.properties))
            own, law = quote_name(variable.name), self._law(table, variable, apart)
            yield f"{own} : {self._dim(variable.name)} ~ {law}"

    def _law(self, table: NetworkTable, variable: NetworkVariable, apart: bool) -> str:
        if apart and table.values.size > SMALL_TABLE:
            name = self._array_name(table)
            self.arrays[name] = table.values
            place = f"[{', '.join(map(quote_name, table.parents))}]" if table.parents else ""
            return f"Categorical({quote_name(name)}{place})"
        if not table.parents:
            numbers = table.values.tolist()
            if _is_counted(variable.states):
                return f"Categorical([{', '.join(map(repr, numbers))}])"
            pairs = zip(variable.states, numbers, strict=True)
            return f"Categorical({', '.join(f'{quote_name(state)}={p!r}' for state, p in pairs)})"
        columns = ", ".join(_key(variable, state) for state in variable.states)
        parents = ", ".join(map(quote_name, table.parents))
        return f"table {parents} => {columns} {{\n{self._rows(table, 1)}\n}}"

    def _rows(self, table: NetworkTable, own: int) -> str:
        """One row for every combination of all but the last `own` variables."""
        keyed = [self.network.by_name[name] for name in table.scope[: len(table.scope) - own]]
        lines = []
        for place in np.ndindex(table.values.shape[: len(keyed)]):
            states = zip(keyed, place, strict=True)
            key = ", ".join(_key(variable, variable.states[i]) for variable, i in states)
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


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _is_counted(states: tuple[str, ...]) -> bool:
    return states == tuple(map(str, range(len(states))))


def _key(variable: NetworkVariable, state: str) -> str:
    return state if _is_counted(variable.states) else quote_name(state)


def _joined_states(states: tuple[str, ...]) -> str:
    words = [_capital(state) for state in states]
    joined = "".join(words)
    fits = len(joined) <= 16 and all(words) and re.fullmatch(r"[A-Za-z]\w*", joined)
    return joined if fits else ""


def _capital(word: str) -> str:
    plain = re.sub(r"\W+", "", word)
    return plain[:1].upper() + (plain[1:].lower() if plain.isupper() else plain[1:])
