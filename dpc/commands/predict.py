"""dpc predict: what new data do not say, by parameters that were fitted."""

from __future__ import annotations

import argparse
import csv
import io
import json
from typing import Any

from dpc.commands.inputs import add_known_arguments, load_model, read_settings
from dpc.commands.tables import columns
from dpc.exits import OK, UsageError

MOST_ROWS = 40
Row = tuple[Any, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="the model that was fitted, or - for standard input")
    parser.add_argument("--fit", required=True, metavar="FIT", help="what `dpc fit FILE -o fit.json` wrote")
    add_known_arguments(parser, "a datum or the size of a dim")
    parser.add_argument("--by", metavar="COLUMN", help="rows with the same value in this column are one case")
    parser.add_argument("--ask", metavar="NAMES", help="these draws, with commas between them (default all)")
    parser.add_argument("--log-likelihood", action="store_true", help="instead, how probable each case is")
    parser.add_argument("-o", dest="out", metavar="OUT", help="write everything: .csv or .json")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    verify_arguments(args)
    model = load_model(args.path, args.set)
    from dpc.dsl.learn.choose import NotApplicable
    from dpc.inference.errors import InferenceError

    try:
        found, rows = log_likelihoods(model, args) if args.log_likelihood else predictions(model, args)
    except (NotApplicable, InferenceError) as error:
        raise UsageError(str(error)) from None
    if args.out:
        write(args.out, found, rows)
    if args.json:
        print(json.dumps(found))
    elif not args.out:
        print("\n".join(shown(rows)))
    return OK


def verify_arguments(args: argparse.Namespace) -> None:
    if not args.data and not args.set:
        raise UsageError("there are no --data to predict from")
    if args.out and not args.out.endswith((".csv", ".json")):
        raise UsageError(f"-o writes .csv or .json, not {args.out}")
    if args.ask and args.log_likelihood:
        raise UsageError("--ask and --log-likelihood are two questions: ask one at a time")


def read_fit(path: str) -> Any:
    from dpc.dsl.learn.result import learned

    try:
        return learned(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def sources_of(model: Any, args: argparse.Namespace) -> list[Any]:
    params, given = read_settings(args.set, model.graph)
    for name in params:
        raise UsageError(f"`{name}` is a parameter, whose value comes from --fit")
    return [*args.data, *([given] if given else [])]


# ---- questions


def predictions(model: Any, args: argparse.Namespace) -> tuple[dict[str, Any], dict[Any, list[Row]]]:
    ask = args.ask.split(",") if args.ask else None
    found = model.predict(read_fit(args.fit), *sources_of(model, args), by=args.by, ask=ask)
    return found.to_dict(), {**tables_of(found), "notes": [(f"note: {note}",) for note in found.notes]}


def log_likelihoods(model: Any, args: argparse.Namespace) -> tuple[dict[str, Any], dict[Any, list[Row]]]:
    from dpc.dsl.learn.predict import log_likelihoods as each_of
    from dpc.dsl.learn.result import plain

    names, each = each_of(model.graph, read_fit(args.fit), *sources_of(model, args), by=args.by)
    found = {"cases": list(names), "log_likelihood": plain(each)}
    return found, {(): [("case", "log p"), *zip(names, each.tolist(), strict=True)]}


# ---- tables


def tables_of(found: Any) -> dict[Any, list[Row]]:
    """A table for the draws of each shape: a row for each case and place, a column for each thing that is known."""
    shapes: dict[Any, list[str]] = {}
    for name, own in found.draws.items():
        shapes.setdefault(tuple(map(str, own.axes)), []).append(name)
    return {axes: [header(found, axes, names), *rows(found, axes, names)] for axes, names in shapes.items()}


def header(found: Any, axes: tuple[str, ...], names: list[str]) -> Row:
    heads = ["case"] if len(found.cases) > 1 else []
    heads += axes
    for name in names:
        states = found[name].states
        heads += [name, *(f"{name}={state}" for state in states)] if states else [name, f"{name}.sd"]
    return tuple(heads)


def rows(found: Any, axes: tuple[str, ...], names: list[str]) -> list[Row]:
    import numpy as np

    made: list[Row] = []
    for number, case in enumerate(found.cases):
        for place in np.ndindex(np.shape(found[names[0]].best[number])):
            start = [case] if len(found.cases) > 1 else []
            start += [_label(found, axis, k) for axis, k in zip(axes, place, strict=True)]
            made.append((*start, *(cell for name in names for cell in cells(found[name], number, place))))
    return made


def _label(found: Any, axis: str, k: int) -> Any:
    return found.labels[axis][k] if axis in found.labels else k


def cells(own: Any, number: int, place: tuple[int, ...]) -> list[Any]:
    best, spread = own.best[number][place], own.spread[number][place]
    if own.states:
        return [own.states[int(best)], *map(float, spread)]
    return [float(best), float(spread)]


def shown(tables: dict[Any, list[Row]]) -> list[str]:
    lines: list[str] = []
    for table in filter(None, tables.values()):
        lines += [""] if lines else []
        lines += columns([tuple(map(cell_text, row)) for row in table[: MOST_ROWS + 1]])
        if len(table) > MOST_ROWS + 1:
            lines.append(f"... and {len(table) - MOST_ROWS - 1} more: -o out.csv has them all")
    return lines or ["the data leave nothing open: what they have no column for, or an empty cell, is predicted"]


def cell_text(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def write(path: str, found: dict[str, Any], tables: dict[Any, list[Row]]) -> None:
    from dpc.dsl.files import write_whole

    try:
        write_whole(path, (json.dumps(found) + "\n" if path.endswith(".json") else csv_text(tables)).encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def csv_text(tables: dict[Any, list[Row]]) -> str:
    made = {axes: table for axes, table in tables.items() if axes != "notes"}
    if len(made) != 1:
        shapes = ", ".join("single values" if not axes else f"[{', '.join(axes)}]" for axes in made)
        raise UsageError(f"a CSV holds draws of one shape, and here are {shapes or 'none'}: choose with --ask")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(next(iter(made.values())))
    return text.getvalue()
