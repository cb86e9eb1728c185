"""How much room text and boxes need: a width table stands in for the reader's font."""

import unicodedata
from math import sqrt

from dpc.dsl.record import Record

from .picture import Box, BoxKind

LABEL_SIZE = 14.0
DETAIL_SIZE = 10.5
PLATE_SIZE = 11.5
LAG_SIZE = 11.0

LONGEST_LABEL = 40

# Thousandths of an em in Helvetica, widened a little because the reader's sans-serif may be wider.
_GROUPS = {
    "'|ijl": 225,
    " !,./:;I[\\]ft": 278,
    "()-`r{}": 333,
    '"*^Jcksvxyz': 500,
    "#$0123456789?L_abdeghnopqu": 556,
    "FTZ+<=>~": 600,
    "&ABEKPSVXY": 667,
    "CDHNRUw": 722,
    "GOQ": 778,
    "Mm%": 850,
    "W@": 1000,
}
_WIDTHS = {character: width for group, width in _GROUPS.items() for character in group}
_SLACK = 1.06

CORNERS = {
    BoxKind.PARAM: 14.0,
    BoxKind.FUNCTION: 6.0,
    BoxKind.COST: 6.0,
    BoxKind.DRAW: 7.0,
    BoxKind.LATENT: 7.0,
}
CIRCLE = 25.0
FACTOR = 6.5
FACTOR_LABEL_GAP = 5.0
LOOP_REACH = 26.0
CHART_HEAD = 20.0
CHART_INSET = 9.0
ROW_HEIGHT = 14.0
BAR_LENGTH = 56.0
BAR_GAP = 6.0
NUMBER_WIDTH = 30.0
LOOP_LABEL_GAP = 4.0


class BoxSize(Record):
    """Half a shape's width and height, and what hangs out on its right: a loop, a factor's name."""

    half_width: float
    half_height: float
    right_extra: float = 0.0
    extra_half_height: float = 0.0

    @property
    def right(self) -> float:
        return self.half_width + self.right_extra

    @property
    def reach(self) -> float:
        return max(self.half_height, self.extra_half_height)


def printable(text: str) -> str:
    """One line that every writer can hold: no control characters, no surrogates."""
    spaced = (" " if character.isspace() else character for character in text)
    unsafe, mark = {"Cc", "Cs", "Cn"}, "\N{REPLACEMENT CHARACTER}"
    return "".join(mark if unicodedata.category(one) in unsafe else one for one in spaced)


def shortened(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= LONGEST_LABEL else shown[: LONGEST_LABEL - 1] + "…"


def text_width(text: str, size: float) -> float:
    return sum(map(_character_width, text)) * size * _SLACK / 1000


def _character_width(character: str) -> int:
    known = _WIDTHS.get(character)
    if known is not None:
        return known
    if unicodedata.combining(character):
        return 0
    return 1000 if unicodedata.east_asian_width(character) in "WF" else 620


def box_size(box: Box, lag: str | None = None) -> BoxSize:
    """The shape grown to hold its two lines; `lag` is the text beside its self-arrow, if any."""
    label = text_width(shortened(box.label), LABEL_SIZE)
    detail = text_width(shortened(box.detail), DETAIL_SIZE)
    if box.kind is BoxKind.FACTOR:
        beside = FACTOR_LABEL_GAP + max(label, detail) + _loop_room(lag)
        return BoxSize(FACTOR, FACTOR, beside, 14.0 if detail else 8.0)
    if box.bars:
        # A heading, and a row for each bar: its name, the bar, the number.
        return BoxSize(
            max(label, row_width(box)) / 2 + CHART_INSET,
            (CHART_HEAD + ROW_HEIGHT * len(box.bars)) / 2 + 3,
        )
    if box.is_round:
        # x / sqrt(1 - (y / b)^2) is the half-width of an ellipse through a corner.
        corners = ((label / 2, 12.5 if detail else 6.0), (detail / 2, 13.0))
        wide = max(x / sqrt(1 - (y / CIRCLE) ** 2) for x, y in corners) + 6
        return BoxSize(max(wide, CIRCLE), CIRCLE, _loop_room(lag))
    border = 4.0 if box.kind is BoxKind.COST else 0.0
    half_width = max(label, detail) / 2 + 11 + border
    half_height = (20.0 if detail else 16.0) + border / 2
    return BoxSize(max(half_width, 20.0), half_height, _loop_room(lag))


def names_width(box: Box) -> float:
    return max(text_width(shortened(name), DETAIL_SIZE) for name, _ in box.bars)


def row_width(box: Box) -> float:
    return names_width(box) + BAR_LENGTH + NUMBER_WIDTH + 2 * BAR_GAP


def _loop_room(lag: str | None) -> float:
    if lag is None:
        return 0.0
    return LOOP_REACH + (LOOP_LABEL_GAP + text_width(shortened(lag), LAG_SIZE) if lag else 0.0)
