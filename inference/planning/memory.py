"""How much memory a plan may take: half of what is free, unless told."""

from pathlib import Path

FRACTION = 0.5
UNKNOWN = 4 << 30


def default_memory_limit() -> int:
    """Half of the available memory in bytes; 2 GiB where the system does not say."""
    return int(available_memory() * FRACTION)


def available_memory() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return UNKNOWN
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in fields else UNKNOWN


def format_bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}"
