"""Values, what names mean where they are lowered, and what the program needs because of it."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from ast import Name
from collections.abc import Mapping, Sequence, Set

from ..graph import core as c
from ..graph.graph import Graph
from ..graph.typed import Function, Setting
from ..graph.types import Dim, Fixed, Place
from ..record import NOTHING, Record
from . import code as py
from .code import ALL, NEW_AXIS, Code, call, const, index, infix, name, pack, without_tail


class Value(Record):
    """A Python expression on its way into the program: its code, and what its axes are.

    A value computed inside `x[i in D, j in E] = ...` is an array for all i and j at once: `axes`
    are the binders that it depends on, outermost first, and after them come the `rank` axes of the
    value itself.
    """

    code: Code
    axes: tuple[str, ...] = ()
    rank: int = 0


def joint_axes(values: Sequence[Value], order: tuple[str, ...]) -> tuple[str, ...]:
    """All axes that any of the values has, in the order of the binders."""
    used = {axis for value in values for axis in value.axes}
    return tuple(axis for axis in order if axis in used)


def align(value: Value, axes: tuple[str, ...], rank: int) -> Value:
    """The value with an axis of length one for each axis that it lacks; plain numbers stay."""
    is_number = not value.axes and not value.rank
    if is_number or (value.axes == axes and value.rank == rank):
        return value
    wanted = tuple(axis for axis in axes if axis in value.axes)
    if wanted != value.axes:  # in the order of the binders
        places = [value.axes.index(axis) for axis in wanted]
        places += range(len(value.axes), len(value.axes) + value.rank)
        code = call("jnp.transpose", value.code, pack(map(const, places)))
        value = Value(code, wanted, value.rank)
    marks = [ALL if axis in value.axes else NEW_AXIS for axis in axes]
    marks += [NEW_AXIS] * (rank - value.rank)
    if NEW_AXIS not in marks:
        return value
    return Value(index(value.code, *without_tail(marks + [ALL] * value.rank)), axes, rank)


class Carried(Record):
    """A member of a recurrence inside a step along `axis`, `lag` steps back it is `back[lag]`.

    `fixed` are values at places that the statements name, `binder` is what they call the step,
    `place` the step's number where it is known. Within one step a member may itself be built step
    by step along another axis: then `back[0]` is again a Carried.
    """

    axis: int
    back: dict[int, Code | Carried]
    fixed: dict[int, Code]
    reverse: bool = False
    binder: str = ""
    place: int | None = None

    def lag(self, offset: tuple[str | None, int] | None) -> int | None:
        """How many steps back an index points, or None when it does not follow the step."""
        if offset is None:
            return None
        name, value = offset
        steps = -value if name and name == self.binder else None
        if name is None and self.place is not None and (value < 0) == (self.place < 0):
            steps = self.place - value
        return steps if steps is None or not self.reverse else -steps

    def at(self, offset: tuple[str | None, int] | None) -> Code | Carried | None:
        """The value of the member where an index points, if that is done."""
        lag = self.lag(offset)
        if lag is not None:
            return self.back.get(lag)
        return self.fixed.get(offset[1]) if offset else None


INLINE = 40
"""A written-out array longer than this is a constant of the program, with a name of its own."""


class Needs:
    """Helpers and constants that the expressions use, in the order of first use."""

    def __init__(
        self, reserved: frozenset[str] = frozenset(), functions: Sequence[Function] = ()
    ) -> None:
        self.reserved = reserved
        self.functions = {function.name: function for function in functions}
        self.helpers: dict[str, None] = {}
        self.constants: dict[str, object] = {}

    def helper(self, name: str) -> str:
        """The name as the program writes it: jax paths are there already, others are printed."""
        if "." not in name:
            self.helpers.setdefault(name)
        return name

    def constant(self, owner: str, numbers: object) -> Code:
        """Numbers in nested lists: as they are when few, under a name of the owner's when many."""
        text = repr(numbers)  # `1`, `1.0` and `True` are equal to Python, and make different arrays
        if len(text) <= INLINE or not owner:
            return py.nested(numbers)
        stem = free_name(f"{owner.upper()}_TABLE", frozenset())
        found, count = stem, 1
        while found in self.constants and repr(self.constants[found]) != text:
            count += 1
            found = f"{stem}_{count}"
        self.constants[found] = numbers
        return name(found)


