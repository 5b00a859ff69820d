"""Words that say nothing about what a question is about, English and German, as the tokenizer folds them."""

import unicodedata
from collections.abc import Iterable

_ENGLISH = """
a about another above after again all also am an and any anybody anyone anything are aren around as at away be
became because become been before being below between both but by came can cannot could couldn d did didn do
does doesn doing don done down during each either else ever every everyone everything few for from further get
gets getting give given go goes going got had has hasn have haven having he hence her here hers herself him
himself his how however i if in into is isn it its itself just kind know let like ll lot m made make makes many
may maybe me might mine more most much must my myself near need neither never no nobody none nor not nothing now
of off often on once one ones only onto or other others our ours ourselves out over own per perhaps quite rather
re really s said same say says see seem seems shall she should shouldn since so some somebody someone something
sometimes somewhere still such sure t take tell than that the their theirs them themselves then there therefore
these they thing things think this those though through thus to together too toward towards under unless until
up upon us use used uses using usually ve very via want wants was wasn way we well were weren what whatever when
where whether which while who whole whom whose why will with within without won wouldn would yet you your yours
yourself explain show find roughly approximately exactly actually basically simply currently probably possibly
certainly especially generally usually
"""

# `won` above is what "won't" leaves; on its own it is a word like any other.
_ENGLISH_CONTENT = {"won", "kind", "near", "whole", "thing", "things"}

_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes anders auch auf
aus außer außerdem beide beiden beim bereits bei bin bis bisschen bist da dabei dadurch dafür dagegen daher
dahin damit danach daneben dann daran darauf daraus darin darüber darum darunter das dass daß davon davor dazu
dein deine deinem deinen deiner deines dem den denen denn der deren derer des deshalb dessen desto dich die dies
diese diesem diesen dieser dieses dir doch dort du durch dürfen darf ein eine einem einen einer eines einige
einigem einigen einiger einiges einmal entweder er erst es etwa etwas euch euer eure eurem euren eurer für ganz
gar gab geben gegen gehen geht gemacht genau gerade gern gibt ging habe haben hast hat hatte hatten hier hin
hinter hinzu ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in indem ins irgend irgendwas irgendwie
ist ja je jede jedem jeden jeder jedes jedoch jemals jemand jene jenem jenen jener jenes jetzt kann kannst kein
keine keinem keinen keiner keines können könnte könnten machen macht man manche manchem manchen mancher manches
mehr mein meine meinem meinen meiner meines mich mir mit möchte mögen muss muß müssen musst nach nachdem nämlich
neben nein nicht nichts nie niemand noch nun nur ob obwohl oder oft ohne schon sehr sei seid sein seine seinem
seinen seiner seines seit selbst sich sie sind so sobald sogar solange solche solchem solchen solcher solches
soll sollen sollte sollten sondern sonst sowie statt über um und uns unser unsere unserem unseren unserer unter
viel viele vielen vieler vom von vor wann war waren warum was weder wegen weil welche welchem welchen welcher
welches wem wen wenig wenige wenn wer werden werde wessen weshalb wie wieder wieso wieviel will willst wir wird
wirst wo wobei wodurch wofür woher wohin womit woran worauf woraus worin worüber wovon wozu wohl wollen wollte
worden wurde würde wurden würden zu zum zur zwar zwischen erkläre erklär zeige zeig finde
"""

# Words like these are German stop words and English (or other) words that mean something.
_TWO_FACED = {"war", "die", "hat", "bin", "den", "man", "ging", "gab", "dies", "des", "dem", "der", "sei", "gern", "wo"}

_POLITE = """
please thanks thank thx ok okay yes yep yeah hi hello hey cool great nice good fine perfect alright bitte danke
dank ja nein gut super hallo prima klar passt perfekt toll okey
"""

_GO_ON = """
continue proceed resume next again go keep carry ready done stop weiter weitermachen mach mache fertig nochmal
los stopp
"""


def fold(text: str) -> str:
    """The text as the tokenizer leaves its letters: lower case, without accents."""
    if text.isascii():
        return text.lower()
    return "".join(letter for letter in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(letter))


def _folded(words: str) -> frozenset[str]:
    return frozenset(map(fold, words.split()))


ENGLISH = _folded(_ENGLISH) - _ENGLISH_CONTENT
GERMAN = _folded(_GERMAN)
POLITE = _folded(_POLITE)
GO_ON = _folded(_GO_ON)
_ONLY_GERMAN = GERMAN - ENGLISH - _TWO_FACED


def german_question(terms: Iterable[str]) -> bool:
    """Whether the terms hold a German word that no English question would."""
    return any(term in _ONLY_GERMAN for term in terms)


def is_stop_word(term: str, german: bool) -> bool:
    """Whether the term says nothing, in a question of that language."""
    return term in ENGLISH or term in POLITE or (term in GERMAN and (german or term not in _TWO_FACED))
