"""A network with its marginals in its nodes: one chart for every variable, arrows from parents to
children.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

from ...finite.discrete import Discrete
from . import picture as p

LARGEST = 400


def picture_of_marginals(
    title: str, discrete: Discrete, marginals: Mapping[str, Any], given: Collection[str]
) -> p.Picture:
    if len(marginals) > LARGEST:
        raise ValueError(
            f"a picture of {len(marginals):,} variables cannot be read: ask for fewer, at most "
            f"{LARGEST}"
        )
    kind = p.Kind.DRAW if discrete.directed else p.Kind.LATENT
    boxes = [
        p.Box(
            name,
            name,
            kind,
            name in given,
            bars=tuple(zip(discrete.states[name], table.tolist(), strict=True)),
        )
        for name, table in marginals.items()
    ]
    arrows: dict[tuple[str, str], p.Arrow] = {}
    for factor in discrete.factors.factors:
        for arrow in _arrows([str(v) for v in factor.variables], factor.child, marginals):
            arrows.setdefault((arrow.source, arrow.target), arrow)
    return p.Picture(title, tuple(boxes), tuple(arrows.values()))


def _arrows(variables: list[str], child: object, shown: Collection[str]) -> list[p.Arrow]:
    """From each parent to the child; between all of a factor without one."""
    if child is not None:
        parents = [v for v in variables if v != child and v in shown]
        return [p.Arrow(parent, str(child)) for parent in parents] if child in shown else []
    pairs = combinations([v for v in variables if v in shown], 2)
    return [p.Arrow(a, b, directed=False) for a, b in pairs]
