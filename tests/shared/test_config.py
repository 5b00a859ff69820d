from pathlib import Path

import pytest

from passageway.config import ConnectorConfig, EmbedderConfig, load_config, parse_config
from passageway.errors import SettingsError

NOTES = '[[connector]]\nname = "notes"\ncommand = ["connect"]\n'


def test_a_connector_without_further_keys_has_the_documented_limits() -> None:
    (connector,) = parse_config(NOTES).connectors
    assert connector == ConnectorConfig(name="notes", command=["connect"])
    limits = (connector.timeout, connector.max_line_bytes, connector.max_output_bytes, connector.max_delete_fraction)
    assert limits == (300, 4194304, 67108864, 0.3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NOTES + "timout = 3", "connector 'notes': timout: unknown key"),
        (NOTES + "timeout = 0", "connector 'notes': timeout"),
        (NOTES + "max_delete_fraction = 1.5", "max_delete_fraction"),
        (NOTES + NOTES, "two connectors are named 'notes'"),
        ('[[connector]]\nname = "Notes"\ncommand = ["x"]', "name"),
        ('[[connector]]\nname = "../x"\ncommand = ["x"]', "name"),
        ('[[connector]]\nname = "notes"', "command"),
        ('[[connector]]\nname = "notes"\ncommand = []', "command"),
        ('[[conector]]\nname = "notes"', "conector: unknown key"),
        ("[embedder]\nmin_similarity = 2", "min_similarity"),
        ('[embedder]\nkind = "command"', "needs a command"),
        ('[embedder]\nkind = "command"\ncommand = ["x"]\nmodel = "m"', "model does not belong to kind = 'command'"),
        ("[embedder]\nbatch_size = 8", "batch_size does not belong to kind = 'onnx'"),
        ("[embedders.Big]", "embedders"),
        ("not toml", "not valid TOML"),
    ],
)
def test_a_mistake_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_config(text, "passageway.toml")
    assert said in str(caught.value) and str(caught.value).startswith("passageway.toml: ")


def test_a_secret_written_as_a_value_is_refused_without_being_quoted() -> None:
    with pytest.raises(SettingsError) as caught:
        parse_config(NOTES + 'secrets = { TOKEN = "hunter2" }')
    assert "env:" in str(caught.value) and "hunter2" not in str(caught.value)


def test_candidates_for_a_comparison_keep_their_own_gate() -> None:
    config = parse_config('[embedders.big]\nmodel = "multilingual-e5-base"\nmin_similarity = 0.83\n')
    assert config.embedders == {"big": EmbedderConfig(model="multilingual-e5-base", min_similarity=0.83)}
    assert config.embedders["big"].gate(measured=0.5) == 0.83
    assert config.embedder.gate(measured=0.5) == 0.5


def test_a_missing_file_says_what_writes_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="passageway init"):
        load_config(tmp_path / "passageway.toml")


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "passageway.toml"
    path.write_bytes(b"\xef\xbb\xbf" + NOTES.encode())
    assert load_config(path).connectors[0].name == "notes"


def test_a_file_that_is_not_text_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "passageway.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match=str(path)):
        load_config(path)
