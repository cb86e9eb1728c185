"""Rows from outside: a distribution, a function or an estimator of the user's is one of ours.

Each lasts as long as the process. `remove` takes one away, which tests want.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from keyword import iskeyword
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.library import annotations as rows
from dpc.dsl.library import distributions, functions
from dpc.dsl.library.functions import add_function
from dpc.dsl.library.notation import parse_signature
from dpc.dsl.library.rows import Distribution

if TYPE_CHECKING:
    from dpc.estimators.methods.method import Method
    from dpc.inference.families.family import Family

__all__ = ["add_distribution", "add_estimator", "add_function", "remove"]

FACTS = (
    "reparametrised",
    "edges",
    "kinked",
    "location_scale",
    "symmetric",
    "on_the_line",
    "cdf",
    "quantile",
    "moments",
    "highest",
)
"""What can be said of a distribution in data; the rest needs code, and has its own argument."""


def add_distribution(
    signature: str,
    constructor: type,
    doc: str = "",
    *,
    log_density: Callable[..., Any] | None = None,
    split: Callable[..., Any] | None = None,
    divergence: Callable[..., Any] | None = None,
    family: Family | None = None,
    natural: str = "",
    **facts: Any,
) -> None:
    """A distribution that files may draw from, in this process.

    `constructor` is a class of NumPyro distributions, called with the arguments by the names of the
    signature. `log_density(value, **arguments)` is its density in NumPy, for answers that compile
    nothing. `split(key, distribution)` gives its measure-valued derivative, `divergence(q, p)` its
    KL, `family` its exponential family. `facts` are those of dpc.dsl.library.rows.Distribution.
    """
    parsed = parse_signature(signature)
    names = [param.name for param in parsed.params]
    _verify_name(parsed.name)
    _verify_facts(facts, names)
    _verify_constructor(parsed.name, constructor, names)
    if facts.get("reparametrised", False) != bool(constructor.has_rsample):  # type: ignore[attr-defined]
        raise ValueError(
            f"`reparametrised` says whether {constructor.__name__}.rsample is a differentiable "
            "function of the arguments: its class says otherwise"
        )
    call = ", ".join(f"{name}={name}" for name in names)
    row = Distribution(
        signature,
        f"{parsed.name}({call})",
        doc or f"added from Python: {parsed.name}",
        **{"moments": False, **facts},
        measure_split=split is not None,
        closed_divergence=divergence is not None,
        family=parsed.name if family else "",
        natural=natural,
        added=constructor,
        log_density=log_density,
    )
    distributions.add_row(row)
    _register(row, constructor, split, divergence, family)


def _verify_name(name: str) -> None:
    from dpc.dsl.library.bodies.source import helpers

    known = {**distributions.distributions_by_name(), **functions.functions_by_name()}
    if name in known:
        raise ValueError(f"there is a distribution or function `{name}` already")
    if name in helpers() or not name.isidentifier() or iskeyword(name):
        raise ValueError(f"a distribution cannot be called `{name}`: choose another name")


def _verify_facts(facts: Mapping[str, Any], names: list[str]) -> None:
    for fact, value in facts.items():
        if fact not in FACTS:
            hint = did_you_mean(fact, FACTS)
            raise ValueError(f"there is no fact `{fact}`: {', '.join(FACTS)}. {hint}".rstrip())
        mentioned = value if isinstance(value, tuple) else (value,) if fact == "highest" else ()
        for name in mentioned:
            if name not in names:
                raise ValueError(f"`{fact}` names the argument `{name}`, which there is not")
    if facts.get("symmetric") and not facts.get("location_scale"):
        raise ValueError("`symmetric` needs `location_scale`, which names the centre")


def _verify_constructor(name: str, constructor: type, names: list[str]) -> None:
    from numpyro.distributions import Distribution as NumpyroDistribution

    if not (inspect.isclass(constructor) and issubclass(constructor, NumpyroDistribution)):
        raise TypeError(f"`{name}` is made by a class of numpyro.distributions.Distribution")
    takes = inspect.signature(constructor).parameters
    for argument in names:
        if argument not in takes:
            raise ValueError(f"{constructor.__name__} takes no argument `{argument}`")


def _register(
    row: Distribution,
    constructor: type,
    split: Callable[..., Any] | None,
    divergence: Callable[..., Any] | None,
    family: Family | None,
) -> None:
    """Code for a fact goes where its mathematics lives."""
    from numpyro.distributions import kl_divergence

    from dpc.estimators.methods.measure import SPLITS
    from dpc.estimators.methods.pathwise import CENTRES, KINKED
    from dpc.estimators.methods.score import MOVING_ENDS
    from dpc.inference.families import table

    if row.symmetric:
        CENTRES[constructor] = attrgetter(row.location_scale[0])
    if row.symmetric == "kinked":
        KINKED.add(constructor)
    if row.edges:
        MOVING_ENDS.append(constructor)
    if split:
        SPLITS[constructor] = split
    if divergence:
        kl_divergence.register(constructor, constructor)(divergence)
    if family:
        table.FAMILIES[row.family] = table.FamilyRow(lambda: family)


def add_estimator(
    method: type[Method],
    doc: str = "",
    options: Mapping[str, str | tuple[str, ...]] | None = None,
    needs: str = "",
    along: str = "",
    weighed: bool = False,
    stepwise: bool = False,
) -> None:
    """A gradient estimator that files may name after `grad=`, in this process.

    `options` are the fields that a file may set, each with the word of its domain, such as
    "positive" or "positive count". `needs` is the fact that a distribution must have. `along` is
    "path" where derivatives pass through the value of a draw, so that a jump below it hides some,
    and "score" where they pass through its density, so that a support that moves hides some.
    """
    from dpc.estimators.methods.table import METHODS

    if method.name in METHODS:
        raise ValueError(f"there is an estimator `{method.name}` already")
    if needs and needs not in Distribution.fields and not hasattr(Distribution, needs):
        raise ValueError(f"`needs` is a fact of distributions, not `{needs}`")
    if along not in ("", "path", "score"):
        raise ValueError(f"`along` is path or score, not {along!r}")
    row = rows.MethodRow(
        method.name,
        doc or f"added from Python: {method.name}",
        {"samples": "positive count", **(options or {})},
        needs,
        along=along,  # type: ignore[arg-type]
        weighed=weighed,
        stepwise=stepwise,
    )
    rows.GRAD_METHODS.append(row)
    METHODS[method.name] = method


def remove(name: str) -> None:
    """Takes away what was added under this name."""
    for row in distributions.distributions_by_name().get(name, ()):
        if row.added:
            distributions.remove_row(row.text)
            return
    if functions.remove_function(name):
        return
    from dpc.estimators.methods.table import BUILT_IN, METHODS

    if name in METHODS and name not in BUILT_IN:
        del METHODS[name]
        rows.GRAD_METHODS.remove(rows.grad_method(name))
        return
    raise ValueError(f"nothing called `{name}` was added")
