"""Dims and labels of the file as dims and coordinates of results."""

from collections.abc import Mapping

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.noncentered import is_noncentered
from dpc.dsl.graph.types import Dim

RESERVED = ("chain", "draw")


def dims_of(node: Node) -> tuple[str, ...]:
    """The names of its axes: a second one gets a number, one without a name the node's."""
    found: list[str] = []
    for place, axis in enumerate(node.type.shape):
        name = axis.name if isinstance(axis, Dim) else f"{node.name}_dim_{place}"
        count = sum(other == name or other.startswith(f"{name}_") for other in found)
        name = f"{name}_{count + 1}" if count else name
        found.append(f"{name}_" if name in RESERVED else name)
    return tuple(found)


def coords_of(graph: Graph, labels: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """The labels of every dim that has some, also under its second name."""
    known = {dim.name: labels.get(dim.name) or dim.labels for dim in graph.dims}
    found: dict[str, list[str]] = {}
    for node in graph.nodes:
        for axis, name in zip(node.type.shape, dims_of(node), strict=True):
            if isinstance(axis, Dim) and known.get(axis.name):
                found[name] = list(known[axis.name])
    return found


def centred_draws(graph: Graph) -> tuple[str, ...]:
    """Latent draws over a dim, of random scale: those that `noncentered` is for."""
    latent = [
        node for node in graph.of_kind(Kind.DRAW) if not node.observed and not is_noncentered(node)
    ]
    return tuple(
        node.name
        for node in latent
        if node.plates and any(_has_random_scale(law, graph) for law in node.laws)
    )


def _has_random_scale(law: c.Law, graph: Graph) -> bool:
    return any(_is_random(scale, graph) for scale in law.given(law.facts.location_scale[1:]))


def _is_random(core: c.Core, graph: Graph) -> bool:
    return any(graph[name].random for name in nodes_read(core))
