"""Frozen records without the start-up cost of dataclasses.

A dataclass compiles its methods when it is defined: the 60 records of the language cost 40 ms of
every `dpc check`. A Record has the same reading for people and type checkers, and defines nothing
until it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of a field that is a mapping."""


@dataclass_transform(frozen_default=True)
class Record:
    """Fields are the annotated names, in order; a class attribute is a field's default.

    Records of one class are equal when their fields are, leaving out those named in `not_compared`.
    A tree of records names the types of its leaves in `leaf_types`; `branches` are then the fields
    that can hold other records.
    """

    fields: ClassVar[tuple[str, ...]] = ()
    branches: ClassVar[tuple[str, ...]] = ()
    leaf_types: ClassVar[frozenset[str]] = frozenset()
    defaults: ClassVar[dict[str, Any]] = {}
    not_compared: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        own = tuple(
            name for name, type_ in cls.__annotations__.items() if "ClassVar" not in str(type_)
        )
        cls.fields = (*cls.fields, *own)
        inner = (name for name in own if str(cls.__annotations__[name]) not in cls.leaf_types)
        cls.branches = (*cls.branches, *inner)
        cls.defaults = cls.defaults | {
            name: cls.__dict__[name] for name in own if name in cls.__dict__
        }

    def __init__(self, *values: Any, **named: Any) -> None:
        content, fields = self.__dict__, self.fields
        if len(values) == len(fields) and not named:
            content.update(zip(fields, values))  # noqa: B905  (the lengths were just compared)
            return
        content.update(self.defaults)
        content.update(zip(fields, values, strict=False))
        content.update(named)
        if len(content) != len(fields) or len(values) > len(fields):
            raise TypeError(
                f"{type(self).__name__} takes {fields}, not {len(values)} values and {tuple(named)}"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: use replace({name}=...)")

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        content = self.__dict__
        if "hash" not in content:  # of a tree it is asked at every level
            content["hash"] = hash((type(self), self._key()))
        found: int = content["hash"]
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Without the hash, which another process computes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "hash"}

    def __repr__(self) -> str:
        shown = (
            f"{name}={getattr(self, name)!r}"
            for name in self.fields
            if name not in self.not_compared
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def _key(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name in self.fields if name not in self.not_compared)

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed; what was cached on the original is not copied."""
        content = self.__dict__
        return type(self)(
            *[changes.pop(name) if name in changes else content[name] for name in self.fields],
            **changes,
        )
