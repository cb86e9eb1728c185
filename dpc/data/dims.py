"""Sizes and labels of dims, from everything that says something about them.

The first to speak decides, in the order: model, `sizes`, an entry with the dim's name, labels,
arrays, positions. Whoever disagrees is a problem that names both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.graph.types import Dim, IndexOf
from dpc.dsl.limits import MAX_DIM
from dpc.dsl.record import Record

from .collect import declaration
from .errors import Report, counted, did_you_mean_label, quoted
from .raw import Array, Mask, Variable, repeated


class Given(Record):
    """A variable of the model with what the data say about it; `values` is None if they were
    refused.
    """

    node: Node
    variable: Variable
    values: Array | None
    missing: Mask | None = None

    def axes_of(self, dim: Dim) -> Iterator[int]:
        return (
            k
            for k, axis in enumerate(self.node.type.shape)
            if isinstance(axis, Dim) and axis.name == dim.name
        )

    def is_index_of(self, dim: Dim) -> bool:
        return indexed_dim(self.node) == dim.name

    @property
    def has_labels(self) -> bool:
        return self.values is not None and self.values.dtype.kind == "O"


def indexed_dim(node: Node) -> str:
    domain = node.type.domain
    return domain.dim.name if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim) else ""


class Labels(Record):
    """`sorted_here`: nobody gave their order."""

    labels: tuple[str, ...]
    why: str
    sorted_here: bool = False


class Size(Record):
    size: int
    why: str


class Resolved(Record):
    """What is known of every dim, and why."""

    sizes: dict[str, Size]
    labels: dict[str, Labels]


def resolve_dims(
    graph: Graph,
    given: dict[str, Given],
    entries: dict[str, Variable],
    sizes: Mapping[str, int],
    excused: set[str],
    report: Report,
) -> Resolved:
    """Sizes and labels of all dims; a dim that stays unknown is a problem, unless excused by
    another problem.
    """
    found = Resolved({}, {})
    for dim in graph.dims:
        before = len(report.problems)
        labels = _resolve_labels(dim, given, entries, report)
        if labels:
            found.labels[dim.name] = labels
        size = _resolve_size(dim, given, entries, sizes, labels, report)
        if size:
            found.sizes[dim.name] = size
            _verify_least(dim, size, graph, report)
        elif dim.name not in excused and len(report.problems) == before:
            help = f"give an array over it, or its size as an entry called `{dim}`"
            report.add(dim.name, f"nothing says how many members `{dim}` has", help)
    return found


def _verify_least(dim: Dim, size: Size, graph: Graph, report: Report) -> None:
    least = graph.least_sizes.get(dim.name, 0)
    if size.size < least:
        message = (
            f"`{dim}` has {counted(size.size, 'member')}, but the model needs at least {least}"
        )
        report.add(dim.name, message, f"its size comes from {size.why}")


# ---- labels


def _resolve_labels(
    dim: Dim, given: dict[str, Given], entries: dict[str, Variable], report: Report
) -> Labels | None:
    claims = list(_label_claims(dim, given, entries, report))
    for claim in claims:
        twice = repeated(claim.labels)
        if twice is not None:
            report.add(
                dim.name,
                f"the labels of `{dim}` are not distinct: {quoted(twice)} comes twice",
                place=claim.why,
            )
    if claims:
        for claim in claims[1:]:
            _verify_same_labels(dim, claims[0], claim, report)
        return claims[0]
    return _from_levels(dim, given, report) or _from_text(dim, given, report)


def _label_claims(
    dim: Dim, given: dict[str, Given], entries: dict[str, Variable], report: Report
) -> Iterator[Labels]:
    if dim.labels:
        yield Labels(dim.labels, "the model")
    if dim.name in entries and entries[dim.name].shape:
        yield from _labels_of_entry(dim, entries[dim.name], report)
    for name, found in given.items():
        for k in found.axes_of(dim):
            if found.variable.labels and found.variable.labels[k]:
                yield Labels(
                    found.variable.labels[k], f"`{name}` in {found.variable.origin.whole()}"
                )


def _labels_of_entry(dim: Dim, entry: Variable, report: Report) -> Iterator[Labels]:
    """A list with the dim's name holds its labels; 0, 1, 2, ... are no labels but a count."""
    values = entry.values
    if (
        values.ndim == 1
        and values.dtype.kind in "iuO"
        and entry.missing is None
        and "" not in values.tolist()
    ):
        labels = tuple(map(str, values.tolist()))
        if labels != tuple(map(str, range(len(labels)))):
            yield Labels(labels, f"`{dim}` in {entry.origin.whole()}")
    else:
        _report_entry(dim, entry, report)


def _report_entry(dim: Dim, entry: Variable, report: Report) -> None:
    message = f"`{dim}` is a dim: its entry is its size or the list of its labels"
    report.add(dim.name, message, place=entry.origin.whole())


def _verify_same_labels(dim: Dim, first: Labels, other: Labels, report: Report) -> None:
    extra = next((label for label in other.labels if label not in set(first.labels)), None)
    lacking = next((label for label in first.labels if label not in set(other.labels)), None)
    if extra is not None:
        help = did_you_mean_label(extra, first.labels) or f"the labels come from {first.why}"
        report.add(
            dim.name, f"`{dim}` has no label {quoted(extra)} by {first.why}", help, other.why
        )
    elif lacking is not None:
        message = f"the label {quoted(lacking)} of `{dim}` is left out"
        report.add(dim.name, message, f"the labels come from {first.why}", other.why)


