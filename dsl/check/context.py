"""What is known while one expression is checked."""

from __future__ import annotations

from ..diagnostics import Diagnostic, Label
from ..graph.types import Bool, Dim, Truth, Type
from ..limits import MAX_ERRORS
from ..record import Record
from ..source import Span
from .modules import UNREAD, Module
from .symbols import Symbol, Symbols


class TooManyErrors(Exception):
    """Nobody reads further: checking stops."""


class FunctionType(Record):
    parameters: tuple[tuple[str, Type], ...]
    result: Type


class ProgramFacts:
    """What has been found out so far about the whole program."""

    def __init__(self, symbols: Symbols, report: list[Diagnostic]):
        self.symbols = symbols
        self.report = report
        self.types: dict[str, Type] = {}
        self.guide_types: dict[str, Type] = {}
        self.functions: dict[str, FunctionType] = {}
        self.least_sizes: dict[str, int] = {}
        self.unknown: set[str] = set()
        self.bound: set[str] = set()

    def types_of(self, guide: bool) -> dict[str, Type]:
        return self.guide_types if guide else self.types


class Context(Record):
    """`variables` are binders, parameters and loop variables.

    `closed` says why names of the program cannot be used here, but for those of the roles `open`.
    """

    facts: ProgramFacts
    module: Module
    variables: dict[str, Type]
    guide: bool = False
    closed: str = ""
    open: frozenset[str] = frozenset()
    objective: bool = False
    soft: bool = False

    def is_truth(self, type_: Type) -> bool:
        """True or false; in a soft statement a number between them, too."""
        return isinstance(type_.domain, Bool) or (self.soft and isinstance(type_.domain, Truth))

    def bind(self, **variables: Type) -> Context:
        return self.replace(variables={**self.variables, **variables})

    def error(
        self, code: str, message: str, span: Span, help: str = "", also: tuple[Label, ...] = ()
    ) -> None:
        self.module.error(self.facts.report, code, message, span, help, also)
        if len(self.facts.report) >= MAX_ERRORS:
            raise TooManyErrors

    def error_once(self, code: str, message: str, name: str, span: Span, help: str) -> None:
        """A name that does not exist is one mistake, however often it is written."""
        if name not in self.facts.unknown:
            self.facts.unknown.add(name)
            self.error(code, message, span, help=help)

    # ---- names

    def symbol(self, name: str) -> Symbol | None:
        """The symbol that `name` means in this module; `lib.name` is from the file it imports."""
        head, dot, rest = name.partition(".")
        is_broken = self.module.prefix + head in self.facts.symbols.broken
        if dot and (is_broken or self.module.aliases.get(head) == UNREAD):
            return Symbol(name, "broken", Span(0, 0), self.module)
        if dot and head in self.module.aliases:
            return self._find(self.module.aliases[head] + rest)
        return self._find(self.module.prefix + name)

    def _find(self, name: str) -> Symbol | None:
        found = self.facts.symbols.guide.get(name) if self.guide else None
        return found or self.facts.symbols.model.get(name)

    def dim(self, name: str) -> Dim | None:
        found = self.symbol(name)
        return found.dim if found else None

    def in_guide(self, symbol: Symbol) -> bool:
        return self.guide and symbol.name in self.facts.symbols.guide

    def type_of(self, symbol: Symbol) -> Type | None:
        return self.facts.types_of(self.in_guide(symbol)).get(symbol.name)

    def visible_names(self) -> list[str]:
        """Names as this module would write them, for suggestions."""
        prefix = self.module.prefix
        names = [n.removeprefix(prefix) for n in self.facts.symbols.model if n.startswith(prefix)]
        names += [n for n in self.facts.symbols.guide if self.guide]
        return [*self.variables, *names, *self.facts.symbols.labels]
