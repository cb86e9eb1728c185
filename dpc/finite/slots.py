"""Finite variables become axes of a table: `V[tag[t-1], tag[t]]` is V[a, b] for all a and b.

A slot stands for one element of a variable, at indices that are known once data is. Where an
expression ranges over many elements, as in sum[i in D] x[i], it is written out, one slot for each.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import reads, reads_any
from dpc.dsl.graph.evaluate import Sizes
from dpc.dsl.graph.forms import compare, index_of, pair
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import FIRST, LAST, Axis, Bool, Dim, Fixed, IndexOf, Int, Type
from dpc.dsl.library.functions import functions_by_name
from dpc.dsl.printable import InWords
from dpc.dsl.record import Record
from dpc.dsl.source import Span

Tree = TypeVar("Tree", bound=c.Core | c.Law)
Bindings = Mapping[str, c.Core]


class NotTabular(InWords, ValueError):
    """A use of finite variables for which no table is made; says what to write instead."""


class Expander:
    """Writes out what depends on finite variables: then a tree mentions these themselves."""

    def __init__(self, graph: Graph, finite: frozenset[str]):
        self.nodes = graph.by_name
        self.functions = {function.name: function for function in graph.functions}
        # The computed nodes that depend on a finite variable, directly or not.
        found: set[str] = set()
        for node in graph.of_kind(Kind.FUNCTION):
            if any(parent in finite or parent in found for parent in node.parents):
                found.add(node.name)
        self.affected = frozenset(found)
        self.mentioned = finite | self.affected
        self._fresh = 0

    def expand(self, tree: Tree, bindings: Bindings) -> Tree:
        """The tree with variables replaced by their bindings and definitions written out."""
        core: Any = tree
        match core:
            case c.Var():
                core = bindings.get(core.name, core)
            case c.Ref() if core.name in self.affected:
                core = self._definition(self.nodes[core.name], (), core.type)
            case c.At():
                indices = tuple(self.expand(index, bindings) for index in core.indices)
                if isinstance(core.base, c.Ref) and core.base.name in self.affected:
                    core = self._definition(self.nodes[core.base.name], indices, core.type)
                else:
                    core = core.replace(base=self.expand(core.base, bindings), indices=indices)
            case c.CallFn():
                core = self._call(core, bindings)
            case c.Reduce():
                binders, inside = self._renamed(core.binders, bindings)
                where = None if core.where is None else self.expand(core.where, inside)
                body = self.expand(core.body, inside)
                core = core.replace(binders=binders, where=where, body=body)
            case c.Build():
                core = self._build(core.binders, core.body, core.type, bindings)
            case c.Loop():
                core = self._loop(core, bindings)
            case _:
                core = c.map_parts(core, lambda part: self.expand(part, bindings))
        found: Tree = core
        return found

    def depends(self, core: c.Core | c.Law) -> bool:
        return reads_any(core, self.mentioned)

    def _definition(self, node: Node, indices: tuple[c.Core, ...], type_: Type) -> c.Core:
        """The body of a computed node at these indices."""
        piece = _only_piece(node)
        body = piece.body
        assert isinstance(body, c.Core)
        own = [index for index in piece.indices if isinstance(index, c.Bind)]
        bindings = {bind.name: index for bind, index in zip(own, indices, strict=False)}
        rest = tuple(own[len(indices) :])
        if rest:
            return self._build(rest, body, type_, bindings)
        inner, left = self.expand(body, bindings), indices[len(own) :]
        return c.At(inner.span, type_, inner, left) if left else inner

    def _build(
        self, binders: tuple[c.Bind, ...], body: c.Core, type_: Type, bindings: Bindings
    ) -> c.Core:
        renamed, inside = self._renamed(binders, bindings)
        return c.Build(body.span, type_, renamed, self.expand(body, inside))

    def _call(self, core: c.CallFn, bindings: Bindings) -> c.Core:
        arguments = tuple(self.expand(argument, bindings) for argument in core.arguments)
        function = self.functions[core.function]
        # Numbers stand for themselves; of an array, the body says which elements it reads.
        of_numbers = not any(argument.type.shape for argument in arguments)
        if function.body is None or of_numbers or not any(map(self.depends, arguments)):
            return core.replace(arguments=arguments)
        names = (name for name, _ in function.parameters)
        return self.expand(function.body, dict(zip(names, arguments, strict=True)))

    # ---- forms that bind: their variables get names of their own, so that nothing is captured

    def _renamed(
        self, binders: tuple[c.Bind, ...], bindings: Bindings
    ) -> tuple[tuple[c.Bind, ...], Bindings]:
        renamed = tuple(bind.replace(name=self._fresh_name(bind.name)) for bind in binders)
        names = (bind.name for bind in binders)
        return renamed, {**bindings, **dict(zip(names, map(index_of, renamed), strict=True))}

    def _fresh_name(self, name: str) -> str:
        self._fresh += 1
        return f"{name.partition('.')[0]}.{self._fresh}"

    def _loop(self, core: c.Loop, bindings: Bindings) -> c.Core:
        name = self._fresh_name(core.variable)
        inside = {**bindings, core.variable: c.Var(core.span, core.type, name)}
        start = self.expand(core.start, bindings)
        condition, body = self.expand(core.condition, inside), self.expand(core.body, inside)
        return core.replace(variable=name, start=start, condition=condition, body=body)


def _only_piece(node: Node) -> Piece:
    if len(node.pieces) > 1 or node.name in node.parents:
        what = f"`{node.name}` is computed step by step from finite variables: make it a variable"
        raise NotTabular(f"{what} of its own, drawn given its past, or write it in one statement")
    piece = node.pieces[0]
    if any(setting.name in ("soft", "smooth") for setting in piece.settings):
        what = f"`{node.name}` is smoothed, and depends on finite variables"
        raise NotTabular(f"{what}: ask for it without `with soft`")
    return piece


NOWHERE = Span(0, 0)
TRUTH = Dim("Truth value", 2, ("false", "true"), NOWHERE)
NEUTRAL = {"sum": 0, "prod": 1, "all": True, "any": False}
CHAIN = {"sum": "add", "prod": "multiply", "all": "and", "any": "or"}


class Slot(Record):
    """One element of a finite variable: `bind` is its axis in the table."""

    node: str
    indices: tuple[c.Core, ...]
    bind: c.Bind


def value_dim(type_: Type, name: str) -> Dim:
    """The dim that the values of a finite variable count along."""
    domain = type_.domain
    if isinstance(domain, Bool):
        return TRUTH
    if isinstance(domain, IndexOf) and isinstance(domain.dim, Dim):
        return domain.dim
    low, high = type_.bounds
    return Dim(f"values of {name}", int(high - low) + 1, (), NOWHERE)


class Slotter:
    """Collects the slots of one term while rewriting it."""

    def __init__(self, finite: Mapping[str, Node], sizes: Sizes):
        self.finite = finite
        self.sizes = sizes
        self.slots: dict[tuple[str, tuple[c.Core, ...]], Slot] = {}

    def rewrite(self, tree: Tree) -> Tree:
        base, indices = (tree.base, tree.indices) if isinstance(tree, c.At) else (tree, ())
        found: Any = tree
        if isinstance(base, c.Ref) and base.name in self.finite:
            found = self._elements(self.finite[base.name], tuple(map(self.rewrite, indices)))
        elif isinstance(tree, c.Reduce | c.Build) and self._ranges(tree):
            found = self._written_out(tree)
        else:
            found = c.map_parts(tree, self.rewrite)
        result: Tree = found
        return result

    def _elements(self, node: Node, indices: tuple[c.Core, ...]) -> c.Core:
        """One element as a slot; several, or one at a random index, as an array of slots."""
        shape = node.type.shape
        for number, index in enumerate(indices):
            if self._is_random(index):
                every = self._every(node, indices[:number], shape[number], indices[number + 1 :])
                rest = Type(node.type.domain, shape[len(indices) :])
                return c.At(node.span, rest, every, (index,))
        if len(indices) < len(shape):
            return self._every(node, indices, shape[len(indices)], ())
        return self._slot(node, indices)

    def _every(
        self, node: Node, before: tuple[c.Core, ...], axis: Axis, after: tuple[c.Core, ...]
    ) -> c.Core:
        """The elements at all places of an axis."""
        type_ = Type(IndexOf(axis))
        places = [c.Const(NOWHERE, type_, place) for place in range(self.sizes.of(axis))]
        items = [self._elements(node, (*before, place, *after)) for place in places]
        return self._stack(items, axis)

    def _stack(self, items: list[c.Core], axis: Axis) -> c.Core:
        first = items[0].type
        return c.Stack(items[0].span, first.replace(shape=(axis, *first.shape)), tuple(items))

    def _is_random(self, index: c.Core) -> bool:
        own = {slot.bind.name for slot in self.slots.values()}
        return any(isinstance(part, c.Var) and part.name in own for part in c.walk(index))

    def _slot(self, node: Node, indices: tuple[c.Core, ...]) -> c.Core:
        slot = self.slots.get((node.name, indices))
        if slot is None:
            name, dim = f"slot.{len(self.slots)}", value_dim(node.type, node.name)
            slot = Slot(node.name, indices, c.Bind(node.span, name, dim, FIRST, LAST))
            self.slots[node.name, indices] = slot
        # The slot's place on its axis as a value of the variable.
        span, domain = node.span, node.type.domain
        index = c.Var(span, Type(IndexOf(slot.bind.dim)), slot.bind.name)
        if isinstance(domain, Bool):
            return compare("equal", index, c.Const(span, index.type, 1))
        if isinstance(domain, Int):
            low = c.Const(span, Type(domain), int(node.type.bounds[0]))
            number = index.replace(type=Type(Int(0)))
            return c.Apply(span, Type(domain), "add", pair(number, low))
        return index

    def _ranges(self, core: c.Reduce | c.Build) -> bool:
        """Whether the elements that the body mentions depend on the binders."""
        own = {bind.name for bind in core.binders}
        for node, at in reads(core.body):
            if node.name in self.finite and isinstance(at, c.At):
                leaves = (leaf for index in at.indices for leaf in c.walk(index))
                if any(isinstance(leaf, c.Var) and leaf.name in own for leaf in leaves):
                    return True
        return False

    def _written_out(self, core: c.Reduce | c.Build) -> c.Core:
        """The body at each place of the first binder, joined as the form says."""
        bind, *rest = core.binders
        inner: c.Core = core.body
        if rest and isinstance(core, c.Reduce):
            inner = core.replace(binders=tuple(rest))
        elif rest:
            type_ = core.type.replace(shape=core.type.shape[1:])
            inner = core.replace(binders=tuple(rest), type=type_)
        items = []
        for place in self.sizes.places(bind):
            here = c.Const(bind.span, Type(IndexOf(bind.dim)), place)
            item = substitute(inner, bind.name, here)
            if isinstance(core, c.Reduce) and core.where is not None and not rest:
                item = self._unless(core, item, substitute(core.where, bind.name, here))
            items.append(self.rewrite(item))
        if isinstance(core, c.Build):
            return self._stack(items, Fixed(len(items)))
        return self._joined(core, items)

    def _unless(self, core: c.Reduce, item: c.Core, where: c.Core) -> c.Core:
        if core.operator not in NEUTRAL:
            what = f"`{core.operator}` over a part of finite variables told by `where`"
            raise NotTabular(f"{what} has no table")
        neutral = c.Const(item.span, item.type, NEUTRAL[core.operator])
        return c.If(item.span, item.type, where, item, neutral)

    def _joined(self, core: c.Reduce, items: list[c.Core]) -> c.Core:
        if core.operator not in CHAIN:
            if len(core.binders) > 1:
                what = f"`{core.operator}` over finite variables along several dims has no table"
                raise NotTabular(f"{what}: nest it")
            texts = [row.text for row in functions_by_name()[core.operator]]
            text = next(text for text in texts if "[" in text.partition(")")[0])
            whole = (("x", self._stack(items, Fixed(len(items)))),)
            return c.Apply(core.span, core.type, core.operator, whole, text)
        found = items[0] if items else c.Const(core.span, core.type, NEUTRAL[core.operator])
        for item in items[1:]:
            found = c.Apply(core.span, core.type, CHAIN[core.operator], pair(found, item))
        return found


def substitute(tree: Tree, name: str, value: c.Core) -> Tree:
    """Names of binders are all different, so nothing is captured."""
    found: Any = value
    if not isinstance(tree, c.Var) or tree.name != name:
        found = c.map_parts(tree, lambda part: substitute(part, name, value))
    result: Tree = found
    return result
