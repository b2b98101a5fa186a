"""What the last passes are fitted to: a question with an older and a newer statement, and which of them answers it.

From histories come the pairs that the product asks about: hits of a recall, the older one first. From groups come their two questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from examples import DAY_S, Row
from recalled import Asked, Recalled

from umi._retrieval.answer_order import passage
from umi.limits import ANSWER_READER_HITS_COUNT
from umi.ports.answer_reader import Pair, Passage
from umi.providers.answer_reader import Input, Layout

FIRST: Final = ANSWER_READER_HITS_COUNT  # hits that the product compares
MORE: Final = 6  # hits whose pairs are examples as well
# Shares of the pairs that are kept beside those of the first hit with others of the first four.
CHANGED_KEPT: Final = 0.6
OTHERS_KEPT: Final = 0.1
OTHERS_KEPT_TOGETHER: Final = 0.03
STILL_KEPT: Final = 0.4  # of a group's pairs for the question to which the older message stays the answer
OTHER_CHANGES: Final = 4  # changes of something else beside each group


@dataclass(frozen=True, slots=True)
class AskedExample:
    """An input of the product, and what the two heads should say of it; None where nobody knows."""

    given: Input
    outdated: bool | None
    better: bool | None


def pair_of(question: str, older: Recalled, newer: Recalled) -> Pair:
    """Two hits as the product compares them."""
    days = (newer.at - older.at).total_seconds() / DAY_S
    one, other = (passage(hit.text, hit.speaker, question, hit.matched) for hit in (older, newer))
    return Pair(one, other, days)


def rivals(hits: tuple[Recalled, ...]) -> list[Recalled]:
    """The hits that the product compares with the first one."""
    return [hit for hit in hits[1:FIRST] if hit.at > hits[0].at]


def is_outdated(asked: Asked, older: Recalled, newer: Recalled) -> bool | None:
    """Whether the newer hit makes the older one outdated as an answer; None where the history does not say.

    A message is outdated as an answer where it holds what a question bans and not what it wants.
    """
    want, ban = asked.question.get("want") or [], asked.question.get("ban") or []
    one, other = older.text.lower(), newer.text.lower()
    listed = older.place[0] == newer.place[0] == asked.history and (older.place[1], newer.place[1]) in asked.changed
    holds, told = (bool(want) and all(word in text for word in want) for text in (one, other))
    gone, goes = (any(word in text for word in ban) for text in (one, other))
    match asked.question["kind"]:
        case "now" | "then" if ban and gone and not holds:
            return listed or (told and not goes)
        case "now" | "then" | "event":
            # Of two that say neither, or of which only the newer one answers, nobody has said what the pair is.
            return False if holds or not (told or goes or (ban and listed)) else None
        case _:
            return None if listed else False


def is_better(asked: Asked, older: Recalled, newer: Recalled) -> bool | None:
    """Whether the newer hit is the better answer of the two; None where neither is an answer, or both are."""
    want = asked.question.get("want") or []
    if asked.question["kind"] not in {"now", "then", "event"} or not want:
        return None
    if is_outdated(asked, older, newer):
        return True
    holds, told = (all(word in hit.text.lower() for word in want) for hit in (older, newer))
    return None if holds == told else told


class AskedMaker:
    """Makes examples.

    Args:
        layout: Puts texts into the encoder's input.
        seed: Of the choice among pairs.
    """

    def __init__(self, layout: Layout, seed: int = 1) -> None:
        self._layout = layout
        self._random = Random(seed)

    def of_recall(self, asked: Asked) -> Iterator[AskedExample]:
        """Pairs of a question's first hits: those that the product compares, and some of the others."""
        hits, question = asked.hits[:MORE], asked.question["text"]
        for place, older in enumerate(hits[:FIRST]):
            for other, newer in enumerate(hits):
                if newer.at <= older.at:
                    continue
                outdated, better = is_outdated(asked, older, newer), is_better(asked, older, newer)
                if outdated is None and better is None:
                    continue
                is_of_first = (place == 0 and other < FIRST) or (other == 0 and better is not None)
                if not is_of_first:
                    others = OTHERS_KEPT_TOGETHER if asked.together else OTHERS_KEPT
                    if self._random.random() >= (CHANGED_KEPT if outdated else others):
                        continue
                given = self._layout.asked(question, pair_of(question, older, newer))
                yield AskedExample(given, outdated, better)

    def of_group(self, group: Row, others: Sequence[Row]) -> Iterator[AskedExample]:
        """An older message with each of the newer ones: for the question that some of them answer anew, and for the one that none does.

        And with changes of something else, which are no answer: newer messages of other groups of the author.
        """
        old = group["old"]
        days = [new["days"] for new in group["news"]]
        # Dealt anew: who wrote a group may have let look-alikes follow soon and changes late.
        self._random.shuffle(days)
        for question, outdated_by in (
            (group["now"]["text"], set(group["now"]["outdated_by"])),
            (group["still"], set()),
        ):
            for number, new in enumerate(group["news"]):
                if question == group["still"] and self._random.random() >= STILL_KEPT:
                    continue
                passages = (_passage(one, question) for one in (old, new))
                given = self._layout.asked(question, Pair(*passages, days[number]))
                yield AskedExample(given, number in outdated_by, number in outdated_by)
        question = group["now"]["text"]
        for other in self._random.sample(others, min(OTHER_CHANGES, len(others))):
            places = other["now"]["outdated_by"]
            if other is not group and places:
                new = other["news"][self._random.choice(places)]
                passages = (_passage(one, question) for one in (old, new))
                yield AskedExample(
                    self._layout.asked(question, Pair(*passages, new["days"])), outdated=False, better=False
                )


def _passage(message: Row, question: str) -> Passage:
    return passage(message["text"], message["speaker"], question)
