"""Programs with relaxed draws: truth values become numbers in [0, 1], labels points of a simplex.

if b then x else y  is  b x + (1 - b) y;  v[z]  is  sum_k z[k] v[k];  z == yes  is  z[yes];
log p(z)  is  sum_k z[k] log p(k). At the corners all are what they were. What has no such meaning
is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from ...diagnostics import Diagnostic, DpError
from .. import core as c
from ..dependence import nodes_read, reads_any
from ..forms import arithmetic, index_of, number
from ..graph import Graph, Kind, Node
from ..substitute import Tree, renamed, substitute
from ..typed import Function
from ..types import REAL, Bool, Dim, IndexOf, Place, Real, Type
from .standard import rewrite

UNIT = Real(0.0, 1.0)


class Relaxed(NamedTuple):
    graph: Graph
    costs: tuple[c.Core, ...]


@rewrite
def relax(graph: Graph, methods: Mapping[str, str], costs: Sequence[c.Core]) -> Relaxed:
    """The draws named in `methods` have relaxed values, in the graph and in the costs."""
    if not methods:
        return Relaxed(graph, tuple(costs))
    relaxer = _Relaxer(graph, methods)
    nodes = tuple(relaxer.node(node) for node in graph.nodes)
    return Relaxed(graph.replace(nodes=nodes), tuple(map(relaxer.number, costs)))


class _Relaxer:
    def __init__(self, graph: Graph, methods: Mapping[str, str]):
        self.methods = methods
        self.draws = {name: graph[name] for name in methods}
        self.functions: dict[str, Function] = {f.name: f for f in graph.functions}
        self.depth = 0

    def node(self, node: Node) -> Node:
        if node.name in self.draws:
            node = node.replace(type=_relaxed_type(node.type))
        pieces = []
        for piece in node.pieces:
            if piece.where is not None and self.mentions(piece.where):
                self.refuse(piece.where, "a condition")
            pieces.append(piece.replace(body=self.relaxed(piece.body)))
        changed = node.replace(pieces=tuple(pieces))
        is_real = bool(pieces) and isinstance(pieces[0].body.type.domain, Real)
        if node.kind is Kind.FUNCTION and is_real and changed.pieces != node.pieces:
            return changed.replace(type=Type(Real(), node.type.shape))
        return changed

    def relaxed(self, core: Tree) -> Tree:
        return c.map_parts(core, self.number) if isinstance(core, c.Law) else self.number(core)  # type: ignore[return-value]

    def mentions(self, core: c.Core | c.Law) -> bool:
        return reads_any(core, self.draws)

    def refuse(self, core: c.Core, what: str) -> None:
        name = next(name for name in nodes_read(core) if name in self.draws)
        node = self.draws[name]
        method = self.methods[name]
        message = f"`grad={method}` relaxes `{name}`, and {what} of it has no relaxed meaning"
        span = node.pieces[0].span if node.pieces else node.span
        help = "use `grad=enumerate`, `rloo` or `disarm`"
        raise DpError([Diagnostic("E0707", message, node.source, span, help=help)])

    def number(self, core: c.Core) -> c.Core:
        """The same value as a number or an array of numbers, with relaxed draws in it."""
        if not self.mentions(core):
            return core
        if self.is_draw(core):
            return self.draw(core)
        if isinstance(core, c.At) and any(map(self.is_label, core.indices)):
            return self.chosen(core)
        if isinstance(core, c.Lookup):
            return self.looked_up(core)
        if isinstance(core, c.If):
            return self.branches(core)
        if isinstance(core, c.LogDensity):
            return self.log_density(core)
        if isinstance(core, c.Divergence):
            return core.replace(law=self.relaxed(core.law), other=self.relaxed(core.other))
        if isinstance(core, c.CallFn):
            return self.call(core)
        if isinstance(core, c.Apply) and core.function == "one_hot":
            return self.simplex(core.arguments[0][1])
        if isinstance(core.type.domain, Bool) and not core.type.shape:
            return self.truth(core)
        if isinstance(core, c.Reduce | c.Loop):
            guard = core.where if isinstance(core, c.Reduce) else core.condition
            if guard is not None and self.mentions(guard):
                self.refuse(guard, "a condition")
        changed = c.map_parts(core, self.relaxed)
        return changed.replace(type=Type(Real(), core.type.shape, core.type.constraint))

    def draw(self, core: c.Ref | c.At) -> c.Core:
        if isinstance(core.type.domain, IndexOf):
            return self.position(core)
        if isinstance(core, c.At):
            base = core.base.replace(type=_relaxed_type(core.base.type))
            return core.replace(type=Type(UNIT, core.type.shape), base=base)
        return core.replace(type=_relaxed_type(core.type))

    def position(self, core: c.Core) -> c.Core:
        """A label as a number is its mean position."""
        if core.type.shape:
            self.refuse(core, "the whole array")
        return self.expected(core, lambda place: place)

    def expected(self, value: c.Core, of: Callable[[c.Core], c.Core]) -> c.Core:
        """sum_k z[k] f(k) for a label z, and b f(true) + (1 - b) f(false) for a truth value b."""
        if self.is_label(value):
            bind, place = self.places(value)
            body = _times(self.weight(value, place), of(place))
            type_ = Type(Real(), body.type.shape)
            return c.Reduce(body.span, type_, "sum", (bind,), None, body)
        cases = (c.Const(value.span, Type(Bool()), truth) for truth in (True, False))
        return _mixed(self.truth(value), *map(of, cases))

    def is_label(self, core: c.Core) -> bool:
        return self.is_draw(core) and isinstance(core.type.domain, IndexOf)

    def is_draw(self, core: c.Core) -> TypeGuard[c.Ref | c.At]:
        base = core.base if isinstance(core, c.At) else core
        return isinstance(base, c.Ref) and base.name in self.draws

    def places(self, label: c.Core) -> tuple[c.Bind, c.Core]:
        """A binder over all labels, with a name of its own."""
        assert isinstance(label.type.domain, IndexOf)
        dim = label.type.domain.dim
        assert isinstance(dim, Dim)
        self.depth += 1
        low, high = Place(0), Place(-1, True) if dim.size is None else Place(dim.size - 1)
        bind = c.Bind(label.span, f"label {self.depth}", dim, low, high)
        return bind, index_of(bind)

    def weight(self, label: c.Core, place: c.Core) -> c.Core:
        """How much of a relaxed label is at this place."""
        vector = self.simplex(label)
        if isinstance(vector, c.At):
            return vector.replace(type=Type(UNIT), indices=(*vector.indices, place))
        return c.At(label.span, Type(UNIT), vector, (place,))

    def simplex(self, label: c.Core) -> c.Core:
        if not self.is_label(label):
            self.refuse(label, "this use")
        whole = label.base if isinstance(label, c.At) else label
        base = whole.replace(type=_relaxed_type(whole.type))
        shape = base.type.shape
        if not isinstance(label, c.At):
            return base
        return label.replace(type=Type(UNIT, shape[len(label.indices) :], "simplex"), base=base)

    def chosen(self, core: c.At) -> c.Core:
        """v[z] = sum_k z[k] v[k], for every label among the indices."""
        axis = next(k for k, index in enumerate(core.indices) if self.is_label(index))
        before, after = core.indices[:axis], core.indices[axis + 1 :]

        def at(place: c.Core) -> c.Core:
            return self.number(core.replace(indices=(*before, place, *after)))

        return self.expected(core.indices[axis], at)

    def looked_up(self, core: c.Lookup) -> c.Core:
        """The first relaxed parent is summed over; the others are, one after the other, inside."""
        axes = [k for k, parent in enumerate(core.parents) if self.mentions(parent)]
        if not axes:
            return c.map_parts(core, self.number)
        before, (parent, *after) = core.parents[: axes[0]], core.parents[axes[0] :]
        if not self.is_label(parent) and not isinstance(parent.type.domain, Bool):
            self.refuse(parent, "a position")

        def at(case: c.Core) -> c.Core:
            return self.number(core.replace(parents=(*before, case, *after)))

        return self.expected(parent, at)

    def branches(self, core: c.If) -> c.Core:
        then, otherwise = self.number(core.then), self.number(core.otherwise)
        if not self.mentions(core.condition):
            return core.replace(then=then, otherwise=otherwise, type=Type(Real(), core.type.shape))
        if isinstance(core.type.domain, IndexOf):
            self.refuse(core.condition, "a choice of labels because")
        return _mixed(self.truth(core.condition), then, otherwise)

    def log_density(self, core: c.LogDensity) -> c.Core:
        law = self.relaxed(core.law)
        if not self.mentions(core.value):
            return core.replace(law=law)
        is_truth = isinstance(core.value.type.domain, Bool) and not core.value.type.shape
        if not is_truth and not self.is_label(core.value):
            return core.replace(law=law, value=self.number(core.value))
        return self.expected(core.value, lambda value: core.replace(law=law, value=value))

    def call(self, core: c.CallFn) -> c.Core:
        """Functions of the program are written out; a caller's take relaxed values."""
        function = self.functions[core.function]
        if function.body is None:
            return core.replace(arguments=tuple(map(self.number, core.arguments)))
        self.depth += 1
        body = renamed(function.body, lambda name: f"{name} {self.depth}")
        names = [name for name, _ in function.parameters]
        return self.number(substitute(body, dict(zip(names, core.arguments, strict=True))))

    def truth(self, core: c.Core) -> c.Core:
        """How true it is: products for `and`, as of independent events."""
        if not self.mentions(core):
            return c.If(core.span, REAL, core, number(core, 1.0), number(core, 0.0))
        if self.is_draw(core):
            return self.draw(core)
        if isinstance(core, c.Apply):
            values = [argument for _, argument in core.arguments]
            if core.function == "not":
                return _complement(self.truth(values[0]))
            if core.function == "and":
                return _times(self.truth(values[0]), self.truth(values[1]))
            if core.function == "or":
                return _complement(_times(*(_complement(self.truth(value)) for value in values)))
            if core.function in ("equal", "not_equal"):
                same = self.same(*values)
                return same if core.function == "equal" else _complement(same)
        self.refuse(core, "a comparison")
        raise AssertionError

    def same(self, left: c.Core, right: c.Core) -> c.Core:
        if isinstance(left.type.domain, Bool) and isinstance(right.type.domain, Bool):
            a, b = self.truth(left), self.truth(right)
            return _mixed(a, b, _complement(b))
        if self.is_label(right) and not self.is_label(left):
            left, right = right, left
        if not self.is_label(left):
            self.refuse(left if self.mentions(left) else right, "a comparison")
        if not self.mentions(right):
            return self.weight(left, right)
        if not self.is_label(right):
            self.refuse(right, "a comparison")
        return self.expected(left, lambda place: self.weight(right, place))


def _relaxed_type(type_: Type) -> Type:
    if isinstance(type_.domain, IndexOf):
        return Type(UNIT, (*type_.shape, type_.domain.dim), "simplex")
    return Type(UNIT, type_.shape)


def _times(a: c.Core, b: c.Core) -> c.Core:
    return arithmetic("multiply", a, b)


def _complement(a: c.Core) -> c.Core:
    return arithmetic("subtract", number(a, 1.0), a)


def _mixed(weight: c.Core, then: c.Core, otherwise: c.Core) -> c.Core:
    return arithmetic("add", _times(weight, then), _times(_complement(weight), otherwise))
