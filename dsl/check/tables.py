"""Tables: labelled rows, each combination of the parents exactly once, columns in any order."""

from itertools import product
from math import prod

from ..diagnostics import did_you_mean
from ..graph import core as c
from ..graph.constraints import sums_to_one
from ..graph.types import UNKNOWN, Axis, Bool, Dim, IndexOf, Real, Type
from ..limits import MAX_TABLE
from ..source import Span
from ..text import syntax as s
from .calls import check_sum
from .context import Context
from .expressions import infer, join_types, refuse, unknown

CATEGORICAL_ROW = "Categorical(p: simplex[N]) -> index[N]"
BERNOULLI_ROW = "Bernoulli(p: unit) -> bool"


def infer_value_table(table: s.Table, ctx: Context) -> c.Core:
    """A number for every combination of the parents: `table a, b { yes, no => 1.5 ... }`."""
    if table.columns:
        values = "`table a { yes => 1; no => 2 }`"
        help = f"write `x : D ~ table ...`; a table of values has no columns: {values}"
        message = "a table with columns is a distribution, not a value"
        return refuse("E0407", message, table.span, ctx, help)
    parents, filled = _fill(table, 1, ctx)
    if filled is None:
        return unknown(table.span)
    cores = {id(row): infer(row.values[0], ctx) for row in table.rows}
    type_ = join_types(list(cores.values()), "the values of this table", ctx)
    return c.Lookup(table.span, type_, parents, tuple(cores[id(row)] for row in filled))


def infer_table_distribution(
    table: s.Table, expected: Axis | Bool | None, ctx: Context
) -> c.Law | None:
    """A Categorical whose probabilities are looked up by the parents' values."""
    if not table.columns:
        help = "name the columns: `table a => yes, no { ... }`"
        message = "a table without columns is a value, not a distribution"
        ctx.error("E0407", message, table.span, help)
        return None
    domain = _column_domain(table, expected, ctx)
    parents, filled = _fill(table, len(table.columns), ctx)
    if domain is None or filled is None:
        return None
    columns = [key.text for key in table.columns]
    order = [columns.index(label) for label in labels_of(domain)]
    stacks = {id(row): _row_probabilities(row, order, domain, ctx) for row in table.rows}
    rows = {key: stack for key, stack in stacks.items() if stack and stack.type.known}
    if len(rows) < len(stacks):
        return None
    if isinstance(domain, Bool):
        entries = tuple(rows[id(row)].items[1] for row in filled)
        lookup = c.Lookup(table.span, Type(Real()), parents, entries)
        return c.Law(table.span, "Bernoulli", BERNOULLI_ROW, (("p", lookup),), Type(Bool()))
    simplex = Type(Real(0, 1), (domain,), "simplex")
    lookup = c.Lookup(table.span, simplex, parents, tuple(rows[id(row)] for row in filled))
    drawn = Type(IndexOf(domain))
    return c.Law(table.span, "Categorical", CATEGORICAL_ROW, (("p", lookup),), drawn)


def _row_probabilities(
    row: s.Row, order: list[int], domain: Axis | Bool, ctx: Context
) -> c.Stack | None:
    items = [infer(value, ctx) for value in row.values]
    for item in items:
        if item.type.known and (item.type.shape or not item.type.numeric):
            message = f"an entry of a table is one number, but this is {item.type}"
            ctx.error("E0408", message, item.span)
            return None
    axis = domain if not isinstance(domain, Bool) else None
    span = row.values[0].span.to(row.values[-1].span)
    is_known = all(item.type.known for item in items)
    type_ = Type(Real(0, 1), (axis,) if axis else ()) if is_known else UNKNOWN
    stack = c.Stack(span, type_, tuple(items[k] for k in order))
    check_sum(stack, ctx)
    if isinstance(domain, Bool) and is_known and not sums_to_one(items):
        help = "write what sums to 1, as `p` and `1 - p`"
        ctx.error("W0401", "nothing says that these two sum to 1", span, help)
    return stack


def _column_domain(
    table: s.Table, expected: Axis | Bool | None, ctx: Context
) -> Axis | Bool | None:
    names = [key.text for key in table.columns]
    span = table.columns[0].span.to(table.columns[-1].span)
    domain = expected if expected is not None else _dim_with_labels(names, span, ctx)
    if domain is None:
        return None
    wanted = labels_of(domain)
    for key in table.columns:
        if key.text not in wanted:
            _report_label(key, domain, wanted, ctx)
            return None
    if sorted(names) != sorted(wanted):
        missing = [label for label in wanted if label not in names]
        problem = f"`{missing[0]}` is missing" if missing else "one stands twice"
        ctx.error("E0406", f"the columns are not the labels of `{domain}`: {problem}", span)
        return None
    return domain


