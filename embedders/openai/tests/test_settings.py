import pytest

from passageway_embedder_openai.settings import SettingsError, load_settings


def test_a_model_alone_means_openai_with_a_key() -> None:
    settings = load_settings({"MODEL": "text-embedding-3-small", "API_KEY": "sk-1"})
    assert settings.url == "https://api.openai.com/v1/embeddings"
    assert (settings.timeout_s, settings.dimensions) == (50.0, None)


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({"PROVIDER": "voyage", "API_KEY": "k"}, "https://api.voyageai.com/v1/embeddings"),
        ({"PROVIDER": "ollama"}, "http://localhost:11434/api/embed"),
        ({"BASE_URL": "http://localhost:11434/v1"}, "http://localhost:11434/v1/embeddings"),
        ({"BASE_URL": "http://localhost:11434/v1/"}, "http://localhost:11434/v1/embeddings"),
        ({"BASE_URL": "https://h.test/v1/embeddings"}, "https://h.test/v1/embeddings"),
        ({"BASE_URL": "https://h.test/v1/embeddings/"}, "https://h.test/v1/embeddings"),
        ({"BASE_URL": "https://h.test"}, "https://h.test/embeddings"),
        ({"BASE_URL": "http://h.test/api/embed", "PROVIDER": "ollama"}, "http://h.test/api/embed"),
        ({"BASE_URL": "http://[::1]:8000/v1"}, "http://[::1]:8000/v1/embeddings"),
    ],
)
def test_the_address_is_the_base_and_the_providers_endpoint(environ: dict[str, str], url: str) -> None:
    assert load_settings({"MODEL": "m", **environ}).url == url


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"BASE_URL": "http://localhost:11434/v1"}, "openai:m@localhost:11434"),
        ({"API_KEY": "k"}, "openai:m@api.openai.com"),
        ({"PROVIDER": "voyage", "API_KEY": "k"}, "voyage:m@api.voyageai.com"),
        ({"PROVIDER": "ollama"}, "ollama:m@localhost:11434"),
        ({"BASE_URL": "http://H.test/v1", "NAME": "mine"}, "mine"),
    ],
)
def test_the_name_tells_provider_model_and_host(environ: dict[str, str], name: str) -> None:
    assert load_settings({"MODEL": "m", **environ}).name == name


def test_another_prefix_is_another_name() -> None:
    prefixes = [
        {},
        {"QUERY_PREFIX": "q: "},
        {"PASSAGE_PREFIX": "q: "},
        {"QUERY_PREFIX": "q: ", "PASSAGE_PREFIX": "p: "},
    ]
    names = [load_settings({"MODEL": "m", "PROVIDER": "ollama", **prefix}).name for prefix in prefixes]
    assert len(set(names)) == 4
    assert all(name.startswith("ollama:m@localhost:11434#") for name in names[1:])


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"MODEL": ""}, "MODEL is not set"),
        ({"PROVIDER": "openia"}, "PROVIDER is 'openia', expected one of openai, voyage, ollama"),
        ({}, "API_KEY is not set, and api.openai.com wants one"),
        ({"PROVIDER": "voyage"}, "API_KEY is not set, and api.voyageai.com wants one"),
        ({"BASE_URL": "https://user:hunter2@h.test/v1"}, "BASE_URL holds credentials"),
        ({"BASE_URL": "localhost:11434"}, "BASE_URL is 'localhost:11434', expected an address"),
        ({"BASE_URL": "ftp://h.test"}, "BASE_URL is 'ftp://h.test'"),
        ({"BASE_URL": "http:///v1"}, "BASE_URL is 'http:///v1'"),
        ({"BASE_URL": "http://h.test/v1?key=1"}, "BASE_URL is"),
        ({"BASE_URL": "http://h.test:99999/v1"}, "BASE_URL is no address"),
        ({"BASE_URL": "http://[::1/v1"}, "BASE_URL is no address"),
        ({"DIMENSIONS": "0"}, "DIMENSIONS is '0', expected a whole number"),
        ({"DIMENSIONS": "7.5"}, "DIMENSIONS is '7.5'"),
        ({"TIMEOUT": "soon"}, "TIMEOUT is 'soon', expected seconds"),
        ({"TIMEOUT": "-1"}, "TIMEOUT is '-1'"),
        ({"TIMEOUT": "inf"}, "TIMEOUT is 'inf'"),
        ({"API_KEY": "ключ"}, "API_KEY holds characters"),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_expected(environ: dict[str, str], message: str) -> None:
    base = {} if not environ or "PROVIDER" in environ else {"BASE_URL": "http://h.test/v1"}
    with pytest.raises(SettingsError) as caught:
        load_settings({"MODEL": "m", **base, **environ})
    assert str(caught.value).startswith(message) and "hunter2" not in str(caught.value)


def test_the_key_is_in_no_representation_of_the_settings() -> None:
    assert "sk-secret" not in repr(load_settings({"MODEL": "m", "API_KEY": "sk-secret"}))
