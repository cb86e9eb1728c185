"""Computed nodes and functions that depend on finite variables, replaced by their definitions.

After this an expression mentions the finite variables themselves, and can be tabulated over them.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import reads_any
from dpc.dsl.graph.forms import index_of
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Piece
from dpc.dsl.graph.types import Type

Tree = TypeVar("Tree", bound=c.Core | c.Law)
Bindings = Mapping[str, c.Core]


class NotTabular(ValueError):
    """A use of finite variables for which no table is made; says what to write instead."""


class Expander:
    def __init__(self, graph: Graph, finite: frozenset[str]):
        self.nodes = graph.by_name
        self.functions = {function.name: function for function in graph.functions}
        self.affected = affected_functions(graph, finite)
        self.mentioned = finite | self.affected
        self._fresh = 0

    def expand(self, tree: Tree, bindings: Bindings) -> Tree:
        """The tree with variables replaced by their bindings and definitions written out."""
        rule = _RULES.get(type(tree))
        if rule:
            found: Tree = rule(self, tree, bindings)
            return found
        return c.map_parts(tree, lambda part: self.expand(part, bindings))

    def depends(self, core: c.Core | c.Law) -> bool:
        return reads_any(core, self.mentioned)

    # ---- leaves and definitions

    def _var(self, core: c.Var, bindings: Bindings) -> c.Core:
        return bindings.get(core.name, core)

    def _ref(self, core: c.Ref, bindings: Bindings) -> c.Core:
        if core.name not in self.affected:
            return core
        return self._definition(self.nodes[core.name], (), core.type)

    def _at(self, core: c.At, bindings: Bindings) -> c.Core:
        indices = tuple(self.expand(index, bindings) for index in core.indices)
        if isinstance(core.base, c.Ref) and core.base.name in self.affected:
            return self._definition(self.nodes[core.base.name], indices, core.type)
        return core.replace(base=self.expand(core.base, bindings), indices=indices)

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
        if function.body is None or not any(map(self.depends, arguments)):
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

    def _reduce(self, core: c.Reduce, bindings: Bindings) -> c.Core:
        binders, inside = self._renamed(core.binders, bindings)
        where = None if core.where is None else self.expand(core.where, inside)
        return core.replace(binders=binders, where=where, body=self.expand(core.body, inside))

    def _build_form(self, core: c.Build, bindings: Bindings) -> c.Core:
        return self._build(core.binders, core.body, core.type, bindings)

    def _loop(self, core: c.Loop, bindings: Bindings) -> c.Core:
        name = self._fresh_name(core.variable)
        inside = {**bindings, core.variable: c.Var(core.span, core.type, name)}
        start = self.expand(core.start, bindings)
        condition, body = self.expand(core.condition, inside), self.expand(core.body, inside)
        return core.replace(variable=name, start=start, condition=condition, body=body)


_RULES: dict[type, Callable[..., Any]] = {
    c.Var: Expander._var,
    c.Ref: Expander._ref,
    c.At: Expander._at,
    c.CallFn: Expander._call,
    c.Reduce: Expander._reduce,
    c.Build: Expander._build_form,
    c.Loop: Expander._loop,
}


def affected_functions(graph: Graph, finite: frozenset[str]) -> frozenset[str]:
    """The computed nodes that depend on a finite variable, directly or not."""
    found: set[str] = set()
    for node in graph.of_kind(Kind.FUNCTION):
        if any(parent in finite or parent in found for parent in node.parents):
            found.add(node.name)
    return frozenset(found)


def _only_piece(node: Node) -> Piece:
    if len(node.pieces) > 1 or node.name in node.parents:
        raise NotTabular(
            f"`{node.name}` is computed step by step from finite variables: make it a variable of "
            "its own, drawn given its past, or write it in one statement"
        )
    piece = node.pieces[0]
    if any(setting.name in ("soft", "smooth") for setting in piece.settings):
        raise NotTabular(
            f"`{node.name}` is smoothed, and depends on finite variables: ask for it without "
            "`with soft`"
        )
    return piece
