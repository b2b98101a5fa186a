"""What the first passes are fitted to, from the files of `data/reader`: histories, groups of statements, human pairs of task talk, plain chat.

They teach what a newer statement makes of an older one, without a question. `asked.py` has what comes after them.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from layouts import PlainLayout, Told

from umi._retrieval.segments import segments
from umi.ports.answer_reader import Pair, Passage
from umi.providers.answer_reader import Input

Row = dict[str, Any]
Span = tuple[int, int]

HERE = Path(__file__).resolve().parents[3]
DATA = HERE / "data" / "reader"
VERDICTS = ("none", "update", "correct", "retract", "extend", "same", "contradict")
CHANGES = frozenset({"update", "correct", "retract"})  # after these the older statement holds no longer
SAYS = 0.5  # share of a listed span that a statement must hold to be the one that is listed
TOUCHES = 0.1  # one that holds more than that, and less than SAYS, teaches nothing
BEFORE_S = 12 * 3_600
DAY_S = 86_400
OTHERS = {"unrelated": "none"}
NAMES = HERE / "lab" / "tools" / "evolution_names.txt"
OWN = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself)\b")
STRANGERS = 0.35  # of the pairs that concern each other, the share of which the newer statement is told once more of somebody else


@dataclass(frozen=True, slots=True)
class Example:
    """`verdict` is a place in `VERDICTS`, or None where `answers` is asked; `words` are the tokens that the verdict is about, if known."""

    given: Input
    author: str
    verdict: int | None = None
    answers: bool | None = None
    words: tuple[bool, ...] | None = None
    mode: str = ""


def first_names() -> frozenset[str]:
    """The names of people in `NAMES`."""
    lines = NAMES.read_text(encoding="utf-8").split("# person", 1)[1].split("\n#", 1)[0]
    return frozenset(re.findall(r"\w+", lines))


def authors() -> list[str]:
    """All who wrote histories or groups."""
    return sorted(path.stem for folder in ("histories", "groups") for path in (DATA / folder).glob("*.jsonl"))


def rows_of(path: Path) -> list[Row]:
    """The objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


