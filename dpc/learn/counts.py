"""p[row, k] = (count[row, k] + prior - 1) / sum over k: complete data and tables, nothing compiled.

Counts add up, so any number of rows can be read a chunk at a time.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, product
from math import prod
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from dpc.dsl.graph import core as c
from dpc.dsl.graph.evaluate import Array, Evaluator, NeedsJax, Sizes
from dpc.dsl.graph.forms import entry
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.parts import without_pieces
from dpc.dsl.graph.passes.tables import is_table
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import FIRST, LAST, Bool, Dim, IndexOf, Type
from dpc.dsl.library.rows import Update
from dpc.dsl.record import Record
from dpc.dsl.source import Span

from ..data.errors import problem
from ..data.read import read_csv_parts
from ..model.model import Model
from .cases import CASE, CaseGroup, Cases, about_cases, read_cases, shape_of
from .result import Fit, FitOptions, NotApplicable, read_smoothing, verify_options
from .roles import Roles, entry_of, find_roles, find_updates

Notes = tuple[str, ...]


class Use(Record):
    """A law that looks its probabilities up in a table."""

    table: Node
    child: Node
    piece: Any
    core: c.Core


def table_uses(roles: Roles) -> list[Use] | None:
    """Every use of every unknown, when all are tables, with Dirichlet or Beta priors or none."""
    updates = find_updates(roles)
    if roles.summed or not roles.is_normalised or not updates:
        return None
    if any(update not in (Update.PROBABILITIES, Update.CHANCE) for update in updates.values()):
        return None
    found = []
    for table in roles.unknowns:
        parts = [part for piece in table.pieces for part in c.walk(piece.body)]
        if any(isinstance(part, c.Ref | c.CallFn) for part in parts):
            return None
        own = list(_uses_of(table, roles.graph))
        if not all(use.piece.body.facts.finite for use in own):
            return None
        found += own
    return found


def _uses_of(table: Node, graph: Graph) -> Iterator[Use]:
    for child in graph.of_kind(Kind.DRAW):
        for piece in child.pieces:
            assert isinstance(piece.body, c.Law)
            for _, core in piece.body.arguments:
                if entry_of(core, table.name):
                    yield Use(table, child, piece, core)


def count_cases(
    uses: list[Use], shapes: dict[str, tuple[int, ...]], cases: Cases
) -> dict[str, Array]:
    """How often each entry of each table is seen, with two columns for a probability."""
    found = {name: np.zeros(shape) for name, shape in shapes.items()}
    for group in cases.groups:
        for use in uses:
            shape = shapes[use.table.name]
            flat = np.ravel_multi_index(tuple(_places(use, group)), shape)
            counted = np.bincount(flat.ravel(), minlength=prod(shape))
            found[use.table.name] += counted.reshape(shape)
    return found


def _places(use: Use, group: CaseGroup) -> list[Array]:
    """The indices into the table, and the child's own value, for every case and place."""
    dim = Dim(CASE, group.count, (), Span(0, 0))
    case = c.Bind(Span(0, 0), f"{CASE}.number", dim, FIRST, LAST)
    binders = tuple(index for index in use.piece.indices if isinstance(index, c.Bind))
    axes = (case, *binders) if group.stacked else binders
    evaluator = Evaluator(group.shared, Sizes({**group.sizes, CASE: group.count}), {})

    def evaluate(core: c.Core) -> Array:
        return np.asarray(evaluator.value(as_variables(core, group.stacked), axes, group.stacked))

    indices = use.core.indices if isinstance(use.core, c.At) else ()
    found = [evaluate(core) for core in (*indices, entry(use.child, use.piece))]
    if use.piece.where is not None:
        *found, kept = np.broadcast_arrays(*found, evaluate(use.piece.where).astype(bool))
        return [array[kept].astype(int) for array in found]
    return [array.astype(int) for array in np.broadcast_arrays(*found)]


