"""What a sum can leave out: a conditional table sums to one over a child nobody reads."""

from collections.abc import Collection, Sequence

from ..factors.factor_graph import Name


def without_barren(
    scopes: Sequence[tuple[Name, ...]], children: Sequence[Name | None], needed: Collection[Name]
) -> list[int]:
    """Positions of the factors that matter: barren children (in one table) go, repeatedly."""
    holders: dict[Name, set[int]] = {}
    for i, scope in enumerate(scopes):
        for name in scope:
            holders.setdefault(name, set()).add(i)
    waiting = [i for i, child in enumerate(children) if child is not None]
    gone: set[int] = set()
    while waiting:
        i = waiting.pop()
        child = children[i]
        if i in gone or child is None or child in needed or holders[child] != {i}:
            continue
        gone.add(i)
        for name in scopes[i]:
            holders[name].discard(i)
            if len(holders[name]) == 1:
                waiting.extend(j for j in holders[name] if children[j] == name)
    return [i for i in range(len(scopes)) if i not in gone]
