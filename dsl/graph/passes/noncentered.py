"""`with noncentered`: x ~ Normal(m, s) becomes raw ~ Normal(0, 1) and x := m + s * raw."""

from collections.abc import Callable

from .. import core as c
from ..dependence import nodes_read_by
from ..forms import arithmetic, entry, number
from ..graph import Graph, Kind, Node
from ..types import REAL, Axis, Dim, Type
from .standard import rewrite

NORMAL = "MultivariateNormal(mean: real[N], chol: cholesky[N, N]) -> real[N]"
STUDENT = "MultivariateStudentT(df: positive, location: real[N], chol: cholesky[N, N]) -> real[N]"


@rewrite
def decentre(graph: Graph) -> Graph:
    """Every latent draw that is `noncentered` is computed from standard noise; the joint stays."""
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _decentred(node, graph) if is_noncentered(node) else [node]
    return graph.replace(nodes=tuple(nodes))


def is_noncentered(node: Node) -> bool:
    wanted = any(setting.name == "noncentered" for setting in node.settings)
    return wanted and not node.observed and all(law.facts.location_scale for law in node.laws)


def _decentred(node: Node, graph: Graph) -> list[Node]:
    pairs = list(zip(node.pieces, node.laws, strict=True))
    raw_name = f"{node.name}_decentered"
    while raw_name in graph.by_name:
        raw_name += "_"
    raw = node.replace(
        name=raw_name,
        type=Type(REAL.domain, node.type.shape),
        pieces=tuple(p.replace(body=_standard(law), settings=()) for p, law in pairs),
        kept=False,
    )
    raw = raw.replace(parents=nodes_read_by(raw))
    moved = ((p, _moved(law, entry(raw, p))) for p, law in pairs)
    pieces = tuple(piece.replace(body=body, settings=()) for piece, body in moved)
    value = node.replace(kind=Kind.FUNCTION, pieces=pieces, kept=True)
    return [raw, value.replace(parents=nodes_read_by(value))]


def _standard(law: c.Law) -> c.Law:
    """The same distribution at location zero and scale one."""
    if law.type.shape:
        row = NORMAL if law.name == "MultivariateNormal" else STUDENT
        (axis,), df = law.type.shape, [pair for pair in law.arguments if pair[0] == "df"]
        centre = "location" if df else "mean", _zeros(law, axis)
        return law.replace(row=row, arguments=(*df, centre, ("chol", _identity(law, axis))))
    if law.facts.of_logarithm:
        standard = (("mean", number(law, 0.0)), ("sd", number(law, 1.0)))
        return c.Law(law.span, "Normal", "Normal(mean: real, sd: positive) -> real", standard, REAL)
    location, scale = law.facts.location_scale
    centred = {location: number(law, 0.0), scale: number(law, 1.0)}
    arguments = tuple((name, centred.get(name, value)) for name, value in law.arguments)
    return law.replace(arguments=arguments, type=REAL)


def _zeros(law: c.Law, axis: Axis) -> c.Core:
    type_ = Type(REAL.domain, (axis,))
    if isinstance(axis, Dim):
        size = c.DimRef(law.span, REAL, axis)
        return _apply(law, "zeros", type_, "zeros(*D: dim) -> real[*D]", D=size)
    return c.Stack(law.span, type_, tuple(number(law, 0.0) for _ in range(axis.size or 0)))


def _identity(law: c.Law, axis: Axis) -> c.Core:
    type_ = Type(REAL.domain, (axis, axis), "cholesky")
    if isinstance(axis, Dim):
        size = c.DimRef(law.span, REAL, axis)
        return _apply(law, "eye", type_, "eye(D: dim) -> correlation[D, D]", D=size)
    count = axis.size or 0
    line = Type(REAL.domain, (axis,))
    rows = ([number(law, float(i == j)) for j in range(count)] for i in range(count))
    return c.Stack(law.span, type_, tuple(c.Stack(law.span, line, tuple(row)) for row in rows))


def _moved(law: c.Law, noise: c.Core) -> c.Core:
    """location + scale * noise, with a matrix for scale where the draw is a vector."""
    given = dict(law.arguments)
    location, scale = law.facts.location_scale
    if law.type.shape:
        factor = FACTORS[scale](law, given[scale])
        scaled = _apply(law, "matmul", noise.type, "", a=factor, b=noise)
    else:
        scaled = arithmetic("multiply", given[scale], noise)
    moved = arithmetic("add", given[location], scaled)
    if law.facts.of_logarithm:
        return _apply(law, "exp", law.type, "exp(x: real) -> positive", x=moved)
    return moved


def _cholesky(law: c.Law, matrix: c.Core) -> c.Core:
    row = "cholesky(A: covariance[N, N]) -> cholesky[N, N]"
    return _apply(law, "cholesky", matrix.type.replace(constraint="cholesky"), row, A=matrix)


def _inverse_factor(law: c.Law, precision: c.Core) -> c.Core:
    """inv(L)' for precision = L L': its square is inv(L L')."""
    plain = precision.type.replace(constraint="")
    factor = _cholesky(law, precision)
    inverse = _apply(law, "inv", plain, "inv(A: invertible[N, N]) -> real[N, N]", A=factor)
    return _apply(law, "transpose", plain, "transpose(A: item[N, M]) -> item[M, N]", A=inverse)


FACTORS: dict[str, Callable[[c.Law, c.Core], c.Core]] = {
    "chol": lambda law, matrix: matrix,
    "cov": _cholesky,
    "scale": _cholesky,
    "precision": _inverse_factor,
}


def _apply(law: c.Law, function: str, type_: Type, row: str, **arguments: c.Core) -> c.Core:
    return c.Apply(law.span, type_, function, tuple(arguments.items()), row)
