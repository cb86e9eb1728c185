"""Helpers as text: what is pasted into a program computes what the helpers compute."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jax import lax
from test_runtime_rows import arguments, by_text, implementation

from dpc.dsl.library.bodies.source import MODULES, helper_source, helpers, resolve
from dpc.dsl.library.functions import FUNCTIONS, FunctionRow, functions_by_text

OWN = [row for row in FUNCTIONS if "." not in functions_by_text()[row.text].body]


def run(text: str) -> dict[str, Any]:
    """The names defined by a program with the imports that a printed one may have."""
    space: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax, "dist": dist}
    space |= {"Any": Any, "Callable": Callable}
    exec(compile(text, "<pasted>", "exec", dont_inherit=True), space)
    return space


def defined(text: str) -> list[str]:
    kinds = ast.FunctionDef | ast.ClassDef
    return [node.name for node in ast.parse(text).body if isinstance(node, kinds)]


def free_names(text: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(text)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    kinds = ast.FunctionDef | ast.ClassDef
    bound |= {node.name for node in nodes if isinstance(node, kinds)}
    return {node.id for node in names} - bound


def test_no_two_helpers_have_one_name() -> None:
    names = [name for module in MODULES for name in defined(inspect.getsource(module))]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", helpers())
def test_every_helper_stands_alone(name: str) -> None:
    """Its text runs without imports, and each function stands after those it uses, once."""
    text = helper_source([name])
    order = defined(text)
    assert len(order) == len(set(order))
    space = run(text)
    for each in order:
        for used in helpers()[each].uses if each in helpers() else ():
            assert order.index(used) < order.index(each)
    assert free_names(text) <= space.keys() | {*dir(builtins)}


def test_helpers_are_pasted_once() -> None:
    text = helper_source(["softargmax", "sparseargmax", "softargmax"])
    assert text.count("def scaled_scores") == text.count("def softargmax(") == 1
    assert "import" not in text


def test_a_parameter_is_not_taken_for_a_helper() -> None:
    assert "step" in helpers()
    assert "def step(" not in helper_source(["soft_loop"])


@pytest.mark.parametrize("name", ["soft_insert", pytest.param("entargmax", marks=pytest.mark.slow)])
def test_pasted_helpers_give_the_same_numbers_and_slopes(name: str) -> None:
    row = next(row for row in OWN if row.name == name)
    pasted = run(helper_source([name]))[name]
    given = arguments(row)
    for function in (lambda f: f, lambda f: jax.grad(lambda *v: jnp.sum(f(*v)))):
        one, other = (jax.jit(function(f))(*given) for f in (pasted, implementation(row)))
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@by_text(OWN)
def test_all_pasted_helpers_give_the_same_numbers(row: FunctionRow) -> None:
    path = functions_by_text()[row.text].body
    given = arguments(row)
    np.testing.assert_array_equal(run(helper_source([path]))[path](*given), resolve(path)(*given))
