"""`passageway model list|download`."""

import argparse

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from passageway.config import DEFAULT_PRESET, Config, load_config
from passageway.settings import Settings
from passageway_cli.table import print_table
from passageway_embed.model_command import download_preset, preset_rows


def model(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the presets, or fetch one and check its files; 0."""
    config = load_config(settings.config_path) if settings.config_path.exists() else Config()
    if arguments.verb == "list":
        return _list(settings, config)
    preset = arguments.preset or (config.embedder.model if config.embedder.kind == "onnx" else DEFAULT_PRESET)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks: dict[str, object] = {}

        def report(name: str, done_bytes: int, total_bytes: int | None) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name)
            progress.update(tasks[name], completed=done_bytes, total=total_bytes)  # type: ignore[arg-type]

        folder = download_preset(preset, config.embedder, settings, report)
    print(f"{preset}: ready in {folder}")
    return 0


def _list(settings: Settings, config: Config) -> int:
    table = Table("Preset", "Dimensions", "Gate", "Size", "Files", box=None)
    for row in preset_rows(config.embedder, settings):
        table.add_row(row.name, str(row.dimension), f"{row.min_similarity:g}", row.size, escape(row.status))
    print_table(table, Console(highlight=False))
    return 0
