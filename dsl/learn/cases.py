"""Data to learn from: independent cases of one model, each with values for some of its draws.

A case is a whole run of the model. Rows of a table are cases where the model's variables are single values; where they
have a dim of rows, the table is one case. Cases of one size are kept together, stacked along a new first axis.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..data.bind import Bound, bind_data
from ..data.errors import DataError, problem
from ..data.objects import as_raw, raw_from_mapping
from ..data.raw import Array, Mask, Raw, Variable
from ..graph import Graph, Kind, Node
from ..record import Record
from ..source import Span
from ..types import Dim
from .join import can_join, place_name

CASE = "case"


class Group(Record):
    """Cases of one size. `stacked` arrays have an entry for each case, `shared` are the same for all.

    `missing` marks entries that are not known, with the shape of their array.
    """

    sizes: dict[str, int]
    shared: dict[str, Array]
    stacked: dict[str, Array]
    missing: dict[str, Mask]
    count: int


class Cases(Record):
    """`given` are the draws that the data have values for, in some case at least.

    Where the cases are `joined`, one group holds them all, one after the other along the dim of that name.
    `numbers` say which case of the sources each is, group by group; `names` are theirs in the order of the sources.
    """

    groups: tuple[Group, ...]
    labels: dict[str, tuple[str, ...]]
    given: frozenset[str]
    joined: str = ""
    numbers: tuple[int, ...] = (0,)
    names: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return sum(group.count for group in self.groups)


def read_cases(
    graph: Graph,
    *sources: Any,
    by: str | None = None,
    sizes: Mapping[str, int] | None = None,
    join: bool = True,
) -> Cases:
    """All cases of these sources: files, tables and mappings, or one list of mappings, a case each.

    `by` names a column of a table whose equal values are a case. Cases of many lengths are joined where that is
    possible and wanted: one program for all is compiled faster than one for each length.
    """
    listed = [cases for source in sources if (cases := _listed(source)) is not None]
    if listed:
        others = [as_raw(source) for source in sources if _listed(source) is None]
        raws = [_raw_case(where, case) for cases in listed for where, case in cases]
        found = _bind_at_once(graph, raws, others, sizes) or _bind_one_by_one(graph, raws, others, sizes)
        return _join(graph, found) if join else found
    raws = [as_raw(source) for source in sources]
    for raw in raws:
        if raw.table and raw.variables and all(len(column.values) == 0 for column in raw.variables.values()):
            raise problem("", f"{raw.where} has no rows below its header", place=raw.where)
    if by is not None:
        found = _split_by(graph, raws, by, sizes)
        return _join(graph, found) if join else found
    if any(_rows_are_cases(raw, graph) for raw in raws):
        return _from_rows(graph, raws, sizes)
    return _stack(graph, [_bind(graph, raws, sizes)])


def _listed(source: Any) -> list[tuple[str, Any]] | None:
    """The cases of a list, or of a JSON file that holds one, or one on each line; and where each stands."""
    found = list(source) if isinstance(source, list | tuple) else _listed_in_file(source)
    of = "" if isinstance(source, list | tuple) else f" of {source}"
    return None if found is None else [(f"case {number}{of}", case) for number, case in enumerate(found, 1)]


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
        raise problem("", f"cannot read {source}: {error.strerror or error}", place=str(source)) from None
    except ValueError as error:
        raise problem("", f"{Path(source).name} is not JSON: {error}", place=str(source)) from None


# ---- one case for each row


def _rows_are_cases(raw: Raw, graph: Graph) -> bool:
    """Every draw that the source gives has one axis more than the model says; of a table without draws, every input."""
    draws = _excesses(raw, graph, Kind.DRAW)
    return (draws or (_excesses(raw, graph, Kind.INPUT) if raw.table else draws)) == {1}


def _excesses(raw: Raw, graph: Graph, kind: Kind) -> set[int]:
    return {excess for name in raw.variables if (excess := _excess(raw, name, graph, kind)) is not None}


def _excess(raw: Raw, name: str, graph: Graph, kind: Kind) -> int | None:
    """How many axes the entry has beyond those of its node; columns `x.a`, `x.b` are one array."""
    node = graph.by_name.get(name)
    spread = node is None and raw.table
    if spread:
        node = graph.by_name.get(name.rpartition(".")[0])
    if node is None or node.kind is not kind:
        return None
    return raw.variables[name].values.ndim + spread - len(node.type.shape)


def _from_rows(graph: Graph, raws: list[Raw], sizes: Mapping[str, int] | None) -> Cases:
    dim = Dim(CASE, None, (), Span(0, 0))
    names = {name for raw in raws if _rows_are_cases(raw, graph) for name in _given(graph, [raw])}

    def with_axis(node: Node) -> Node:
        return node.replace(type=node.type.replace(shape=(dim, *node.type.shape))) if node.name in names else node

    given = _given(graph, raws)
    bound = _bind_observed(graph.replace(dims=(*graph.dims, dim)).map_nodes(with_axis), given, raws, sizes)
    count = bound.sizes.pop(CASE)
    stacked = {name: array for name, array in bound.arrays.items() if name in names}
    shared = {name: array for name, array in bound.arrays.items() if name not in names}
    group = Group(bound.sizes, shared, stacked, bound.missing, count)
    return Cases((group,), bound.labels, frozenset(given & _draws(graph)), numbers=tuple(range(count)))


# ---- one case for each value of a column


def _split_by(graph: Graph, raws: list[Raw], by: str, sizes: Mapping[str, int] | None) -> Cases:
    """The table is read as one long case, and cut where it says."""
    tables = [raw for raw in raws if raw.table and by in raw.variables]
    if len(tables) != 1:
        have = sorted({name for raw in raws if raw.table for name in raw.variables})
        raise problem(by, f"there is no column `{by}` to tell cases apart", f"the columns are {', '.join(have)}")
    kept = {name: column for name, column in tables[0].variables.items() if name != by}
    others = [raw for raw in raws if raw is not tables[0]]
    rows = tables[0].replace(variables=kept)
    bound = _bind(graph, [rows, *others], sizes)
    dim = _row_dim(graph, _given(graph, [rows]), by)
    names, places = _places(tables[0].variables[by].values)
    given = frozenset(_given(graph, raws) & _draws(graph))
    return _cut(graph, bound, dim, places).replace(given=given, names=names)


def _cut(graph: Graph, bound: Bound, dim: str, places: list[Array]) -> Cases:
    """One long case as many: each has the steps at its places along the dim."""
    cut = [name for name in bound.arrays if _first_dim(graph[name]) == dim]
    found: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        found.setdefault(len(place), []).append(number)
    groups, numbers = [], []
    for length, group in sorted(found.items()):
        numbers += group
        chosen = np.stack([places[number] for number in group])
        stacked = {name: bound.arrays[name][chosen] for name in cut}
        missing = {name: mask[chosen] if name in cut else mask for name, mask in bound.missing.items()}
        shared = {name: array for name, array in bound.arrays.items() if name not in cut}
        groups.append(Group({**bound.sizes, dim: length}, shared, stacked, missing, len(group)))
    return Cases(tuple(groups), bound.labels, frozenset(cut) & _draws(graph), numbers=tuple(numbers))


def _row_dim(graph: Graph, names: Iterable[str], by: str) -> str:
    """The dim along which the rows of a table lie."""
    firsts = {_first_dim(graph[name]) for name in names} - {""}
    if len(firsts) != 1:
        raise problem(by, f"`{by}` tells cases apart, but the columns have no dim of rows in common")
    return firsts.pop()


def _places(values: Array) -> tuple[tuple[str, ...], list[Array]]:
    """The values of the column in the order in which they come, and where each stands."""
    names, first, numbers = np.unique(values.astype(str), return_index=True, return_inverse=True)
    cuts = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    order = np.argsort(first)
    return tuple(str(names[k]) for k in order), [cuts[k] for k in order]


# ---- one case for each item of a list


def _raw_case(where: str, case: Any) -> Raw:
    try:
        return raw_from_mapping(case, where) if isinstance(case, Mapping) else as_raw(case)
    except DataError as error:
        raise _placed(error, where) from None


def _bind_one_by_one(graph: Graph, cases: list[Raw], others: list[Raw], sizes: Mapping[str, int] | None) -> Cases:
    bounds = []
    for case in cases:
        try:
            bounds.append(_bind(graph, [case, *others], sizes))
        except DataError as error:
            raise _placed(error, case.where) from None
    return _stack(graph, bounds)


def _placed(error: DataError, where: str) -> DataError:
    """Problems that have no place of their own are those of the case."""
    return DataError(found.replace(place=found.place or where) for found in error.problems)


def _bind_at_once(graph: Graph, cases: list[Raw], others: list[Raw], sizes: Mapping[str, int] | None) -> Cases | None:
    """Thousands of cases bound as one long case, and cut: all is checked once, not once for each.

    None where they differ in more than the length of one dim, or something is wrong, which is then found one by one.
    """
    dim = _dim_of_cases(graph, cases, others, sizes or {})
    if not dim:
        return None
    columns = {name: [case.variables[name].values for case in cases] for name in cases[0].variables}
    lengths = [np.array([len(array) for array in arrays]) for arrays in columns.values()]
    if any((own != lengths[0]).any() for own in lengths):
        return None
    try:
        long = raw_from_mapping({name: np.concatenate(arrays) for name, arrays in columns.items()})
        bound = _bind(graph, [long, *others], sizes)
    except ValueError:
        return None
    return _cut(graph, bound, dim, np.split(np.arange(lengths[0].sum()), np.cumsum(lengths[0])[:-1]))


def _dim_of_cases(graph: Graph, cases: list[Raw], others: list[Raw], sizes: Mapping[str, int]) -> str:
    """The dim that is the first of all that cases give, where no other dim gets its size from the values of a case."""
    names = cases[0].variables.keys() if cases else ()
    nodes = [graph.by_name.get(name) for name in names]
    dim = next((_first_dim(node) for node in nodes if node is not None), "")
    alike = all(case.variables.keys() == names and all(map(_is_plain, case.variables.values())) for case in cases)
    along = {node.name for node in graph.nodes if dim in map(str, node.type.shape) and node.kind in GIVEN}
    whole = all(node is not None and node.kind in GIVEN and _first_dim(node) == dim for node in nodes)
    known = {dim, *sizes, *(str(axis) for node in nodes if node for axis in node.type.shape)}
    sized = all(own.size is not None or own.name in known for own in graph.dims)
    inputs = {name for name in along if graph[name].kind is Kind.INPUT}
    apart = not along & _given(graph, others) and inputs <= set(names) and dim not in sizes
    return dim if alike and whole and sized and apart and len(cases) > 1 else ""


GIVEN = (Kind.INPUT, Kind.DRAW)


def _is_plain(variable: Variable) -> bool:
    """Numbers along axes, of which nothing more is known."""
    named = variable.axes or any(variable.labels) or variable.levels or variable.written
    return variable.values.dtype.kind in "biuf" and variable.values.ndim > 0 and variable.missing is None and not named


# ---- joining


def _join(graph: Graph, cases: Cases) -> Cases:
    """One group in place of several that differ in the length of one dim alone."""
    first = cases.groups[0]
    different = {name for group in cases.groups for name, size in group.sizes.items() if size != first.sizes[name]}
    if len(different) != 1 or not can_join(graph, dim := different.pop()):
        return cases
    along = [name for name in {**first.shared, **first.stacked} if _first_dim(graph[name]) == dim]
    others = {name: array for name, array in first.shared.items() if name not in along}
    if not all(_differ_along(group, along, others) for group in cases.groups):
        return cases
    lengths = np.concatenate([np.full(group.count, group.sizes[dim]) for group in cases.groups])
    place = np.concatenate([np.arange(length) for length in lengths])
    arrays = {name: np.concatenate([_steps(group, name) for group in cases.groups]) for name in along}
    masked = {name for group in cases.groups for name in group.missing}
    missing = {name: np.concatenate([_missing_steps(group, name) for group in cases.groups]) for name in masked}
    shared = {**others, **arrays, place_name(dim): place}
    whole = Group({**first.sizes, dim: len(place)}, shared, {}, missing, cases.count)
    return cases.replace(groups=(whole,), joined=dim)


def _differ_along(group: Group, along: list[str], others: dict[str, Array]) -> bool:
    """Whether cases have arrays of their own along the dim alone, and all else in common with `others`."""
    shared = {name: array for name, array in group.shared.items() if name not in along}
    equal = shared.keys() == others.keys() and all(np.array_equal(shared[name], others[name]) for name in others)
    return equal and group.stacked.keys() <= set(along)


def _steps(group: Group, name: str) -> Array:
    """The steps of all cases of a group one after the other."""
    if name not in group.stacked:
        return group.shared[name]
    array = group.stacked[name]
    return array.reshape(-1, *array.shape[2:])


def _missing_steps(group: Group, name: str) -> Mask:
    steps = _steps(group, name)
    return group.missing[name].reshape(steps.shape) if name in group.missing else np.zeros(steps.shape, bool)


# ---- binding


def shape_of(node: Node, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(axis.size or sizes[str(axis)] for axis in node.type.shape)


def _first_dim(node: Node) -> str:
    return str(next(iter(node.type.shape), ""))


def _draws(graph: Graph) -> set[str]:
    return {node.name for node in graph.of_kind(Kind.DRAW)}


def _given(graph: Graph, raws: list[Raw]) -> set[str]:
    """The inputs and draws that the sources have entries for."""
    found = set()
    for raw in raws:
        for name in raw.variables:
            owner = name if name in graph.by_name or not raw.table else name.rpartition(".")[0]
            if owner in graph.by_name and graph[owner].kind in (Kind.DRAW, Kind.INPUT):
                found.add(owner)
    return found


def _bind(graph: Graph, raws: list[Raw], sizes: Mapping[str, int] | None) -> Bound:
    return _bind_observed(graph, _given(graph, raws), raws, sizes)


def _bind_observed(graph: Graph, given: set[str], raws: list[Raw], sizes: Mapping[str, int] | None) -> Bound:
    """Draws that the data give are observed, whatever the file calls them; missing entries are allowed."""
    seen = graph.map_nodes(lambda n: n.replace(observed=n.observed or (n.kind is Kind.DRAW and n.name in given)))
    return bind_data(seen, *raws, sizes=sizes, partial=True, missing=True)


def _stack(graph: Graph, bounds: list[Bound]) -> Cases:
    """Cases of the same sizes and entries, each group stacked; a single case needs no axis."""
    if not bounds:
        raise problem("", "there are no cases to learn from")
    draws = _draws(graph)
    seen = {name: array.flat[0] for bound in bounds for name, array in bound.arrays.items() if name in draws}
    bounds = [_opened(graph, bound, seen) for bound in bounds]
    found: dict[Any, list[int]] = {}
    for number, bound in enumerate(bounds):
        found.setdefault((tuple(bound.sizes.items()), tuple(bound.arrays)), []).append(number)
    groups = tuple(_group([bounds[number] for number in numbers]) for numbers in found.values())
    return Cases(
        groups, _labels(bounds), frozenset(seen), numbers=tuple(n for numbers in found.values() for n in numbers)
    )


def _opened(graph: Graph, bound: Bound, seen: Mapping[str, Any]) -> Bound:
    """A draw that other cases have, `seen` with such a value, is missing here in all its entries."""
    absent = [name for name in seen if name not in bound.arrays]
    shapes = {name: shape_of(graph[name], bound.sizes) for name in absent}
    arrays = {name: np.full(shape, seen[name]) for name, shape in shapes.items()}
    missing = {name: np.ones(shape, bool) for name, shape in shapes.items()}
    return bound.replace(arrays=bound.arrays | arrays, missing=bound.missing | missing) if absent else bound


def _group(bounds: list[Bound]) -> Group:
    first = bounds[0]
    if len(bounds) == 1:
        return Group(first.sizes, first.arrays, {}, first.missing, 1)
    stacked = {name: np.stack([bound.arrays[name] for bound in bounds]) for name in first.arrays}
    names = {name for bound in bounds for name in bound.missing}
    missing = {name: np.stack([_mask(bound, name) for bound in bounds]) for name in names}
    return Group(first.sizes, {}, stacked, missing, len(bounds))


def _mask(bound: Bound, name: str) -> Mask:
    return bound.missing.get(name, np.zeros(bound.arrays[name].shape, bool))


def _labels(bounds: list[Bound]) -> dict[str, tuple[str, ...]]:
    """Cases must agree on what the labels of a dim are, where their data say."""
    labels = bounds[0].labels
    for bound in bounds:
        for name, own in bound.labels.items():
            if labels.get(name) != own:
                message = f"cases do not agree on the labels of `{name}`"
                raise problem(name, message, "name them in the file: `dim D = a | b`, or give positions")
    return labels
