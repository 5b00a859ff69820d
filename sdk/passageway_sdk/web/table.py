"""Rows of cells as the lines of a markdown table."""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_COLUMNS = 200


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell holds and how many columns and rows it covers."""

    blocks: tuple[str, ...]
    columns: int = 1
    rows: int = 1


def table_text(rows: Sequence[Sequence[Cell]]) -> str:
    """The rows between bars, the first one as the head, or an empty string when no cell holds anything.

    A cell over several rows is repeated in each of them, so that every line can be read by itself.
    """
    grid = [row for row in _grid(rows) if any(row)]
    if not grid:
        return ""
    width = max(len(row) for row in grid)
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in grid]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _grid(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    grid: list[list[str]] = []
    covered: dict[int, tuple[str, int]] = {}
    """Column to the text of a cell from above, and how many more rows it covers."""
    for cells in rows:
        row: list[str] = []
        for cell in cells:
            _continue_from_above(row, covered)
            text = _one_line(cell)
            for part in range(min(cell.columns, MAX_COLUMNS - len(row))):
                if cell.rows > 1:
                    covered[len(row)] = (text if part == 0 else "", cell.rows - 1)
                row.append(text if part == 0 else "")
        _continue_from_above(row, covered)
        grid.append(row)
    return grid


def _continue_from_above(row: list[str], covered: dict[int, tuple[str, int]]) -> None:
    while len(row) in covered:
        text, left = covered.pop(len(row))
        if left > 1:
            covered[len(row)] = (text, left - 1)
        row.append(text)


def _one_line(cell: Cell) -> str:
    return " ".join(" ".join(cell.blocks).split()).replace("|", "\\|")