class Maker:
    """Makes examples.

    Args:
        layout: Puts texts into the encoder's input.
        seed: Of the choice among pairs that are none.
    """

    def __init__(self, layout: PlainLayout, seed: int = 1) -> None:
        self._layout = layout
        self._random = Random(seed)
        self._names = first_names()

    def strangers(self, author: str, verdict: str, told: Told) -> Iterator[Example]:
        """Of some pairs that concern each other, the same with the newer statement told of somebody else: then it is none.

        A name that both statements have is another in the newer message, or whoever speaks of themselves in both is
        another person in the newer one.
        """
        if verdict == "none" or self._random.random() >= STRANGERS:
            return
        pair = told.pair
        older, newer = (one.text[slice(*one.span)] for one in (pair.older, pair.newer))
        shared = sorted({name for name in self._names & set(re.findall(r"\w+", older)) if name in newer})
        if len(shared) == 1:
            other = self._random.choice(
                sorted(self._names - set(re.findall(r"\w+", f"{pair.older.text} {pair.newer.text}")))
            )
            swapped = re.compile(rf"\b{shared[0]}\b")
            start = len(swapped.sub(other, pair.newer.text[: pair.newer.span[0]]))
            span = (start, start + len(swapped.sub(other, newer)))
            swapped_newer = replace(pair.newer, text=swapped.sub(other, pair.newer.text), span=span)
            yield self.pair(author, "none", Told(replace(pair, newer=swapped_newer), swapped.sub(other, told.before)))
        elif pair.older.speaker == pair.newer.speaker and OWN.search(older) and OWN.search(newer):
            other = self._random.choice(sorted(self._names - {pair.older.speaker}))
            yield self.pair(author, "none", Told(replace(pair, newer=replace(pair.newer, speaker=other))))

    def pair(self, author: str, verdict: str, told: Told, spans: tuple[Span, Span] | None = None) -> Example:
        """One pair of statements; `spans` are the words of each message that the verdict is about."""
        marked = self._layout.pair(told)
        given, words = marked.given, None
        if spans is not None:
            words = tuple(
                bool(last > first)
                and (_meets((first, last), spans[0]) if older else newer and _meets((first, last), spans[1]))
                for (first, last), older, newer in zip(marked.offsets, given.older, given.newer, strict=True)
            )
        return Example(given, author, VERDICTS.index(verdict), words=words)

    def of_history(self, history: Row, none_per_pair: int = 4) -> Iterator[Example]:
        """Pairs of its statements: all that are listed, of the others those of listed messages first, and some of the rest."""
        listed, none = [], []
        for told, example, touched in self.pairs_of(history):
            if example.verdict:
                listed.append(example)
                listed.extend(self.strangers(example.author, VERDICTS[example.verdict], told))
            else:
                none.append((not touched, self._random.random(), len(none), example))
        none.sort(key=lambda one: one[:3])
        yield from listed
        yield from (one[-1] for one in none[: max(10, 4 + none_per_pair * len(listed))])

    def pairs_of(self, history: Row) -> Iterator[tuple[Told, Example, bool]]:
        """Every pair of statements of two messages, its example, and whether the messages are listed as a pair."""
        listed: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for row in history["pairs"]:
            listed[row["old"], row["new"]].append(row)
        for places, pairs in statement_pairs(history):
            rows = listed.get(places, [])
            for told in pairs:
                verdict, spans = _verdict(rows, told.pair)
                if verdict is not None:
                    yield told, self.pair(history["author"], verdict, told, spans), bool(rows)

    def asked_of(self, history: Row, others_per_answer: int = 1) -> Iterator[Example]:
        """Its questions with statements that answer them, be they outdated, and some that do not."""
        for question in history["questions"]:
            yes, no = [], []
            for passage, answers in answers_to(question, history):
                given = self._layout.answer(question["text"], passage)
                (yes if answers else no).append(Example(given, history["author"], answers=answers))
            self._random.shuffle(no)
            yield from yes
            yield from no[: others_per_answer * max(2, len(yes))]

    def of_group(self, group: Row) -> Iterator[Example]:
        """An older message with each of the newer ones that are told against it."""
        old = group["old"]
        for new in group["news"]:
            spans = tuple(
                _found(text["text"], words)
                for text, words in ((old, new.get("old_span") or old["span"]), (new, new["span"]))
            )
            passages = [
                Passage(one["text"], _holding(one["text"], span), one["speaker"])
                for one, span in zip((old, new), spans, strict=True)
            ]
            known = (spans[0], spans[1]) if new["label"] != "none" else None
            told = Told(Pair(*passages, new["days"]), new.get("before") or "")
            yield self.pair(group["author"], new["label"], told, known)
            yield from self.strangers(group["author"], new["label"], told)

    def of_changes(self, path: Path, most: int) -> Iterator[Example]:
        """Human pairs of one source, at most so many of a label."""
        kept: dict[str, list[Row]] = defaultdict(list)
        for row in rows_of(path):
            if is_left_out(row):
                continue
            kept[OTHERS.get(row["label"], row["label"])].append(row)
        for label, rows in sorted(kept.items()):
            self._random.shuffle(rows)
            for row in rows[:most]:
                old, new = row["old"].strip(), row["new"].strip()
                passages = (
                    Passage(old, (0, len(old)), row.get("old_speaker") or "user"),
                    Passage(new, (0, len(new)), row.get("new_speaker") or "user"),
                )
                before = (row.get("before") or "").split(" / ")[-1]
                yield self.pair(path.stem, label, Told(Pair(*passages, row.get("days")), before))

    def of_chat(self, path: Path, most: int) -> Iterator[Example]:
        """Pairs of turns of plain chat, in which next to nothing changes."""
        turns: dict[str, list[Row]] = defaultdict(list)
        for row in rows_of(path):
            if row["split"] == "train":
                turns[row["dialogue"]].append(row)
        made = []
        for said in turns.values():
            for place, new in enumerate(said[1:], 1):
                old = self._random.choice(said[max(0, place - 12) : place])
                if min(len(old["text"].split()), len(new["text"].split())) >= 3:
                    passages = [Passage(one["text"], segments(one["text"])[0], one["speaker"]) for one in (old, new)]
                    before = f"{said[place - 1]['speaker']}: {said[place - 1]['text']}"
                    made.append(Told(Pair(*passages, 0), before))
        self._random.shuffle(made)
        yield from (self.pair("chat", "none", one) for one in made[:most])


