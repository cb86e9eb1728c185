"""The one evaluator of core expressions in NumPy: tables, constants and defaults, without JAX.

An array has one axis for every binder, of length one where the value does not depend on it, and
then the axes of the value itself. What is not known here raises NeedsJax, and the caller takes the
compiled way.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..library.bodies.numpy_bodies import numpy_body
from ..library.functions import functions_by_text
from ..lower.distributions import LOGITS, mass_at
from ..record import NOTHING
from . import core as c
from .types import FIRST, LAST, Axis, Bool, Place, Real

Array = np.ndarray[Any, Any]
Axes = tuple[c.Bind, ...]
Variables = Mapping[str, Array]


class NeedsJax(Exception):
    """An expression that only the compiled program evaluates."""


COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
LOGIC = {name: getattr(np, f"logical_{name}") for name in ("and", "or", "not")}
OPERATORS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("add", "subtract", "multiply", *COMPARISONS)},
    **LOGIC,
    "divide": np.true_divide,
    "power": np.float_power,
    "negate": np.negative,
}
WHOLE = frozenset({"int", "count", "bool", "index", "item"})

MANY = 20_000
"""Calls of a function of whole arrays, one for each place: beyond these, compiling is faster."""

REDUCERS: dict[str, tuple[Callable[..., Any], Any]] = {
    "sum": (np.sum, 0),
    "prod": (np.prod, 1),
    "max": (np.max, -np.inf),
    "min": (np.min, np.inf),
    "all": (np.all, True),
    "any": (np.any, False),
    "logsumexp": (lambda a, axis: np.logaddexp.reduce(a, axis=axis), -np.inf),
}


class Sizes:
    """How long axes are: dims by their names in the file or with the data."""

    def __init__(self, sizes: Mapping[str, int]):
        self.by_name = sizes

    def of(self, axis: Axis) -> int:
        found = axis.size if axis.size is not None else self.by_name[str(axis)]
        assert found is not None
        return found

    def place(self, place: Place, axis: Axis) -> int:
        return self.of(axis) + place.offset if place.from_end else place.offset

    def places(self, bind: c.Bind) -> range:
        return range(self.place(bind.low, bind.dim), self.place(bind.high, bind.dim) + 1)


class Evaluator:
    """`arrays` are parameters, data and given values by node; None where one is traced."""

    def __init__(
        self, arrays: Mapping[str, Array | None], sizes: Sizes, functions: Mapping[str, Any]
    ):
        self.arrays = arrays
        self.sizes = sizes
        self.functions = functions
        # By the identity of the variables, with the variables, which keeps their identity theirs.
        self.calls: dict[tuple[int, Axes, c.Core], tuple[Variables, Array]] = {}

    def table(
        self, body: c.Core | c.Law, value: c.Core | None, where: c.Core | None, axes: Axes
    ) -> Array:
        """A log potential or log density at every place of the axes; 0 where it is not."""
        with np.errstate(all="ignore"):
            if isinstance(body, c.Law):
                assert value is not None
                found = self._log_density(body, value, axes)
            else:
                found = np.asarray(self.value(body, axes), float)
            if where is not None:
                found = np.where(self.value(where, axes), found, 0.0)
        return np.broadcast_to(found, [len(self.sizes.places(bind)) for bind in axes])

    def value(self, core: c.Core, axes: Axes, variables: Variables = NOTHING) -> Array:
        rule = getattr(self, f"eval_{type(core).__name__}", None)
        if rule is None:
            raise NeedsJax(type(core).__name__)
        found: Array = rule(core, axes, variables)
        return found

    # ---- leaves

    def eval_Const(self, core: c.Const, axes: Axes, variables: Variables) -> Array:
        return np.asarray(core.value).reshape((1,) * len(axes))

    def eval_Var(self, core: c.Var, axes: Axes, variables: Variables) -> Array:
        if core.name in variables:
            found = variables[core.name]
            own = found.ndim - len(core.type.shape)
            return found.reshape(found.shape[:own] + (1,) * (len(axes) - own) + found.shape[own:])
        place = next(k for k, bind in enumerate(axes) if bind.name == core.name)
        shape = [1] * len(axes)
        shape[place] = -1
        return np.asarray(self.sizes.places(axes[place])).reshape(shape)

    def eval_Ref(self, core: c.Ref, axes: Axes, variables: Variables) -> Array:
        if self.arrays.get(core.name) is None:
            raise NeedsJax(core.name)
        array = np.asarray(self.arrays[core.name])
        return array.reshape((1,) * len(axes) + array.shape)

    # ---- indexing

    def eval_At(self, core: c.At, axes: Axes, variables: Variables) -> Array:
        base = self.value(core.base, axes, variables)
        found = [self._whole_axis(index, axes, variables) for index in core.indices]
        places = [place for place in found if place is not None and base.shape[place] == 1]
        if len(set(places)) == len(found):
            for place in places:  # its own axes move, without a copy
                base = np.moveaxis(np.squeeze(base, place), len(axes) - 1, place)
            return base
        indices = [self.value(index, axes, variables) for index in core.indices]
        return _gather(base, indices, len(axes))

    def _whole_axis(self, index: c.Core, axes: Axes, variables: Variables) -> int | None:
        """The binder that an index is, if it runs over all of its dim."""
        if not isinstance(index, c.Var) or index.name in variables:
            return None
        place = next(k for k, bind in enumerate(axes) if bind.name == index.name)
        return place if (axes[place].low, axes[place].high) == (FIRST, LAST) else None

    def _states(self, parent: c.Core) -> int:
        domain = parent.type.domain
        return 2 if isinstance(domain, Bool) else self.sizes.of(domain.dim)  # type: ignore[attr-defined]

    def eval_Lookup(self, core: c.Lookup, axes: Axes, variables: Variables) -> Array:
        sizes = [self._states(parent) for parent in core.parents]
        places = [np.asarray(self.value(parent, axes, variables), int) for parent in core.parents]
        entries = self._stacked(core.entries, axes, variables)
        shape = entries.shape[: len(axes)] + tuple(sizes) + entries.shape[len(axes) + 1 :]
        return _gather(entries.reshape(shape), places, len(axes))

    # ---- operators and functions

    def eval_DimRef(self, core: c.DimRef, axes: Axes, variables: Variables) -> Array:
        return np.asarray(self.sizes.of(core.dim)).reshape((1,) * len(axes))

    def eval_Apply(self, core: c.Apply, axes: Axes, variables: Variables) -> Array:
        values = [self.value(x, axes, variables) for _, x in core.arguments]
        if core.function in OPERATORS:
            return self._operator(core, values, len(axes))
        if core.function in ("dot", "matmul"):
            left, right = (len(x.type.shape) for _, x in core.arguments)
            return _matmul(values[0], values[1], left, right)
        if core.function == "one_hot":
            size = self.sizes.of(core.type.shape[0])
            return np.asarray(np.arange(size) == values[0][..., None], float)
        row = functions_by_text().get(core.row)
        body = numpy_body(row) if row else None
        if row is None or body is None:
            raise NeedsJax(core.function)
        pairs = zip(values, _domains(core), strict=True)
        values = [_cast(value, core, domain) for value, domain in pairs]
        if row.signature.elementwise:
            rank = len(core.type.shape)
            ranked = [_ranked(value, len(axes), rank) for value in values]
            return np.asarray(_called(body, core, ranked))
        return self._mapped(body, core, values, len(axes))

    def _operator(self, core: c.Apply, values: list[Array], count: int) -> Array:
        rank = len(core.type.shape)
        ranked = [_ranked(value, count, rank) for value in values]
        if core.function not in LOGIC:
            ranked = [v.astype(int) if v.dtype == bool else v for v in ranked]
        return np.asarray(OPERATORS[core.function](*ranked))

    def _mapped(
        self, body: Callable[..., Any], core: c.Apply, values: list[Array], count: int
    ) -> Array:
        """A function of whole arrays, called for each place of the axes that it depends on."""
        lead = np.broadcast_shapes(*(value.shape[:count] for value in values))
        if np.prod(lead) > MANY:
            raise NeedsJax(core.function)
        whole = [np.broadcast_to(value, lead + value.shape[count:]) for value in values]
        found = [
            np.asarray(_called(body, core, [value[place] for value in whole]))
            for place in np.ndindex(*lead)
        ]
        if not found:
            raise NeedsJax(core.function)
        return np.array(found).reshape(lead + found[0].shape)

    def eval_CallFn(self, core: c.CallFn, axes: Axes, variables: Variables) -> Array:
        key = id(variables), axes, core
        if key not in self.calls:
            self.calls[key] = variables, self._value_of_call(core, axes, variables)
        return self.calls[key][1]

    def _value_of_call(self, core: c.CallFn, axes: Axes, variables: Variables) -> Array:
        function = self.functions[core.function]
        if function.body is None:
            raise NeedsJax(core.function)
        given = {}
        for (name, wanted), argument in zip(function.parameters, core.arguments, strict=True):
            value = self.value(argument, axes, variables)
            given[name] = value.astype(float) if isinstance(wanted.domain, Real) else value
        return self.value(function.body, axes, given)

    def eval_If(self, core: c.If, axes: Axes, variables: Variables) -> Array:
        rank = len(core.type.shape)
        parts = (self.value(part, axes, variables) for part in c.parts(core))
        return np.where(*(_ranked(part, len(axes), rank) for part in parts))

    def eval_Loop(self, core: c.Loop, axes: Axes, variables: Variables) -> Array:
        rank, count = len(core.type.shape), len(axes)
        state = self.value(core.start, axes, variables)
        for _ in range(core.limit):
            inside = {**variables, core.variable: state}
            going = _ranked(self.value(core.condition, axes, inside), count, rank)
            if not going.any():
                break
            state = np.where(going, self.value(core.body, axes, inside), state)
        return state

    # ---- arrays and reductions

    def eval_Stack(self, core: c.Stack, axes: Axes, variables: Variables) -> Array:
        return self._stacked(core.items, axes, variables)

    def _stacked(self, items: tuple[c.Core, ...], axes: Axes, variables: Variables) -> Array:
        constant = _constants(items)
        if constant is not None:
            return constant.reshape((1,) * len(axes) + constant.shape)
        values = np.broadcast_arrays(*(self.value(item, axes, variables) for item in items))
        return np.stack(values, len(axes))

    def eval_Build(self, core: c.Build, axes: Axes, variables: Variables) -> Array:
        body = self.value(core.body, (*axes, *core.binders), variables)
        lengths = [len(self.sizes.places(bind)) for bind in core.binders]
        rest = body.shape[len(axes) + len(lengths) :]
        return np.broadcast_to(body, (*body.shape[: len(axes)], *lengths, *rest))

    def eval_Reduce(self, core: c.Reduce, axes: Axes, variables: Variables) -> Array:
        if core.operator not in REDUCERS:
            raise NeedsJax(core.operator)
        function, neutral = REDUCERS[core.operator]
        inner = (*axes, *core.binders)
        body = self.eval_Build(
            c.Build(core.span, core.type, core.binders, core.body), axes, variables
        )
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
        return self._density_of_row(law, value, axes)

    def _density_of_row(self, law: c.Law, value: c.Core, axes: Axes) -> Array:
        """By the NumPy body of the distribution, for draws of single numbers."""
        from ..library.densities import log_density

        if not law.facts.single or any(core.type.shape for _, core in law.arguments):
            raise NeedsJax(law.name)
        arguments = {name: self.value(core, axes) for name, core in law.arguments}
        found = log_density(law.row, arguments, self.value(value, axes))
        if found is None:
            raise NeedsJax(law.name)
        return np.asarray(found)

    def eval_LogDensity(self, core: c.LogDensity, axes: Axes, variables: Variables) -> Array:
        if variables:
            raise NeedsJax(core.law.name)
        return self._log_density(core.law, core.value, axes)


def _constants(items: tuple[c.Core, ...]) -> Array | None:
    """Numbers, or rows of numbers, as an array."""
    if all(isinstance(item, c.Const) for item in items):
        return np.array([item.value for item in items])  # type: ignore[attr-defined]
    if all(isinstance(item, c.Stack) for item in items):
        rows = [_constants(item.items) for item in items]  # type: ignore[attr-defined]
        return None if any(row is None for row in rows) else np.array(rows)
    return None


def _ranked(value: Array, count: int, rank: int) -> Array:
    """Axes of length one after the binders, until its own are as many as the others'."""
    missing = rank - (value.ndim - count)
    return value.reshape(value.shape[:count] + (1,) * missing + value.shape[count:])


