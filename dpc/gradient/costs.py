"""The objective as a sum of costs with their binders: each weighs only what it depends on.

minimize sum[n in N] f(z[n]) + g  is the cost f(z[n]) for every n, and the cost g. Sums are looked
for in the objective and in the computed numbers that it names.
"""

from collections.abc import Iterator

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.forms import arithmetic, element, index_of, whole_axis
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.substitute import names_in, renamed_apart, substitute
from dpc.dsl.graph.typed import Piece, Setting
from dpc.dsl.graph.types import Dim, Int, Real, Type
from dpc.dsl.record import Record

NUMBER = Type(Real())

MOST_TERMS = 256
"""A function that makes more calls stays whole: a sum of so many parts gains nothing by it."""


class CostTerm(Record):
    """`body`, summed over `binders`; settings are those of the statement it stands in."""

    binders: tuple[c.Bind, ...]
    body: c.Core
    settings: tuple[Setting, ...] = ()


def objective_of(graph: Graph) -> Piece:
    (node,) = graph.of_kind(Kind.COST)
    return node.pieces[0]


def bound_of(graph: Graph) -> c.Apply | None:
    """The elbo() or other bound that the objective has, if it has one."""
    return next(iter(bounds_in(objective_of(graph).body)), None)


def bounds_in(core: c.Core | c.Law) -> list[c.Apply]:
    return [
        part for part in c.walk(core) if isinstance(part, c.Apply) and part.function in c.BOUNDS
    ]


def averages_weights(bound: c.Apply | None) -> bool:
    """Whether it is a bound of several samples: the log of a mean over weights."""
    return bound is not None and bound.function != "elbo"


def cost_terms(graph: Graph) -> list[CostTerm]:
    """The whole objective; a bound stays as it is."""
    piece = objective_of(graph)
    assert isinstance(piece.body, c.Core)
    if _is_smoothed(piece):
        return [CostTerm((), piece.body, piece.settings)]
    return list(_split(piece.body, graph))


def _is_smoothed(piece: Piece) -> bool:
    return any(setting.name in ("soft", "smooth") for setting in piece.settings)


def _split(core: c.Core, graph: Graph) -> Iterator[CostTerm]:
    function = core.function if isinstance(core, c.Apply) and not core.type.shape else ""
    if isinstance(core, c.Apply) and function in ("add", "subtract", "negate"):
        for number, (_, argument) in enumerate(core.arguments):
            found = _split(argument, graph)
            minus = function == "negate" or (function == "subtract" and number)
            yield from map(negative, found) if minus else found
    elif isinstance(core, c.Apply) and function in ("multiply", "divide"):
        yield from _split_product(core, graph)
    elif isinstance(core, c.Reduce) and core.operator == "sum" and core.where is None:
        for term in _split(core.body, graph):
            term = _apart(term, {bind.name for bind in core.binders})
            yield term.replace(binders=(*core.binders, *term.binders))
    elif isinstance(core, c.Apply) and core.function == "sum" and _is_array(core.arguments[0][1]):
        yield from _split(_as_reduction(core), graph)
    elif isinstance(core, c.If) and not core.type.shape and not _is_random(core.condition, graph):
        yield from _split_branches(core, graph)
    elif isinstance(core, c.At | c.Ref) and not core.type.shape:
        yield from _split_named(core, graph)
    elif isinstance(core, c.CallFn) and not core.type.shape:
        yield from _split_call(core, graph)
    else:
        yield CostTerm((), core)


def _split_product(core: c.Apply, graph: Graph) -> Iterator[CostTerm]:
    """A factor that is no sum goes into every term of the other."""
    (_, first), (_, second) = core.arguments
    terms, others = list(_split(first, graph)), list(_split(second, graph))
    if not _is_sum(others):
        yield from (_with_factor(term, core, 0) for term in terms)
    elif core.function == "multiply" and not _is_sum(terms):
        yield from (_with_factor(term, core, 1) for term in others)
    else:
        yield CostTerm((), core)


def _is_sum(terms: list[CostTerm]) -> bool:
    return len(terms) != 1 or bool(terms[0].binders)


def _with_factor(term: CostTerm, core: c.Apply, place: int) -> CostTerm:
    """The product with this term in the place of one of its factors."""
    arguments = list(core.arguments)
    term = _apart(term, names_in(arguments[1 - place][1]))
    arguments[place] = (arguments[place][0], term.body)
    return term.replace(body=core.replace(arguments=tuple(arguments)))


