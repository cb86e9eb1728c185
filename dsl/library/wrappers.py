"""Distributions that are made of another one, D(...)."""

from .rows import LibraryRow


class WrapperRow(LibraryRow):
    doc: str


WRAPPERS = {
    row.name: row
    for row in (
        WrapperRow(
            "Truncated(D, lower: real, upper: real) -> real",
            "D given that it lies above `lower`, below `upper`, or between them",
        ),
        WrapperRow(
            "Censored(D, lower: real, upper: real) -> real",
            "D seen from `lower` to `upper`: what lies outside is seen as that end; observed alone",
        ),
        WrapperRow(
            "ZeroInflated(zeros: unit, D) -> real",
            "0 with the probability `zeros`, else a draw of D, a count or a positive number",
        ),
        WrapperRow(
            "Mixture(weights: simplex[K], [k in K] D) -> real",
            "the k-th of these distributions with the k-th probability; also `[D, D]`",
        ),
    )
}
"""By name."""
