"""How the oracle cuts a text into terms, and what it counts in its wording: by the rules of docs/concepts.md and ADR 11."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import snowballstemmer

from umi_lab.worlds.ledger import scripts

_STEMMER: Final = snowballstemmer.stemmer("english")
_TOKEN: Final = re.compile(r"\d+(?:[.,]\d+)+(?![a-z0-9])|[a-z0-9]+(?:'[a-z0-9]+)*")
# Words that carry no meaning of their own.
_STOP: Final = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below between both but
    by can cannot could did do does doing don done down during each else few for from further get got had has have having
    he her here hers herself him himself his how i if in into is it its itself just let like ll me more most mustn my
    myself need no nor not now of off on once only or other our ours ourselves out over own please re same shall she should
    so some such tell than that the their theirs them themselves then there these they this those through to too under
    until up ve very was we were what when where which while who whom whose why with would you your yours yourself
    yourselves
    """.split()  # noqa: SIM905
)
_TAILS: Final = ("s", "t", "d", "m", "re", "ve", "ll")
_FIRST_PERSON: Final = frozenset("i my me mine we our".split())  # noqa: SIM905
_TIMES: Final = frozenset(
    """
    yesterday today tonight tomorrow last next ago week month year monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december weekend morning recently since
    """.split()  # noqa: SIM905
)
_AMOUNTS: Final = frozenset("one two three four five six seven eight nine ten twice once dozen couple several".split())  # noqa: SIM905
_WORD: Final = re.compile(r"\w+")


@cache
def terms_of(text: str) -> tuple[str, ...]:
    """The terms of a text in order, with repeats: words without case and ending, without those that mean nothing alone."""
    return tuple(_plain_terms(text) if text.isascii() else _terms(text))


def _terms(text: str) -> list[str]:
    """The terms of a text in any script."""
    found: list[str] = []
    for kind, token in scripts.tokens(text):
        if kind == scripts.WORD and token.isascii():
            found += _plain_terms(token)
        elif kind == scripts.WORD:
            first, _, tail = token.partition("'")
            if tail not in ("", *_TAILS):
                raise ValueError(f"no small world says {token!r}")
            word = scripts.bare(first)
            found += _plain_terms(word) if word.isascii() else [word]
        else:
            found += scripts.of_run(token) if kind == scripts.RUN else [token]
    return found


def _plain_terms(text: str) -> list[str]:
    """The terms of a text in ASCII."""
    found: list[str] = []
    for token in _TOKEN.findall(text.lower()):
        if "." in token or "," in token:
            found.append(token.replace(",", ""))
            continue
        first, *rest = token.split("'")
        if len(rest) == 1 and rest[0] in _TAILS:
            rest = []
        if rest:
            raise ValueError(f"no small world says {token!r}")
        if first not in _STOP:
            found.append(_stem(first))
    return found


@cache
def _stem(word: str) -> str:
    """A word without its ending; a word with digits has none."""
    return str(_STEMMER.stemWord(word)) if word.isalpha() else word


@cache
def wording(text: str) -> dict[str, int]:
    """What the second look reads in the wording of a message: whether it asks, and counts of certain words, up to a few."""
    words = [word.lower() for word in _WORD.findall(text)]
    years = [word for word in words if len(word) == 4 and word.isdigit()]
    return {
        "asks": int(text.rstrip().endswith("?")),
        "first_person": min(3, sum(word in _FIRST_PERSON for word in words)),
        "times": min(4, sum(word in _TIMES for word in words) + len(years)),
        "amounts": min(4, sum(word in _AMOUNTS for word in words) + sum(one.isdigit() for one in text)),
    }


def count_words(text: str) -> int:
    """Words between white space, and one for two characters of a script without spaces; at least one."""
    return max(1, len(text.split()) + scripts.count_unspaced(text) // 2)
