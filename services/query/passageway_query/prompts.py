"""Which prompts are worth a search: not commands, not "ok", not "danke, mach weiter"."""

import re
from collections.abc import Iterator

MAX_PROMPT_CHARS = 20_000
"""What a hook sends at most; a question stands at the start of a prompt, not after 20,000 characters of log."""

# `/compact` and `/plugin:skill words`, but not the path `/etc/hosts`.
_COMMAND = re.compile(r"/[A-Za-z][\w-]*(?::[\w-]+)*(?:\s|\Z)")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_CAMEL = re.compile(r"(?<=[a-zäöüß0-9])(?=[A-ZÄÖÜ])")

# What people say to keep a conversation going, and the words that hold sentences together. English, then German.
_CHAT = """
ok okay okey k kk yes yep yeah yup no nope nah sure right correct exactly agreed thanks thank thx ty cheers please
pls great good nice cool perfect awesome excellent fine super wow hi hey hello bye continue proceed go ahead next
again more stop wait done ready start begin retry undo redo try keep going carry come back lgtm sounds looks works
worked work do does did doing done make makes made get got let lets see say said tell show want need know think mean
like use put take give same other others another one ones thing things stuff way bit lot first second third last
option both all everything something anything nothing now then later before after still already just only really
very too also maybe probably again ja jo jep jawohl nein nee danke dank dankeschön bitte bitteschön gut prima toll
klasse passt genau richtig stimmt alles klar gerne gern hallo moin tschüss weiter weitermachen mach machen macht
machst mache fortfahren fortsetzen fahr fort los nochmal nochmals noch einmal wieder warte stopp halt fertig bereit
versuch versuche probier probiere zeig zeige sag sage tu tue tun getan gemacht geht ging gehen nimm gib lass
dasselbe dieselbe gleiche gleichen andere anderen anderes nächste nächsten nächstes erste zweite dritte letzte beide
etwas nichts sache ding dinge jetzt dann später vorher nachher schon nur sehr auch vielleicht mal eben halt doch
eigentlich so sieht funktioniert klappt
"""
_FUNCTION = """
a an the this that these those there here it its i im ive id ill me my mine we us our ours you your yours he him his
she her hers they them their theirs who whom whose what which when where why how is am are was were be been being
have has had having can could may might must shall should will would not dont doesnt didnt isnt arent wasnt cant
couldnt wont wouldnt and or but if because so as than of at by for from in into on onto to up down out off over
under with without about between during until while per via vs etc don't doesn't didn't isn't aren't wasn't can't
couldn't won't wouldn't it's i'm i've i'd i'll let's that's what's there's you're we're they're der die das den dem
des ein eine einen einem einer eines dies diese dieser dieses diesen jene jener es ich mich mir mein meine meinen du
dich dir dein deine er ihn ihm sein seine sie ihr ihre ihnen wir uns unser unsere euch euer man wer wen wem was
welche welcher welches wann wo warum wieso weshalb wie ist bin bist sind seid war waren wird werden wurde worden
haben habe hast hat hatte hatten kann kannst können könnte könntest muss musst müssen darf dürfen soll sollst sollte
will willst wollen würde würden nicht kein keine keinen und oder aber wenn weil dass ob als denn damit also von vom
zu zum zur bei beim mit ohne aus in im ins an am auf für gegen durch über unter vor nach seit bis um da dort hier
dazu dabei darum davon
"""
UNSPECIFIC = frozenset((_CHAT + _FUNCTION).split())

# Folders that say nothing of what the work is about.
_PLAIN_FOLDERS = """
users user home root tmp temp src source lib app apps code dev development project projects repo repos git github
work workspace workspaces documents desktop downloads main master test tests docs build dist var opt srv mnt
"""
_MAX_PATH_CHARS = 4_096


def why_skipped(prompt: str) -> str | None:
    """Why this prompt is not searched for; None when it is."""
    text = prompt.strip()
    if not text:
        return "empty"
    if _COMMAND.match(text):
        return "a command"
    if not any(True for _ in content_words(text)):
        return "no word that names a subject"
    return None


def content_words(text: str) -> Iterator[str]:
    """The words that could name a subject, in order: neither small talk nor grammar, nor the number of a choice."""
    for match in _WORD.finditer(text):
        word = match.group().casefold().replace("’", "'")
        if word in UNSPECIFIC or word.partition("'")[0] in UNSPECIFIC:
            continue
        if word.isdigit() and len(word) <= 2:
            continue
        # One Latin letter names nothing; one Chinese character may.
        if len(word) > 1 or ord(word) >= 0x2E80:
            yield word


def context_words(folder: str) -> frozenset[str]:
    """Words of the last two folder names of a working directory, lower case: what the work is about."""
    names = [name for name in re.split(r"[/\\]", folder[-_MAX_PATH_CHARS:]) if name][-2:]
    words = (word for name in names for word in _WORD.findall(_CAMEL.sub(" ", name).replace("_", " ")))
    return frozenset(word.casefold() for word in words if len(word) >= 3) - frozenset(
        (_PLAIN_FOLDERS + _FUNCTION).split()
    )
