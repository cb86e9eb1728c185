"""Tables from a CSV that is read a part at a time: counts of parts add up."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.graph.types import Dim, IndexOf

from ..data.errors import problem
from ..data.read_text import read_csv_parts
from .cases import Cases
from .choose import MethodChoice, NotApplicable
from .counts import table_uses
from .fit import fit_tables
from .options import FitOptions, verify_options
from .read_cases import read_cases
from .result import Fit
from .roles import find_roles

PART = 100_000


def fit_csv(graph: Graph, path: str, options: FitOptions) -> Fit:
    """Every case is read once and forgotten."""
    if not path.lower().endswith((".csv", ".csv.gz")):
        raise NotApplicable(f"only a CSV is read a part at a time, and {path} has another ending")
    if options.method not in ("auto", "counts") or options.loss != "likelihood":
        raise NotApplicable("only tables are learned a part at a time, by `counts`")
    verify_labels(graph)
    parts = csv_cases(graph, path)
    first = next(parts, None)
    if first is None:
        raise problem("", f"{path} has no rows below its header")
    verify_options(options, "counts")
    roles = find_roles(graph, first.given, rows_are_cases=True)
    if table_uses(roles) is None:
        raise NotApplicable("a CSV is streamed for tables alone, with a column for every draw")

    why = (
        "the data are complete and all that is unknown are tables: relative frequencies, a part "
        "of the file at a time"
    )
    return fit_tables(
        roles, map(complete, chain([first], parts)), options, MethodChoice("counts", why), ()
    )


def complete(cases: Cases) -> Cases:
    """The same cases; raises NotApplicable for missing entries."""
    for group in cases.groups:
        for name in group.missing:
            raise NotApplicable(
                f"`{name}` has missing entries, which cannot be summed over a part at a time"
            )
    return cases


def csv_cases(graph: Graph, path: str) -> Iterator[Cases]:
    """The rows of a file as cases, PART at a time."""
    for part in read_csv_parts(Path(path), PART):
        yield read_cases(graph, part)


def verify_labels(graph: Graph) -> None:
    """Parts of a file must agree on what the states are, so the model has to say."""
    for node in graph.of_kind(Kind.DRAW):
        domain = node.type.domain
        if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim) and domain.dim.size is None:
            raise NotApplicable(
                f"name the labels of `{domain.dim}` in the model: a part of the data may lack some"
            )
