"""`%load_ext dpc`, then `%%dp name` atop a notebook cell: the cell is a model under that name."""

import sys
from typing import Any

from dpc.dsl.diagnostics import DpError

from ..model.load import parse
from ..model.model import Model


def register(shell: Any) -> None:
    """Adds the cell magic to an IPython shell."""

    def dp(line: str, cell: str) -> Model | None:
        """%%dp NAME [function ...]: extern functions are taken from the notebook by their names."""
        name, *functions = line.split() or ["model"]
        try:
            model = parse(cell, **{function: shell.user_ns[function] for function in functions})
        except DpError as error:
            print(error, file=sys.stderr)
            return None
        shell.user_ns[name] = model
        return model

    shell.register_magic_function(dp, "cell", "dp")