def statement_pairs(history: Row) -> Iterator[tuple[tuple[int, int], list[Told]]]:
    """For every two messages of a history (places of the older and the newer) each pair of their statements."""
    said = history["messages"]
    passages = [[_passage(one, span) for span in segments(one["text"])] for one in said]
    for new, later in enumerate(said):
        before = said[new - 1] if new and _seconds(said[new - 1], later) <= BEFORE_S else None
        just_before = "" if before is None else f"{before['speaker']}: {before['text']}"
        for old, earlier in enumerate(said[:new]):
            days = _seconds(earlier, later) / DAY_S
            pairs = [Told(Pair(one, other, days), just_before) for one in passages[old] for other in passages[new]]
            yield (old, new), pairs


def answers_to(question: Row, history: Row) -> Iterator[tuple[Passage, bool]]:
    """Every statement of a history, and whether it is what a question asks for, or was before."""
    for message in history["messages"]:
        for span in segments(message["text"]):
            yield _passage(message, span), tells(question, message["text"], span)


def is_left_out(row: Row) -> bool:
    """Whether a human pair is of the tenth that is never fitted to, by its dialogue, page or project."""
    return crc32(str(row["id"]).encode()) % 10 == 0


def tells(question: Row, text: str, span: Span) -> bool:
    """Whether a statement of a message is what a question asks for, or was before."""
    want, ban = question.get("want") or [], question.get("ban") or []
    low = text.lower()
    if question["kind"] in ("now", "then"):
        held = (bool(want) and all(one in low for one in want)) or any(one in low for one in ban)
    else:
        held = any(one in low for one in [*want, *ban])
    return held and any(one in low[slice(*span)] for one in [*want, *ban])


def _verdict(rows: Sequence[Row], pair: Pair) -> tuple[str | None, tuple[Span, Span] | None]:
    """What is listed of a pair of statements; None where one of them holds only a piece of what is listed."""
    best, verdict, spans, touched = 0.0, "none", None, False
    for row in rows:
        mine, other = _found(pair.older.text, row["old_span"]), _found(pair.newer.text, row["new_span"])
        share = min(_share(mine, pair.older.span), _share(other, pair.newer.span))
        if share >= SAYS and share > best:
            best, verdict, spans = share, row["label"], (mine, other)
        touched = touched or share > TOUCHES
    return (None if touched and verdict == "none" else verdict), spans


def _share(listed: Span, statement: Span) -> float:
    return max(0, min(listed[1], statement[1]) - max(listed[0], statement[0])) / max(1, listed[1] - listed[0])


def _holding(text: str, span: Span) -> Span:
    """The statement that holds most of a span."""
    return max(segments(text), key=lambda one: (_share(span, one), -one[0]))


def _found(text: str, words: str) -> Span:
    start = max(0, text.find(words))
    return start, start + len(words)


def _meets(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _passage(message: Row, span: Span) -> Passage:
    return Passage(message["text"], span, message["speaker"])


def _seconds(earlier: Row, later: Row) -> float:
    return (datetime.fromisoformat(later["at"]) - datetime.fromisoformat(earlier["at"])).total_seconds()
