"""The variables that a statement reads, and the parts of them that get noise one by one."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from ..library.functions import FUNCTIONS
from . import core as c
from .dependence import offset_of, reads
from .typed import Setting
from .types import Real

COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal"})
HARD_ROWS = frozenset(row.text for row in FUNCTIONS if row.jumps)


def real_names(core: c.Core) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(ref.name for ref, _ in reads(core) if isinstance(ref.type.domain, Real))
    )


def noisy_names(body: c.Core, setting: Setting) -> tuple[str, ...]:
    """The variables named by `over=`, or else all real ones that the statement mentions."""
    return tuple(str(value) for name, value in setting.options if name == "over") or real_names(
        body
    )


def noisy_inputs(body: c.Core, names: Iterable[str]) -> tuple[c.Core, ...]:
    """What is read of each variable, part by part; all of it where parts may coincide."""
    inner = frozenset(_inner_names(body))
    found: list[c.Core] = []
    for name in names:
        own = dict.fromkeys(read for ref, read in reads(body) if ref.name == name)
        whole = next(ref for ref, _ in reads(body) if ref.name == name)
        apart = all(_is_fixed(read, inner) for read in own) and all(
            _differ(a, b) for a, b in combinations(own, 2)
        )
        found += own if apart else [whole]
    return tuple(found)


def _inner_names(body: c.Core) -> Iterator[str]:
    for core in c.walk(body):
        if isinstance(core, c.Reduce | c.Build):
            yield from (bind.name for bind in core.binders)
        elif isinstance(core, c.Loop):
            yield core.variable


def _is_fixed(read: c.Core, inner: frozenset[str]) -> bool:
    """One element all through: its indices are the target's binders, data and constants."""
    indices = read.indices if isinstance(read, c.At) else ()
    return not any(
        (isinstance(x, c.Var) and x.name in inner)
        or (isinstance(x, c.Ref) and isinstance(x.type.domain, Real))
        for index in indices
        for x in c.walk(index)
    )


def _differ(a: c.Core, b: c.Core) -> bool:
    """Two reads that never meet: one index has the same binder and another offset."""
    if not (isinstance(a, c.At) and isinstance(b, c.At)):
        return False
    for first, second in zip(map(offset_of, a.indices), map(offset_of, b.indices), strict=False):
        if first and second and first[0] == second[0] and first[1] != second[1]:
            return True
    return False


def substitute(tree: Any, new: Mapping[c.Core, c.Core]) -> Any:
    """The same expression with every key of `new` replaced by its value."""
    if isinstance(tree, c.Core):
        if tree in new:
            return new[tree]
        return tree.replace(
            **{name: substitute(tree.__dict__[name], new) for name in tree.branches}
        )
    return tuple(substitute(item, new) for item in tree) if type(tree) is tuple else tree


def is_hard(core: c.Core | c.Law) -> bool:
    """An operation whose value jumps when its real arguments move."""
    if isinstance(core, c.Reduce):
        return core.operator in ("argmax", "argmin")
    return isinstance(core, c.Apply) and (core.function in COMPARISONS or core.row in HARD_ROWS)
