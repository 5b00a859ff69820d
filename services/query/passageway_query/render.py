"""Answers as a model reads them: fenced as quoted material, whole passages only, within a hard size."""

import hashlib
import json
from collections.abc import Sequence
from urllib.parse import quote, unquote

from mcp.types import ResourceLink
from pydantic import BaseModel

from passageway.passages import trail
from passageway_query.answer import Answer, Hit, OpenedItem, Related, SilenceReason
from passageway_query.wire import NOTICE, OpenResult, Passage, RecallResult, RelatedItem, Silence

# Claude Code puts a result over 25,000 tokens or 50,000 characters into a file that the model has to go and read.
# The limit counts bytes as they travel, text, structure and links together, non-ASCII characters escaped.
MAX_ANSWER_BYTES = 60_000
# A part goes out twice, as text and as structure, beside its title and place; the text may be JSON itself, in which
# every quotation mark and line break takes twice the room.
PART_BYTES = 18_000
# Titles, places and labels may be of any length in a source; no reader needs more of them than this.
_MAX_LINE = 300
_MAX_URL = 2_000
_MAX_LIST = 20
_MAX_LISTED_ID = 500

_MAX_DIGITS = 6

ITEM_URI = "passageway://item/"
"""What the address of an item as a resource begins with; source and id follow, each percent-encoded."""
ITEM_MIME_TYPE = "text/plain"

SUGGESTIONS = {
    SilenceReason.NOTHING_INDEXED: "No source has anything indexed yet; the status tool says what is going on.",
    SilenceReason.BELOW_GATE: (
        "Nothing in the sources is close enough. Try once more with the words the documents would use; "
        "if that finds nothing either, they probably do not cover it."
    ),
    SilenceReason.FILTERED_OUT: "The filters leave nothing that fits; ask again with fewer of them, or none.",
    SilenceReason.STILL_INDEXING: "A source is still being read, so this may be missing for now; ask again later.",
    SilenceReason.SOURCE_FAILING: "A source is failing, so this may be missing; the status tool says which and why.",
    SilenceReason.NOT_A_QUESTION: "There is no word here to look for; ask with a few that name the subject.",
}


def item_ref(source: str, item_id: str) -> str:
    """The id of an item across sources, as given in hits and taken by `open`: `source/id`."""
    return f"{source}/{item_id}"


def split_ref(ref: str) -> tuple[str, str] | None:
    """(source, id) of an item reference; None when it is not one. A source's name holds no slash, an id may."""
    source, slash, item_id = ref.strip().partition("/")
    return (source, item_id) if source and slash and item_id else None


def item_uri(ref: str, part: int = 1) -> str | None:
    """The address of an item, or of a part of it, among MCP's resources; None when its id makes it too long for one."""
    source, item_id = split_ref(ref) or ("", "")
    uri = f"{ITEM_URI}{quote(source, safe='')}/{quote(item_id, safe='')}" + (f"?part={part}" if part > 1 else "")
    return uri if source and len(uri) <= _MAX_URL else None


def split_uri(uri: str) -> tuple[str, int] | None:
    """(item reference, part) of such an address; None when it is not one."""
    path, _, query = uri.removeprefix(ITEM_URI).partition("?")
    source, _, item_id = path.partition("/")
    part = query.removeprefix("part=") if query else "1"
    if not uri.startswith(ITEM_URI) or not (part.isascii() and part.isdigit()) or len(part) > _MAX_DIGITS:
        return None
    return item_ref(unquote(source), unquote(item_id)), int(part)


def links(result: RecallResult) -> list[ResourceLink]:
    """A link to each passage's item as a resource, in the order of the passages, each item once."""
    uris = {passage.id: (item_uri(passage.id), passage.title) for passage in result.passages}
    return [
        ResourceLink(type="resource_link", uri=uri, name=title, mime_type=ITEM_MIME_TYPE)
        for uri, title in uris.values()
        if uri is not None
    ]


def passage(hit: Hit) -> Passage:
    """A hit as it travels."""
    return Passage(
        id=item_ref(hit.source, hit.id),
        title=_line(hit.title),
        url=_line(hit.url, _MAX_URL),
        path=_lines(hit.path),
        heading=_line(hit.heading) or None,
        labels=_lines(hit.labels),
        updated=hit.updated,
        text=hit.text,
    )


def place(passage: Passage) -> str:
    """Where a passage stands: the item's path and the section."""
    return trail((*passage.path, passage.heading))


def recall_result(answer: Answer) -> RecallResult:
    """The answer, cut at the size limit by leaving out related items first, then the last passages whole."""
    result = RecallResult(
        passages=[passage(hit) for hit in answer.hits],
        related=[_related(item) for item in answer.related],
        silence=silence(answer.silence) if answer.silence else None,
        words_only=answer.keyword_only,
        problems=[_line(problem) for problem in answer.problems[:_MAX_LIST]],
    )
    while wire_bytes(recall_text(result), result, *links(result)) > MAX_ANSWER_BYTES and (
        result.related or result.passages
    ):
        result = _smaller(result)
    return result


