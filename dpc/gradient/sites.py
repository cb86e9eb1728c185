"""Where a traced program may break: every decision that it takes on the way to its result.

A decision is a whole number that changes only where the program may break: the outcome of a
comparison, a rounded value, a permutation, the sign of what is divided by. Between two inputs with
different decisions there is a place where one changes; whether anything breaks there is for others
to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal
from jax.interpreters import partial_eval

from dpc.dsl.record import Record

ORDERS = frozenset({"gt", "lt", "ge", "le", "lt_to", "le_to"})
ROUNDINGS = frozenset({"floor", "ceil", "round", "sign", "argmax", "argmin"})
BITS = frozenset({"bitcast_convert_type", "nextafter", "reduce_precision"})
CONTINUOUS_NAMES = """
    max min abs clamp reduce_max reduce_min cummax cummin sqrt cbrt asin acos acosh
"""
CONTINUOUS = frozenset(CONTINUOUS_NAMES.split())
"""Decide, but do not jump themselves: their results have kinks where decisions change."""
INLINED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
}
SOLVES = "custom_linear_solve"
"""Its pivots decide inside, and its result does not depend on them."""
SMOOTH_NAMES = """
    add add_any sub mul neg exp exp2 expm1 sin cos sinh cosh tanh asinh atan logistic erf erfc
    square dot_general conv_general_dilated reduce_sum reduce_prod cumsum cumprod cumlogsumexp fft
    bessel_i0e bessel_i1e igamma igammac regularized_incomplete_beta real imag conj complex copy
    select_n broadcast_in_dim reshape transpose squeeze expand_dims concatenate stack unstack tile
    pad rev slice dynamic_slice dynamic_update_slice gather scatter scatter-add scatter_add
    scatter-mul scatter_mul split iota full empty stop_gradient optimization_barrier
    random_bits random_seed random_wrap random_unwrap random_fold_in threefry2x32
    and or not xor reduce_and reduce_or reduce_xor population_count clz
    shift_left shift_right_logical shift_right_arithmetic
"""
SMOOTH = frozenset(SMOOTH_NAMES.split())
"""Operations whose results are smooth where they are finite, if nothing that decides feeds them.

What is in none of these tables may do anything.
"""
OWN_DERIVATIVES = frozenset({"stop_gradient", *(name for name in INLINED if "custom" in name)})
WEIGHTS = np.random.default_rng(0).integers(1, 2**30, 4096) * 2 + 1


class Unreadable(Exception):
    """A loop that inputs stop, or one with decisions inside: taken as a jump."""


class Site(Record):
    """One operation that decides: its name, and three numbers at an input.

    `decision` changes only at a break; `turning` is a value that breaks where it touches 0, which
    it does at a turn; `moving` changes with the input, even if the decision was never seen to.
    """

    name: str
    decision: Any
    turning: Any
    moving: Any


def primitives(jaxpr: Any) -> Iterator[str]:
    """The names of all operations, inner programs included."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in inner_programs(equation):
            yield from primitives(inner)


def inner_programs(equation: Any) -> Iterator[Any]:
    for value in equation.params.values():
        for inner in value if isinstance(value, tuple | list) else (value,):
            found = getattr(inner, "jaxpr", inner)
            if hasattr(found, "eqns"):
                yield found


def useful(jaxpr: Any) -> Any:
    """The program without what its result does not need."""
    return partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)[0]


def run_with_sites(jaxpr: Any, consts: Sequence[Any], *inputs: Any) -> tuple[list[Any], list[Site]]:
    """The results of a program, and the decisions on the way."""
    values: dict[Any, Any] = {}
    found: list[Site] = []

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, inputs, strict=True))
    for equation in jaxpr.eqns:
        given = [read(atom) for atom in equation.invars]
        results, inner = _run(equation, given)
        found += inner
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars], found


def _run(equation: Any, given: list[Any]) -> tuple[list[Any], list[Site]]:
    name = equation.primitive.name
    if name in INLINED:
        return _run_inner(equation.params[INLINED[name]], given)
    if name in INNER:
        return INNER[name](equation, given)
    if name == "stop_gradient":
        return given, []  # the derivative that it hides is what a turn is found by
    if name != SOLVES and set(primitives_inside(equation)) & DECIDING:
        raise Unreadable(name)
    if name not in SMOOTH | DECIDING and any(map(_is_real, given)):
        raise Unreadable(name)
    results = equation.primitive.bind(*given, **equation.params)
    outputs = list(results) if equation.primitive.multiple_results else [results]
    return outputs, _own_sites(equation, given, outputs)


def primitives_inside(equation: Any) -> Iterator[str]:
    for inner in inner_programs(equation):
        yield from primitives(inner)


