"""dpc run: the values of all computed nodes, and of the objective with its gradient."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dpc.commands.inputs import add_input_arguments, bind_inputs, load_model, readable, short
from dpc.commands.tables import columns
from dpc.dsl.graph import Kind
from dpc.exits import OK, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument("--grad", action="store_true", help="the gradient of the objective, too")


def run(args: argparse.Namespace) -> int:
    model = load_model(args.path, args.set)
    params, data = bind_inputs(model, args, partial=True)
    values = _draws(model, params, data, args.seed)
    found = {
        name: readable(v, model.graph[name].type, data.labels)
        for name, v in _evaluate(model, params, data, values).items()
    }
    found |= _objective(model, params, data, values, args.grad)
    if not found:
        raise UsageError(f"{args.path} computes nothing: it has no `=`, `:=` or objective")
    if args.json:
        print(json.dumps(found))
    else:
        print("\n".join(columns([(name, short(value)) for name, value in found.items()])))
    return OK


def _draws(model: Any, params: Any, data: Any, seed: int) -> dict[str, Any]:
    """Random variables that the data do not give are drawn once."""
    import jax

    draws = model.graph.of_kind(Kind.DRAW)
    if not draws:
        return {}
    if any(node.undirected for node in draws):
        raise UsageError("the values of a random field depend on its latent variables: ask `dpc query`")
    sampled: dict[str, Any] = model.sample(jax.random.key(seed), params, data)
    return sampled


def _evaluate(model: Any, params: Any, data: Any, values: dict[str, Any]) -> dict[str, Any]:
    if not model.graph.of_kind(Kind.FUNCTION):
        return {}
    found: dict[str, Any] = model.evaluate(params, {**values, **{k: data[k] for k in data}}, values)
    return {node.name: found[node.name] for node in model.graph.of_kind(Kind.FUNCTION)}


def _objective(model: Any, params: Any, data: Any, values: dict[str, Any], with_gradient: bool) -> dict[str, Any]:
    costs = model.graph.of_kind(Kind.COST)
    if not costs:
        return {}
    if any(n.random for n in costs) and with_gradient:
        raise UsageError("the gradient of an expectation needs an estimator: ask `dpc grad`")
    given = {**values, **{k: data[k] for k in data}}
    found = {costs[0].name: float(model.value(params, given, values))}
    if with_gradient:
        gradient = model.grad(params, given, values)
        found |= {f"d/d {name}": value.tolist() for name, value in gradient.items()}
    return found
