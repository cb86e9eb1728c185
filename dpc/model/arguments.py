"""The arguments of public methods, read in one place by what their signatures say of them.

A kind that is wrong is refused in words that name the argument. What values mean, the shapes and
ranges of arrays, is for `values` to read.
"""

from __future__ import annotations

import inspect
import os
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from ..exits import UsageError, verify_seed
from .traced import is_jax_array, is_traced

Reader = Callable[[str, Any], Any]
Kind = TypeVar("Kind", bound=type)
MOST_SHOWN = 60

LEAST = {"n": 1, "k": 1, "kbest": 1, "samples": 1, "order": 1, "draws": 1, "chains": 1}
"""The least that these whole numbers may be; others have bounds where they are used."""


def reads_arguments(model: Kind) -> Kind:
    """The class with arguments of its public methods read before they are called."""
    for name, method in list(vars(model).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(model, name, _reading(method))
    return model


def _reading(method: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(method)
    readers = {own.name: reader_of(own) for own in signature.parameters.values()}
    places = [
        own.name
        for own in signature.parameters.values()
        if own.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]

    @wraps(method)
    def read(*arguments: Any, **named: Any) -> Any:
        known = list(arguments)
        for place, name in enumerate(places[: len(arguments)]):
            known[place] = readers[name](name, arguments[place])
        for name, value in named.items():
            named[name] = readers.get(name, _anything)(name, value)
        return method(*known, **named)

    return read


def reader_of(parameter: inspect.Parameter) -> Reader:
    """By the annotation: one of several kinds, tried in turn."""
    if parameter.name == "key":
        return _optional(_key) if parameter.default is None else _key
    annotation = str(parameter.annotation)
    if annotation.startswith("Literal["):
        return _one_of(literal_eval(f"({annotation[8:-1]},)"))
    kinds = annotation.split(" | ")
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL or not READERS.keys() >= {*kinds}:
        return _anything
    readers = [READERS[kind][0] for kind in kinds if kind != "None"]
    words = " or ".join(READERS[kind][1] for kind in kinds if kind != "None")

    def read(name: str, value: Any) -> Any:
        if value is None and "None" in kinds:
            return None
        for reader in readers:
            try:
                return reader(name, value)
            except _WrongKind:
                continue
        raise refuse(name, words, value)

    return read


class _WrongKind(Exception):
    """The next kind is tried."""


def refuse(name: str, wanted: str, value: Any) -> UsageError:
    if is_traced(value):
        return UsageError(f"`{name}=` takes {wanted} that is known outside of jax.jit")
    shown = repr(value)
    shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."
    return UsageError(f"`{name}=` takes {wanted}, not {shown}")


def _optional(reader: Reader) -> Reader:
    return lambda name, value: None if value is None else reader(name, value)


def _anything(name: str, value: Any) -> Any:
    return value


def _item(value: Any) -> Any:
    """The Python number of a scalar of NumPy or JAX."""
    is_scalar = hasattr(value, "dtype") and getattr(value, "ndim", None) == 0
    return value.item() if is_scalar and not is_traced(value) else value


def _whole(name: str, value: Any) -> int:
    value = _item(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _WrongKind
    if name == "seed":
        return verify_seed(value)
    if value < LEAST.get(name, value):
        raise refuse(name, f"a whole number from {LEAST[name]} up", value)
    return value


def _number(name: str, value: Any) -> float:
    value = _item(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _WrongKind
    if not abs(value) < float("inf"):
        raise refuse(name, "a finite number", value)
    return value


def _flag(name: str, value: Any) -> bool:
    value = _item(value)
    if not isinstance(value, bool):
        raise _WrongKind
    return value


def _text(name: str, value: Any) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise _WrongKind
    return value


def _one_of(choices: tuple[str, ...]) -> Reader:
    def read(name: str, value: Any) -> Any:
        if not isinstance(value, str) or value not in choices:
            raise refuse(name, f"one of {', '.join(choices)}", value)
        return value

    return read


def _texts(name: str, value: Any) -> Any:
    is_several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    if not is_several or is_jax_array(value):
        raise _WrongKind
    items = list(value)
    if not all(isinstance(item, str) for item in items):
        raise _WrongKind
    return items


def _by_name(name: str, value: Any) -> Any:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _WrongKind
    for key in value:
        if not isinstance(key, str):
            raise UsageError(f"`{name}=` has the name {key!r}: names are text")
    return value


def _key(name: str, value: Any) -> Any:
    """A key of JAX, or a seed, which makes one."""
    import jax

    if isinstance(value, int) and not isinstance(value, bool):
        return jax.random.key(verify_seed(value))
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        is_typed = jax.numpy.issubdtype(dtype, jax.dtypes.prng_key)
        if is_typed and value.ndim == 0:
            return value
        if dtype == "uint32" and value.ndim == 1:
            return value
        if is_typed:
            raise UsageError(f"`{name}=` takes one key, not {value.shape}: use jax.vmap for many")
    raise refuse(name, "a key, such as jax.random.key(0), or a whole number for its seed", value)


READERS: dict[str, tuple[Reader, str]] = {
    "int": (_whole, "a whole number"),
    "float": (_number, "a number"),
    "bool": (_flag, "True or False"),
    "str": (_text, "text"),
    "Sequence[str]": (_texts, "several texts"),
    "Collection[str]": (_texts, "several texts"),
    "Given": (_by_name, "a dictionary by name"),
    "Values": (_by_name, "a dictionary by name"),
    "Mapping[str, Any]": (_by_name, "a dictionary by name"),
    "Mapping[str, int]": (_by_name, "a dictionary by name"),
    "None": (_anything, "nothing"),
}
