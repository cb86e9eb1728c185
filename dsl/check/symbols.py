"""Every name a program defines, once, with its kind and the statements that define it."""

import re
from typing import Any

from ..diagnostics import Diagnostic, Label
from ..graph.types import CONSTRAINT_RANK, Dim
from ..limits import MAX_DIM
from ..record import Record
from ..source import Span
from ..text import syntax as s
from ..text.keywords import keywords
from .modules import FlatStmt, Module

NODE_KINDS = frozenset({"data", "observed", "param", "latent", "draw", "let", "factor"})
TYPE_WORDS = frozenset({"real", "int", "bool", *CONSTRAINT_RANK})
KINDS = {s.DrawStmt: "draw", s.LetStmt: "let", s.FactorStmt: "factor"}
JOINING = {("draw", "draw"), ("let", "let"), ("observed", "draw")}
DRAWN_TOO = {
    "data": "declare it `observed {}` to give it a density",
    "param": "a penalty on a param is a `factor`; a prior needs no `param`: remove the declaration",
    "latent": "a drawn variable needs no `latent`: remove that declaration, or use a `factor`",
}


class Symbol(Record):
    """`pieces` are the statements with `~`, `=` or `:=`: of a recurrence, base cases and step."""

    name: str
    kind: str
    span: Span
    module: Module
    declaration: s.DeclStmt | s.FnStmt | None = None
    pieces: tuple[FlatStmt, ...] = ()
    dim: Dim | None = None

    @property
    def is_node(self) -> bool:
        return self.kind in NODE_KINDS

    @property
    def is_kept(self) -> bool:
        """Whether one of its statements has `:=`: then it is an output."""
        return any(isinstance(let := p.statement, s.LetStmt) and let.kept for p in self.pieces)


