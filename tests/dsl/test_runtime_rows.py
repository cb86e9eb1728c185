"""Every row of the function table runs: its shape, precision and domain, under vmap, grad and
jit.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpc.dsl.library.bodies.source import helpers, resolve
from dpc.dsl.library.functions import FUNCTIONS, FunctionRow, functions_by_text
from dpc.dsl.library.notation import ParamSpec, TypeSpec

SIZES = {"N": 4, "M": 3, "K": 2, "P": 2, "D": 4}
WHOLE = {"int", "count", "bool", "index"}
ENDS = {
    "acosh": {"x": (1.1, 3)},
    "acos": {"x": (-0.9, 0.9)},
    "asin": {"x": (-0.9, 0.9)},
    "atanh": {"x": (-0.9, 0.9)},
    "erfinv": {"x": (-0.9, 0.9)},
    "log1p": {"x": (-0.9, 2)},
    "pow": {"x": (0.5, 2)},
    "lchoose": {"n": (3, 5), "k": (0.5, 2)},
    "logdiffexp": {"a": (1, 2), "b": (-1, 0.9)},
    "clip": {"lower": (-1, -0.5), "upper": (0.5, 1)},
    "moreau_interval": {"lower": (-1, -0.5), "upper": (0.5, 1)},
}
BOUNDS = {"positive": (0.5, 2), "nonnegative": (0.5, 2), "unit": (0.1, 0.9)}


def by_text(rows: Iterable[FunctionRow]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=row.text) for row in rows])


# ---- arguments of a row


def axis_size(axis: str) -> int:
    parts = re.findall(r"([+-]?)(\w+)", axis)
    return sum((-1 if sign == "-" else 1) * (SIZES.get(part) or int(part)) for sign, part in parts)


def shape(type_: TypeSpec) -> tuple[int, ...]:
    if type_.domain == "index":
        return ()
    if type_.axes == ("*D",):
        return (4, 4)
    return (3, 2) if type_.any_shape else tuple(map(axis_size, type_.axes))


def draw(row: FunctionRow, param: ParamSpec, rng: np.random.Generator) -> np.ndarray:
    word, dims = param.type.domain, shape(param.type)
    if word == "index":
        return np.asarray(rng.integers(axis_size(param.type.axes[0])), np.int32)
    if word == "bool":
        return rng.uniform(size=dims) < 0.7
    if word == "simplex":
        return rng.dirichlet(np.ones(dims[-1]))
    if word in ("covariance", "cholesky"):
        a = rng.normal(size=dims)
        a = a @ a.T + np.eye(dims[-1])
        return np.linalg.cholesky(a) if word == "cholesky" else a
    points = rng.uniform(*ENDS.get(row.name, {}).get(param.name, BOUNDS.get(word, (-2, 2))), dims)
    return np.round(points).astype(np.int32) if word in WHOLE else np.asarray(points)


def arguments(row: FunctionRow, dtype: type = np.float64) -> list[jax.Array | int]:
    """Random values of the row's domains, in its order; the sizes of dims are Python ints."""
    rng = np.random.default_rng(crc32(row.text.encode()))
    given: list[jax.Array | int] = []
    for param in row.signature.params:
        if param.type.domain == "dim":
            given += [SIZES["D"]] * (2 if param.variadic else 1)
        else:
            value = draw(row, param, rng)
            given.append(jnp.asarray(value, value.dtype if value.dtype.kind in "ib" else dtype))
    return [*given, SIZES["N"]] if row.name == "one_hot" else given


def implementation(row: FunctionRow) -> Callable[..., jax.Array]:
    return resolve(functions_by_text()[row.text].body)


def call(row: FunctionRow, given: list[jax.Array | int]) -> jax.Array:
    return implementation(row)(*given)


def is_float(value: jax.Array | int) -> bool:
    return not isinstance(value, int) and jnp.issubdtype(value.dtype, jnp.floating)


def of_floats(
    row: FunctionRow, given: list[jax.Array | int]
) -> tuple[Callable[..., jax.Array], list[jax.Array]]:
    """The row as a function of its floating-point arguments alone."""
    places = [i for i, value in enumerate(given) if is_float(value)]

    def function(*floats: jax.Array) -> jax.Array:
        filled = dict(zip(places, floats, strict=True))
        return call(row, [filled.get(i, value) for i, value in enumerate(given)])

    return function, [given[i] for i in places]


def is_smooth(row: FunctionRow) -> bool:
    """Its result moves with a floating-point argument."""
    floats = {p.type.domain for p in row.signature.params} - WHOLE - {"dim"}
    return bool(floats) and not row.hard and row.signature.result.domain not in WHOLE


SMOOTH_ROWS = [row for row in FUNCTIONS if is_smooth(row)]


# ---- the table


