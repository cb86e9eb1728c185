"""`python -m dpc` and the `dpc` script."""

import sys

from dpc.cli import main

if __name__ == "__main__":
    sys.exit(main())
