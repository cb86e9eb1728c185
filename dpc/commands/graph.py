"""dpc graph: the model as a picture, or as text for tools that draw."""

from __future__ import annotations

import argparse
import sys

from dpc.commands.models import load_graph
from dpc.dsl.draw.from_graph import picture_of
from dpc.dsl.draw.graphviz import GraphvizError
from dpc.dsl.draw.write import UnknownFormat, render_picture, write_picture
from dpc.exits import OK, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a model, or - for standard input")
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write: .svg, .png, .dot or .mmd")
    parser.add_argument(
        "--format", choices=["svg", "png", "dot", "mermaid"], help="by default told by the file's ending"
    )
    parser.add_argument(
        "--engine",
        choices=["auto", "builtin", "graphviz"],
        default="auto",
        help="who places the nodes: ours, but Graphviz for large graphs if installed; always ours; always Graphviz",
    )
    parser.add_argument("--guide", action="store_true", help="draw the guide instead of the model")


def run(args: argparse.Namespace) -> int:
    graph = load_graph(args.path)
    if args.guide and not graph.guide:
        raise UsageError(f"{args.path} has no guide")
    picture = picture_of(graph.guide if args.guide and graph.guide else graph)
    try:
        if args.output is None:
            sys.stdout.buffer.write(render_picture(picture, args.format or "mermaid", args.engine))
        else:
            write_picture(picture, args.output, args.format, args.engine)
    except (UnknownFormat, GraphvizError) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"cannot write {args.output}: {error.strerror or error}") from None
    return OK
