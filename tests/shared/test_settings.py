from pathlib import Path

import pytest

from passageway.errors import SettingsError
from passageway.settings import VARIABLES, instances, load_settings, require_password


def settings(**environ: str):
    return load_settings({"HOME": "/home/ada", **environ})


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    found = settings()
    assert found.config_path == Path("/home/ada/.config/passageway/passageway.toml")
    assert (found.host, found.port, found.embed_url) == ("127.0.0.1", 8082, "http://127.0.0.1:8182")
    assert (found.poll_s, found.reconcile_s, found.log_level) == (60, 1800, "INFO")
    assert (found.password, found.base_url, found.model_dir) == (None, None, None)


def test_an_instance_moves_config_and_data_but_shares_the_models() -> None:
    found = load_settings({"HOME": "/home/ada", "PASSAGEWAY_INSTANCE": "home"}, "work")
    assert found.instance == "work"
    assert found.config_path == Path("/home/ada/.config/passageway-work/passageway.toml")
    assert found.data_dir.name == "passageway-work"
    assert found.models_dir == settings().models_dir


@pytest.mark.parametrize("name", ["Work", "../x", "-w", "a b", "é"])
def test_an_instance_name_that_could_not_be_a_folder_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="expected a name"):
        load_settings({"HOME": "/h"}, name)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PASSAGEWAY_PORT", "http"),
        ("PASSAGEWAY_PORT", "70000"),
        ("PASSAGEWAY_TRUSTED_PROXIES", "127.0.0.1, caddy"),
        ("PASSAGEWAY_TRUSTED_PROXIES", "*"),
        ("PASSAGEWAY_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("PASSAGEWAY_PORT", "٨٠٨٢"),
        ("PASSAGEWAY_POLL_SECONDS", "soon"),
        ("PASSAGEWAY_POLL_SECONDS", "nan"),
        ("PASSAGEWAY_POLL_SECONDS", "inf"),
        ("PASSAGEWAY_RECONCILE_SECONDS", "-1"),
        ("PASSAGEWAY_EMBED_WORKERS", "9"),
        ("PASSAGEWAY_EMBED_WORKERS", "1.5"),
        ("PASSAGEWAY_LOG_LEVEL", "LOUD"),
        ("PASSAGEWAY_BASE_URL", "passages.example.org"),
        ("PASSAGEWAY_BASE_URL", "http://passages.example.org"),
        ("PASSAGEWAY_BASE_URL", "https://passages.example.org/mcp"),
        ("PASSAGEWAY_BASE_URL", "https://passages.example.org?"),
        ("PASSAGEWAY_BASE_URL", "https://passages.example.org#"),
        ("PASSAGEWAY_BASE_URL", "https://@passages.example.org"),
        ("PASSAGEWAY_BASE_URL", "https://passages.example.org:https"),
        ("PASSAGEWAY_BASE_URL", "https://passages.example.org:99999"),
        ("PASSAGEWAY_BASE_URL", "https://[2001:db8::1"),
        ("PASSAGEWAY_BASE_URL", "https://[2001:db8::1]x"),
        ("PASSAGEWAY_BASE_URL", "https://."),
        ("PASSAGEWAY_BASE_URL", "https://passages..example.org"),
        ("PASSAGEWAY_BASE_URL", "https://passages example.org"),
        ("PASSAGEWAY_BASE_URL", "https://bücher.example.org"),
        ("PASSAGEWAY_BASE_URL", "https://" + "a" * 300),
        ("PASSAGEWAY_ALLOWED_HOSTS", "nas.local, https://passages.example.org"),
        ("PASSAGEWAY_ALLOWED_HOSTS", "*.example.org"),
        ("PASSAGEWAY_ALLOWED_HOSTS", "bücher.example.org"),
        ("PASSAGEWAY_ALLOWED_HOSTS", "nas.local/mcp"),
        ("PASSAGEWAY_ALLOWED_HOSTS", "nas.local:port"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        settings(**{variable: value})


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("https://passages.example.org/", "https://passages.example.org"),
        (" HTTPS://Passages.Example.ORG. ", "https://passages.example.org"),
        ("https://passages.example.org:443", "https://passages.example.org"),
        ("https://passages.example.org:8443", "https://passages.example.org:8443"),
        ("https://[2001:DB8:0:0::1]:8443", "https://[2001:db8::1]:8443"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("http://[::1]:8082", "http://[::1]:8082"),
        ("http://localhost:80", "http://localhost"),
    ],
)
def test_the_public_address_is_kept_as_clients_write_it(written: str, address: str) -> None:
    assert settings(PASSAGEWAY_BASE_URL=written).base_url == address


def test_host_names_are_allowed_with_a_port_or_as_an_address_too() -> None:
    allowed = settings(PASSAGEWAY_ALLOWED_HOSTS="nas.local, NAS:8082, 192.168.1.5, 2001:db8::1, [2001:db8::1]:8082")
    assert len(allowed.allowed_hosts) == 5


def test_the_password_comes_from_the_variable_or_else_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from the file\n", encoding="utf-8")
    assert settings(PASSAGEWAY_LOGIN_PASSWORD_FILE=str(file)).password == "from the file"
    both = settings(PASSAGEWAY_LOGIN_PASSWORD_FILE=str(file), PASSAGEWAY_LOGIN_PASSWORD="direct")
    assert require_password(both) == "direct"


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_password_file_without_a_password_is_an_error(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "password"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match="PASSAGEWAY_LOGIN_PASSWORD_FILE"):
        settings(PASSAGEWAY_LOGIN_PASSWORD_FILE=str(file))


def test_serving_without_a_password_says_how_to_get_one() -> None:
    with pytest.raises(SettingsError, match="passageway init"):
        require_password(settings())


def test_instances_are_the_folders_that_init_made(tmp_path: Path) -> None:
    for name in ("passageway", "passageway-work", "passageway-home", "passageway-BAD", "other"):
        (tmp_path / ".config" / name).mkdir(parents=True)
    assert instances({"HOME": str(tmp_path)}) == ["home", "work"]


def test_the_configuration_page_lists_every_variable_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs/configuration.md").read_text(encoding="utf-8")
    for variable in VARIABLES:
        assert f"| `{variable.name}` | {variable.default} | {variable.help} |" in page
