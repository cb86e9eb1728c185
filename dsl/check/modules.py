"""A program and the files it imports, their statements outside of blocks, what these mention."""

import os
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from ..diagnostics import Diagnostic, DpError, Label
from ..files import reason_of
from ..limits import MAX_FILES
from ..record import Record
from ..source import Source, Span
from ..text import syntax as s
from ..text.parser import children, parse_program

SourceReader = Callable[[str], Source]
UNREAD = "?."
ENDING = ".dp"


class Module(Record):
    """`aliases` maps names after `as` to the prefixes of their modules, or to UNREAD."""

    prefix: str
    source: Source
    program: s.Program
    aliases: dict[str, str]

    def error(
        self,
        report: list[Diagnostic],
        code: str,
        message: str,
        span: Span,
        help: str = "",
        also: tuple[Label, ...] = (),
    ) -> None:
        found = Diagnostic(code, message, self.source, span, "", help, also)
        if found not in report:  # a type is read for every statement that it stands in
            report.append(found)


def load_modules(program: s.Program, read: SourceReader, report: list[Diagnostic]) -> list[Module]:
    """The program and, depth first, its imports; names of an import `as lib` start with `lib.`."""
    loader = _Loader(program.source, read, report)
    loader.load(program, "", (os.path.realpath(program.source.path),))
    return loader.modules


