"""Do these arguments fit this row of a signature table, and what type comes out?"""

import re
from collections.abc import Sequence
from math import inf

from ..graph import core as c
from ..graph import types as t
from ..library.notation import ParamSpec, Signature, TypeSpec
from ..record import Record
from ..source import Span


class CallArgument(Record):
    """One argument as written: its name, if any, and its meaning."""

    name: str | None
    value: c.Core
    span: Span


class Misfit(Exception):
    """Why a row does not fit, as a diagnostic would say it."""

    def __init__(self, code: str, message: str, span: Span, help: str = ""):
        self.code, self.message, self.span, self.help = code, message, span, help
        super().__init__(message)


class RowMatch(Record):
    arguments: tuple[tuple[str, c.Core], ...]
    type: t.Type
    axes: dict[str, t.Axis]


DOMAINS: dict[str, t.Domain] = {
    "real": t.Real(),
    "positive": t.Real(0, inf),
    "nonnegative": t.Real(0, inf),
    "unit": t.Real(0, 1),
    "int": t.Int(),
    "count": t.Int(0, inf),
    "bool": t.Bool(),
}


def match_row(signature: Signature, given: Sequence[CallArgument], span: Span) -> RowMatch:
    """Raises Misfit with the first argument that does not fit."""
    matcher = _Matcher(signature)
    arguments = assign_arguments(signature, given, span)
    for param, value in arguments:
        matcher.take(param, value)
    named_arguments = tuple((param.name, value) for param, value in arguments)
    return RowMatch(named_arguments, matcher.result(), matcher.axes)


def assign_arguments(
    signature: Signature, given: Sequence[CallArgument], span: Span
) -> list[tuple[ParamSpec, c.Core]]:
    """Positional arguments in order, others by name; a variadic parameter takes what is left."""
    params = {p.name: p for p in signature.params}
    free = list(signature.params)
    found: list[tuple[ParamSpec, c.Core]] = []
    for argument in given:
        if argument.name is None:
            if not free:
                raise Misfit("E0202", f"too many arguments for `{signature.text}`", argument.span)
            param = free[0] if free[0].variadic else free.pop(0)
        elif argument.name in params and params[argument.name] in free:
            param = params[argument.name]
            free.remove(param)
        else:
            problem = "is given twice" if argument.name in params else "is not a parameter"
            message = f"`{argument.name}` {problem} of `{signature.text}`"
            raise Misfit("E0202", message, argument.span)
        found.append((param, argument.value))
    taken = {param.name for param, _ in found}
    missing = [p.name for p in free if not p.optional and p.name not in taken]
    if missing:
        raise Misfit("E0202", f"`{missing[0]}` is missing from `{signature.text}`", span)
    return found


