"""dpc plan: how a question would be answered, and what it would cost, before it is asked."""

import argparse

from dpc.commands import inputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_options(parser, *inputs.NETWORK_INPUTS, inputs.GIVEN, inputs.JSON)


def run(args: argparse.Namespace) -> int:
    model = inputs.open_model(args)
    known = inputs.Inputs(model, args)
    values = {} if model.network is not None else known.without_draws(model.graph)
    plan = model.plan(inputs.read_all_given(args, values), params=known.params, data=known.sources)
    return inputs.print_answer(plan, args)
