"""Data to learn from: cases, whole runs of the model, stacked along a new first axis by size.

They come out of files, tables and Python objects. Rows of a table are cases where the model's
variables are single values; where they have a dim of rows, the table is one case, or as many as a
column says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dpc.dsl.files import read_text, reason_of
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.joined import can_join, place_name
from dpc.dsl.graph.passes.parts import mark_observed
from dpc.dsl.graph.types import Dim
from dpc.dsl.record import Record
from dpc.dsl.source import Span

from ..data.bind import BoundData, as_raw, bind_data, raw_from_mapping
from ..data.errors import DataError, problem
from ..data.raw import MAX_BYTES, Array, Mask, Raw, RawVariable
from ..data.read import json_of

CASE = "case"


class CaseGroup(Record):
    """Cases of one size: `stacked` by case, `shared` by all; `missing` marks unknown entries."""

    sizes: dict[str, int]
    shared: dict[str, Array]
    stacked: dict[str, Array]
    missing: dict[str, Mask]
    count: int


class Cases(Record):
    """`given` are the draws that the data have values for, in some case at least. `joined` names
    the dim along which one group holds all cases, one after the other. `numbers` say which case of
    the sources each is, group by group; `names` are theirs, as the sources have them.
    """

    groups: tuple[CaseGroup, ...]
    labels: dict[str, tuple[str, ...]]
    given: frozenset[str]
    joined: str = ""
    numbers: tuple[int, ...] = (0,)
    names: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return sum(group.count for group in self.groups)

    def own(self) -> Cases:
        """With arrays of its own: those of a caller may be written to later."""
        groups = []
        for group in self.groups:
            shared = {name: np.array(a) for name, a in group.shared.items()}
            stacked = {name: np.array(a) for name, a in group.stacked.items()}
            groups.append(group.replace(shared=shared, stacked=stacked))
        return self.replace(groups=tuple(groups))


def about_cases(unknowns: Iterable[Node], cases: Cases) -> dict[str, Any]:
    """What every fit says of the cases it was learned from."""
    return {
        "cases": cases.count,
        "labels": cases.labels,
        "types": {node.name: node.type for node in unknowns},
        "sizes": cases.groups[0].sizes,
        "given": tuple(sorted(cases.given)),
    }


def is_read(sources: tuple[Any, ...]) -> bool:
    """Whether the sources are cases already."""
    return len(sources) == 1 and isinstance(sources[0], Cases)


def shape_of(node: Node, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(axis.size or sizes[str(axis)] for axis in node.type.shape)


def first_dim(node: Node) -> str:
    return str(next(iter(node.type.shape), ""))


def draws_of(graph: Graph) -> set[str]:
    return {node.name for node in graph.of_kind(Kind.DRAW)}


def given_by(graph: Graph, raws: list[Raw]) -> set[str]:
    """The inputs and draws that the sources have entries for."""
    found = set()
    for raw in raws:
        for name in raw.variables:
            owner = name if name in graph.by_name or not raw.table else name.rpartition(".")[0]
            if owner in graph.by_name and graph[owner].kind in (Kind.DRAW, Kind.INPUT):
                found.add(owner)
    return found


def bind_case(graph: Graph, raws: list[Raw], sizes: Mapping[str, int] | None) -> BoundData:
    return bind_partly(with_given_observed(graph, raws), raws, sizes)


def with_given_observed(graph: Graph, raws: list[Raw]) -> Graph:
    """Draws that the data give are observed, whatever the file calls them."""
    observed = {node.name for node in graph.of_kind(Kind.DRAW) if node.observed}
    return mark_observed(graph, given_by(graph, raws) | observed)


def bind_partly(graph: Graph, raws: list[Raw], sizes: Mapping[str, int] | None) -> BoundData:
    """Not all that is observed need be there, and entries may be missing."""
    return bind_data(graph, *raws, sizes=sizes, partial=True, missing=True)


def stack_cases(graph: Graph, bounds: list[BoundData]) -> Cases:
    """Cases of the same sizes and entries, each group stacked; a single case needs no axis."""
    if not bounds:
        raise problem("", "there are no cases to learn from")
    draws = draws_of(graph)
    seen: dict[str, Any] = {}
    for bound in bounds:
        seen |= {name: a.flat[0] for name, a in bound.arrays.items() if name in draws}
    found: dict[Any, list[int]] = {}
    opened: list[BoundData] = []
    for number, bound in enumerate(bounds):
        # A draw that other cases have, `seen` with such a value, is missing here altogether.
        arrays, missing = dict(bound.arrays), dict(bound.missing)
        for name in seen:
            if name not in arrays:
                shape = shape_of(graph[name], bound.sizes)
                arrays[name], missing[name] = np.full(shape, seen[name]), np.ones(shape, bool)
        opened.append(bound.replace(arrays=arrays, missing=missing))
        found.setdefault((tuple(bound.sizes.items()), tuple(arrays)), []).append(number)
    groups = tuple(_group([opened[number] for number in numbers]) for numbers in found.values())
    order = tuple(chain.from_iterable(found.values()))
    return Cases(groups, _labels(bounds), frozenset(seen), numbers=order)


def _group(bounds: list[BoundData]) -> CaseGroup:
    first = bounds[0]
    if len(bounds) == 1:
        return CaseGroup(first.sizes, first.arrays, {}, first.missing, 1)
    stacked = {name: np.stack([bound.arrays[name] for bound in bounds]) for name in first.arrays}
    names = {name for bound in bounds for name in bound.missing}
    missing = {}
    for name in names:
        none = np.zeros(first.arrays[name].shape, bool)
        missing[name] = np.stack([bound.missing.get(name, none) for bound in bounds])
    return CaseGroup(first.sizes, {}, stacked, missing, len(bounds))


def _labels(bounds: list[BoundData]) -> dict[str, tuple[str, ...]]:
    """Cases must agree on what the labels of a dim are, where their data say."""
    labels = bounds[0].labels
    for bound in bounds:
        for name, own in bound.labels.items():
            if labels.get(name) != own:
                message = f"cases do not agree on the labels of `{name}`"
                help = "name them in the file: `dim D = a | b`, or give positions"
                raise problem(name, message, help)
    return labels


def cut_cases(graph: Graph, bound: BoundData, dim: str, places: list[Array]) -> Cases:
    """One long case as many: each has the steps at its places along the dim."""
    cut = [name for name in bound.arrays if first_dim(graph[name]) == dim]
    shared = {name: array for name, array in bound.arrays.items() if name not in cut}
    found: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        found.setdefault(len(place), []).append(number)
    groups, numbers = [], []
    for length, group in sorted(found.items()):
        numbers += group
        chosen = np.stack([places[number] for number in group])
        stacked = {name: bound.arrays[name][chosen] for name in cut}
        missing = {n: mask[chosen] if n in cut else mask for n, mask in bound.missing.items()}
        groups.append(CaseGroup({**bound.sizes, dim: length}, shared, stacked, missing, len(group)))
    given = frozenset(cut) & draws_of(graph)
    return Cases(tuple(groups), bound.labels, given, numbers=tuple(numbers))


def settings_for_both(
    graph: Graph, sources: tuple[Any, ...], test: tuple[Any, ...]
) -> list[dict[str, Any]]:
    """What held-out data need not say again: sizes of dims and inputs without rows, where they are
    given by name and the held-out data leave them out.
    """
    said: set[str] = set()
    for source in test:
        listed = _listed(source)
        cases = [(str(source), source)] if listed is None else listed[:1]
        for where, case in cases:
            said |= _raw_case(where, case).variables.keys()
    dims = {dim.name for dim in graph.dims}
    rows = {str(axis) for name in said & draws_of(graph) for axis in graph[name].type.shape}
    found = {}
    for name, value in chain.from_iterable(s.items() for s in sources if isinstance(s, Mapping)):
        node = graph.by_name.get(name)
        is_input = node is not None and node.kind is Kind.INPUT
        axes = {*map(str, node.type.shape)} if node is not None else set()
        is_whole = is_input and not axes & rows and np.ndim(value) == len(axes)
        if name not in said and (name in dims - rows or is_whole):
            found[name] = value
    return [found] if found else []


def bind_one_by_one(
    graph: Graph, cases: list[Raw], others: list[Raw], sizes: Mapping[str, int] | None
) -> Cases:
    bounds = []
    for case in cases:
        try:
            bounds.append(bind_case(graph, [case, *others], sizes))
        except DataError as error:
            raise placed(error, case.where) from None
    return stack_cases(graph, bounds)


def placed(error: DataError, where: str) -> DataError:
    """Problems that have no place of their own are those of the case."""
    return DataError(found.replace(place=found.place or where) for found in error.problems)


def bind_at_once(
    graph: Graph, cases: list[Raw], others: list[Raw], sizes: Mapping[str, int] | None
) -> Cases | None:
    """Thousands of cases bound as one and cut; None if one is wrong or differs in more."""
    dim = _dim_of_cases(graph, cases, others, sizes or {})
    if not dim:
        return None
    columns = {name: [case.variables[name].values for case in cases] for name in cases[0].variables}
    lengths, *same = (np.array([len(a) for a in arrays]) for arrays in columns.values())
    if any((own != lengths).any() for own in same):
        return None
    try:
        long = raw_from_mapping({name: np.concatenate(arrays) for name, arrays in columns.items()})
        bound = bind_case(graph, [long, *others], sizes)
    except (DataError, ValueError):
        return None
    places = np.split(np.arange(lengths.sum()), np.cumsum(lengths)[:-1])
    return cut_cases(graph, bound, dim, places)


def _dim_of_cases(
    graph: Graph, cases: list[Raw], others: list[Raw], sizes: Mapping[str, int]
) -> str:
    """The first dim of all that cases give, where the values of a case size no other dim."""
    names = cases[0].variables.keys() if cases else ()
    nodes = [graph.by_name[name] for name in names if name in graph.by_name]
    dim = first_dim(nodes[0]) if nodes else ""
    if len(cases) < 2 or not dim or dim in sizes or len(nodes) < len(names):
        return ""
    for case in cases:
        if case.variables.keys() != names or not all(map(_is_plain, case.variables.values())):
            return ""
    if not all(node.kind in GIVEN and first_dim(node) == dim for node in nodes):
        return ""
    known = {dim, *sizes, *(str(axis) for node in nodes for axis in node.type.shape)}
    sized = all(own.size is not None or own.name in known for own in graph.dims)
    along = [n for n in graph.of_kind(*GIVEN) if dim in map(str, n.type.shape)]
    inputs = {node.name for node in along if node.kind is Kind.INPUT}
    apart = not {node.name for node in along} & given_by(graph, others) and inputs <= set(names)
    return dim if sized and apart else ""


GIVEN = (Kind.INPUT, Kind.DRAW)


def _is_plain(variable: RawVariable) -> bool:
    """Numbers along axes, of which nothing more is known."""
    named = variable.axes or any(variable.labels) or variable.levels or variable.written
    is_array = variable.values.dtype.kind in "biuf" and variable.values.ndim > 0
    return is_array and variable.missing is None and not named


def read_cases(
    graph: Graph,
    *sources: Any,
    by: str | None = None,
    sizes: Mapping[str, int] | None = None,
    join: bool = True,
) -> Cases:
    """All cases of these sources: files, tables and mappings, or one list of mappings, a case each.
    `by` names a column whose equal values are a case. Cases of many lengths are joined where that
    is possible and wanted: one program is compiled faster than one for each length.
    """
    lists = [_listed(source) for source in sources]
    raws = [as_raw(source) for source, cases in zip(sources, lists, strict=True) if cases is None]
    if len(raws) < len(sources):
        listed = [_raw_case(where, case) for cases in lists for where, case in cases or ()]
        found = bind_at_once(graph, listed, raws, sizes)
        found = found or bind_one_by_one(graph, listed, raws, sizes)
        return join_lengths(graph, found) if join else found
    for raw in raws:
        columns = raw.variables.values() if raw.table else ()
        if columns and all(len(column.values) == 0 for column in columns):
            raise problem("", f"{raw.where} has no rows below its header", place=raw.where)
    if by is not None:
        found = _split_by(graph, raws, by, sizes)
        return join_lengths(graph, found) if join else found
    if any(_rows_are_cases(raw, graph) for raw in raws):
        return _from_rows(graph, raws, sizes)
    return stack_cases(graph, [bind_case(graph, raws, sizes)])


def opened(source: Any) -> Any:
    """What a file holds, so that one that is not there is missed before long work."""
    is_file = isinstance(source, str | os.PathLike)
    return as_raw(source) if is_file and _listed_in_file(source) is None else source


def _listed(source: Any) -> list[tuple[str, Any]] | None:
    """The cases of a list, of a JSON file with one, or of a line each; and where they stand."""
    found, of = _listed_in_file(source), f" of {source}"
    if isinstance(source, list | tuple):
        found, of = list(source), ""
    if found is None:
        return None
    return [(f"case {number}{of}", case) for number, case in enumerate(found, 1)]


def _listed_in_file(source: Any) -> list[Any] | None:
    name = os.fspath(source).lower() if isinstance(source, str | os.PathLike) else ""
    if not name.endswith((".json", ".jsonl")):
        return None
    try:
        text = read_text(source, MAX_BYTES)
    except OSError as error:
        message = f"cannot read {source}: {reason_of(error)}"
        raise problem("", message, place=str(source)) from None
    where = Path(source).name
    if name.endswith(".jsonl"):
        lines = enumerate(text.splitlines(), 1)
        return [json_of(line, f"line {k} of {where}") for k, line in lines if line.strip()]
    return json_of(text, where) if text.lstrip().startswith("[") else None


def _raw_case(where: str, case: Any) -> Raw:
    try:
        return raw_from_mapping(case, where) if isinstance(case, Mapping) else as_raw(case)
    except DataError as error:
        raise placed(error, where) from None


def _rows_are_cases(raw: Raw, graph: Graph) -> bool:
    """Every draw that the source gives has an axis more than the model; else, every input."""
    draws = _excesses(raw, graph, Kind.DRAW)
    return (draws or (_excesses(raw, graph, Kind.INPUT) if raw.table else draws)) == {1}


def _excesses(raw: Raw, graph: Graph, kind: Kind) -> set[int]:
    """How many axes entries have beyond their nodes' own; columns `x.a`, `x.b` are one array."""
    found = set()
    for name, variable in raw.variables.items():
        node = graph.by_name.get(name)
        spread = node is None and raw.table
        if spread:
            node = graph.by_name.get(name.rpartition(".")[0])
        if node is not None and node.kind is kind:
            found.add(variable.values.ndim + spread - len(node.type.shape))
    return found


