"""The import paths that programs outside this repository rely on."""

import importlib
import subprocess
import sys

import pytest

PUBLIC = {
    "passageway.protocol": ["Connector"],
    "passageway.embed_command": ["CommandEmbedder"],
    "passageway.testing.contract": ["check_connector"],
    "passageway.testing.embedder_contract": ["check_embedder"],
    "passageway_sdk": ["Connector", "SettingsError", "SourceError", "first_h1", "split_markdown", "strip_code"],
}


@pytest.mark.parametrize(("module", "names"), PUBLIC.items())
def test_a_public_name_can_be_imported(module: str, names: list[str]) -> None:
    found = importlib.import_module(module)
    assert [name for name in names if not hasattr(found, name)] == []


def test_the_fake_connector_runs_as_a_module(tmp_path) -> None:
    items = tmp_path / "items.json"
    items.write_text("[]", encoding="utf-8")
    command = [sys.executable, "-m", "passageway.testing.fake_connector", "check"]
    run = subprocess.run(
        command, env={"FAKE_ITEMS": str(items)}, capture_output=True, text=True, encoding="utf-8", timeout=30
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert '"ok": true' in run.stdout
