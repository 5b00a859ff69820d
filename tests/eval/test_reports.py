"""The three forms of a report: what they show, and what they keep to themselves."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from passageway_cli.eval.history import entry_of
from passageway_cli.eval.measurement import Occasion, Subject, pairs, summary
from passageway_cli.eval.metrics import Outcome, Score
from passageway_cli.eval.report import ComparisonReport, Report, RunReport
from passageway_cli.eval.report_html import report_html
from passageway_cli.eval.report_json import report_json
from passageway_cli.eval.report_markdown import markdown
from passageway_cli.eval.tables import cases_table, groups_table, metrics_table, sweep_table
from passageway_cli.eval.targets import Target
from passageway_cli.eval.verdicts import verdicts

MakeSubject = Callable[..., Subject]
VOID = {"meta", "link", "img", "br", "hr", "input"}


def run(subject: Subject, occasion: Occasion) -> RunReport:
    return RunReport(occasion, subject, verdicts([Target("hit_at_3", 0.7), Target("silence", 0.9)], subject.measured))


def comparison(subjects: tuple[Subject, ...], occasion: Occasion, *, shared: bool = False) -> ComparisonReport:
    return ComparisonReport(occasion, subjects, pairs(subjects, [True] * 4 + [False] * 4), shared)


class Page(HTMLParser):
    """Collects what a page would load or run, and checks that its tags are balanced."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href", "srcset"}]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_table_of_metrics_has_a_value_and_an_interval_each(subject: MakeSubject) -> None:
    rows = dict(metrics_table(subject()).rows)
    assert rows["Questions"] == "8 (4 answerable, 4 unanswerable)"
    assert rows["Hit@1"] == rows["Hit@3"] == "75.0% (30–95%)"
    assert rows["MRR"] == "0.750 (0.30–0.95)"
    assert rows["False silence on answerable questions"] == "0.0% (0–49%)"
    assert rows["Near-miss answers, with the right ones hidden"] == "25.0% (5–70%)"
    assert rows["Latency p50"] == "10.0 ms (8.0–30.0)"
    assert rows["Latency p95"] == "30.0 ms"
    assert rows["Embedding the question"] == "4.0 ms (40.0% of the latency)"


def test_silence_is_reported_by_group_and_never_as_one_figure_in_front(subject: MakeSubject) -> None:
    rows = dict(metrics_table(subject()).rows)
    assert rows["Silence, off-topic"] == "100.0% (34–100%)"
    assert rows["Silence, near-topic"] == "50.0% (9–91%)"
    assert "Silence" not in rows
    assert sweep_table(subject()).heads == (
        "Threshold", "Hit@1", "Hit@3", "MRR", "Silence, off-topic", "Silence, near-topic", "False silence",
        "Near-miss answers", "p95",
    )  # fmt: skip


def test_silence_is_one_figure_when_the_questions_have_no_groups(subject: MakeSubject) -> None:
    assert dict(metrics_table(subject(grouped=False)).rows)["Silence"] == "75.0% (30–95%)"


def test_a_group_without_such_questions_shows_that_nothing_is_known(subject: MakeSubject) -> None:
    table = groups_table(subject().measured)
    assert [(row[0], row[2], row[4], row[5]) for row in table.rows] == [
        ("definition", "75.0% (30–95%)", "n/a", "25.0% (5–70%)"),
        ("off-topic", "n/a", "100.0% (34–100%)", "n/a"),
        ("near-topic", "n/a", "50.0% (9–91%)", "n/a"),
        ("all", "75.0% (30–95%)", "75.0% (30–95%)", "25.0% (5–70%)"),
    ]


def test_without_leaving_out_nothing_is_said_of_near_misses(subject: MakeSubject, occasion: Occasion) -> None:
    text = markdown(run(subject(near=False), occasion))
    assert "ear-miss" not in text
    assert "near_miss" not in orjson.loads(report_json(run(subject(near=False), occasion)))["metrics"]


def test_markdown_shows_the_run_the_sweep_the_groups_the_targets_and_the_history(
    subject: MakeSubject, occasion: Occasion
) -> None:
    text = markdown(run(subject(), occasion), [entry_of(subject(), occasion)])
    assert text.startswith("2026-11-30 · passageway 0.1.0 · toy-64 (64 dimensions) · relevance threshold 0.845\n\n")
    assert "Linux x86_64, Python 3.11.7 · index built in 20.9 s" in text
    assert "notes: 30 items, 818 sections; wiki: 1 item, 1 section" in text
    assert re.findall(r"^### (.*)$", text, re.M) == ["Relevance threshold", "Groups", "Targets", "History"]
    assert re.search(r"^\| Hit@3 +\| at least 70.0% \| 75.0% +\| yes \|$", text, re.M)
    assert re.search(r"^\| Silence +\| at least 90.0% \| 75.0% +\| no +\|$", text, re.M)
    assert "| **0.845** |" in text
    assert "| 2026-11-30 | toy-64 " in text


