"""What commands that run a model share: the model, its data, its parameters, in double precision."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from dpc.commands.models import load_graph
from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph import Graph, Kind
from dpc.dsl.types import Dim, IndexOf
from dpc.exits import UsageError


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a model, or - for standard input")
    add_known_arguments(parser, "a parameter, a datum or the size of a dim")
    parser.add_argument("--seed", type=int, default=0, help="the seed of everything random (default 0)")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def add_known_arguments(parser: argparse.ArgumentParser, settable: str) -> None:
    parser.add_argument("--data", action="append", default=[], metavar="FILE", help="CSV, JSON, NPZ, netCDF or Parquet")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"{settable}, as JSON; or an annotation, as in b.grad=sfe",
    )


def load_model(path: str, written: Sequence[str] = ()) -> Any:
    """A compiled model; warnings are printed, errors are raised as a DpError. `written` are the values of --set."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from dpc.dsl.embed.load import introduction_of
    from dpc.dsl.embed.model import Model

    graph = load_graph(path, read_annotations(written))
    missing = [f.name for f in graph.functions if f.body is None]
    if missing:
        raise UsageError(
            f"{path} needs the Python function `{missing[0]}`: run it from Python, dpc.load(path, {missing[0]}=...)"
        )
    return Model(graph, introduction_of(graph.source))


def read_annotations(written: Sequence[str]) -> dict[str, str]:
    """Those of the `--set` values that are for annotations: `b.grad=sfe`."""
    pairs = [_read_pair(text) for text in written]
    return {name: value for name, value in pairs if "." in name}


def read_settings(written: Sequence[str], graph: Graph) -> tuple[dict[str, Any], dict[str, Any]]:
    """`--set` values for parameters, and for data and dims."""
    params: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for name, value in map(_read_pair, written):
        node = graph.by_name.get(name)
        if node and node.kind is Kind.PARAMETER:
            params[name] = read_value(value)
        elif (node and node.kind is not Kind.FUNCTION) or any(dim.name == name for dim in graph.dims):
            data[name] = read_value(value)
        elif "." not in name:
            known = [n.name for n in graph.nodes if n.kind is not Kind.FUNCTION] + [dim.name for dim in graph.dims]
            hint = did_you_mean(name, known)
            raise UsageError(f"the model has no parameter, datum or dim `{name}` to set{hint and f'; {hint}'}")
    return params, data


def _read_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set takes NAME=VALUE, not {text}")
    return name, value


def read_value(text: str) -> Any:
    """JSON where it is JSON, a label otherwise."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def bind_inputs(model: Any, args: argparse.Namespace, partial: bool) -> tuple[dict[str, Any], Any]:
    """Parameters and checked data."""
    import jax.numpy as jnp

    own, given = read_settings(args.set, model.graph)
    data = model.bind(*args.data, *([given] if given else []), partial=partial)
    params = _start(model, args.seed, data)
    for name, value in own.items():
        if jnp.shape(value) != params[name].shape:
            raise UsageError(f"`{name}` has shape {params[name].shape}, but --set gives {jnp.shape(value)}")
        params[name] = jnp.asarray(value, float)
    return params, data


def _start(model: Any, seed: int, data: Any) -> dict[str, Any]:
    import jax

    try:
        found: dict[str, Any] = model.init(jax.random.key(seed), data)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return found


# ---- showing values


def readable(value: Any, node_type: Any, labels: Mapping[str, tuple[str, ...]]) -> Any:
    """Numbers as Python numbers, positions as their labels."""
    items = value.tolist() if hasattr(value, "tolist") else value
    domain = node_type.domain
    names = domain.dim.labels if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim) else ()
    if isinstance(domain, IndexOf):
        names = names or labels.get(str(domain.dim), ())
    return _relabel(items, names) if names else items


def _relabel(items: Any, names: tuple[str, ...]) -> Any:
    return [_relabel(item, names) for item in items] if isinstance(items, list) else names[items]


def short(value: Any) -> str:
    """One value for a table: arrays are cut after a few items."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        shown = ", ".join(short(item) for item in value[:6])
        return f"[{shown}{', ...' if len(value) > 6 else ''}]"
    return str(value)
