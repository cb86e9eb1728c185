"""Exit codes, as documented in the README, and which mistakes they are for."""

OK = 0
WRONG_MODEL = 1
USAGE = 2
BAD_DATA = 3
NOT_CONVERGED = 4
BUG = 70
INTERRUPTED = 130


class UsageError(ValueError):
    """A question that cannot be answered as it was asked: a missing file, an unknown name."""


# By name, not by class: most of these live in modules that load JAX, and a light command has none.
EXITS = {
    "CannotWrite": USAGE,
    "DpError": WRONG_MODEL,
    "DataError": BAD_DATA,
    "WrongEvidence": BAD_DATA,
    "Diverged": NOT_CONVERGED,
    "NoMode": NOT_CONVERGED,
    "NoStart": NOT_CONVERGED,
    "EstimatorError": USAGE,
    "FormatError": USAGE,
    "GraphvizError": USAGE,
    "MemoryLimitError": USAGE,
    "NotApplicable": USAGE,
    "NotTabular": USAGE,
    "UnknownFormat": USAGE,
    "UsageError": USAGE,
    "WrongCheckpoint": USAGE,
    "UnboundFunction": USAGE,
    "WrongStart": USAGE,
    "InferenceError": BAD_DATA,
}


def exit_of(error: BaseException) -> int:
    """The exit code for a mistake of the user's; for anything else that it is a bug of ours."""
    for kind in type(error).__mro__:
        if kind.__name__ in EXITS:
            return EXITS[kind.__name__]
    return BUG
