"""The naive twin of the compiler: one element at a time, straight from the meaning of the graph.

value(x, i) = the body of the piece of x that covers i, with the binders of that piece at i;
log_prob = the sum, over every element of every draw and factor, of its log density or potential.
Slow on purpose: every fast path of the compiler is tested against it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from math import factorial, inf, log, prod
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import Bool, Dim, IndexOf, Place
from dpc.dsl.library.bodies.source import resolve
from dpc.dsl.library.distributions import DISTRIBUTIONS
from dpc.dsl.library.functions import functions_by_text
from dpc.dsl.library.notation import parse_signature
from dpc.dsl.lower.distributions import NUMPY_WORDS

Variables = dict[str, Any]

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "matmul": operator.matmul,
    "negate": operator.neg,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "not": lambda a: not a,
}

REDUCERS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": lambda items: sum(items[1:], items[0]) if items else 0,
    "prod": lambda items: prod(items) if items else 1,
    "mean": lambda items: sum(items[1:], items[0]) / len(items),
    "max": lambda items: np.max(np.array(items), axis=0),
    "min": lambda items: np.min(np.array(items), axis=0),
    "all": all,
    "any": any,
    "logsumexp": lambda items: np.logaddexp.reduce(np.array(items, float), axis=0),
}


class Interpreter:
    """Evaluates hard programs only: the smoothed meaning has tests of its own."""

    def __init__(
        self,
        graph: Graph,
        given: Mapping[str, Any],
        externs: Mapping[str, Callable[..., Any]] | None = None,
    ):
        self.graph = graph
        self.given = {name: np.asarray(value) for name, value in given.items()}
        self.externs = dict(externs or {})
        self.sizes = self._sizes()
        self.element = cache(self._element)

    def _sizes(self) -> dict[str, int]:
        found = {dim.name: dim.size for dim in self.graph.dims if dim.size is not None}
        found |= {
            dim.name: int(self.given[dim.name]) for dim in self.graph.dims if dim.name in self.given
        }
        for node in self.graph.nodes:
            if node.name in self.given:
                for axis, size in zip(node.type.shape, self.given[node.name].shape, strict=True):
                    if isinstance(axis, Dim):
                        found.setdefault(axis.name, size)
        return found

    # ---- values

    def value(self, name: str) -> np.ndarray[Any, Any]:
        """All of a node as an array."""
        if name in self.given:
            return self.given[name]
        node = self.graph[name]
        sizes = [self._size(axis) for axis in node.type.shape[: len(node.pieces[0].indices)]]
        items = [np.asarray(self.element(name, index)) for index in product(*map(range, sizes))]
        return np.array(items).reshape([*sizes, *items[0].shape])

    def _element(self, name: str, index: tuple[int, ...]) -> Any:
        node = self.graph[name]
        piece, variables = next(self._covering(node, index))
        assert isinstance(piece.body, c.Core)
        return self.evaluate(piece.body, variables)

    def _covering(self, node: Node, index: tuple[int, ...]) -> Iterator[tuple[Piece, Variables]]:
        for piece in node.pieces:
            variables: Variables = {}
            for own, place in zip(piece.indices, index, strict=True):
                if isinstance(own, c.Bind):
                    if place not in self.places(own):
                        break
                    variables[own.name] = place
                elif self._place(own) != place:
                    break
            else:
                yield piece, variables

    def _place(self, index: c.Core) -> int:
        domain = index.type.domain
        assert isinstance(domain, IndexOf)
        return self._absolute(domain.low, self._size(domain.dim))

    def places(self, bind: c.Bind) -> range:
        size = self._size(bind.dim)
        return range(self._absolute(bind.low, size), self._absolute(bind.high, size) + 1)

    def _absolute(self, place: Place, size: int) -> int:
        return size + place.offset if place.from_end else place.offset

    def _size(self, axis: Any) -> int:
        return self.sizes[axis.name] if isinstance(axis, Dim) else int(axis.size)

    # ---- expressions

    def evaluate(self, core: c.Core, variables: Variables) -> Any:
        return _RULES[type(core)](self, core, variables)

    def const(self, core: c.Const, variables: Variables) -> Any:
        return core.value

    def var(self, core: c.Var, variables: Variables) -> Any:
        return variables[core.name]

    def ref(self, core: c.Ref, variables: Variables) -> Any:
        return self.value(core.name)

    def at(self, core: c.At, variables: Variables) -> Any:
        """An element of a node is computed alone, so that recurrences end at their base."""
        index = tuple(int(self.evaluate(i, variables)) for i in core.indices)
        if isinstance(core.base, c.Ref) and core.base.name not in self.given:
            return self._part(core.base.name, index)
        return np.asarray(self.evaluate(core.base, variables))[index]

    def _part(self, name: str, index: tuple[int, ...]) -> Any:
        """The elements of a node below an index, and no others."""
        node = self.graph[name]
        own = len(node.pieces[0].indices)
        index = tuple(
            i if i >= 0 else i + self._size(a) for i, a in zip(index, node.type.shape, strict=False)
        )
        if len(index) >= own:
            return np.asarray(self.element(name, index[:own]))[index[own:]]
        return np.stack(
            [self._part(name, (*index, i)) for i in range(self._size(node.type.shape[len(index)]))]
        )

    def apply(self, core: c.Apply, variables: Variables) -> Any:
        values = [self._argument(argument, variables) for _, argument in core.arguments]
        if core.function in OPERATORS:
            return OPERATORS[core.function](*map(_number, values))
        if core.function == "one_hot":
            return np.eye(self._size(core.type.shape[0]))[int(values[0])]
        names = [name for name, _ in core.arguments]
        return np.asarray(_call(functions_by_text()[core.row].body, names, values, core.row))

    def _argument(self, argument: c.Core, variables: Variables) -> Any:
        return (
            self._size(argument.dim)
            if isinstance(argument, c.DimRef)
            else self.evaluate(argument, variables)
        )

    def call(self, core: c.CallFn, variables: Variables) -> Any:
        values = [self.evaluate(argument, variables) for argument in core.arguments]
        function = next(f for f in self.graph.functions if f.name == core.function)
        if function.body is None:
            return np.asarray(self.externs[function.name](*map(jnp.asarray, values)))
        names = [name for name, _ in function.parameters]
        return self.evaluate(function.body, dict(zip(names, values, strict=True)))

    def if_(self, core: c.If, variables: Variables) -> Any:
        return self.evaluate(
            core.then if self.evaluate(core.condition, variables) else core.otherwise, variables
        )

    def loop(self, core: c.Loop, variables: Variables) -> Any:
        state = self.evaluate(core.start, variables)
        for _ in range(core.limit):
            inside = {**variables, core.variable: state}
            if not self.evaluate(core.condition, inside):
                break
            state = self.evaluate(core.body, inside)
        return state

    def bound(self, binders: tuple[c.Bind, ...], variables: Variables) -> Iterator[Variables]:
        for index in product(*(self.places(bind) for bind in binders)):
            yield {**variables, **{bind.name: i for bind, i in zip(binders, index, strict=True)}}

    def reduce(self, core: c.Reduce, variables: Variables) -> Any:
        inside = [
            v
            for v in self.bound(core.binders, variables)
            if core.where is None or self.evaluate(core.where, v)
        ]
        items = [self.evaluate(core.body, v) for v in inside]
        if core.operator in ("argmax", "argmin"):
            best = int(np.argmax(items) if core.operator == "argmax" else np.argmin(items))
            return inside[best][core.binders[0].name]
        return REDUCERS[core.operator]([_number(item) for item in items])

    def build(self, core: c.Build, variables: Variables) -> Any:
        items = [
            np.asarray(self.evaluate(core.body, v)) for v in self.bound(core.binders, variables)
        ]
        return np.array(items).reshape(
            [*(len(self.places(b)) for b in core.binders), *items[0].shape]
        )

    def stack(self, core: c.Stack, variables: Variables) -> Any:
        return np.array([self.evaluate(item, variables) for item in core.items])

    def lookup(self, core: c.Lookup, variables: Variables) -> Any:
        place = 0
        for parent in core.parents:
            size = 2 if isinstance(parent.type.domain, Bool) else self._size(parent.type.domain.dim)  # type: ignore[attr-defined]
            place = place * size + int(self.evaluate(parent, variables))
        return self.evaluate(core.entries[place], variables)

    # ---- densities

    def log_prob(self) -> float:
        total = 0.0
        for node in self.graph.nodes:
            if node.kind in (Kind.DRAW, Kind.FACTOR):
                total += sum(self._terms(node)) + self._order(node)
        return total

    def _order(self, node: Node) -> float:
        """K draws of one law told in order: log K! where they increase, minus infinity
        elsewhere.
        """
        if not any(setting.name == "ordered" for setting in node.settings):
            return 0.0
        rows = self.given[node.name].reshape(-1, self.given[node.name].shape[-1])
        return sum(log(factorial(len(row))) if np.all(np.diff(row) > 0) else -inf for row in rows)

    def _terms(self, node: Node) -> Iterator[float]:
        for piece in node.pieces:
            binders = tuple(i for i in piece.indices if isinstance(i, c.Bind))
            for variables in self.bound(binders, {}):
                if piece.where is None or self.evaluate(piece.where, variables):
                    yield self._term(node, piece, variables)

    def _term(self, node: Node, piece: Piece, variables: Variables) -> float:
        if isinstance(piece.body, c.Core):
            return float(_number(self.evaluate(piece.body, variables)))
        index = tuple(
            variables[i.name] if isinstance(i, c.Bind) else self._place(i) for i in piece.indices
        )
        value = jnp.asarray(_number(self.given[node.name][index]))
        arguments = {
            name: self._argument(argument, variables) for name, argument in piece.body.arguments
        }
        return float(law_of(piece.body.row, arguments).log_prob(value))


def law_of(row: str, arguments: Mapping[str, Any]) -> Any:
    """The NumPyro distribution of a row, with these arguments."""
    words = {word: eval(path, {"jnp": jnp}) for word, path in NUMPY_WORDS.items()}
    given = {
        name: v if isinstance(v, int) else jnp.asarray(_number(v)) for name, v in arguments.items()
    }
    template = next(r.numpyro for r in DISTRIBUTIONS if r.text == row)
    return eval(template, {**vars(dist), **words, **given})


def _number(value: Any) -> Any:
    """Truth values count as 0 and 1."""
    array = np.asarray(value)
    return array.astype(int) if array.dtype == bool else value


def _call(path: str, names: list[str], values: list[Any], row: str) -> Any:
    function = resolve(path)
    params = parse_signature(row).params
    variadic = [p.name for p in params if p.variadic]
    arrays = [v if isinstance(v, int) else jnp.asarray(_number(v)) for v in values]
    if variadic or names == [p.name for p in params][: len(names)]:
        return function(*arrays)
    return function(**dict(zip(names, arrays, strict=True)))


_RULES: dict[type[c.Core], Callable[[Interpreter, Any, Variables], Any]] = {
    c.Const: Interpreter.const,
    c.Var: Interpreter.var,
    c.Ref: Interpreter.ref,
    c.At: Interpreter.at,
    c.Apply: Interpreter.apply,
    c.CallFn: Interpreter.call,
    c.If: Interpreter.if_,
    c.Loop: Interpreter.loop,
    c.Reduce: Interpreter.reduce,
    c.Build: Interpreter.build,
    c.Stack: Interpreter.stack,
    c.Lookup: Interpreter.lookup,
}
