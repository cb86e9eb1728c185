"""Cases out of files, tables and Python objects.

Rows of a table are cases where the model's variables are single values; where they have a dim of
rows, the table is one case, or as many as a column says.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.joined import can_join, place_name
from dpc.dsl.graph.types import Dim
from dpc.dsl.source import Span

from ..data.bind import as_raw, raw_from_mapping
from ..data.errors import DataError, problem
from ..data.raw import Array, Mask, Raw
from . import cases as own
from .cases import CaseGroup, Cases


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
        found = own.bind_at_once(graph, listed, raws, sizes)
        found = found or own.bind_one_by_one(graph, listed, raws, sizes)
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
    return own.stack_cases(graph, [own.bind_case(graph, raws, sizes)])


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
        text = Path(source).read_text(encoding="utf-8")
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text) if text.lstrip().startswith("[") else None
    except OSError as error:
        message = f"cannot read {source}: {error.strerror or error}"
        raise problem("", message, place=str(source)) from None
    except ValueError as error:
        raise problem("", f"{Path(source).name} is not JSON: {error}", place=str(source)) from None


def _raw_case(where: str, case: Any) -> Raw:
    try:
        return raw_from_mapping(case, where) if isinstance(case, Mapping) else as_raw(case)
    except DataError as error:
        raise own.placed(error, where) from None


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
    dim = Dim(own.CASE, None, (), Span(0, 0))
    names = {
        name for raw in raws if _rows_are_cases(raw, graph) for name in own.given_by(graph, [raw])
    }

    def with_axis(node: Node) -> Node:
        shape = (dim, *node.type.shape) if node.name in names else node.type.shape
        return node.replace(type=node.type.replace(shape=shape))

    given = own.given_by(graph, raws)
    rows = own.with_given_observed(graph, given).replace(dims=(*graph.dims, dim))
    bound = own.bind_partly(rows.map_nodes(with_axis), raws, sizes)
    count = bound.sizes.pop(own.CASE)
    stacked = {name: array for name, array in bound.arrays.items() if name in names}
    shared = {name: array for name, array in bound.arrays.items() if name not in names}
    group = CaseGroup(bound.sizes, shared, stacked, bound.missing, count)
    given_draws = frozenset(given & own.draws_of(graph))
    return Cases((group,), bound.labels, given_draws, numbers=tuple(range(count)))


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
    bound = own.bind_case(graph, [rows, *others], sizes)
    firsts = {own.first_dim(graph[name]) for name in own.given_by(graph, [rows])} - {""}
    if len(firsts) != 1:
        why = "but the columns have no dim of rows in common"
        raise problem(by, f"`{by}` tells cases apart, {why}")
    # The values of the column in the order in which they come, and where each stands.
    column = tables[0].variables[by].values.astype(str)
    values, first, numbers = np.unique(column, return_index=True, return_inverse=True)
    cuts = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    order = np.argsort(first)
    names, places = tuple(str(values[k]) for k in order), [cuts[k] for k in order]
    given = frozenset(own.given_by(graph, raws) & own.draws_of(graph))
    return own.cut_cases(graph, bound, firsts.pop(), places).replace(given=given, names=names)


def join_lengths(graph: Graph, cases: Cases) -> Cases:
    """One group in place of several that differ in the length of one dim alone."""
    first, groups = cases.groups[0], cases.groups
    differ = [n for n, size in first.sizes.items() if any(g.sizes[n] != size for g in groups)]
    if len(differ) != 1 or not can_join(graph, dim := differ[0]):
        return cases
    along = [
        name for name in {**first.shared, **first.stacked} if own.first_dim(graph[name]) == dim
    ]
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
