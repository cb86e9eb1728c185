"""Rows from outside, while the process lasts: what a user adds is one of ours."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from keyword import iskeyword
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.library import annotations as rows
from dpc.dsl.library import distributions, functions
from dpc.dsl.library.notation import Signature, parse_signature
from dpc.dsl.library.rows import Distribution, FunctionRow
from dpc.dsl.lower.scope import TAKEN
from dpc.dsl.text.keywords import keywords

if TYPE_CHECKING:
    from dpc.estimators.methods.method import Method
    from dpc.inference.families.family import Family

__all__ = ["add_distribution", "add_estimator", "add_function", "remove"]

FACTS = (
    *("reparametrised", "edges", "kinked", "location_scale", "symmetric", "on_the_line"),
    *("cdf", "quantile", "moments", "highest"),
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
    _verify_constructor(parsed, constructor, facts.get("reparametrised", False))
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


def add_function(
    signature: str,
    jax: Callable[..., Any],
    numpy: Callable[..., Any] | None = None,
    doc: str = "",
    jumps: str = "",
    kinks: str = "",
) -> None:
    """A function that files may call from now on, in this process.

    `jax` computes it, elementwise where the signature has numbers alone; `numpy` does for answers
    that need no compilation. `jumps` and `kinks` name the arguments, with spaces between them, in
    which the value, or its derivative, jumps. A printed program imports `jax` from its module.
    """
    parsed = parse_signature(signature)
    _verify_name(parsed.name)
    names = [param.name for param in parsed.params]
    for what, said in {"jumps": jumps, "kinks": kinks}.items():
        if not isinstance(said, str):
            raise TypeError(f"`{what}` is a text with the names of arguments, not {said!r}")
        _verify_arguments(what, said.split(), names)
    for what, body in {"jax": jax, "numpy": numpy}.items():
        if body is not None or what == "jax":
            _verify_body(what, body, len(names))
    _verify_number(parsed, jax)
    row = FunctionRow(signature, doc or f"added from Python: {parsed.name}", jax, numpy)
    functions.add_row(row.replace(jumps=jumps, kinks=kinks))


def _verify_name(name: str) -> None:
    from dpc.dsl.library.bodies.source import helpers

    known = {**distributions.distributions_by_name(), **functions.functions_by_name()}
    if name in known:
        raise ValueError(f"there is a distribution or function `{name}` already")
    taken = name in helpers() or name in TAKEN or name in keywords()
    if taken or not name.isidentifier() or iskeyword(name):
        what = f"nothing can be called `{name}`, which has a meaning"
        raise ValueError(f"{what}: choose another name")


def _verify_arguments(what: str, said: Iterable[str], names: list[str]) -> None:
    for name in said:
        if name not in names:
            raise ValueError(f"`{what}` names the argument `{name}`, which there is not")


def _verify_body(what: str, body: Any, count: int) -> None:
    if not callable(body):
        raise TypeError(f"`{what}` is a function, not {body!r}")
    try:
        inspect.signature(body).bind(*range(count))
    except TypeError:
        raise ValueError(
            f"`{what}` does not take {count} arguments, as the signature says"
        ) from None
    except ValueError:  # a built-in function does not tell what it takes
        return


def _verify_number(signature: Signature, body: Callable[..., Any]) -> None:
    """A function of numbers that gives a number does so, without being called."""
    if not signature.elementwise:
        return
    import jax

    dtypes = {"bool": bool, "int": int, "count": int, "index": int}
    given = [
        jax.ShapeDtypeStruct((), dtypes.get(own.type.domain, float)) for own in signature.params
    ]
    shape = getattr(jax.eval_shape(body, *given), "shape", None)
    if shape != ():
        raise ValueError(f"`{signature.name}` gives a number, and `jax` gives the shape {shape}")


def _verify_facts(facts: Mapping[str, Any], names: list[str]) -> None:
    for fact, value in facts.items():
        if fact not in FACTS:
            hint = did_you_mean(fact, FACTS)
            raise ValueError(f"there is no fact `{fact}`: {', '.join(FACTS)}. {hint}".rstrip())
        if fact in ("edges", "kinked", "location_scale"):
            if not isinstance(value, tuple):
                raise TypeError(f"`{fact}` is a tuple of names of arguments, not {value!r}")
            _verify_arguments(fact, value, names)
    if facts.get("highest"):
        _verify_arguments("highest", [facts["highest"]], names)
    if len(facts.get("location_scale", ())) not in (0, 2):
        raise ValueError("`location_scale` names two arguments, which shift and scale a draw")
    if facts.get("symmetric", "") not in ("", "smooth", "kinked"):
        raise ValueError(f"`symmetric` is smooth or kinked, not {facts['symmetric']!r}")
    if facts.get("symmetric") and not facts.get("location_scale"):
        raise ValueError("`symmetric` needs `location_scale`, which names the centre")


def _verify_constructor(signature: Signature, constructor: Any, reparametrised: bool) -> None:
    """It takes the arguments, and what the row says of draws is what the class says of them."""
    from numpyro.distributions import Distribution as NumpyroDistribution

    is_law = inspect.isclass(constructor) and issubclass(constructor, NumpyroDistribution)
    if not is_law:
        made = "is made by a class of numpyro.distributions.Distribution"
        raise TypeError(f"`{signature.name}` {made}")
    takes = inspect.signature(constructor).parameters
    names = [param.name for param in signature.params]
    for argument in names:
        if argument not in takes:
            raise ValueError(f"{constructor.__name__} takes no argument `{argument}`")
    for argument, param in takes.items():
        if param.default is param.empty and argument not in names:
            raise ValueError(f"{constructor.__name__} needs `{argument}`, which is not an argument")
    own = inspect.getattr_static(constructor, "has_rsample")
    if not isinstance(own, bool):
        own = {*constructor.reparametrized_params} == {*constructor.arg_constraints}
    if reparametrised != own:
        what = f"`reparametrised` says whether draws of {constructor.__name__} are a differentiable"
        raise ValueError(f"{what} function of the arguments: its class says otherwise")
    if signature.result.domain in ("bool", "index") and not constructor.has_enumerate_support:
        what = f"draws of {constructor.__name__} have values that can be listed: its class needs"
        raise ValueError(f"{what} `has_enumerate_support = True` and `enumerate_support`")


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

    undo = _UNDO.setdefault(row.text, [])

    def enter(known: dict[Any, Any], key: Any, value: Any) -> None:
        """What was there before, as of a constructor of NumPyro's own, comes back in the end."""
        before = dict(known)
        known[key] = value
        restore = partial(known.__setitem__, key, before[key]) if key in before else None
        undo.append(restore or partial(known.pop, key, None))

    if row.symmetric:
        enter(CENTRES, constructor, attrgetter(row.location_scale[0]))
    if row.symmetric == "kinked" and constructor not in KINKED:
        KINKED.add(constructor)
        undo.append(partial(KINKED.discard, constructor))
    if row.edges:
        MOVING_ENDS.append(constructor)
        undo.append(partial(MOVING_ENDS.remove, constructor))
    if split:
        enter(SPLITS, constructor, split)
    if divergence:
        kl_divergence.register(constructor, constructor)(divergence)
    if family:
        enter(table.FAMILIES, row.family, table.FamilyRow(lambda: family))


_UNDO: dict[str, list[Callable[[], Any]]] = {}
"""For each row that was added, how to take back what was registered for it."""


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

    name = getattr(method, "name", None)
    if not isinstance(name, str) or not name.isidentifier():
        raise TypeError("an estimator is a class of `Method` with a `name` that files can write")
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
            for take_back in _UNDO.pop(row.text, []):
                take_back()
            return
    if functions.remove_function(name):
        return
    from dpc.estimators.methods.table import BUILT_IN, METHODS

    if name in METHODS and name not in BUILT_IN:
        del METHODS[name]
        rows.GRAD_METHODS.remove(rows.grad_method(name))
        return
    raise ValueError(f"nothing called `{name}` was added")