def _run_inner(program: Any, given: list[Any]) -> tuple[list[Any], list[Site]]:
    return run_with_sites(
        getattr(program, "jaxpr", program), getattr(program, "consts", ()), *given
    )


def _run_cond(equation: Any, given: list[Any]) -> tuple[list[Any], list[Site]]:
    """All branches are run, and one is chosen: decisions of the others change no result."""
    which, *operands = given
    branches = [_run_inner(branch, operands) for branch in equation.params["branches"]]
    index = jnp.clip(jnp.asarray(which, int), 0, len(branches) - 1)
    chosen = zip(*(results for results, _ in branches), strict=True)
    results = [lax.select_n(index, *values) for values in chosen]
    own = [site for _, sites in branches for site in sites]
    return results, [*own, _site("cond", [index])]


def _run_scan(equation: Any, given: list[Any]) -> tuple[list[Any], list[Site]]:
    params = equation.params
    held, carried = params["num_consts"], params["num_carry"]
    consts, start, over = given[:held], given[held : held + carried], given[held + carried :]
    names: list[str] = []

    def body(carry: Any, row: Any) -> Any:
        results, sites = _run_inner(params["jaxpr"], [*consts, *carry, *row])
        names[:] = [site.name for site in sites]
        each = [(site.decision, site.turning, site.moving) for site in sites]
        return results[:carried], (results[carried:], each)

    last, (rows, each) = lax.scan(
        body, start, over, length=params["length"], reverse=params["reverse"]
    )
    sites = [Site(name, *numbers) for name, numbers in zip(names, each, strict=True)]
    return [*last, *rows], sites


def _run_while(equation: Any, given: list[Any]) -> tuple[list[Any], list[Site]]:
    """A loop over whole numbers that decides nothing inside is an operation like others."""
    condition, body = equation.params["cond_jaxpr"].jaxpr, equation.params["body_jaxpr"].jaxpr
    held = equation.params["cond_nconsts"]
    others = equation.params["body_nconsts"]
    needed = [atom in _used(condition) for atom in condition.invars]
    counted = needed[held:]
    while True:
        _, used = partial_eval.dce_jaxpr(body, counted)
        both = [a or b for a, b in zip(counted, used[others:], strict=True)]
        if both == counted:
            break
        counted = both
    inside = {*primitives(condition), *primitives(body)} & DECIDING
    states = condition.invars[held:]
    stops = [atom.aval.dtype for atom, used in zip(states, counted, strict=True) if used]
    stops += [atom.aval.dtype for atom in condition.invars[:held]]
    if inside - ORDERS or any(jnp.issubdtype(kind, jnp.inexact) for kind in stops):
        raise Unreadable("while")
    return list(equation.primitive.bind(*given, **equation.params)), []


def _used(jaxpr: Any) -> set[Any]:
    atoms = [*jaxpr.outvars, *(atom for equation in jaxpr.eqns for atom in equation.invars)]
    return {atom for atom in atoms if not isinstance(atom, Literal)}


INNER: dict[str, Callable[[Any, list[Any]], tuple[list[Any], list[Site]]]] = {
    "cond": _run_cond,
    "scan": _run_scan,
    "while": _run_while,
}


# ---- what each operation decides


def _is_real(value: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(value), jnp.inexact)


def side(value: Any) -> Any:
    """The sign; of a complex number that of both its parts."""
    if jnp.iscomplexobj(value):
        return side(jnp.real(value)) + 4 * side(jnp.imag(value))
    return jnp.where(value > 0, 1, 0) + jnp.where(value < 0, 2, 0)


def _site(name: str, decisions: Sequence[Any], turning: Any = 0.0, moving: Any = 0.0) -> Site:
    turning = turning if not jnp.iscomplexobj(turning) else jnp.abs(turning)
    # By odd powers apart, as one decision may undo what the other changes.
    decision = sum((31**k * mixed(each) for k, each in enumerate(decisions)), jnp.zeros((), int))
    return Site(name, decision, jnp.asarray(turning, float), jnp.sum(jnp.asarray(moving, float)))


def mixed(values: Any) -> Any:
    """One whole number that changes where any of these does."""
    numbers = jnp.nan_to_num(jnp.ravel(jnp.asarray(values)), posinf=2.0**40, neginf=-(2.0**40))
    whole = jnp.asarray(numbers, int)
    return jnp.sum(whole * np.resize(WEIGHTS, whole.shape).astype(whole.dtype))


Decide = Callable[[list[Any], list[Any], Any], Sequence[Any]]


def _below_zero(given: list[Any], *_: Any) -> Sequence[Any]:
    return [side(given[0])]


def _which_is_larger(given: list[Any], *_: Any) -> Sequence[Any]:
    return [side(given[0] - given[1])]


