"""The command line: every command, option and default, and where `--instance` may stand."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from passageway.errors import SettingsError
from passageway_cli.eval.options import add_eval
from passageway_cli.service import LAYOUTS

INSTANCE_OPTION = "--instance"


def take_instance(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """The value of `--instance NAME`, wherever it stands on the line, and the other words. Raises SettingsError."""
    rest: list[str] = []
    found: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == INSTANCE_OPTION:
            value = next(words, None)
            if value is None or value.startswith("-"):
                raise SettingsError("--instance needs a name, as in `passageway --instance work`")
            found.append(value)
        elif word.startswith(f"{INSTANCE_OPTION}="):
            found.append(word.partition("=")[2])
        else:
            rest.append(word)
    if len(set(found)) > 1:
        raise SettingsError(f"--instance is given twice, as {' and '.join(map(repr, found))}; name one")
    return (found[0] if found else None), rest


def build_parser() -> argparse.ArgumentParser:
    """The parser of everything but `--instance`, which `take_instance` takes out first."""
    parser = argparse.ArgumentParser(
        prog="passageway",
        description="Finds the right passage in your own sources, or says nothing. Without a command: serve, sync and "
        "embed in one process.",
        epilog="Every command takes --instance NAME, anywhere on the line.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("embed", help="serve the embedding model on loopback, for `sync` and `query`")
    commands.add_parser("sync", help="keep the index files current")
    commands.add_parser("query", help="answer questions from the index files")
    _init(commands)
    commands.add_parser("stdio", help="pass MCP over standard input and output on to the running server")
    _model(commands)
    _recall(commands)
    _status(commands)
    _doctor(commands)
    _demo(commands)
    add_eval(commands)
    return parser


_Commands = argparse._SubParsersAction  # argparse gives the type no public name


def _init(commands: "_Commands[argparse.ArgumentParser]") -> None:
    init = commands.add_parser("init", help="create the configuration folder with a password")
    init.add_argument(
        "--service",
        nargs="?",
        const="one",
        choices=LAYOUTS,
        help="write what systemd or launchd needs to keep it running, as one process (the default) or three",
    )


def _model(commands: "_Commands[argparse.ArgumentParser]") -> None:
    model = commands.add_parser("model", help="list or download the built-in embedding models")
    verbs = model.add_subparsers(dest="verb", metavar="list|download", required=True)
    verbs.add_parser("list", help="the presets, their gates and whether their files are here")
    download = verbs.add_parser("download", help="fetch a preset's files, pinned and checksummed")
    download.add_argument("preset", nargs="?", default=None, help="the preset (default: the configured one)")


def _recall(commands: "_Commands[argparse.ArgumentParser]") -> None:
    recall = commands.add_parser("recall", help="ask the indexes a question")
    recall.add_argument("question", nargs="+", metavar="QUESTION", help="the question; quotes are not needed")
    recall.add_argument("--json", action="store_true", help="print the answer as JSON")
    recall.add_argument("--why", action="store_true", help="show how the candidates ranked and what the gate decided")
    recall.add_argument("--source", default="", help="only this source")
    recall.add_argument("--path", default="", help="only items under this breadcrumb entry")
    recall.add_argument("--label", default="", help="only items with this label")
    recall.add_argument("--updated-after", default="", metavar="DATE", help="only items updated after this date")


def _status(commands: "_Commands[argparse.ArgumentParser]") -> None:
    status = commands.add_parser("status", help="the sources, the embedder and the running server")
    status.add_argument("--json", action="store_true", help="print the report as JSON")


def _doctor(commands: "_Commands[argparse.ArgumentParser]") -> None:
    doctor = commands.add_parser("doctor", help="look at each link of the chain and say what to mend")
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")


def _demo(commands: "_Commands[argparse.ArgumentParser]") -> None:
    demo = commands.add_parser("demo", help="index the sample articles, ask some questions, and keep serving")
    demo.add_argument("--corpus", type=Path, default=None, metavar="DIR", help="the folder with `en` and `de` in it")
    demo.add_argument("--data-dir", type=Path, default=None, metavar="DIR", help="keep the index in this folder")
    demo.add_argument("--no-serve", action="store_true", help="stop after the questions")