def real_path(path: str) -> str:
    """Where links lead to; a name that no file can have stays."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


class _Loader:
    """Each file is loaded once, under the first of its names; `prefixes` are by its real path."""

    def __init__(self, root: Source, read: SourceReader, report: list[Diagnostic]):
        self.read, self.report = read, report
        self.folders = [os.path.realpath(PurePosixPath(root.path).parent)]
        self.folders += map(os.path.realpath, root.import_paths)
        self.modules: list[Module] = []
        self.prefixes: dict[str, str] = {}

    def load(self, program: s.Program, prefix: str, importing: tuple[str, ...]) -> None:
        """`importing` are the real paths of this file and of those that led to it."""
        imports = [each for each in program.statements if isinstance(each, s.ImportStmt)]
        aliases = {i.alias.name: f"{prefix}{i.alias.name}." for i in imports}
        module = Module(prefix, program.source, program, aliases)
        self.modules.append(module)
        for statement in imports:
            alias = statement.alias.name
            path = str(PurePosixPath(program.source.path).parent / statement.path.value)
            real = real_path(path)
            if real in self.prefixes and real not in importing:
                aliases[alias] = self.prefixes[real]
                continue
            source = self.source_of(module, path, statement.path.span, importing)
            if source is None:
                aliases[alias] = UNREAD
                continue
            self.prefixes[real] = aliases[alias]
            imported, found = parse_program(source)
            self.report.extend(found)
            self.load(imported, aliases[alias], (*importing, real))

    def source_of(
        self, importer: Module, path: str, span: Span, importing: tuple[str, ...]
    ) -> Source | None:
        """An imported file, or None after saying why it is not read."""
        real = real_path(path)
        if real in importing:
            circle = (*importing[importing.index(real) :], real)
            chain = " -> ".join(os.path.relpath(each, self.folders[0]) for each in circle)
            importer.error(self.report, "E0602", "this import closes a circle", span, chain)
            return None
        reason, help = self.refusal(path)
        try:
            if not reason:
                return self.read(path)
        except DpError as error:
            reason = error.diagnostics[0].message
        except OSError as error:
            reason = reason_of(error)
        except ValueError:
            reason = "no file has such a name"
        help = help or "paths are relative to the importing file"
        importer.error(self.report, "E0601", f"cannot read `{path}`: {reason}", span, help)
        return None

    def refusal(self, path: str) -> tuple[str, str]:
        """Why a file is not to be opened, and what to do; so no text but a model's is ever shown.

        Judged by where links lead.
        """
        real = real_path(path)
        if not real.endswith(ENDING):
            return f"an imported file is called something{ENDING}", f"rename it to end in {ENDING}"
        if not any(os.path.commonpath([real, folder]) == folder for folder in self.folders):
            folder = os.path.dirname(real)
            help = f"allow it with `--import-path {folder}`, or with `import_paths=` in Python"
            return "it is outside of the folder of the model", help
        if len(self.modules) >= MAX_FILES:
            return f"a model has at most {MAX_FILES} files", "join some of them"
        return "", ""


# ---- blocks dissolve: every statement alone, with the binders, conditions and smoothing around it

Definition = s.DrawStmt | s.LetStmt | s.FactorStmt


class FlatStmt(Record):
    """One statement outside all blocks. `soft` holds the arguments of the nearest soft block."""

    statement: s.Statement
    module: Module
    guide: bool = False
    soft: tuple[s.Argument, ...] | None = None

    @property
    def definition(self) -> Definition:
        """The statement, where it is one that defines a variable or a factor."""
        assert isinstance(self.statement, Definition)
        return self.statement

    @property
    def uses(self) -> "list[Mention]":
        """What its right-hand side and its condition mention, its binders left out."""
        statement = self.definition
        bound = binder_names(statement.target.indices)
        body = statement.distribution if isinstance(statement, s.DrawStmt) else statement.value
        parts = (body, *filter(None, [statement.target.where]))
        return [mention for part in parts for mention in mentions(part, bound)]


class _Around(Record):
    module: Module
    binders: tuple[s.Binder, ...] = ()
    where: tuple[s.Expr, ...] = ()
    soft: tuple[s.Argument, ...] | None = None
    guide: bool = False


def flatten_module(module: Module, report: list[Diagnostic]) -> list[FlatStmt]:
    return [*_flatten(module.program.statements, _Around(module), report)]


def _flatten(
    statements: tuple[s.Statement, ...], around: _Around, report: list[Diagnostic]
) -> Iterator[FlatStmt]:
    for statement in statements:
        if isinstance(statement, s.ForStmt):
            where = (*around.where, *filter(None, [statement.where]))
            inside = around.replace(binders=around.binders + statement.binders, where=where)
            yield from _flatten(statement.body, inside, report)
        elif isinstance(statement, s.SoftStmt):
            yield from _flatten(statement.body, around.replace(soft=statement.arguments), report)
        elif isinstance(statement, s.GuideStmt):
            if around.binders or around.guide or around.soft is not None:
                _report_misplaced(statement, "guide", around, report)
            yield from _flatten(statement.body, around.replace(guide=True), report)
        elif isinstance(statement, Definition):
            bound = statement.replace(target=_bind_target(statement.target, around, report))
            yield FlatStmt(bound, around.module, around.guide, around.soft)
        else:
            in_guide = around.guide and not isinstance(statement, s.DeclStmt)
            if around.binders or around.soft is not None or in_guide:
                _report_misplaced(statement, _word(statement), around, report)
            yield FlatStmt(statement, around.module, around.guide)


def _bind_target(target: s.Target, around: _Around, report: list[Diagnostic]) -> s.Target:
    """Inside `for i in D`, the target `a[i]` means `a[i in D]`."""
    if not around.binders:
        return target
    by_name = {binder.name.name: binder for binder in around.binders}
    indices = tuple(by_name.get(i.name, i) if isinstance(i, s.Name) else i for i in target.indices)
    missing = tuple(binder for binder in around.binders if binder not in indices)
    if missing:
        own, name = target.name.name, missing[0].name.name
        message = f"`{own}` is defined for each `{name}`, but does not carry `{name}` as an index"
        help = f"write `{own}[{', '.join(by_name)}]`"
        around.module.error(report, "E0511", message, target.span, help)
    where: s.Expr | None = None
    for each in (*around.where, *filter(None, [target.where])):
        where = s.Binary(where.span.to(each.span), "and", where, each) if where else each
    return target.replace(indices=missing + indices, where=where)


def _word(statement: s.Statement) -> str:
    word = type(statement).__name__.removesuffix("Stmt").lower()
    if isinstance(statement, s.ObjectiveStmt):
        return "minimize" if statement.minimize else "maximize"
    return statement.role if isinstance(statement, s.DeclStmt) else word


def _report_misplaced(
    statement: s.Statement, word: str, around: _Around, report: list[Diagnostic]
) -> None:
    block = "for" if around.binders else "guide" if around.guide else "soft"
    message = f"`{word}` cannot stand inside a `{block}` block"
    around.module.error(report, "E0510", message, statement.span, "move it out of the block")


# ---- which names an expression mentions, with which indices: before types are known


class Mention(Record):
    """`indices` is None where the name stands without brackets."""

    name: str
    span: Span
    indices: tuple[s.Expr, ...] | None = None


def mentions(node: s.SyntaxNode, bound: frozenset[str] = frozenset()) -> Iterator[Mention]:
    if isinstance(node, s.Name):
        if node.name not in bound:
            yield Mention(node.name, node.span)
    elif isinstance(node, s.Index) and isinstance(base := node.base, s.Name):
        if base.name not in bound:
            yield Mention(base.name, base.span, node.indices)
        for index in node.indices:
            yield from mentions(index, bound)
    elif isinstance(node, s.LoopExpr):
        yield from mentions(node.start, bound)
        inside = bound | {node.variable.name}
        for part in (node.condition, node.limit, node.body):
            yield from mentions(part, inside)
    elif isinstance(node, s.Binder):
        yield from mentions(node.range, bound)
    elif isinstance(node, s.Target):
        for index_or_where in (*node.indices, *filter(None, [node.where])):
            yield from mentions(index_or_where, bound)
    elif not isinstance(node, s.Bound):
        if isinstance(node, s.Reduction | s.Comprehension):
            bound |= binder_names(node.binders)
        for child in children(node):
            yield from mentions(child, bound)


def binder_names(indices: tuple[s.Binder | s.Expr, ...]) -> frozenset[str]:
    return frozenset(i.name.name for i in indices if isinstance(i, s.Binder))


def read_offset(expr: s.Expr) -> tuple[str | None, int] | None:
    """A binder plus a whole number, or a whole number alone: `t`, `t - 1`, `0`; None for others."""
    if isinstance(expr, s.Group):
        return read_offset(expr.inner)
    if isinstance(expr, s.Name):
        return expr.name, 0
    if isinstance(expr, s.Number) and isinstance(expr.value, int):
        return None, expr.value
    if isinstance(expr, s.Binary) and expr.operator in "+-" and isinstance(expr.right, s.Number):
        base = read_offset(expr.left)
        if base and isinstance(expr.right.value, int):
            sign = 1 if expr.operator == "+" else -1
            return base[0], base[1] + sign * expr.right.value
    return None


def lags_of(target: s.Target, mention: Mention) -> tuple[int | None, ...]:
    """How many steps back a statement looks along each axis, as it is written."""
    if mention.indices is None:
        return ()
    pairs = zip(target.indices, mention.indices, strict=False)
    return tuple(_lag(index, read_offset(used)) for index, used in pairs)


def _lag(index: s.Binder | s.Expr, used: tuple[str | None, int] | None) -> int | None:
    if used is None:
        return None
    binder, value = used
    if isinstance(index, s.Binder):
        if binder == index.name.name:
            return -value
        low = index.range.low.value if index.range.low else 0
        is_earlier = binder is None and isinstance(low, int) and low > value
        return int(low) - value if is_earlier else None
    fixed = read_offset(index)
    is_fixed = fixed is not None and fixed[0] is None and binder is None
    return fixed[1] - value if fixed and is_fixed else None
