"""NPZ: named arrays in a zip file. Sizes are read from headers first, and no object is ever
unpickled.
"""

from __future__ import annotations

import zipfile
from math import prod
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from .errors import collect_each, problem
from .items import variable_from_array
from .raw import Origin, Raw, RawVariable, repeated, verify_size

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npz(path: Path) -> Raw:
    where = path.name
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        verify_size(sum(member.file_size for member in members), where)
        names = [member.filename.removesuffix(".npy") for member in members]
        twice = repeated(names)
        if twice is not None:
            raise problem(twice, f"`{twice}` comes twice in {where}", place=where)
        named = zip(names, members, strict=True)
        return Raw(
            where,
            collect_each(
                lambda name, member: _variable(archive, member, Origin(where, name)), named
            ),
        )


def _variable(archive: zipfile.ZipFile, member: zipfile.ZipInfo, origin: Origin) -> RawVariable:
    where, place = origin.where, f"{origin.where}, {member.filename}"
    with archive.open(member) as file:
        shape, dtype = _read_header(file, place)
        promised, held = prod(shape) * dtype.itemsize, member.file_size - file.tell()
        verify_size(promised, where)
        if promised != held:
            raise problem(
                "",
                f"an array of {where} has {held} bytes, but its header says {promised}",
                place=place,
            )
    with archive.open(member) as file:
        return variable_from_array(npy.read_array(file, allow_pickle=False), origin)


def _read_header(file: IO[bytes], place: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise problem("", f"an array is in version {version} of its format", place=place)
    shape, _, dtype = HEADERS[version](file)
    if dtype.hasobject:
        help = "save numbers, or text of dtype `U`; pickled objects are never read"
        raise problem("", "an array holds Python objects", help, place)
    return shape, dtype
