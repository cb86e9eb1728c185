"""Data to learn from: independent cases of one model, each with values for some of its draws.

A case is a whole run of the model. Cases of one size are kept together, stacked along a new first
axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.parts import mark_observed
from dpc.dsl.record import Record

from ..data.bind import BoundData, bind_data
from ..data.errors import DataError, problem
from ..data.objects import raw_from_mapping
from ..data.raw import Array, Mask, Raw, RawVariable

CASE = "case"


class CaseGroup(Record):
    """Cases of one size. `stacked` arrays have an entry for each case, `shared` are the same for
    all.

    `missing` marks entries that are not known, with the shape of their array.
    """

    sizes: dict[str, int]
    shared: dict[str, Array]
    stacked: dict[str, Array]
    missing: dict[str, Mask]
    count: int

    def own(self) -> CaseGroup:
        shared, stacked = (
            {name: np.array(a) for name, a in held.items()} for held in (self.shared, self.stacked)
        )
        return self.replace(shared=shared, stacked=stacked)


class Cases(Record):
    """`given` are the draws that the data have values for, in some case at least.

    Where the cases are `joined`, one group holds them all, one after the other along the dim of
    that name. `numbers` say which case of the sources each is, group by group; `names` are theirs
    in the order of the sources.
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
        return self.replace(groups=tuple(group.own() for group in self.groups))


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
    return bind_partly(with_given_observed(graph, given_by(graph, raws)), raws, sizes)


def with_given_observed(graph: Graph, given: set[str]) -> Graph:
    """Draws that the data give are observed, whatever the file calls them."""
    observed = {node.name for node in graph.of_kind(Kind.DRAW) if node.observed}
    return mark_observed(graph, given | observed)


def bind_partly(graph: Graph, raws: list[Raw], sizes: Mapping[str, int] | None) -> BoundData:
    """Not all that is observed need be there, and entries may be missing."""
    return bind_data(graph, *raws, sizes=sizes, partial=True, missing=True)


# ---- groups


def stack_cases(graph: Graph, bounds: list[BoundData]) -> Cases:
    """Cases of the same sizes and entries, each group stacked; a single case needs no axis."""
    if not bounds:
        raise problem("", "there are no cases to learn from")
    draws = draws_of(graph)
    seen = {
        name: array.flat[0]
        for bound in bounds
        for name, array in bound.arrays.items()
        if name in draws
    }
    bounds = [_opened(graph, bound, seen) for bound in bounds]
    found: dict[Any, list[int]] = {}
    for number, bound in enumerate(bounds):
        found.setdefault((tuple(bound.sizes.items()), tuple(bound.arrays)), []).append(number)
    groups = tuple(_group([bounds[number] for number in numbers]) for numbers in found.values())
    return Cases(
        groups,
        _labels(bounds),
        frozenset(seen),
        numbers=tuple(n for numbers in found.values() for n in numbers),
    )


def _opened(graph: Graph, bound: BoundData, seen: Mapping[str, Any]) -> BoundData:
    """A draw that other cases have, `seen` with such a value, is missing here altogether."""
    absent = [name for name in seen if name not in bound.arrays]
    shapes = {name: shape_of(graph[name], bound.sizes) for name in absent}
    arrays = {name: np.full(shape, seen[name]) for name, shape in shapes.items()}
    missing = {name: np.ones(shape, bool) for name, shape in shapes.items()}
    return (
        bound.replace(arrays=bound.arrays | arrays, missing=bound.missing | missing)
        if absent
        else bound
    )


def _group(bounds: list[BoundData]) -> CaseGroup:
    first = bounds[0]
    if len(bounds) == 1:
        return CaseGroup(first.sizes, first.arrays, {}, first.missing, 1)
    stacked = {name: np.stack([bound.arrays[name] for bound in bounds]) for name in first.arrays}
    names = {name for bound in bounds for name in bound.missing}
    missing = {name: np.stack([_mask(bound, name) for bound in bounds]) for name in names}
    return CaseGroup(first.sizes, {}, stacked, missing, len(bounds))


def _mask(bound: BoundData, name: str) -> Mask:
    return bound.missing.get(name, np.zeros(bound.arrays[name].shape, bool))


def _labels(bounds: list[BoundData]) -> dict[str, tuple[str, ...]]:
    """Cases must agree on what the labels of a dim are, where their data say."""
    labels = bounds[0].labels
    for bound in bounds:
        for name, own in bound.labels.items():
            if labels.get(name) != own:
                message = f"cases do not agree on the labels of `{name}`"
                raise problem(
                    name, message, "name them in the file: `dim D = a | b`, or give positions"
                )
    return labels


def cut_cases(graph: Graph, bound: BoundData, dim: str, places: list[Array]) -> Cases:
    """One long case as many: each has the steps at its places along the dim."""
    cut = [name for name in bound.arrays if first_dim(graph[name]) == dim]
    found: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        found.setdefault(len(place), []).append(number)
    groups, numbers = [], []
    for length, group in sorted(found.items()):
        numbers += group
        chosen = np.stack([places[number] for number in group])
        stacked = {name: bound.arrays[name][chosen] for name in cut}
        missing = {
            name: mask[chosen] if name in cut else mask for name, mask in bound.missing.items()
        }
        shared = {name: array for name, array in bound.arrays.items() if name not in cut}
        groups.append(CaseGroup({**bound.sizes, dim: length}, shared, stacked, missing, len(group)))
    return Cases(
        tuple(groups), bound.labels, frozenset(cut) & draws_of(graph), numbers=tuple(numbers)
    )


# ---- a list of cases, bound one by one, or all at once where they differ in length alone


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
    """Thousands of cases bound as one long case, and cut: all is checked once, not once for each.

    None where they differ in more than the length of one dim, or something is wrong, which is then
    found one by one.
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
        bound = bind_case(graph, [long, *others], sizes)
    except (DataError, ValueError):
        return None
    return cut_cases(
        graph, bound, dim, np.split(np.arange(lengths[0].sum()), np.cumsum(lengths[0])[:-1])
    )


def _dim_of_cases(
    graph: Graph, cases: list[Raw], others: list[Raw], sizes: Mapping[str, int]
) -> str:
    """The first dim of all that cases give, where the values of a case size no other dim."""
    names = cases[0].variables.keys() if cases else ()
    nodes = [graph.by_name.get(name) for name in names]
    dim = next((first_dim(node) for node in nodes if node is not None), "")
    alike = all(
        case.variables.keys() == names and all(map(_is_plain, case.variables.values()))
        for case in cases
    )
    along = {
        node.name for node in graph.nodes if dim in map(str, node.type.shape) and node.kind in GIVEN
    }
    whole = all(
        node is not None and node.kind in GIVEN and first_dim(node) == dim for node in nodes
    )
    known = {dim, *sizes, *(str(axis) for node in nodes if node for axis in node.type.shape)}
    sized = all(own.size is not None or own.name in known for own in graph.dims)
    inputs = {name for name in along if graph[name].kind is Kind.INPUT}
    apart = not along & given_by(graph, others) and inputs <= set(names) and dim not in sizes
    return dim if alike and whole and sized and apart and len(cases) > 1 else ""


GIVEN = (Kind.INPUT, Kind.DRAW)


def _is_plain(variable: RawVariable) -> bool:
    """Numbers along axes, of which nothing more is known."""
    named = variable.axes or any(variable.labels) or variable.levels or variable.written
    return (
        variable.values.dtype.kind in "biuf"
        and variable.values.ndim > 0
        and variable.missing is None
        and not named
    )
