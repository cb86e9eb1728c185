"""Means over noise by another rule: what they differ by is the error that is left in both."""

from ..graph import Graph, Node
from ..typed import Piece, Setting
from .standard import rewrite

PANELS = 16
"""Parts of the line over which one noisy number is integrated, unless a statement says more."""

OTHER_RULE = "other_rule"
"""The option, which no file has, that asks for other panels than those of the file."""


def is_smoothed(node: Node) -> bool:
    return any(setting.name == "smooth" for piece in node.pieces for setting in piece.settings)


@rewrite
def by_another_rule(graph: Graph) -> Graph:
    """More panels in every smooth statement, other windows, or samples from another seed."""

    def changed(piece: Piece) -> Piece:
        return piece.replace(settings=tuple(map(_with_another_rule, piece.settings)))

    return graph.map_nodes(lambda node: node.replace(pieces=tuple(map(changed, node.pieces))))


def _with_another_rule(setting: Setting) -> Setting:
    if setting.name != "smooth":
        return setting
    options = dict(setting.options)
    if "samples" in options:
        options["seed"] = int(options.get("seed", 0)) + 1
    else:
        options[OTHER_RULE] = 1
    return setting.replace(options=tuple(options.items()))
