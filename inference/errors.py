"""What can go wrong in a question, said so that the asker can act."""


class InferenceError(ValueError):
    """A question or a graph that has no answer as it stands."""

    def __str__(self) -> str:
        return visible(super().__str__())


def visible(message: str) -> str:
    """Names come from files of strangers: what is no printable character is shown escaped."""
    shown = [one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in message]
    return "".join(shown)


class ImpossibleEvidenceError(InferenceError):
    """The evidence has probability zero, so nothing can be conditioned on it."""


class MemoryLimitError(InferenceError):
    """The plan needs more memory than allowed; nothing was computed."""


class PlanMismatchError(InferenceError):
    """A plan made for other variables, factors or evidence was passed in."""