def as_variables(core: c.Core, names: Collection[str]) -> c.Core:
    """The same, where what has a value for each case is a variable that runs over them."""
    if isinstance(core, c.Ref) and core.name in names:
        return c.Var(core.span, core.type, core.name)
    return c.map_parts(core, lambda part: as_variables(part, names))


def prior_counts(node: Node, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """What a Dirichlet or Beta prior adds to the counts: its parameters less one."""
    evaluator = Evaluator({}, Sizes(sizes), {})
    found = np.zeros(shape)
    for law, piece in zip(node.laws, node.pieces, strict=True):
        binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
        if len(binders) != len(piece.indices):
            raise NeedsJax(node.name)
        arguments = [np.asarray(evaluator.value(core, binders)) for _, core in law.arguments]
        added = arguments[0]
        if law.facts.prior is not Update.PROBABILITIES:
            added = np.stack(arguments[::-1], axis=-1)
        found += np.broadcast_to(added, shape) - 1
    return found


def estimate(counts: Array, node: Node) -> Array:
    """Relative frequencies; a row that was never seen stays uniform. Of a chance, that of true."""
    total = counts.sum(axis=-1, keepdims=True)
    p = np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / counts.shape[-1])
    return p if node.type.constraint else p[..., 1]


def standard_errors(counts: Array, node: Node) -> Array:
    """sqrt(p (1 - p) / n), from the observed information of a multinomial; NaN without data."""
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = counts / total
        error = np.where(total > 0, np.sqrt(p * (1 - p) / total), np.nan)
    return error if node.type.constraint else error[..., 1]


def log_likelihood_at(counts: Array, p: Array, node: Node) -> float:
    """sum of count log p; what was never seen adds nothing."""
    full = p if node.type.constraint else np.stack([1 - p, p], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(np.where(counts != 0, counts * np.log(full), 0.0)))


def log_prior_at(added: Array, p: Array, node: Node) -> float:
    """The log density of the Dirichlet prior with one more than what it adds to the counts."""
    if node.kind is not Kind.DRAW and not np.any(added):
        return 0.0
    normalisers = gammaln(np.sum(added + 1, axis=-1)) - np.sum(gammaln(added + 1), axis=-1)
    return float(np.sum(normalisers)) + log_likelihood_at(added, p, node)


def table_entries(graph: Graph) -> dict[str, list[str]]:
    """The entries of every table of constants with named states, in the order of `x.p`."""
    found = {}
    for node in graph.nodes:
        for number, piece in enumerate(node.pieces):
            table = dict(piece.body.arguments).get("p") if isinstance(piece.body, c.Law) else None
            if table is not None and is_table(table):
                name = f"{node.name}.p" if len(node.pieces) == 1 else f"{node.name}.p{number}"
                found[name] = entries(node, table)
    return {name: names for name, names in found.items() if names}


def entries(node: Node, table: c.Core) -> list[str]:
    """`tub=yes | asia=no` for each entry of the table `tub.p`."""
    parents = table.parents if isinstance(table, c.Lookup) else ()
    if any(not isinstance(parent, c.Ref) for parent in parents) or len(node.pieces) > 1:
        return []
    states = [states_of(parent.type) for parent in parents]
    own = states_of(node.type) if table.type.shape else ["true"]
    names = [parent.name for parent in parents if isinstance(parent, c.Ref)]
    found = []
    for row in product(*states):
        given = ", ".join(map("=".join, zip(names, row, strict=True)))
        found += [f"{node.name}={state}{' | ' if names else ''}{given}" for state in own]
    return found


def states_of(type_: Type) -> list[str]:
    domain = type_.domain
    if isinstance(domain, Bool):
        return ["false", "true"]
    if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim):
        return list(domain.dim.labels)
    return []


