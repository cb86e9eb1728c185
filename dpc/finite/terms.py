"""log p(x) = sum over terms of term(its slots): each a table over few finite variables.

Plates stay symbolic: a term has one table for every place of its binders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf, lgamma

from dpc.dsl.graph import core as c
from dpc.dsl.graph.evaluate import Array, Evaluator, Sizes
from dpc.dsl.graph.forms import both, index_type
from dpc.dsl.graph.graph import Graph, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import BOOL, REAL, Type
from dpc.dsl.record import Record

from .expand import Expander, NotTabular
from .slots import Slot, Slotter


class FiniteTerm(Record):
    """Of the node `name`: a log potential, or a law taken at `value`, whose slot is `child`."""

    name: str
    binders: tuple[c.Bind, ...]
    where: c.Core | None
    body: c.Core | c.Law
    value: c.Core | None
    slots: tuple[Slot, ...]
    child: int | None = None

    @property
    def axes(self) -> tuple[c.Bind, ...]:
        return (*self.binders, *(slot.bind for slot in self.slots))

    def table(self, evaluator: Evaluator) -> Array:
        """For every place of its binders and every value of its slots."""
        return evaluator.table(self.body, self.value, self.where, self.axes)

    @property
    def is_shared(self) -> bool:
        """Whether one table serves all places of the binders: it does not depend on time."""
        own = {bind.name for bind in self.binders}
        trees = [self.body, *([] if self.value is None else [self.value])]
        return bool(self.slots) and not any(
            isinstance(part, c.Var) and part.name in own for tree in trees for part in c.walk(tree)
        )


class Tabulator:
    """Finds the terms of a graph in which `finite` nodes are summed over, all else given."""

    def __init__(self, graph: Graph, finite: tuple[Node, ...], sizes: Mapping[str, int]):
        self.graph = graph
        self.finite = {node.name: node for node in finite}
        self.sizes = Sizes(sizes)
        self.expander = Expander(graph, frozenset(self.finite))

    def terms(self, names: frozenset[str]) -> Iterator[FiniteTerm]:
        """The terms of these draws and factors."""
        for node in self.graph.nodes:
            if node.name in names:
                for piece in node.pieces:
                    yield from self._density_terms(node, piece)

    def values(self, node: Node) -> Iterator[FiniteTerm]:
        """A computed number as a sum of terms: the tables hold values."""
        body = node.pieces[0].body
        assert isinstance(body, c.Core)
        for part in split_sum(self.expander.expand(body, {}), self.expander.depends):
            yield self._term(node, part)

    def _density_terms(self, node: Node, piece: Piece) -> Iterator[FiniteTerm]:
        if any(setting.name in ("soft", "smooth") for setting in piece.settings):
            # A table would hold the hard meaning, which is another model's.
            raise NotTabular(
                f"`{node.name}` is smoothed, and tables hold only what is not: ask without "
                "`with soft` or `with smooth`"
            )
        binders, bindings = self._binders(piece)
        where = None if piece.where is None else self.expander.expand(piece.where, bindings)
        if where is not None and self.expander.depends(where):
            raise NotTabular(
                f"the `where` of `{node.name}` depends on finite variables: write an `if` in its "
                "place"
            )
        if isinstance(piece.body, c.Law):
            yield self._law_term(node, piece, binders, where, bindings)
            if any(setting.name == "ordered" for setting in piece.settings):
                yield self._order_term(node, binders)
            return
        body = self.expander.expand(piece.body, bindings)
        for part in split_sum(body, self.expander.depends):
            yield self._term(
                node, Summand(part.body, binders + part.binders, both(where, part.where))
            )

    def _binders(self, piece: Piece) -> tuple[tuple[c.Bind, ...], dict[str, c.Core]]:
        binders = tuple(index for index in piece.indices if isinstance(index, c.Bind))
        return binders, {
            bind.name: c.Var(bind.span, index_type(bind), bind.name) for bind in binders
        }

    def _law_term(
        self,
        node: Node,
        piece: Piece,
        binders: tuple[c.Bind, ...],
        where: c.Core | None,
        bindings: dict[str, c.Core],
    ) -> FiniteTerm:
        slotter = Slotter(self.finite, self.sizes)
        value = slotter.rewrite(_value(node, piece, bindings))
        child = 0 if slotter.slots else None
        body = slotter.rewrite(self.expander.expand(piece.body, bindings))
        return FiniteTerm(
            node.name, binders, where, body, value, tuple(slotter.slots.values()), child
        )

    def _order_term(self, node: Node, binders: tuple[c.Bind, ...]) -> FiniteTerm:
        """K draws kept in order: log K! where they increase, impossible elsewhere."""
        *outer, last = binders
        step = last.replace(name=f"{last.name}.next", low=last.low.shift(1))
        index = c.Var(last.span, index_type(step), step.name)
        before = c.Apply(
            last.span,
            index.type,
            "subtract",
            (("a", index), ("b", c.Const(last.span, index.type, 1))),
        )
        places = tuple(c.Var(bind.span, index_type(bind), bind.name) for bind in outer)
        here, there = (_element(node, (*places, place)) for place in (index, before))
        rises = c.Apply(last.span, BOOL, "greater", (("a", here), ("b", there)))
        increasing = c.Reduce(last.span, BOOL, "all", (step,), None, rises)
        count = len(self.sizes.places(last))
        some, none = (c.Const(last.span, REAL, value) for value in (lgamma(count + 1), -inf))
        return FiniteTerm(
            node.name, tuple(outer), None, c.If(last.span, REAL, increasing, some, none), None, ()
        )

    def _term(self, node: Node, part: Summand) -> FiniteTerm:
        slotter = Slotter(self.finite, self.sizes)
        body = slotter.rewrite(part.body)
        return FiniteTerm(
            node.name, part.binders, part.where, body, None, tuple(slotter.slots.values())
        )


def _element(node: Node, places: tuple[c.Core, ...]) -> c.Core:
    return c.At(node.span, Type(node.type.domain), c.Ref(node.span, node.type, node.name), places)


def _value(node: Node, piece: Piece, bindings: dict[str, c.Core]) -> c.Core:
    """The element that a piece defines."""
    whole = c.Ref(piece.span, node.type, node.name)
    places = tuple(
        bindings[index.name] if isinstance(index, c.Bind) else index for index in piece.indices
    )
    shape = node.type.shape[len(places) :]
    return c.At(piece.span, node.type.replace(shape=shape), whole, places) if places else whole


# ---- sums


class Summand(Record):
    """`body` for every place of `binders` where `where` holds."""

    body: c.Core
    binders: tuple[c.Bind, ...] = ()
    where: c.Core | None = None


def split_sum(core: c.Core, depends: Callable[[c.Core], bool]) -> Iterator[Summand]:
    """sum of the summands = core; what does not depend on finite variables is left whole."""
    if not depends(core):
        yield Summand(core)
    elif isinstance(core, c.Reduce) and core.operator == "sum":
        for inner in split_sum(core.body, depends):
            where = both(core.where, inner.where)
            yield Summand(inner.body, core.binders + inner.binders, where)
    elif isinstance(core, c.Apply) and (linear := _linear_parts(core, depends)):
        for argument, around in linear:
            for inner in split_sum(argument, depends):
                yield inner.replace(body=around(inner.body))
    else:
        yield Summand(core)


Part = tuple[c.Core, Callable[[c.Core], c.Core]]


def _linear_parts(core: c.Apply, depends: Callable[[c.Core], bool]) -> list[Part]:
    """The arguments that the form is linear in, each with what stands around it."""
    arguments = [argument for _, argument in core.arguments]
    if core.function == "add":
        return [(argument, _same) for argument in arguments]
    if core.function == "subtract":
        return [(arguments[0], _same), (arguments[1], _negated)]
    if core.function == "negate":
        return [(arguments[0], _negated)]
    if core.function in ("multiply", "divide") and not depends(arguments[1]):
        return [(arguments[0], lambda part: _with_argument(core, 0, part))]
    if core.function == "multiply" and not depends(arguments[0]):
        return [(arguments[1], lambda part: _with_argument(core, 1, part))]
    return []


def _same(part: c.Core) -> c.Core:
    return part


def _negated(part: c.Core) -> c.Core:
    return c.Apply(part.span, part.type, "negate", (("x", part),))


def _with_argument(core: c.Apply, place: int, part: c.Core) -> c.Core:
    arguments = list(core.arguments)
    arguments[place] = (arguments[place][0], part)
    return core.replace(arguments=tuple(arguments))
