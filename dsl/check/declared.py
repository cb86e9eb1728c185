"""Written types: `real(lower=0)[K]`, `simplex`, the name of a dim."""

from math import inf

from ..diagnostics import did_you_mean
from ..graph import core as c
from ..graph import types as t
from ..text import syntax as s
from .context import Context
from .expressions import infer
from .indexing import report_not_a_dim
from .matching import show_kind
from .symbols import TYPE_WORDS

_BY_DIMS = "an array is written by its dims"
_LABELS = "declare its labels: `dim Level = low | high`"
TYPES_OF_OTHERS = {
    **dict.fromkeys(("float", "double", "number", "Float64"), "write `real`"),
    **dict.fromkeys(("integer", "long", "Int64"), "write `int`"),
    **dict.fromkeys(("boolean", "binary"), "write `bool`"),
    **dict.fromkeys(("vector", "row_vector", "array"), f"{_BY_DIMS}: `x[D] : real`"),
    "positive": "write `real(lower=0)`",
    "count": "write `int(lower=0)`",
    **dict.fromkeys(("unit", "probability"), "write `real(lower=0, upper=1)`"),
    "matrix": f"{_BY_DIMS}: `x[D, E] : real`",
    "cov_matrix": "write `covariance`",
    "corr_matrix": "write `correlation`",
    "cholesky_factor_cov": "write `cholesky`",
    "cholesky_factor_corr": "write `corr_cholesky`",
    **dict.fromkeys(("string", "str", "categorical", "enum"), _LABELS),
}


def resolve_type(written: s.TypeExpr, leading: tuple[s.Name, ...], ctx: Context) -> t.Type:
    """The type of `name[leading] : written`, or the unknown type after a report."""
    shape = resolve_dims((*leading, *written.dims), ctx)
    domain = _resolve_domain(written, ctx)
    word = written.name.name
    if shape is None or domain is None:
        return t.UNKNOWN
    if word in t.CONSTRAINT_RANK:
        return _constrained(word, domain, shape, written, ctx)
    return t.Type(domain, shape)


def resolve_dims(names: tuple[s.Name, ...], ctx: Context) -> t.Shape | None:
    dims = [ctx.dim(name.name) for name in names]
    for name, dim in zip(names, dims, strict=True):
        if dim is None:
            report_not_a_dim(name.name, name.span, ctx)
    return None if None in dims else tuple(dim for dim in dims if dim)


def _constrained(
    word: str, domain: t.Domain, shape: t.Shape, written: s.TypeExpr, ctx: Context
) -> t.Type:
    rank = t.CONSTRAINT_RANK[word]
    if len(shape) < rank:
        example = ", ".join(["K"] * rank)
        needed = "a dim" if rank == 1 else "two dims"
        ctx.error("E0214", f"a `{word}` needs {needed}", written.span, f"write `{word}[{example}]`")
        return t.UNKNOWN
    if rank == 2 and not t.same_axis(shape[-1], shape[-2]):
        help = f"write `{word}[{shape[-1]}, {shape[-1]}]`"
        message = f"a `{word}` is square, but this is [{shape[-2]}, {shape[-1]}]"
        ctx.error("E0214", message, written.span, help)
        return t.UNKNOWN
    return t.Type(domain, shape, word)


def _resolve_domain(written: s.TypeExpr, ctx: Context) -> t.Domain | None:
    word = written.name.name
    if word in ("real", "int"):
        lower, upper = _resolve_bounds(written, ctx)
        return t.Real(lower, upper) if word == "real" else t.Int(lower, upper)
    if written.arguments:
        help = "only `real` and `int` have bounds"
        ctx.error("E0215", f"`{word}` takes no arguments", written.span, help)
    if word == "bool":
        return t.Bool()
    if word in t.CONSTRAINT_RANK:
        return t.CONSTRAINT_DOMAIN.get(word, t.Real())
    dim, symbol = ctx.dim(word), ctx.symbol(word)
    if dim is None and not (symbol and symbol.kind == "broken"):
        dims = [d.name for d in ctx.facts.symbols.dims()]
        help = TYPES_OF_OTHERS.get(word) or did_you_mean(word, [*sorted(TYPE_WORDS), *dims])
        help = help or "types are real, int, bool, a dim, simplex, ordered, cholesky and their kin"
        ctx.error_once("E0109", f"there is no type `{word}`", word, written.name.span, help)
    return t.IndexOf(dim) if dim else None


def _resolve_bounds(written: s.TypeExpr, ctx: Context) -> tuple[float, float]:
    bounds = {"lower": -inf, "upper": inf}
    for argument in written.arguments:
        if argument.name not in bounds:
            help = "as in `real(lower=0)`"
            ctx.error("E0215", "a type takes `lower=` and `upper=`", argument.span, help)
            break
        bounds[argument.name] = _constant(argument, bounds[argument.name], ctx)
    # One number alone is a range of whole numbers; a real draw never falls on it.
    is_single = written.name.name == "int" and bounds["lower"] == bounds["upper"]
    if bounds["lower"] >= bounds["upper"] and not is_single:
        message = f"no value lies between {bounds['lower']:g} and {bounds['upper']:g}"
        ctx.error("E0215", message, written.span)
        return -inf, inf
    return bounds["lower"], bounds["upper"]


def _constant(argument: s.Argument, default: float, ctx: Context) -> float:
    value = infer(argument.value, ctx.replace(closed="bounds are constants but where it is drawn"))
    if isinstance(value, c.Const) and value.type.known:
        return float(value.value)
    if value.type.known:
        ctx.error("E0215", "the bounds of a type are constants", argument.span)
    return default


def fit_shape(core: c.Core, shape: t.Shape, what: str, ctx: Context) -> bool:
    """Reports a value whose shape is not the wanted one."""
    if not core.type.known or t.same_shape(core.type.shape, shape):
        return True
    wanted = t.show_shape(shape) if shape else "one number"
    pairs = zip(shape, core.type.shape, strict=False)
    is_unsized = len(shape) == len(core.type.shape) and any(
        isinstance(a, t.Dim) and a.size is None and isinstance(b, t.Fixed) for a, b in pairs
    )
    help = f"give the dim its size: `dim {shape[0]} = {core.type.shape[0]}`" if is_unsized else ""
    sized = [axis for axis in shape if isinstance(axis, t.Dim) and axis.size is not None]
    sizes = [f"`{axis}` has {axis.size} members" for axis in sized]
    message = f"{what} has shape {wanted}, but this is {show_kind(core.type)}"
    ctx.error("E0203", message, core.span, help=help or ", ".join(sizes))
    return False
