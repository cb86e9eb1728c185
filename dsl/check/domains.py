"""Arguments of distributions that leave their domain, or may; declared ranges of values."""

from __future__ import annotations

from math import inf

from ..diagnostics import Diagnostic
from ..graph import core as c
from ..graph.facts import Facts
from ..graph.ranges import Interval
from ..graph.typed import Definition, Typed
from ..graph.types import CONSTRAINT_RANK, Int, Real
from ..graph.zeros import Zeros
from ..library.distributions import distributions_by_name
from ..library.notation import DOMAIN_WORDS, ParamSpec
from ..source import Source, Span

ALLOWED: dict[str, Interval] = {
    "positive": (0.0, inf),
    "nonnegative": (0.0, inf),
    "unit": (0.0, 1.0),
    "count": (0.0, inf),
}
FREE = ("logits", "log_rate", "log_mean")
"""Names of arguments that take any number in the place of one with a domain."""


def report_domains(typed: Typed, report: list[Diagnostic]) -> None:
    facts = Facts([*typed.definitions, *typed.guide], typed.functions)
    drawn = [d.name for d in (*typed.definitions, *typed.guide) if d.kind not in ("let", "factor")]
    domains = _Domains(facts, Zeros(facts, drawn), report)
    for definition in (*typed.definitions, *typed.guide):
        domains.source = definition.source
        for piece in definition.pieces:
            for core in c.walk(piece.body):
                if isinstance(core, c.Law):
                    domains.of_law(core)
        domains.of_value(definition)


