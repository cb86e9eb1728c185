"""How long `dpc check` takes on models of growing length, in CPU time of the whole process.

Run with `make bench`. The yardstick is the interpreter itself: `python -c pass` and `python -c
"import lark"`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 15
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
HEAD = (
    "model large\ndim Obs\ndim Group\ndata group[Obs] : Group\nobserved y[Obs] : real\nsigma ~ "
    "HalfNormal(1)\n"
)
BLOCK = """
data x{i}[Obs] : real
mu{i}  ~ Normal(0, 5)
tau{i} ~ HalfNormal(2)
b{i}[g in Group] ~ Normal(mu{i}, tau{i}) with noncentered
eta{i}[i in Obs] = eta{j}[i] + b{i}[group[i]] * x{i}[i]
"""


def model_of(lines: int) -> str:
    """A regression with as many varying slopes as fill the lines."""
    blocks = [BLOCK.format(i=i, j=i - 1).strip() for i in range(1, (lines - 8) // 5 + 1)]
    last = f"y[i in Obs] ~ Normal(eta{len(blocks)}[i], sigma)"
    return "\n".join([HEAD.strip(), "eta0[i in Obs] = 0", *blocks, last]) + "\n"


def cpu_seconds(command: list[str]) -> float:
    """The median, over several runs, of user and system time."""
    return statistics.median(_once(command) for _ in range(REPEATS))


def _once(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def main() -> None:
    bare = cpu_seconds([sys.executable, "-c", "pass"])
    rows = [
        ("python -c pass", bare),
        ('python -c "import lark"', cpu_seconds([sys.executable, "-c", "import lark"])),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for lines in (20, 200, 2000):
            path = Path(folder) / f"{lines}.dp"
            path.write_text(model_of(lines))
            command = [sys.executable, "-m", "dpc", "check", str(path)]
            _once(command)
            rows.append((f"dpc check, {lines} lines", cpu_seconds(command)))
    for name, seconds in rows:
        print(f"{name:<28}{seconds * 1000:8.0f} ms{seconds / bare:8.1f} x python")


if __name__ == "__main__":
    main()
