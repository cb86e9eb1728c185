"""Evidence on finite variables, read in one place for all engines and for files of cases.

Outside, a state is a label, or a number or truth value that the variable can have; a set of them
leaves a choice, likelihoods weigh all of them, None leaves an element open. Inside, a state is a
position. Arrays, which JAX may trace, hold values as draws do: positions of labels, numbers, truth
values; OPEN in them leaves an element open.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.graph import Node
from dpc.dsl.graph.types import Bool, IndexOf
from dpc.dsl.printable import InWords
from dpc.dsl.record import Record
from dpc.inference.errors import ImpossibleEvidenceError

from ..model.traced import is_jax_array, is_masked, is_traced
from ..model.values import OPEN

LONGEST_SHOWN = 60
PLACE = re.compile(r"0|[1-9][0-9]{0,17}")
"""A number as it is written: neither 00 nor the digits of other scripts."""
MANY = 12
"""States that a message still lists."""

Array = NDArray[Any]


def impossible(given: Mapping[str, Any]) -> ImpossibleEvidenceError:
    """In the words of who gave the evidence."""
    if not given:
        return ImpossibleEvidenceError("nothing is possible: every configuration has no weight")
    shown = [f"{name}={_short(value)}" for name, value in list(given.items())[:MANY]]
    more = ", ..." if len(given) > MANY else ""
    what = "the evidence is impossible, it has probability zero"
    return ImpossibleEvidenceError(f"{what}: {', '.join(shown)}{more}")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


class WrongEvidence(InWords, ValueError):
    """Evidence on a variable that is not there, or with a value that it cannot have."""


class FiniteVariable(Record):
    """A node, or one variable of a network; its states are numbered from `lowest` on."""

    name: str
    states: tuple[str, ...]
    shape: tuple[int, ...] = ()
    lowest: int = 0
    kind: str = "label"
    """Whether its values are labels, numbers (int) or truth values (bool)."""

    def position(self, value: Any) -> int:
        """The position of one value, said in any way."""
        if is_masked(value):
            raise self.refuse("a masked entry")
        if _is_array(value) and np.ndim(value) == 0:
            value = np.asarray(value).item()
        if isinstance(value, str):
            return self._position_of_text(value if value in self.states else value.strip())
        if isinstance(value, bool) and self.kind != "bool":
            raise self.refuse(str(value).lower())
        if not isinstance(value, bool | int | float) or value != int(value):
            raise self.refuse(str(value))
        return self._position_of_number(int(value))

    def _position_of_text(self, text: str) -> int:
        word = text.lower() if self.kind == "bool" else text
        if word in self.states:
            return self.states.index(word)
        if re.fullmatch(r"-?[0-9]{1,18}", text) and not self._has_numbers_for_labels:
            return self._position_of_number(int(text))
        raise self.refuse(text)

    def _position_of_number(self, number: int) -> int:
        position = number - self.lowest
        if not 0 <= position < len(self.states):
            raise self.refuse(str(number))
        if str(number) in self.states and self.states.index(str(number)) != position:
            what = f"`{self.name}` has a label {number!r} and a position {number}"
            raise WrongEvidence(f"{what}, which are not the same state: give the label as text")
        return position

    @property
    def _labels_mislead(self) -> bool:
        """Labels such as 1, 2, 3, where the position 1 is another state than the label 1."""
        counted = map(str, range(self.lowest, self.lowest + len(self.states)))
        return any(a != b for a, b in zip(self.states, counted, strict=True) if a.isdigit())

    @property
    def _has_numbers_for_labels(self) -> bool:
        return any(state.lstrip("-").isdigit() for state in self.states)

    def refuse(self, text: str) -> WrongEvidence:
        hint = "" if self._has_numbers_for_labels else did_you_mean(text, self.states)
        more = f", ... ({len(self.states)} of them)" if len(self.states) > MANY else ""
        shown = ", ".join(self.states[:MANY]) + more
        what = f"`{self.name}` is one of {shown}, not `{text}`"
        return WrongEvidence(f"{what}{hint and f'; {hint}'}")

    # ---- evidence on all its elements

    def read(self, value: Any) -> Array:
        """Positions [shape], -1 where open, or likelihoods [shape, states]."""
        if is_masked(value):
            value = self._unmasked(value)
        if value is None or isinstance(value, set | frozenset | str):
            return self._one(value)
        array = _as_array(value, len(self.shape))
        if array.dtype.kind in "biuf":
            return self._numbers(array)
        if not array.shape and not self.shape:
            several = f"several as {self.name}=this|that, in Python a set"
            what = f"`{self.name}` takes one state, {several}, or a likelihood for each"
            raise WrongEvidence(f"{what}, not {_short(value)}")
        return self._objects(array)

    def _unmasked(self, value: Any) -> Any:
        """Open where the mask hides a state; a hidden likelihood says nothing that can be used."""
        if value.shape == (*self.shape, len(self.states)) and value.shape != self.shape:
            what = f"the likelihoods of `{self.name}` are masked in part"
            raise WrongEvidence(f"{what}: give all of a state, or None for what is open")
        return value.tolist()  # None where it is masked

    def _one(self, value: Any) -> Array:
        if self.shape:
            sizes = " by ".join(map(str, self.shape))
            what = f"`{self.name}` has {sizes} elements, and its evidence is one value"
            raise WrongEvidence(f"{what}: give all of them, or one as `{self.name}[0]`")
        if isinstance(value, set | frozenset):
            return self._weights(value)
        return np.asarray(-1 if value is None else self.position(value), np.intp)

    def _weights(self, value: Iterable[Any]) -> Array:
        """1 for the states of a set, 0 for the others."""
        chosen = {self.position(item) for item in value}
        if not chosen:
            raise WrongEvidence(f"the evidence on `{self.name}` is a set without any state")
        return np.isin(np.arange(len(self.states)), list(chosen)).astype(float)

    def _numbers(self, array: Array) -> Array:
        if array.shape == (*self.shape, len(self.states)) and array.shape != self.shape:
            return self.verify_likelihoods(array.astype(float))
        self.verify_shape(array.shape)
        if array.dtype.kind == "b" and self.kind != "bool":
            raise self.refuse("true")
        is_open = np.asarray(array == OPEN)
        if array.dtype.kind == "f":
            is_open |= np.isnan(array)
        numbers = np.where(is_open, self.lowest, array)
        positions = numbers - self.lowest
        bad = (positions != np.floor(positions)) | (positions < 0)
        bad |= positions >= len(self.states)
        if np.any(bad):
            at = tuple(np.argwhere(bad)[0])
            raise self.refuse_element(at, f"{numbers[at]:g}")
        for number in np.unique(numbers[~is_open]) if self._labels_mislead else ():
            self._position_of_number(int(number))
        return np.where(is_open, -1, positions).astype(np.intp)

    def refuse_element(self, at: tuple[int, ...], text: str) -> WrongEvidence:
        own = self.replace(name=f"{self.name}[{', '.join(map(str, at))}]") if at else self
        hint = "; None, or dpc.OPEN in an array, leaves it open" if text == "-1" else ""
        return WrongEvidence(f"{own.refuse(text)}{hint}")

    def verify_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self.shape:
            own = f"shape {self.shape} and {len(self.states)} states"
            raise WrongEvidence(f"`{self.name}` has {own}; its evidence has shape {shape}")

    def verify_likelihoods(self, weights: Array) -> Array:
        if not np.all(weights >= 0) or not np.all(np.isfinite(weights)):
            raise WrongEvidence(f"the likelihoods of `{self.name}` are not all 0 or above")
        if not np.all(np.any(weights > 0, axis=-1)):
            raise WrongEvidence(f"the likelihoods of `{self.name}` are all 0: nothing is possible")
        return weights

    def _objects(self, array: Array) -> Array:
        """Labels, sets, rows of likelihoods and None, element by element."""
        self.verify_shape(array.shape)
        one = self.replace(shape=())
        read = [one.read(item) for item in array.reshape(-1).tolist()]
        if all(found.ndim == 0 for found in read):
            return np.array(read, np.intp).reshape(self.shape)
        rows = [self._row(found) for found in read]
        return np.array(rows, float).reshape(*self.shape, len(self.states))

    def _row(self, found: Array) -> Array:
        if found.ndim:
            return found
        every = np.ones(len(self.states))
        return every if found < 0 else np.where(np.arange(len(every)) == found, every, 0)

    # ---- for the compiled engines

    def log_likelihood(self, value: Any, most: int) -> Any:
        """[shape, most states]: 0 for what is possible, with log-likelihoods where they are given.

        What is traced is not looked into: a value outside the support leaves nothing possible.
        """
        if is_traced(value):
            return self._traced(value, most)
        found = self.read(value)
        if found.shape == self.shape:
            return np.where((found[..., None] < 0) | _is_state(np, found, most), 0.0, -np.inf)
        with np.errstate(divide="ignore"):
            logs = np.log(found)
        return np.pad(logs, [(0, 0)] * len(self.shape) + [(0, most - len(self.states))])

    def _traced(self, value: Any, most: int) -> Any:
        import jax.numpy as jnp

        array = jnp.asarray(value)
        if array.shape == (*self.shape, len(self.states)) and array.shape != self.shape:
            padding = [(0, 0)] * len(self.shape) + [(0, most - len(self.states))]
            return jnp.pad(jnp.log(array.astype(float)), padding)
        self.verify_shape(array.shape)
        if jnp.issubdtype(array.dtype, jnp.floating):
            what = f"the evidence on `{self.name}` is traced and holds {array.dtype} numbers"
            raise WrongEvidence(f"{what}: give whole numbers, or likelihoods of its states")
        if array.dtype == bool:
            array = array.astype(int)
        # Traced likelihoods and data of the learners share this place.
        is_open, numbers = array == OPEN, array.astype(int) - self.lowest
        numbers = jnp.where(numbers >= len(self.states), -1, numbers)
        possible = is_open[..., None] | _is_state(jnp, numbers, most)
        return jnp.where(possible, 0.0, -jnp.inf)

    # ---- answers

    def values(self, positions: Any) -> Any:
        """Values of positions: numbers from the lowest on, truth values, positions of labels."""
        return positions == 1 if self.kind == "bool" else positions + self.lowest


def _is_state(xp: Any, positions: Any, most: int) -> Any:
    return xp.arange(most) == positions[..., None]


def _as_array(value: Any, rank: int) -> Array:
    """Numbers as an array of numbers; what else there is as objects, down to this many axes."""
    if _is_array(value):
        return np.asarray(value)
    if _is_numeric(value):
        try:
            return np.asarray(value)
        except ValueError:  # ragged: said below
            pass
    items, shape = [value], []
    for _ in range(rank):
        lengths = {len(item) if isinstance(item, list | tuple) else -1 for item in items}
        if len(lengths) != 1 or lengths == {-1}:
            break
        shape.append(lengths.pop())
        items = [each for item in items for each in item]
    found = np.empty(len(items), object)
    found[:] = items
    return found.reshape(shape) if shape else found.reshape(())


def _is_array(value: Any) -> bool:
    return is_jax_array(value) or hasattr(value, "__array__")


def _is_numeric(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_numeric, value))
    return isinstance(value, bool | int | float | np.generic)


def variable_of(node: Node, states: tuple[str, ...], shape: tuple[int, ...]) -> FiniteVariable:
    domain = node.type.domain
    kind = "bool" if isinstance(domain, Bool) else "label" if isinstance(domain, IndexOf) else "int"
    lowest = int(node.type.bounds[0]) if kind == "int" else 0
    return FiniteVariable(node.name, states, shape, lowest, kind)


def element_name(name: str) -> str:
    """`s[0,1]` and `s[ 0, 1 ]` are `s[0, 1]`."""
    if not name.endswith("]") or "[" not in name:
        return name
    own, _, inside = name[:-1].partition("[")
    return f"{own.strip()}[{', '.join(part.strip() for part in inside.split(','))}]"


class Variables:
    """The finite variables of a model or a network, in order; `elements` are the names of all their
    elements, one variable's after the other's.
    """

    def __init__(self, variables: Iterable[FiniteVariable], elements: Iterable[str]):
        self.by_name = {variable.name: variable for variable in variables}
        self.elements = tuple(elements)
        counts = [prod(variable.shape) for variable in self.by_name.values()]
        self.starts = dict(zip(self.by_name, accumulate(counts, initial=0), strict=False))

    @cached_property
    def _owners(self) -> dict[str, tuple[str, int]]:
        """Which variable an element belongs to, and its number among all."""
        owners = (name for name, own in self.by_name.items() for _ in range(prod(own.shape)))
        pairs = zip(self.elements, owners, strict=True)
        return {element: (owner, number) for number, (element, owner) in enumerate(pairs)}

    def of(self, name: str) -> tuple[FiniteVariable, Array]:
        """The variable of this name, or one element of one, and the numbers of what it has."""
        found = next((n for n in (name, element_name(name)) if n in self.by_name), None)
        if found is not None:
            variable, start = self.by_name[found], self.starts[found]
            numbers = np.arange(start, start + prod(variable.shape))
            return variable, numbers.reshape(variable.shape)
        owners = self._owners
        owner, number = (
            owners.get(name) or owners.get(element_name(name)) or self._by_position(name)
        )
        if not owner:
            hint = did_you_mean(name, [*self.by_name, *self.elements])
            raise WrongEvidence(f"there is no variable `{name}`{hint and f'; {hint}'}")
        return self.by_name[owner].replace(name=self.elements[number], shape=()), np.array(number)

    def _by_position(self, name: str) -> tuple[str, int]:
        """`z[3]` where the dim of `z` has labels; nothing if there is no such place."""
        owner, _, inside = element_name(name).removesuffix("]").partition("[")
        places = inside.split(", ")
        shape = self.by_name[owner].shape if owner in self.by_name else ()
        if len(places) != len(shape) or not all(map(PLACE.fullmatch, places)):
            return "", 0
        indices = tuple(map(int, places))
        if any(index >= size for index, size in zip(indices, shape, strict=True)):
            return "", 0
        return owner, self.starts[owner] + int(np.ravel_multi_index(indices, shape))

    def by_element(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Positions, sets of positions and likelihoods by element, for the NumPy engines."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            variable, numbers = self.of(name)
            read = variable.read(value)
            if read.shape == variable.shape:
                items = [None if p < 0 else p for p in read.reshape(-1).tolist()]
            else:
                items = list(map(_as_choice, read.reshape(-1, len(variable.states))))
            for number, item in zip(numbers.reshape(-1).tolist(), items, strict=True):
                if item is not None:
                    self._add(found, self.elements[number], item)
        return found

    def _add(self, found: dict[str, Any], element: str, item: Any) -> None:
        if element in found:
            raise WrongEvidence(f"there is evidence on `{element}` twice")
        found[element] = item

    def log_likelihood(self, given: Mapping[str, Any], most: int) -> Any:
        """Log-likelihoods [elements, most states], for the compiled engines."""
        import jax.numpy as jnp

        known: Any = np.zeros((len(self.elements), most))
        traced = []
        for name, value in given.items():
            variable, numbers = self.of(name)
            if is_traced(value):
                traced.append((numbers, variable.log_likelihood(value, most)))
            else:
                known[numbers] += variable.log_likelihood(value, most)
        found = jnp.asarray(known)
        for numbers, own in traced:
            found = found.at[numbers].add(own)
        return found


def _as_choice(row: Array) -> Any:
    """Weights of 0 and 1 alone are a set of states, or nothing known."""
    if np.all(row == 1):
        return None
    return set(np.flatnonzero(row).tolist()) if np.all((row == 0) | (row == 1)) else row
