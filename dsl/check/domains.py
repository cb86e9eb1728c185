"""Arguments of distributions and functions that leave their domain, or may; declared ranges.

Every expression is looked at with what is known where it stands: in a branch, under a `where`, in a
loop that goes on, in a function with these arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnostics import Diagnostic
from ..graph import core as c
from ..graph.breaks import is_soft
from ..graph.facts import MOST_BODIES, Facts
from ..graph.known import IN_SOFT_STATEMENT, NOTHING_KNOWN, Known
from ..graph.ranges import Interval
from ..graph.typed import Definition, Function, Piece, Typed
from ..graph.types import Int, Real, Type
from ..graph.zeros import Zeros
from ..source import Source, Span
from .arguments import ArgumentFault, Arguments, call_of, shown

LEVEL = Type(Real(0, 1))

MOST_DEEP = 20
"""Functions in functions that are looked into: Python's stack ends."""


TAKES_ALL = ", in a statement of its own: a soft one takes all its branches, each with its weight"

NUMBER = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?")


def report_domains(typed: Typed, report: list[Diagnostic]) -> None:
    """Beside other errors only numbers as they are written are judged: the rest may change."""
    has_errors = any(diagnostic.is_error for diagnostic in report)
    definitions = (*typed.definitions, *typed.guide)
    facts = Facts(definitions, typed.functions)
    drawn = [d.name for d in definitions if d.kind in ("draw", "observed", "latent")]
    kinds = {d.name: d.kind for d in definitions}
    domains = _Domains(facts, Arguments(facts, Zeros(facts, drawn), kinds))
    for definition in definitions:
        found = [*domains.of_definition(definition)]
        if has_errors:
            found = [finding for finding in found if _is_written(finding, definition.source)]
        report += _diagnostics(found, definition.source)
    if has_errors:
        return
    if typed.objective:
        report += _diagnostics([*domains.of_objective(typed)], typed.source)
    for function in typed.functions:
        if not any(diagnostic.is_error for diagnostic in report):
            report += _diagnostics([*domains.of_unused(function)], typed.source)


def _is_written(finding: ArgumentFault, source: Source) -> bool:
    text = source.text[finding.span.start : finding.span.end]
    return finding.code.startswith("E") and NUMBER.fullmatch(text) is not None


def _diagnostics(found: list[ArgumentFault], source: Source) -> Iterator[Diagnostic]:
    """Each once, though the same is written twice in a statement."""
    said: set[tuple[str, str, str]] = set()
    for finding in found:
        text = source.text[finding.span.start : finding.span.end]
        key = finding.code, finding.message, text
        if key not in said:
            said.add(key)
            code, message, span = finding.code, finding.message, finding.span
            yield Diagnostic(code, message, source, span, help=finding.help)


