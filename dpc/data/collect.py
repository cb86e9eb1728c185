"""Which entry of the data is which name of the model; an entry that has no use is a problem."""

from collections.abc import Iterable

import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Dim

from .errors import Report
from .raw import Raw, RawVariable, SpreadOrigin, show_sizes


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
