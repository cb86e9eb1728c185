"""Expressions as weighted sums of atoms, in which what two of them have in common cancels."""

from __future__ import annotations

from itertools import islice

from . import core as c

Form = frozenset[tuple[c.Core | None, float]]
"""The atoms of a sum with their weights, without its constant."""

LARGEST = 64
"""Expressions with more parts are not compared: it would take time, and nobody writes them."""


def linear_form(core: c.Core) -> tuple[Form, float] | None:
    """The atoms and the constant, of an expression that is not too large."""
    if sum(1 for _ in islice(c.walk(core), LARGEST + 1)) > LARGEST:
        return None
    total: dict[c.Core | None, float] = {}
    add_linear(core, 1.0, total)
    constant = total.pop(None, 0.0)
    return frozenset((atom, weight) for atom, weight in total.items() if weight), constant


def opposite(form: Form) -> Form:
    return frozenset((atom, -weight) for atom, weight in form)


def add_linear(core: c.Core, weight: float, total: dict[c.Core | None, float]) -> None:
    """Adds `weight` times an expression to a sum of atoms; None stands for the number one."""
    if isinstance(core, c.Const):
        total[None] = total.get(None, 0.0) + weight * float(core.value)
        return
    if isinstance(core, c.Apply):
        values = [value for _, value in core.arguments]
        if core.function in ("add", "subtract"):
            add_linear(values[0], weight, total)
            add_linear(values[1], weight if core.function == "add" else -weight, total)
            return
        if core.function == "negate":
            add_linear(values[0], -weight, total)
            return
        if core.function == "divide" and isinstance(values[1], c.Const) and values[1].value:
            add_linear(values[0], weight / float(values[1].value), total)
            return
        for value, other in (values, values[::-1]) if core.function == "multiply" else ():
            if isinstance(value, c.Const):
                add_linear(other, weight * float(value.value), total)
                return
        for value, other in (values, values[::-1]) if core.function == "multiply" else ():
            if isinstance(value, c.Apply) and value.function in ("add", "subtract"):
                for sign, (_, inner) in zip(
                    (1, -1 if value.function == "subtract" else 1), value.arguments, strict=True
                ):
                    product = c.Apply(core.span, core.type, "multiply", _ordered(inner, other))
                    add_linear(product, sign * weight, total)
                return
    total[core] = total.get(core, 0.0) + weight


def _ordered(a: c.Core, b: c.Core) -> tuple[tuple[str, c.Core], ...]:
    """One order for both ways of writing a product."""
    first, second = sorted((a, b), key=repr)
    return ("a", first), ("b", second)
