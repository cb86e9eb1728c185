"""Data for a graph: every input and observed variable as a checked array, shaped as declared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.record import Record

from .arrays import checked_array
from .collect import collect_variables, declaration, fit_axes, given_nodes
from .dims import GivenVariable, indexed_dim, resolve_dims
from .errors import Report
from .kinds import typed_values, typed_with_missing
from .objects import as_raw
from .raw import Array, Mask, Raw, RawVariable


class BoundData(Record):
    """Sizes of all dims, labels of those that have any, arrays of inputs and observed variables.

    `missing` marks the entries that the data lack, of arrays that lack any.
    """

    sizes: dict[str, int]
    labels: dict[str, tuple[str, ...]]
    arrays: dict[str, Array]
    missing: dict[str, Mask] = {}  # noqa: RUF012  (records are frozen, and this one is never changed)

    def own(self) -> BoundData:
        """With arrays of its own: those of a caller may be written to later."""
        return self.replace(arrays={name: np.array(array) for name, array in self.arrays.items()})


def bind_data(
    graph: Graph,
    *sources: object,
    sizes: Mapping[str, int] | None = None,
    partial: bool = False,
    missing: bool = False,
) -> BoundData:
    """Arrays for the graph from files and Python objects, or a DataError with every problem.

    With `partial`, observed variables may be absent; with `missing`, some of their entries. Arrays
    that are already as they should be are not copied.
    """
    report = Report()
    sizes = sizes or {}
    entries = collect_variables(graph, _read_sources(sources, report), report)
    _verify_size_names(graph, sizes, report)
    nodes = given_nodes(graph)
    settled = {name: _settle(node, entries, missing, report) for name, node in nodes.items()}
    given = {name: own for name, own in settled.items() if own is not None}
    absent = [node for name, node in nodes.items() if name not in entries]
    _report_absent(absent, partial, report)
    known = {name for name, own in given.items() if own.values is not None}
    unknown = [node for name, node in nodes.items() if name not in known]
    dims = resolve_dims(graph, given, entries, sizes, _touched(unknown, report), report)
    arrays = {}
    for name, node in nodes.items():
        with report.collecting():
            array = checked_array(node, given.get(name), dims)
            if array is not None:
                arrays[name] = array
    report.verify_empty()
    return BoundData(
        {name: found.size for name, found in dims.sizes.items()},
        {name: found.labels for name, found in dims.labels.items()},
        arrays,
        {
            n: own.missing
            for n, own in given.items()
            if own.missing is not None and own.missing.any()
        },
    )


def _read_sources(sources: tuple[object, ...], report: Report) -> list[Raw]:
    found = []
    for source in sources:
        with report.collecting():
            found.append(as_raw(source))
    report.verify_empty()
    return found


def _verify_size_names(graph: Graph, sizes: Mapping[str, int], report: Report) -> None:
    dims = [dim.name for dim in graph.dims]
    for name in sizes:
        if name not in dims:
            report.add(name, f"the model has no dim `{name}`", did_you_mean(name, dims), "`sizes`")


def _settle(
    node: Node, entries: dict[str, RawVariable], missing: bool, report: Report
) -> GivenVariable | None:
    """The entry as declared; None if it is absent or of another rank."""
    if node.name not in entries:
        return None
    variable = None
    with report.collecting():
        variable = fit_axes(entries[node.name], node)
        if missing and node.observed:
            return GivenVariable(node, variable, *typed_with_missing(variable, node.type.domain))
        return GivenVariable(
            node, variable, typed_values(variable, node.type.domain, node.observed)
        )
    return GivenVariable(node, variable, None) if variable else None


def _report_absent(absent: list[Node], partial: bool, report: Report) -> None:
    reported = {found.name for found in report.problems}
    for node in absent:
        if node.default is None and not (partial and node.observed) and node.name not in reported:
            role = "observed" if node.observed else "data"
            kind = node.type.constraint or node.type.domain
            help = f"it is declared `{role} {declaration(node)} : {kind}`"
            report.add(node.name, f"the data lack `{node.name}`", help)


def _touched(nodes: list[Node], report: Report) -> set[str]:
    """Dims that these nodes would have sized, where their absence is a problem of its own."""
    reported = {found.name for found in report.problems}
    named = [node for node in nodes if node.name in reported]
    axes = {str(axis) for node in named for axis in node.type.shape}
    return axes | {indexed_dim(node) for node in named}
