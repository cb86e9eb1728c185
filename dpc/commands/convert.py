"""dpc convert: networks between .dp and the formats of other programs."""

from __future__ import annotations

import argparse
from io import BytesIO
from pathlib import Path

import numpy as np

from dpc.commands.discrete import add_discrete_arguments, load_grounded, load_network
from dpc.commands.inputs import read_annotations
from dpc.commands.models import load_graph
from dpc.dsl.convert.from_network import program_of
from dpc.dsl.convert.to_network import network_of
from dpc.dsl.files import write_whole
from dpc.exits import OK, UsageError
from dpc.inference.formats.network import Network
from dpc.inference.formats.registry import FORMATS, format_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_discrete_arguments(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="the file to write: .dp, .bif, .xmlbif, .uai"
    )


def run(args: argparse.Namespace) -> int:
    network = load_network(args.path) if format_of(args.path) else _from_model(args)
    files = write_network(network, args.output)
    kind = "Bayesian network" if network.is_bayesian else "Markov network"
    print(f"{', '.join(files)}: {kind} of {len(network.variables)} variables")
    return OK


def write_network(network: Network, output: str) -> list[str]:
    """Writes a network in the format of the file's ending; gives the names of the files."""
    files = written(network, output)
    try:
        for path, content in files.items():
            write_whole(path, content)
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror or error}") from None
    return list(files)


def _from_model(args: argparse.Namespace) -> Network:
    graph = load_graph(args.path, read_annotations(args.set))
    return network_of(load_grounded(graph, args).discrete, graph.source)


def written(network: Network, output: str) -> dict[str, bytes]:
    if output.endswith(".dp"):
        return _as_program(network, output)
    found = format_of(output)
    if found is None or output.endswith(".gz"):
        raise UsageError(f"the ending of {output} is none of .dp, {', '.join(row.ending for row in FORMATS)}")
    if found.only_bayesian and not network.is_bayesian:
        raise UsageError(f"{found.name} holds Bayesian networks only, and this is a Markov network: write .uai or .dp")
    return {output: found.write(network).encode()}


def _as_program(network: Network, output: str) -> dict[str, bytes]:
    """Tables too large for a text go to an array file beside it."""
    converted = program_of(network)
    files = {output: converted.text.encode()}
    if converted.arrays:
        buffer = BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **converted.arrays)
        files[str(Path(output).with_suffix(".npz"))] = buffer.getvalue()
    return files
