"""dpc graph: the model as a picture, or as text for tools that draw."""

import argparse
import sys

from dpc.commands.inputs import MODEL, add_options, open_model
from dpc.exits import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    placing = "who places the nodes: ours (auto, builtin), or Graphviz where it is installed"
    add_options(
        parser,
        *MODEL,
        ("-o/--output OUT", str, "the file to write: .svg, .png, .dot or .mmd"),
        ("--format", ("svg", "png", "dot", "mermaid"), "by default told by the file's ending"),
        ("--engine", ("auto", "builtin", "graphviz"), placing, "auto"),
        ("--guide", None, "draw the guide instead of the model"),
    )


def run(args: argparse.Namespace) -> int:
    model = open_model(args)
    content = model.draw(args.output, args.format, args.engine, args.guide)
    if args.output is None:
        sys.stdout.buffer.write(content)
    return OK