class _Matcher:
    def __init__(self, signature: Signature):
        self.signature = signature
        self.axes: dict[str, t.Axis] = {}
        self.dims: list[t.Dim] = []
        self.elements: list[t.Domain] = []
        self.shape: t.Shape = ()

    def take(self, param: ParamSpec, value: c.Core) -> None:
        if param.type.domain == "dim":
            self._take_dim(param, value)
        elif isinstance(value, c.DimRef):
            help = f"its size is `size({value.dim})`"
            raise Misfit("E0207", f"`{value.dim}` is a dim, not a value", value.span, help)
        elif value.type.known:
            self._take_shape(param, value)
            self._take_domain(param, value)

    def _take_dim(self, param: ParamSpec, value: c.Core) -> None:
        if not isinstance(value, c.DimRef):
            help = "as in `ones(K)` after `dim K = 3`"
            raise Misfit("E0207", f"`{param.name}` is the name of a dim", value.span, help)
        self.dims.append(value.dim)
        self.axes[param.name] = value.dim

    def _take_shape(self, param: ParamSpec, value: c.Core) -> None:
        spec, shape = param.type, value.type.shape
        if spec.any_shape:
            return
        if spec.domain == "index":
            self._take_index(param, value)
        elif self.signature.elementwise:
            self._take_elementwise(param, value)
        elif len(spec.axes) != len(shape):
            axes = f"[{', '.join(spec.axes)}]" if spec.axes else ""
            wanted = f"`{param.name}` of `{self.signature.text}` is {spec.domain}{axes}"
            message = f"{wanted}, but this is {show_kind(value.type)}"
            raise Misfit("E0201", message, value.span, _rank_help(spec, shape))
        else:
            for name, axis in zip(spec.axes, shape, strict=True):
                self._bind_axis(name, axis, value)

    def _take_index(self, param: ParamSpec, value: c.Core) -> None:
        domain = value.type.domain
        if isinstance(value, c.Const) and isinstance(domain, t.Int):
            return
        if value.type.shape or not isinstance(domain, t.IndexOf):
            message = f"`{param.name}` is an index, but this is {show_kind(value.type)}"
            raise Misfit("E0201", message, value.span)
        self._bind_axis(param.type.axes[0], domain.dim, value)

    def _take_elementwise(self, param: ParamSpec, value: c.Core) -> None:
        if not self.shape or not value.type.shape:
            self.shape = self.shape or value.type.shape
        elif t.same_shape(self.shape, value.type.shape):
            self.shape = t.named(self.shape, value.type.shape)
        else:
            both = f"{t.show_shape(self.shape)} and {t.show_shape(value.type.shape)}"
            message = f"the shapes {both} do not agree"
            raise Misfit("E0203", message, value.span)

    def _bind_axis(self, name: str, axis: t.Axis, value: c.Core) -> None:
        known = self.axes.get(name) or (t.Fixed(int(name)) if name.isdigit() else None)
        if known and not t.same_axis(known, axis):
            needs = f"`{self.signature.text}` needs one `{name}`"
            message = f"`{known}` and `{axis}` are different axes, but {needs}"
            raise Misfit("E0203", message, value.span)
        if not isinstance(known, t.Dim):
            self.axes[name] = axis

    def _take_domain(self, param: ParamSpec, value: c.Core) -> None:
        word = param.type.domain
        misfit = domain_misfit(word, value.type)
        if misfit:
            raise Misfit("E0201", f"`{param.name}` of `{self.signature.text}` {misfit}", value.span)
        if word in ("num", "item"):
            self.elements.append(value.type.domain)

    def result(self) -> t.Type:
        spec = self.signature.result
        if spec.domain == "index":
            return t.Type(t.IndexOf(self._axis(spec.axes[0])))
        shape = self.shape if self.signature.elementwise else tuple(self._result_axes(spec))
        if spec.domain in t.CONSTRAINT_RANK:
            return t.Type(t.CONSTRAINT_DOMAIN.get(spec.domain, t.Real()), shape, spec.domain)
        return t.Type(self._result_domain(spec.domain), shape)

    def _result_axes(self, spec: TypeSpec) -> list[t.Axis]:
        found: list[t.Axis] = []
        for name in spec.axes:
            found += self.dims if name.startswith("*") else [self._axis(name)]
        return found

    def _axis(self, name: str) -> t.Axis:
        """`N`, a number, or a sum such as `N+1`, whose axis has no name."""
        if name in self.axes:
            return self.axes[name]
        total = 0
        for sign, part in re.findall(r"([+-]?)(\w+)", name):
            axis = self.axes.get(part, t.Fixed(int(part) if part.isdigit() else None))
            size = axis.size
            if size is None:
                return t.Fixed(None)
            total += -size if sign == "-" else size
        return t.Fixed(total)

    def _result_domain(self, word: str) -> t.Domain:
        if word not in ("num", "item"):
            return DOMAINS[word]
        joined = self.elements[0] if self.elements else t.Real()
        for domain in self.elements[1:]:
            joined = t.join_domains(joined, domain) or joined
        if word == "item":
            return joined
        lower, _ = t.Type(joined).bounds
        return t.number_type(t.Type(joined).whole, 0 if lower >= 0 else -inf, inf).domain


def show_kind(type_: t.Type) -> str:
    """The type without bounds: where 2.5 does not fit, what matters is that it is real."""
    is_number = isinstance(type_.domain, t.Real | t.Int)
    return str(type_.replace(domain=type(type_.domain)()) if is_number else type_)


def _rank_help(spec: TypeSpec, shape: t.Shape) -> str:
    if len(shape) > len(spec.axes) and isinstance(shape[0], t.Dim):
        return f"index it, as in `[i in {shape[0]}] f(a[i])`"
    return ""


def domain_misfit(word: str, type_: t.Type) -> str | None:
    """Why a value is not of the kind of this word; how large it is, is judged in domains.py."""
    domain = type_.domain
    if word in ("item", "index") or not type_.known:
        return None
    if word == "bool":
        is_truth = isinstance(domain, t.Bool)
        return None if is_truth else f"needs true or false, but this is {show_kind(type_)}"
    if not type_.numeric:
        return f"needs a number, but this is a label of `{domain}`"
    if word in ("int", "count") and not type_.whole:
        return f"needs a whole number, but this is {show_kind(type_)}"
    return None
