"""`with noncentered` as a pass: x ~ Normal(m, s) becomes raw ~ Normal(0, 1) and x := m + s * raw.

The joint law of all other nodes and x stays what it was; only what is drawn changes.
"""

from __future__ import annotations

from collections.abc import Callable

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import REAL, Axis, Dim, Type

from ..finite.expand import index_type

NORMAL = "MultivariateNormal(mean: real[N], chol: cholesky[N, N]) -> real[N]"
STUDENT = "MultivariateStudentT(df: positive, location: real[N], chol: cholesky[N, N]) -> real[N]"


def decentre(graph: Graph) -> Graph:
    """The same model with every latent draw that is `noncentered` computed from standard noise."""
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _decentred(node, graph) if is_noncentered(node) else [node]
    return graph.replace(nodes=tuple(nodes))


def is_noncentered(node: Node) -> bool:
    wanted = any(setting.name == "noncentered" for setting in node.settings)
    return wanted and not node.observed and all(law.facts.location_scale for law in node.laws)


def raw_name(name: str, graph: Graph) -> str:
    found = f"{name}_decentered"
    while found in graph.by_name:
        found += "_"
    return found


def _decentred(node: Node, graph: Graph) -> list[Node]:
    raw = node.replace(
        name=raw_name(node.name, graph),
        type=Type(REAL.domain, node.type.shape),
        pieces=tuple(_raw_piece(piece) for piece in node.pieces),
        kept=False,
    )
    raw = raw.replace(parents=_mentioned(raw))
    pieces = tuple(_value_piece(piece, raw) for piece in node.pieces)
    value = node.replace(kind=Kind.FUNCTION, pieces=pieces, kept=True)
    return [raw, value.replace(parents=_mentioned(value))]


def _mentioned(node: Node) -> tuple[str, ...]:
    refs = (
        part.name for piece in node.pieces for part in c.walk(piece.body) if isinstance(part, c.Ref)
    )
    return tuple(dict.fromkeys(refs))


# ---- what is drawn


def _raw_piece(piece: Piece) -> Piece:
    law = piece.body
    assert isinstance(law, c.Law)
    return piece.replace(body=_standard(law), settings=())


def _standard(law: c.Law) -> c.Law:
    """The same family at location zero and scale one."""
    name = "Normal" if law.name == "LogNormal" else law.name
    row = "Normal(mean: real, sd: positive) -> real" if law.name == "LogNormal" else law.row
    if law.type.shape:
        row = NORMAL if law.name == "MultivariateNormal" else STUDENT
        return law.replace(row=row, arguments=_standard_vector(law))
    arguments = [(key, _standard_number(key, value)) for key, value in law.arguments]
    if law.name == "LogNormal":
        arguments = [("mean", arguments[0][1]), ("sd", arguments[1][1])]
    return law.replace(name=name, row=row, arguments=tuple(arguments), type=REAL)


def _standard_number(name: str, value: c.Core) -> c.Core:
    if name == "df":
        return value
    return _number(value, 0.0 if name in ("mean", "location") else 1.0)


def _standard_vector(law: c.Law) -> tuple[tuple[str, c.Core], ...]:
    given = dict(law.arguments)
    (axis,) = law.type.shape
    df = (("df", given["df"]),) if "df" in given else ()
    return (*df, ("location" if df else "mean", _zeros(law, axis)), ("chol", _identity(law, axis)))


def _number(at: c.Core | c.Law, value: float) -> c.Const:
    return c.Const(at.span, REAL, value)


def _zeros(law: c.Law, axis: Axis) -> c.Core:
    type_ = Type(REAL.domain, (axis,))
    if isinstance(axis, Dim):
        return _apply(
            law, "zeros", type_, "zeros(*D: dim) -> real[*D]", D=c.DimRef(law.span, REAL, axis)
        )
    return c.Stack(law.span, type_, tuple(_number(law, 0.0) for _ in range(axis.size or 0)))


def _identity(law: c.Law, axis: Axis) -> c.Core:
    type_ = Type(REAL.domain, (axis, axis), "cholesky")
    if isinstance(axis, Dim):
        return _apply(
            law, "eye", type_, "eye(D: dim) -> correlation[D, D]", D=c.DimRef(law.span, REAL, axis)
        )
    size = axis.size or 0
    rows = ([_number(law, float(i == j)) for j in range(size)] for i in range(size))
    line = Type(REAL.domain, (axis,))
    return c.Stack(law.span, type_, tuple(c.Stack(law.span, line, tuple(row)) for row in rows))


# ---- what is computed from it


def _value_piece(piece: Piece, raw: Node) -> Piece:
    law = piece.body
    assert isinstance(law, c.Law)
    body = _moved(law, _element(raw, piece))
    return piece.replace(body=body, settings=())


def _element(raw: Node, piece: Piece) -> c.Core:
    whole = c.Ref(piece.span, raw.type, raw.name)
    places = tuple(
        c.Var(index.span, index_type(index), index.name) if isinstance(index, c.Bind) else index
        for index in piece.indices
    )
    type_ = Type(raw.type.domain, raw.type.shape[len(places) :])
    return c.At(piece.span, type_, whole, places) if places else whole


def _moved(law: c.Law, noise: c.Core) -> c.Core:
    """location + scale * noise, with a matrix for scale where the draw is a vector."""
    given = dict(law.arguments)
    location = given["location" if "location" in given else "mean"]
    scaled = (
        _stretched(law, given, noise)
        if law.type.shape
        else _arithmetic("multiply", _scale(given), noise)
    )
    moved = _arithmetic("add", location, scaled)
    return (
        _apply(law, "exp", law.type, "exp(x: real) -> positive", x=moved)
        if law.name == "LogNormal"
        else moved
    )


def _scale(given: dict[str, c.Core]) -> c.Core:
    return given["scale" if "scale" in given else "sd"]


def _stretched(law: c.Law, given: dict[str, c.Core], noise: c.Core) -> c.Core:
    name = next(name for name in ("chol", "cov", "scale", "precision") if name in given)
    factor = FACTORS[name](law, given[name])
    return _apply(law, "matmul", noise.type, "", a=factor, b=noise)


def _cholesky(law: c.Law, matrix: c.Core) -> c.Core:
    row = "cholesky(A: covariance[N, N]) -> cholesky[N, N]"
    return _apply(law, "cholesky", matrix.type.replace(constraint="cholesky"), row, A=matrix)


def _inverse_factor(law: c.Law, precision: c.Core) -> c.Core:
    """inv(L)' for precision = L L': its square is inv(L L')."""
    plain = precision.type.replace(constraint="")
    inverse = _apply(
        law, "inv", plain, "inv(A: real[N, N]) -> real[N, N]", A=_cholesky(law, precision)
    )
    return _apply(law, "transpose", plain, "transpose(A: item[N, M]) -> item[M, N]", A=inverse)


FACTORS: dict[str, Callable[[c.Law, c.Core], c.Core]] = {
    "chol": lambda law, matrix: matrix,
    "cov": _cholesky,
    "scale": _cholesky,
    "precision": _inverse_factor,
}


def _arithmetic(function: str, left: c.Core, right: c.Core) -> c.Core:
    type_ = Type(REAL.domain, right.type.shape)
    return c.Apply(right.span, type_, function, (("a", left), ("b", right)))


def _apply(law: c.Law, function: str, type_: Type, row: str, **arguments: c.Core) -> c.Core:
    return c.Apply(law.span, type_, function, tuple(arguments.items()), row)
