"""dpc graph: the model as a picture, or as text for tools that draw."""

import argparse
import sys

from dpc.commands.inputs import open_model
from dpc.exits import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a model, or - for standard input")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="the file to write: .svg, .png, .dot or .mmd"
    )
    parser.add_argument(
        "--format",
        choices=["svg", "png", "dot", "mermaid"],
        help="by default told by the file's ending",
    )
    parser.add_argument(
        "--engine",
        choices=["auto", "builtin", "graphviz"],
        default="auto",
        help="who places the nodes: ours (auto, builtin), or Graphviz where it is installed",
    )
    parser.add_argument("--guide", action="store_true", help="draw the guide instead of the model")


def run(args: argparse.Namespace) -> int:
    model = open_model(args.path)
    content = model.draw(args.output, args.format, args.engine, args.guide)
    if args.output is None:
        sys.stdout.buffer.write(content)
    return OK
