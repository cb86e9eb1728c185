"""The formats of network files, by their endings. Adding one is adding a row."""

from collections.abc import Callable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from .bif import read_bif, write_bif
from .network import FormatError, Network
from .uai import read_uai, write_uai
from .xmlbif import read_xmlbif, write_xmlbif

MOST_SHOWN = 20


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


def verify_ending(path: str) -> NetworkFormat:
    found = format_of(path)
    if found is None:
        endings = ", ".join(row.ending for row in FORMATS)
        raise FormatError(
            path, None, f"not a network file: the endings are {endings}, and each with .gz"
        )
    return found


def parse_network(text: str, path: str) -> Network:
    """The network of a file's text, by the ending of its path; raises FormatError."""
    network = verify_ending(path).read(text, path)
    if network.is_bayesian:
        _verify_acyclic(network, path)
    return network


def _verify_acyclic(network: Network, path: str) -> None:
    """Tables of a circle multiply to no distribution."""
    parents = {table.child: table.parents for table in network.tables}
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        circle = error.args[1]
        shown = " -> ".join(circle[:MOST_SHOWN])
        more = f" -> ... ({len(circle) - 1} variables)" if len(circle) > MOST_SHOWN else ""
        raise FormatError(path, None, f"its parents go round in a circle: {shown}{more}") from None