class Symbols:
    """The names of a program, and apart from them those of its guide.

    `broken` are names that a statement which could not be read may define: that something of them
    is missing is no second mistake.
    """

    def __init__(self, flats: list[FlatStmt], report: list[Diagnostic]) -> None:
        self.report = report
        self.model: dict[str, Symbol] = {}
        self.guide: dict[str, Symbol] = {}
        self.objectives: list[FlatStmt] = []
        self.title: s.ModelStmt | None = None
        self.labels: dict[str, list[Dim]] = {}
        self.broken: set[str] = set()
        for flat in flats:
            self.collect(flat)
        for flat in flats:
            self.refuse_size_by_name(flat)

    def space(self, guide: bool) -> dict[str, Symbol]:
        return self.guide if guide else self.model

    def dims(self) -> list[Dim]:
        return [symbol.dim for symbol in self.model.values() if symbol.dim]

    def collect(self, flat: FlatStmt) -> None:
        match flat.statement:
            case s.ModelStmt() as statement:
                self.add_model(flat, statement)
            case s.ImportStmt(alias=alias):
                self.define(_symbol(flat, alias, "alias"))
            case s.DimStmt() as statement:
                self.add_dim(flat, statement)
            case s.DeclStmt() as statement:
                self.add_declaration(flat, statement)
            case s.FnStmt(name=name, body=body) as statement:
                kind = "fn" if body else "extern"
                self.define(_symbol(flat, name, kind, declaration=statement))
            case s.DrawStmt() | s.LetStmt() | s.FactorStmt() as statement:
                self.add_definition(flat, statement)
            case s.ObjectiveStmt() as statement:
                self.add_objective(flat, statement)
            case s.BrokenStmt() as statement:
                self.add_broken(flat, statement)

    def define(self, symbol: Symbol, guide: bool = False) -> None:
        space = self.space(guide)
        known = space.get(symbol.name)
        if symbol.kind == "broken":
            space.setdefault(symbol.name, symbol)
            return
        local = symbol.name.removeprefix(symbol.module.prefix)
        is_quoted = symbol.module.source.text.startswith("`", symbol.span.start)
        if local in TYPE_WORDS or (local in keywords() and not is_quoted):
            message = f"`{local}` is a word of the language and cannot be a name"
            quoted = ", or put it between backquotes" if local not in TYPE_WORDS else ""
            help = f"choose another name{quoted}"
            symbol.module.error(self.report, "E0005", message, symbol.span, help)
        if known and known.kind != "broken":
            _report_duplicate(known, symbol, self.report)
        else:
            space[symbol.name] = symbol

    def add_model(self, flat: FlatStmt, statement: s.ModelStmt) -> None:
        if flat.module.prefix:
            return
        if self.title or flat.module.program.statements[0] is not statement:
            message = "a second or late `model` line"
            help = "`model NAME` stands once, at the top of the file"
            flat.module.error(self.report, "E0508", message, statement.span, help)
        self.title = self.title or statement

    def add_dim(self, flat: FlatStmt, statement: s.DimStmt) -> None:
        prefix, name = flat.module.prefix, statement.name.name
        is_open = not statement.size and not statement.labels
        same = self.model.get(name)
        if prefix and is_open and same and same.dim:
            self.model[prefix + name] = same
            return
        labels = tuple(label.name for label in statement.labels)
        seen: dict[str, Span] = {}
        for own in statement.labels:
            if own.name in seen:
                also = (Label(seen[own.name], "first written here"),)
                message = f"the label `{own.name}` stands twice in `{name}`"
                flat.module.error(self.report, "E0102", message, own.span, also=also)
            seen[own.name] = own.span
        dim = Dim(prefix + name, self.size_of(flat, statement), labels, statement.name.span)
        self.define(_symbol(flat, statement.name, "dim", dim=dim))
        for label in dict.fromkeys(labels):
            self.labels.setdefault(label, []).append(dim)

    def size_of(self, flat: FlatStmt, statement: s.DimStmt) -> int | None:
        if statement.labels or statement.size is None:
            return len(statement.labels) or None
        size, text = statement.size.value, statement.size.text[:30]
        if isinstance(size, int) and 0 < size <= MAX_DIM:
            return size
        message = f"a dim has a whole number of members from 1 to {MAX_DIM:,}, not {text}"
        help = f"leave the size out when it comes with the data: `dim {statement.name.name}`"
        flat.module.error(self.report, "E0509", message, statement.size.span, help)
        return None

    def refuse_size_by_name(self, flat: FlatStmt) -> None:
        """`dim T = N` would be a dim with the one label N: who has a variable N means its value."""
        statement = flat.statement
        if not isinstance(statement, s.DimStmt) or len(statement.labels) != 1:
            return
        label, own = statement.labels[0], f"dim {statement.name.name}"
        known = self.model.get(flat.module.prefix + label.name)
        if known and known.kind in NODE_KINDS | {"dim"}:
            message = "the size of a dim is a number, not a name"
            help = f"write `{own} = 10`, or `{own}` when it comes with the data"
            flat.module.error(self.report, "E0509", message, label.span, help)

    def add_declaration(self, flat: FlatStmt, statement: s.DeclStmt) -> None:
        symbol = _symbol(flat, statement.name, statement.role, declaration=statement)
        known = self.space(flat.guide).get(symbol.name)
        if statement.role == "observed" and known and known.kind == "draw":
            self.model[symbol.name] = symbol.replace(pieces=known.pieces)
        else:
            self.define(symbol, flat.guide)

    def add_definition(
        self, flat: FlatStmt, statement: s.DrawStmt | s.LetStmt | s.FactorStmt
    ) -> None:
        """A second piece joins the first: whether they overlap is a question of coverage."""
        kind = KINDS[type(statement)]
        symbol = _symbol(flat, statement.target.name, kind, pieces=(flat,))
        space = self.space(flat.guide)
        known = space.get(symbol.name)
        if known and (known.kind, kind) in JOINING:
            space[symbol.name] = known.replace(pieces=(*known.pieces, flat))
        else:
            self.define(symbol, flat.guide)

    def add_objective(self, flat: FlatStmt, statement: s.ObjectiveStmt) -> None:
        if flat.module.prefix:
            message = "an imported file cannot bring an objective"
            help = "state the objective in the importing file"
            flat.module.error(self.report, "E0603", message, statement.span, help)
        elif self.objectives:
            also = (Label(self.objectives[0].statement.span, "the first objective"),)
            help = "a model has one objective: add the terms up"
            own = "E0506", "a second objective", statement.span
            flat.module.error(self.report, *own, help, also)
        else:
            self.objectives.append(flat)

    def add_broken(self, flat: FlatStmt, statement: s.BrokenStmt) -> None:
        text = flat.module.source.text[statement.span.start : statement.span.end]
        for part in re.split(r"[\n;{}]", re.sub(r"#[^\n]*|<[^>\n]*>", "", text)):
            # The names it may define: what stands left of `~`, `=` and `:`, and a dim's labels.
            is_dim = part.lstrip().startswith("dim ")
            plain = part if is_dim else re.sub(r"[\[(][^\])]*[\])]?", " ", part)
            left = part if is_dim else re.split(r"[~=:]", plain)[0]
            for name in re.findall(r"[^\W\d]\w*|`[^`]+`", left):
                symbol = _symbol(flat, s.Name(statement.span, name.strip("`")), "broken")
                self.broken.add(symbol.name)
                self.define(symbol, flat.guide)


def _symbol(flat: FlatStmt, name: s.Name, kind: str, **more: Any) -> Symbol:
    return Symbol(flat.module.prefix + name.name, kind, name.span, flat.module, **more)


def _report_duplicate(known: Symbol, again: Symbol, report: list[Diagnostic]) -> None:
    is_in_file = known.module.source is again.module.source
    also = (Label(known.span, "first defined here"),) if is_in_file else ()
    help = "names of dims, variables, factors and functions share one space: rename one of them"
    if {known.kind, again.kind} == {"draw", "let"}:
        help = "a variable has either a distribution (`~`) or a value (`=`), not both"
    elif again.kind == "draw":
        help = DRAWN_TOO.get(known.kind, help).format(known.name)
    message = f"`{again.name}` is defined twice"
    again.module.error(report, "E0101", message, again.span, help, also)
