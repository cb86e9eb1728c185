"""What data mean to a model: sizes, labels, defaults, and the same arrays whatever way they
come.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers import graph
from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.data import BoundData, bind_data
from dpc.data.arrays import CONSTRAINTS
from dpc.dsl.graph.types import CONSTRAINT_RANK


def bind(lines: str, *sources: Any, **options: Any) -> BoundData:
    return bind_data(graph(lines + "\nz ~ Normal(0, 1)\n"), *sources, **options)


# ---- labels


@pytest.mark.parametrize(
    ("county", "labels", "positions"),
    [
        (["b", "c", "a", "b"], ("a", "b", "c"), [1, 2, 0, 1]),
        (pd.Categorical(["b", "c", "b"], ["c", "b", "a"]), ("c", "b", "a"), [1, 0, 1]),
        (pd.Series([30, 10], dtype=pd.CategoricalDtype([30, 20, 10])), ("30", "20", "10"), [0, 2]),
        (np.array(["10", "9"]), ("10", "9"), [0, 1]),
        (["NA", "nan"], ("NA", "nan"), [0, 1]),
    ],
)
def test_order_of_labels(county: Any, labels: tuple[str, ...], positions: list[int]) -> None:
    bound = bind("dim C\ndim N\ndata county[N] : C", {"county": county})
    assert bound.labels == {"C": labels}
    assert bound.sizes["C"] == len(labels)
    assert bound.arrays["county"].tolist() == positions


@pytest.mark.parametrize(
    ("cells", "labels", "positions"),
    [
        (["1", "0", "1"], None, [1, 0, 1]),
        (["1.0", "0"], None, [1, 0]),
        (["01", "02", "01"], ("01", "02"), [0, 1, 0]),
        (["NA", "US"], ("NA", "US"), [0, 1]),
        (["2", "x"], ("2", "x"), [0, 1]),
    ],
)
def test_numbers_and_labels_in_text(
    cells: list[str], labels: tuple[str, ...] | None, positions: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["county", *cells]))
    bound = bind("dim C\ndim N\ndata county[N] : C", path)
    assert bound.labels.get("C") == labels
    assert bound.arrays["county"].tolist() == positions


def test_two_variables_share_the_labels_of_their_dim() -> None:
    lines = "dim Team\ndim Game\ndata home[Game] : Team\ndata away[Game] : Team"
    bound = bind(lines, {"home": ["b", "c"], "away": ["a", "b"]})
    assert bound.labels["Team"] == ("a", "b", "c")
    assert bound.arrays["away"].tolist() == [0, 1]
    assert bind(lines, {"home": [0, 2], "away": [1, 0]}).sizes["Team"] == 3


def test_a_column_with_the_name_of_a_dim_holds_its_labels(tmp_path: Path) -> None:
    (tmp_path / "county.csv").write_text("County,uranium\nRamsey,1.5\nAnoka,2.5\n")
    (tmp_path / "rows.csv").write_text("county\nAnoka\nAnoka\nRamsey\n")
    lines = "dim County\ndim Obs\ndata county[Obs] : County\ndata uranium[County] : real"
    bound = bind(lines, tmp_path / "rows.csv", tmp_path / "county.csv")
    assert bound.labels == {"County": ("Ramsey", "Anoka")}
    assert bound.arrays["county"].tolist() == [1, 1, 0]


def test_years_are_labels_and_counts_are_not() -> None:
    lines = "dim Year\ndata n[Year] : int"
    assert bind(lines, {"Year": [1851, 1852], "n": [4, 5]}).labels == {"Year": ("1851", "1852")}
    assert bind(lines, {"Year": [0, 1], "n": [4, 5]}).labels == {}


def test_entries_with_labels_are_put_in_the_order_of_the_model() -> None:
    lines = "dim L = low | mid | high\ndim N\ndata x[N, L] : real"
    rows = [[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]]
    names = ["high", "low", "mid"]
    columns = pd.DataFrame(rows, columns=[f"x.{name}" for name in names])
    labelled = xr.Dataset({"x": (("N", "L"), rows)}, coords={"L": names})
    for source in (columns, labelled, labelled.transpose("L", "N")):
        assert bind(lines, source).arrays["x"].tolist() == [[1, 2, 3], [4, 5, 6]]


def test_an_index_of_text_labels_rows() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4]}, index=["u", "v"])
    bound = bind("dim N\ndata x[N] : real\ndata y[N] : int", frame)
    assert bound.labels == {"N": ("u", "v")}


def test_counted_columns_go_by_number_not_by_place() -> None:
    order = [10, 2, 0, 1, 3, 4, 5, 6, 7, 8, 9]
    frame = pd.DataFrame({f"x.{k}": [float(k)] for k in order})
    for dim in ("dim F", "dim F = 11"):
        bound = bind(f"{dim}\ndim N\ndata x[N, F] : real", frame)
        assert bound.arrays["x"].tolist() == [list(range(11))]
        assert bound.labels == {}


# ---- kinds


def test_kinds_and_shapes() -> None:
    lines = (
        "dim N\ndata r : real\ndata i[N] : int\ndata b[N] : bool\ndata k[N] : N\ndata m[N, N] "
        ": real"
    )
    bound = bind(
        lines, {"r": 1, "i": [1.0, -2.0], "b": [1, 0], "k": [1.0, 0.0], "m": np.eye(2, dtype="f4")}
    )
    kinds = {name: (array.dtype.str, array.shape) for name, array in bound.arrays.items()}
    assert kinds == {
        "r": ("<f8", ()), "i": ("<i8", (2,)), "b": ("|b1", (2,)), "k": ("<i8", (2,)), "m": ("<f8", (2, 2)),
    }  # fmt: skip


@pytest.mark.parametrize("values", [[True, False], [1, 0], [1.0, 0.0], ["true", "False"]])
def test_truth(values: list[Any]) -> None:
    assert bind("dim N\ndata b[N] : bool", {"b": values}).arrays["b"].tolist() == [True, False]


def test_truth_in_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("b\n1\n0\ntrue\nFALSE\n")
    assert bind("dim N\ndata b[N] : bool", tmp_path / "t.csv").arrays["b"].tolist() == [
        True,
        False,
        True,
        False,
    ]


GOOD = {
    "simplex": [0.2, 0.3, 0.5 + 5e-7],
    "ordered": [-1, 0, 7],
    "positive_ordered": [0.5, 1, 7],
    "unit_vector": [0.6, 0, -0.8],
    "cholesky": [[2, 0, 0], [5, 1, 0], [0, -3, 1]],
    "corr_cholesky": [[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]],
    "covariance": [[2, 1, 0], [1, 2, 0], [0, 0, 1e-4]],
    "correlation": [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]],
}


@pytest.mark.parametrize("name", CONSTRAINT_RANK)
def test_constraints_hold(name: str) -> None:
    assert set(CONSTRAINTS) == set(CONSTRAINT_RANK)
    dims = ", ".join(["D"] * CONSTRAINT_RANK[name])
    lines = f"dim D\ndim N\ndata one[{dims}] : {name}\ndata many[N, {dims}] : {name}"
    bound = bind(lines, {"one": GOOD[name], "many": [GOOD[name]] * 2})
    np.testing.assert_array_equal(bound.arrays["many"][1], GOOD[name])


# ---- defaults, sizes, what may be absent


def test_defaults() -> None:
    lines = (
        "dim A = 3\ndim L = a | b\ndim N\ndata list[A] : real = [1, 2, -3]\ndata label : L = b\n"
        "data labels[L] : L = [b, a]\ndata fill[A, N] : int = 2\ndata made[N] : real = ones(N)\n"
        "data half[A] : real = [1, 2, 3] / 2\ndata yes : bool = true\ndata root : real = sqrt(4)\n"
        "data grid[A, L] : real = [[1, 2], [3, 4], [5, 6]]\ndata unit[A, A] : covariance = eye(A)\n"
        "data minus[N] : real = -full(2.5, N) ^ 2"
    )
    arrays = bind(lines, sizes={"N": 2}).arrays
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "list": [1, 2, -3], "label": 1, "labels": [1, 0], "fill": [[2, 2]] * 3, "made": [1, 1],
        "half": [0.5, 1, 1.5], "yes": True, "root": 2, "grid": [[1, 2], [3, 4], [5, 6]],
        "unit": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "minus": [-6.25, -6.25],
    }  # fmt: skip
    assert arrays["list"].dtype == arrays["fill"].astype(float).dtype
    assert arrays["fill"].dtype == np.int64
    assert bind("dim A = 3\ndata x[A] : real = [1, 2, 3]", {"x": [4, 5, 6]}).arrays[
        "x"
    ].tolist() == [4, 5, 6]


def test_observed_variables_may_be_absent_for_sampling() -> None:
    model = graph("dim N\ndata x[N] : real\nobserved y[N] : real\ny[i in N] ~ Normal(x[i], 1)\n")
    assert list(bind_data(model, {"x": [1.0]}, partial=True).arrays) == ["x"]
    assert list(bind_data(model, {"x": [1.0], "y": [2.0]}, partial=True).arrays) == ["x", "y"]


def test_empty_dims() -> None:
    bound = bind(
        "dim N\ndim K\ndata x[N] : real\ndata k[N] : K", {"x": [], "k": []}, sizes={"K": 2}
    )
    assert bound.sizes == {"N": 0, "K": 2}
    assert bound.arrays["k"].dtype == np.int64


def test_empty_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n")
    assert bind("dim N\ndata x[N] : real\ndata y[N] : bool", tmp_path / "t.csv").sizes == {"N": 0}


def test_reading_text_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    code = (
        f"import sys, dpc.data as d; d.read_data({str(tmp_path / 't.csv')!r}); print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"jax", "pandas", "xarray", "pyarrow", "h5py"} & set(run.stdout.split())


# ---- properties

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "real": FLOATS,
    "int": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "real(lower=0, upper=1)": st.floats(0, 1),
    "L": st.sampled_from(["low", "mid", "high"]),
    "P": st.integers(0, 4),
}
CODES = {"low": 0, "mid": 1, "high": 2}


@st.composite
def random_data(draw: st.DrawFn) -> tuple[str, dict[str, int], dict[str, Any], dict[str, Any]]:
    """A model, the sizes of its dims, its data as nested lists, and the arrays they should
    become.
    """
    sizes = {"N": draw(st.integers(1, 4)), "M": draw(st.integers(1, 3)), "L": 3, "P": 5}
    lines = ["dim N", "dim M", "dim L = low | mid | high", "dim P = 5"]
    data, expected = {}, {}
    for k in range(draw(st.integers(1, 4))):
        type_ = draw(st.sampled_from(sorted(TYPES)))
        dims = ["N", *draw(st.sampled_from([[], ["M"], ["L"], ["P"]]))]
        shape = tuple(sizes[dim] for dim in dims)
        count = int(np.prod(shape))
        values = np.array(
            draw(st.lists(TYPES[type_], min_size=count, max_size=count)), dtype=object
        ).reshape(shape)
        lines.append(f"data v{k}[{', '.join(dims)}] : {type_}")
        data[f"v{k}"] = values.tolist()
        dtype = {"bool": bool, "int": np.int64, "L": np.int64, "P": np.int64}.get(type_, float)
        codes = np.vectorize(CODES.get, otypes=[object])(values) if type_ == "L" else values
        expected[f"v{k}"] = codes.astype(dtype)
    unused = {
        dim
        for dim in ("N", "M")
        if not any(f"{dim}]" in line or f"[{dim}" in line for line in lines)
    }
    return "\n".join(lines), {dim: sizes[dim] for dim in unused}, data, expected


def spread(data: dict[str, Any]) -> pd.DataFrame:
    """Two axes are columns `x.0`, `x.1`, or `x.low` for the axis with labels."""
    columns: dict[str, Any] = {}
    for name, values in data.items():
        if isinstance(values[0], list):
            columns |= {f"{name}.{k}": [row[k] for row in values] for k in range(len(values[0]))}
        else:
            columns[name] = values
    return pd.DataFrame(columns)


def labelled(frame: pd.DataFrame, lines: str) -> pd.DataFrame:
    over_labels = [line.split("[")[0].split()[1] for line in lines.splitlines() if "[N, L]" in line]
    return frame.rename(
        columns={
            f"{name}.{k}": f"{name}.{label}" for name in over_labels for label, k in CODES.items()
        }
    )


@settings(max_examples=40, deadline=None)
@given(random_data())
def test_every_way_leads_to_the_same_arrays(
    case: tuple[str, dict[str, int], dict[str, Any], dict[str, Any]],
) -> None:
    lines, sizes, data, expected = case
    model = graph(lines + "\nz ~ Normal(0, 1)\n")
    with tempfile.TemporaryDirectory() as folder:
        json_path, npz_path, csv_path = (
            Path(folder) / name for name in ("d.json", "d.npz", "d.csv")
        )
        json_path.write_text(json.dumps(data))
        np.savez(npz_path, **{name: np.array(values) for name, values in data.items()})
        frame = labelled(spread(data), lines)
        frame.to_csv(csv_path, index=False)
        for source in (json_path, npz_path, csv_path, data, frame):
            bound = bind_data(model, source, sizes=sizes)
            assert set(bound.arrays) == set(expected)
            for name, array in expected.items():
                assert bound.arrays[name].dtype == array.dtype
                np.testing.assert_array_equal(bound.arrays[name], array)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=1))
def test_labels_are_sorted_and_found_again(words: list[str]) -> None:
    bound = bind_data(LABELLED, {"c": words})
    assert list(bound.labels["C"]) == sorted(set(words))
    assert [bound.labels["C"][k] for k in bound.arrays["c"]] == words


LABELLED = graph("dim C\ndim N\ndata c[N] : C\nz ~ Normal(0, 1)\n")
