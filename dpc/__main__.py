"""`python -m dpc` and the `dpc` script."""

import gc
import sys

from . import cli

LIGHT = frozenset({"check", "fmt", "info", "graph", "explain"})


def main() -> int:
    """A light command makes many small objects and ends: collecting garbage would take a fifth of
    its time.
    """
    if LIGHT & set(sys.argv[1:2]):
        gc.disable()
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
