"""Plain tables for the terminal."""

from __future__ import annotations


def columns(rows: list[tuple[str, ...]], indent: str = "") -> list[str]:
    """Rows as aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    cells = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    return [indent + "  ".join(row).rstrip() for row in cells]