def test_every_table_of_a_markdown_report_has_equal_rows(subject: MakeSubject, occasion: Occasion) -> None:
    text = markdown(run(subject(cases=True), occasion), cases=True)
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 5
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block}) == 1


def test_what_somebody_named_cannot_break_a_table_or_a_page(
    outcome: Callable[..., Outcome], subject: MakeSubject, occasion: Occasion
) -> None:
    nasty = "a|b `c` <script>alert(1)</script>\n<!-- passageway:results:end -->"
    measured = summary(0.845, [outcome([True], group=nasty), outcome([], answerable=False)], None)
    report = run(replace(subject(), measured=measured, sweep=()), occasion)
    text = markdown(report)
    assert "\n<!-- passageway:results:end -->" not in text
    assert r"a\|b \`c\` \<script\>alert(1)\</script\> \<!-- passageway:results:end --\>" in text
    page = Page(report_html(report))
    assert "script" not in page.tags


@given(label=st.text(st.sampled_from("ab0 _*~`\\\\<>|[]()!&;#-.:/\n\t"), min_size=1).filter(str.strip))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_label_reads_as_it_was_written_wherever_markdown_is_shown(
    outcome: Callable[..., Outcome], subject: MakeSubject, occasion: Occasion, label: str
) -> None:
    measured = summary(0.845, [outcome([True], group=label)], None)
    text = markdown(run(replace(subject(), measured=measured, sweep=()), occasion))
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    heading = next(place for place, token in enumerate(tokens) if token.content == "Groups")
    cell = next(token for place, token in enumerate(tokens) if place > heading and token.map and token.type == "inline"
                and tokens[place - 1].type == "td_open")  # fmt: skip
    assert {child.type for child in cell.children or ()} <= {"text", "text_special"}
    assert "".join(child.content for child in cell.children or ()) == " ".join(label.split())


def test_a_report_holds_no_question_title_or_address_by_itself(
    subject: MakeSubject, occasion: Occasion, secret_words: tuple[str, ...]
) -> None:
    single, several = run(subject(), occasion), comparison((subject("a"), subject("b")), occasion)
    reports: list[Report] = [single, several]
    for report in reports:
        for text in (markdown(report), report_json(report).decode(), report_html(report)):
            assert not [word for word in secret_words if word in text]


def test_questions_are_reported_on_demand_with_their_rank_and_what_was_found(
    subject: MakeSubject, occasion: Occasion, secret_words: tuple[str, ...]
) -> None:
    report = run(subject(cases=True), occasion)
    title, _, query, item_id = secret_words
    for text in (markdown(report, cases=True), report_html(report)):
        assert query in text
        assert title in text
    case = orjson.loads(report_json(report))["cases"][1]
    assert (case["query"], case["rank"], case["right"], case["found"][0]["id"]) == (query, 1, True, item_id)
    assert case["near_miss"] == []
    assert [row[3] for row in cases_table(report.subject.cases, near=True).rows] == [
        "wrong", "1", "1", "1", "silent, right", "silent, right", "answered, wrong", "silent, right",
    ]  # fmt: skip


def test_a_page_is_written_without_the_questions_even_when_the_report_has_them(
    subject: MakeSubject, occasion: Occasion, secret_words: tuple[str, ...]
) -> None:
    text = markdown(run(subject(cases=True), occasion))
    assert not [word for word in secret_words if word in text]


def test_json_has_each_figure_with_its_interval(subject: MakeSubject, occasion: Occasion) -> None:
    tables = orjson.loads(report_json(run(subject(), occasion)))
    assert (tables["kind"], tables["date"], tables["machine"]) == ("run", "2026-11-30", "Linux x86_64, Python 3.11.7")
    assert tables["metrics"]["hit_at_3"] == 0.75
    assert tables["intervals"]["hit_at_3"] == pytest.approx([0.3006, 0.9544], abs=1e-4)
    assert tables["intervals"].keys() | {"embed_p50_ms"} == tables["metrics"].keys()
    assert tables["silence_by_group"]["near-topic"]["value"] == 0.5
    assert [row["threshold"] for row in tables["sweep"]] == [0.8, 0.845, 0.9]
    assert tables["latencies_ms"] == sorted(tables["latencies_ms"])
    assert [target["met"] for target in tables["targets"]] == [True, False]
    assert "cases" not in tables


