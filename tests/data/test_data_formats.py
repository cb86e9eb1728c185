"""The same numbers from every format: written by the library of the format, read by ours."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr
from helpers import graph

from dpc.data import bind_data, read_data
from dpc.data.read import FORMATS
from dpc.dsl.graph.graph import Graph

MODEL = """model radon
dim County
dim Obs
dim F
data county[Obs] : County
data x[Obs, F]   : real
data basement[Obs] : bool
observed y[Obs]  : int(lower=0)
w[f in F]      ~ Normal(0, 1)
a[c in County] ~ Normal(0, 1)
y[i in Obs]    ~ Poisson(exp(a[county[i]] + dot(x[i], w) + (if basement[i] then 1.0 else 0.0)))
"""
COUNTY = ["Ramsey", 'An"oka', "Ramsey", "Cook, North"]
X = np.array([[0.1, -2.0], [1e-300, 3.5], [1 / 3, 7.0], [-0.25, 1e17]])
BASEMENT = np.array([True, False, False, True])
Y = np.array([0, 3, 2, 12345678901234567])
LABELS = ('An"oka', "Cook, North", "Ramsey")


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {"county": COUNTY, "x.u": X[:, 0], "x.v": X[:, 1], "basement": BASEMENT, "y": Y}
    )


def arrays() -> dict[str, np.ndarray]:
    return {"county": np.array(COUNTY), "x": X, "basement": BASEMENT, "y": Y}


def dataset() -> xr.Dataset:
    over_rows = {name: ("Obs", value) for name, value in arrays().items() if name != "x"}
    return xr.Dataset({**over_rows, "x": (("Obs", "F"), X)}, coords={"F": ["u", "v"]})


def write_json(path: Path) -> None:
    path.write_text(
        json.dumps({name: value.tolist() for name, value in arrays().items()} | {"F": ["u", "v"]})
    )


def write_groups(path: Path) -> None:
    whole = dataset()
    whole[["y"]].to_netcdf(path, group="observed_data", engine="h5netcdf")
    whole[["county", "x", "basement"]].to_netcdf(
        path, group="constant_data", engine="h5netcdf", mode="a"
    )
    xr.Dataset({"w": ("F", [1.0, 2.0])}).to_netcdf(
        path, group="posterior", engine="h5netcdf", mode="a"
    )


WRITERS: list[tuple[str, Callable[[Path], object]]] = [
    ("d.csv", lambda path: frame().to_csv(path, index=False)),
    ("d.csv.gz", lambda path: frame().to_csv(path, index=False)),
    (
        "bom.csv",
        lambda path: frame().to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n"),
    ),
    ("d.tsv", lambda path: frame().to_csv(path, index=False, sep="\t")),
    ("D.TSV.GZ", lambda path: frame().to_csv(path, index=False, sep="\t", compression="gzip")),
    ("d.json", write_json),
    ("d.npz", lambda path: np.savez(path, **arrays(), F=np.array(["u", "v"]))),
    ("packed.npz", lambda path: np.savez_compressed(path, **arrays(), F=np.array(["u", "v"]))),
    ("d.nc", lambda path: dataset().to_netcdf(path, engine="h5netcdf")),
    ("groups.nc", write_groups),
    ("d.parquet", lambda path: frame().to_parquet(path)),
]


@pytest.fixture(scope="module")
def model() -> Graph:
    return graph(MODEL)


@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
def test_every_format_gives_the_same_arrays(
    name: str, write: Callable[[Path], object], tmp_path: Path, model: Graph
) -> None:
    write(tmp_path / name)
    verify(bind_data(model, tmp_path / name))


def verify(bound: object) -> None:
    assert bound.sizes == {"County": 3, "Obs": 4, "F": 2}
    assert bound.labels == {"County": LABELS, "F": ("u", "v")}
    assert list(bound.arrays) == ["county", "x", "basement", "y"]
    for name, expected in {**arrays(), "county": np.array([2, 0, 2, 1])}.items():
        assert bound.arrays[name].dtype == expected.dtype, name
        np.testing.assert_array_equal(bound.arrays[name], expected)


def test_the_classic_netcdf_format(tmp_path: Path) -> None:
    """It has no 64-bit integers, so it cannot hold the data above."""
    model = graph("dim Obs\nobserved y[Obs] : real\ny[i in Obs] ~ Normal(0, 1)\n")
    xr.Dataset({"y": ("Obs", [1.5, 2.5])}).to_netcdf(tmp_path / "old.nc", engine="scipy")
    np.testing.assert_array_equal(bind_data(model, tmp_path / "old.nc").arrays["y"], [1.5, 2.5])


def test_every_ending_is_tested() -> None:
    tested = [name.lower() for name, _ in WRITERS]
    for row in FORMATS:
        for ending in row.endings:
            assert any(name.endswith(ending) for name in tested), ending


@pytest.mark.parametrize(
    "source",
    [
        lambda: frame(),
        lambda: frame().convert_dtypes(),
        lambda: frame()[["y", "x.u", "basement", "x.v", "county"]].set_axis([7, 5, 3, 1]),
        lambda: pa.Table.from_pandas(frame()),
        lambda: dataset(),
        lambda: dataset().transpose("F", "Obs"),
        lambda: {**arrays(), "F": ["u", "v"]},
        lambda: {name: value.tolist() for name, value in arrays().items()} | {"F": ("u", "v")},
        lambda: {**arrays(), "x": dataset()["x"].T, "county": pd.Series(COUNTY)},
        lambda: {
            **arrays(),
            "x": [X[0], list(X[1]), tuple(X[2]), X[3]],
            "F": np.array(["u", "v"], dtype=object),
        },
    ],
    ids=[
        "pandas",
        "nullable",
        "shuffled",
        "arrow",
        "xarray",
        "transposed",
        "arrays",
        "lists",
        "mixed",
        "nested",
    ],
)
def test_python_objects_give_the_same_arrays(source: Callable[[], object], model: Graph) -> None:
    verify(bind_data(model, source()))


def test_jax_arrays_are_arrays() -> None:
    import jax.numpy as jnp

    model = graph("dim Obs\nobserved y[Obs] : real\ny[i in Obs] ~ Normal(0, 1)\n")
    np.testing.assert_array_equal(bind_data(model, {"y": jnp.arange(3.0)}).arrays["y"], [0, 1, 2])


def test_sources_complete_each_other(tmp_path: Path, model: Graph) -> None:
    frame()[["county", "y"]].to_csv(tmp_path / "rows.csv", index=False)
    np.savez(tmp_path / "x.npz", x=X)
    verify(
        bind_data(
            model,
            tmp_path / "rows.csv",
            read_data(tmp_path / "x.npz"),
            {"basement": BASEMENT, "F": ["u", "v"]},
        )
    )


def test_stan_layout(tmp_path: Path) -> None:
    model = graph(
        "dim N\ndim K\ndata x[N, K] : real\ndata s : real\nobserved y[N] : int\ny[i in N] ~ "
        "Poisson(s + x[i, 0])\n"
    )
    (tmp_path / "stan.json").write_text(
        '{"N": 2, "K": 3, "x": [[1, 2, 3], [4, 5, 6.5]], "s": 0.5, "y": [1, 2]}'
    )
    bound = bind_data(model, tmp_path / "stan.json")
    assert bound.sizes == {"N": 2, "K": 3}
    assert bound.arrays["x"].tolist() == [[1, 2, 3], [4, 5, 6.5]]
    assert bound.arrays["s"].shape == ()
    assert bound.arrays["y"].dtype == np.int64


def test_many_rows_of_a_compressed_file(tmp_path: Path) -> None:
    rows = 100_000
    path = tmp_path / "big.csv.gz"
    path.write_bytes(gzip.compress(("y\n" + "1.25\n-3\n" * (rows // 2)).encode()))
    model = graph("dim Obs\nobserved y[Obs] : real\ny[i in Obs] ~ Normal(0, 1)\n")
    assert bind_data(model, path).arrays["y"].sum() == -1.75 * rows / 2