def log_likelihood_of_rest(roles: Roles, uses: list[Use], cases: Cases) -> float:
    """Of all cases, what no unknown table says: minus infinity where logic is contradicted."""
    counted: dict[str, list[Piece]] = {}
    for use in uses:
        counted.setdefault(use.child.name, []).append(use.piece)
    rest = without_pieces(roles.graph, {node.name for node in roles.unknowns}, counted)
    if not rest.of_kind(Kind.DRAW):
        return 0.0
    model, total = Model(rest), 0.0
    for group in cases.groups:

        def log_prob(own: dict[str, Any], group: CaseGroup = group) -> Any:
            return model.log_prob({}, {}, {**group.sizes, **group.shared, **own})

        each = jax.vmap(log_prob)(group.stacked) if group.stacked else log_prob({})
        total += float(jnp.sum(each))
    return total


def fit_tables(
    roles: Roles, chunks: Iterable[Cases], smoothing: float | str | None, why: str, notes: Notes
) -> Fit:
    """From all chunks of cases together; every chunk is looked at once and forgotten."""
    uses = table_uses(roles)
    assert uses is not None
    tables = {node.name: node for node in roles.unknowns}
    seen: dict[str, Array] = {}
    count, rest = 0, 0.0
    for cases in chunks:
        sizes = cases.groups[0].sizes
        shapes = {name: shape_of(node, sizes) for name, node in tables.items()}
        shapes |= {n: (*s, 2) for n, s in shapes.items() if not tables[n].type.constraint}
        for name, counted in count_cases(uses, shapes, cases).items():
            seen[name] = seen[name] + counted if name in seen else counted
        rest += log_likelihood_of_rest(roles, uses, cases)
        count += cases.count
    params, errors = {}, {}
    value, log_prior, unseen = rest, 0.0, 0
    for name, node in tables.items():
        shape = seen[name].shape
        added = read_smoothing(smoothing, shape) + prior_counts(node, shape, sizes)
        counts = seen[name] + added
        params[name] = estimate(counts, node)
        errors[name] = standard_errors(counts, node)
        value += log_likelihood_at(seen[name], params[name], node)
        log_prior += log_prior_at(added, params[name], node)
        unseen += int(np.sum(counts.sum(axis=-1) == 0))
    if unseen:
        more = "rows of tables were never seen and are uniform: smoothing adds to each count"
        notes = (*notes, f"{unseen} {more}")
    if rest == -np.inf:
        more = "a law that the model fixes, such as the logic of a table of zeros and ones"
        notes = (*notes, f"the data are impossible by {more}")
    return Fit(
        params=params,
        errors=errors,
        value=value,
        log_prior=log_prior,
        method="counts",
        why=why,
        converged=True,
        reason="relative frequencies are the maximum",
        steps=1,
        notes=notes,
        **{**about_cases(roles.unknowns, cases), "cases": count},
    )


PART = 100_000


def fit_csv(graph: Graph, path: str, options: FitOptions) -> Fit:
    """Every case is read once and forgotten."""
    if not path.lower().endswith((".csv", ".csv.gz")):
        raise NotApplicable(f"only a CSV is read a part at a time, and {path} has another ending")
    if options.method not in ("auto", "counts") or options.loss != "likelihood":
        raise NotApplicable("only tables are learned a part at a time, by `counts`")
    # Parts of a file must agree on what the states are, so the model has to say.
    for node in graph.of_kind(Kind.DRAW):
        domain = node.type.domain
        if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim) and domain.dim.size is None:
            what = f"name the labels of `{domain.dim}` in the model"
            raise NotApplicable(f"{what}: a part of the data may lack some")
    parts = (read_cases(graph, part) for part in read_csv_parts(Path(path), PART))
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
    return fit_tables(roles, map(complete, chain([first], parts)), options.smoothing, why, ())


def complete(cases: Cases) -> Cases:
    """The same cases; raises NotApplicable for missing entries."""
    for group in cases.groups:
        for name in group.missing:
            raise NotApplicable(
                f"`{name}` has missing entries, which cannot be summed over a part at a time"
            )
    return cases
