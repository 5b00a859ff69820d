"""Every record of a small vault, as it was looked at and found right.

To renew the records after a wanted change: delete `golden.json`, run this test, read the difference, commit.
"""

import json
import os
import shutil
from pathlib import Path

HERE = Path(__file__).parent
GOLDEN = HERE / "golden.json"
MODIFIED_S = 1_900_000_000


def test_the_records_of_the_vault_are_the_golden_ones(vault):
    shutil.copytree(HERE / "vault", vault.folder, dirs_exist_ok=True)
    # Written here because tools that read every file of a repository stumble over one that is not UTF-8.
    vault.write("boats/cabin.md", b"# Cabin list\n\nLatin-1 text: caf\xe9.\n")
    for path in vault.folder.rglob("*.md"):
        os.utime(path, (MODIFIED_S, MODIFIED_S))
    items = list(vault.items().values())
    for item in items:
        # Holds the place of the vault, which is another one in every run.
        item["version"] = ""
        item["url"] = item["url"].replace(vault.folder.as_uri(), "file:///vault")
    if not GOLDEN.exists():
        GOLDEN.write_text(json.dumps(items, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        raise AssertionError(f"{GOLDEN.name} was not there and is written now: read it before you commit it")
    assert items == json.loads(GOLDEN.read_text(encoding="utf-8"))
    warnings = vault.warnings()
    assert "'boats/cabin.md' skipped: it is not UTF-8 text" in warnings
    assert "'boats/Engine.md': front matter is not valid YAML" in warnings
    assert "'site/tide-table.md': weight is '20'" in warnings
