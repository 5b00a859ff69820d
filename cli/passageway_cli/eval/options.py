"""`passageway eval` and `passageway eval compare` on the command line."""

import argparse
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

COMPARE = "compare"

_Commands = argparse._SubParsersAction  # argparse gives the type no public name


class _EvalParser(argparse.ArgumentParser):
    """Reads a cases file and options; `compare` as the first word hands the line to a parser with other options."""

    def __init__(self, *, compare: argparse.ArgumentParser, **options: Any):
        super().__init__(**options)
        self._compare = compare

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        words = list(args or ())
        if words[:1] == [COMPARE]:
            return self._compare.parse_known_args(words[1:], namespace)
        known, rest = super().parse_known_args(words, namespace)
        if rest and COMPARE in (str(known.cases), *rest):
            self.error(f"`{COMPARE}` comes before everything else: {self.prog} {COMPARE} CASES [options]")
        return known, rest


def add_eval(commands: "_Commands[argparse.ArgumentParser]") -> None:
    """Add `eval` and `eval compare`. Their namespaces have the same attributes, except that `comparing` tells them
    apart and each has a few of its own."""
    listed = commands.add_parser("eval", help="measure retrieval quality with questions of your own")
    compare = argparse.ArgumentParser(
        prog=f"{listed.prog} {COMPARE}",
        description="Ask the same questions with several embedders and put them side by side: [embedder] of "
        "passageway.toml as `default`, and every [embedders.NAME].",
    )
    compare.set_defaults(comparing=True)
    single = _EvalParser(
        compare=compare,
        prog=listed.prog,
        usage=f"{listed.prog} [compare] CASES [options]",
        description="Index the sources into a folder of their own, ask the questions of a cases file, and report how "
        "often the right passage comes back and how often nothing does when nothing fits.",
        epilog=f"`{listed.prog} compare CASES` puts embedders side by side; `{listed.prog} compare --help` says how.",
    )
    single.set_defaults(comparing=False)
    _shared(single)
    _shared(compare)
    _own(single)
    compare.add_argument(
        "--embedder",
        action="append",
        default=[],
        metavar="NAME",
        help="compare only this candidate; repeat it (default: all)",
    )
    commands.choices["eval"] = single


def _shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cases", type=Path, metavar="CASES", help="the TOML file with the questions")
    parser.add_argument("--config", type=Path, metavar="PATH", help="another passageway.toml")
    parser.add_argument("--model-dir", type=Path, metavar="DIR", help="another folder for the default model")
    parser.add_argument("--threshold", type=_share, metavar="X", help="the relevance threshold for this run")
    parser.add_argument(
        "--sweep", type=_shares, default=(), metavar="X,Y,…", help="measure at each of these thresholds as well"
    )
    parser.add_argument(
        "--leave-out",
        action="store_true",
        help="ask every answerable question again with its answers hidden, and count what comes back",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write report.json, report.md and report.html there")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="rewrite the marked block of this page")


def _own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="keep the index in this folder and reuse it")
    parser.add_argument("--enforce", action="store_true", help="exit with 1 when a target is not met")
    parser.add_argument(
        "--include-cases",
        action="store_true",
        help="report every question and what it found as well; this quotes your sources",
    )


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}, expected a number from 0 to 1, such as 0.845")
    return value


def _shares(text: str) -> tuple[float, ...]:
    """The thresholds, each once, in ascending order."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise argparse.ArgumentTypeError(f"{text!r}, expected numbers with commas between them, such as 0.80,0.84,0.88")
    return tuple(sorted({_share(part) for part in parts}))
