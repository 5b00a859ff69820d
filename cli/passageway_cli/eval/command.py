"""`passageway eval` and `passageway eval compare`: from the command line to the exit code."""

import argparse
import contextlib
import dataclasses
import datetime
import logging
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from passageway import __version__
from passageway.config import Config, EmbedderConfig, load_config
from passageway.errors import PassagewayError, SettingsError
from passageway.settings import Settings
from passageway_cli.eval.cases import CasesFile, load_cases
from passageway_cli.eval.folders import index_folder, prepare_kept_folder
from passageway_cli.eval.indexes import check_kept_model
from passageway_cli.eval.measurement import Occasion, Subject, pairs
from passageway_cli.eval.publication import prepare_publication, publish
from passageway_cli.eval.report import ComparisonReport, RunReport
from passageway_cli.eval.subjects import Plan, StartedEmbedder, measure_subject, started
from passageway_cli.eval.verdicts import Verdict, verdicts

logger = logging.getLogger(__name__)

DEFAULT = "default"
"""What a comparison calls `[embedder]`."""


class CandidateFailedError(PassagewayError):
    """One candidate of a comparison could not be measured; the message names it."""


def evaluate(settings: Settings, arguments: argparse.Namespace) -> int:
    """Measure and report: 0, or 1 for a target that --enforce found not met.

    Raises SettingsError (exit code 2) for what is wrong before anything is measured, SourceFailedError and
    EmbedderError, or CandidateFailedError (1) for what fails while it is.
    """
    settings = dataclasses.replace(
        settings,
        config_path=arguments.config or settings.config_path,
        model_dir=arguments.model_dir or settings.model_dir,
    )
    config = load_config(settings.config_path)
    if not config.connectors:
        raise SettingsError(f"{settings.config_path} names no [[connector]], so there is nothing to measure")
    cases = load_cases(arguments.cases)
    with _tidy_when_terminated():
        return (_compare if arguments.comparing else _run)(settings, config, cases, arguments)


def _run(settings: Settings, config: Config, cases: CasesFile, arguments: argparse.Namespace) -> int:
    _check_targets(cases, arguments)
    publication = prepare_publication(arguments.out, arguments.write)
    if arguments.data_dir is not None:
        prepare_kept_folder(arguments.data_dir, settings, config)
    console, plan = Console(stderr=True), _plan(cases, arguments, include_cases=arguments.include_cases)
    with started("", config.embedder, settings) as embedder, index_folder(arguments.data_dir) as folder:
        check_kept_model(folder, embedder.embedder)
        subject = measure_subject(embedder, config, folder, plan, console)
    report = RunReport(_occasion(), subject, verdicts(cases.targets, subject.measured))
    publish(report, publication)
    return _enforced(report.verdicts) if arguments.enforce else 0


def _compare(settings: Settings, config: Config, cases: CasesFile, arguments: argparse.Namespace) -> int:
    candidates = _candidates(config, arguments.embedder)
    publication = prepare_publication(arguments.out, arguments.write)
    console, plan = Console(stderr=True), _plan(cases, arguments, include_cases=False)
    subjects = []
    with contextlib.ExitStack() as stack:
        # All are started before the first index is built, so that one that cannot start costs nothing.
        embedders = [stack.enter_context(started(name, table, settings)) for name, table in candidates.items()]
        for embedder in embedders:
            with index_folder(None) as folder:
                subjects.append(_candidate(embedder, config, folder, plan, console))
    _warn_of_changed_sources(subjects)
    compared = pairs(subjects, [case.answerable for case in cases.cases])
    publish(
        ComparisonReport(_occasion(), tuple(subjects), compared, shared_threshold=arguments.threshold is not None),
        publication,
    )
    return 0


def _candidate(started: StartedEmbedder, config: Config, folder: Path, plan: Plan, console: Console) -> Subject:
    try:
        return measure_subject(started, config, folder, plan, console)
    except PassagewayError as error:
        raise CandidateFailedError(f"candidate {started.name!r}: {error}") from error


@contextlib.contextmanager
def _tidy_when_terminated() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C, so that a cancelled run leaves no index folder behind."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _plan(cases: CasesFile, arguments: argparse.Namespace, *, include_cases: bool) -> Plan:
    return Plan(cases.cases, arguments.threshold, arguments.sweep, arguments.leave_out, include_cases)


def _occasion() -> Occasion:
    """Today, here. The machine's kind, never its name."""
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return Occasion(datetime.datetime.now().astimezone().date().isoformat(), __version__, machine)


def _candidates(config: Config, wanted: Sequence[str]) -> dict[str, EmbedderConfig]:
    """The embedders to compare by name, in the order they were asked for. Raises SettingsError."""
    if DEFAULT in config.embedders:
        raise SettingsError(f"[embedders.{DEFAULT}] has the name that [embedder] goes by; give it another one")
    known = {DEFAULT: config.embedder, **config.embedders}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SettingsError(f"no embedder is named {unknown[0]!r}; there is {', '.join(known)}")
    chosen = {name: known[name] for name in wanted or known}
    if len(chosen) < 2:
        raise SettingsError(
            f"a comparison needs at least two embedders, and this is {', '.join(chosen)} alone; "
            "add an [embedders.NAME] table to the configuration, or name another with --embedder"
        )
    return chosen


def _check_targets(cases: CasesFile, arguments: argparse.Namespace) -> None:
    if arguments.enforce and not cases.targets:
        logger.warning("--enforce has nothing to check: %s has no [targets]", arguments.cases)
    if not arguments.leave_out and any(target.name == "near_miss" for target in cases.targets):
        logger.warning("the target near_miss is not met without --leave-out, which is what measures it")


def _enforced(results: Sequence[Verdict]) -> int:
    missed = [verdict for verdict in results if not verdict.met]
    for verdict in missed:
        print(f"target not met: {verdict.target.figure.label} {verdict.shown}, {verdict.wanted}", file=sys.stderr)
    return 1 if missed else 0


def _warn_of_changed_sources(subjects: Sequence[Subject]) -> None:
    if len({subject.sources for subject in subjects}) > 1:
        logger.warning("the sources changed between two builds, so the candidates were not asked about the same text")
