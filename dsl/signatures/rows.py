"""The two kinds of row in the signature tables."""

from __future__ import annotations

from ..record import Record
from .notation import Signature, parse_signature


class Function(Record):
    """`hard` functions jump, so their derivative misses what moves the mean: no gradient may pass."""

    text: str
    doc: str
    hard: bool = False

    @property
    def name(self) -> str:
        return self.text.partition("(")[0]

    @property
    def signature(self) -> Signature:
        return parse_signature(self.text)


class Distribution(Record):
    """`reparametrised`: a draw is a differentiable function of parameters and noise of a fixed law."""

    text: str
    numpyro: str
    doc: str
    reparametrised: bool = False

    @property
    def name(self) -> str:
        return self.text.partition("(")[0]

    @property
    def signature(self) -> Signature:
        return parse_signature(self.text)

    @property
    def discrete(self) -> bool:
        return self.signature.result.domain in {"bool", "int", "count", "index"}
