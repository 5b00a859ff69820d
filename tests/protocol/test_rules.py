"""Every rule on the protocol pages has a test that names it, and no test names a rule that is gone."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("page", "tests"), [("connector-protocol.md", "tests/protocol"), ("embedder-protocol.md", "tests/embed_command")]
)
def test_the_rules_of_the_page_and_the_rules_that_tests_name_are_the_same(page: str, tests: str) -> None:
    text = (ROOT / "docs/reference" / page).read_text(encoding="utf-8")
    rules = re.findall(r"^- \*\*([A-Z]\d+)\.\*\* ", text, re.MULTILINE)
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / tests).glob("test_*.py")]
    named = {number for source in sources for number in re.findall(r'pytest\.mark\.rule\("([A-Z]\d+)"\)', source)}
    assert sorted(rules) == sorted(set(rules)) and set(rules) == named
