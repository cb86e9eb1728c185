"""Text of strangers, fit to be seen: nothing in it moves, colours or reverses what is shown."""


def printable(text: str) -> str:
    r"""One line; controls, bidirectional marks and what has no shape as escapes: \x1b, \u202e."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def printable_lines(text: str) -> str:
    """The same of several lines."""
    return "\n".join(map(printable, text.split("\n")))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


class InWords(Exception):
    """An error whose message may hold names of strangers."""

    def __str__(self) -> str:
        return printable_lines(super().__str__())
