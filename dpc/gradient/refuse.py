"""Gradients that would be wrong without a word, objectives without an estimate: what is said."""

from collections.abc import Iterator, Sequence

from dpc.dsl.diagnostics import Diagnostic
from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.typed import Setting
from dpc.dsl.library.annotations import grad_method
from dpc.dsl.source import Span

from .costs import CostTerm
from .paths import is_path
from .smoothness import obstacle
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
    return (
        next((str(value) for name, value in setting.options if name == "control"), None)
        if setting
        else None
    )


def _unweighable(node: Node) -> Iterator[Diagnostic]:
    setting = grad_setting(node)
    assert setting is not None
    if not grad_method(setting.method).weighed or NOT_WEIGHED & dict(setting.options).keys():
        message = (
            f"`{node.name}` is drawn once for each sample of the bound, which this `grad` "
            "does not do"
        )
        yield unusable(node, message, "use `pathwise`, `sfe` or `rloo`, without options")


def _samples(node: Node) -> object:
    setting = grad_setting(node)
    return dict(setting.options).get("samples") if setting else None


def refusals(graph: Graph, terms: Sequence[CostTerm], weighed: bool) -> Iterator[Diagnostic]:
    """What is wrong with the annotations of draws, given the costs or weights below them."""
    asked = {
        node.name: found.method
        for node in graph.of_kind(Kind.DRAW)
        if (found := grad_setting(node))
    }
    if weighed:
        yield from (diagnostic for name in asked for diagnostic in _unweighable(graph[name]))
    passing = frozenset(name for name, method in asked.items() if follows_path(method))
    for name, method in asked.items():
        node = graph[name]
        if follows_path(method):
            blocked = obstacle(name, graph, terms, passing)
            if blocked:
                yield wrong(
                    node,
                    f"`grad={method}` would leave out what happens at a jump: {blocked}",
                    "use `grad=rloo`, or write that statement `with soft(...)`",
                )
        elif grad_method(method).along == "score":
            moving = moving_edges(node, graph)
            if moving:
                yield wrong(
                    node,
                    f"`grad={method}` would leave out what happens at an edge: {moving}",
                    "use `grad=pathwise`",
                )
        if method == "rloo" and _samples(node) == 1:
            yield unusable(
                node,
                "`grad=rloo` takes the mean of other samples, and there is one",
                "ask for two or more",
            )
        critic = critic_of(node)
        if critic and name in graph.ancestors([critic]):
            yield wrong(
                node,
                f"`{critic}` depends on `{name}`, so subtracting it would bias the gradient",
                "take it away",
            )
        if critic and not is_simple(node, graph):
            yield unusable(
                node,
                "`control=` is for draws of one statement, outside of recurrences",
                "leave it out",
            )
        summed = method == "enumerate" and is_path(node, graph)
        stepwise = grad_method(method).stepwise or summed
        if not stepwise and not is_simple(node, graph):
            yield unusable(
                node,
                (
                    f"`grad={method}` is for draws of one statement, outside of recurrences and "
                    "without conditions"
                ),
                "use `pathwise`, `sfe` or `rloo`",
            )


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
            moves = any(_moves(part, graph) for part in c.walk(argument))
            if moves and name in law.facts.edges:
                return f"the support of `{law.name}` moves with `{name}`"
    return ""


def _moves(part: c.Core | c.Law, graph: Graph) -> bool:
    return isinstance(part, c.Ref) and (
        graph[part.name].random or graph[part.name].kind is not Kind.INPUT
    )
