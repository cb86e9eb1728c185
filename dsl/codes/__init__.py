"""What every code means: the text of `dpc explain`, and of docs/errors.md."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from textwrap import indent

from ..record import Record


class Code(Record):
    """An entry of a chapter: the code and its title, a text, and a program with the mistake.

    Every line of the program starts with `- ` in the mistake, with `+ ` in its mend, and with two
    blanks in both. `bad` must give exactly this code and `good` nothing at all: a test runs both.
    """

    head: str
    text: str
    program: str

    @property
    def code(self) -> str:
        return self.head.partition(": ")[0]

    @property
    def title(self) -> str:
        return self.head.partition(": ")[2]

    @property
    def bad(self) -> str:
        return self._lines_without("+")

    @property
    def good(self) -> str:
        return self._lines_without("-")

    def _lines_without(self, mark: str) -> str:
        lines = self.program.splitlines()
        return "".join(f"{line[2:]}\n" for line in lines if not line.startswith(mark))


def format_code(code: Code) -> str:
    bad, good = (indent(program, " " * 4).rstrip() for program in (code.bad, code.good))
    programs = f"This is wrong:\n\n{bad}\n\nThis is right:\n\n{good}"
    return f"{code.head}\n\n{code.text}\n\n{programs}"


CHAPTERS = {
    "syntax": "Reading the text",
    "names": "Names",
    "types": "Types and shapes",
    "indices": "Indices and ranges",
    "distributions": "Distributions and tables",
    "structure": "The model as a whole",
    "files": "Imports, guides and objectives",
    "settings": "Annotations",
    "warnings": "Warnings",
}


@cache
def chapters() -> dict[str, tuple[Code, ...]]:
    texts = {title: import_module(f".{name}", __name__).CODES for name, title in CHAPTERS.items()}
    return {title: tuple(_entries(text)) for title, text in texts.items()}


def _entries(chapter: str) -> Iterator[Code]:
    for entry in chapter.strip().split("\n\n"):
        head, *lines = entry.split("\n")
        program = [line for line in lines if line.startswith(("- ", "+ ", "  "))]
        text = lines[: len(lines) - len(program)]
        yield Code(head, "\n".join(text), "\n".join(program))


@cache
def all_codes() -> dict[str, Code]:
    return {code.code: code for codes in chapters().values() for code in codes}
