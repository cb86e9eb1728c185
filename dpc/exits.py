"""Exit codes, as documented in the README."""

OK = 0
WRONG_MODEL = 1
USAGE = 2
BAD_DATA = 3
NOT_CONVERGED = 4
BUG = 70
INTERRUPTED = 130


class UsageError(Exception):
    """A command that cannot be carried out as written: a missing file, an unknown format."""
