"""The notation of the signature tables: `dot(a: real[N], b: real[N]) -> real`.

A parameter or result is a domain word, perhaps followed by axes. Axis names (`N`) stand for any
axis and are the same axis wherever they recur; `...` stands for any shape at all. A function whose
parameters and result are all scalars applies elementwise to arrays of one shape. `D: dim` takes the
name of a dim, `*D: dim` one or more; in the result these stand for their axes (`real[D]`,
`real[*D]`). `N+1` is an axis of that size, without a name. A parameter with `= value` may be left
out. `real(lower=0, below=1)` is a number from 0 to 1 that is not 1: `lower` and `upper` are in a
domain, `above` and `below` are not.
"""

import re
from functools import cache
from math import inf, isfinite

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
    "invertible": "a matrix whose determinant is not 0",
}


class Ends(Record):
    """Where a domain of numbers ends; what is excluded is not in it."""

    low: float = -inf
    high: float = inf
    excludes_low: bool = False
    excludes_high: bool = False

    def misses(self, low: float, high: float) -> bool:
        """Whether nothing between these numbers is in the domain."""
        is_below = high < self.low or (self.excludes_low and high <= self.low)
        return is_below or low > self.high or (self.excludes_high and low >= self.high)

    def hold(self, low: float, high: float) -> bool:
        """Whether all between these numbers is in the domain, but perhaps for its ends."""
        return low >= self.low and high <= self.high

    def __str__(self) -> str:
        low, high = f"{self.low:g}", f"{self.high:g}"
        if isfinite(self.low) and isfinite(self.high) and not self.excludes_high:
            return f"above {low} and up to {high}" if self.excludes_low else f"from {low} to {high}"
        parts = []
        if isfinite(self.low):
            parts.append(f"above {low}" if self.excludes_low else f"{low} or above")
        if isfinite(self.high):
            parts.append(f"below {high}" if self.excludes_high else f"{high} or below")
        return " and ".join(parts)


ENDS = {
    "positive": Ends(0, inf, excludes_low=True),
    "nonnegative": Ends(0, inf),
    "unit": Ends(0, 1),
    "count": Ends(0, inf),
}


class TypeSpec(Record):
    domain: str
    axes: tuple[str, ...] = ()
    own_ends: Ends | None = None

    @property
    def any_shape(self) -> bool:
        return self.axes == ("...",)

    @property
    def ends(self) -> Ends | None:
        """Those of its numbers, where they have any."""
        return self.own_ends or ENDS.get(self.domain)

    @property
    def words(self) -> str:
        if self.own_ends is None:
            return DOMAIN_WORDS[self.domain]
        ends = str(self.own_ends)
        return f"a real number{' ' if ends.startswith(('from', 'above')) else ', '}{ends}"


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
_PARAM = re.compile(r"(\*?)(\w+): (.+?)(?: = (.+))?")
_TYPE = re.compile(r"(\w+)(?:\((.+?)\))?(?:\[(.+)\])?")
_END = re.compile(r"(lower|upper|above|below)=(-?[\d.]+)")
_COMMA_OUTSIDE_BRACKETS = re.compile(r", (?![^\[]*\]|[^(]*\))")


@cache
def parse_signature(text: str) -> Signature:
    name, params, result = _match(_SIGNATURE, text).groups()
    parts = _COMMA_OUTSIDE_BRACKETS.split(params) if params else []
    return Signature(name, tuple(map(_parse_param, parts)), _parse_type(result), text)


def _parse_param(text: str) -> ParamSpec:
    star, name, type_, default = _match(_PARAM, text).groups()
    return ParamSpec(name, _parse_type(type_), default is not None, bool(star), default or "")


def _parse_type(text: str) -> TypeSpec:
    domain, ends, axes = _match(_TYPE, text).groups()
    if domain not in DOMAIN_WORDS or (ends and domain != "real"):
        raise ValueError(f"unknown domain {text!r} in a signature")
    return TypeSpec(domain, tuple(axes.split(", ")) if axes else (), _parse_ends(ends))


def _parse_ends(text: str | None) -> Ends | None:
    if not text:
        return None
    found = [_match(_END, part) for part in text.split(", ")]
    numbers = {match[1]: float(match[2]) for match in found}
    low = numbers.get("above", numbers.get("lower", -inf))
    high = numbers.get("below", numbers.get("upper", inf))
    return Ends(low, high, "above" in numbers, "below" in numbers)


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not in the notation of signatures")
    return found