def _from_rows(graph: Graph, raws: list[Raw], sizes: Mapping[str, int] | None) -> Cases:
    dim = Dim(CASE, None, (), Span(0, 0))
    names = given_by(graph, [raw for raw in raws if _rows_are_cases(raw, graph)])

    def with_axis(node: Node) -> Node:
        shape = (dim, *node.type.shape) if node.name in names else node.type.shape
        return node.replace(type=node.type.replace(shape=shape))

    rows = with_given_observed(graph, raws).replace(dims=(*graph.dims, dim))
    bound = bind_partly(rows.map_nodes(with_axis), raws, sizes)
    count = bound.sizes.pop(CASE)
    stacked = {name: array for name, array in bound.arrays.items() if name in names}
    shared = {name: array for name, array in bound.arrays.items() if name not in names}
    group = CaseGroup(bound.sizes, shared, stacked, bound.missing, count)
    given = frozenset(given_by(graph, raws) & draws_of(graph))
    return Cases((group,), bound.labels, given, numbers=tuple(range(count)))


def _split_by(graph: Graph, raws: list[Raw], by: str, sizes: Mapping[str, int] | None) -> Cases:
    """The table is read as one long case, and cut where it says."""
    tables = [raw for raw in raws if raw.table and by in raw.variables]
    if len(tables) != 1:
        have = sorted({name for raw in raws if raw.table for name in raw.variables})
        message = f"there is no column `{by}` to tell cases apart"
        raise problem(by, message, f"the columns are {', '.join(have)}")
    kept = {name: column for name, column in tables[0].variables.items() if name != by}
    others = [raw for raw in raws if raw is not tables[0]]
    rows = tables[0].replace(variables=kept)
    bound = bind_case(graph, [rows, *others], sizes)
    firsts = {first_dim(graph[name]) for name in given_by(graph, [rows])} - {""}
    if len(firsts) != 1:
        why = "but the columns have no dim of rows in common"
        raise problem(by, f"`{by}` tells cases apart, {why}")
    # The values of the column in the order in which they come, and where each stands.
    column = tables[0].variables[by].values.astype(str)
    values, first, numbers = np.unique(column, return_index=True, return_inverse=True)
    cuts = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    order = np.argsort(first)
    names, places = tuple(str(values[k]) for k in order), [cuts[k] for k in order]
    given = frozenset(given_by(graph, raws) & draws_of(graph))
    return cut_cases(graph, bound, firsts.pop(), places).replace(given=given, names=names)


