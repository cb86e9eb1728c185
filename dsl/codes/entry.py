"""One code: what it means, a program that causes it, and the same program mended."""

from __future__ import annotations

from ..record import Record


class Code(Record):
    """`bad` must give exactly this code and `good` nothing at all: a test runs both."""

    code: str
    title: str
    text: str
    bad: str
    good: str


def format_code(code: Code) -> str:
    head = f"{code.code}: {code.title}\n\n{code.text}"
    return (
        f"{head}\n\nThis is wrong:\n\n{_indent(code.bad)}\n\nThis is right:\n\n{_indent(code.good)}"
    )


def _indent(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines())
