"""A list of cases, bound one by one, or all at once where they differ in length alone."""

from collections.abc import Mapping

import numpy as np

from dpc.dsl.graph.graph import Graph, Kind

from ..data.errors import DataError
from ..data.objects import raw_from_mapping
from ..data.raw import Raw, RawVariable
from .cases import Cases, bind_case, cut_cases, first_dim, given_by, stack_cases


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
