"""The connector: a folder of markdown files, one item a file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from passageway_connector_markdown.folder import File
from passageway_connector_markdown.links import Names, Target, candidates
from passageway_connector_markdown.notes import Note, Report, read_notes, version
from passageway_connector_markdown.settings import read_settings
from passageway_sdk import Connector, SourceError

UNREAD_VERSION = "unread"
"""Listed for a file that exists and cannot be read: the core keeps the item it has, and asks again next time."""


@dataclass(frozen=True, slots=True)
class _Summary:
    """What a version needs to know of a note, without its text."""

    file: File
    id: str
    has_own_id: bool
    digest: bytes
    targets: set[Target]


class MarkdownFolder(Connector):
    """Answers the four modes for the folder that the settings name."""

    name = "markdown connector"

    def __init__(self, env: Mapping[str, str]):
        """Raises SettingsError."""
        self._settings = read_settings(env)

    def count(self) -> int:
        """How many notes there are."""
        report = Report()
        notes = sum(1 for _ in read_notes(self._settings, report))
        self._tell(report)
        if not notes:
            self.warn(f"no note in {str(self._settings.folder)!r}: no readable file there matches INCLUDE")
        return notes

    def versions(self) -> dict[str, str]:
        """The version of every note. Raises SourceError when a note may be missing, since that would delete it."""
        report = Report()
        summaries = [_summary(note) for note in read_notes(self._settings, report)]
        self._tell(report)
        _refuse_incomplete(report, any(summary.has_own_id for summary in summaries))
        unread = [(file.name, file.name) for file in report.unread_files]
        names = Names([*((summary.file.name, summary.id) for summary in summaries), *unread])
        versions = {item_id: UNREAD_VERSION for _, item_id in unread}
        for summary in summaries:
            linked_ids = names.linked_ids(summary.targets, summary.file.name)
            versions[summary.id] = version(self._settings.folder, summary.file, summary.digest, linked_ids)
        return versions

    def fetch(self, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The records of those of the ids that there are notes for."""
        wanted = set(ids)
        return self._records(lambda note: note.id in wanted)

    def changed(self, since: datetime) -> Iterator[dict[str, Any]]:
        """The records of the notes edited, copied or moved here since then."""
        since_s = since.timestamp()
        return self._records(lambda note: note.file.changed_s >= since_s)

    def _records(self, is_wanted: Callable[[Note], bool]) -> Iterator[dict[str, Any]]:
        report = Report()
        pairs: list[tuple[str, str]] = []
        wanted: list[Note] = []
        for note in read_notes(self._settings, report):
            pairs.append((note.file.name, note.id))
            if is_wanted(note):
                wanted.append(note)
        self._tell(report)
        if not wanted:
            return
        # Imported here because the markdown parser takes 80 ms to load, and most polls have nothing to parse.
        from passageway_connector_markdown.record import make_record, within_limits

        names = Names([*pairs, *((file.name, file.name) for file in report.unread_files)])
        records = (make_record(note, names, self._settings.folder, self.warn) for note in wanted)
        yield from within_limits(records, self.warn)

    def _tell(self, report: Report) -> None:
        for message in report.warnings:
            self.warn(message)


def _summary(note: Note) -> _Summary:
    return _Summary(note.file, note.id, note.has_own_id, note.digest, candidates(note.text))


def _refuse_incomplete(report: Report, has_own_ids: bool) -> None:
    """Raise SourceError rather than list fewer items than there are.

    A file that cannot be read is listed by its name. That is its id, unless the folder has notes with ids of their own:
    then nobody knows which item it is.
    """
    if report.unread_folders:
        raise SourceError(
            f"{report.unread_folders[0]}; nothing is listed, since its items would be deleted. "
            "Make the folder readable, or leave it out with EXCLUDE"
        )
    if report.unread_files and has_own_ids:
        raise SourceError(
            f"{report.unread_files[0].name!r} cannot be read, and its front matter may hold an id; nothing is "
            "listed, since its item would be deleted. Make the file readable, or leave it out with EXCLUDE"
        )