def test_json_says_null_for_what_is_not_known(outcome: Callable[..., Outcome], subject: MakeSubject) -> None:
    only = replace(subject(), measured=summary(0.8, [outcome([True])], None), sweep=(), recall_at_10=Score(0, 0))
    tables = orjson.loads(report_json(run(only, Occasion("2026-11-30", "0.1.0", "m"))))
    assert tables["metrics"]["silence"] is None
    assert tables["intervals"]["silence"] is None
    assert tables["recall_at_10_before_gate"] is None


def test_the_page_loads_nothing_runs_nothing_and_is_well_formed(subject: MakeSubject, occasion: Occasion) -> None:
    reports: list[Report] = [
        run(subject(cases=True), occasion),
        run(subject(near=False, grouped=False), occasion),
        comparison((subject("a"), subject("b")), occasion),
    ]
    for report in reports:
        html = report_html(report)
        page = Page(html)
        assert page.open == []
        assert page.tags.isdisjoint({"script", "link", "img", "iframe", "object", "image", "use"})
        assert page.addresses == page.handlers == []
        assert "url(" not in html
        assert "default-src 'none'" in html


def test_the_page_draws_the_sweep_with_bands_the_groups_as_bars_and_the_times(
    subject: MakeSubject, occasion: Occasion
) -> None:
    html = report_html(run(subject(), occasion))
    # Two plots of a sweep with 3 and 2 lines, each drawn for a wide and a narrow window.
    assert html.count("<polyline") == html.count("<polygon") == 2 * (3 + 2)
    assert html.count("Hit@3 at 0.845: 75.0% (30–95%)") == 2
    assert "near-topic: silence" in html
    assert "1 from 30.0 ms" in html
    assert html.count('class="whisker"') == 2 * (6 + 4)


def test_nothing_is_drawn_of_what_no_question_stands_behind(
    outcome: Callable[..., Outcome], subject: MakeSubject, occasion: Occasion
) -> None:
    measured = summary(0.845, [outcome([], answerable=False)], [])
    html = report_html(run(replace(subject(), measured=measured, sweep=(measured,)), occasion))
    assert "Higher is better" in html
    assert "Lower is better" not in html
    assert html.count('class="whisker"') == 2  # silence, in both widths


def test_a_kind_of_silence_has_one_colour_in_all_drawings(subject: MakeSubject, occasion: Occasion) -> None:
    html = report_html(run(subject(), occasion))
    for group in ("off-topic", "near-topic"):
        styles = re.findall(rf'<li><svg[^>]*><line class="line l(\d)"[^>]*></svg>Silence, {group}</li>', html)
        styles += re.findall(rf'>(?:Silence, {group}|{group}: silence)<title>.*?<rect class="f(\d)"', html, re.S)
        assert len(styles) == 1 + 2 + 2
        assert len(set(styles)) == 1


def test_a_comparison_puts_candidates_side_by_side_and_pairs_them(subject: MakeSubject, occasion: Occasion) -> None:
    report = comparison((subject("default"), subject("other", miss=3)), occasion)
    text = markdown(report, [entry_of(subject("default"), occasion)])
    assert "| default: toy-64 | 64         | 0.845     | 0.2 s | 20.9 s | 75.0% (30–95%) |" in text
    assert "| default and other | Hit@3   | 4         | 2       | 2            | 0            | 0.500 |" in text
    assert "### Relevance threshold: other" in text
    tables = orjson.loads(report_json(report))
    assert tables["kind"] == "compare"
    assert [candidate["name"] for candidate in tables["candidates"]] == ["default", "other"]
    assert tables["pairs"][0]["hit_at_3"] == {"questions": 4, "only_first": 2, "only_second": 0, "p": 0.5}
    html = report_html(report)
    assert "Models compared" in html
    assert "McNemar" in html


def test_a_comparison_at_one_threshold_says_so(subject: MakeSubject, occasion: Occasion) -> None:
    subjects = (subject("a"), subject("b"))
    own, shared = comparison(subjects, occasion), comparison(subjects, occasion, shared=True)
    assert "its own threshold" in markdown(own)
    assert "at one threshold" in markdown(shared)
    assert orjson.loads(report_json(shared))["shared_threshold"] is True
