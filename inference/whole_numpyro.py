"""NumPyro as a whole module, where ArviZ 1.x was imported before and left a lazy one behind.

A submodule imported from such a one loses its names: `numpyro.factor` then fails. Packages that use
NumPyro import this first.
"""

import sys

_ = getattr(sys.modules.get("numpyro"), "__version__", None)
