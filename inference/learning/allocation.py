"""Memory that one step frees is there for the next.

JAX takes a program's working memory from `malloc` at each call, and glibc gives blocks of more than 32 MB back to the
system as soon as they are freed: every step then asks for the same pages again, which took a third of the time of fits
with 10^5 rows.
"""

from __future__ import annotations

import ctypes
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
GIGABYTE = 2**30


@cache
def keep_freed_memory() -> None:
    """Blocks of up to a gigabyte stay with the process; does nothing where the C library has no `mallopt`."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, GIGABYTE)
        library.mallopt(TRIM_THRESHOLD, GIGABYTE)
    except (OSError, TypeError, AttributeError):
        return
