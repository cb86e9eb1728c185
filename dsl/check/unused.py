"""Names that nobody uses: probably a slip, never an error."""

from collections.abc import Iterator

from ..diagnostics import Diagnostic
from ..text import syntax as s
from ..text.parser import children
from .flatten import FlatStmt
from .references import mentions
from .symbols import Symbols

WORTH_SAYING = {
    "data": "data",
    "param": "parameter",
    "let": "value",
    "fn": "function",
    "extern": "function",
    "dim": "dim",
    "alias": "import",
}


def warn_unused(flats: list[FlatStmt], symbols: Symbols, report: list[Diagnostic]) -> None:
    """Only names of the file itself: an imported library may offer more than is needed."""
    used = {name for flat in flats for name in _used_names(flat)}
    used |= {dim.name for name in used for dim in symbols.labels.get(name, ())}
    for symbol in (*symbols.model.values(), *symbols.guide.values()):
        is_ours = symbol.kind in WORTH_SAYING and not symbol.module.prefix
        if is_ours and symbol.name not in used and not symbol.is_kept:
            message = f"the {WORTH_SAYING[symbol.kind]} `{symbol.name}` is never used"
            help = "write `:=` to keep it as an output" if symbol.kind == "let" else ""
            symbol.module.error(report, "W0101", message, symbol.span, help)


def _used_names(flat: FlatStmt) -> set[str]:
    """Global names that a statement mentions, without the name that it defines itself."""
    own = _defined_name(flat)
    found = set()
    for mention in mentions(flat.statement):
        head, dot, rest = mention.name.partition(".")
        if dot and head in flat.module.aliases:
            found |= {flat.module.prefix + head, flat.module.aliases[head] + rest}
        elif dot:
            found |= {flat.module.prefix + head, flat.module.prefix + mention.name}
        elif mention.name != own:
            found.add(flat.module.prefix + mention.name)
    found |= {key.text for key in _keys(flat.statement)}
    if flat.soft is not None:
        found |= {m.name for argument in flat.soft for m in mentions(argument)}
    return found


def _keys(node: s.Node) -> Iterator[s.Key]:
    """The labels that tables name in their rows and columns."""
    if isinstance(node, s.Key):
        yield node
    for child in children(node):
        yield from _keys(child)


def _defined_name(flat: FlatStmt) -> str | None:
    statement = flat.statement
    if isinstance(statement, s.DrawStmt | s.LetStmt | s.FactorStmt):
        return statement.target.name.name
    return statement.name.name if isinstance(statement, s.DeclStmt | s.DimStmt | s.FnStmt) else None
