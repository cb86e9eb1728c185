"""Stages as text: core expressions like the language, every index and argument spelled out."""

from collections.abc import Iterable

from ..diagnostics import InternalError
from ..record import Record
from . import core as c
from .dependence import Recurrence
from .graph import Graph, Node
from .typed import Definition, Function, Piece, Setting, Typed
from .types import LAST, Dim, Place, Type

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "^", "matmul": "@",
    "and": "and", "or": "or", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip


# ---- core expressions


def show(core: c.Core | c.Law) -> str:
    match core:
        case c.Const(value=bool()):
            return str(core.value).lower()
        case c.Const():
            return f"{core.value:.12g}"
        case c.DimRef():
            return str(core.dim)
        case c.Var() | c.Ref():
            return core.name
        case c.At():
            return f"{show(core.base)}[{_list(core.indices)}]"
        case c.Apply() if core.function in INFIX:
            left, right = (show(value) for _, value in core.arguments)
            return f"({left} {INFIX[core.function]} {right})"
        case c.Apply():
            return f"{core.function}({_arguments(core.arguments)})"
        case c.CallFn():
            return f"{core.function}({_list(core.arguments)})"
        case c.If():
            return f"(if {show(core.condition)} then {show(core.then)} else {show(core.otherwise)})"
        case c.Loop():
            head = f"{core.variable} = {show(core.start)} while {show(core.condition)}"
            return f"(loop {head} max {core.limit} do {show(core.body)})"
        case c.Reduce():
            where = f" where {show(core.where)}" if core.where else ""
            return f"({core.operator}[{_binders(core.binders)}{where}] {show(core.body)})"
        case c.Build():
            return f"([{_binders(core.binders)}] {show(core.body)})"
        case c.Stack():
            return f"[{_list(core.items)}]"
        case c.Lookup():
            more = ["..."] * (len(core.entries) > 4)
            entries = [*map(show, core.entries[:4]), *more]
            return f"lookup[{_list(core.parents)}]({'; '.join(entries)})"
        case c.Law():
            return f"{core.name}({_arguments(core.arguments)})"
    raise InternalError(f"{type(core).__name__} is in no program")


def _list(cores: Iterable[c.Core]) -> str:
    return ", ".join(map(show, cores))


def _arguments(pairs: tuple[tuple[str, c.Core], ...]) -> str:
    return ", ".join(f"{name}={show(value)}" for name, value in pairs)


def _binders(binders: tuple[c.Bind, ...]) -> str:
    return ", ".join(show_bind(bind) for bind in binders)


def show_bind(bind: c.Bind) -> str:
    low = "" if bind.low == Place(0) else str(bind.low.offset)
    end = bind.high.shift(1)
    is_end = bind.high == LAST or (bind.dim.size is not None and end.offset == bind.dim.size)
    high = "" if is_end else str(end.offset)
    return f"{bind.name} in {bind.dim}" + (f"[{low}..{high}]" if low or high else "")


# ---- statements and nodes


def show_setting(setting: Setting) -> str:
    options = ", ".join(f"{name}={value}" for name, value in setting.options)
    method = f"{setting.method}({options})" if options else setting.method
    return f"{setting.name}={method}" if method else setting.name


def show_piece(name: str, piece: Piece) -> str:
    indices = [show_bind(i) if isinstance(i, c.Bind) else show(i) for i in piece.indices]
    where = f" where {show(piece.where)}" if piece.where else ""
    target = f"{name}[{', '.join(indices)}{where}]" if indices else name
    sign = "~" if isinstance(piece.body, c.Law) else "="
    settings = f" with {', '.join(map(show_setting, piece.settings))}" if piece.settings else ""
    return f"{target} {sign} {show(piece.body)}{settings}"


def show_typed(typed: Typed) -> str:
    lines = [f"model {typed.name}".rstrip(), *(_show_dim(dim) for dim in typed.dims)]
    lines += [_show_function(function) for function in typed.functions]
    lines += [line for definition in typed.definitions for line in _show_definition(definition)]
    if typed.guide:
        guide = [line for definition in typed.guide for line in _show_definition(definition)]
        lines += ["guide", *(f"  {line}" for line in guide)]
    if typed.objective:
        aim = "minimize" if typed.objective.minimize else "maximize"
        lines.append(f"{aim} {show(typed.objective.value)}")
    return "\n".join(lines)


def _show_dim(dim: Dim) -> str:
    value = " | ".join(dim.labels) if dim.labels else "" if dim.size is None else str(dim.size)
    return f"dim {dim.name}" + (f" = {value}" if value else "")


def _show_function(function: Function) -> str:
    parameters = ", ".join(f"{name}: {type_}" for name, type_ in function.parameters)
    head = f"fn {function.name}({parameters}) -> {function.result}"
    return f"{head} = {show(function.body)}" if function.body else f"extern {head}"


def _show_definition(definition: Definition) -> list[str]:
    default = f" = {show(definition.default)}" if definition.default else ""
    head = f"{definition.kind} {definition.name} : {definition.type}{default}"
    return [head, *(f"  {show_piece(definition.name, piece)}" for piece in definition.pieces)]


def show_graph(graph: Graph) -> str:
    lines = [f"graph {graph.name}".rstrip(), *(f"  {_show_dim(dim)}" for dim in graph.dims)]
    lines += [line for node in graph.nodes for line in _show_node(node)]
    lines += [line for group in graph.recurrences for line in _show_recurrence(group)]
    if graph.guide:
        lines += ["guide", *show_graph(graph.guide).splitlines()[1:]]
    return "\n".join(lines)


def _show_recurrence(group: Recurrence, indent: str = "  ") -> list[str]:
    direction = "backward" if group.reverse else "forward"
    how = f"axis {group.axis}, order {group.order}, {direction}"
    lines = [f"{indent}recurrence {', '.join(group.members)}: {how}"]
    for inner in group.inner:
        lines += _show_recurrence(inner, indent + "  ")
    return lines


def _show_node(node: Node) -> list[str]:
    marks = [word for word in ("random", "observed", "kept") if getattr(node, word)]
    parents = f" <- {', '.join(node.parents)}" if node.parents else ""
    marked = f"  ({', '.join(marks)})" if marks else ""
    head = f"  {node.kind.value} {node.name} : {node.type}{parents}{marked}"
    return [head, *(f"    {show_piece(node.name, piece)}" for piece in node.pieces)]


# ---- syntax


def show_record(value: object, indent: str = "") -> str:
    """A record as an outline: one line for each part that has parts of its own."""
    if not isinstance(value, Record) or isinstance(value, Type):
        return repr(value)
    shown = [name for name in value.fields if name not in value.not_compared]
    fields = [(name, getattr(value, name)) for name in shown]
    if not any(_has_parts(field) for _, field in fields):
        return f"{type(value).__name__}({', '.join(f'{field!r}' for _, field in fields)})"
    inner = indent + "  "
    lines = [type(value).__name__]
    for name, field in fields:
        if isinstance(field, tuple) and _has_parts(field):
            items = [f"{inner}  {show_record(item, inner + '  ')}" for item in field]
            lines += [f"{inner}{name}:", *items]
        else:
            lines.append(f"{inner}{name}: {show_record(field, inner)}")
    return "\n".join(lines)


def _has_parts(value: object) -> bool:
    if isinstance(value, tuple):
        return any(isinstance(item, Record) for item in value)
    return isinstance(value, Record)
