"""dpc info: the class of a model and why, its dims, its nodes."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dpc.commands.models import load_graph
from dpc.commands.tables import columns
from dpc.dsl.classify import ModelClass, classify
from dpc.dsl.graph import Graph, Node
from dpc.dsl.types import Dim
from dpc.exits import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a model, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    graph = load_graph(args.path)
    about = classify(graph)
    print(json.dumps(_as_json(graph, about), indent=2) if args.json else _as_text(graph, about))
    return OK


# ---- text


def _as_text(graph: Graph, about: ModelClass) -> str:
    title = graph.name or graph.source.path
    parts = [f"{title}: {about.name}", *(f"  {reason}" for reason in about.reasons)]
    parts += [f"  {structure}" for structure in about.structure]
    if graph.dims:
        parts += ["", "dims", *columns([(dim.name, _dim_text(dim, graph)) for dim in graph.dims], "  ")]
    parts += ["", "nodes", *columns([_row(node) for node in graph.nodes], "  ")]
    if graph.guide:
        parts += ["", "guide", *columns([_row(node) for node in graph.guide.nodes if node.pieces], "  ")]
    return "\n".join(parts)


def _dim_text(dim: Dim, graph: Graph) -> str:
    if dim.labels:
        shown = " | ".join(dim.labels[:8]) + (" | ..." if len(dim.labels) > 8 else "")
        return f"{dim.size}: {shown}"
    least = graph.least_sizes.get(dim.name, 0)
    return str(dim.size) if dim.size else "from data" + (f", at least {least}" if least else "")


def _row(node: Node) -> tuple[str, ...]:
    parents = ", ".join(node.parents)
    return node.name, str(node.type), _what(node), f"from {parents}" if parents else ""


def _what(node: Node) -> str:
    words = ["observed"] if node.observed else []
    words += ["undirected"] if node.undirected else [node.kind.value]
    if node.laws:
        words.append(node.laws[-1].name)
    elif node.random and not node.undirected:
        words.append("(random)")
    words += [_setting(setting.name, setting.method) for setting in node.settings]
    return " ".join(words)


def _setting(name: str, method: str) -> str:
    return f"{name}={method}" if method else name


# ---- JSON


def _as_json(graph: Graph, about: ModelClass) -> dict[str, Any]:
    return {
        "model": graph.name,
        "class": about.name,
        "reasons": list(about.reasons),
        "structure": list(about.structure),
        "dims": [{"name": d.name, "size": d.size, "labels": list(d.labels)} for d in graph.dims],
        "nodes": [_node_as_json(node) for node in graph.nodes],
        "guide": [_node_as_json(node) for node in graph.guide.nodes] if graph.guide else None,
        "recurrences": [{"members": list(r.members), "axis": r.axis, "order": r.order} for r in graph.recurrences],
    }


def _node_as_json(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "kind": node.kind.value,
        "type": str(node.type),
        "shape": [str(axis) for axis in node.type.shape],
        "distribution": node.laws[-1].name if node.laws else None,
        "parents": list(node.parents),
        "random": node.random,
        "observed": node.observed,
        "undirected": node.undirected,
        "kept": node.kept,
        "annotations": [_setting(s.name, s.method) for s in node.settings],
    }
