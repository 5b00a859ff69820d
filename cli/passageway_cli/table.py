"""Tables for a terminal or a pipe, in which no cell is cut."""

from rich.console import Console
from rich.table import Table

_WIDEST = 10_000
"""Columns: more than any row has."""


def print_table(table: Table, console: Console) -> None:
    """Print the table as wide as its cells are: rich would squeeze it into 80 columns where there is no terminal."""
    table.pad_edge = False
    table.width = console.measure(table, options=console.options.update_width(_WIDEST)).maximum
    console.print(table, soft_wrap=True)
