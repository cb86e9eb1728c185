"""Where a value breaks: it jumps, or has a kink, when what it is computed from moves.

The derivative of a sample misses what a jump does to a mean, and its second derivative what a kink
does. Whether anything is missed depends on what is above the break: that is for others to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from ..library.derived import RANGE_ENDS
from ..library.functions import functions_by_text
from ..record import Record
from ..source import Span
from . import core as c
from .dependence import nodes_read
from .inputs import noisy_names
from .typed import Function, Piece, Setting
from .types import IndexOf

COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
SELECTIONS = frozenset({"argmax", "argmin"})
EXTREMES = frozenset({"max", "min"})
SOFTENED = COMPARISONS | {"step", "sign", "lookup"}
"""What `soft` gives another meaning; a selection has one as an index alone."""
TAKE_INDEX = frozenset({"get", "set", "insert"})

Smoothness = Literal["smooth", "kink", "jump"]
Above = Mapping[str, tuple[c.Core, ...]]
Given = tuple[tuple[str, tuple[c.Core, ...]], ...]


class Break(Record):
    """An operation that breaks when `inside` moves: a lookup does in its keys, not in its values.

    `inside` says it in terms of nodes: of a parameter of a function it has what is given for it, of
    the state of a loop where it starts and how it goes on.
    """

    kind: Literal["jump", "kink"]
    word: str
    span: Span
    inside: tuple[c.Core, ...]
    function: str = ""
    """The function of the program, or from outside, that it stands in."""

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(nodes_read(*self.inside))


Found = tuple[Literal["jump", "kink"], str, tuple[c.Core, ...]]


class Finder(Record):
    """Finds breaks; `externs` says of a function from outside how smooth it is.

    `own_break` is what a form alone does, in words, and in which of its parts.
    """

    functions: Mapping[str, Function]
    externs: Mapping[str, Smoothness]
    own_break: Callable[[c.Core | c.Law], Found | None]
    loops_break: bool = True

    def of_piece(self, piece: Piece) -> Iterator[Break]:
        """In its body and its condition."""
        yield from self.of_statement(piece.body, piece.settings)
        if piece.where is not None:
            yield from self.find(piece.where)

    def of_statement(self, body: c.Core | c.Law, settings: Iterable[Setting]) -> Iterator[Break]:
        """The noise of a `smooth` statement sees what it moves itself, and nothing else."""
        by_name = {setting.name: setting for setting in settings}
        found = self.find(body, soft="soft" in by_name)
        if "smooth" not in by_name or not isinstance(body, c.Core):
            yield from found
            return
        noisy = noisy_names(body, by_name["smooth"])
        for each in found:
            rest = tuple(ref for ref in _refs(each.inside) if ref.name not in noisy)
            if rest:
                yield each.replace(inside=rest)

    def find(self, core: c.Core | c.Law, soft: bool = False) -> Iterator[Break]:
        yield from self._walk(core, soft, {})

    def _walk(self, core: c.Core | c.Law, soft: bool, above: Above) -> Iterator[Break]:
        if isinstance(core, c.Loop):
            yield from self._of_loop(core, soft, above)
        elif isinstance(core, c.CallFn):
            yield from self._of_call(core, soft, above)
        else:
            soft = soft and not (isinstance(core.type.domain, IndexOf) and not selects(core))
            found = self.own_break(core)
            if found and not (soft and _is_softened(core)):
                kind, word, inside = found
                yield Break(kind, word, core.span, _resolved(inside, above))
            for part in c.parts(core):
                if not (soft and _takes_softly(core, part)):
                    yield from self._walk(part, soft, above)
                else:
                    for inner in c.parts(part):
                        yield from self._walk(inner, soft, above)

    def _of_loop(self, core: c.Loop, soft: bool, above: Above) -> Iterator[Break]:
        state = _resolved((core.start, core.body), above)
        yield from self._walk(core.start, soft, above)
        if not soft and self.loops_break:
            condition = _resolved((core.condition,), {**above, core.variable: state})
            yield Break("jump", "a `loop`", core.span, condition)
        for part in (core.condition, core.body):
            yield from self._walk(part, soft, {**above, core.variable: state})

    def _of_call(self, core: c.CallFn, soft: bool, above: Above) -> Iterator[Break]:
        """Inside a function of the program everything stays hard, whatever calls it."""
        for argument in core.arguments:
            yield from self._walk(argument, soft, above)
        function = self.functions[core.function]
        if function.body is None:
            smoothness = self.externs.get(core.function, "smooth")
            if smoothness != "smooth":
                inside = _resolved(core.arguments, above)
                name = core.function
                yield Break(smoothness, f"`{name}`", core.span, inside, name)
            return
        names = (name for name, _ in function.parameters)
        given = tuple(
            (name, _resolved((argument,), above))
            for name, argument in zip(names, core.arguments, strict=True)
        )
        name = core.function
        for found in self._inside(function, given):
            word = f"{found.word} in `{name}`"
            yield found.replace(word=word, span=core.span, function=name)

    def _inside(self, function: Function, given: Given) -> tuple[Break, ...]:
        """The breaks of a body, each once; of a function that is called twice, found once."""
        memo: dict[tuple[str, Given], tuple[Break, ...]] = self.__dict__.setdefault("_memo", {})
        key = function.name, given
        if key not in memo:
            assert function.body is not None
            memo[key] = tuple(dict.fromkeys(self._walk(function.body, False, dict(given))))
        return memo[key]


def finder(
    functions: Iterable[Function], externs: Mapping[str, Smoothness] | None = None
) -> Finder:
    return Finder({function.name: function for function in functions}, externs or {}, own_break)


def is_soft(settings: Iterable[Setting]) -> bool:
    return any(setting.name == "soft" for setting in settings)


def selects(core: c.Core | c.Law) -> bool:
    if isinstance(core, c.Reduce):
        return core.operator in SELECTIONS
    return isinstance(core, c.Apply) and core.function in SELECTIONS


def own_break(core: c.Core | c.Law) -> Found | None:
    """What this form alone does, in words, and in which of its parts."""
    if isinstance(core, c.Apply) and core.function in COMPARISONS:
        moving = tuple(value for _, value in core.arguments if not value.type.whole)
        return ("jump", "a comparison", moving) if moving else None
    if isinstance(core, c.Reduce) and core.operator in SELECTIONS | EXTREMES:
        kind: Literal["jump", "kink"] = "jump" if core.operator in SELECTIONS else "kink"
        return (kind, f"`{core.operator}`", (core.body,)) if not core.body.type.whole else None
    if isinstance(core, c.Apply) and core.row:
        row = functions_by_text()[core.row]
        jumping, kinked = _moving(core, row.jumps), _moving(core, row.kinks)
        if jumping:
            return "jump", f"`{core.function}`", jumping
        if kinked:
            return "kink", f"`{core.function}`", kinked
    if isinstance(core, c.Cdf | c.LogDensity) and core.asked:
        found = _at_an_end(core)
        if found:
            return found
    if isinstance(core, c.LogDensity) and core.law.facts.kinked:
        inside = core.law.given(core.law.facts.kinked)
        return "kink", f"the density of `{core.law.name}`", (core.value, *inside)
    return None


def _at_an_end(core: c.LogDensity | c.Cdf) -> Found | None:
    """What is asked of a distribution at a value that may leave its support."""
    law, value = core.law, core.value
    ends = law.given((*law.facts.edges, *RANGE_ENDS))
    (low, high), (least, most) = value.type.bounds, law.type.bounds
    stays = law.facts.on_the_line or (least <= low and high <= most and not ends)
    if law.facts.discrete:
        stays = value.type.whole
    if stays:
        return None
    steps = law.facts.discrete or isinstance(core, c.LogDensity) or core.log
    word = "a density" if isinstance(core, c.LogDensity) else "a distribution function"
    return "jump" if steps else "kink", f"{word} of `{law.name}`", (value, *ends)


def _moving(core: c.Apply, names: str) -> tuple[c.Core, ...]:
    """The arguments of these names that are not whole."""
    inside = (value for name, value in core.arguments if name in names.split())
    return tuple(value for value in inside if not value.type.whole)


def jumps(core: c.Core | c.Law) -> bool:
    """Whether this form itself, apart from what is inside it, jumps."""
    found = own_break(core)
    return found is not None and found[0] == "jump"


def _is_softened(core: c.Core | c.Law) -> bool:
    return isinstance(core, c.Apply) and core.function in SOFTENED


def _takes_softly(core: c.Core | c.Law, part: c.Core) -> bool:
    """Whether a soft statement reads this part as a distribution over indices."""
    if isinstance(core, c.At):
        return selects(part) and any(part is index for index in core.indices)
    return isinstance(core, c.Apply) and core.function in TAKE_INDEX and selects(part)


def _refs(cores: Iterable[c.Core]) -> dict[c.Ref, None]:
    return {part: None for core in cores for part in c.walk(core) if isinstance(part, c.Ref)}


def _resolved(inside: tuple[c.Core, ...], above: Above) -> tuple[c.Core, ...]:
    """These expressions, and what stands for the variables that they mention."""
    names = {part.name for core in inside for part in c.walk(core) if isinstance(part, c.Var)}
    more = [core for name in names if name in above for core in above[name]]
    return (*inside, *more)
