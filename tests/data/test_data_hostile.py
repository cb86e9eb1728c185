"""Files that want to crash, fill or fool the reader get an answer in words."""

from __future__ import annotations

import gzip
import random
import struct
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

from dpc.data import DataError, raw, read_data

ENDINGS = [".csv", ".csv.gz", ".tsv", ".json", ".npz", ".nc", ".parquet"]


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_data(path)
    return str(caught.value)


def npy_header(shape: str, kind: str = "<f8") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def write_npz(path: Path, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", content)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("seed", range(3))
def test_binary_junk(ending: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / f"junk{ending}"
    path.write_bytes(b"\xff" + random.Random(seed).randbytes(2000))
    assert "junk" in refusal(path)


@pytest.mark.parametrize("ending", [".npz", ".nc", ".parquet", ".csv.gz"])
def test_truncated_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"cut{ending}"
    values = np.random.default_rng(0).normal(size=500)
    write = {
        ".npz": lambda: np.savez_compressed(path, x=values),
        ".nc": lambda: xr.Dataset({"x": ("N", values)}).to_netcdf(path, engine="h5netcdf"),
        ".parquet": lambda: pq.write_table(pa.table({"x": values}), path),
        ".csv.gz": lambda: path.write_bytes(gzip.compress(values.tobytes().hex().encode())),
    }
    write[ending]()
    whole = path.read_bytes()
    for size in (0, 4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        refusal(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_folder_and_nothing(ending: str, tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / f"none{ending}")
    (tmp_path / f"dir{ending}").mkdir()
    assert "cannot read" in refusal(tmp_path / f"dir{ending}")


def test_deep_json(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 10**7)
    assert "nested too deeply" in refusal(path)
    path.write_text('{"x": ' + "[" * 500 + "]" * 500 + "}")
    assert "more than 32 axes" in refusal(path)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"x": [1,\n 2,, 3]}', "line 2, column 4"),
        ('{"x": 1, "x": 2}', "`x` comes twice"),
        ("[1, 2]", "no object of names and values"),
        ('{"x": ' + "9" * 5000 + "}", "too many digits"),
        ('{"x": {"x": 1}}', "`x` holds"),
        ("", "line 1, column 1"),
    ],
)
def test_malformed_json(text: str, part: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert part in refusal(path)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("y\n1\n\xe9\n".encode("latin-1"))
    said = refusal(path)
    assert "not UTF-8" in said
    assert "line 3" in said


def test_npz_with_objects_is_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "o.npz", x=np.array([{}, print], dtype=object))
    assert "Python objects" in refusal(tmp_path / "o.npz")


def test_npz_that_claims_too_much(tmp_path: Path) -> None:
    assert "at most" in refusal(write_npz(tmp_path / "huge.npz", npy_header("(1000000000000,)")))
    assert "its header says 8000" in refusal(write_npz(tmp_path / "lie.npz", npy_header("(1000,)")))
    assert "is not a NPZ" in refusal(write_npz(tmp_path / "odd.npz", npy_header("(-1,)", "<f3")))


def test_netcdf_that_claims_too_much(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "huge.nc", "w") as file:
        file.create_dataset("N", shape=(10**12,), dtype="f8", chunks=(1000,)).make_scale("N")
    assert "at most" in refusal(tmp_path / "huge.nc")


def test_zip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "MAX_BYTES", 10_000)
    np.savez_compressed(tmp_path / "zeros.npz", x=np.zeros(2000))
    (tmp_path / "zeros.csv.gz").write_bytes(gzip.compress(b"y\n" + b"0\n" * 10_000))
    (tmp_path / "zeros.json").write_text('{"x": [' + "0," * 10_000 + "0]}")
    pq.write_table(pa.table({"x": np.zeros(2000)}), tmp_path / "zeros.parquet")
    with h5py.File(tmp_path / "zeros.nc", "w") as file:
        file.create_dataset("x", shape=(2000,), dtype="f8")
    for path in tmp_path.iterdir():
        assert "at most 1e+04 are read" in refusal(path), path


def test_names_that_come_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("x.npy", npy_header("(0,)"))
        archive.writestr("x", npy_header("(0,)"))
    assert "`x` comes twice" in refusal(tmp_path / "t.npz")
    for group, mode in (("observed_data", "w"), ("constant_data", "a")):
        xr.Dataset({"x": 1.0}).to_netcdf(
            tmp_path / "g.nc", group=group, engine="h5netcdf", mode=mode
        )
    assert "`x` is in both" in refusal(tmp_path / "g.nc")
    xr.Dataset({"x": 1.0}).to_netcdf(tmp_path / "p.nc", group="posterior", engine="h5netcdf")
    assert "neither observed_data nor constant_data" in refusal(tmp_path / "p.nc")
    pq.write_table(
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]),
        tmp_path / "t.parquet",
    )
    assert "`x` comes twice" in refusal(tmp_path / "t.parquet")


def test_columns_of_lists(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [[1], [2, 3]]}), tmp_path / "l.parquet")
    assert "a column of list" in refusal(tmp_path / "l.parquet")


def test_messages_hide_control_characters(tmp_path: Path) -> None:
    path = tmp_path / "esc.json"
    path.write_text('{"\\u001b[31m": {}}')
    assert "\x1b" not in refusal(path)
