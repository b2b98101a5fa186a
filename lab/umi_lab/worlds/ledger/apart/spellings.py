"""Words in many spellings, messages that say them in one and questions that ask for them in another."""

from __future__ import annotations

import unicodedata
from typing import Any, Final, Literal

from umi.sim.rng import DeterministicRng

# Latin with accents, ligatures and letters that fold; other scripts with case, marks or without spaces; signs.
_WORDS: Final = (
    "caf\u00e9", "na\u00efve", "Stra\u00dfe", "\ufb01nale", "\u00c5se", "\u0133sbeer", "\u0141\u00f3d\u017a", "\u0152uvre", "pi\u00f1ata", "Zo\u00eb",
    "\u01c4ep", "\uff2c\uff41\uff4d\uff50", "r\u00e9sum\u00e9s", "\u0130zmir", "fa\u00e7ade",
    "\u03bb\u03cc\u03b3\u03bf\u03c2", "\u1f04\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf\u03c2", "\u0451\u043b\u043a\u0430", "\u0439\u043e\u0433\u0430",
    "\u0939\u093f\u0928\u094d\u0926\u0940", "\u0643\u062a\u0627\u0628", "\u05e9\u05c1\u05dc\u05d5\u05dd", "\u0e41\u0e21\u0e27\u0e14\u0e33",
    "\u5317\u4eac\u5927\u5b66", "\u30cd\u30b3\u30ab\u30d5\u30a7", "\uff8a\uff9f\uff9d\uff80\uff9e", "\ud638\ub791\ub098\ube44", "\U0001f408",
)  # fmt: skip
_PLAIN: Final = (
    "lamp",
    "cafe",
    "strasse",
    "finale",
    "lodz",
    "pinata",
    "resume",
)  # what some of them are, or are not, without marks
_SAID: Final = (
    "{w} was seen at the gate.",
    "The guard saw {w}.",
    "{w}, {v} and a chair stood there.",
    "Did {w} come?",
    "They spoke of {w} and {w}.",
)
_ASKED: Final = ("{w}", "who saw {w}", "the guard and {w}", "{w} {v}", "{w} at the gate")
# As texts are written, and None for as it is.
_FORMS: Final[tuple[Literal["NFC", "NFD", "NFKC", "NFKD"] | None, ...]] = ("NFC", "NFD", "NFD", "NFKC", "NFKD", None)
_MESSAGES: Final = 6
_QUESTIONS: Final = 4


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """Messages and questions; each question mostly names what a message says, in another spelling."""
    words = [*list(rng.shuffled(_WORDS))[:4], rng.choice(_PLAIN)]
    said = [
        {
            "content": rng.choice(_SAID).format(w=spelled(rng, rng.choice(words)), v=spelled(rng, rng.choice(words))),
            "session": rng.choice((None, "dawn")),
            "speaker": rng.choice((None, None, "Zo\u00eb", "\u0395\u03bb\u03ad\u03bd\u03b7", "Bo")),
        }
        for _ in range(_MESSAGES)
    ]
    asked = [
        rng.choice(_ASKED).format(w=spelled(rng, rng.choice(words)), v=spelled(rng, rng.choice(words)))
        for _ in range(_QUESTIONS)
    ]
    return {"said": said, "asked": [*asked, *rng.choice(((), ("what did zoe say", "\u0395\u039b\u0388\u039d\u0397")))]}


def spelled(rng: DeterministicRng, word: str) -> str:
    """A word in one of the ways in which it may be written."""
    form = rng.choice(_FORMS)
    word = unicodedata.normalize(form, word) if form else word
    return rng.choice((word, word, word.upper(), word.lower(), f"{word}'s", f"({word})"))
