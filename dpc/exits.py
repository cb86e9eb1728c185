"""Exit codes, as documented in the README, and which mistakes they are for.

One place tells a bad day, a full disk, no memory or a name that cannot be printed, from a bug.
"""

import os

from dpc.dsl.printable import InWords

OK = 0
WRONG_MODEL = 1
USAGE = 2
BAD_DATA = 3
NOT_CONVERGED = 4
BUG = 70
INTERRUPTED = 130


class UsageError(InWords, ValueError):
    """A question that cannot be answered as it was asked: a missing file, an unknown name."""


# By name, not by class: most of these live in modules that load JAX, and a light command has none.
EXITS = {
    "CannotWrite": USAGE,
    "DpError": WRONG_MODEL,
    "DataError": BAD_DATA,
    "WrongEvidence": BAD_DATA,
    "Diverged": NOT_CONVERGED,
    "NotANumber": WRONG_MODEL,
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


def verify_folder(path: str) -> None:
    """Before the work, not after it."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"cannot write {path}: there is no folder {folder}")


SEEDS = 1 << 63


def verify_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"`seed=` takes a whole number, not {seed!r}")
    if not 0 <= seed < SEEDS:
        raise UsageError(f"`seed=` takes a whole number from 0 to 2^63 - 1, not {seed}")
    return seed


def exit_of(error: BaseException) -> int:
    """The exit code for a mistake of the user's; for anything else that it is a bug of ours."""
    for kind in type(error).__mro__:
        if kind.__name__ in EXITS:
            return EXITS[kind.__name__]
    return BUG


OWN_WORDS = frozenset({"DpError", "DataError"})


def sentence_of(error: BaseException) -> str | None:
    """What is to be said of a mistake or a bad day; None for a bug of ours."""
    if type(error).__name__ in OWN_WORDS:
        return str(error)
    if exit_of(error) != BUG:
        return f"dpc: {error}"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"dpc: {where}{error.strerror or error}"
    if isinstance(error, UnicodeError):
        return f"dpc: a name or a text cannot be written in this encoding: {error}"
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)[:200]:
        reason = str(error).splitlines()[0] if str(error) else "no more is free"
        return f"dpc: not enough memory ({reason}); ask for fewer draws, or give smaller data"
    return None
