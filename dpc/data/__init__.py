"""From files and Python objects to checked NumPy arrays for a graph."""

from .bind import Bound, bind_data
from .errors import DataError, Problem
from .raw import Raw, Variable
from .read import read_data

__all__ = ["Bound", "DataError", "Problem", "Raw", "Variable", "bind_data", "read_data"]