def test_the_arguments_that_facts_name_are_those_of_the_row() -> None:
    for row in FUNCTIONS:
        own = {p.name for p in row.signature.params}
        # A kernel has one fact for its forms with and without `y`.
        assert set(row.jumps.split()) <= own, row.text
        assert set(row.kinks.split()) - {"y"} <= own, row.text
        assert not set(row.jumps.split()) & set(row.kinks.split()), row.text


@by_text(FUNCTIONS)
def test_entries_are_jax_paths_or_helpers_with_the_parameters_of_the_row(row: FunctionRow) -> None:
    path = functions_by_text()[row.text].body
    if "." in path:
        assert path.startswith(("jax.", "jnp."))
        assert callable(resolve(path))
        return
    assert path in helpers()
    params = list(inspect.signature(implementation(row)).parameters.values())
    assert [p.kind == p.VAR_POSITIONAL for p in params] == [
        p.variadic for p in row.signature.params
    ]
    for own, param in zip(params, row.signature.params, strict=True):
        if param.optional:
            assert own.default == float(param.default)
        else:
            assert own.default is own.empty


def test_helpers_do_not_hide_python_or_jax() -> None:
    import builtins

    assert not helpers().keys() & {*dir(builtins), "jax", "jnp", "lax", "numpyro"}


# ---- shapes and precision


def check_type(row: FunctionRow, result: jax.Array | jax.ShapeDtypeStruct, dtype: type) -> None:
    """Whole and true results are ints and bools; others have the precision of the arguments, if
    there are any.
    """
    word = row.signature.result.domain
    assert result.shape == shape(row.signature.result)
    if word == "bool":
        assert result.dtype == bool
    elif word in WHOLE:
        assert jnp.issubdtype(result.dtype, jnp.integer)
    else:
        assert result.dtype == (dtype if of_floats(row, arguments(row))[1] else float)


@by_text([row for row in FUNCTIONS if row.name != "size"])
def test_shapes_are_declared_and_single_precision_is_kept(row: FunctionRow) -> None:
    function, floats = of_floats(row, arguments(row, np.float32))
    check_type(row, jax.eval_shape(function, *floats), np.float32)


def test_the_size_of_a_dim_is_a_python_int() -> None:
    (row,) = (row for row in FUNCTIONS if row.name == "size")
    assert call(row, arguments(row)) == SIZES["D"]


@by_text([row for row in FUNCTIONS if row.signature.elementwise and len(row.signature.params) > 1])
def test_elementwise_rows_broadcast_a_number(row: FunctionRow) -> None:
    first, *rest = arguments(row)
    column = jnp.stack([first, first])
    for given in ([column, *rest], [first, *(jnp.stack([v, v]) for v in rest)]):
        assert jax.eval_shape(implementation(row), *given).shape == (2,)


# ---- whole numbers and truths where reals are wanted


REALS = {"real", "positive", "nonnegative", "unit"}


def takes_reals(row: FunctionRow) -> bool:
    return bool(row.signature.params) and {p.type.domain for p in row.signature.params} <= REALS


def identity(type_: TypeSpec, dtype: type) -> jax.Array:
    """A one, ones or the identity matrix: they are in the domain of every row, or at its end."""
    dims = shape(type_)
    return jnp.asarray(np.eye(*dims) if len(dims) == 2 else np.ones(dims), dtype)


@by_text([row for row in FUNCTIONS if takes_reals(row)])
@pytest.mark.parametrize("dtype", [bool, int])
def test_whole_numbers_and_truths_are_read_as_floats(row: FunctionRow, dtype: type) -> None:
    with jax.numpy_dtype_promotion("standard"):
        result = jax.eval_shape(
            implementation(row), *(identity(p.type, dtype) for p in row.signature.params)
        )
    assert jnp.issubdtype(result.dtype, jnp.floating) == (row.signature.result.domain not in WHOLE)


@pytest.mark.slow
@by_text([row for row in FUNCTIONS if takes_reals(row)])
@pytest.mark.parametrize("dtype", [bool, int])
def test_whole_numbers_and_truths_give_the_numbers_of_floats(row: FunctionRow, dtype: type) -> None:
    """JAX's own functions compute with truths in single precision."""
    with jax.numpy_dtype_promotion("standard"):
        result = call(row, [identity(p.type, dtype) for p in row.signature.params])
        expected = call(row, [identity(p.type, float) for p in row.signature.params])
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=2e-6)


# ---- derivatives


@by_text([row for row in SMOOTH_ROWS if "." not in functions_by_text()[row.text].body])
def test_gradients_are_traced_in_batches_and_keep_single_precision(row: FunctionRow) -> None:
    function, floats = of_floats(row, arguments(row, np.float32))
    gradient = jax.grad(
        lambda *values: jnp.sum(function(*values)), argnums=tuple(range(len(floats)))
    )
    traced = jax.eval_shape(jax.vmap(gradient), *(jnp.stack([v, v]) for v in floats))
    assert [(g.shape, g.dtype) for g in traced] == [((2, *v.shape), np.float32) for v in floats]
