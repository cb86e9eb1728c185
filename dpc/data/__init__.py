"""From files and Python objects to checked NumPy arrays for a graph."""

from .bind import BoundData, bind_data
from .errors import DataError, Problem
from .raw import Raw, RawVariable
from .read import read_data

__all__ = ["BoundData", "DataError", "Problem", "Raw", "RawVariable", "bind_data", "read_data"]
