import sys
from pathlib import Path

import pytest

from passageway.protocol import Connector
from passageway.testing.contract import check_connector

HERE = Path(__file__).parent


@pytest.mark.parametrize("script", ["folder_connector.py", "folder_connector_sdk.py"])
def test_the_folder_connector_keeps_the_protocol(tmp_path, script):
    (tmp_path / "ferry.txt").write_text("The ferry leaves at seven.", encoding="utf-8")
    (tmp_path / "port").mkdir()
    (tmp_path / "port" / "crane.txt").write_text("The crane lifts two tons.", encoding="utf-8")
    check_connector(Connector("notes", [sys.executable, str(HERE / script)], env={"FOLDER": str(tmp_path)}))