def _split_branches(core: c.If, graph: Graph) -> Iterator[CostTerm]:
    """if c then a else b  is  (if c then a else 0) + (if c then 0 else b), for a certain c."""
    nothing = c.Const(core.span, NUMBER, 0.0)
    branches = [list(_split(branch, graph)) for branch in (core.then, core.otherwise)]
    if not any(map(_is_sum, branches)):
        yield CostTerm((), core)
        return
    taken = names_in(core.condition)
    for place, terms in zip(("then", "otherwise"), branches, strict=True):
        empty = core.replace(type=NUMBER, then=nothing, otherwise=nothing)
        for term in (_apart(term, taken) for term in terms):
            yield term.replace(body=empty.replace(**{place: _as_real(term.body)}))


def _as_real(core: c.Core) -> c.Core:
    """A truth value or a count as a number that stands beside others."""
    if isinstance(core.type.domain, Real):
        return core
    return arithmetic("multiply", c.Const(core.span, NUMBER, 1.0), core)


def _split_call(core: c.CallFn, graph: Graph) -> Iterator[CostTerm]:
    """The body of a function of the program, where that is a sum of not too many terms."""
    function = next(f for f in graph.functions if f.name == core.function)
    terms = [CostTerm((), core)]
    if function.body is not None and _count(function.body, graph, {}) <= MOST_TERMS:
        names = [name for name, _ in function.parameters]
        given = dict(zip(names, core.arguments, strict=True))
        written = list(_split(substitute(function.body, given), graph))
        terms = written if _is_sum(written) else terms
    yield from terms


def _count(core: c.Core, graph: Graph, known: dict[str, int]) -> int:
    """How many calls an expression makes, with those that its calls make; each name once."""
    total = 1
    for part in c.walk(core):
        if isinstance(part, c.CallFn):
            if part.function not in known:
                function = next(f for f in graph.functions if f.name == part.function)
                known[part.function] = 1
                if function.body is not None:
                    known[part.function] = _count(function.body, graph, known)
            total += known[part.function]
    return total


def _split_named(core: c.At | c.Ref, graph: Graph) -> Iterator[CostTerm]:
    """The definition of a computed number with one statement for all its indices."""
    base, indices = (core.base, core.indices) if isinstance(core, c.At) else (core, ())
    node = graph.by_name.get(base.name) if isinstance(base, c.Ref) else None
    if node is None or not _is_plain(node, graph) or len(node.pieces[0].indices) != len(indices):
        yield CostTerm((), core)
        return
    body = node.pieces[0].body
    assert isinstance(body, c.Core)
    names = [bind.name for bind in node.pieces[0].indices if isinstance(bind, c.Bind)]
    yield from _split(substitute(body, dict(zip(names, indices, strict=True))), graph)


def _is_plain(node: Node, graph: Graph) -> bool:
    if node.kind is not Kind.FUNCTION or len(node.pieces) != 1 or not node.random:
        return False
    piece = node.pieces[0]
    if any(node.name in group.members for group in graph.recurrences) or _is_smoothed(piece):
        return False
    plain = all(isinstance(index, c.Bind) for index in piece.indices) and piece.where is None
    return plain and isinstance(piece.body.type.domain, Real | Int)


def _apart(term: CostTerm, taken: set[str]) -> CostTerm:
    """The same cost with other names for all that it binds, where they are taken."""
    whole = c.Reduce(term.body.span, NUMBER, "sum", term.binders, None, term.body)
    found = renamed_apart(whole, taken)
    return term.replace(binders=found.binders, body=found.body)


def negative(term: CostTerm) -> CostTerm:
    body = c.Apply(term.body.span, NUMBER, "negate", (("a", term.body),))
    return term.replace(body=body)


def _is_random(core: c.Core, graph: Graph) -> bool:
    """Bounds are random too."""
    return bool(bounds_in(core)) or any(graph[name].random for name in nodes_read(core))


def _is_array(core: c.Core) -> bool:
    return bool(core.type.shape) and all(isinstance(axis, Dim) for axis in core.type.shape)


def _as_reduction(core: c.Apply) -> c.Reduce:
    """sum(x) is sum[i, j] x[i, j]."""
    array = core.arguments[0][1]
    binders = []
    for number, dim in enumerate(array.type.shape):
        assert isinstance(dim, Dim)
        binders.append(whole_axis(core, f"i{number}", dim))
        array = element(array, index_of(binders[-1]))
    return c.Reduce(core.span, core.type, "sum", tuple(binders), None, array)
