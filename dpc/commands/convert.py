"""dpc convert: networks between .dp and the formats of other programs."""

import argparse

from dpc.commands.inputs import NETWORK_INPUTS, Inputs, add_options, open_model
from dpc.exits import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, *NETWORK_INPUTS)
    words = "the file to write: .dp, .bif, .xmlbif, .uai"
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help=words)


def run(args: argparse.Namespace) -> int:
    model = open_model(args)
    known = Inputs(model, args)
    print(model.save(args.output, known.sources, known.params))
    return OK
