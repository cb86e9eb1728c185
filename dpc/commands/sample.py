"""dpc sample: draws of every random variable, parents before children."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dpc.commands.inputs import add_input_arguments, bind_inputs, load_model, read_value, readable, short
from dpc.commands.tables import columns
from dpc.exits import OK, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument("-n", type=int, default=5, help="how many draws (default 5)")
    parser.add_argument(
        "--given", default="", metavar="A=V,B=V", help="what is known; below finite variables they are drawn exactly"
    )


def run(args: argparse.Namespace) -> int:
    import jax

    model = load_model(args.path, args.set)
    params, data = bind_inputs(model, args, partial=True)
    given = read_given(args.given, model, data)
    try:
        draws = model.sample(jax.random.key(args.seed), params, data, n=args.n, given=given)
    except ValueError as error:
        raise UsageError(str(error)) from None
    names = [node.name for node in model.graph.nodes if node.name in draws]
    shown = {name: readable(draws[name], model.graph[name].type, data.labels) for name in names}
    if args.json:
        print(json.dumps(shown))
    else:
        rows = [tuple(short(shown[name][k]) for name in names) for k in range(args.n)]
        print("\n".join(columns([tuple(names), *rows])))
    return OK


def read_given(text: str, model: Any, data: Any) -> dict[str, Any]:
    """`a=yes,b=2` as positions and numbers."""
    import jax.numpy as jnp

    found = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"--given takes NAME=VALUE, not {part}")
        node = model.graph.by_name.get(name)
        labels = getattr(getattr(node.type.domain, "dim", None), "labels", ()) if node else ()
        if labels and value not in labels:
            raise UsageError(f"`{name}` has the labels {', '.join(labels)}, not {value}")
        found[name] = jnp.asarray(labels.index(value) if labels else read_value(value))
    return found
