"""The variables that a statement reads, and the parts of them that get noise one by one."""

from collections.abc import Iterable
from itertools import combinations

from . import core as c
from .dependence import offset_of, reads
from .substitute import bound_in
from .typed import Setting
from .types import Real


def noisy_names(body: c.Core, setting: Setting) -> tuple[str, ...]:
    """The variables named by `over=`, or else all real ones that the statement mentions."""
    over = tuple(str(value) for name, value in setting.options if name == "over")
    real = (ref.name for ref, _ in reads(body) if isinstance(ref.type.domain, Real))
    return over or tuple(dict.fromkeys(real))


def noisy_inputs(body: c.Core, names: Iterable[str]) -> tuple[c.Core, ...]:
    """What is read of each variable, part by part; all of it where parts may coincide."""
    inner = bound_in(body)
    found: list[c.Core] = []
    for name in names:
        own = dict.fromkeys(read for ref, read in reads(body) if ref.name == name)
        whole = next(ref for ref, _ in reads(body) if ref.name == name)
        fixed = all(_is_fixed(read, inner) for read in own)
        apart = fixed and all(_differ(a, b) for a, b in combinations(own, 2))
        found += own if apart else [whole]
    return tuple(found)


def _is_fixed(read: c.Core, inner: set[str]) -> bool:
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
    pairs = zip(map(offset_of, a.indices), map(offset_of, b.indices), strict=False)
    return any(x and y and x[0] == y[0] and x[1] != y[1] for x, y in pairs)
