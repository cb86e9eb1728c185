"""Every kind of problem is told in words, with the place and the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers import graph

import dpc
from dpc.data import DataError, bind_data

RADON = """model radon
dim County
dim Obs
data county[Obs] : County
data floor[Obs] : real
observed y[Obs] : real
a[c in County] ~ Normal(0, 1)
y[i in Obs] ~ Normal(a[county[i]] + floor[i], 1)
"""


def declared(*lines: str) -> str:
    """A model that reads the declared data and does nothing with them."""
    return "\n".join([*lines, "z ~ Normal(0, 1)\n"])


def problems(model: str, *sources: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        bind_data(graph(model), *sources, **options)
    return str(caught.value)


ROWS = {"county": ["a", "b"], "floor": [0, 1], "y": [1.5, 2]}
D, E, VECTOR = "dim D", "dim E", ("dim D", "data x[D] : real")
LEVEL = "dim Level = low | high"
LEVELLED = (LEVEL, "data x[Level] : real")
VALUES: list[tuple[str, tuple[str, ...], Any, tuple[str, ...]]] = [
    ("text for real", ("data x : real",), {"x": "three"}, ("`x` is real", "'three'")),
    ("fraction for int", (D, "data x[D] : int"), {"x": [1, 2.5]}, ("`x` is int", "2.5", "x[1]")),
    ("inf for int", ("data x : int",), {"x": float("inf")}, ("`x` is int", "inf")),
    ("huge for int", ("data x : int",), {"x": 1e19}, ("`x` is int", "1e+19")),
    ("unsigned for int", ("data x : int",), {"x": np.uint64(2**64 - 1)}, ("`x` is int", "18446744073709551615")),
    ("beyond 64 bits", ("data x : int",), {"x": 2**70}, ("`x`", "64 bits")),
    ("inexact mixture", (D, "data x[D] : int"), {"x": [2**53 + 1, 0.5]}, ("`x` mixes", "decimal point")),
    ("two for bool", (D, "data x[D] : bool"), {"x": [0, 1, 2]}, ("`x` is bool", "entry 2", "x[2]", "true or")),
    ("yes for bool", (D, "data x[D] : bool"), {"x": ["true", "yes"]}, ("`x` is bool", "'yes'", "x[1]")),
    ("lower", (D, "data x[D] : real(lower=0)"), {"x": [1, -0.5]}, ("-0.5", "lower bound 0", "x[1]")),
    ("upper", ("data x : int(upper=3)",), {"x": 4}, ("`x` has the entry 4", "upper bound 3")),
    ("unknown label", (LEVEL, "data x : Level"), {"x": "hihg"}, ("label 'hihg'", "not in `Level`", "mean 'high'")),
    ("position", (LEVEL, "data x : Level"), {"x": 2}, ("position 2", "`Level` has 2 members", "0 to 1")),
    ("negative position", (LEVEL, "data x : Level"), {"x": -1}, ("position -1",)),
    ("bool for index", (LEVEL, "data x : Level"), {"x": True}, ("index of `Level`", "truth values")),
    ("fraction for index", (LEVEL, "data x : Level"), {"x": 0.5}, ("an index of `Level`", "0.5")),
    ("missing", VECTOR, {"x": [1, None, float("nan")]}, ("2 missing values", "x[1]; the dict, x[2]")),
    ("missing label", (LEVEL, D, "data x[D] : Level"), {"x": ["low", None]}, ("1 missing value", "x[1]")),
    ("scalar for array", VECTOR, {"x": 1}, ("shape []", "declared `x[D]`")),
    ("array for scalar", ("data x : real",), {"x": [1]}, ("shape [1]", "single value")),
    ("rank", (D, E, "data x[D, E] : real"), {"x": [1]}, ("shape [1]", "declared `x[D, E]`")),
    ("shape", ("dim D = 3", "data x[D] : real"), {"x": [1]}, ("shape [1]", "`x[D]` is [3]", "by the model")),
    ("ragged", (D, E, "data x[D, E] : real"), {"x": [[1], [1, 2]]}, ("ragged", "x[1]")),
    ("uneven", VECTOR, {"x": [1, [2]]}, ("lists and values side by side",)),
    ("mixed", VECTOR, {"x": [1, "a"]}, ("mixes whole numbers and text", "x[1]")),
    ("object", ("data x : real",), {"x": {"a": 1}}, ("`x` holds objects",)),
    ("dates", VECTOR, {"x": np.array([0], "M8[D]")}, ("`x` holds datetime64", "neither numbers")),
    ("too many axes", ("data x : real",), {"x": np.zeros((1,) * 40).tolist()}, ("more than 32 axes",)),
    ("name", ("data x : real",), {"x": 1, 3: 2}, ("3 is no name",)),
    ("absent", (D, "data x[D] : real(lower=0)"), {}, ("the data lack `x`", "`data x[D] : real(lower=0)`")),
    ("a count for Stan", VECTOR, {"N": 2, "x": [1, 2]}, ("no data called `N`", "2 members of `D`, call it `D`")),
    ("unknown name", ("data xylo : real",), {"xylo": 1, "Xylo": 1}, ("no data called `Xylo`", "did you mean `xylo`?")),
    ("latent", ("data x : real",), {"x": 1, "z": 1}, ("`z` is a draw", "takes no data")),
    ("dim entry", VECTOR, {"x": [1], "D": 1.5}, ("`D` is a dim", "the list of its labels")),
    ("dim entries differ", VECTOR, {"x": [1], "D": 2}, ("`x[D]` is [2]", "`D` in the dict")),
    ("labels twice", VECTOR, {"x": [1, 2], "D": ["a", "a"]}, ("not distinct", "'a' comes twice")),
    ("labels differ", LEVELLED, {"x": [1, 2], "Level": ["low", "hgh"]}, ("no label 'hgh'", "mean 'high'")),
    ("labels lack", LEVELLED, {"x": [1, 2], "Level": ["low"]}, ("'high' of `Level` is left out",)),
    ("simplex", (D, "data x[D] : simplex"), {"x": [0.5, 0.6]}, ("is a simplex", "sum 1", "1e-06")),
    ("negative simplex", (D, "data x[D] : simplex"), {"x": [1.5, -0.5]}, ("not negative",)),
    ("ordered", (E, D, "data x[E, D] : ordered"), {"x": [[1, 2], [2, 2]]}, ("`x[1]` is not in increasing",)),
    ("positive", (D, "data x[D] : positive_ordered"), {"x": [-1, 2]}, ("not positive",)),
    ("unit", (D, "data x[D] : unit_vector"), {"x": [0.6, 0.9]}, ("not of length 1",)),
    ("cholesky", (D, "data x[D, D] : cholesky"), {"x": [[1, 1], [0, 1]]}, ("not lower triangular",)),
    ("corr_cholesky", (D, "data x[D, D] : corr_cholesky"), {"x": [[1, 0], [1, 1]]}, ("rows of length 1",)),
    ("covariance", (D, "data x[D, D] : covariance"), {"x": [[1, 2], [2, 1]]}, ("not symmetric and positive",)),
    ("infinite", (D, "data x[D, D] : covariance"), {"x": [[np.inf, 0], [0, 1.0]]}, ("positive definite",)),
    ("correlation", (D, "data x[D, D] : correlation"), {"x": [[2, 0], [0, 1]]}, ("ones on the diagonal",)),
    ("not square", (D, "data x[D, D] : covariance"), {"x": [[2, 0]]}, ("shape [1, 2]", "`x[D, D]` is [1, 1]")),
    ("bad default", ("dim D = 2", "data x[D] : simplex = 0.4"), {}, ("is a simplex",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "data", "parts"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES]
)
def test_values(lines: tuple[str, ...], data: dict[str, Any], parts: tuple[str, ...]) -> None:
    said = problems(declared(*lines), data)
    for part in parts:
        assert part in said


def test_the_layout_of_a_message(tmp_path: Path) -> None:
    path = tmp_path / "radon.csv"
    path.write_text("county,y\nRamsey,1\nRamsy,2\n")
    model = declared(
        "dim County = Ramsey | Anoka", "dim Obs", "data county[Obs] : County", "data y[Obs] : real"
    )
    assert problems(model, path) == (
        "data error: `county` has the label 'Ramsy', which is not in `County`\n"
        "  in radon.csv, line 3, column 1\n"
        "  help: did you mean 'Ramsey'?"
    )


def test_all_problems_are_reported_once_each() -> None:
    data = {"county": [1, 2, 85], "floor": [1, 2], "y": [1, None, 3.0], "flor": 2, "a": 3}
    with pytest.raises(DataError) as caught:
        bind_data(graph(RADON), data, sizes={"Country": 3})
    assert [problem.name for problem in caught.value.problems] == [
        "flor",
        "a",
        "Country",
        "y",
        "county",
        "floor",
    ]


def test_problems_of_several_entries_and_files(tmp_path: Path) -> None:
    said = problems(
        RADON,
        {"county": [1, "a"], "floor": [[1], []]},
        tmp_path / "nothing.csv",
        3,
        tmp_path / "x.xlsx",
    )
    for part in (
        "mixes",
        "ragged",
        "cannot read nothing.csv: No such file",
        "from a int",
        "no ending that is known",
    ):
        assert part in said


def test_missing_observations() -> None:
    said = problems(RADON, {**ROWS, "y": [float("nan"), 2]})
    assert "`y` has 1 missing value" in said
    assert "`dpc fit` and `dpc posterior` integrate over missing observations" in said


def test_a_name_in_two_sources() -> None:
    said = problems(RADON, ROWS, pd.DataFrame({"y": [1.0, 2.0]}))
    assert "`y` is given twice" in said
    assert "the dict and the DataFrame" in said


@pytest.mark.parametrize(
    ("positions", "parts"),
    [
        (
            [1, 85],
            (
                "from 1 to 85 with gaps (2 distinct)",
                "give labels as text",
                "an entry called `County`",
            ),
        ),
        (
            [1, 2],
            (
                "from 1 to 2 in `county`",
                "subtract 1",
                "give labels as text",
                "an entry called `County`",
            ),
        ),
        ([0, 2], ("from 0 to 2 with gaps",)),
        ([-1, 0], ("from -1 to 0",)),
    ],
)
def test_positions_that_tell_no_size(positions: list[int], parts: tuple[str, ...]) -> None:
    said = problems(RADON, {**ROWS, "county": positions})
    for part in parts:
        assert part in said
    assert said.count("data error") == 1


def test_sizes_that_disagree() -> None:
    model = declared("dim N", "data x[N] : real")
    assert "`x[N]` is [2]" in problems(model, {"x": [1]}, sizes={"N": 2})
    said = problems(model, {"x": [1, 2], "N": 3}, sizes={"N": 2})
    assert "`N` has 2 members by `sizes`, but 3 by `N` in the dict" in said
    said = problems(declared("dim N = 4", "data x[N] : real = 0"), sizes={"N": 2})
    assert "`N` has 4 members by the model, but 2 by `sizes`" in said
    said = problems(RADON, ROWS, sizes={"County": 3})
    assert "3 members by `sizes`, but 2 by the labels of `county`" in said
    said = problems(RADON, {**ROWS, "y": [1, 2, 3.0]})
    assert "`y` has shape [3], but `y[Obs]` is [2]" in said
    assert "by `county` in the dict" in said


@pytest.mark.parametrize("size", [-1, 1.5, True, 10**12, "3"])
def test_sizes_that_are_none(size: Any) -> None:
    assert "no count of members" in problems(
        declared("dim N", "data x[N] : real = 0"), sizes={"N": size}
    )


def test_a_dim_without_a_size() -> None:
    said = problems(
        declared("dim N", "dim Free", "data x[N] : real", "w[f in Free] ~ Normal(0, 1)"), {"x": [1]}
    )
    assert "nothing says how many members `Free` has" in said
    assert "an entry called `Free`" in said


def test_a_dim_below_the_least_size() -> None:
    model = (
        "dim T\nobserved y[T] : real\nm ~ Normal(0, 1)\ny[t in T] ~ Normal(m, 1)\ns := y[2] - "
        "y[0]\n"
    )
    said = problems(model, {"y": [1.0]})
    assert "`T` has 1 member, but the model needs at least 3" in said


def test_labels_whose_order_nobody_gave() -> None:
    """Sorting labels is harmless until an array without labels is laid beside them."""
    model = declared("dim C", "dim N", "data c[N] : C", "data u[C] : real", "data d[N] : C")
    said = problems(model, {"c": ["b", "a"], "u": [1, 2], "d": [0, 1]})
    assert "`u[C]` has no labels, but `c` names members of `C`" in said
    assert "`d` gives positions" in said
    bound = bind_data(graph(model), {"c": ["b", "a"], "u": [1, 2], "d": [0, 1], "C": ["b", "a"]})
    assert bound.arrays["c"].tolist() == [0, 1]


def test_levels_that_differ() -> None:
    model = declared("dim C", "dim N", "data c[N] : C", "data d[N] : C")
    frame = pd.DataFrame(
        {"c": pd.Categorical(["a"], ["a", "b"]), "d": pd.Categorical(["a"], ["a", "c"])}
    )
    said = problems(model, frame)
    assert "other levels by the levels of `c`" in said
    assert "the same categories" in said


def test_axes_in_the_wrong_place() -> None:
    model = declared("dim R = 2", "dim C = 2", "data x[R, C] : real")
    said = problems(model, xr.Dataset({"x": (("C", "other"), np.zeros((2, 2)))}))
    assert "has the axes [C, other], but is declared `x[R, C]`" in said


def test_frames_that_cannot_be_columns() -> None:
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    levels = pd.DataFrame({"x": [1, 2]}, index=pd.MultiIndex.from_tuples([(0, 1), (0, 2)]))
    model = declared("dim N", "data x[N] : real")
    assert "`x` comes twice" in problems(model, twice)
    assert "reset_index" in problems(model, levels)


TABLES = [
    ("cell", "y\n1\nx2\n", ("`y` is real", "'x2'", "line 3, column 1")),
    ("underscore", "y\n1_000\n", ("'1_000'",)),
    ("missing", "y\n1\nNA\n", ("1 missing value", "line 3")),
    ("after a quoted break", 'n,y\n"a\nb",1\nc,bad\n', ("'bad'", "line 4, column 2")),
    ("ragged", "y,n\n1,2\n1\n", ("1 cell", "header has 2 columns", "line 3")),
    ("too long", "y,n\n1,2,3\n", ("3 cells", "line 2")),
    ("empty line", "y\n1\n\n2\n", ("is empty", "line 3")),
    ("twice", "y,y\n1,2\n", ("'y' comes twice", "line 1")),
    ("no name", "y,\n1,2\n", ("column 2 has no name",)),
    ("open quote", 'y\n"1\n2\n', ("malformed", "line 3")),
    ("nothing", "", ("t.csv is empty",)),
    ("zero byte", "y\n\0\n", ("zero byte", "line 2")),
    ("semicolons", "y;n\n1;2\n", ("no data called `y;n`", "column 1")),
]


@pytest.mark.parametrize(
    ("text", "parts"), [row[1:] for row in TABLES], ids=[row[0] for row in TABLES]
)
def test_tables(text: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    said = problems(
        declared("dim N", "data y[N] : real", "dim M = a | b", "data n[N] : M = a"), path
    )
    for part in parts:
        assert part in said


@pytest.mark.parametrize(
    ("dim", "columns", "parts"),
    [
        ("F = a | b", ["x.a"], ("label 'b' of `F` is left out",)),
        ("F = a | b", ["x.a", "x.B"], ("no label 'B'", "mean 'b'")),
        ("F = 2", ["x.a", "x.b"], ("spread over `x.a`, `x.b`", "`x.0` to `x.1`")),
        ("F = 3", ["x.0", "x.1"], ("shape [2, 2]", "`x[N, F]` is [2, 3]")),
        ("F", ["x"], ("declared `x[N, F]`", "`x.a`, `x.b`")),
    ],
)
def test_spread_columns(
    dim: str, columns: list[str], parts: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame({name: [1.0, 2.0] for name in columns}).to_csv(path, index=False)
    said = problems(declared("dim N", f"dim {dim}", "data x[N, F] : real"), path)
    for part in parts:
        assert part in said


def test_a_bad_entry_of_columns_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x.b,x.a\n1,2\n-3,4\n")
    said = problems(declared("dim N", "dim F = a | b", "data x[N, F] : real(lower=0)"), path)
    assert "line 3, column 1" in said


def test_a_bad_cell_of_spread_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x.a,n,x.b\n1,2,3\n4,5,?\n")
    said = problems(declared("dim N", "dim F", "data x[N, F] : real", "data n[N] : int"), path)
    assert "'?'" in said
    assert "line 3, column 3" in said


def test_columns_of_different_kinds() -> None:
    said = problems(
        declared("dim N", "dim F", "data x[N, F] : real"), pd.DataFrame({"x.a": [1], "x.b": ["t"]})
    )
    assert "columns of different kinds" in said


def test_rows_that_pandas_names_differently_are_not_put_together() -> None:
    model = dpc.parse(
        "dim N\ndata x[N] : real\nobserved y[N] : real\ny[i in N] ~ Normal(x[i], 1)\n"
    )
    x = pd.Series([1.0, 2.0, 3.0], index=[2, 0, 1])
    with pytest.raises(dpc.DataError, match="another pandas index than `x`"):
        model.bind({"x": x, "y": pd.Series([1.0, 2.0, 3.0])})
    frame = pd.DataFrame({"x": x, "y": [4.0, 5.0, 6.0]})
    with pytest.raises(dpc.DataError, match="over the same dim `N`"):
        model.bind(frame[["x"]], pd.DataFrame({"y": [4.0, 5.0, 6.0]}))
    assert model.bind(frame[frame.x > 1])["x"].tolist() == [2.0, 3.0]
    assert model.bind({"x": x, "y": [4.0, 5.0, 6.0]})["x"].tolist() == [1.0, 2.0, 3.0]
    assert model.bind({"x": x, "y": x})["y"].tolist() == [1.0, 2.0, 3.0]
