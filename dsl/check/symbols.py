"""Every name a program defines, once, with its kind and the statements that define it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnostics import Diagnostic, Label
from ..graph.types import Dim
from ..limits import MAX_DIM
from ..record import Record
from ..source import Span
from ..text import syntax as s
from ..text.keywords import keywords
from .flatten import Flat
from .modules import Module

NODE_KINDS = frozenset({"data", "observed", "param", "latent", "draw", "let", "factor"})
TYPE_WORDS = frozenset({"real", "int", "bool", "simplex", "ordered", "positive_ordered", "unit_vector", "cholesky",
                        "corr_cholesky", "covariance", "correlation"})  # fmt: skip


class Symbol(Record):
    """`pieces` are the statements with `~`, `=` or `:=`: of a recurrence, base cases and step."""

    name: str
    kind: str
    span: Span
    module: Module
    declaration: s.DeclStmt | s.FnStmt | None = None
    pieces: tuple[Flat, ...] = ()
    dim: Dim | None = None

    @property
    def is_node(self) -> bool:
        return self.kind in NODE_KINDS


class Symbols:
    """The names of a program, and apart from them those of its guide.

    `broken` are names that a statement which could not be read may define: that something of them
    is missing is no second mistake.
    """

    def __init__(self) -> None:
        self.model: dict[str, Symbol] = {}
        self.guide: dict[str, Symbol] = {}
        self.objectives: list[Flat] = []
        self.title: s.ModelStmt | None = None
        self.labels: dict[str, list[Dim]] = {}
        self.broken: set[str] = set()

    def space(self, guide: bool) -> dict[str, Symbol]:
        return self.guide if guide else self.model

    def dims(self) -> list[Dim]:
        return [symbol.dim for symbol in self.model.values() if symbol.dim]


def collect_symbols(flats: list[Flat], report: list[Diagnostic]) -> Symbols:
    symbols = Symbols()
    for flat in flats:
        _COLLECT[type(flat.statement)](flat, symbols, report)
    _refuse_sizes_by_name(flats, symbols, report)
    return symbols


def _define(symbols: Symbols, symbol: Symbol, guide: bool, report: list[Diagnostic]) -> None:
    space = symbols.space(guide)
    local = symbol.name.removeprefix(symbol.module.prefix)
    is_quoted = symbol.module.source.text.startswith("`", symbol.span.start)
    if symbol.kind != "broken" and (local in TYPE_WORDS or (local in keywords() and not is_quoted)):
        message = f"`{local}` is a word of the language and cannot be a name"
        help = "choose another name" + (
            ", or put it between backquotes" if local not in TYPE_WORDS else ""
        )
        report.append(Diagnostic("E0005", message, symbol.module.source, symbol.span, help=help))
    known = space.get(symbol.name)
    if known and known.kind != "broken" and symbol.kind != "broken":
        report.append(_duplicate(known, symbol))
    elif symbol.name not in space or symbol.kind != "broken":
        space[symbol.name] = symbol


def _duplicate(known: Symbol, again: Symbol) -> Diagnostic:
    also = (
        (Label(known.span, "first defined here"),)
        if known.module.source is again.module.source
        else ()
    )
    help = "names of dims, variables, factors and functions share one space: rename one of them"
    if {known.kind, again.kind} == {"draw", "let"}:
        help = "a variable has either a distribution (`~`) or a value (`=`), not both"
    elif again.kind == "draw" and known.kind in ("data", "param", "latent"):
        help = {
            "data": f"declare it `observed {known.name}` to give it a density",
            "param": (
                "a penalty on a parameter is a `factor`; a prior needs no `param`: remove "
                "that declaration"
            ),
            "latent": (
                "a drawn variable needs no `latent`: remove that declaration, or use "
                "`factor` for it"
            ),
        }[known.kind]
    message = f"`{again.name}` is defined twice"
    return Diagnostic("E0101", message, again.module.source, again.span, help=help, also=also)


def _collect_model(flat: Flat, symbols: Symbols, report: list[Diagnostic]) -> None:
    statement = flat.statement
    assert isinstance(statement, s.ModelStmt)
    if flat.module.prefix:
        return
    if symbols.title or flat.module.program.statements[0] is not statement:
        help = "`model NAME` stands once, at the top of the file"
        message = "a second or late `model` line"
        report.append(Diagnostic("E0508", message, flat.module.source, statement.span, help=help))
    symbols.title = symbols.title or statement


def _collect_import(flat: Flat, symbols: Symbols, report: list[Diagnostic]) -> None:
    statement = flat.statement
    assert isinstance(statement, s.ImportStmt)
    _define(symbols, _symbol(flat, statement.alias, "alias"), False, report)


def _collect_dim(flat: Flat, symbols: Symbols, report: list[Diagnostic]) -> None:
    statement = flat.statement
    assert isinstance(statement, s.DimStmt)
    prefix, name = flat.module.prefix, statement.name.name
    if (
        prefix
        and not statement.size
        and not statement.labels
        and name in symbols.model
        and symbols.model[name].dim
    ):
        symbols.model[prefix + name] = symbols.model[name]
        return
    labels = tuple(label.name for label in statement.labels)
    _check_labels(flat, statement, report)
    size = _dim_size(flat, statement, report)
    dim = Dim(prefix + name, size, labels, statement.name.span)
    _define(symbols, _symbol(flat, statement.name, "dim").replace(dim=dim), False, report)
    for label in dict.fromkeys(labels):
        symbols.labels.setdefault(label, []).append(dim)


def _dim_size(flat: Flat, statement: s.DimStmt, report: list[Diagnostic]) -> int | None:
    if statement.labels:
        return len(statement.labels)
    if statement.size is None:
        return None
    size = statement.size.value
    if isinstance(size, int) and 0 < size <= MAX_DIM:
        return size
    message = (
        f"a dim has a whole number of members from 1 to {MAX_DIM:,}, not {statement.size.text[:30]}"
    )
    help = f"leave the size out when it comes with the data: `dim {statement.name.name}`"
    report.append(Diagnostic("E0509", message, flat.module.source, statement.size.span, help=help))
    return None


def _refuse_sizes_by_name(flats: list[Flat], symbols: Symbols, report: list[Diagnostic]) -> None:
    """`dim T = N` would be a dim with the one label N: who has a variable N means its value."""
    for flat in flats:
        statement = flat.statement
        if not isinstance(statement, s.DimStmt) or len(statement.labels) != 1:
            continue
        known = symbols.model.get(flat.module.prefix + statement.labels[0].name)
        if known and known.kind in NODE_KINDS | {"dim"}:
            help = (
                f"write `dim {statement.name.name} = 10`, or `dim {statement.name.name}` when "
                "it comes with the data"
            )
            message = "the size of a dim is a number, not a name"
            report.append(
                Diagnostic(
                    "E0509", message, flat.module.source, statement.labels[0].span, help=help
                )
            )


def _check_labels(flat: Flat, statement: s.DimStmt, report: list[Diagnostic]) -> None:
    seen: dict[str, Span] = {}
    for label in statement.labels:
        if label.name in seen:
            also = (Label(seen[label.name], "first written here"),)
            message = f"the label `{label.name}` stands twice in `{statement.name.name}`"
            report.append(Diagnostic("E0102", message, flat.module.source, label.span, also=also))
        seen[label.name] = label.span


def _collect_declaration(flat: Flat, symbols: Symbols, report: list[Diagnostic]) -> None:
    statement = flat.statement
    assert isinstance(statement, s.DeclStmt)
    symbol = _symbol(flat, statement.name, statement.role).replace(declaration=statement)
    known = symbols.space(flat.guide).get(symbol.name)
    if statement.role == "observed" and known and known.kind == "draw":
        symbols.model[symbol.name] = symbol.replace(pieces=known.pieces)
    else:
        _define(symbols, symbol, flat.guide, report)


def _collect_function(flat: Flat, symbols: Symbols, report: list[Diagnostic]) -> None:
    statement = flat.statement
    assert isinstance(statement, s.FnStmt)
    kind = "fn" if statement.body else "extern"
    _define(
        symbols, _symbol(flat, statement.name, kind).replace(declaration=statement), False, report
    )


def _collect_definition(flat: Flat, symbols: Symbols, report: list[Diagnostic]) -> None:
    """A second piece joins the first: whether the pieces overlap is a question of coverage.py."""
    statement = flat.statement
    assert isinstance(statement, s.DrawStmt | s.LetStmt | s.FactorStmt)
    kind = {s.DrawStmt: "draw", s.LetStmt: "let", s.FactorStmt: "factor"}[type(statement)]
    symbol = _symbol(flat, statement.target.name, kind).replace(pieces=(flat,))
    space = symbols.space(flat.guide)
    known = space.get(symbol.name)
    joins = known and (
        known.kind == kind != "factor" or (known.kind == "observed" and kind == "draw")
    )
    if known and joins:
        space[symbol.name] = known.replace(pieces=(*known.pieces, flat))
    else:
        _define(symbols, symbol, flat.guide, report)


def _collect_objective(flat: Flat, symbols: Symbols, report: list[Diagnostic]) -> None:
    if flat.module.prefix:
        message, help = (
            "an imported file cannot bring an objective",
            "state the objective in the importing file",
        )
        report.append(
            Diagnostic("E0603", message, flat.module.source, flat.statement.span, help=help)
        )
    elif symbols.objectives:
        also = (Label(symbols.objectives[0].statement.span, "the first objective"),)
        help = "a model has one objective: add the terms up"
        report.append(
            Diagnostic(
                "E0506",
                "a second objective",
                flat.module.source,
                flat.statement.span,
                help=help,
                also=also,
            )
        )
    else:
        symbols.objectives.append(flat)


def _collect_broken(flat: Flat, symbols: Symbols, report: list[Diagnostic]) -> None:
    statement = flat.statement
    assert isinstance(statement, s.BrokenStmt)
    for name in _names_before_a_sign(
        flat.module.source.text[statement.span.start : statement.span.end]
    ):
        symbol = _symbol(flat, s.Name(statement.span, name), "broken")
        symbols.broken.add(symbol.name)
        _define(symbols, symbol, flat.guide, report)


def _names_before_a_sign(text: str) -> Iterator[str]:
    """The names a text may define: what stands left of `~`, `=` and `:`, and a dim's labels."""
    for part in re.split(r"[\n;{}]", re.sub(r"#[^\n]*|<[^>\n]*>", "", text)):
        is_dim = part.lstrip().startswith("dim ")
        left = part if is_dim else re.split(r"[~=:]", re.sub(r"[\[(][^\])]*[\])]?", " ", part))[0]
        yield from (name.strip("`") for name in re.findall(r"[^\W\d]\w*|`[^`]+`", left))


def _symbol(flat: Flat, name: s.Name, kind: str) -> Symbol:
    return Symbol(flat.module.prefix + name.name, kind, name.span, flat.module)


_COLLECT = {
    s.ModelStmt: _collect_model,
    s.ImportStmt: _collect_import,
    s.DimStmt: _collect_dim,
    s.DeclStmt: _collect_declaration,
    s.FnStmt: _collect_function,
    s.DrawStmt: _collect_definition,
    s.LetStmt: _collect_definition,
    s.FactorStmt: _collect_definition,
    s.ObjectiveStmt: _collect_objective,
    s.BrokenStmt: _collect_broken,
}
