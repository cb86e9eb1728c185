"""Values of constant expressions in declarations: `data x[D] : real = [1, 2, 3]`."""

import numpy as np

from dpc.dsl.graph import core as c
from dpc.dsl.graph.evaluate import Evaluator, NeedsJax, Sizes
from dpc.dsl.graph.graph import Node

from .errors import problem
from .raw import Array


def is_plain(core: c.Core) -> bool:
    """What depends on data or calls a function of the program needs the compiled program."""
    return not any(isinstance(part, c.Ref | c.CallFn) for part in c.walk(core))


def evaluate_default(node: Node, sizes: dict[str, int]) -> Array:
    """The default of a node in its declared shape: a scalar fills it, an array has it already."""
    assert node.default is not None
    evaluator = Evaluator({}, Sizes(sizes), {})
    shape = tuple(map(evaluator.sizes.of, node.type.shape))
    try:
        with np.errstate(all="ignore"):
            value = evaluator.value(node.default, ())
    except (NeedsJax, KeyError):
        message = f"the value of `{node.name}` in the model is not a plain constant"
        help = f"give `{node.name}` with the data"
        raise problem(node.name, message, help, node.source.path) from None
    return np.full(shape, value) if value.ndim == 0 else value
