"""`python -m dpc` and the `dpc` script."""

import gc
import signal
import sys

# Ctrl-C while the program is being loaded ends it without a word; one that is ignored stays so.
LISTENS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if LISTENS:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from . import cli  # noqa: E402

LIGHT = frozenset({"check", "fmt", "info", "graph", "explain"})


def main() -> int:
    """Light commands make small objects and end: collecting garbage takes a fifth of their time."""
    if LIGHT & set(sys.argv[1:2]):
        gc.disable()
    if LISTENS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
