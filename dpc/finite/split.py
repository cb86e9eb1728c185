"""exp(a + b) = exp(a) exp(b): a factor that is a sum is many small factors, which are cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dpc.dsl.graph import core as c
from dpc.dsl.graph.forms import both
from dpc.dsl.record import Record


class Summand(Record):
    """`body` for every place of `binders` where `where` holds."""

    body: c.Core
    binders: tuple[c.Bind, ...] = ()
    where: c.Core | None = None


def split_sum(core: c.Core, depends: Callable[[c.Core], bool]) -> Iterator[Summand]:
    """sum of the summands = core; what does not depend on finite variables is left whole."""
    if not depends(core):
        yield Summand(core)
    elif isinstance(core, c.Reduce) and core.operator == "sum":
        for inner in split_sum(core.body, depends):
            where = both(core.where, inner.where)
            yield Summand(inner.body, core.binders + inner.binders, where)
    elif isinstance(core, c.Apply) and (linear := _linear_parts(core, depends)):
        for argument, around in linear:
            for inner in split_sum(argument, depends):
                yield inner.replace(body=around(inner.body))
    else:
        yield Summand(core)


Part = tuple[c.Core, Callable[[c.Core], c.Core]]


def _linear_parts(core: c.Apply, depends: Callable[[c.Core], bool]) -> list[Part]:
    """The arguments that the form is linear in, each with what stands around it."""
    arguments = [argument for _, argument in core.arguments]
    if core.function == "add":
        return [(argument, _same) for argument in arguments]
    if core.function == "subtract":
        return [(arguments[0], _same), (arguments[1], _negated)]
    if core.function == "negate":
        return [(arguments[0], _negated)]
    if core.function in ("multiply", "divide") and not depends(arguments[1]):
        return [(arguments[0], lambda part: _with_argument(core, 0, part))]
    if core.function == "multiply" and not depends(arguments[0]):
        return [(arguments[1], lambda part: _with_argument(core, 1, part))]
    return []


def _same(part: c.Core) -> c.Core:
    return part


def _negated(part: c.Core) -> c.Core:
    return c.Apply(part.span, part.type, "negate", (("x", part),))


def _with_argument(core: c.Apply, place: int, part: c.Core) -> c.Core:
    arguments = list(core.arguments)
    arguments[place] = (arguments[place][0], part)
    return core.replace(arguments=tuple(arguments))
