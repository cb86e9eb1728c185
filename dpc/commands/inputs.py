"""What commands share: reading the model, data, --set and --given, and printing the answer."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dpc.dsl.diagnostics import Diagnostic, did_you_mean
from dpc.dsl.files import reason_of
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.types import Int, Real
from dpc.dsl.library.annotations import ANNOTATIONS
from dpc.dsl.pipeline import decode_source, read_source
from dpc.dsl.printable import printable, printable_lines
from dpc.dsl.report import format_diagnostics
from dpc.dsl.source import Source
from dpc.exits import NOT_CONVERGED, OK, UsageError, verify_folder
from dpc.jsons import parse_json

if TYPE_CHECKING:
    from dpc.model.model import Model
    from dpc.show.answer import Answer

OptionKind = type | tuple[str, ...] | None
OptionRow = tuple[str, OptionKind, str] | tuple[str, OptionKind, str, Any]

STANDARD_INPUT = "-"
# A quote opens where a name or a value begins, so that don't is a word like others.
QUOTED = r"""(?:^|(?<=[=|\[,\s]))(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
EVIDENCE_PARTS = re.compile(rf"(?:{QUOTED}|\[(?:{QUOTED}|[^\]])*\]|[^,\[\]])+")
EVIDENCE_PAIR = re.compile(
    rf"\s*((?:{QUOTED}|[^=\[])+(?:\[(?:{QUOTED}|[^\]])*\])?)\s*=\s*(.+?)\s*", re.DOTALL
)
LIST_ITEMS = re.compile(rf"(?:{QUOTED}|[^,])+")
ALTERNATIVES = re.compile(rf"(?:{QUOTED}|[^|])+")
KEYWORD = re.compile(r"`([a-z_]+)=([^`]*)`")
MOST_SHOWN = 60
QUOTES = "'\""
# Keywords of Python whose option has another name.
OPTION_NAMES = {"params": "set", "start": "set"}


def _whole(text: str) -> int:
    """Python's own also takes 1_000 and the digits of all scripts."""
    if not re.fullmatch(r"[+-]?[0-9]{1,400}", text):
        raise argparse.ArgumentTypeError(f"{shortened(text)} is no whole number")
    return int(text)


def _number(text: str) -> float:
    with suppress(ValueError):
        if text.isascii() and "_" not in text:
            return float(text)
    raise argparse.ArgumentTypeError(f"{shortened(text)} is no number")


READERS: dict[Any, Any] = {int: _whole, float: _number}


def add_options(parser: argparse._ActionsContainer, *rows: OptionRow) -> None:
    """Each row: names and metavar, kind, help, and a default where it is not None. The kind is a
    type, a tuple of choices, `list` for what may be said again, None for a flag.
    """
    for spelled, kind, words, *default in rows:
        names, _, metavar = spelled.partition(" ")
        how: dict[str, Any] = {"help": words}
        if kind is None:
            how["action"] = "store_true"
        else:
            how |= {"metavar": metavar or None, "default": default[0] if default else None}
        if kind is list:
            how |= {"action": "append", "default": []}
        elif isinstance(kind, tuple):
            how["choices"] = kind
        elif kind is not None:
            how["type"] = READERS.get(kind, kind)
        parser.add_argument(*names.split("/"), **how)


JSON: OptionRow = ("--json", None, "print as JSON")
IMPORT_PATH: OptionRow = ("--import-path DIR", list, "a folder that imports may come from, too")
MODEL: tuple[OptionRow, ...] = (
    ("path FILE", str, "a model, or - for standard input"),
    IMPORT_PATH,
)
DATA: OptionRow = ("--data FILE", list, "CSV, JSON, NPZ, netCDF or Parquet")
BY: OptionRow = ("--by COLUMN", str, "rows with the same value in this column are one case")
GIVEN: OptionRow = (
    "--given A=V,B=V",
    list,
    "what is known: a label (a=yes), several (a=yes|maybe), likelihoods (a=[0.2,0.8]), an element "
    "(z[3]=on); quotes for what has , | = or brackets in it (a='x|y')",
)


def set_option(settable: str) -> OptionRow:
    words = f"{settable}, as JSON; or an annotation, as in b.grad=sfe"
    return "--set NAME=VALUE", list, words


INPUTS: tuple[OptionRow, ...] = (
    *MODEL,
    DATA,
    set_option("a parameter, a datum or the size of a dim"),
    ("--seed", int, "the seed of everything random (default 0)", 0),
    JSON,
)
NETWORK_INPUTS: tuple[OptionRow, ...] = (
    ("path FILE", str, "a .dp model, or a network: .bif, .xmlbif, .uai, also with .gz"),
    IMPORT_PATH,
    DATA,
    set_option("a parameter, a datum, the value of a continuous draw or the size of a dim"),
)


def add_paths_argument(parser: argparse.ArgumentParser) -> None:
    words = "models, folders of models, or - for standard input"
    parser.add_argument("paths", nargs="+", metavar="FILE", help=words)


def expand_paths(paths: Iterable[str]) -> list[str]:
    """Folders stand for the .dp files below them, in a stable order."""
    found: list[str] = []
    for path in paths:
        if path != STANDARD_INPUT and Path(path).is_dir():
            every = sorted(Path(path).rglob("*.dp"))
            # A pipe may never begin, and a device never end.
            inside = [str(p) for p in every if p.is_file()]
            for other in (p for p in every if not p.is_file() and not p.is_dir()):
                said = printable(str(other))
                print(f"dpc: {said} is skipped: it is no ordinary file", file=sys.stderr)
            if not inside:
                raise UsageError(f"there is no .dp file below {path}")
            found += inside
        else:
            found.append(path)
    return found


def read_model(path: str, import_paths: Sequence[str] = ()) -> Source:
    """A DpError for a file that is no text, a UsageError for one that is not there."""
    try:
        if path == STANDARD_INPUT:
            return decode_source("<stdin>", standard_input(), tuple(import_paths))
        return read_source(path, tuple(import_paths))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from None


def standard_input() -> IO[bytes]:
    """Python has none where the shell has closed it."""
    if sys.stdin is None:
        raise UsageError("standard input is closed: name a file instead of -")
    return sys.stdin.buffer


def open_model(args: argparse.Namespace) -> Model:
    """The model of a file, in which nothing is bound yet; warnings are printed."""
    from dpc.model.load import compile_model, is_network, load_network

    if is_network(args.path):
        try:
            return load_network(args.path)
        except OSError as error:
            raise UsageError(f"cannot read {args.path}: {reason_of(error)}") from None
    settings = read_annotations(getattr(args, "set", ()))
    model = compile_model(read_model(args.path, args.import_path), settings)
    if model.warnings:
        print_diagnostics(model.warnings)
    return model


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    shown = format_diagnostics(tuple(diagnostics), color=sys.stderr.isatty())
    print(shown, end="\n\n", file=sys.stderr)


def load_model(args: argparse.Namespace) -> Model:
    """The model, in double precision."""
    import jax

    jax.config.update("jax_enable_x64", True)
    model = open_model(args)
    missing = [f.name for f in model.graph.functions if f.body is None]
    if missing:
        what = f"{args.path} needs the Python function `{missing[0]}`"
        raise UsageError(f"{what}: run it from Python, dpc.load(path, {missing[0]}=...)")
    return model


def read_annotations(written: Sequence[str]) -> dict[str, str]:
    """Those of the `--set` values that are for annotations: `b.grad=sfe`."""
    pairs = [_read_pair(text) for text in written]
    return {name: value for name, value in pairs if is_annotation(name)}


def is_annotation(name: str) -> bool:
    """`b.grad`; what an imported file has is called `lib.rate`."""
    return "." in name and name.rpartition(".")[2] in {row.name for row in ANNOTATIONS}


class Inputs:
    """What --data and --set say: parameters, sources of data, and values of draws."""

    def __init__(self, model: Model, args: argparse.Namespace):
        self.params: dict[str, Any] = {}
        given: dict[str, Any] = {}
        if args.set or model.network is None:
            self.params, given = read_settings(args.set, model.graph)
            verify_bounds(self.params, model.graph)
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
    from dpc.data.raw import repeated

    params: dict[str, Any] = {}
    data: dict[str, Any] = {}
    dims = [dim.name for dim in graph.dims]
    pairs = list(map(_read_pair, written))
    twice = repeated(name for name, _ in pairs)
    if twice is not None:
        raise UsageError(f"--set names `{twice}` twice")
    for name, value in pairs:
        node = graph.by_name.get(name)
        if node and node.kind is Kind.PARAMETER:
            params[name] = read_value(value)
            _verify_kind(name, params[name], graph)
        elif (node and node.kind is not Kind.FUNCTION) or name in dims:
            data[name] = read_value(value)
            _verify_kind(name, data[name], graph)
        elif not is_annotation(name):
            known = [n.name for n in graph.nodes if n.kind is not Kind.FUNCTION] + dims
            hint = did_you_mean(name, known)
            raise UsageError(
                f"the model has no parameter, datum or dim `{name}` to set{hint and f'; {hint}'}"
            )
    return params, data


def verify_bounds(params: dict[str, Any], graph: Graph) -> None:
    """Parameters lie in the range that they are declared with, whatever the command does."""
    from dpc.model.values import ValueReader

    for name, value in params.items():
        node = graph[name]
        if isinstance(value, int | float) and not node.type.shape:
            ValueReader(graph, wide=True).read(node, value)


def _verify_kind(name: str, value: Any, graph: Graph) -> None:
    """A truth value is no number, though Python takes it for one."""
    node = graph.by_name.get(name)
    is_number = name not in graph.by_name or (node and isinstance(node.type.domain, Real | Int))
    if is_number and isinstance(value, bool):
        what = f"`{name}` is {node.type}" if node else f"`{name}` is a dim"
        raise UsageError(f"{what}: its value is a number, not {json.dumps(value)}")


def _read_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set takes NAME=VALUE, not {text}")
    return name, value


def read_value(text: str) -> Any:
    """JSON where it is JSON, a label otherwise."""
    try:
        return parse_json(text)
    except json.JSONDecodeError:
        return text
    except ValueError as error:
        raise UsageError(f"the value {shortened(text)} {error}") from None


def shortened(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def read_given(written: Sequence[str]) -> dict[str, Any]:
    """Values by name: labels, sets of labels, or lists."""
    found: dict[str, Any] = {}
    for text in written:
        for part in EVIDENCE_PARTS.findall(text):
            pair = EVIDENCE_PAIR.fullmatch(part)
            if not pair:
                raise UsageError(f"--given takes NAME=VALUE, not {part}")
            name = _unquoted_name(pair[1].strip())
            if name in found:
                raise UsageError(f"--given names `{name}` twice")
            found[name] = _value(pair[2])
    return found


def read_all_given(args: argparse.Namespace, values: dict[str, Any]) -> dict[str, Any]:
    """What --given says, and the values of draws that --set has."""
    given = read_given(args.given)
    for name in values.keys() & given.keys():
        raise UsageError(f"`{name}` has a value by --set and by --given: leave out one")
    return {**values, **given}


def _value(text: str) -> Any:
    if text.startswith("["):
        found = read_value(text)
        is_list = not isinstance(found, str)
        items = [item.strip() for item in LIST_ITEMS.findall(text[1:-1])]
        return found if is_list else list(map(_unquoted, items))
    several = [_unquoted(each) for each in ALTERNATIVES.findall(text)]
    if ALTERNATIVES.sub("", text).count("|") != len(several) - 1:
        raise UsageError(f"--given has an empty value among {text}: '' is an empty label")
    return several[0] if len(several) == 1 else set(several)


def _unquoted_name(text: str) -> str:
    """`"a, b"` is a, b, and `z["x,y"]` the element of this label."""
    plain = re.sub(QUOTED, lambda found: _unquoted(found[0]), text)
    return plain if plain != text else re.sub(r"\s*,\s*", ", ", text)


def _unquoted(text: str) -> str:
    if not re.fullmatch(QUOTED, text.strip(), re.DOTALL):
        return text
    return re.sub(r"\\(.)", r"\1", text.strip()[1:-1], flags=re.DOTALL)


def print_answer(answer: Answer, args: argparse.Namespace) -> int:
    """The table or JSON on stdout, warnings on stderr; the exit code says whether it converged."""
    print_warnings(answer, args)
    print(json.dumps(answer.to_dict()) if args.json else str(answer), flush=True)
    return OK if getattr(answer, "converged", True) else NOT_CONVERGED


def print_warnings(answer: Answer, args: argparse.Namespace) -> None:
    for warning in answer.warnings:
        said = printable_lines(as_options(warning, vars(args)))
        print(f"dpc: {said}", file=sys.stderr)


def verify_picture(path: str | None) -> None:
    if path and not path.endswith((".svg", ".png")):
        raise UsageError(f"--plot writes .svg or .png, not {path}")
    if path:
        verify_folder(path)


def as_options(text: str, options: Collection[str]) -> str:
    """Messages name keywords, `target_accept=0.95`; those of `options` as the shell has them."""

    def spelled(found: re.Match[str]) -> str:
        keyword, value = found[1], found[2].strip(QUOTES)
        if (known := OPTION_NAMES.get(keyword, keyword)) not in options:
            return found[0]
        name = f"--{known.replace('_', '-')}"
        if keyword == "params" and value:
            return f"`{name} {value}=...`"
        if not value:
            return name
        return f"`{name}`" if value == "True" else f"`{name} {value}`"

    return KEYWORD.sub(spelled, text)
