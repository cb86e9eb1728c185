"""Values as people give them, read in one place for all methods: of draws, parameters and data.

Outside, a value is a label, a position, a number of the declared kind or a truth value, in the
shape that was declared. Inside, it is an array with positions for labels. What is concrete is
checked whole, and refused in words. What JAX traces has its shape and kind checked, and `inside`
tells the program whether it lies in its support.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.types import Bool, Dim, IndexOf, Real

from ..data.arrays import CONSTRAINTS
from ..data.bind import array_of, verify_extents
from ..data.errors import DataError
from ..exits import UsageError
from .traced import is_jax_array, is_masked, is_traced

Values = dict[str, Any]
Sizes = tuple[tuple[str, int], ...]

KIND_WORDS = {"b": "truth values", "i": "whole numbers", "u": "whole numbers", "f": "numbers"}
CHECKED_WHEN_TRACED = frozenset({"", "simplex", "positive_ordered"})
"""Constraints whose bounds alone are looked at where values are not known."""


OPEN = -(2**31)
"""In an array of whole numbers, an element that nothing is known of; no variable has this value."""


class CheckedData(dict[str, Any]):
    """Arrays and sizes that were checked when they were bound, and are cut or traced since then."""


class ValueReader:
    """Reads values for one call: what has been read settles the sizes of dims for what follows.

    `wide` numbers have 64 bits, for NumPy; others have what JAX is set to.
    """

    def __init__(self, graph: Graph, data: Mapping[str, Any] | None = None, wide: bool = False):
        self.graph, self.wide = graph, wide
        self.sizes: dict[str, tuple[int, str]] = {
            dim.name: (dim.size, "the model") for dim in graph.dims if dim.size is not None
        }
        self.labels = {dim.name: dim.labels for dim in graph.dims if dim.labels}
        self.doubts: list[Any] = []
        data = {} if data is None else data
        bound: Any = data
        if isinstance(data, CheckedData):
            dims = {dim.name for dim in graph.dims}
            sizes = {n: size for n, size in data.items() if n in dims and not is_traced(size)}
            self.arrays = {name: own for name, own in data.items() if name not in sizes}
            self.given_sizes = tuple(sizes.items())
            self.sizes |= {name: (int(size), "the data") for name, size in sizes.items()}
        elif hasattr(data, "layout"):
            # Bound data were checked then; under `jax.vmap` their arrays have lost an axis.
            self.arrays, self.given_sizes = dict(bound.arrays), bound.layout.sizes
            self.labels |= bound.labels
            self.sizes |= {name: (size, "the data") for name, size in self.given_sizes}
        else:
            self.arrays, self.given_sizes = self._read_data(data)
            self._verify_extents()

    def _verify_extents(self) -> None:
        """That what is computed at these sizes has room; bound data were looked at before."""
        sizes = {name: size for name, (size, _) in self.sizes.items()}
        # What was said of a graph at some sizes holds for the next call with them.
        fitting: set[Any] = self.graph.__dict__.setdefault("_fitting_sizes", set())
        key = frozenset(sizes.items())
        if key not in fitting:
            verify_extents(self.graph, sizes)
            fitting.add(key)

    # ---- data

    def _read_data(self, data: Mapping[str, Any]) -> tuple[Values, Sizes]:
        """Arrays, and the sizes of dims; a size that is traced stays among the arrays."""
        dims = {dim.name for dim in self.graph.dims}
        known = {**self.graph.by_name, **(self.graph.guide.by_name if self.graph.guide else {})}
        arrays: Values = {}
        sizes: dict[str, int] = {}
        for name, value in data.items():
            if name not in dims:
                continue
            if is_traced(value):
                arrays[name] = value
            else:
                sizes[name] = self._read_size(name, value)
        for name, value in data.items():
            if name in dims:
                continue
            if name not in known:
                hint = did_you_mean(name, [*known, *dims])
                raise UsageError(f"the model has no data called `{name}`{hint and f'; {hint}'}")
            arrays[name] = self.read(known[name], value)
        return arrays, tuple(sizes.items())

    def _read_size(self, name: str, value: Any) -> int:
        is_whole = (
            not is_masked(value) and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iu"
        )
        if not is_whole or int(value) < 0:
            raise UsageError(f"`{name}` is a dim: its size is a whole number, not {value!r}")
        size, why = self.sizes.setdefault(name, (int(value), "the data"))
        if size != int(value):
            raise UsageError(f"`{name}` has {size} members by {why}, but the data say {value}")
        return size

    def forget_observed(self) -> None:
        """Leaves observed variables as open as others; what they said of sizes stays."""
        observed = {node.name for node in self.graph.nodes if node.observed}
        self.arrays = {name: own for name, own in self.arrays.items() if name not in observed}

    def require(self, names: Iterable[str], values: Mapping[str, Any]) -> None:
        """Raises for inputs and observed variables that neither data nor values have."""
        for name in names:
            node = self.graph[name]
            is_given = node.kind is Kind.INPUT or node.observed
            if is_given and node.default is None and name not in values | self.arrays.keys():
                raise UsageError(f"the data lack `{name}`: it is {_declared(node)}")

    # ---- parameters and draws

    def parameters(self, params: Mapping[str, Any] | None, whole: bool = True) -> Values:
        """Of all parameters, or (not `whole`) of those that are given."""
        return self._all(self.graph.parameters, params or {}, "parameter", whole)

    def verify_once(self, name: str) -> None:
        if name in self.arrays:
            what = f"`{name}` has a value in the data and another one beside them"
            raise UsageError(f"{what}: leave out one")

    def draws(self, values: Mapping[str, Any] | None, whole: bool = True) -> Values:
        """Of all draws that the data do not have, or (not `whole`) of those that are given."""
        nodes = self.graph.of_kind(Kind.DRAW)
        return self._all(nodes, values or {}, "draw", whole)

    def _all(
        self, nodes: Iterable[Node], given: Mapping[str, Any], word: str, whole: bool
    ) -> Values:
        known = {node.name: node for node in nodes}
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known)
                raise UsageError(f"the model has no {word} `{name}`{hint and f'; {hint}'}")
            self.verify_once(name)
        absent = [n.name for n in known.values() if n.name not in given and not n.observed]
        absent = [name for name in absent if name not in self.arrays]
        if whole and absent:
            every = f"give one for each of {', '.join(absent)}" if len(absent) > 1 else "give one"
            raise UsageError(f"no value for the {word} `{absent[0]}`: {every}")
        found = {name: self.read(known[name], value) for name, value in given.items()}
        self._verify_extents()
        return found

    # ---- one value

    def read(self, node: Node, value: Any) -> Any:
        """The array of a node, of its shape and kind, inside its support."""
        if is_traced(value):
            import jax.numpy as jnp

            traced = jnp.asarray(value)
            self._verify_shape(node, traced.shape)
            return self._traced(node, traced)
        array = self._concrete(node, value)
        self._verify_shape(node, array.shape)
        self._verify_support(node, array)
        return array if self.wide else self._in_width(node.name, value, array)

    def _in_width(self, name: str, value: Any, array: np.ndarray[Any, Any]) -> Any:
        """In the precision of JAX; an array of JAX that is as it should be stays where it is."""
        import jax

        from ..data.bound import in_width

        if is_jax_array(value) and value.dtype == jax.dtypes.canonicalize_dtype(array.dtype):
            return value
        with _in_words():
            return in_width(name, array)

    def direction(self, node: Node, value: Any) -> Any:
        """What a parameter is moved by: numbers of its shape."""
        array = value if is_traced(value) else self._concrete(node, value)
        self._verify_shape(node, array.shape)
        return array

    def _concrete(self, node: Node, value: Any) -> np.ndarray[Any, Any]:
        """Labels as positions, and numbers of the declared kind."""
        domain, name = node.type.domain, node.name
        if node.type.whole and not self._has_labels(domain):
            value = _written_number(name, value)
        is_plain = isinstance(value, np.ndarray | bool | int | float | np.generic)
        if is_jax_array(value) or (is_plain and not is_masked(value)):
            array = np.asarray(value)
        else:
            array = self._from_other(node, value)
        if array.dtype.kind not in KIND_WORDS:
            raise UsageError(f"`{name}` is {node.type}, but its value holds {array.dtype}")
        if isinstance(domain, Real):
            return array.astype(float, copy=False)
        if array.dtype.kind == "f" and not np.all(array == np.floor(array)):
            at = array[array != np.floor(array)].flat[0]
            raise UsageError(f"`{name}` is {node.type}: its values are whole, not {at}")
        if isinstance(domain, Bool):
            if not np.all((array == 0) | (array == 1)):
                raise UsageError(f"`{name}` is {node.type}: it is true or false, 1 or 0")
            return array.astype(bool)
        if isinstance(domain, IndexOf) and array.dtype.kind == "b":
            raise UsageError(f"`{name}` is {node.type}: it is a label or a position, no truth")
        return array.astype(np.int64)

    def _has_labels(self, domain: Any) -> bool:
        return isinstance(domain, IndexOf) and bool(self.labels.get(str(domain.dim)))

    def _from_other(self, node: Node, value: Any) -> np.ndarray[Any, Any]:
        """Lists, text, Series and the like, as `bind` reads them."""
        with _in_words():
            return array_of(node, value, self.labels)

    def _verify_shape(self, node: Node, shape: tuple[int, ...]) -> None:
        declared, name = node.type, node.name
        if len(shape) != len(declared.shape):
            what = f"`{name}` is {declared}, but its value has shape {shape}"
            many = "; use jax.vmap for many" if len(shape) > len(declared.shape) else ""
            raise UsageError(f"{what}{many}")
        for axis, length in zip(declared.shape, shape, strict=True):
            if isinstance(axis, Dim):
                size, why = self.sizes.setdefault(axis.name, (length, f"`{name}`"))
            elif axis.size is None:
                continue
            else:
                size, why = axis.size, "the model"
            if size != length:
                what = f"`{name}` is {declared}, but its value has {length} for `{axis}`"
                raise UsageError(f"{what}, which has {size} by {why}")

    def _verify_support(self, node: Node, array: np.ndarray[Any, Any]) -> None:
        name, declared = node.name, node.type
        lower, upper = self._bounds(node)
        outside = ~((array >= lower) & (array <= upper))
        if np.any(outside):
            entry = array[outside].flat[0]
            what = f"`{name}` is {declared}"
            if isinstance(declared.domain, IndexOf):
                what = f"`{name}` is an index of `{declared.domain}`, from {lower} to {upper}"
            raise UsageError(f"{what}: it cannot be {entry}")
        if declared.constraint and array.size:
            words, holds = CONSTRAINTS[declared.constraint]
            if not np.all(holds(array)):
                raise UsageError(f"`{name}` is {declared}: its value is not {words}")

    def _bounds(self, node: Node) -> tuple[float, float]:
        domain = node.type.domain
        if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim):
            return 0, self.sizes.get(domain.dim.name, (inf, ""))[0] - 1
        return node.type.bounds

    def _traced(self, node: Node, array: Any) -> Any:
        import jax.numpy as jnp

        domain, kind = node.type.domain, array.dtype.kind
        if not isinstance(domain, Real) and jnp.issubdtype(array.dtype, jnp.floating):
            what = f"`{node.name}` is {node.type}, but what is traced are {array.dtype} numbers"
            raise UsageError(f"{what}: give whole numbers")
        lower, upper = self._bounds(node)
        if kind != "b" and node.type.constraint in CHECKED_WHEN_TRACED:
            if lower > -inf:
                self.doubts.append(jnp.all(array >= jnp.asarray(lower, array.dtype)))
            if upper < inf:
                self.doubts.append(jnp.all(array <= jnp.asarray(upper, array.dtype)))
        if isinstance(domain, Real):
            return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
        return array.astype(bool if isinstance(domain, Bool) else int)

    def or_outside(self, found: Any, outside: float) -> Any:
        """What was found, or this number where something traced is outside its support."""
        import jax

        for doubt in self.doubts:
            found = jax.tree.map(lambda x, doubt=doubt: _where(doubt, x, outside), found)
        return found


WRITTEN = {"true": True, "false": False}


def _written_number(name: str, value: Any) -> Any:
    """A whole number or truth value that is text, as the shell and files of cases have it."""
    if isinstance(value, list | tuple):
        return [_written_number(name, item) for item in value]
    if not isinstance(value, str):
        return value
    if value.lower() in WRITTEN:
        return WRITTEN[value.lower()]
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        raise UsageError(f"`{name}` takes a number or truth value, not {value[:60]}")
    return int(value)


@contextmanager
def _in_words() -> Iterator[None]:
    """A problem of data, as one of a value that was given."""
    try:
        yield
    except DataError as error:
        wrong = error.problems[0]
        raise UsageError(f"{wrong.message}{wrong.help and f' ({wrong.help})'}") from None


def _where(holds: Any, value: Any, otherwise: float) -> Any:
    import jax.numpy as jnp

    is_number = jnp.issubdtype(jnp.result_type(value), jnp.floating)
    return jnp.where(holds, value, jnp.asarray(otherwise, value.dtype)) if is_number else value


def is_one_value(node: Node, value: Any) -> bool:
    """Whether it says exactly what a node is: no set, no likelihoods, nothing left open."""
    rank = len(node.type.shape)
    if is_traced(value) or isinstance(value, str):
        return np.ndim(value) == rank
    if value is None or isinstance(value, set | frozenset) or is_masked(value):
        return False
    if isinstance(value, list | tuple):
        value = np.asarray(value, object)
    array = np.asarray(value)
    if array.dtype.kind == "O":
        open_kinds = (type(None), set, frozenset, np.ma.MaskedArray)
        if any(isinstance(item, open_kinds) for item in array.flat):
            return False
    elif node.type.whole and np.any((array == OPEN) | (array != array)):  # NaN is not itself
        return False
    return array.ndim == rank


def _declared(node: Node) -> str:
    role = "observed" if node.observed else "data"
    return f"declared `{role} {node.name} : {node.type}`"
