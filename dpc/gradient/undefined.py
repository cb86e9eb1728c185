"""Estimates that are not numbers: which they are, and the first statement that is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from dpc.dsl.graph.graph import Kind

from ..exits import UsageError
from .plain import plain_objective

if TYPE_CHECKING:
    from ..model.model import Model
    from .gradient import Estimates

RUNS = 512
WORDS = ("value", "derivative", "second derivative")


def verify_numbers(model: Model, params: Any, data: Any, found: Estimates) -> None:
    """No answer without a number, and none whose standard error is not one."""
    wrong = next(_undefined(found), None)
    if wrong is None:
        return
    where = _where(model, params, data, 2 if found.hessian else 1)
    message = f"{wrong} is not a number in some of {found.value.count} estimates"
    raise UsageError(f"{message}: {where}; keep what it is computed from inside its domain")


def _undefined(found: Estimates) -> Iterator[str]:
    named = [("the objective", found.value)]
    named += [(f"d/d {name}", moments) for name, moments in found.gradient.items()]
    named += [(f"d²/d {a} d {b}", moments) for (a, b), moments in found.hessian.items()]
    for name, moments in named:
        if np.isnan(moments.mean).any() or np.isnan(moments.error).any():
            yield name


def _where(model: Model, params: Any, data: Any, order: int) -> str:
    """The first statement of the plain program that has such a value, or such a derivative."""
    try:
        runs = _derivatives(model, params, data, order)
    except Exception:  # not every law has forward derivatives: then the statement is not known
        return "of what is computed, something overflows or leaves its domain"
    names = [node.name for node in model.graph.nodes if node.name in runs[0]]
    for word, values in zip(WORDS, runs, strict=False):
        for name in names:
            share = float(np.mean(~np.isfinite(values[name]).reshape(RUNS, -1).all(1)))
            if share:
                often = f"{share:.2g} of" if share < 1 else "all"
                return f"the {word} of `{name}` is no number in {often} {RUNS} runs"
    return "it overflows in a few of them, or two thresholds of a draw are equal: move one a little"


def _derivatives(model: Model, params: Any, data: Any, order: int) -> list[dict[str, Any]]:
    """All values of a run, and their derivatives as all parameters move together."""
    plain = plain_objective(model, data)
    assert plain.sample is not None
    assert plain.value is not None
    sample, value = plain.sample, plain.value
    evaluate = model.functions.load(plain.graph).get("evaluate", lambda *_: {})
    (cost,) = model.graph.of_kind(Kind.COST)
    arrays = {**data.arrays, **data.sizes}

    def run(key: Any, shift: Any) -> dict[str, Any]:
        moved = {name: jnp.asarray(own, float) + shift for name, own in params.items()}
        draws = sample(key, moved)
        values = {**draws, **evaluate(moved, draws, arrays), cost.name: value(moved, draws)}
        return {name: jnp.asarray(own, float) for name, own in values.items()}

    found: list[dict[str, Any]] = []
    function: Callable[[Any, Any], Any] = run
    for _ in range(order + 1):
        keys = jax.random.split(jax.random.key(0), RUNS)
        found.append(jax.jit(jax.vmap(lambda key, f=function: f(key, 0.0)))(keys))
        function = _slope(function)
    return found


def _slope(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda key, shift: jax.jvp(lambda s: function(key, s), (shift,), (1.0,))[1]
