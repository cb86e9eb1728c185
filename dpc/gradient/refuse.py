"""Gradients that would be wrong without a word, objectives without an estimate: what is said."""

from collections.abc import Iterator, Sequence

from dpc.dsl.diagnostics import Diagnostic
from dpc.dsl.graph.dependence import nodes_read
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.poles import POLES
from dpc.dsl.graph.typed import Setting
from dpc.dsl.library.annotations import grad_method
from dpc.dsl.library.derived import WRITTEN_ENDS
from dpc.dsl.source import Span

from .follow import is_path
from .lost import Loss
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


def refusals(graph: Graph, losses: Sequence[Loss], weighed: bool) -> Iterator[Diagnostic]:
    """What derivatives would miss, and what is wrong with the annotations of draws."""
    yield from dict.fromkeys(_missed(graph, losses))
    asked = [(n, found) for n in graph.of_kind(Kind.DRAW) if (found := grad_setting(n))]
    if weighed:
        for node, setting in asked:
            yield from _unweighable(node, setting)
    for node, setting in asked:
        yield from _leaves_out(node, setting.method, graph, losses)
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


def _missed(graph: Graph, losses: Sequence[Loss]) -> Iterator[Diagnostic]:
    """A jump that moves with a parameter and with a draw: no sample's derivative sees it."""
    for loss in losses:
        draws, parameters = loss.draws(graph), loss.parameters(graph)
        if loss.found.kind == "jump" and draws and parameters:
            both = (
                f"the draw `{draws[0].name.partition('.')[0]}` and the parameter `{parameters[0]}`"
            )
            message = f"{loss.found.word} of {both} jumps, and no derivative sees it"
            help = _mend(loss, draws[0])
            yield Diagnostic("E0706", message, loss.source, loss.found.span, help=help)


def _mend(loss: Loss, draw: Node) -> str:
    if loss.found.word in POLES:
        return "keep it away from 0: by a distribution of positive numbers, or by a declared range"
    if grad_setting(draw):
        return f"take `grad=` of `{draw.name}` away: where it can be, it is split then"
    unknown = [law.name for law in draw.laws if not law.facts.can_be_truncated]
    if unknown:
        return (
            f"no quantile of `{unknown[0]}` is known, so that it is not split: use `with soft(...)`"
        )
    return "compare one draw, alone on its side, with the rest, or write `with soft(...)`"


def obstacle(name: str, losses: Sequence[Loss]) -> str:
    """Why derivatives do not pass from this draw to the costs; empty if they do."""
    jumps = (loss for loss in losses if loss.found.kind == "jump" and name in loss.above)
    return next((f"{loss.where} makes {loss.found.word} of it" for loss in jumps), "")


def _leaves_out(
    node: Node, method: str, graph: Graph, losses: Sequence[Loss]
) -> Iterator[Diagnostic]:
    """A path does not see jumps below it, a score does not see the edges of a support."""
    lost = f"`grad={method}` would leave out what happens at"
    if follows_path(method):
        if blocked := obstacle(node.name, losses):
            help = "take `grad=` away, so that it may be split, or write it `with soft(...)`"
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
                word = WRITTEN_ENDS.get(name, name)
                return f"the support of `{law.name}` moves with `{word}`"
    return ""