def _from_levels(dim: Dim, given: dict[str, Given], report: Report) -> Labels | None:
    """The levels of categorical columns, in their own order."""
    claims = [
        Labels(found.variable.levels, f"the levels of `{name}` in {found.variable.origin.whole()}")
        for name, found in given.items()
        if found.is_index_of(dim) and found.variable.levels
    ]
    for claim in claims[1:]:
        if claim.labels != claims[0].labels:
            message = f"`{dim}` has other levels by {claims[0].why} than by {claim.why}"
            report.add(dim.name, message, "give both columns the same categories")
    return claims[0] if claims else None


def _from_text(dim: Dim, given: dict[str, Given], report: Report) -> Labels | None:
    """All labels that text data mention, sorted. Then nothing may depend on an order that nobody
    gave.
    """
    speakers = {
        name: found for name, found in given.items() if found.is_index_of(dim) and found.has_labels
    }
    if not speakers:
        return None
    labels = sorted(
        {
            label
            for found in speakers.values()
            if found.values is not None
            for label in found.values.flat
        }
    )
    first = next(iter(speakers))
    for name, found in given.items():
        uses_order = next(found.axes_of(dim), None) is not None
        uses_positions = (
            found.is_index_of(dim) and found.values is not None and not found.has_labels
        )
        if uses_order or uses_positions:
            what = (
                f"`{declaration(found.node)}` has no labels"
                if uses_order
                else f"`{name}` gives positions"
            )
            message = (
                f"{what}, but `{first}` names members of `{dim}` by labels, and their order "
                "is not known"
            )
            help = f"give `{dim}` as the list of its labels, in order"
            report.add(name, message, help, found.variable.origin.whole())
    why = f"the labels of {', '.join(f'`{name}`' for name in speakers)}"
    return Labels(tuple(labels), why, sorted_here=True)


# ---- sizes


def _resolve_size(
    dim: Dim,
    given: dict[str, Given],
    entries: dict[str, Variable],
    sizes: Mapping[str, int],
    labels: Labels | None,
    report: Report,
) -> Size | None:
    claims = list(_size_claims(dim, entries, sizes, labels, report))
    for claim in claims[1:]:
        if claim.size != claims[0].size:
            message = (
                f"`{dim}` has {claims[0].size} members by {claims[0].why}, but {claim.size} "
                f"by {claim.why}"
            )
            report.add(dim.name, message)
    if claims:
        return claims[0]
    return next(_array_sizes(dim, given), None) or _from_positions(dim, given, report)


def _size_claims(
    dim: Dim,
    entries: dict[str, Variable],
    sizes: Mapping[str, int],
    labels: Labels | None,
    report: Report,
) -> Iterator[Size]:
    if dim.size is not None:
        yield Size(dim.size, "the model")
    if dim.name in sizes:
        size = sizes[dim.name]
        if (
            isinstance(size, bool)
            or not isinstance(size, int | np.integer)
            or not 0 <= size <= MAX_DIM
        ):
            report.add(
                dim.name,
                f"the size of `{dim}` is {size!r}, which is no count of members",
                place="`sizes`",
            )
        else:
            yield Size(int(size), "`sizes`")
    if dim.name in entries:
        yield from _size_of_entry(dim, entries[dim.name], report)
    if labels and not (dim.labels and labels.labels == dim.labels):
        yield Size(len(labels.labels), labels.why)


def _size_of_entry(dim: Dim, entry: Variable, report: Report) -> Iterator[Size]:
    if len(entry.shape) == 1:
        yield Size(entry.shape[0], f"`{dim}` in {entry.origin.whole()}")
    elif (
        entry.shape == () and entry.values.dtype.kind in "iu" and 0 <= int(entry.values) <= MAX_DIM
    ):
        yield Size(int(entry.values), f"`{dim}` in {entry.origin.whole()}")
    elif entry.shape == ():
        _report_entry(dim, entry, report)


def _array_sizes(dim: Dim, given: dict[str, Given]) -> Iterator[Size]:
    for name, found in given.items():
        for k in found.axes_of(dim):
            yield Size(found.variable.shape[k], f"`{name}` in {found.variable.origin.whole()}")


def _from_positions(dim: Dim, given: dict[str, Given], report: Report) -> Size | None:
    """Positions alone tell a size only if they are 0 to n-1 without a gap."""
    speakers = {
        n: f
        for n, f in given.items()
        if f.is_index_of(dim) and f.values is not None and not f.has_labels
    }
    values = [found.values.ravel() for found in speakers.values() if found.values is not None]
    if not values or not sum(map(len, values)):
        return None
    seen = np.unique(np.concatenate(values))
    names = ", ".join(f"`{name}`" for name in speakers)
    if seen[0] == 0 and seen[-1] == len(seen) - 1:
        return Size(len(seen), f"the positions in {names}")
    gap = "" if seen[-1] - seen[0] == len(seen) - 1 else f" with gaps ({len(seen)} distinct)"
    message = (
        f"positions in `{dim}` run from {seen[0]} to {seen[-1]}{gap} in {names}, not from 0 "
        "without a gap"
    )
    subtract = f"subtract {seen[0]} from them, " if seen[0] > 0 and not gap else ""
    help = f"{subtract}give labels as text, or the size as an entry called `{dim}`"
    place = next(iter(speakers.values())).variable.origin.whole()
    report.add(next(iter(speakers)), message, help, place)
    return None
