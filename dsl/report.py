"""Diagnostics as text, in the shape people know from rustc, and as JSON."""

from collections.abc import Iterable, Sequence
from typing import Any

from .diagnostics import Diagnostic
from .limits import MAX_ERRORS
from .printable import printable, printable_lines
from .source import Source, Span

BOLD, RED, YELLOW, BLUE, CYAN, RESET = (
    f"\033[{code}m" for code in ("1", "1;31", "1;33", "1;34", "1;36", "0")
)
MAX_WIDTH = 160


def format_diagnostics(diagnostics: Sequence[Diagnostic], color: bool = False) -> str:
    return "\n\n".join(format_diagnostic(d, color) for d in diagnostics)


def format_diagnostic(d: Diagnostic, color: bool = False) -> str:
    position = d.source.position(d.span.start)
    places = [(d.span, d.label, "^"), *((also.span, also.text, "-") for also in d.also)]
    gutter = len(str(max(d.source.position(span.start).line for span, _, _ in places)))
    paint = (lambda tone, text: f"{tone}{text}{RESET}") if color else (lambda tone, text: text)
    tone = RED if d.is_error else YELLOW
    bar = paint(BLUE, "|")
    where = f"{printable(d.source.path)}:{position.line}:{position.column}"
    lines = [
        paint(tone, f"{d.severity}[{d.code}]") + paint(BOLD, f": {printable_lines(d.message)}"),
        f"{' ' * gutter}{paint(BLUE, '-->')} {where}",
        f"{' ' * gutter} {bar}",
    ]
    for span, label, mark in places:
        lines += _excerpt(d.source, span, label, mark, gutter, paint, tone if mark == "^" else BLUE)
    if d.help:
        lines.append(
            f"{' ' * gutter} {paint(BLUE, '=')} {paint(CYAN, 'help')}: {printable_lines(d.help)}"
        )
    return "\n".join(lines)


def _excerpt(
    source: Source, span: Span, label: str, mark: str, gutter: int, paint: Any, tone: str
) -> list[str]:
    """The line with marks under the whole span, or under its first line when there are more."""
    line, column = source.position(span.start)
    text = source.line(line).replace("\t", " ")
    end = min(span.end, source.line_starts[line - 1] + len(text))
    width = max(1, end - span.start)
    shift = max(0, column - MAX_WIDTH // 2) if len(text) > MAX_WIDTH else 0
    shown = text[shift : shift + MAX_WIDTH]
    # Escapes are longer than what they stand for.
    start = column - 1 - shift
    before, marked = shown[:start], shown[start : start + width]
    marks = " " * len(printable(before)) + mark * max(1, len(printable(marked)))
    said = f"{marks} {printable(label)}".rstrip()
    return [
        f"{paint(BLUE, f'{line:>{gutter}} |')} {printable(shown)}".rstrip(),
        f"{' ' * gutter} {paint(BLUE, '|')} {paint(tone, said)}",
    ]


def diagnostic_as_json(d: Diagnostic) -> dict[str, Any]:
    return {
        "code": d.code,
        "severity": d.severity,
        "message": d.message,
        "path": d.source.path,
        "span": _span_as_json(d.source, d.span),
        "label": d.label,
        "help": d.help,
        "also": [{"span": _span_as_json(d.source, a.span), "text": a.text} for a in d.also],
    }


def _span_as_json(source: Source, span: Span) -> dict[str, Any]:
    start, end = source.position(span.start), source.position(max(span.start, span.end))
    return {
        "start": {"offset": span.start, "line": start.line, "column": start.column},
        "end": {"offset": span.end, "line": end.line, "column": end.column},
    }


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    found = list(diagnostics)
    errors = sum(d.is_error for d in found)
    counts = [(errors, "error"), (len(found) - errors, "warning")]
    shown = ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n)
    return f"{shown}; checking stopped there" if len(found) >= MAX_ERRORS else shown
