import logging

import pytest

from passageway_sync.progress import ProgressLog


def test_a_build_of_hours_says_once_a_minute_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now_s = 500.0
    log = ProgressLog("wiki", lambda: now_s)
    for second in range(0, 181, 20):
        now_s = 500.0 + second
        log(second, 1000)
    assert [record.message for record in caplog.records] == [
        "wiki: 60 of 1000 done",
        "wiki: 120 of 1000 done",
        "wiki: 180 of 1000 done",
    ]


def test_short_work_says_nothing_however_long_ago_the_last_was(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    times_s = iter([0.0, 1.0, 1800.0, 1801.0, 3600.0])
    log = ProgressLog("wiki", lambda: next(times_s))
    for done, of in ((0, 3), (3, 3), (0, 3), (3, 3), (1, 5)):
        log(done, of)
    assert caplog.records == []
