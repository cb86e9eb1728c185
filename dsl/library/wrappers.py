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
    )
}
"""By name."""