class _Domains:
    def __init__(self, facts: Facts, zeros: Zeros, report: list[Diagnostic]):
        self.facts = facts
        self.zeros = zeros
        self.report = report
        self.source = Source("", "")

    def say(self, code: str, message: str, span: Span, help: str) -> None:
        self.report.append(Diagnostic(code, message, self.source, span, help=help))

    def of_law(self, law: c.Law) -> None:
        params = {param.name: param for param in law.facts.signature.params}
        for name, value in law.arguments:
            word = params[name].type.domain
            if word in ALLOWED:
                self.of_number(law, params[name], value)
            elif word in CONSTRAINT_RANK and not self.facts.keeps(value, word):
                self.of_array(law, params[name], value)
        if law.facts.ascending:
            self.of_order(law)
        if law.facts.degrees:
            self.of_degrees(law)

    def of_degrees(self, law: c.Law) -> None:
        """Matrices of K rows need more than K - 1 degrees of freedom."""
        (df,) = law.given((law.facts.degrees,))
        least = (law.type.shape[-1].size or 1) - 1
        low, high = self.facts.range_of(df)
        if low < least or high == least:
            code = "E0403" if high <= least else "W0401"
            verb = "is" if high <= least else "can be"
            wanted = f"`{law.facts.degrees}` of {law.name} is above {least} here, "
            message = f"{wanted}its number of rows less one, but this {verb} {_shown(low, high)}"
            help = f"add {least} to what is above 0, or declare it with `lower={least}`"
            self.say(code, message, df.span, help)

    def of_order(self, law: c.Law) -> None:
        """Ends in the wrong order leave no place for a draw."""
        low, high = law.given(law.facts.ascending)
        first, second = law.facts.ascending
        least, most = self.facts.difference(high, low)
        # A single number is all that is left where both are equal: whole draws can be that.
        is_empty = most < 0 or (most == 0 and not law.type.whole)
        if least >= 0 and not is_empty:
            return
        span = law.span
        relation = "is not above" if law.type.whole else "is below"
        message = f"`{first}` of {law.name} {relation} `{second}`, but here "
        if is_empty:
            message += f"it is {_shown(*self.facts.range_of(low))}"
            message += f" and `{second}` is {_shown(*self.facts.range_of(high))}"
            self.say("E0403", message, span, "exchange them, or change one")
            return
        a, b = (self.source.text[core.span.start : core.span.end] for core in (low, high))
        help = f"write `{second}` as `{a} + ...` with something positive, as `exp(...)`"
        help += f", or declare bounds that keep `{a}` below `{b}`"
        self.say("W0401", f"{message}nothing keeps them in order", span, help)

    def of_number(self, law: c.Law, param: ParamSpec, value: c.Core) -> None:
        word = param.type.domain
        (low, high), (least, most) = self.facts.range_of(value), ALLOWED[word]
        domain = DOMAIN_WORDS[word]
        if isinstance(value, c.Stack):
            for item in value.items:
                self.of_number(law, param, item)
            return
        if low >= least and high <= most and not (word == "positive" and high <= 0):
            self.of_holes(law, param, value)
            return
        if high < least or low > most or (word == "positive" and high <= 0):
            message = f"`{param.name}` of {law.name} is {domain}, but this is {_shown(low, high)}"
            self.say("E0403", message, value.span, self.mend(law, param, value))
            return
        message = f"`{param.name}` of {law.name} is {domain}, but this can be {_shown(low, high)}"
        self.say("W0401", message, value.span, self.mend(law, param, value))

    def of_holes(self, law: c.Law, param: ParamSpec, value: c.Core) -> None:
        """Where the range is right, but 0 is hit, or what has no value is computed."""
        word = param.type.domain
        wanted = f"`{param.name}` of {law.name} is {DOMAIN_WORDS[word]}"
        undefined = self.zeros.undefined_part(value)
        if undefined:
            name = {"power": "a power"}.get(undefined.function, f"`{undefined.function}`")
            help = "write `exp(...)` or `abs(...)` inside it, or a branch: `if x > 0 then ...`"
            message = f"{wanted}, but {name} of what may leave its domain is not a number"
            self.say("W0401", message, value.span, help)
        elif word == "positive" and self.zeros.may_be_zero(value):
            help = "add something positive, as in `... + 0.001`, or write a branch for 0"
            self.say("W0401", f"{wanted}, but this can be exactly 0", value.span, help)

    def mend(self, law: c.Law, param: ParamSpec, value: c.Core) -> str:
        _, most = ALLOWED[param.type.domain]
        if isinstance(value, c.Const):
            return f"write {DOMAIN_WORDS[param.type.domain]}"
        type_ = "real(lower=0, upper=1)" if most == 1 else "real(lower=0)"
        if _is_plain(value):
            mend = f"declare it `: {type_}`, which cuts a draw to it"
            mend += ", or draw it from a distribution on that range"
        elif most == 1:
            mend = "write `logistic(...)` around it"
        else:
            mend = "write `exp(...)` around it, or declare what it is computed from with `lower=0`"
        free = self.free_form(law, param)
        return f"write `{law.name}({free}=...)`, or {mend}" if free else mend

    def free_form(self, law: c.Law, param: ParamSpec) -> str:
        """The argument of another row that takes any number, as `logits` for `p`."""
        own = {p.name for p in law.facts.signature.params} - {param.name}
        for row in distributions_by_name()[law.name]:
            names = {p.name for p in row.signature.params}
            found = next((name for name in FREE if name in names), "")
            if found and names - {found} == own:
                return found
        return ""

    def of_array(self, law: c.Law, param: ParamSpec, value: c.Core) -> None:
        """A variable that is declared as something else is wrong; anything else may be right."""
        word = param.type.domain
        free = self.free_form(law, param)
        text = self.source.text[value.span.start : value.span.end]
        if all(isinstance(part, c.Const | c.Stack) for part in c.walk(value)):
            from .constants import keeps  # NumPy is loaded only where numbers are written out

            if not keeps(value, word):
                message = f"`{param.name}` of {law.name} is {_article(word)}, but this is not"
                self.say("E0403", message, value.span, f"{_WANTED.get(word, 'change it')}")
            return
        other = f"write `{law.name}({free}={text})`, or " if free else ""
        ref = value.base if isinstance(value, c.At) else value
        if isinstance(ref, c.Ref) and ref.name not in self.facts.pieces:
            declared = f"{word}[{', '.join(str(axis) for axis in ref.type.shape)}]"
            message = (
                f"`{param.name}` of {law.name} is {_article(word)}, but `{ref.name}` is {ref.type}"
            )
            self.say("E0403", message, value.span, f"{other}declare it `{ref.name} : {declared}`")
            return
        says = f"`{param.name}` of {law.name} is {_article(word)}, and nothing says that this is"
        self.say("W0401", says, value.span, f"{other}{_MENDS.get(word, 'declare it so')}")

    def of_value(self, definition: Definition) -> None:
        """A declared range of a value is a promise: it is proved, or it is a mistake."""
        if definition.kind != "let" or not isinstance(definition.type.domain, Real | Int):
            return
        least, most = definition.type.bounds
        for piece in definition.pieces:
            assert isinstance(piece.body, c.Core)
            low, high = self.facts.range_of(piece.body)
            if low < least or high > most:
                declared = f"`{definition.name}` is declared {definition.type}"
                message = f"{declared}, but this can be {_shown(low, high)}"
                help = "take the range away, or write what keeps to it: `max(...)`, `exp(...)`"
                self.say("E0414", message, piece.body.span, help)


_WANTED = {
    "simplex": "its numbers are 0 or above, and sum to 1",
    "ordered": "its numbers increase",
    "positive_ordered": "its numbers increase",
    "covariance": "it is symmetric, and its eigenvalues are above 0",
    "correlation": "it is symmetric, and its eigenvalues are above 0",
    "cholesky": "it is 0 above the diagonal, and above 0 on it",
}
_MENDS = {
    "simplex": "divide it by its sum, or write `softargmax(...)`",
    "covariance": "write it as a sum of covariances, or declare it so",
    "cholesky": "write `cholesky(...)` of a covariance matrix",
    "ordered": "write `cumsum(...)` of positive steps, or declare it so",
}


def _is_plain(value: c.Core) -> bool:
    return isinstance(value, c.Ref) or (isinstance(value, c.At) and isinstance(value.base, c.Ref))


def _article(word: str) -> str:
    return {"simplex": "a `simplex`", "ordered": "`ordered`", "positive_ordered": "`ordered`"}.get(
        word, f"a `{word}` matrix"
    )


def _shown(low: float, high: float) -> str:
    if low == high:
        return f"{low:g}"
    if low == -inf and high == inf:
        return "any number"
    if low == -inf:
        return f"any number up to {high:g}"
    return f"any number from {low:g} up" if high == inf else f"any number from {low:g} to {high:g}"
