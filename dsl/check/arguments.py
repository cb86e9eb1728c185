"""Whether the arguments of one call lie in the domains of its row: of a distribution or a function.

What is surely outside is a mistake; what may be outside is warned of, with what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf, isfinite, isinf

from ..graph import core as c
from ..graph.constraints import Constraints
from ..graph.facts import TINY, Facts, Numbers
from ..graph.known import NOTHING_KNOWN, Known
from ..graph.ranges import Interval, value_at
from ..graph.types import CONSTRAINT_RANK, Real
from ..graph.zeros import Zeros
from ..library.derived import WRITTEN_ENDS
from ..library.distributions import distributions_by_name
from ..library.functions import OPERATORS, functions_by_text
from ..library.notation import Ends, ParamSpec
from ..library.rows import Distribution, FunctionRow
from ..record import Record
from ..source import Span

FREE = ("logits", "log_rate", "log_mean")
"""Names of arguments that take any number in the place of one with a domain."""

ARRAYS = CONSTRAINT_RANK.keys() | {"invertible"}

POWERS = frozenset({"power", "pow"})

LARGEST_WHOLE = 2**63 - 1


class ArgumentFault(Record):
    """A diagnostic without the text that it is about."""

    code: str
    message: str
    span: Span
    help: str

    @property
    def is_error(self) -> bool:
        return self.code.startswith("E")


class CheckedCall(Record):
    """A distribution with its arguments, or a function or an operator with them."""

    core: c.Law | c.Apply
    row: Distribution | FunctionRow
    known: Known = NOTHING_KNOWN

    @property
    def name(self) -> str:
        """As messages have it."""
        if isinstance(self.row, Distribution):
            return self.row.name
        return {"divide": "`/`", "power": "`^`"}.get(self.row.name, f"`{self.row.name}`")

    @property
    def wrong(self) -> str:
        """The code of an argument that is surely outside."""
        return "E0403" if isinstance(self.row, Distribution) else "E0219"


def call_of(core: c.Core | c.Law, known: Known = NOTHING_KNOWN) -> CheckedCall | None:
    """The call that this form is, if it has a row."""
    if isinstance(core, c.Law):
        return CheckedCall(core, core.facts, known)
    if not isinstance(core, c.Apply):
        return None
    row = functions_by_text().get(core.row) or OPERATORS.get(core.function)
    return CheckedCall(core, row, known) if row else None


class Arguments:
    """Of the calls of one program; `kinds` are those of its variables: `draw`, `param`, `let`."""

    def __init__(self, facts: Facts, zeros: Zeros, kinds: Mapping[str, str]):
        self.facts = facts
        self.constraints = Constraints(facts)
        self.zeros = zeros
        self.kinds = kinds

    def findings(self, call: CheckedCall, text: Callable[[Span], str]) -> Iterator[ArgumentFault]:
        """`text` is what stands at a place."""
        params = {param.name: param for param in call.row.signature.params}
        for name, value in call.core.arguments:
            param = params.get(name)
            if param is None:  # an end of a declared range
                continue
            word = param.type.domain
            if param.type.ends:
                yield from self._of_number(call, param, param.type.ends, value)
            elif word in ARRAYS and not self.constraints.keeps(value, word):
                yield from self._of_array(call, param, value, text)
        if call.row.ascending:
            yield from self._of_order(call, text)
        if isinstance(call.core, c.Law) and call.core.is_truncated:
            yield from self._of_cut(call, call.core)
        yield from self._of_lengths(call)
        if isinstance(call.row, Distribution):
            yield from self._of_degrees(call)
        else:
            yield from self._of_function(call)

    def _range(self, call: CheckedCall, core: c.Core) -> Interval:
        return self.facts.range_of(core, call.known)

    # ---- numbers

    def _of_number(
        self, call: CheckedCall, param: ParamSpec, ends: Ends, value: c.Core
    ) -> Iterator[ArgumentFault]:
        if isinstance(value, c.Stack):
            for item in value.items:
                yield from self._of_number(call, param, ends, item)
            return
        low, high = self._range(call, value)
        wanted = f"`{param.name}` of {call.name} is {param.type.words}"
        if ends.misses(low, high):
            message = f"{wanted}, but this is {shown(low, high)}"
            yield ArgumentFault(call.wrong, message, value.span, self._mend(call, param, value))
        elif not ends.hold(low, high):
            message = f"{wanted}, but this can be {shown(low, high)}"
            yield ArgumentFault("W0401", message, value.span, self._mend(call, param, value))
        else:
            yield from self._of_ends(call, wanted, ends, value)

    def _of_ends(
        self, call: CheckedCall, wanted: str, ends: Ends, value: c.Core
    ) -> Iterator[ArgumentFault]:
        """Where the range is right, but an end that is not in the domain is hit."""
        if ends.excludes_low and self.zeros.may_be(value, ends.low, call.known):
            if not (ends.low == 0 and call.known.keeps_from_zero(value)):
                help = "add something positive, as in `... + 0.001`, or write a branch"
                help += f" for {ends.low:g}"
                message = f"{wanted}, but this can be exactly {ends.low:g}"
                yield ArgumentFault("W0401", message, value.span, help)
        elif ends.excludes_high and self.zeros.may_be(value, ends.high, call.known):
            help = f"keep it below, as in `min(..., 0.999)`, or write a branch for {ends.high:g}"
            message = f"{wanted}, but this can be exactly {ends.high:g}"
            yield ArgumentFault("W0401", message, value.span, help)

    def _mend(self, call: CheckedCall, param: ParamSpec, value: c.Core) -> str:
        ends = param.type.ends
        assert ends is not None
        if isinstance(value, c.Const):
            return f"write {param.type.words}"
        mend = self._declaration(value, ends) or _around(ends, value.type.whole)
        free = self._free_form(call, param)
        return f"write `{call.row.name}({free}=...)`, or {mend}" if free else mend

    def _declaration(self, value: c.Core, ends: Ends) -> str:
        """How to declare a name, where a declaration is what keeps it to its range."""
        ref = value.base if isinstance(value, c.At) else value
        if not isinstance(ref, c.Ref):
            return ""
        kind = self.kinds.get(ref.name, "let")
        word = "real" if isinstance(ref.type.domain, Real) else "int"
        bounds = {"lower": ends.low, "upper": ends.high}
        parts = [f"{end}={number:g}" for end, number in bounds.items() if isfinite(number)]
        mend = f"declare it `: {word}({', '.join(parts)})`"
        if kind == "draw":
            mend += ", which cuts a draw to it, or draw it from a distribution on that range"
        return mend if kind != "let" else f"{mend}, which asks for a proof, or {_around(ends)}"

    def _free_form(self, call: CheckedCall, param: ParamSpec) -> str:
        """The argument of another row that takes any number, as `logits` for `p`."""
        own = {p.name for p in call.row.signature.params} - {param.name}
        for row in distributions_by_name().get(call.row.name, ()):
            names = {p.name for p in row.signature.params}
            found = next((name for name in FREE if name in names), "")
            if found and names - {found} == own:
                return found
        return ""

    # ---- arrays

    def _of_array(
        self, call: CheckedCall, param: ParamSpec, value: c.Core, text: Callable[[Span], str]
    ) -> Iterator[ArgumentFault]:
        """Numbers that are written out are right or wrong; of others, nothing may say it.

        A variable that a distribution takes is declared as what it is.
        """
        word = param.type.domain
        wanted = f"`{param.name}` of {call.name} is {_article(word)}"
        numbers = self.facts.numbers(value)
        if numbers is not None:
            from .constants import keeps  # NumPy is loaded only where numbers are written out

            if not keeps(numbers, word):
                help = _WANTED.get(word, "change it")
                yield ArgumentFault(call.wrong, f"{wanted}, but this is not", value.span, help)
            return
        if word == "invertible":
            return
        if isinstance(value, c.Lookup):
            for entry in value.entries:
                if not self.constraints.keeps(entry, word):
                    yield from self._of_array(call, param, entry, text)
            return
        # Probabilities by their labels, and those of a row of a table, have no other form.
        is_listed = value.span == call.core.span or isinstance(value, c.Stack)
        free = "" if is_listed else self._free_form(call, param)
        other = f"write `{call.row.name}({free}={text(value.span)})`, or " if free else ""
        ref = value.base if isinstance(value, c.At) else value
        is_drawn = isinstance(call.row, Distribution)
        if is_drawn and isinstance(ref, c.Ref) and ref.name not in self.facts.pieces:
            declared = f"{word}[{', '.join(str(axis) for axis in ref.type.shape)}]"
            message = f"{wanted}, but `{ref.name}` is {ref.type}"
            help = f"{other}declare it `{ref.name} : {declared}`"
            yield ArgumentFault("E0403", message, value.span, help)
            return
        help = f"{other}{_MENDS.get(word, 'declare it so')}"
        if is_listed and word == "simplex":
            help = "write what sums to 1, as `p` and `1 - p` with `p : real(lower=0, upper=1)`"
        yield ArgumentFault("W0401", f"{wanted}, and nothing says that this is", value.span, help)

    # ---- two arguments, and sizes

    def _of_order(self, call: CheckedCall, text: Callable[[Span], str]) -> Iterator[ArgumentFault]:
        """Ends in the wrong order leave no place for a draw, or for a value."""
        first, second = call.row.ascending
        given = dict(call.core.arguments)
        low, high = given[first], given[second]
        least, most = self.facts.difference(high, low, call.known)
        # A single number is all that is left where both are equal: whole draws can be that.
        may_be_equal = isinstance(call.row, FunctionRow) or call.core.type.whole
        is_empty = most < 0 or (most == 0 and not may_be_equal)
        if least >= 0 and not is_empty:
            return
        relation = "is not above" if may_be_equal else "is below"
        first, second = (WRITTEN_ENDS.get(name, name) for name in (first, second))
        message = f"`{first}` of {call.name} {relation} `{second}`, but here "
        if is_empty:
            reason = self._difference(call, (low, high), (first, second), (least, most))
            help = "exchange them, or change one"
            yield ArgumentFault(call.wrong, f"{message}{reason}", call.core.span, help)
            return
        if isinstance(call.row, FunctionRow) and call.row.lenient:
            return
        a, b = text(low.span), text(high.span)
        help = f"write `{second}` as `{a} + ...` with something positive, as `exp(...)`"
        help += f", or declare bounds that keep `{a}` below `{b}`"
        yield ArgumentFault("W0401", f"{message}nothing keeps them in order", call.core.span, help)

    def _of_cut(self, call: CheckedCall, law: c.Law) -> Iterator[ArgumentFault]:
        """An end that may lie beyond all draws leaves none of them."""
        given = dict(law.arguments)
        support = law.facts.signature.result.ends
        for end, own, is_low in (("at_least", "upper", True), ("at_most", "lower", False)):
            if end not in given:
                continue
            place = given[end]
            if own in given:
                low, high = (place, given[own]) if is_low else (given[own], place)
                is_inside = self.facts.difference(high, low, call.known)[0] >= 0
            else:
                first, last = self._range(call, place)
                least, most = (support.low, support.high) if support else (-inf, inf)
                is_inside = last <= most if is_low else first >= least
            if not is_inside:
                where = "above" if is_low else "below"
                word = WRITTEN_ENDS[end]
                message = f"`{word}` may lie {where} all draws of {call.name}, which leaves none"
                help = "declare bounds that keep it within, or write `min(...)`, `max(...)`"
                yield ArgumentFault("W0401", message, place.span, help)

    def _difference(
        self,
        call: CheckedCall,
        given: tuple[c.Core, c.Core],
        names: tuple[str, str],
        ends: Interval,
    ) -> str:
        """Why two arguments are in the wrong order: what they are, or how they differ."""
        own = self._range(call, given[0]), self._range(call, given[1])
        if all(low == high for low, high in own):
            return f"it is {shown(*own[0])} and `{names[1]}` is {shown(*own[1])}"
        least, most = ends
        is_same = least == most == 0
        bound = f"{most:g}" if least == most else f"at most {most:g}"
        return "they are the same" if is_same else f"`{names[1]}` - `{names[0]}` is {bound}"

    def _of_degrees(self, call: CheckedCall) -> Iterator[ArgumentFault]:
        """Matrices of K rows need more than K - 1 degrees of freedom."""
        assert isinstance(call.row, Distribution)
        if not call.row.degrees:
            return
        df = dict(call.core.arguments)[call.row.degrees]
        least = (call.core.type.shape[-1].size or 1) - 1
        low, high = self._range(call, df)
        if low < least or high == least:
            code = "E0403" if high <= least else "W0401"
            verb = "is" if high <= least else "can be"
            wanted = f"`{call.row.degrees}` of {call.name} is above {least} here, "
            message = f"{wanted}its number of rows less one, but this {verb} {shown(low, high)}"
            help = f"add {least} to what is above 0, or declare it with `lower={least}`"
            yield ArgumentFault(code, message, df.span, help)

    def _of_lengths(self, call: CheckedCall) -> Iterator[ArgumentFault]:
        """Axes, or dims that are given, of a size that the row does not take."""
        for axis, (least, most) in call.row.lengths.items():
            for name, value, size in _sizes(call, axis):
                if size is None or least <= size <= most:
                    continue
                wanted = f"from {least:g} to {most:g}" if isfinite(most) else f"{least:g} or more"
                message = f"`{name}` of {call.name} has {wanted} entries, but here {size}"
                help = "take a dim of another size, or another distribution"
                yield ArgumentFault(call.wrong, message, value.span, help)

    # ---- functions alone

    def _of_function(self, call: CheckedCall) -> Iterator[ArgumentFault]:
        assert isinstance(call.core, c.Apply)
        assert isinstance(call.row, FunctionRow)
        found: list[ArgumentFault] = []
        if call.row.divisor:
            found += self._of_divisor(call, dict(call.core.arguments)[call.row.divisor])
        if call.row.name in POWERS:
            (_, base), (_, exponent) = call.core.arguments
            found += self._of_power(call, base, exponent)
        yield from found or self._of_value(call)

    def _of_divisor(self, call: CheckedCall, value: c.Core) -> Iterator[ArgumentFault]:
        """A divisor is never 0: not where it is counted, cut off or chosen to be."""
        what = "this divides by 0" if call.row.name == "divide" else f"{call.name} divides by 0"
        if self._is_nothing(call, value):
            yield ArgumentFault(call.wrong, what, value.span, "divide by something else")
        elif self.zeros.may_be_zero(value, call.known):
            what = f"{call.name} divides by this, which can be exactly 0"
            help = "write a branch, as in `if x > 0 then 1 / x else 0`, or `max(x, 0.001)`"
            yield ArgumentFault("W0401", what, value.span, help)

    def _is_nothing(self, call: CheckedCall, value: c.Core) -> bool:
        """Whether it is surely 0, also where both sides of a difference are the same."""
        if isinstance(value, c.Apply) and value.function == "subtract":
            (_, left), (_, right) = value.arguments
            return self.facts.difference(left, right, call.known) == (0.0, 0.0)
        return self._range(call, value) == (0.0, 0.0)

    def _of_power(
        self, call: CheckedCall, base: c.Core, exponent: c.Core
    ) -> Iterator[ArgumentFault]:
        (low, high), (least, most) = (self._range(call, x) for x in (base, exponent))
        is_whole = exponent.type.whole or (least == most and least % 1 == 0)
        if high < 0 and least == most and not is_whole:
            message = f"a number below 0 has no power {least:g}"
            help = "for a root of odd order write `sign(x) * abs(x)^(1 / 3)`"
            yield ArgumentFault(call.wrong, message, base.span, help)
        elif low < 0 and not is_whole:
            what = "the base of a power is 0 or above where the exponent is not whole, but {}"
            can = f"this can be {shown(low, high)}"
            help = "write `abs(...)` or `exp(...)`, a branch, as in `if x > 0 then ...`"
            help += ", or a whole exponent"
            yield ArgumentFault("W0401", what.format(can), base.span, help)
        elif (low, high) == (0.0, 0.0) and most < 0:
            message = f"0 has no power {shown(least, most)}: this divides by 0"
            yield ArgumentFault(call.wrong, message, base.span, "take another base or exponent")
        elif least < 0 and self.zeros.may_be_zero(base, call.known):
            message = "a power below 0 divides by its base, which can be exactly 0 here"
            help = "write a branch, as in `if x > 0 then x^(-1) else 0`"
            yield ArgumentFault("W0401", message, base.span, help)

    def _of_value(self, call: CheckedCall) -> Iterator[ArgumentFault]:
        """A constant that no number of the computer is."""
        values = [value for _, value in call.core.arguments if not isinstance(value, c.DimRef)]
        found = _greatest(call.row.name, [self._constant(call, value) for value in values])
        if isinf(found):
            help = "numbers reach 1.8e308; work with logarithms instead"
            yield ArgumentFault("E0218", "this number is too large", call.core.span, help)
        elif call.core.type.whole and found > LARGEST_WHOLE:
            help = "whole numbers reach 9.2e18; write one of them as a real number, as in `1e22`"
            message = "this is too large for a whole number"
            yield ArgumentFault("E0218", message, call.core.span, help)

    def _constant(self, call: CheckedCall, value: c.Core) -> Numbers | None:
        low, high = self._range(call, value)
        return float(low) if low == high else self.facts.numbers(value)


def _greatest(function: str, values: list[Numbers | None]) -> float:
    """The greatest magnitude of a function of constants, element by element; 0 if unknown."""
    if any(value is None for value in values):
        return 0.0
    lengths = {len(value) for value in values if isinstance(value, list)}
    if not lengths:
        points = [value for value in values if isinstance(value, float)]
        found = value_at(function, points) if all(map(isfinite, points)) else None
        return abs(found or 0.0)
    each = range(min(lengths))
    rows = ([v[k] if isinstance(v, list) else v for v in values] for k in each)
    return max((_greatest(function, row) for row in rows), default=0.0)


def _sizes(call: CheckedCall, axis: str) -> Iterator[tuple[str, c.Core, int | None]]:
    """The arguments that have an axis, or are it, with its size."""
    specs = {param.name: param.type for param in call.row.signature.params}
    for name, value in call.core.arguments:
        if isinstance(value, c.DimRef):
            if name == axis:
                yield name, value, value.dim.size
        elif name in specs and axis in specs[name].axes:
            yield name, value, value.type.shape[specs[name].axes.index(axis)].size


def _around(ends: Ends, whole: bool = False) -> str:
    """What maps any number into a domain."""
    if whole and isfinite(ends.low):
        return f"write `max(..., {ends.low:g})` around it"
    if isfinite(ends.low) and isfinite(ends.high):
        if (ends.low, ends.high) == (0, 1):
            return "write `logistic(...)` around it"
        is_open = ends.excludes_low and ends.excludes_high
        clipped = f"clip(..., {ends.low:g}, {ends.high:g})"
        mapped = "tanh(...)" if is_open else clipped
        return f"write `{mapped}` around it, or a branch: `if abs(x) < 1 then ...`"
    if ends.low == 0:
        return "write `exp(...)` or `abs(...)` around it, or a branch: `if x > 0 then ...`"
    return f"write `max(..., {ends.low:g})` around it, or a branch: `if x > {ends.low:g} then ...`"


_WANTED = {
    "simplex": "its numbers are 0 or above, and sum to 1",
    "ordered": "its numbers increase",
    "positive_ordered": "its numbers increase",
    "covariance": "it is symmetric, and its eigenvalues are above 0",
    "correlation": "it is symmetric, and its eigenvalues are above 0",
    "cholesky": "it is 0 above the diagonal, and above 0 on it",
    "invertible": "its determinant is 0: change it",
}
_MENDS = {
    "simplex": "divide it by its sum, or write `softargmax(...)`",
    "covariance": "write it as a sum of covariances, or declare it so",
    "cholesky": "write `cholesky(...)` of a covariance matrix",
    "ordered": "write `cumsum(...)` of positive steps, or declare it so",
}


def _article(word: str) -> str:
    return {
        "simplex": "a `simplex`",
        "ordered": "`ordered`",
        "positive_ordered": "`ordered`",
        "invertible": "an `invertible` matrix",
    }.get(word, f"a `{word}` matrix")


def shown(low: float, high: float) -> str:
    """A range in words; the least number above another is shown as that."""
    low, high = (0.0 if abs(end) <= TINY else end for end in (low, high))
    if low == high:
        return f"{low:g}"
    if low == -inf and high == inf:
        return "any number"
    if low == -inf:
        return f"any number up to {high:g}"
    return f"any number from {low:g} up" if high == inf else f"any number from {low:g} to {high:g}"
