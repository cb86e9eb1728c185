"""What can go wrong in a question, said so that the asker can act."""


class InferenceError(ValueError):
    """A question or a graph that has no answer as it stands."""


class ImpossibleEvidenceError(InferenceError):
    """The evidence has probability zero, so nothing can be conditioned on it."""


class MemoryLimitError(InferenceError):
    """The plan needs more memory than allowed; nothing was computed."""


class PlanMismatchError(InferenceError):
    """A plan made for other variables, factors or evidence was passed in."""
