"""The guide says what the command does."""

import re
from pathlib import Path

from passageway_cli.eval.cases import parse_cases
from passageway_cli.eval.page import load_page
from passageway_cli.eval.targets import FIGURES
from passageway_cli.parser import build_parser

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/evaluate.md").read_text(encoding="utf-8")


def help_of(*words: str) -> str:
    parser = build_parser()
    (commands,) = [action for action in parser._actions if action.dest == "command"]
    assert commands.choices is not None
    single = commands.choices["eval"]  # type: ignore[call-overload, index]
    return str((single._compare if words else single).format_help())


def test_the_example_of_a_cases_file_is_one() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.S)
    file = parse_cases(example)
    assert [case.answerable for case in file.cases] == [True, True, False, False]
    assert len(file.targets) == 3


def test_every_option_is_in_the_guide_and_no_other() -> None:
    own, comparing = GUIDE.split("## Compare models")
    for text, shown in ((own, help_of()), (comparing, help_of("compare"))):
        there = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", shown)) - {"--help"}
        assert there <= set(re.findall(r"--[a-z][a-z-]+", text))
    assert set(re.findall(r"--[a-z][a-z-]+", GUIDE)) <= set(
        re.findall(r"--[a-z][a-z-]+", help_of() + help_of("compare"))
    )


def test_every_figure_that_may_have_a_target_is_in_the_guide() -> None:
    targets = GUIDE.split("## Targets")[1].split("\n## ")[0]
    assert set(re.findall(r"`([a-z0-9_]+)`", targets)) == FIGURES.keys()


def test_the_page_of_measurements_has_its_markers() -> None:
    assert load_page(ROOT / "docs/measurements.md").newline == "\n"


def test_the_page_of_models_has_its_markers_and_says_how_to_read_what_is_between_them() -> None:
    page = load_page(ROOT / "docs/models.md")
    assert "How to read this" in page.after
    assert "cannot show" in page.after
