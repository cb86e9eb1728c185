"""What names mean where an expression is lowered, and what the program needs because of it."""

from __future__ import annotations

from .. import core as c
from ..check.typed import Setting
from ..record import Record
from ..types import Dim, Place
from .names import free_name
from .value import Value


class Carried(Record):
    """A member of a recurrence inside a step along `axis`: the value `lag` steps back is `texts[lag]`.

    `fixed` are values at places that the statements name, `binder` is what they call the step, `place` the step's
    number where it is known. Within one step a member may itself be built step by step along another axis: then
    `texts[0]` is again a Carried.
    """

    axis: int
    texts: dict[int, str | Carried]
    fixed: dict[int, str]
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

    def at(self, offset: tuple[str | None, int] | None) -> str | Carried | None:
        """The text of the member where an index points, if that is done."""
        lag = self.lag(offset)
        if lag is not None:
            return self.texts.get(lag)
        return self.fixed.get(offset[1]) if offset else None


INLINE = 40
"""A written-out array longer than this is a constant of the program, with a name of its own."""


class Needs:
    """Helpers and constants that the expressions use, in the order of first use."""

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self.reserved = reserved
        self.helpers: dict[str, None] = {}
        self.vectorized: set[str] = set()
        self.constants: dict[str, str] = {}

    def helper(self, name: str) -> str:
        """The name as the program writes it: jax paths are there already, others are printed into it."""
        if "." not in name:
            self.helpers.setdefault(name)
        return name

    def constant(self, owner: str, text: str) -> str:
        """Numbers as nested lists: as they are when few, under a name of the owner's when many."""
        if len(text) <= INLINE or not owner:
            return text
        stem = free_name(f"{owner.upper()}_TABLE", frozenset())
        name, count = stem, 1
        while self.constants.get(name, text) != text:
            count += 1
            name = f"{stem}_{count}"
        self.constants[name] = text
        return name


class Scope(Record):
    """`binders` are axes of arrays; `scalars` stand for one value at a time (a step of a scan, a parameter).

    `owner` is the node or function whose expressions are lowered: constants have its name.
    """

    names: dict[str, str]
    needs: Needs
    binders: tuple[c.Bind, ...] = ()
    scalars: dict[str, Value] = {}  # noqa: RUF012  (records are frozen, and this one is never changed)
    carried: dict[str, Carried] = {}  # noqa: RUF012
    soft: Setting | None = None
    owner: str = ""

    @property
    def taken(self) -> frozenset[str]:
        """What a new variable of the program must not be called."""
        texts = {value.text for value in self.scalars.values()}
        return frozenset(self.names.values()) | self.needs.reserved | texts

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(bind.name for bind in self.binders)

    def bind(self, name: str) -> c.Bind:
        return next(bind for bind in self.binders if bind.name == name)

    def inside(self, *binders: c.Bind) -> Scope:
        return self.replace(binders=self.binders + binders)

    def with_scalars(self, **values: Value) -> Scope:
        return self.replace(scalars={**self.scalars, **values})


# ---- places and sizes, as text


def size_text(axis: object, names: dict[str, str]) -> str:
    """A dim by its name in the program, an unnamed axis by its number."""
    return names[f"dim {axis}"] if isinstance(axis, Dim) else str(axis)


def length_text(bind: c.Bind, names: dict[str, str]) -> str:
    """How many places a binder runs over."""
    low, high = bind.low, bind.high.shift(1)
    size = names[f"dim {bind.dim}"]
    if low == Place(0) and (high == Place(0, True) or high.offset == bind.dim.size):
        return size
    if low.from_end == high.from_end:
        return str(high.offset - low.offset)
    taken = low.offset - high.offset
    if bind.dim.size is not None:
        return str(bind.dim.size - taken)
    return size if not taken else f"{size} - {taken}"


def slice_text(bind: c.Bind, shift: int = 0) -> str:
    """The places of a binder, moved by `shift`, as a Python slice; `:` when that is all of them."""
    low, high = bind.low.shift(shift), bind.high.shift(shift + 1)
    start = "" if (low.offset == 0 and not low.from_end) else str(low.offset)
    is_end = (high.from_end and high.offset == 0) or high.offset == bind.dim.size
    stop = "" if is_end else str(high.offset)
    return f"{start}:{stop}"


def start_text(bind: c.Bind, names: dict[str, str]) -> str:
    """The first place of a binder."""
    return f"{names[f'dim {bind.dim}']} - {-bind.low.offset}" if bind.low.from_end else str(bind.low.offset)


def range_text(bind: c.Bind, names: dict[str, str]) -> str:
    """The places of a binder as an array of whole numbers."""
    length, low = length_text(bind, names), start_text(bind, names)
    return f"jnp.arange({length})" if low == "0" else f"({low} + jnp.arange({length}))"