def _dim_with_labels(names: list[str], span: Span, ctx: Context) -> Axis | Bool | None:
    if set(names) == {"true", "false"}:
        return Bool()
    dims = [d for d in ctx.facts.symbols.dims() if sorted(d.labels) == sorted(names)]
    if len(dims) == 1:
        return dims[0]
    problem = "several dims have" if dims else "no dim has"
    help = "say which is meant: `x : Dim ~ table ...`"
    ctx.error("E0409", f"{problem} exactly these labels", span, help)
    return None


def labels_of(domain: Axis | Bool) -> tuple[str, ...]:
    if isinstance(domain, Bool):
        return ("false", "true")
    if isinstance(domain, Dim) and domain.labels:
        return domain.labels
    return tuple(map(str, range(min(domain.size or 0, MAX_TABLE))))


def _report_label(key: s.Key, domain: Axis | Bool, wanted: tuple[str, ...], ctx: Context) -> None:
    shown = ", ".join(wanted[:8])
    help = did_you_mean(key.text, wanted) or f"its labels are {shown}"
    ctx.error("E0405", f"`{key.text}` is not a label of `{domain}`", key.span, help=help)


def _fill(
    table: s.Table, width: int, ctx: Context
) -> tuple[tuple[c.Core, ...], list[s.Row] | None]:
    """For every combination of the parents, in row-major order, the first row that matches it."""
    parents = tuple(infer(parent, ctx) for parent in table.parents)
    domains = [_parent_domain(parent, ctx) for parent in parents]
    if not all(_row_fits(row, len(parents), width, ctx) for row in table.rows):
        return parents, None
    if any(domain is None for domain in domains):
        return parents, None
    choices = [labels_of(domain) for domain in domains if domain is not None]
    if prod(map(len, choices)) > MAX_TABLE:
        message = f"the table would need more than {MAX_TABLE:,} rows"
        ctx.error("E0410", message, table.span, help="use fewer parents, or an expression of them")
        return parents, None
    return parents, _match_rows(table, domains, choices, ctx)


def _match_rows(
    table: s.Table, domains: list[Axis | Bool | None], choices: list[tuple[str, ...]], ctx: Context
) -> list[s.Row] | None:
    taken: dict[tuple[str, ...], s.Row] = {}
    sound = True
    for row in table.rows:
        for key, domain, labels in zip(row.keys, domains, choices, strict=True):
            if domain is not None and not key.matches_any and key.text not in labels:
                _report_label(key, domain, labels, ctx)
                sound = False
        pairs = zip(row.keys, choices, strict=True)
        options = [labels if key.matches_any else (key.text,) for key, labels in pairs]
        fresh = [combination for combination in product(*options) if combination not in taken]
        if not fresh:
            message = "this row is never used: rows above match all it matches"
            ctx.error("E0411", message, row.span, help="remove it, or move it up")
            sound = False
        taken.update(dict.fromkeys(fresh, row))
    if not sound:
        return None
    missing = [combination for combination in product(*choices) if combination not in taken]
    if missing:
        shown = "; ".join(", ".join(m) for m in missing[:3]) + ("; ..." if len(missing) > 3 else "")
        help = f"add a row for: {shown}" if missing[0] else "add a row"
        verb = "has" if len(missing) == 1 else "have"
        message = f"{len(missing)} of {prod(map(len, choices))} combinations {verb} no row"
        ctx.error("E0412", message, table.span, help)
        return None
    return [taken[combination] for combination in product(*choices)]


def _parent_domain(parent: c.Core, ctx: Context) -> Axis | Bool | None:
    domain = parent.type.domain
    if not parent.type.known:
        return None
    if not parent.type.shape and isinstance(domain, Bool):
        return domain
    if not parent.type.shape and isinstance(domain, IndexOf) and domain.dim.size is not None:
        return domain.dim
    help = "a parent is bool, or of a dim whose size or labels are in the file"
    ctx.error("E0408", f"a table cannot have a parent of type {parent.type}", parent.span, help)
    return None


def _row_fits(row: s.Row, parents: int, width: int, ctx: Context) -> bool:
    if len(row.keys) != parents:
        message = f"this row has {_count(len(row.keys), 'key')} for {_count(parents, 'parent')}"
        help = "write one key for each parent; `_` matches any label"
        ctx.error("E0413", message, row.span, help)
        return False
    if len(row.values) != width:
        message = f"this row has {_count(len(row.values), 'value')} for {_count(width, 'column')}"
        ctx.error("E0413", message, row.span, help="write one value for each column")
        return False
    return True


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