def _smaller(result: RecallResult) -> RecallResult:
    if result.related:
        return result.model_copy(update={"related": result.related[:-1]})
    *kept, dropped = result.passages
    ids = [dropped.id, *result.left_out_ids] if len(dropped.id) <= _MAX_LISTED_ID else result.left_out_ids
    return result.model_copy(update={"passages": kept, "left_out": result.left_out + 1, "left_out_ids": ids})


def silence(reason: SilenceReason) -> Silence:
    """The reason with what may help."""
    return Silence(reason=reason.value, suggestion=SUGGESTIONS[reason])


def recall_text(result: RecallResult) -> str:
    """The same facts to read: what claude.ai and people see."""
    parts = [fenced(result.passages)] if result.passages else []
    if result.silence:
        parts.append(f"No passage ({result.silence.reason}). {result.silence.suggestion}")
    if result.left_out:
        listed = "".join(f"\n- {ref}" for ref in result.left_out_ids)
        parts.append(f"{result.left_out} more did not fit; the open tool reads them a part at a time.{listed}")
    if result.related:
        parts.append("Related:" + "".join(f"\n- {r.title} (id {r.id}) {r.url}" for r in result.related))
    if result.words_only:
        parts.append(f"Only words were compared, not meaning: {result.words_only}.")
    if result.problems:
        parts.append("Could not be searched:" + "".join(f"\n- {problem}" for problem in result.problems))
    return "\n\n".join(parts)


def fenced(passages: Sequence[Passage], head: str = NOTICE) -> str:
    """The passages between marks that no document can forge: the mark is a hash of everything between them."""
    blocks = [_block(number, passage) for number, passage in enumerate(passages, 1)]
    mark = _mark(blocks)
    quoted = "\n".join(f"<{mark}>\n{block}\n</{mark}>" for block in blocks)
    return f"{head} Each stands between <{mark}> and </{mark}>.\n\n{quoted}"


def _block(number: int, passage: Passage) -> str:
    facts = {
        "id": passage.id,
        "place": place(passage),
        "link": passage.url,
        "labels": ", ".join(passage.labels),
        "updated": passage.updated,
    }
    lines = [f"[{number}] {passage.title}", *(f"{name}: {fact}" for name, fact in facts.items() if fact)]
    return "\n".join([*lines, "", passage.text])


def _mark(blocks: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join(blocks).encode("utf-8", "replace")).hexdigest()
    return f"passage-{digest[:12]}"


def open_result(item: OpenedItem, part: int) -> OpenResult | None:
    """Part `part` of an item's text; None when it has fewer."""
    parts = text_parts(item_text(item))
    if not 1 <= part <= len(parts):
        return None
    return OpenResult(
        id=item_ref(item.source, item.id),
        title=_line(item.title),
        url=_line(item.url, _MAX_URL),
        path=_lines(item.path),
        labels=_lines(item.labels),
        updated=item.updated,
        part=part,
        parts=len(parts),
        text=parts[part - 1],
    )


def open_text(result: OpenResult) -> str:
    """The part to read, with how to get the next one."""
    whole = Passage(**result.model_dump(include={"id", "title", "url", "path", "labels", "updated", "text"}))
    more = f" Ask open for part {result.part + 1} to read on." if result.part < result.parts else ""
    return f"{fenced([whole])}\n\nPart {result.part} of {result.parts}.{more}"


def item_text(item: OpenedItem) -> str:
    """All sections of an item, each under its heading."""
    sections = (f"## {_line(s.heading)}\n\n{s.text}" if s.heading else s.text for s in item.sections)
    return "\n\n".join(section.strip() for section in sections if section.strip())


def text_parts(text: str) -> list[str]:
    """The text in pieces of at most PART_BYTES on the wire, cut between lines where possible; at least one piece."""
    parts: list[str] = []
    start = 0
    while start < len(text):
        window = text[start : start + PART_BYTES]
        end = _longest_start(window, PART_BYTES)
        if start + end < len(text):
            end = _good_cut(window, end)
        parts.append(window[:end].strip("\n"))
        start += end
    return [part for part in parts if part] or [""]


def _good_cut(text: str, most: int) -> int:
    """Where to cut at or before `most`: after a paragraph, else a line, else a word, else right there."""
    for separator, earliest in (("\n\n", most // 2), ("\n", 3 * most // 4), (" ", 3 * most // 4)):
        found = text.rfind(separator, earliest, most)
        if found > 0:
            return found + len(separator)
    return most


def _longest_start(text: str, max_bytes: int) -> int:
    low, high = min(1, len(text)), len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if wire_bytes(text[:middle]) <= max_bytes else (low, middle - 1)
    return low


def wire_bytes(*pieces: str | BaseModel) -> int:
    """Bytes of the pieces as JSON with non-ASCII characters escaped, the longest form in which they may travel."""
    values = (piece if isinstance(piece, str) else piece.model_dump() for piece in pieces)
    return sum(len(json.dumps(value)) for value in values)


def _related(item: Related) -> RelatedItem:
    return RelatedItem(id=item_ref(item.source, item.id), title=_line(item.title), url=_line(item.url, _MAX_URL))


def _line(text: str | None, most: int = _MAX_LINE) -> str:
    """The text on one line, as a title with a line break could pass for something else, and of a sane length."""
    line = " ".join((text or "").split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _lines(texts: Sequence[str]) -> list[str]:
    return [_line(text) for text in texts[:_MAX_LIST]]
