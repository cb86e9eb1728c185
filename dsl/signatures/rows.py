"""The two kinds of row in the signature tables."""

from __future__ import annotations

from ..record import Record
from .notation import Signature, parse_signature


class Row(Record):
    """One form of something that can be called, as its signature is written."""

    text: str

    @property
    def name(self) -> str:
        return self.text.partition("(")[0]

    @property
    def signature(self) -> Signature:
        return parse_signature(self.text)


class Function(Row):
    """`hard` functions jump, so their derivative misses what moves the mean: no gradient may pass."""

    doc: str
    hard: bool = False


class Distribution(Row):
    """`reparametrised`: a draw is a differentiable function of parameters and noise of a fixed law."""

    numpyro: str
    doc: str
    reparametrised: bool = False

    @property
    def discrete(self) -> bool:
        return self.signature.result.domain in {"bool", "int", "count", "index"}
