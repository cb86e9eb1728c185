"""The core language: what expressions mean after checking. Few forms, with type and origin.

Every surface form becomes one of these. Operators and built-in functions are all `Apply`; a table
is a `Lookup`; a conditional table is a Categorical whose probabilities are a Lookup.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ..library.derived import RANGE_ENDS
from ..library.distributions import row_of
from ..library.rows import Distribution
from ..record import Record
from ..source import Span
from .types import Dim, Place, Type

BOUNDS = frozenset({"elbo", "iwae", "renyi"})
"""Functions of the objective alone: bounds on the evidence, by the guide."""

WEIGHED: dict[str, float | int | bool] = {"sum": 0, "prod": 1, "all": True, "any": False}
"""Reductions of which a soft condition is a weight, and what they have where it does not hold."""

LEAVES = frozenset(
    {"Span", "Type", "str", "int", "bool", "float | int | bool", "Dim", "tuple[Bind, ...]"}
)


class Core(Record):
    not_compared: ClassVar[frozenset[str]] = frozenset({"span"})
    leaf_types: ClassVar[frozenset[str]] = LEAVES

    span: Span
    type: Type


class Const(Core):
    """A number, a truth value, or the position of a label."""

    value: float | int | bool


class DimRef(Core):
    """A dim given to a function, as in ones(K)."""

    dim: Dim


class Var(Core):
    """A binder, a parameter of a function or the variable of a loop: known inside alone."""

    name: str


class Ref(Core):
    """Another node of the graph, all of it."""

    name: str


class At(Core):
    """Leading axes of `base` at these indices, each proved to be in range."""

    base: Core
    indices: tuple[Core, ...]


class Apply(Core):
    """A built-in function or operator; `row` is its signature, empty for an operator."""

    function: str
    arguments: tuple[tuple[str, Core], ...]
    row: str = ""


class CallFn(Core):
    """A function of the program, or one that the caller binds from Python."""

    function: str
    arguments: tuple[Core, ...]


class If(Core):
    condition: Core
    then: Core
    otherwise: Core


class Loop(Core):
    """From `start`, `body` is applied while `condition` holds, at most `limit` times."""

    variable: str
    start: Core
    condition: Core
    limit: int
    body: Core


class Bind(Record):
    """`name` runs over the places `low` to `high` of a dim, both included."""

    not_compared: ClassVar[frozenset[str]] = frozenset({"span"})

    span: Span
    name: str
    dim: Dim
    low: Place
    high: Place


class Reduce(Core):
    operator: str
    binders: tuple[Bind, ...]
    where: Core | None
    body: Core


class Build(Core):
    """An array whose leading axes are those of the binders."""

    binders: tuple[Bind, ...]
    body: Core


class Stack(Core):
    items: tuple[Core, ...]


class Lookup(Core):
    """entries[i], where i is the position of the parents' values in row-major order."""

    parents: tuple[Core, ...]
    entries: tuple[Core, ...]


class Law(Record):
    """A distribution with its arguments by name; `row` is the signature that was chosen."""

    not_compared: ClassVar[frozenset[str]] = frozenset({"span"})
    leaf_types: ClassVar[frozenset[str]] = LEAVES

    span: Span
    name: str
    row: str
    arguments: tuple[tuple[str, Core], ...]
    type: Type

    @property
    def facts(self) -> Distribution:
        """All that the library knows of it."""
        return row_of(self.row)

    @property
    def is_truncated(self) -> bool:
        """Whether it is cut to a declared range."""
        return any(name in RANGE_ENDS for name, _ in self.arguments)

    def given(self, names: Iterable[str]) -> list[Core]:
        """The arguments of these names, as far as they are given."""
        return [core for name, core in self.arguments if name in names]


class LogDensity(Core):
    """A log density at a value; `frozen` parameters have no derivatives.

    Tables and bounds look at values within the support. What is `asked` in the text may be outside.
    `limited` says that where it is minus infinity its derivative is told as in `steep`.
    """

    law: Law
    value: Core
    frozen: bool = False
    asked: bool = False
    limited: bool = False


class Moment(Core):
    """The `mean`, the `variance` or the `entropy` of a distribution, as a number."""

    law: Law
    name: str


class Cdf(Core):
    """The probability that a distribution gives to all up to a value, or above it.

    What is `asked` in the text may have a kink at the ends of the support.
    """

    law: Law
    value: Core
    upper: bool = False
    log: bool = False
    asked: bool = False


class Quantile(Core):
    """The value up to which a distribution has this probability."""

    law: Law
    probability: Core


class Divergence(Core):
    """KL(law, other), as a number in an expression; bounds have it where a closed form exists."""

    law: Law
    other: Law


Tree = TypeVar("Tree", bound="Core | Law")


def parts(core: Core | Law) -> list[Core]:
    """The expressions directly inside this one."""
    found: list[Core] = []
    content = core.__dict__
    for name in core.branches:
        value = content[name]
        if type(value) is not tuple:
            if value is not None:
                found.append(value)
        elif value and type(value[0]) is tuple:
            found += [argument for _, argument in value]
        else:
            found += value
    return found


def map_parts(core: Tree, change: Callable[[Any], Core | Law]) -> Tree:
    """The same form with every expression directly inside it changed; itself when nothing is."""
    content = core.__dict__
    mapped = {name: _mapped(content[name], change) for name in core.branches}
    changed = {name: value for name, value in mapped.items() if value is not content[name]}
    result: Tree = core.replace(**changed) if changed else core  # type: ignore[assignment]
    return result


def _mapped(value: Any, change: Callable[[Any], Core | Law]) -> Any:
    if isinstance(value, Core | Law):
        return change(value)
    if type(value) is tuple:
        mapped = tuple(_mapped(item, change) for item in value)
        return value if all(map(operator.is_, mapped, value)) else mapped
    return value


def rename(tree: Any, old: str, new: str) -> Any:
    """The same expression with the variable `old` called `new`."""
    if isinstance(tree, Var):
        return tree.replace(name=new) if tree.name == old else tree
    if isinstance(tree, Core | Law):
        inner = {name: rename(tree.__dict__[name], old, new) for name in tree.branches}
        return tree.replace(**inner)
    return tuple(rename(item, old, new) for item in tree) if type(tree) is tuple else tree


def walk(core: Core | Law) -> Iterator[Core | Law]:
    """This expression and all inside it, in the order of the text."""
    waiting: list[Core | Law] = [core]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(parts(found))
