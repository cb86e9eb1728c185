"""From the parser's rules to the syntax tree. Rule `draw_stmt` and class `DrawStmt` are one thing.

The automaton makes values bottom up, so no program is too deep to build. A rule's children hold all
its tokens, so a node's span runs from its first child to its last. `MAKERS` says for each rule what
it becomes, and where among the children every field is found.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from . import syntax as s
from .lalr import Token

Pick = Callable[[list[Any]], Any]


class _List(s.SyntaxNode):
    """A bracketed list on its way to the node that owns it."""

    rule: str
    items: tuple[Any, ...]


def _node(kind: type[s.SyntaxNode], *fields: Pick) -> Pick:
    def make(children: list[Any]) -> s.SyntaxNode:
        span = children[0].span.to(children[-1].span)
        return kind(span, *[pick(children) for pick in fields])

    return make


# ---- where a field is found among the children


def _all(kind: Any, start: int = 0) -> Pick:
    return lambda children: tuple(x for x in children[start:] if isinstance(x, kind))


def _first(kind: Any) -> Pick:
    return lambda children: next((x for x in children if isinstance(x, kind)), None)


def _after(*types: str) -> Pick:
    """The child that follows the first token of one of these types."""

    def pick(children: list[Any]) -> Any:
        for i, child in enumerate(children):
            if isinstance(child, Token) and child.type in types:
                return children[i + 1]
        return None

    return pick


def _has(type_: str) -> Pick:
    return lambda children: any(isinstance(x, Token) and x.type == type_ for x in children)


def _tokens(type_: str, make: Callable[[Token], Any], start: int = 0) -> Pick:
    def pick(children: list[Any]) -> tuple[Any, ...]:
        found = (x for x in children[start:] if isinstance(x, Token) and x.type == type_)
        return tuple(map(make, found))

    return pick


def _items(rule: str, default: tuple[Any, ...] | None = ()) -> Pick:
    """What stands in the list that this rule has read."""

    def pick(children: list[Any]) -> tuple[Any, ...] | None:
        for child in children:
            if isinstance(child, _List) and child.rule == rule:
                return child.items
        return default

    return pick


def _list(rule: str, kind: type[s.SyntaxNode]) -> Pick:
    return _node(_List, lambda children: rule, _all(kind))


def _only(pick: Pick) -> Pick:
    return lambda children: next(iter(pick(children)), None)


def _text(position: int) -> Pick:
    return lambda children: children[position].text


def _name(position: int) -> Pick:
    return lambda children: _name_of(children[position])


# ---- names and numbers


def name_text(text: str) -> str:
    """Backquotes let any text be a name; the tree holds the text alone."""
    return text[1:-1] if text.startswith("`") else text


def _name_of(token: Token) -> s.Name:
    return s.Name(token.span, name_text(token.text))


def _number_of(token: Token) -> s.Number:
    return s.Number(token.span, token.text)


def _string_of(token: Token) -> s.String:
    return s.String(token.span, token.text[1:-1])


def _qualified(children: list[Any]) -> str:
    return ".".join(name_text(token.text) for token in children if token.type == "NAME")


def _bound(children: list[Any]) -> int | float:
    value = _number_of(children[-1]).value
    return -value if len(children) == 2 else value


def _bound_after(sign: str) -> Pick:
    follower = _after(sign)
    return lambda children: x if isinstance(x := follower(children), s.Bound) else None


def _argument_name(children: list[Any]) -> str | None:
    return name_text(children[0].text) if len(children) == 3 else None


_one, _two, _last = itemgetter(0), itemgetter(1), itemgetter(-1)
_where, _binders = _only(_items("where")), _all(s.Binder)
_dims, _arguments, _block = _items("dims"), _items("arguments"), _items("block")
_annotations, _parameters = _items("annotations"), _items("parameters")
_size = _only(_tokens("NUMBER", _number_of))

MAKERS: dict[str, Pick] = {
    "start": _all(s.Statement),
    # ---- declarations
    "model_stmt": _node(s.ModelStmt, _name(1)),
    "import_stmt": _node(s.ImportStmt, _only(_tokens("STRING", _string_of)), _name(3)),
    "dim_stmt": _node(s.DimStmt, _name(1), _size, _tokens("NAME", _name_of, 3)),
    "role": _one,
    "decl_stmt": _node(
        s.DeclStmt, _text(0), _name(1), _dims, _after("COLON"), _after("EQUALS"), _annotations
    ),
    "dims": _list("dims", s.Name),
    "type": _node(s.TypeExpr, _one, _arguments, _dims),
    "qualified": _node(s.Name, _qualified),
    "fn_stmt": _node(s.FnStmt, _name(1), _parameters, _after("ARROW"), _after("EQUALS")),
    "extern_stmt": _node(s.FnStmt, _name(2), _parameters, _after("ARROW"), _after("EQUALS")),
    "parameters": _list("parameters", s.Parameter),
    "parameter": _node(s.Parameter, _name(0), _dims, _last),
    # ---- the model
    "draw_stmt": _node(s.DrawStmt, _one, _first(s.TypeExpr), _after("TILDE"), _annotations),
    "let_stmt": _node(
        s.LetStmt,
        _one,
        _first(s.TypeExpr),
        _has("DEFINE"),
        _after("EQUALS", "DEFINE"),
        _annotations,
    ),
    "factor_stmt": _node(s.FactorStmt, _two, _after("COLON"), _annotations),
    "objective_stmt": _node(s.ObjectiveStmt, _has("MINIMIZE"), _two, _annotations),
    "target": _node(s.Target, _name(0), _all(s.Binder | s.Expr, 1), _where),
    "binder": _node(s.Binder, _name(0), itemgetter(2)),
    "range": _node(
        s.Range,
        _one,
        lambda children: len(children) == 1,
        _bound_after("LBRACKET"),
        _bound_after("DOTS"),
    ),
    "bound": _node(s.Bound, _bound),
    "where": _list("where", s.Expr),
    "for_stmt": _node(s.ForStmt, _binders, _where, _block),
    "soft_stmt": _node(s.SoftStmt, _arguments, _block),
    "guide_stmt": _node(s.GuideStmt, _block),
    "block": _list("block", s.Statement),
    "annotations": _list("annotations", s.Annotation),
    "annotation": _node(
        s.Annotation,
        lambda children: name_text(children[0].text),
        _after("EQUALS"),
        _items("arguments", None),
    ),
    # ---- expressions
    "if_expr": _node(s.IfExpr, _two, itemgetter(3), itemgetter(5)),
    "loop_expr": _node(s.LoopExpr, _name(1), *map(itemgetter, (3, 5, 7, 9))),
    "comprehension": _node(s.Comprehension, _binders, _where, _last),
    "reduction": _node(s.Reduction, _text(0), _binders, _where, _last),
    "binary": _node(s.Binary, _text(1), _one, itemgetter(2)),
    "unary": _node(s.Unary, _text(0), _two),
    "index": _node(s.Index, _one, _all(s.Expr, 1)),
    "number": _node(s.Number, _text(0)),
    "boolean": _node(s.Boolean, _has("TRUE")),
    "string": lambda children: _string_of(children[0]),
    "name": _one,
    "call": _node(s.Call, _one, _arguments),
    "group": _node(s.Group, _two),
    "array": _node(s.Array, _all(s.Expr)),
    "arguments": _list("arguments", s.Argument),
    "argument": _node(s.Argument, _argument_name, _last),
    "table": _node(s.Table, _all(s.Expr), _all(s.Key), _all(s.Row)),
    "row": _node(s.Row, _all(s.Key), _all(s.Expr)),
    "key": _node(s.Key, lambda children: name_text(children[0].text)),
}