class _Domains:
    def __init__(self, facts: Facts, arguments: Arguments):
        self.facts = facts
        self.arguments = arguments
        self.source: Source | None = None
        # Of functions with arguments of these ranges; while one is looked into, it has none.
        self.bodies: dict[tuple[str, tuple[Interval, ...]], tuple[ArgumentFault, ...]] = {}
        self.called: set[str] = set()
        self.depth = 0

    def of_definition(self, definition: Definition) -> Iterator[ArgumentFault]:
        self.source = definition.source
        if definition.default is not None:
            yield from self._walk(definition.default, NOTHING_KNOWN)
        for piece in definition.pieces:
            yield from self._of_piece(piece)
        yield from self._of_declared(definition)

    def of_objective(self, typed: Typed) -> Iterator[ArgumentFault]:
        assert typed.objective is not None
        self.source = typed.source
        soft = is_soft(typed.objective.settings)
        yield from self._walk(typed.objective.value, IN_SOFT_STATEMENT if soft else NOTHING_KNOWN)

    def of_unused(self, function: Function) -> Iterator[ArgumentFault]:
        """A function that nobody calls is looked at for what is wrong whoever calls it."""
        if function.name in self.called or function.body is None:
            return
        ranges = tuple(type_.bounds for _, type_ in function.parameters)
        self.source = None
        for finding in self._of_body(function, ranges):
            if finding.is_error:
                yield finding

    def _of_piece(self, piece: Piece) -> Iterator[ArgumentFault]:
        if piece.where is not None:
            yield from self._walk(piece.where, NOTHING_KNOWN)
        yield from self._walk(piece.body, self.facts.known_in(piece))

    def _walk(self, core: c.Core | c.Law, known: Known) -> Iterator[ArgumentFault]:
        """What is wrong with an expression, from inside out, where this is known."""
        for part, own in self._parts(core, known):
            yield from self._walk(part, own)
        if isinstance(core, c.CallFn):
            yield from self._of_call(core, known)
        if isinstance(core, c.Quantile):
            level = self.facts.range_of(core.probability, known)
            wanted = "a quantile is asked at a probability from 0 to 1"
            yield from self._of_promised(wanted, LEVEL, core.probability, level)
        call = call_of(core, known)
        if call is not None:
            for finding in self.arguments.findings(call, self._text):
                advises = known.is_soft and "branch" in finding.help
                yield finding.replace(help=finding.help + TAKES_ALL) if advises else finding

    def _parts(self, core: c.Core | c.Law, known: Known) -> Iterator[tuple[c.Core, Known]]:
        """The expressions directly inside of this one, with what is known there."""
        if isinstance(core, c.If):
            yield core.condition, known
            yield from self.facts.branches(core, known)
        elif isinstance(core, c.Loop):
            yield core.start, known
            state = known.with_ranges({core.variable: self.facts.range_of(core, known)})
            yield core.condition, state
            yield core.body, self.facts.given(core.condition, True, state)
        elif isinstance(core, c.Reduce) and core.where is not None:
            yield core.where, known
            yield core.body, self.facts.given(core.where, True, known)
        elif isinstance(core, c.Apply) and core.function in ("and", "or"):
            (_, first), (_, second) = core.arguments
            yield first, known
            yield second, self.facts.given(first, core.function == "and", known)
        else:
            for part in c.parts(core):
                yield part, known

    def _of_call(self, core: c.CallFn, known: Known) -> Iterator[ArgumentFault]:
        """What is wrong inside of a function, at the place where it is called."""
        self.called.add(core.function)
        function = self.facts.functions[core.function]
        ranges = tuple(self.facts.range_of(argument, known) for argument in core.arguments)
        for (name, type_), argument, own in zip(
            function.parameters, core.arguments, ranges, strict=True
        ):
            wanted = f"`{name}` of `{core.function}` is {type_}"
            yield from self._of_promised(wanted, type_, argument, own)
        for finding in self._of_body(function, ranges):
            inside = f"in `{core.function}`, "
            message = finding.message.removeprefix("in ")
            is_deeper = message != finding.message
            message = finding.message if is_deeper else inside + finding.message
            yield finding.replace(message=message, span=core.span)

    def _of_promised(
        self, wanted: str, type_: Type, value: c.Core, own: Interval
    ) -> Iterator[ArgumentFault]:
        """An argument of a function of the program keeps to the type that is written for it."""
        (low, high), (least, most) = own, type_.bounds
        if type_.constraint:
            if not self.arguments.constraints.keeps(value, type_.constraint):
                message = f"{wanted}, and nothing says that this is"
                yield ArgumentFault("W0401", message, value.span, "declare it so")
        elif isinstance(type_.domain, Real | Int) and (low < least or high > most):
            is_sure = high < least or low > most
            message = f"{wanted}, but this {'is' if is_sure else 'can be'} {shown(low, high)}"
            help = "write what keeps to it: `max(...)`, `exp(...)`"
            yield ArgumentFault("E0219" if is_sure else "W0401", message, value.span, help)

    def _of_body(
        self, function: Function, ranges: tuple[Interval, ...]
    ) -> tuple[ArgumentFault, ...]:
        key = function.name, ranges
        is_known = key in self.bodies
        if function.body is None or (not is_known and self._is_too_much()):
            return ()
        if key not in self.bodies:
            source, self.source = self.source, None
            found = self._walk(function.body, self.facts.inside(function, ranges))
            self.bodies[key] = ()
            self.depth += 1
            self.bodies[key] = tuple({(f.code, f.message): f for f in found}.values())
            self.depth -= 1
            self.source = source
        return self.bodies[key]

    def _is_too_much(self) -> bool:
        return len(self.bodies) > MOST_BODIES or self.depth > MOST_DEEP

    def _text(self, span: Span) -> str:
        """What stands at a place of the statement; a function may stand in another file."""
        return self.source.text[span.start : span.end] if self.source else "..."

    def _of_declared(self, definition: Definition) -> Iterator[ArgumentFault]:
        """A declared range of a value is a promise: it is proved, or it is a mistake."""
        if definition.kind != "let" or not isinstance(definition.type.domain, Real | Int):
            return
        if definition.type.constraint:
            yield from self._of_constraint(definition)
            return
        least, most = definition.type.bounds
        for piece in definition.pieces:
            assert isinstance(piece.body, c.Core)
            low, high = self.facts.range_of(piece.body, self.facts.known_in(piece))
            if low < least or high > most:
                declared = f"`{definition.name}` is declared {definition.type}"
                message = f"{declared}, but this can be {shown(low, high)}"
                help = "take the range away, or write what keeps to it: `max(...)`, `exp(...)`"
                yield ArgumentFault("E0414", message, piece.body.span, help)

    def _of_constraint(self, definition: Definition) -> Iterator[ArgumentFault]:
        """A simplex, a covariance, ...: its value is known to be one."""
        word = definition.type.constraint
        for piece in definition.pieces:
            assert isinstance(piece.body, c.Core)
            if not self.arguments.constraints.keeps(piece.body, word):
                message = f"`{definition.name}` is declared {definition.type}, "
                message += f"but it is not known that this is {word}"
                help = "take the type away; where a distribution needs it, a warning says so"
                yield ArgumentFault("E0414", message, piece.body.span, help)