def _domains(core: c.Apply) -> list[str]:
    """The domain word of each argument; a parameter that takes many stands once in the row."""
    params = {p.name: p.type.domain for p in functions_by_text()[core.row].signature.params}
    return [params[name] for name, _ in core.arguments]


def _cast(value: Array, core: c.Apply, domain: str) -> Array:
    """Where the row wants reals, whole numbers and truths are read as such."""
    if domain == "dim" or domain in WHOLE or (domain == "num" and core.type.whole):
        return value.astype(int) if domain == "num" and value.dtype == bool else value
    return value if isinstance(value.dtype.type(0), np.floating) else value.astype(float)


def _called(body: Callable[..., Any], core: c.Apply, values: list[Array]) -> Any:
    """Arguments by position as long as the order is that of the signature, then by name."""
    params = functions_by_text()[core.row].signature.params
    if any(p.type.domain == "dim" for p in params):
        by_place = zip(_domains(core), values, strict=True)
        return body(*(int(v) if domain == "dim" else v for domain, v in by_place))
    names = [name for name, _ in core.arguments]
    if names == [p.name for p in params][: len(names)]:
        return body(*values)
    return body(**dict(zip(names, values, strict=True)))


def _matmul(a: Array, b: Array, left: int, right: int) -> Array:
    if (left, right) == (1, 1):
        return _dot(a, b)
    wide = np.matmul(a if left == 2 else a[..., None, :], b if right == 2 else b[..., None])
    if left == 1:
        return np.asarray(wide[..., 0, :])
    return np.asarray(wide if right == 2 else wide[..., 0])


def _dot(a: Array, b: Array) -> Array:
    """The sum over the last axis; a product of matrices where the axes allow it."""
    for first, second in ((a, b), (b, a)):
        own, other = (
            [k for k, size in enumerate(x.shape[:-1]) if size > 1] for x in (first, second)
        )
        if own and other and own[-1] < other[0]:
            found = first.reshape(-1, first.shape[-1]) @ second.reshape(-1, second.shape[-1]).T
            return found.reshape(np.broadcast_shapes(first.shape[:-1], second.shape[:-1]))
    return np.asarray(np.einsum("...k,...k->...", a, b))


def _gather(base: Array, places: list[Array], count: int) -> Array:
    """base[axes..., places...] for every place of the axes."""
    shape = np.broadcast_shapes(base.shape[:count], *(place.shape for place in places))
    grid = np.ogrid[tuple(map(slice, base.shape[:count]))]
    return np.asarray(
        base[(*grid, *(np.broadcast_to(place, shape).astype(int) for place in places))]
    )
