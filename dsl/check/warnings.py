"""What is probably a slip, or likely to go wrong with a posterior: warnings, never errors."""

from collections.abc import Iterator
from math import isinf

from ..diagnostics import Diagnostic
from ..graph import core as c
from ..graph.dependence import nodes_read, reads
from ..graph.typed import Definition, Piece, Typed
from ..text import syntax as s
from ..text.parser import children
from .modules import FlatStmt, mentions
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
NONCENTRED = "samplers do better when it is computed from standard noise: add `with noncentered`"
INFORMED = frozenset({"observed", "factor", "latent"})

# ---- names that nobody uses


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


def _keys(node: s.SyntaxNode) -> Iterator[s.Key]:
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


# ---- what can be seen of a posterior before there are data


def warn_posterior(typed: Typed, report: list[Diagnostic]) -> None:
    """For a model with observations and no objective of its own: that is what has a posterior."""
    if typed.objective is None and any(d.kind == "observed" for d in typed.definitions):
        program = _Dependencies(typed.definitions)
        report += [*_uninformed(program), *_centred(program)]


class _Dependencies:
    def __init__(self, definitions: tuple[Definition, ...]):
        self.definitions = definitions
        self.by_name = {definition.name: definition for definition in definitions}
        self.used = {d.name: {name for p in d.pieces for name in _names(p)} for d in definitions}
        self.all_used = {name for names in self.used.values() for name in names}

    def ancestors(self, names: set[str]) -> set[str]:
        found: set[str] = set()
        while names:
            found |= names
            names = {used for name in names for used in self.used.get(name, ())} - found
        return found

    def readers(self, name: str) -> list[Definition]:
        """Who depends on a variable, but for outputs, which nobody reads."""
        found = [d for d in self.definitions if name in self.used[d.name]]
        return [d for d in found if d.kind != "let" or d.name in self.all_used]


def _names(piece: Piece) -> tuple[str, ...]:
    return nodes_read(piece.body, piece.where)


# ---- a posterior that is improper


def _uninformed(program: _Dependencies) -> Iterator[Diagnostic]:
    """A param on which nothing observed depends keeps its flat prior: an infinite integral."""
    informed = program.ancestors({d.name for d in program.definitions if d.kind in INFORMED})
    for d in program.definitions:
        if d.kind == "param" and d.name in program.all_used - informed and _is_unbounded(d):
            message = f"no observation depends on the parameter `{d.name}`, so data cannot tell it"
            help = f"give it a prior, `{d.name} ~ ...`, or let what is observed depend on it"
            yield Diagnostic("W0501", message, d.source, d.span, help=help)


def _is_unbounded(definition: Definition) -> bool:
    return any(map(isinf, definition.type.bounds)) and not definition.type.constraint


# ---- a centred hierarchy


def _centred(program: _Dependencies) -> Iterator[Diagnostic]:
    """x[k] ~ Normal(mean, tau) with tau unknown, and of every x[k] one real observation alone."""
    for d in program.definitions:
        if d.kind != "draw" or len(d.pieces) != 1 or not _has_unknown_scale(d.pieces[0], program):
            continue
        readers = program.readers(d.name)
        if readers and all(_is_one_observation(reader, d.name) for reader in readers):
            what = "an unknown scale and one observation of each element"
            message = f"`{d.name}` has {what}: a funnel"
            yield Diagnostic("W0402", message, d.source, d.span, help=NONCENTRED)


def _has_unknown_scale(piece: Piece, program: _Dependencies) -> bool:
    is_centred = not any(setting.name == "noncentered" for setting in piece.settings)
    law = piece.body
    if not (is_centred and piece.indices and isinstance(law, c.Law)):
        return False
    scales = law.given(law.facts.location_scale[1:])
    names = {ref.name for scale in scales for ref, _ in reads(scale)}
    known = program.ancestors(names) & program.by_name.keys()
    return any(program.by_name[name].kind in ("draw", "param") for name in known)


def _is_one_observation(reader: Definition, name: str) -> bool:
    """Whether each element of `name` is the location of one real element of the reader."""
    if reader.kind != "observed" or len(reader.pieces) != 1:
        return False
    (piece,) = reader.pieces
    binders = [index.name for index in piece.indices if isinstance(index, c.Bind)]
    places = [_binder_names(read) for ref, read in reads(piece.body) if ref.name == name]
    is_real = isinstance(piece.body, c.Law) and bool(piece.body.facts.location_scale)
    return is_real and all(sorted(place) == sorted(binders) for place in places)


def _binder_names(read: c.Core) -> list[str]:
    """The binders that a read is indexed by; anything else has a name that no binder has."""
    indices = read.indices if isinstance(read, c.At) else ()
    return [index.name if isinstance(index, c.Var) else "" for index in indices]