def _is_result(given: list[Any], results: list[Any], equation: Any) -> Sequence[Any]:
    """Which entry is the largest."""
    axes = equation.params.get("axes")
    result = results[0] if axes is None else jnp.expand_dims(results[0], axes)
    return [given[0] == result]


def _order(given: list[Any], results: list[Any], equation: Any) -> Sequence[Any]:
    return [jnp.argsort(given[0], equation.params["dimension"])]


def _outside_one(given: list[Any], *_: Any) -> Sequence[Any]:
    return [side(given[0] - 1), side(given[0] + 1)]


DECISIONS: dict[str, Decide] = {
    **dict.fromkeys(("log", "sqrt", "rsqrt", "cbrt", "abs", "integer_pow", "pow"), _below_zero),
    **dict.fromkeys(("max", "min"), _which_is_larger),
    **dict.fromkeys(("reduce_max", "reduce_min", "cummax", "cummin"), _is_result),
    **dict.fromkeys(("asin", "acos", "atanh", "acosh", "erf_inv"), _outside_one),
    **dict.fromkeys(ORDERS, lambda given, results, _: [side(given[0] - given[1]), *results]),
    **dict.fromkeys(("eq", "ne", "is_finite", *ROUNDINGS), lambda given, results, _: results),
    **dict.fromkeys(BITS, lambda *_: []),
    "sort": _order,
    "top_k": lambda given, results, _: results[1:],
    "clamp": lambda given, *_: [side(given[1] - given[0]), side(given[1] - given[2])],
    "convert_element_type": lambda given, results, _: [] if _is_real(results[0]) else results,
    "div": lambda given, *_: [side(given[1])],
    "rem": lambda given, *_: [jnp.trunc(given[0] / given[1]), side(given[1])],
    "atan2": lambda given, *_: [side(given[0]), side(given[1])],
    "tan": lambda given, *_: [jnp.floor(given[0] / np.pi + 0.5)],
    "log1p": lambda given, *_: [side(given[0] + 1)],
    "lgamma": lambda given, *_: [jnp.floor(jnp.minimum(given[0], 1))],
    "digamma": lambda given, *_: [jnp.floor(jnp.minimum(given[0], 1))],
    **dict.fromkeys((SOLVES, "triangular_solve"), lambda given, results, _: [side(results[0])]),
    "lu": lambda given, results, _: results[1:],
    **dict.fromkeys(("svd", "eigh", "cholesky", "qr", "householder_product"), lambda *_: []),
}
DECIDING = frozenset(DECISIONS)
FIRST_TURNS = ("log", "sqrt", "rsqrt", "cbrt", "abs", "pow", "integer_pow")


def _from_one(given: list[Any], *_: Any) -> Any:
    return 1 - given[0] ** 2


def _pole(_: list[Any], results: list[Any], *__: Any) -> Any:
    """What a solution goes to infinity by, also where it comes back on the same side."""
    return 1 / (1 + jnp.square(results[0]))


def _gaps(values: Any) -> Any:
    """Eigenvalues change places where two meet; at 0 singular values turn."""
    return jnp.concatenate([jnp.ravel(values), jnp.ravel(jnp.diff(values, axis=-1))])


TURNING: dict[str, Decide] = {
    **dict.fromkeys(FIRST_TURNS, lambda given, *_: given[0]),
    **dict.fromkeys(("asin", "acos", "atanh", "acosh", "erf_inv"), _from_one),
    **dict.fromkeys((SOLVES, "triangular_solve"), _pole),
    "div": lambda given, *_: given[1],
    "svd": lambda given, results, _: _gaps(results[0]),
    "eigh": lambda given, results, _: _gaps(
        next(x for x in results if x.ndim < results[0].ndim or x.ndim == given[0].ndim - 1)
    ),
    "cholesky": lambda given, results, _: jnp.diagonal(results[0], axis1=-2, axis2=-1),
    "qr": lambda given, results, _: jnp.diagonal(results[1], axis1=-2, axis2=-1),
    "householder_product": lambda given, *_: given[1],
}
"""What breaks where it touches 0."""


def _own_sites(equation: Any, given: list[Any], results: list[Any]) -> list[Site]:
    name = equation.primitive.name
    power = equation.params["y"] if name == "integer_pow" else -1
    if name not in DECISIONS or power >= 0 or not any(map(_is_real, given)):
        return []
    turning = TURNING[name](given, results, equation) if name in TURNING else 0.0
    moving = 0.0
    if name in ORDERS:
        moving = given[0] - given[1]
    elif name in BITS:
        moving = given[0]
    return [_site(name, DECISIONS[name](given, results, equation), turning, moving)]
