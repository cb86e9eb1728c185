"""Networks between .dp and the formats of other programs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpc.dsl.files import write_whole
from dpc.dsl.graph.graph import Kind
from dpc.dsl.record import Record
from dpc.inference.formats.network import Network
from dpc.inference.formats.registry import FORMATS, format_of

from ..exits import UsageError
from .from_network import program_of
from .tabulated import tabulate
from .to_network import network_of

if TYPE_CHECKING:
    from ..model.model import Model


def network_of_model(model: Model, data: Any, params: Any) -> Network:
    if model.network is not None and not data and not params:
        return model.network
    tabulated = tabulate(model, model._sources(data), params or {})
    return network_of(tabulated.discrete, model.graph.source)


def learned_network(model: Model, fit: Any, path: str) -> Network:
    """The network with the tables that a fit learned, where those are all that it learned."""
    from dpc.dsl.graph.passes.tables import tables_as_parameters

    graph = tables_as_parameters(model.graph)
    learned = {node.name for node in graph.of_kind(Kind.PARAMETER)}
    if fit.params.keys() != learned or graph is model.graph:
        raise UsageError(
            f"{path} would be a network with learned tables, and tables are not all that was "
            "learned here"
        )
    own = type(model)(graph, externs=model.externs)
    return network_of(tabulate(own, params=fit.params).discrete, model.graph.source)


class Saved(Record):
    """The files that a network was written to, and what it is."""

    files: tuple[str, ...]
    kind: str
    variables: int

    def __str__(self) -> str:
        return f"{', '.join(self.files)}: {self.kind} of {self.variables} variables"


def write_network(network: Network, path: str) -> Saved:
    """Writes a network in the format of the file's ending."""
    files = _contents(network, path)
    for name, content in files.items():
        write_whole(name, content)
    kind = "Bayesian network" if network.is_bayesian else "Markov network"
    return Saved(tuple(files), kind, len(network.variables))


def _contents(network: Network, path: str) -> dict[str, bytes]:
    if path.endswith(".dp"):
        return _as_program(network, path)
    found = format_of(path)
    if found is None or path.endswith(".gz"):
        endings = ", ".join(row.ending for row in FORMATS)
        raise UsageError(f"the ending of {path} is none of .dp, {endings}")
    if found.only_bayesian and not network.is_bayesian:
        raise UsageError(
            f"{found.name} holds Bayesian networks only, and this is a Markov network: write "
            ".uai or .dp"
        )
    return {path: found.write(network).encode()}


def _as_program(network: Network, path: str) -> dict[str, bytes]:
    """Tables too large for a text go to an array file beside it."""
    converted = program_of(network)
    files = {path: converted.text.encode()}
    if converted.arrays:
        buffer = BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **converted.arrays)
        files[str(Path(path).with_suffix(".npz"))] = buffer.getvalue()
    return files
