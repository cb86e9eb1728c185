"""Gradients that would be wrong without a word, objectives without an estimate: what is said."""

from collections.abc import Iterable, Iterator, Sequence

from dpc.dsl.diagnostics import Diagnostic
from dpc.dsl.graph import core as c
from dpc.dsl.graph.dependence import nodes_read, reads_any
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Setting
from dpc.dsl.library.annotations import grad_method
from dpc.dsl.library.functions import functions_by_text
from dpc.dsl.source import Span

from .costs import CostTerm
from .follow import is_path
from .steps import is_simple

NOT_WEIGHED = frozenset({"samples", "control", "baseline", "constant"})


def grad_setting(node: Node) -> Setting | None:
    return next((setting for setting in node.settings if setting.name == "grad"), None)


def follows_path(method: str) -> bool:
    return grad_method(method).along == "path"


def weighs_scores(method: str) -> bool:
    """Step by step: the score of each step weighs the costs from there on."""
    row = grad_method(method)
    return row.along == "score" and row.stepwise


def critic_of(node: Node) -> str | None:
    """The value that is subtracted from the costs below a draw, as in `grad=sfe(control=v)`."""
    setting = grad_setting(node)
    found = dict(setting.options).get("control") if setting else None
    return None if found is None else str(found)


def refusals(graph: Graph, terms: Sequence[CostTerm], weighed: bool) -> Iterator[Diagnostic]:
    """What is wrong with the annotations of draws, given the costs or weights below them."""
    asked = [(n, found) for n in graph.of_kind(Kind.DRAW) if (found := grad_setting(n))]
    if weighed:
        for node, setting in asked:
            yield from _unweighable(node, setting)
    passing = frozenset(n.name for n, setting in asked if follows_path(setting.method))
    for node, setting in asked:
        yield from _leaves_out(node, setting.method, graph, terms, passing)
        yield from _of_options(node, setting, graph)
        summed = setting.method == "enumerate" and is_path(node, graph)
        stepwise = grad_method(setting.method).stepwise or summed
        if not stepwise and not is_simple(node, graph):
            kind = "draws of one statement, outside of recurrences and without conditions"
            message = f"`grad={setting.method}` is for {kind}"
            yield unusable(node, message, "use `pathwise`, `sfe` or `rloo`")


def _unweighable(node: Node, setting: Setting) -> Iterator[Diagnostic]:
    if not grad_method(setting.method).weighed or NOT_WEIGHED & dict(setting.options).keys():
        once = f"`{node.name}` is drawn once for each sample of the bound"
        help = "use `pathwise`, `sfe` or `rloo`, without options"
        yield unusable(node, f"{once}, which this `grad` does not do", help)


def _leaves_out(
    node: Node, method: str, graph: Graph, terms: Sequence[CostTerm], passing: frozenset[str]
) -> Iterator[Diagnostic]:
    """A path does not see jumps below it, a score does not see the edges of a support."""
    lost = f"`grad={method}` would leave out what happens at"
    if follows_path(method):
        if blocked := obstacle(node.name, graph, terms, passing):
            help = "use `grad=rloo`, or write that statement `with soft(...)`"
            yield wrong(node, f"{lost} a jump: {blocked}", help)
    elif grad_method(method).along == "score" and (moving := moving_edges(node, graph)):
        yield wrong(node, f"{lost} an edge: {moving}", "use `grad=pathwise`")


def _of_options(node: Node, setting: Setting, graph: Graph) -> Iterator[Diagnostic]:
    if setting.method == "rloo" and dict(setting.options).get("samples") == 1:
        message = "`grad=rloo` takes the mean of other samples, and there is one"
        yield unusable(node, message, "ask for two or more")
    critic = critic_of(node)
    if critic and node.name in graph.ancestors([critic]):
        message = f"`{critic}` depends on `{node.name}`, so subtracting it would bias the gradient"
        yield wrong(node, message, "take it away")
    if critic and not is_simple(node, graph):
        message = "`control=` is for draws of one statement, outside of recurrences"
        yield unusable(node, message, "leave it out")


def wrong(node: Node, message: str, help: str) -> Diagnostic:
    return Diagnostic("E0706", message, node.source, _span(node), help=help)


def unusable(node: Node, message: str, help: str) -> Diagnostic:
    return Diagnostic("E0707", message, node.source, _span(node), help=help)


def _span(node: Node) -> Span:
    return node.pieces[0].span if node.pieces else node.span


def moving_edges(node: Node, graph: Graph) -> str:
    """Scores leave out what happens at the edge of a support that moves with the parameters."""
    for law in node.laws:
        for name, argument in law.arguments:
            above = [graph[read] for read in nodes_read(argument)]
            moves = any(n.random or n.kind is not Kind.INPUT for n in above)
            if moves and name in law.facts.edges:
                return f"the support of `{law.name}` moves with `{name}`"
    return ""


# ---- what has no useful derivative


COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
CHOICES = frozenset({"argmax", "argmin", "any", "all"})


def obstacle(name: str, graph: Graph, terms: Iterable[CostTerm], passing: frozenset[str]) -> str:
    """Why derivatives do not pass from this draw to the costs; empty if they do.

    The derivative of a step is zero: a pathwise gradient would silently leave out what it does to
    the mean. Statements that are `soft` or `smooth` have derivatives.
    """
    touched = {name}
    for node in graph.nodes:
        if node.name == name or not touched & set(node.parents):
            continue
        for piece in node.pieces:
            found = _hard(piece.body, piece.settings, touched, graph)
            if not found and piece.where is not None and reads_any(piece.where, touched):
                found = "a choice"
            if found:
                return f"`{node.name}` makes {found} of it"
        if node.kind is Kind.FUNCTION or node.name in passing:
            touched.add(node.name)
    for term in terms:
        found = _hard(term.body, term.settings, touched, graph)
        if found:
            return f"the objective makes {found} of it"
    return ""


def _hard(
    body: c.Core | c.Law, settings: tuple[Setting, ...], touched: set[str], graph: Graph
) -> str:
    if any(setting.name in ("soft", "smooth") for setting in settings):
        return ""
    for part in c.walk(body):
        word = _jump(part)
        if word and any(reads_any(inner, touched) for inner in _jumping(part)):
            return word
        if isinstance(part, c.CallFn) and reads_any(part, touched):
            word = _jump_inside(part.function, graph)
            if word:
                return word
    return ""


def _jump(part: c.Core | c.Law) -> str:
    """What this form does that jumps, in words."""
    if isinstance(part, c.Apply) and part.function in COMPARISONS:
        return "a comparison"
    if isinstance(part, c.Reduce) and part.operator in CHOICES:
        return f"`{part.operator}`"
    if isinstance(part, c.Apply) and part.row and functions_by_text()[part.row].jumps:
        return f"`{part.function}`"
    return ""


def _jumping(part: c.Core | c.Law) -> list[c.Core]:
    """The inner expressions in which a form jumps: a lookup does in its keys, not in its values."""
    if not isinstance(part, c.Apply) or not part.row:
        return c.parts(part)
    names = functions_by_text()[part.row].jumps.split()
    return [argument for name, argument in part.arguments if name in names]


def _jump_inside(function: str, graph: Graph) -> str:
    """A function of the program that jumps; a caller's is taken to have derivatives."""
    body = next((f.body for f in graph.functions if f.name == function), None)
    parts = [] if body is None else list(c.walk(body))
    inner = [_jump_inside(part.function, graph) for part in parts if isinstance(part, c.CallFn)]
    return next(filter(None, [*map(_jump, parts), *inner]), "")
