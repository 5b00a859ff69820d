"""CommonMark with tables, `[[wiki links]]` and `%%` comments, as tokens of markdown-it."""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

Environment = dict[str, Any]
"""What markdown-it carries from the blocks to the inline text: the link definitions."""

_WIKI = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")


class _Parser(MarkdownIt):
    """Leaves destinations as they are written: they name files here, not addresses of the web."""

    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        return True


def _new_parser() -> MarkdownIt:
    # Inline text is parsed block by block, only where it is of use; that halves the time.
    parser = _Parser("commonmark").enable("table").disable("inline")
    parser.block.ruler.before(
        "fence", "percent_comment", _percent_comment, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.inline.ruler.before("link", "wiki_link", _wiki_link)
    return parser


def _percent_comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block from a line that starts with `%%` to the line with the next `%%`; without one it is text."""
    line, first, last = start, state.bMarks[start] + state.tShift[start], state.eMarks[start]
    if not state.src.startswith("%%", first, last) or state.is_code_block(start):
        return False
    found = state.src.find("%%", first + 2, last)
    if found != -1 and state.src[found + 2 : last].strip():
        return False  # a comment in front of a paragraph's words
    while found == -1:
        line += 1
        if line >= end or (state.sCount[line] < state.blkIndent and not state.isEmpty(line)):
            return False
        found = state.src.find("%%", state.bMarks[line], state.eMarks[line])
    if silent:
        return True
    state.line = line + 1
    token = state.push("percent_comment", "", 0)
    token.map = [start, state.line]
    return True


def _wiki_link(state: StateInline, silent: bool) -> bool:
    found = _WIKI.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("wiki_link", "", 0)
        token.content = found.group(1)
    state.pos = found.end()
    return True


_PARSER = _new_parser()


def parse_blocks(text: str) -> tuple[list[Token], Environment]:
    """The block tokens; those of type "inline" have their text in `content` and nothing parsed."""
    environment: Environment = {}
    return _PARSER.parse(text, environment), environment


def parse_inline(content: str, environment: Environment) -> list[Token]:
    """The inline tokens of a block's `content`."""
    tokens: list[Token] = []
    _PARSER.inline.parse(content, _PARSER, environment, tokens)
    return tokens


def plain_text(tokens: list[Token]) -> str:
    """The words of inline tokens, without markup, addresses and HTML tags."""
    parts = []
    for token in tokens:
        if token.type in {"text", "code_inline", "text_special"}:
            parts.append(token.content)
        elif token.type == "wiki_link":
            parts.append(token.content.rsplit("|", 1)[-1])
        elif token.type == "image":
            parts.append(plain_text(token.children or []))
        elif token.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
    return " ".join("".join(parts).split())
