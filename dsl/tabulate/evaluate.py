"""Terms as NumPy arrays, for questions that are asked once: no compilation, and for most discrete models no JAX.

An array has one axis for every binder, of length one where the value does not depend on it, and then the axes of the
value itself. What is not known here raises NeedsJax, and the caller takes the compiled way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import core as c
from ..lower.mass import LOGITS, mass_at
from ..types import FIRST, LAST, Bool
from .slots import Sizes
from .terms import Term

Array = np.ndarray[Any, Any]
Axes = tuple[c.Bind, ...]


class NeedsJax(Exception):
    """An expression that only the compiled program evaluates."""


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "power": np.float_power,
    "negate": np.negative,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "logistic": lambda x: np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), 1 - 1 / (1 + np.exp(-np.abs(x)))),
}

FILLED = {"ones": 1.0, "zeros": 0.0}

REDUCERS: dict[str, tuple[Callable[..., Any], Any]] = {
    "sum": (np.sum, 0),
    "prod": (np.prod, 1),
    "max": (np.max, -np.inf),
    "min": (np.min, np.inf),
    "all": (np.all, True),
    "any": (np.any, False),
    "logsumexp": (lambda a, axis: np.logaddexp.reduce(a, axis=axis), -np.inf),
}


class Evaluator:
    """`arrays` are parameters, data and given values by the names of their nodes; None where one is traced."""

    def __init__(self, arrays: Mapping[str, Array | None], sizes: Sizes, functions: Mapping[str, Any]):
        self.arrays = arrays
        self.sizes = sizes
        self.functions = functions

    def table(self, term: Term) -> Array:
        """The term for every place of its binders and every value of its slots, places where it does not hold zero."""
        axes = term.axes
        with np.errstate(divide="ignore", invalid="ignore"):
            if isinstance(term.body, c.Law):
                assert term.value is not None
                found = self._log_density(term.body, term.value, axes)
            else:
                found = np.asarray(self.value(term.body, axes), float)
            if term.where is not None:
                found = np.where(self.value(term.where, axes), found, 0.0)
        return np.broadcast_to(found, [len(self.sizes.places(bind)) for bind in axes])

    def value(self, core: c.Core, axes: Axes, variables: Mapping[str, Array] = {}) -> Array:
        rule = _RULES.get(type(core))
        if rule is None:
            raise NeedsJax(type(core).__name__)
        found: Array = rule(self, core, axes, variables)
        return found

    # ---- leaves

    def _const(self, core: c.Const, axes: Axes, variables: Mapping[str, Array]) -> Array:
        return np.asarray(core.value).reshape((1,) * len(axes))

    def _var(self, core: c.Var, axes: Axes, variables: Mapping[str, Array]) -> Array:
        if core.name in variables:
            found = variables[core.name]
            own = found.ndim - len(core.type.shape)
            return found.reshape(found.shape[:own] + (1,) * (len(axes) - own) + found.shape[own:])
        place = next(k for k, bind in enumerate(axes) if bind.name == core.name)
        shape = [1] * len(axes)
        shape[place] = -1
        return np.asarray(self.sizes.places(axes[place])).reshape(shape)

    def _ref(self, core: c.Ref, axes: Axes, variables: Mapping[str, Array]) -> Array:
        if self.arrays.get(core.name) is None:
            raise NeedsJax(core.name)
        array = np.asarray(self.arrays[core.name])
        return array.reshape((1,) * len(axes) + array.shape)

    # ---- indexing

    def _at(self, core: c.At, axes: Axes, variables: Mapping[str, Array]) -> Array:
        base = self.value(core.base, axes, variables)
        places = [self._whole_axis(index, axes, variables) for index in core.indices]
        if all(place is not None and base.shape[place] == 1 for place in places) and len(set(places)) == len(places):
            return self._along(base, [place for place in places if place is not None], len(axes))
        return _gather(base, [self.value(index, axes, variables) for index in core.indices], len(axes))

    def _whole_axis(self, index: c.Core, axes: Axes, variables: Mapping[str, Array]) -> int | None:
        """The binder that an index is, if it runs over all of its dim."""
        if not isinstance(index, c.Var) or index.name in variables:
            return None
        place = next(k for k, bind in enumerate(axes) if bind.name == index.name)
        return place if (axes[place].low, axes[place].high) == (FIRST, LAST) else None

    def _along(self, base: Array, places: list[int], count: int) -> Array:
        """base[axes..., i, j] where i and j are binders themselves: its own axes take their places, without a copy."""
        for place in places:
            base = np.moveaxis(np.squeeze(base, place), count - 1, place)
        return base

    def _lookup(self, core: c.Lookup, axes: Axes, variables: Mapping[str, Array]) -> Array:
        sizes = [2 if isinstance(p.type.domain, Bool) else self.sizes.of(p.type.domain.dim) for p in core.parents]  # type: ignore[attr-defined]
        places = [np.asarray(self.value(parent, axes, variables), int) for parent in core.parents]
        entries = _constants(core.entries)
        if entries is None:
            entries = np.stack([self.value(entry, axes, variables) for entry in core.entries], len(axes))
        else:
            entries = entries.reshape((1,) * len(axes) + entries.shape)
        shape = entries.shape[: len(axes)] + tuple(sizes) + entries.shape[len(axes) + 1 :]
        return _gather(entries.reshape(shape), places, len(axes))

    # ---- operators and functions

    def _apply(self, core: c.Apply, axes: Axes, variables: Mapping[str, Array]) -> Array:
        if core.function in FILLED:
            return np.full((1,) * len(axes) + tuple(map(self.sizes.of, core.type.shape)), FILLED[core.function])
        if core.function == "dot":
            return _dot(*(self.value(x, axes, variables) for _, x in core.arguments))
        if core.function not in ELEMENTWISE:
            raise NeedsJax(core.function)
        rank = len(core.type.shape)
        values = [_ranked(self.value(x, axes, variables), len(axes), rank) for _, x in core.arguments]
        numbers = [
            v.astype(int) if v.dtype == bool and core.function not in ("and", "or", "not") else v for v in values
        ]
        return np.asarray(ELEMENTWISE[core.function](*numbers))

    def _call(self, core: c.Call, axes: Axes, variables: Mapping[str, Array]) -> Array:
        function = self.functions[core.function]
        if function.body is None:
            raise NeedsJax(core.function)
        values = [self.value(argument, axes, variables) for argument in core.arguments]
        names = [name for name, _ in function.parameters]
        return self.value(function.body, axes, dict(zip(names, values, strict=True)))

    def _if(self, core: c.If, axes: Axes, variables: Mapping[str, Array]) -> Array:
        rank = len(core.type.shape)
        parts = (self.value(part, axes, variables) for part in (core.condition, core.then, core.otherwise))
        return np.where(*(_ranked(part, len(axes), rank) for part in parts))

    # ---- arrays and reductions

    def _stack(self, core: c.Stack, axes: Axes, variables: Mapping[str, Array]) -> Array:
        constant = _constants(core.items)
        if constant is not None:
            return constant.reshape((1,) * len(axes) + constant.shape)
        items = np.broadcast_arrays(*(self.value(item, axes, variables) for item in core.items))
        return np.stack(items, len(axes))

    def _build(self, core: c.Build, axes: Axes, variables: Mapping[str, Array]) -> Array:
        body = self.value(core.body, (*axes, *core.binders), variables)
        lengths = [len(self.sizes.places(bind)) for bind in core.binders]
        rest = body.shape[len(axes) + len(lengths) :]
        return np.broadcast_to(body, (*body.shape[: len(axes)], *lengths, *rest))

    def _reduce(self, core: c.Reduce, axes: Axes, variables: Mapping[str, Array]) -> Array:
        if core.operator not in REDUCERS:
            raise NeedsJax(core.operator)
        function, neutral = REDUCERS[core.operator]
        inner = (*axes, *core.binders)
        body = self._build(c.Build(core.span, core.type, core.binders, core.body), axes, variables)
        if core.where is not None:
            mask = self.value(core.where, inner, variables)
            body = np.where(_ranked(mask, len(inner), len(core.body.type.shape)), body, neutral)
        found = body
        for _ in core.binders:
            found = function(found, axis=len(axes))
        return np.asarray(found)

    # ---- laws

    def _log_density(self, law: c.Law, value: c.Core, axes: Axes) -> Array:
        mass = mass_at(law, value)
        if mass is not None:
            return np.asarray(np.log(np.asarray(self.value(mass, axes), float)))
        if law.row == LOGITS:
            ((_, logits),) = law.arguments
            x = np.asarray(self.value(logits, axes), float)
            return -np.logaddexp(0, np.where(self.value(value, axes), -x, x))
        raise NeedsJax(law.name)


_RULES: dict[type[c.Core], Callable[..., Array]] = {
    c.Const: Evaluator._const,
    c.Var: Evaluator._var,
    c.Ref: Evaluator._ref,
    c.At: Evaluator._at,
    c.Lookup: Evaluator._lookup,
    c.Apply: Evaluator._apply,
    c.Call: Evaluator._call,
    c.If: Evaluator._if,
    c.Stack: Evaluator._stack,
    c.Build: Evaluator._build,
    c.Reduce: Evaluator._reduce,
}


def _constants(items: tuple[c.Core, ...]) -> Array | None:
    """Numbers, or rows of numbers, as an array."""
    if all(isinstance(item, c.Const) for item in items):
        return np.array([item.value for item in items])  # type: ignore[attr-defined]
    if all(isinstance(item, c.Stack) for item in items):
        rows = [_constants(item.items) for item in items]  # type: ignore[attr-defined]
        return None if any(row is None for row in rows) else np.array(rows)
    return None


def _ranked(value: Array, count: int, rank: int) -> Array:
    """Axes of length one between the binders and the value's own, until it has as many of its own as the others."""
    missing = rank - (value.ndim - count)
    return value.reshape(value.shape[:count] + (1,) * missing + value.shape[count:])


def _dot(a: Array, b: Array) -> Array:
    """The sum over the last axis; a product of matrices where the axes of one all come before those of the other."""
    for first, second in ((a, b), (b, a)):
        own, other = ([k for k, size in enumerate(x.shape[:-1]) if size > 1] for x in (first, second))
        if own and other and own[-1] < other[0]:
            found = first.reshape(-1, first.shape[-1]) @ second.reshape(-1, second.shape[-1]).T
            return found.reshape(np.broadcast_shapes(first.shape[:-1], second.shape[:-1]))
    return np.asarray(np.einsum("...k,...k->...", a, b))


def _gather(base: Array, places: list[Array], count: int) -> Array:
    """base[axes..., places...] for every place of the axes."""
    shape = np.broadcast_shapes(base.shape[:count], *(place.shape for place in places))
    grid = [
        np.arange(size).reshape([-1 if k == axis else 1 for k in range(count)])
        if size > 1
        else np.zeros([1] * count, int)
        for axis, size in enumerate(base.shape[:count])
    ]
    whole = [np.broadcast_to(np.asarray(place, int), shape) for place in places]
    return np.asarray(base[(*(np.broadcast_to(g, shape) for g in grid), *whole)])
