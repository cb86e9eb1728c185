"""A process that is killed without warning: kill -9 when what it was waited for is there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable

LONGEST = 120


def kill_when(is_there: Callable[[], bool], arguments: list[str]) -> None:
    """Starts Python with these arguments."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + LONGEST
    while not is_there():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