def join_lengths(graph: Graph, cases: Cases) -> Cases:
    """One group in place of several that differ in the length of one dim alone."""
    first, groups = cases.groups[0], cases.groups
    differ = [n for n, size in first.sizes.items() if any(g.sizes[n] != size for g in groups)]
    if len(differ) != 1 or not can_join(graph, dim := differ[0]):
        return cases
    along = [name for name in {**first.shared, **first.stacked} if first_dim(graph[name]) == dim]
    others = {name: array for name, array in first.shared.items() if name not in along}
    if not all(_differ_along(group, along, others) for group in groups):
        return cases
    lengths = np.concatenate([np.full(group.count, group.sizes[dim]) for group in groups])
    place = np.concatenate([np.arange(length) for length in lengths])
    arrays = {name: np.concatenate([_steps(group, name) for group in groups]) for name in along}
    missing = {}
    for name in {name for group in groups for name in group.missing}:
        missing[name] = np.concatenate([_missing_steps(group, name) for group in groups])
    shared = {**others, **arrays, place_name(dim): place}
    whole = CaseGroup({**first.sizes, dim: len(place)}, shared, {}, missing, cases.count)
    return cases.replace(groups=(whole,), joined=dim)


def _differ_along(group: CaseGroup, along: list[str], others: dict[str, Array]) -> bool:
    """Whether cases have own arrays along the dim alone, and share all else with `others`."""
    shared = {name: array for name, array in group.shared.items() if name not in along}
    equal = shared.keys() == others.keys() and all(
        np.array_equal(shared[name], others[name]) for name in others
    )
    return equal and group.stacked.keys() <= set(along)


def _steps(group: CaseGroup, name: str) -> Array:
    """The steps of all cases of a group one after the other."""
    if name not in group.stacked:
        return group.shared[name]
    array = group.stacked[name]
    return array.reshape(-1, *array.shape[2:])


def _missing_steps(group: CaseGroup, name: str) -> Mask:
    shape = _steps(group, name).shape
    return group.missing[name].reshape(shape) if name in group.missing else np.zeros(shape, bool)
