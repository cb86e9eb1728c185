"""Sizes and labels of dims, from everything that says something about them.

The first to speak decides, in the order: model, `sizes`, an entry with the dim's name, labels,
arrays, positions. Whoever disagrees is a problem that names both.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Dim, IndexOf
from dpc.dsl.limits import MAX_DIM
from dpc.dsl.record import Record

from .errors import Report, counted, did_you_mean_label, quoted
from .raw import Array, Mask, Raw, RawVariable, SpreadOrigin, repeated, show_sizes


def given_nodes(graph: Graph) -> dict[str, Node]:
    """What the data give: inputs and observed variables, by name."""
    return {node.name: node for node in graph.nodes if node.kind is Kind.INPUT or node.observed}


def collect_variables(
    graph: Graph, sources: Iterable[Raw], report: Report
) -> dict[str, RawVariable]:
    """Entries for variables and for dims, by name."""
    found: dict[str, RawVariable] = {}
    known = [*given_nodes(graph), *(dim.name for dim in graph.dims)]
    sources = list(sources)
    for source in sources:
        for name, variable in _entries(source, graph, report).items():
            if name not in known:
                sized = _sized_dim(variable, graph, sources)
                _report_unknown(variable, known, graph, sized, report)
            elif name in found:
                places = f"{found[name].origin.whole()} and {variable.origin.whole()}"
                report.add(name, f"`{name}` is given twice", "leave out one of them", places)
            else:
                found[name] = variable
    return found


def _sized_dim(variable: RawVariable, graph: Graph, sources: Iterable[Raw]) -> str:
    """The dim that a count may be for, as `J` of a Stan file: some array has so many members."""
    if variable.shape or variable.values.dtype.kind not in "iu":
        return ""
    for name, node in given_nodes(graph).items():
        for array in (source.variables[name] for source in sources if name in source.variables):
            for axis, size in zip(node.type.shape, array.shape, strict=False):
                if isinstance(axis, Dim) and size == int(variable.values):
                    return axis.name
    return ""


def _report_unknown(
    variable: RawVariable, known: list[str], graph: Graph, sized: str, report: Report
) -> None:
    name = variable.name
    message = f"the model has no data called `{name}`"
    if name in graph.by_name:
        message = f"`{name}` is a {graph[name].kind.value} of the model, and takes no data"
        help = "only `data` and `observed` variables do"
    elif sized:
        members = f"the {int(variable.values)} members of `{sized}`"
        help = f"if it counts {members}, call it `{sized}`, or leave it out: arrays tell sizes"
    else:
        help = did_you_mean(name, known) or "leave it out, or declare it in the model"
    report.add(name, message, help, variable.origin.whole())


def _entries(source: Raw, graph: Graph, report: Report) -> dict[str, RawVariable]:
    """In a table, columns `x.a`, `x.b` are one variable `x` with two axes."""
    if not source.table:
        return source.variables
    nodes = given_nodes(graph)
    wide = [node.name for node in nodes.values() if len(node.type.shape) == 2]
    found: dict[str, RawVariable] = {}
    spread: dict[str, dict[str, RawVariable]] = {}
    for name, column in source.variables.items():
        owner = max((own for own in wide if name.startswith(f"{own}.")), key=len, default=None)
        if name in nodes or owner is None:
            found[name] = column
        else:
            spread.setdefault(owner, {})[name.removeprefix(f"{owner}.")] = column
    for owner, columns in spread.items():
        with report.collecting():
            found[owner] = _join(nodes[owner], columns)
    return found


def _join(node: Node, columns: dict[str, RawVariable]) -> RawVariable:
    """Columns in the order of their numbers, or as written with their suffixes for labels."""
    counting = [str(k) for k in range(len(columns))]
    is_counted = set(columns) == set(counting)
    if is_counted:
        columns = {suffix: columns[suffix] for suffix in counting}
    parts = tuple(columns.values())
    origin = SpreadOrigin(parts[0].origin.where, node.name, tuple(part.origin for part in parts))
    joined = RawVariable(np.zeros(0), origin)
    axis = node.type.shape[1]
    if not is_counted and isinstance(axis, Dim) and axis.size is not None and not axis.labels:
        # A dim whose size the model fixes without labels is counted from 0.
        name, last = joined.name, axis.size - 1
        spread = ", ".join(f"`{name}.{suffix}`" for suffix in list(columns)[:5])
        help = f"`{axis}` has {axis.size} members: call the columns `{name}.0` to `{name}.{last}`"
        raise joined.refuse(f"is spread over {spread}", help=help)
    kinds = {part.values.dtype.kind for part in parts}
    if len(kinds - {"i", "u", "f"}) + bool(kinds & {"i", "u", "f"}) > 1:
        raise joined.refuse("has columns of different kinds")
    missing = None
    if any(part.missing is not None for part in parts):
        none = np.zeros(parts[0].shape, dtype=bool)
        masks = [none if part.missing is None else part.missing for part in parts]
        missing = np.stack(masks, axis=1)
    row_labels = parts[0].labels[0] if parts[0].labels else ()
    return joined.replace(
        values=np.stack([part.values for part in parts], axis=1),
        missing=missing,
        labels=() if is_counted else (row_labels, tuple(columns)),
        levels=parts[0].levels if len({part.levels for part in parts}) == 1 else (),
        written=parts[0].written,
    )


def fit_axes(variable: RawVariable, node: Node) -> RawVariable:
    """With the declared number of axes, in the declared order where the axes have names."""
    shape, declared = node.type.shape, [str(axis) for axis in node.type.shape]
    if len(variable.shape) != len(shape):
        message = f"has shape {show_sizes(variable.shape)}, but is declared `{declaration(node)}`"
        help = "" if shape else "it is a single value"
        if variable.written and len(shape) == 2 and not isinstance(variable.origin, SpreadOrigin):
            help = f"in a table it is spread over columns: `{node.name}.a`, `{node.name}.b`, ..."
        raise variable.refuse(message, help=help)
    if set(variable.axes) == set(declared) and len(set(declared)) == len(declared):
        order = [variable.axes.index(name) for name in declared]
        return variable.replace(
            values=variable.values.transpose(order),
            missing=None if variable.missing is None else variable.missing.transpose(order),
            axes=tuple(variable.axes[k] for k in order),
            labels=tuple(variable.labels[k] for k in order) if variable.labels else (),
        )
    for k, name in enumerate(variable.axes):
        if name in declared and declared[k] != name:
            axes = ", ".join(variable.axes)
            message = f"has the axes [{axes}], but is declared `{declaration(node)}`"
            raise variable.refuse(message, help="give its axes the names of the dims")
    return variable


def declaration(node: Node) -> str:
    return f"{node.name}[{', '.join(map(str, node.type.shape))}]" if node.type.shape else node.name


class GivenVariable(Record):
    """A variable of the model with what the data say; `values` is None if they were refused."""

    node: Node
    variable: RawVariable
    values: Array | None
    missing: Mask | None = None

    def axes_of(self, dim: Dim) -> list[int]:
        axes = enumerate(self.node.type.shape)
        return [k for k, axis in axes if isinstance(axis, Dim) and axis.name == dim.name]

    @property
    def has_labels(self) -> bool:
        return self.values is not None and self.values.dtype.kind == "O"

    @property
    def where(self) -> str:
        return f"`{self.node.name}` in {self.variable.origin.whole()}"


def indexed_dim(node: Node) -> str:
    domain = node.type.domain
    return domain.dim.name if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim) else ""


class DimLabels(NamedTuple):
    labels: tuple[str, ...]
    why: str


class DimSize(NamedTuple):
    size: int
    why: str


class Resolved(Record):
    """What is known of every dim, and why."""

    sizes: dict[str, DimSize]
    labels: dict[str, DimLabels]


def resolve_dims(
    graph: Graph,
    given: dict[str, GivenVariable],
    entries: dict[str, RawVariable],
    sizes: Mapping[str, int],
    excused: set[str],
    report: Report,
) -> Resolved:
    """An unknown dim is a problem, unless it is excused by another problem."""
    resolved = Resolved({}, {})
    for dim in graph.dims:
        before = len(report.problems)
        claims = _Claims(dim, given, entries.get(dim.name), report)
        labels = claims.labels()
        if labels:
            resolved.labels[dim.name] = labels
        size = claims.size(sizes, labels)
        if size:
            resolved.sizes[dim.name] = size
            least = graph.least_sizes.get(dim.name, 0)
            if size.size < least:
                members = counted(size.size, "member")
                message = f"`{dim}` has {members}, but the model needs at least {least}"
                report.add(dim.name, message, f"its size comes from {size.why}")
        elif dim.name not in excused and len(report.problems) == before:
            help = f"give an array over it, or its size as an entry called `{dim}`"
            report.add(dim.name, f"nothing says how many members `{dim}` has", help)
    return resolved


class _Claims:
    """What is said about one dim; `entry` is that with its name, `indices` hold its members."""

    def __init__(
        self, dim: Dim, given: dict[str, GivenVariable], entry: RawVariable | None, report: Report
    ):
        self.dim, self.given, self.entry, self.report = dim, given, entry, report
        self.indices = {n: own for n, own in given.items() if indexed_dim(own.node) == dim.name}

    def labels(self) -> DimLabels | None:
        claims = list(self._label_claims())
        for claim in claims:
            twice = repeated(claim.labels)
            if twice is not None:
                distinct = f"the labels of `{self.dim}` are not distinct"
                message = f"{distinct}: {quoted(twice)} comes twice"
                self.report.add(self.dim.name, message, place=claim.why)
        for claim in claims[1:]:
            self._verify_same_labels(claims[0], claim)
        return claims[0] if claims else self._from_levels() or self._from_text()

    def _label_claims(self) -> Iterator[DimLabels]:
        if self.dim.labels:
            yield DimLabels(self.dim.labels, "the model")
        entry = self.entry
        if entry is not None and entry.shape:
            # A list with the dim's name holds its labels; 0, 1, 2, ... are no labels but a count.
            values, is_whole = entry.values.tolist(), entry.missing is None
            is_list = entry.values.ndim == 1 and entry.values.dtype.kind in "iuO" and is_whole
            if not is_list or "" in values:
                self._refuse_entry(entry)
            elif (labels := tuple(map(str, values))) != tuple(map(str, range(len(values)))):
                yield DimLabels(labels, f"`{self.dim}` in {entry.origin.whole()}")
        for own in self.given.values():
            for k in own.axes_of(self.dim):
                if own.variable.labels and own.variable.labels[k]:
                    yield DimLabels(own.variable.labels[k], own.where)

    def _refuse_entry(self, entry: RawVariable) -> None:
        message = f"`{self.dim}` is a dim: its entry is its size or the list of its labels"
        self.report.add(self.dim.name, message, place=entry.origin.whole())

    def _verify_same_labels(self, first: DimLabels, other: DimLabels) -> None:
        extra = next((label for label in other.labels if label not in set(first.labels)), None)
        lacking = next((label for label in first.labels if label not in set(other.labels)), None)
        source = f"the labels come from {first.why}"
        if extra is not None:
            message = f"`{self.dim}` has no label {quoted(extra)} by {first.why}"
            help = did_you_mean_label(extra, first.labels) or source
            self.report.add(self.dim.name, message, help, other.why)
        elif lacking is not None:
            message = f"the label {quoted(lacking)} of `{self.dim}` is left out"
            self.report.add(self.dim.name, message, source, other.why)

    def _from_levels(self) -> DimLabels | None:
        """The levels of categorical columns, in their own order."""
        claims = [
            DimLabels(own.variable.levels, f"the levels of {own.where}")
            for own in self.indices.values()
            if own.variable.levels
        ]
        for claim in claims[1:]:
            if claim.labels != claims[0].labels:
                message = f"`{self.dim}` has other levels by {claims[0].why} than by {claim.why}"
                self.report.add(self.dim.name, message, "give both columns the same categories")
        return claims[0] if claims else None

    def _from_text(self) -> DimLabels | None:
        """All labels that text mentions, sorted: nothing may depend on an order nobody gave."""
        texts = {
            name: own.values
            for name, own in self.indices.items()
            if own.values is not None and own.has_labels
        }
        if not texts:
            return None
        for name, own in self.given.items():
            is_positions = name in self.indices and own.values is not None and name not in texts
            if not own.axes_of(self.dim) and not is_positions:
                continue
            what = f"`{declaration(own.node)}` has no labels"
            if not own.axes_of(self.dim):
                what = f"`{name}` gives positions"
            message = (
                f"{what}, but `{next(iter(texts))}` names members of `{self.dim}` by labels, and "
                "their order is not known"
            )
            help = f"give `{self.dim}` as the list of its labels, in order"
            self.report.add(name, message, help, own.variable.origin.whole())
        labels = sorted({label for values in texts.values() for label in values.flat})
        return DimLabels(tuple(labels), f"the labels of {_names(texts)}")

    def size(self, sizes: Mapping[str, int], labels: DimLabels | None) -> DimSize | None:
        claims = list(self._size_claims(sizes, labels))
        for claim in claims[1:]:
            if claim.size != claims[0].size:
                first = f"`{self.dim}` has {claims[0].size} members by {claims[0].why}"
                self.report.add(self.dim.name, f"{first}, but {claim.size} by {claim.why}")
        if claims:
            return claims[0]
        for own in self.given.values():
            for k in own.axes_of(self.dim):
                return DimSize(own.variable.shape[k], own.where)
        return self._from_positions()

    def _size_claims(self, sizes: Mapping[str, int], labels: DimLabels | None) -> Iterator[DimSize]:
        dim = self.dim
        if dim.size is not None:
            yield DimSize(dim.size, "the model")
        if dim.name in sizes:
            size = sizes[dim.name]
            is_whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
            if is_whole and 0 <= size <= MAX_DIM:
                yield DimSize(int(size), "`sizes`")
            else:
                message = f"the size of `{dim}` is {size!r}, which is no count of members"
                self.report.add(dim.name, message, place="`sizes`")
        if self.entry is not None:
            shape, value = self.entry.shape, self.entry.values
            why = f"`{dim}` in {self.entry.origin.whole()}"
            if len(shape) == 1:
                yield DimSize(shape[0], why)
            elif shape == () and value.dtype.kind in "iu" and 0 <= int(value) <= MAX_DIM:
                yield DimSize(int(value), why)
            elif shape == ():
                self._refuse_entry(self.entry)
        if labels and not (dim.labels and labels.labels == dim.labels):
            yield DimSize(len(labels.labels), labels.why)

    def _from_positions(self) -> DimSize | None:
        """Positions alone tell a size only if they are 0 to n-1 without a gap."""
        positions = {
            name: own.values.ravel()
            for name, own in self.indices.items()
            if own.values is not None and not own.has_labels
        }
        if not sum(map(len, positions.values())):
            return None
        seen = np.unique(np.concatenate(list(positions.values())))
        names = _names(positions)
        if seen[0] == 0 and seen[-1] == len(seen) - 1:
            return DimSize(len(seen), f"the positions in {names}")
        gap = "" if seen[-1] - seen[0] == len(seen) - 1 else f" with gaps ({len(seen)} distinct)"
        message = (
            f"positions in `{self.dim}` run from {seen[0]} to {seen[-1]}{gap} in {names}, not "
            "from 0 without a gap"
        )
        subtract = f"subtract {seen[0]} from them, " if seen[0] > 0 and not gap else ""
        help = f"{subtract}give labels as text, or the size as an entry called `{self.dim}`"
        first = next(iter(positions))
        self.report.add(first, message, help, self.given[first].variable.origin.whole())
        return None


def _names(variables: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in variables)
