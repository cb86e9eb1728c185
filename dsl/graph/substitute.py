"""Values in the place of variables, and new names for what an expression binds."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import TypeVar

from . import core as c

Tree = TypeVar("Tree", bound=c.Core | c.Law)


def substitute(tree: Tree, values: Mapping[str, c.Core]) -> Tree:
    """The expression with values for its variables; what it binds is renamed apart."""
    taken = {name for value in values.values() for name in names_in(value)}

    def change(part: c.Core | c.Law) -> c.Core | c.Law:
        return values.get(part.name, part) if isinstance(part, c.Var) else c.map_parts(part, change)

    found: Tree = change(renamed_apart(tree, taken | set(values)))  # type: ignore[assignment]
    return found


def exchange(tree: Tree, new: Mapping[c.Core, c.Core]) -> Tree:
    """The same expression with every key of `new` replaced by its value."""
    found: Tree = new[tree] if tree in new else c.map_parts(tree, lambda part: exchange(part, new))  # type: ignore[index,assignment]
    return found


def renamed_apart(tree: Tree, taken: set[str]) -> Tree:
    """The same expression with other names for those variables it binds whose names are taken."""
    used = taken | names_in(tree)
    names: dict[str, str] = {}
    for name in sorted(bound_in(tree) & taken):
        names[name] = next(new for number in count(2) if (new := f"{name}{number}") not in used)
        used.add(names[name])
    return renamed(tree, lambda name: names.get(name, name)) if names else tree


def renamed(tree: Tree, new: Callable[[str], str]) -> Tree:
    """The same expression with new names for all that it binds."""
    found: Tree = _renamed(tree, new)  # type: ignore[assignment]
    return found


def _renamed(tree: c.Core | c.Law, new: Callable[[str], str]) -> c.Core | c.Law:
    inner: c.Core | c.Law = c.map_parts(tree, lambda part: _renamed(part, new))
    if isinstance(inner, c.Loop):
        name = new(inner.variable)
        condition, body = (
            c.rename(part, inner.variable, name) for part in (inner.condition, inner.body)
        )
        return inner.replace(variable=name, condition=condition, body=body)
    if not isinstance(inner, c.Reduce | c.Build):
        return inner
    binders = inner.binders
    for bind in binders:
        inner = c.map_parts(inner, lambda part, old=bind.name: c.rename(part, old, new(old)))  # type: ignore[misc]
    return inner.replace(binders=tuple(bind.replace(name=new(bind.name)) for bind in binders))


def bound_in(tree: c.Core | c.Law) -> set[str]:
    """The binders and loop variables inside an expression."""
    parts = list(c.walk(tree))
    loops = {part.variable for part in parts if isinstance(part, c.Loop)}
    binding = (part.binders for part in parts if isinstance(part, c.Reduce | c.Build))
    return loops | {bind.name for binders in binding for bind in binders}


def names_in(tree: c.Core | c.Law) -> set[str]:
    """All variables, whether bound inside the expression or outside of it."""
    return bound_in(tree) | {part.name for part in c.walk(tree) if isinstance(part, c.Var)}
