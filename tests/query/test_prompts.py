"""Which prompts a hook searches for."""

import pytest

from passageway_query.prompts import content_words, context_words, why_skipped


@pytest.mark.parametrize(
    "prompt",
    [
        "ok",
        "OK!",
        "ok thanks",
        "continue",
        "yes, please",
        "Go ahead.",
        "please do the same for the other one",
        "that's great, let's do it",
        "try again",
        "what?",
        "and then?",
        "2",
        "option 2",
        "👍",
        "...",
        "weiter",
        "Weiter so!",
        "danke, mach weiter",
        "ja bitte",
        "passt genau, danke",
        "mach das bitte auch noch für die anderen",
        "nochmal",
        "und jetzt?",
    ],
)
def test_small_talk_is_not_searched_for(prompt: str) -> None:
    assert why_skipped(prompt) == "no word that names a subject"


@pytest.mark.parametrize(
    "prompt", ["/compact", "/help me with certificates", "/passageway:passageway-status", " /clear\n"]
)
def test_commands_are_not_searched_for(prompt: str) -> None:
    assert why_skipped(prompt) == "a command"


@pytest.mark.parametrize("prompt", ["", "   ", "\n\t"])
def test_an_empty_prompt_is_not_searched_for(prompt: str) -> None:
    assert why_skipped(prompt) == "empty"


@pytest.mark.parametrize(
    "prompt",
    [
        "how many days for returns?",
        "fix the failing test in utils.py",
        "who won the match yesterday?",
        "wie erneuern wir das Zertifikat?",
        "backup?",
        "K8s",
        "/etc/hosts: which entries do we need?",
        "証明書の更新",
        "猫",
        "what's the retention of logs",
        "Wo steht das Passwort-Konzept",
        "error 404",
        "how often 365",
    ],
)
def test_a_prompt_with_a_subject_is_searched_for(prompt: str) -> None:
    assert why_skipped(prompt) is None


def test_a_huge_prompt_is_judged_without_reading_all_of_it_twice() -> None:
    assert why_skipped("certificate " * 100_000) is None
    assert why_skipped("ok " * 100_000) == "no word that names a subject"


def test_content_words_leave_out_grammar_of_both_languages() -> None:
    assert list(content_words("How do we rotate the signing cert? Wie erneuern wir das?")) == [
        "rotate",
        "signing",
        "cert",
        "erneuern",
    ]


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("/home/anna/src/payment-gateway/retryBudget", {"payment", "gateway", "retry", "budget"}),
        ("C:\\Users\\anna\\Documents\\Steuer_2026", {"steuer", "2026"}),
        ("/home/anna/projects", {"anna"}),
        ("/", set()),
        ("", set()),
        ("/srv/app/src", set()),
    ],
)
def test_context_words_come_from_the_last_two_folders(folder: str, words: set[str]) -> None:
    assert context_words(folder) == words


def test_a_folder_of_absurd_length_costs_little_and_gives_its_end() -> None:
    assert context_words("/x" * 1_000_000 + "/tax/returns") == {"tax", "returns"}
