"""What commands share: the model, its data, the values of --set, evidence, and how to print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpc.commands.models import open_model
from dpc.commands.spelling import as_options
from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.graph import Graph, Kind
from dpc.exits import NOT_CONVERGED, OK, UsageError

if TYPE_CHECKING:
    from dpc.model.model import Model
    from dpc.show.answer import Answer


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a model, or - for standard input")
    add_known_arguments(parser, "a parameter, a datum or the size of a dim")
    parser.add_argument(
        "--seed", type=int, default=0, help="the seed of everything random (default 0)"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")


def add_network_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="FILE", help="a .dp model, or a network: .bif, .xmlbif, .uai, also with .gz"
    )
    settable = "a parameter, a datum, the value of a continuous draw or the size of a dim"
    add_known_arguments(parser, settable)


def add_known_arguments(parser: argparse.ArgumentParser, settable: str) -> None:
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="CSV, JSON, NPZ, netCDF or Parquet",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"{settable}, as JSON; or an annotation, as in b.grad=sfe",
    )


def load_model(path: str, written: Sequence[str] = ()) -> Model:
    """The model, in double precision; `written` are the values of --set."""
    import jax

    jax.config.update("jax_enable_x64", True)
    model = open_model(path, read_annotations(written))
    missing = [f.name for f in model.graph.functions if f.body is None]
    if missing:
        raise UsageError(
            f"{path} needs the Python function `{missing[0]}`: run it from Python, dpc.load(path, "
            f"{missing[0]}=...)"
        )
    return model


# ---- --set


def read_annotations(written: Sequence[str]) -> dict[str, str]:
    """Those of the `--set` values that are for annotations: `b.grad=sfe`."""
    pairs = [_read_pair(text) for text in written]
    return {name: value for name, value in pairs if "." in name}


class Known:
    """What --data and --set say: parameters, sources of data, and values of draws."""

    def __init__(self, model: Model, args: argparse.Namespace):
        self.params: dict[str, Any] = {}
        given: dict[str, Any] = {}
        if args.set or model.network is None:
            self.params, given = read_settings(args.set, model.graph)
        self.given = given
        self.sources = [*args.data, *([given] if given else [])]

    def without_draws(self, graph: Graph) -> dict[str, Any]:
        """Takes the values of draws that are not observed from the data, and gives them."""
        draws = {n.name for n in graph.of_kind(Kind.DRAW) if not n.observed}
        values = {name: value for name, value in self.given.items() if name in draws}
        left = {name: value for name, value in self.given.items() if name not in draws}
        self.sources = [s for s in self.sources if s is not self.given] + ([left] if left else [])
        return values


def read_settings(written: Sequence[str], graph: Graph) -> tuple[dict[str, Any], dict[str, Any]]:
    """`--set` values for parameters, and for data, draws and dims."""
    params: dict[str, Any] = {}
    data: dict[str, Any] = {}
    dims = [dim.name for dim in graph.dims]
    for name, value in map(_read_pair, written):
        node = graph.by_name.get(name)
        if node and node.kind is Kind.PARAMETER:
            params[name] = read_value(value)
        elif (node and node.kind is not Kind.FUNCTION) or name in dims:
            data[name] = read_value(value)
        elif "." not in name:
            known = [n.name for n in graph.nodes if n.kind is not Kind.FUNCTION] + dims
            hint = did_you_mean(name, known)
            raise UsageError(
                f"the model has no parameter, datum or dim `{name}` to set{hint and f'; {hint}'}"
            )
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


# ---- answers


def print_answer(answer: Answer, args: argparse.Namespace) -> int:
    """The table or JSON on stdout, warnings on stderr; the exit code says whether it converged."""
    print_warnings(answer, args)
    shown = json.dumps(answer.to_dict()) if args.json else str(answer)
    print(as_options(shown, vars(args)), flush=True)
    return OK if getattr(answer, "converged", True) else NOT_CONVERGED


def print_warnings(answer: Answer, args: argparse.Namespace) -> None:
    for warning in answer.warnings:
        print(f"dpc: {as_options(warning, vars(args))}", file=sys.stderr)


def verify_picture(path: str | None) -> None:
    if path and not path.endswith((".svg", ".png")):
        raise UsageError(f"--plot writes .svg or .png, not {path}")