class Scope(Record):
    """`binders` are axes of arrays; `scalars` stand for one value at a time, as a step of a scan.

    `owner` is the node or function whose expressions are lowered: constants have its name.
    """

    names: dict[str, str]
    needs: Needs
    binders: tuple[c.Bind, ...] = ()
    scalars: Mapping[str, Value] = NOTHING
    carried: Mapping[str, Carried] = NOTHING
    soft: Setting | None = None
    owner: str = ""

    @property
    def taken(self) -> frozenset[str]:
        """What a new variable of the program must not be called."""
        own = {value.code.id for value in self.scalars.values() if isinstance(value.code, Name)}
        return frozenset(self.names.values()) | self.needs.reserved | own

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(bind.name for bind in self.binders)

    def bind(self, name: str) -> c.Bind:
        return next(bind for bind in self.binders if bind.name == name)

    def inside(self, *binders: c.Bind) -> Scope:
        return self.replace(binders=self.binders + binders)

    def places(self, axis: str) -> Value:
        """0, 1, ... along an axis of an array."""
        return Value(call("jnp.arange", length_code(self.bind(axis), self.names)), (axis,))

    def with_scalars(self, **values: Value) -> Scope:
        return self.replace(scalars={**self.scalars, **values})


# ---- places and sizes


def size_code(axis: object, names: dict[str, str]) -> Code:
    """A dim by its name in the program, an unnamed axis by its number."""
    if isinstance(axis, Dim):
        return name(names[dim_key(axis.name)])
    assert isinstance(axis, Fixed)
    return const(axis.size)


def length_code(bind: c.Bind, names: dict[str, str]) -> Code:
    """How many places a binder runs over."""
    low, high = bind.low, bind.high.shift(1)
    size = size_code(bind.dim, names)
    if low == Place(0) and (high == Place(0, True) or high.offset == bind.dim.size):
        return size
    if low.from_end == high.from_end:
        return const(high.offset - low.offset)
    taken = low.offset - high.offset
    if bind.dim.size is not None:
        return const(bind.dim.size - taken)
    return infix(size, "-", const(taken)) if taken else size


def slice_code(bind: c.Bind, shift: int = 0) -> Code:
    """The places of a binder, moved by `shift`; `ALL` when that is all of them."""
    low, high = bind.low.shift(shift), bind.high.shift(shift + 1)
    start = None if (low.offset == 0 and not low.from_end) else low.offset
    is_end = (high.from_end and high.offset == 0) or high.offset == bind.dim.size
    stop = None if is_end else high.offset
    return ALL if start is None and stop is None else py.span(start, stop)


def from_start(bind: c.Bind, steps: Code, names: dict[str, str]) -> Code:
    """The places that lie so many steps after the first one of a binder."""
    if not bind.low.from_end and bind.low.offset == 0:
        return steps
    start = const(bind.low.offset)
    if bind.low.from_end:
        start = infix(size_code(bind.dim, names), "-", const(-bind.low.offset))
    return infix(start, "+", steps)


def range_code(bind: c.Bind, names: dict[str, str]) -> Code:
    """The places of a binder as an array of whole numbers."""
    return from_start(bind, call("jnp.arange", length_code(bind, names)), names)


# ---- names of the model as Python names: the same wherever Python allows it, always distinct

MODULES = "jax jnp lax dist Arrays DATA Any Callable annotations"
VARIABLES = "params values data key keys total carry step init log_prob evaluate sample objective"
WORDS = (*dir(builtins), *keyword.kwlist, *keyword.softkwlist)
TAKEN = frozenset((*WORDS, *f"{MODULES} {VARIABLES}".split()))


def python_names(graph: Graph, helpers: frozenset[str]) -> dict[str, str]:
    """Nodes and functions by their names, dims by `dim_key`."""
    wanted = [(dim_key(dim.name), dim.name) for dim in graph.dims]
    wanted += [(function.name, function.name) for function in graph.functions]
    nodes = [*graph.nodes, *(graph.guide.nodes if graph.guide else ())]
    wanted += [(node.name, node.name) for node in nodes]
    used = set(helpers)
    found: dict[str, str] = {}
    for key, own in wanted:
        if key not in found:
            found[key] = free_name(own, used)
            used.add(found[key])
    return found


def parameter_names(function: Function, taken: frozenset[str]) -> dict[str, str]:
    """What the program calls the parameters of a function, by their names in the model."""
    names: dict[str, str] = {}
    for key, _ in function.parameters:
        names[key] = free_name(key, taken | set(names.values()))
    return names


def dim_key(name: str) -> str:
    """No name of a model has a newline in it, so that no node is taken for a dim."""
    return f"dim\n{name}"


def _plain(char: str) -> str:
    """Other letters by their Unicode names, as `alpha` or `e`."""
    if char.isascii():
        return char if char.isalnum() else "_"
    case, letter, rest = unicodedata.name(char, "").partition(" LETTER ")
    word = re.match("[A-Z]+", rest) if letter else None
    if word is None:
        return "_"
    return word[0].capitalize() if "CAPITAL" in case else word[0].lower()


def free_name(name: str, used: Set[str]) -> str:
    """The name as Python writes it, with underscores after it until nothing else is called that."""
    # ASCII letters, digits, underscores; not two in front, which mean something to Python.
    text = "".join(map(_plain, unicodedata.normalize("NFKC", name)))
    found = f"_{text}" if text[:1].isdigit() or not text else re.sub("^__+", "_", text)
    while found in used or found in TAKEN:
        found += "_"
    return found
