"""Every row computes on NumPy what it computes on JAX; its kinks and jumps are where it says."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from test_runtime_rows import arguments, by_text, call

from dpc.dsl.library.bodies.numpy_bodies import numpy_body
from dpc.dsl.library.functions import FUNCTIONS, FunctionRow


@by_text(FUNCTIONS)
def test_numpy_computes_what_jax_computes(row: FunctionRow) -> None:
    body = numpy_body(row)
    assert body is not None, row.text
    given = arguments(row)
    with np.errstate(all="ignore"):
        found = body(*(v if isinstance(v, int) else np.asarray(v) for v in given))
    expected = np.asarray(call(row, given))
    assert np.shape(found) == expected.shape
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-12)


def test_numpy_bodies_load_no_jax() -> None:
    code = (
        "import sys; from dpc.dsl.library.bodies.numpy_bodies import numpy_body\n"
        "from dpc.dsl.library.functions import FUNCTIONS\n"
        "assert all(map(numpy_body, FUNCTIONS)); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@by_text([row for row in FUNCTIONS if row.signature.params])
def test_every_real_argument_is_smooth_kinked_or_jumps(row: FunctionRow) -> None:
    for param in row.signature.params:
        assert row.smoothness(param.name) in {"", "smooth", "kinked", "jumps"}


GRID = np.linspace(-3.0, 3.0, 6001)
PLAIN = [
    row
    for row in FUNCTIONS
    if row.signature.elementwise
    and row.signature.params[0].type.domain in {"real", "num"}
    and row.signature.params[0].type.ends is None
]
NARROW = {"asin", "acos", "atanh", "erfinv", "log1p", "pow", "logdiffexp", "mod", "tan"}


@by_text([row for row in PLAIN if row.name not in NARROW])
def test_the_first_argument_moves_the_value_as_the_row_says(row: FunctionRow) -> None:
    """On a fine grid a jump is a large step, a kink a large step of the steps."""
    body = numpy_body(row)
    assert body is not None
    others = {"atan2": [-0.5], "clip": [-1.0, 1.0], "moreau_interval": [-1.0, 1.0], "elu": [2.0]}
    rest = others.get(row.name, [0.5] * (len(row.signature.params) - 1))
    values = np.asarray(body(GRID + 1e-4 / 3, *rest), float)
    steps = np.abs(np.diff(values))
    bends = np.abs(np.diff(values, 2))
    kinked = "kinked" if bends.max() > 1e-4 else "smooth"
    found = "jumps" if steps.max() > 0.1 else kinked
    assert found == row.smoothness(row.signature.params[0].name)
