"""What the compiler says about a program. Diagnostics are data; printing them is in report.py."""

from collections.abc import Iterable

from .record import Record
from .source import Source, Span


class Label(Record):
    """A second place that explains the first: where a name was already defined, say."""

    span: Span
    text: str


class Diagnostic(Record):
    """`code` is in dsl/codes. `label` stands under the caret, `help` says what to write instead."""

    code: str
    message: str
    source: Source
    span: Span
    label: str = ""
    help: str = ""
    also: tuple[Label, ...] = ()

    @property
    def severity(self) -> str:
        return "error" if self.code.startswith("E") else "warning"

    @property
    def is_error(self) -> bool:
        return self.code.startswith("E")


class DpError(Exception):
    """The user's mistake: carries the diagnostics that describe it."""

    def __init__(self, diagnostics: Iterable[Diagnostic]):
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        from .report import format_diagnostics

        return format_diagnostics(self.diagnostics)


class InternalError(Exception):
    """Our mistake: an invariant of the compiler does not hold."""

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\nThis is a bug in dpc. Please report it together with the model."
        )


def nearest_name(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most likely meant: the same but for case, else close in edit distance."""
    import difflib  # only a misspelling needs it

    names = list(candidates)
    for candidate in names:
        if candidate.lower() == name.lower():
            return candidate
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    found = nearest_name(name, candidates)
    return f"did you mean `{found}`?" if found else ""
