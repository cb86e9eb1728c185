"""The formats of network files, by their endings. Adding one is adding a row."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .bif import read_bif, write_bif
from .network import FormatError, Network
from .uai import read_uai, write_uai
from .xmlbif import read_xmlbif, write_xmlbif


@dataclass(frozen=True)
class NetworkFormat:
    name: str
    ending: str
    read: Callable[[str, str], Network]
    write: Callable[[Network], str]
    only_bayesian: bool


FORMATS = (
    NetworkFormat("BIF", ".bif", read_bif, write_bif, True),
    NetworkFormat("XMLBIF", ".xmlbif", read_xmlbif, write_xmlbif, True),
    NetworkFormat("XMLBIF", ".xml", read_xmlbif, write_xmlbif, True),
    NetworkFormat("UAI", ".uai", read_uai, write_uai, False),
)


def format_of(path: str) -> NetworkFormat | None:
    ending = Path(path.removesuffix(".gz")).suffix.lower()
    return next((row for row in FORMATS if row.ending == ending), None)


def read_network(path: str) -> Network:
    """A network file, compressed or not; raises FormatError, or OSError when it cannot be read."""
    found = format_of(path)
    if found is None:
        endings = ", ".join(row.ending for row in FORMATS)
        raise FormatError(
            path, None, f"not a network file: the endings are {endings}, and each with .gz"
        )
    content = Path(path).read_bytes()
    try:
        text = (gzip.decompress(content) if path.endswith(".gz") else content).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(path, None, f"byte {error.start} is not UTF-8") from None
    except (OSError, EOFError) as error:
        raise FormatError(path, None, f"cannot be decompressed: {error}") from None
    return found.read(text, path)
