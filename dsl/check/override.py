"""Annotations from outside, `b.grad=rloo(samples=4)`: they replace the file's, checked like them.

Their positions are counted on from the end of the file, so that a report about them can be told
apart from one about the file, and shown where it was written.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..diagnostics import Diagnostic, did_you_mean
from ..library.annotations import ANNOTATIONS
from ..record import Record
from ..source import Source, Span
from ..text import syntax as s
from ..text.parser import parse_program

Annotated = s.DrawStmt | s.LetStmt | s.FactorStmt | s.ObjectiveStmt
PATH = "<settings>"
BEFORE = "x = 0 with "
ROWS = {row.name: row for row in ANNOTATIONS}


class Override(Record):
    """`annotation` is None where a flag is removed; its spans start at `base`."""

    name: str
    word: str
    annotation: s.Annotation | None
    source: Source
    base: int


class Overridden(Record):
    program: s.Program
    overrides: tuple[Override, ...]
    problems: tuple[Diagnostic, ...]

    def relocate(self, diagnostic: Diagnostic) -> Diagnostic:
        """What is said about an annotation from outside, at the place where that was written."""
        for own in reversed(self.overrides):
            if diagnostic.span.start >= own.base and diagnostic.source == self.program.source:
                span = _shifted(diagnostic.span, -own.base)
                return diagnostic.replace(source=own.source, span=span)
        return diagnostic


def override(program: s.Program, settings: Mapping[str, object]) -> Overridden:
    """The program with these annotations, by `NAME.ANNOTATION`, in place of its own."""
    problems: list[Diagnostic] = []
    overrides: list[Override] = []
    base = len(program.source.text) + 1
    for key, value in settings.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        found = _read(key, text, base, problems)
        names = [_name(statement) for statement, _ in _annotated(program.statements)]
        if found and found.name not in names:
            help = did_you_mean(found.name, names)
            help = help or f"annotations go with {', '.join(dict.fromkeys(names))}"
            message = f"the file computes or draws no `{found.name}`"
            span = Span(0, len(found.name))
            problems.append(Diagnostic("E0104", message, found.source, span, help=help))
        elif found:
            program = program.replace(statements=_replaced(program.statements, found))
            overrides.append(found)
            base += len(found.source.text) + 1
    return Overridden(program, tuple(overrides), tuple(problems))


def _read(key: str, value: str, base: int, problems: list[Diagnostic]) -> Override | None:
    name, dot, word = key.rpartition(".")
    source = Source(PATH, f"{key}={value}")
    if not dot:
        message = f"`{key}` does not say what to set"
        help = f"as in `{key}.grad=...`"
        problems.append(Diagnostic("E0701", message, source, Span(0, len(key)), help=help))
        return None
    row = ROWS.get(word)
    if row and not row.methods:
        start = len(name) + 1
        if value not in ("true", "false"):
            span = Span(start + len(word) + 1, len(source.text))
            problems.append(Diagnostic("E0702", f"`{word}` is true or false", source, span))
            return None
        span = Span(base + start, base + len(source.text))
        flag = s.Annotation(span, word, None, None) if value == "true" else None
        return Override(name, word, flag, source, base)
    parsed, errors = parse_program(Source(PATH, f"{BEFORE}{word}={value}\n"))
    shift = len(name) + 1 - len(BEFORE)
    lets = [each for each in parsed.statements if isinstance(each, s.LetStmt)]
    annotations = [annotation for let in lets for annotation in let.annotations]
    if errors or len(parsed.statements) != 1 or len(annotations) != 1:
        spans = [_shifted(error.span, shift) for error in errors]
        spans.append(Span(len(key) + 1, len(source.text)))
        help = "write it as after `with`: a method, and its options in parentheses"
        message = f"`{value}` is no value of `{word}`"
        problems.append(Diagnostic("E0702", message, source, spans[0], help=help))
        return None
    annotation = _as_call(annotations[0]) if row and row.call else annotations[0]
    return Override(name, word, _move(annotation, base + shift), source, base)


def _as_call(annotation: s.Annotation) -> s.Annotation:
    """`soft=logistic(scale=1)` from outside is `soft(logistic, scale=1)` in a file."""
    value = annotation.value
    assert value is not None
    method = value.function if isinstance(value, s.Call) else value
    options = value.arguments if isinstance(value, s.Call) else ()
    arguments = (s.Argument(method.span, None, method), *options)
    return annotation.replace(value=None, arguments=arguments)


def _move(tree: Any, by: int) -> Any:
    if isinstance(tree, Record):
        return tree.replace(**{name: _move(getattr(tree, name), by) for name in tree.fields})
    if isinstance(tree, Span):
        return _shifted(tree, by)
    return tuple(_move(item, by) for item in tree) if isinstance(tree, tuple) else tree


def _shifted(span: Span, by: int) -> Span:
    return Span(max(0, span.start + by), max(0, span.end + by))


def _annotated(
    statements: tuple[s.Statement, ...], guide: bool = False
) -> Iterator[tuple[Annotated, bool]]:
    """Statements that may carry annotations, and whether they stand in the guide."""
    for statement in statements:
        if isinstance(statement, s.ForStmt | s.SoftStmt | s.GuideStmt):
            yield from _annotated(statement.body, guide or isinstance(statement, s.GuideStmt))
        elif isinstance(statement, Annotated):
            yield statement, guide


def _name(statement: Annotated) -> str:
    if isinstance(statement, s.ObjectiveStmt):
        return "minimize" if statement.minimize else "maximize"
    return statement.target.name.name


def _replaced(statements: tuple[s.Statement, ...], found: Override) -> tuple[s.Statement, ...]:
    """A name in model and guide is set where it has the annotation already, else in the model."""
    own = [pair for pair in _annotated(statements) if _name(pair[0]) == found.name]
    carriers = {guide for each, guide in own if found.word in {a.name for a in each.annotations}}
    places = carriers or {min(guide for _, guide in own)}
    return _rewritten(statements, found, places, False)


def _rewritten(
    statements: tuple[s.Statement, ...], found: Override, places: set[bool], guide: bool
) -> tuple[s.Statement, ...]:
    def rewrite(statement: s.Statement) -> s.Statement:
        if isinstance(statement, s.ForStmt | s.SoftStmt | s.GuideStmt):
            inside = guide or isinstance(statement, s.GuideStmt)
            return statement.replace(body=_rewritten(statement.body, found, places, inside))
        if not isinstance(statement, Annotated) or guide not in places:
            return statement
        if _name(statement) != found.name:
            return statement
        others = tuple(a for a in statement.annotations if a.name != found.word)
        return statement.replace(annotations=(*others, *filter(None, [found.annotation])))

    return tuple(map(rewrite, statements))
