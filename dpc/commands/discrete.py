"""Models with finite variables, from .dp files and from network files, ready for questions."""

from __future__ import annotations

import argparse
from typing import Any

from dpc.commands.inputs import add_known_arguments, read_annotations, read_settings
from dpc.commands.models import load_graph
from dpc.dsl.convert.from_network import program_of
from dpc.dsl.data import bind_data
from dpc.dsl.data.defaults import evaluate_default, is_plain
from dpc.dsl.graph import Graph, Kind
from dpc.dsl.record import Record
from dpc.dsl.tabulate.discrete import Discrete, Setting, discrete_model
from dpc.dsl.tabulate.expand import NotTabular
from dpc.exits import UsageError
from dpc.inference.formats.network import FormatError, Network
from dpc.inference.formats.registry import format_of, read_network


class Loaded(Record):
    """`graph` and `known` are there for .dp files: what can be asked beyond variables."""

    name: str
    discrete: Discrete
    graph: Graph | None = None
    known: Setting | None = None
    network: Network | None = None


def add_discrete_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a .dp model, or a network: .bif, .xmlbif, .uai, also with .gz")
    add_known_arguments(parser, "a parameter, a datum, the value of a continuous draw or the size of a dim")


def load_discrete(args: argparse.Namespace) -> Loaded:
    if format_of(args.path):
        if args.data or args.set:
            raise UsageError(f"{args.path} has all its numbers in it: --data and --set are for .dp models")
        network = load_network(args.path)
        states = {variable.name: variable.states for variable in network.variables}
        return Loaded(network.name, Discrete(states, network.factor_graph(), network.is_bayesian), network=network)
    return load_grounded(load_graph(args.path, read_annotations(args.set)), args)


def load_network(path: str) -> Network:
    try:
        return read_network(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except FormatError as error:
        raise UsageError(str(error)) from None


def load_grounded(graph: Graph, args: argparse.Namespace) -> Loaded:
    known = known_values(graph, args)
    try:
        return Loaded(graph.name, discrete_model(graph, known, _tables_by_jax(known)), graph, known)
    except NotTabular as error:
        raise UsageError(str(error)) from None


def known_values(graph: Graph, args: argparse.Namespace) -> Setting:
    """Data, parameters and whatever else was given, as arrays."""
    params, given = read_settings(args.set, graph)
    draws = {n.name for n in graph.of_kind(Kind.DRAW) if not n.observed}
    values = {name: given.pop(name) for name in list(given) if name in draws}
    bound = bind_data(graph, *args.data, *([given] if given else []), partial=True)
    arrays: dict[str, Any] = {**bound.arrays, **_parameters(graph, params, bound), **values}
    return Setting(arrays, bound.sizes, bound.labels)


def _parameters(graph: Graph, given: dict[str, Any], bound: Any) -> dict[str, Any]:
    """What --set says, or the file; a question is never answered with numbers that nobody wrote."""
    import numpy as np

    found = {}
    for node in graph.of_kind(Kind.PARAMETER):
        sizes = {str(axis): bound.sizes.get(str(axis), axis.size) for axis in node.type.shape}
        if node.name in given:
            shape = tuple(sizes[str(axis)] for axis in node.type.shape)
            found[node.name] = np.asarray(given[node.name], float)
            if found[node.name].shape != shape:
                raise UsageError(f"`{node.name}` has shape {shape}, but --set gives {found[node.name].shape}")
        elif node.default is None or not is_plain(node.default):
            raise UsageError(
                f"the parameter `{node.name}` has no value in the file: give it with --set {node.name}=..."
            )
        else:
            found[node.name] = evaluate_default(node, sizes)
    return found


def _tables_by_jax(known: Setting) -> Any:
    def by_jax(*question: Any) -> Any:
        import jax

        jax.config.update("jax_enable_x64", True)
        from dpc.dsl.embed.tables import tables_once

        return tables_once(known.arrays, known.sizes, {})(*question)

    return by_jax


def with_statement(loaded: Loaded, statement: str, args: argparse.Namespace) -> Loaded:
    """The same model with one more statement, told by the language's own rules."""
    from dpc.dsl.build import build_graph
    from dpc.dsl.compiler import check_source
    from dpc.dsl.source import Source

    if loaded.graph is not None:
        text, path = loaded.graph.source.text, loaded.graph.source.path
    else:
        assert loaded.network is not None
        converted = program_of(loaded.network)
        if converted.arrays:
            raise UsageError("this network is too large to ask expressions of: ask for --joint of the variables")
        text, path = converted.text, args.path
    result = check_source(Source(path, f"{text.rstrip()}\n{statement}\n"))
    if result.typed is None:
        wrong = next(d for d in result.diagnostics if d.is_error)
        raise UsageError(f"--ask: {wrong.message}{wrong.help and f' ({wrong.help})'}")
    return load_grounded(build_graph(result.typed), args)
