"""Arrays in a zip file, as NumPy writes them: sizes are checked first, and nothing is unpickled."""

import zipfile
from math import prod
from pathlib import Path

from numpy.lib import format as npy

from .errors import problem
from .raw import Array, repeated, verify_size

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def arrays_of_npz(path: Path) -> dict[str, Array]:
    """The arrays by name; on a damaged file it raises whatever the libraries do."""
    with zipfile.ZipFile(path) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        twice = repeated(name.removesuffix(".npy") for name in archive.namelist())
        if twice is not None:
            raise problem(twice, f"`{twice}` comes twice in {path.name}", place=path.name)
        verify_size(sum(member.file_size for member in members.values()), path.name)
        return {name: _array(archive, member, path.name) for name, member in members.items()}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> Array:
    _verify_header(archive, member, where)
    with archive.open(member) as file:
        found: Array = npy.read_array(file, allow_pickle=False)
    return found


def _verify_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> None:
    """The header says no more and no less than what is there."""
    place = f"{where}, {member.filename}"
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in HEADERS:
            raise problem("", f"an array is in version {version} of its format", place=place)
        shape, _, dtype = HEADERS[version](file)
        if dtype.hasobject:
            help = "save numbers, or text of dtype `U`; pickled objects are never read"
            raise problem("", "an array holds Python objects", help, place)
        promised = prod(shape) * dtype.itemsize
        held = member.file_size - file.tell()
        verify_size(promised, where)
        if promised != held:
            message = f"an array of {where} has {held} bytes, but its header says {promised}"
            raise problem("", message, place=place)
