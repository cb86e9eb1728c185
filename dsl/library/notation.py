"""The notation of the signature tables: `dot(a: real[N], b: real[N]) -> real`.

A parameter or result is a domain word, perhaps followed by axes. Axis names (`N`) stand for any
axis and are the same axis wherever they recur; `...` stands for any shape at all. A function whose
parameters and result are all scalars applies elementwise to arrays of one shape. `D: dim` takes the
name of a dim, `*D: dim` one or more; in the result these stand for their axes (`real[D]`,
`real[*D]`). `N+1` is an axis of that size, without a name. A parameter with `= value` may be left
out.
"""

import re
from functools import cache

from ..record import Record

DOMAIN_WORDS = {
    "real": "any real number",
    "positive": "a real number above 0",
    "nonnegative": "a real number, 0 or above",
    "unit": "a real number from 0 to 1",
    "int": "a whole number",
    "count": "a whole number, 0 or above",
    "bool": "true or false",
    "index": "a label or index of the named axis, as in index[N]",
    "num": "a number: the result is as whole and as bounded as the arguments",
    "item": "a value of any type, the same wherever the word recurs",
    "dim": "the name of a dim",
    "simplex": "non-negative numbers that sum to one along the last axis",
    "ordered": "numbers that increase along the last axis",
    "positive_ordered": "numbers above 0 that increase along the last axis",
    "unit_vector": "numbers whose squares sum to one along the last axis",
    "cholesky": "a lower triangular matrix with a positive diagonal",
    "corr_cholesky": "the Cholesky factor of a correlation matrix",
    "covariance": "a symmetric positive definite matrix",
    "correlation": "a covariance matrix with ones on its diagonal",
}


class TypeSpec(Record):
    domain: str
    axes: tuple[str, ...] = ()

    @property
    def any_shape(self) -> bool:
        return self.axes == ("...",)


class ParamSpec(Record):
    name: str
    type: TypeSpec
    optional: bool = False
    variadic: bool = False
    default: str = ""


class Signature(Record):
    name: str
    params: tuple[ParamSpec, ...]
    result: TypeSpec
    text: str

    @property
    def elementwise(self) -> bool:
        return not self.result.axes and all(
            not p.type.axes and p.type.domain != "dim" for p in self.params
        )


_SIGNATURE = re.compile(r"(\w+)\((.*)\) -> (.+)")
_PARAM = re.compile(r"(\*?)(\w+): ([^=]+?)(?: = (.+))?")
_TYPE = re.compile(r"(\w+)(?:\[(.+)\])?")
_COMMA_OUTSIDE_BRACKETS = re.compile(r", (?![^\[]*\])")


@cache
def parse_signature(text: str) -> Signature:
    name, params, result = _match(_SIGNATURE, text).groups()
    parts = _COMMA_OUTSIDE_BRACKETS.split(params) if params else []
    return Signature(name, tuple(map(_parse_param, parts)), _parse_type(result), text)


def _parse_param(text: str) -> ParamSpec:
    star, name, type_, default = _match(_PARAM, text).groups()
    return ParamSpec(name, _parse_type(type_), default is not None, bool(star), default or "")


def _parse_type(text: str) -> TypeSpec:
    domain, axes = _match(_TYPE, text).groups()
    if domain not in DOMAIN_WORDS:
        raise ValueError(f"unknown domain word {domain!r} in a signature")
    return TypeSpec(domain, tuple(axes.split(", ")) if axes else ())


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not in the notation of signatures")
    return found
