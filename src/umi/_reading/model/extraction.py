"""Extraction by a model: gathers the context of a message, asks for its statements, and locates them in the text.

The model is called once per window of text. It is given the speaker and time, the messages just before, and known
statements that the message may be about. A message that a model has read has no statements of the local readers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.ranking import bm25
from umi._core.stages import stage
from umi._core.text import analyse, query_terms
from umi._reading.extract import Extracted, said_in, subject_named
from umi._reading.grammar.tokens import sentences
from umi._reading.model import Conversation, ExtractedEntity, read_extraction
from umi._reading.model.contracts import EXTRACT
from umi._reading.model.prompts import build_extraction_prompt
from umi.limits import (
    ENTITIES_PER_MESSAGE_COUNT_MAX,
    EVOLUTION_EXISTING_ENTITIES_COUNT_MAX,
    LLM_BEFORE_COUNT_MAX,
    LLM_KNOWN_COUNT_MAX,
    LLM_WINDOW_BYTES_MAX,
)
from umi.ports import Snapshot, Vector
from umi.ports.candidates import Keys, union
from umi.types import Entity, EntityType, Episode, ExtractionResult, Mode

# Similar messages, for the context and for finding candidates of evolution.
NEAR_COUNT: Final = EVOLUTION_EXISTING_ENTITIES_COUNT_MAX
_NEAR_COUNT: Final = 6  # of them, messages whose statements an extraction prompt may show
_NOTE_CONFIDENCE: Final = 0.5
_LONG_AGO: Final = datetime(1, 1, 1, tzinfo=UTC)  # beginning of a fact of which only the end is known
_SORTED_MAX: Final = 256  # up to so many candidates, sorting all is fast enough
_WORD: Final = re.compile(r"\w+")
_ACKNOWLEDGING_WORDS_MAX: Final = 4  # a longer message is given to the model
# Words of acknowledgements in English, German, Spanish, French, Portuguese, Italian, Japanese and Chinese.
_ACKNOWLEDGEMENTS: Final = frozenset(
    [
        "ok",
        "okay",
        "okey",
        "k",
        "kk",
        "thx",
        "thanks",
        "thank",
        "you",
        "ty",
        "cheers",
        "great",
        "nice",
        "cool",
        "perfect",
        "lovely",
        "got",
        "it",
        "noted",
        "lol",
        "haha",
        "hehe",
        "wow",
        "danke",
        "vielen",
        "dank",
        "super",
        "alles",
        "klar",
        "gracias",
        "vale",
        "muchas",
        "perfecto",
        "merci",
        "beaucoup",
        "parfait",
        "obrigado",
        "obrigada",
        "grazie",
        "mille",
        "ありがとう",
        "ありがとうございます",
        "了解",
        "了解です",
        "はい",
        "谢谢",
        "好的",
        "好",
        "收到",
        "謝謝",
    ]
)


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a message.

    Attributes:
        before: The messages before it, oldest first.
        known: Open statements that it may be about.
        near: Ids of the most similar messages, best first.
    """

    before: tuple[Episode, ...] = ()
    known: tuple[Entity, ...] = ()
    near: tuple[str, ...] = ()


def context_of(snapshot: Snapshot, episode: Episode, vector: Vector | None) -> Context:
    """Gather what a model needs to understand a message.

    Args:
        snapshot: The store's state with the message and its neighbours.
        episode: The message.
        vector: Its embedding, shape (dimensions,), if there is one.
    """
    before = messages_before(snapshot, episode)
    near = [id_ for id_ in nearest(snapshot, episode.content, vector, NEAR_COUNT) if id_ != episode.id]
    # Statements of the messages just before come first, the newest of them leading, then those of similar ones.
    order = list(dict.fromkeys([*(one.id for one in reversed(before)), *near[:_NEAR_COUNT]]))[
        : LLM_BEFORE_COUNT_MAX + _NEAR_COUNT
    ]
    groups = snapshot.entities_of(order)
    known = [one for id_ in order for one in groups.get(id_, ()) if one.valid_to is None and one.subject]
    return Context(before, tuple(reversed(known[:LLM_KNOWN_COUNT_MAX])), tuple(near))


def messages_before(snapshot: Snapshot, episode: Episode) -> tuple[Episode, ...]:
    """The messages of the same session that arrived just before, oldest first."""
    first = max(0, episode.arrival - LLM_BEFORE_COUNT_MAX)
    found = snapshot.episodes_at(range(first, episode.arrival))
    mine = [one for _, one in sorted(found.items()) if one.session == episode.session]
    read = snapshot.entities_of([one.id for one in mine])  # unread ones are left out: see below
    # A message that made the model fail could make it fail for every later prompt that contains it.
    return tuple(one for one in mine if one.id in read)


def nearest(snapshot: Snapshot, text: str, vector: Vector | None, count: int) -> list[str]:
    """Ids of the messages most similar to a text in words and meaning together, best first."""
    found = snapshot.text_candidates(query_terms(text))
    keys, scores = found.keys, bm25(found.turn, 1.0)
    # Scaled to 0..1, so that BM25 and cosine weigh about alike.
    scores = scores / max(float(scores.max(initial=0.0)), 1e-6)
    if vector is not None:
        near = snapshot.vector_candidates(np.asarray(vector, dtype=np.float32), also=keys, pool=8 * count)
        both = union(keys, near.keys)
        total = np.zeros(len(both))
        total[np.searchsorted(both, keys)] += scores
        total[np.searchsorted(both, near.keys)] += near.cosine
        keys, scores = both, total
    best = np.lexsort((-keys, -scores))[: count + 1] if len(keys) <= _SORTED_MAX else _first(keys, scores, count + 1)
    episodes = snapshot.episodes_at(int(keys[place]) for place in best)
    return [episodes[int(keys[place])].id for place in best if int(keys[place]) in episodes]


def _first(keys: Keys, scores: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    """Indices of the highest scores, the newest of equals first; avoids sorting all of them."""
    least = np.partition(scores, -count)[-count]
    places = np.flatnonzero(scores >= least)
    return places[np.lexsort((-keys[places], -scores[places]))][:count]


def may_acknowledge(text: str) -> bool:
    """Whether a text consists of words of acknowledgement only ("ok thx")."""
    words = _WORD.findall(text.casefold())
    return len(words) <= _ACKNOWLEDGING_WORDS_MAX and _ACKNOWLEDGEMENTS.issuperset(words)


def only_acknowledges(snapshot: Snapshot, episode: Episode) -> bool:
    """Whether a message that `may_acknowledge` is only that, so that no model need read it.

    It is more when the message before it asked a question: then "ok" is an answer.
    """
    return not any(one.content.rstrip().endswith(("?", "？")) for one in messages_before(snapshot, episode)[-1:])


@stage("read statements")
async def extract(
    model: Conversation, episode: Episode, context: Context, asked_before: int
) -> tuple[ExtractedEntity, ...]:
    """Let a model read an episode, one call per window.

    Args:
        model: The model, with the operation's time and budget.
        episode: The message.
        context: Its context.
        asked_before: Earlier attempts at the same work; a router may choose a stronger model then.

    Raises:
        LLMError: When a window got no usable answer.
    """
    speaker, day = episode.speaker or episode.role, episode.at.date().isoformat()
    found: list[ExtractedEntity] = []
    for window in windows(episode.content):
        prompt = build_extraction_prompt(window, speaker, day, context.before, context.known)
        entities, _ = await model.ask(EXTRACT, prompt, read_extraction, asked_before)
        found += entities
    return tuple(found)


def windows(text: str) -> list[str]:
    """Split a text into pieces of at most `LLM_WINDOW_BYTES_MAX`, between sentences; only a longer sentence is cut."""
    if len(text.encode()) <= LLM_WINDOW_BYTES_MAX:
        return [text]
    pieces: list[str] = []
    begin = end = 0
    for start, finish in sentences(text):
        if end > begin and len(text[begin:finish].encode()) > LLM_WINDOW_BYTES_MAX:
            pieces += _chopped(text[begin:end])
            begin = start
        end = finish
    return [piece for piece in [*pieces, *_chopped(text[begin:])] if piece.strip()]


def _chopped(text: str) -> list[str]:
    """A piece cut into parts of at most the limit, whatever the characters."""
    if len(text.encode()) <= LLM_WINDOW_BYTES_MAX:
        return [text]
    size = LLM_WINDOW_BYTES_MAX // 4  # characters have at most four bytes
    return [text[start : start + size] for start in range(0, len(text), size)]


def statements(snapshot: Snapshot, episode: Episode, named: Sequence[ExtractedEntity]) -> Extracted:
    """Locate a model's statements in the text and make entities of them; one note when there are none.

    Two statements made by the same words become one statement about several subjects.
    """
    by_span: dict[tuple[int, int], Entity] = {}
    after = 0
    for one in named[:ENTITIES_PER_MESSAGE_COUNT_MAX]:
        span = place(episode.content, one.content, after)
        if span is None:
            continue  # invented: the text has no such words
        # Statements usually come in the order of the text, so a phrase that occurs twice is looked for behind the last
        # one.
        after = max(after, span[1])
        entity = _statement(snapshot, episode, one, span)
        by_span[span] = entity if span not in by_span else _joined(by_span[span], entity)
    if not by_span:
        whole = (0, len(episode.content))
        name = episode.speaker or episode.role
        note = said_in(episode, whole, EntityType.NOTE, name, confidence=_NOTE_CONFIDENCE, mode=Mode.UNSTATED)
        return Extracted(ExtractionResult((note,)), ())
    return Extracted(ExtractionResult(tuple(by_span[span] for span in sorted(by_span))), ())


def says_it_all(one: Entity, episode: Episode) -> bool:
    """Whether the message's own embedding can stand for a statement.

    It can when the statement has at least three quarters of the message's distinct words and its subject is named
    there.
    """
    said, whole = frozenset(analyse(one.content)), frozenset(analyse(episode.content))
    about = frozenset(analyse(one.name)) - frozenset(analyse(episode.speaker or ""))
    return about <= whole and 4 * len(said & whole) >= 3 * len(whole)


def place(text: str, words: str, after: int) -> tuple[int, int] | None:
    """Locate some words in a text; None when it does not contain them.

    Tried in order: verbatim, preferably from `after` on; with other white space, quotation marks or case; the sentence
    that shares most of the words, if at least half.
    """
    for start in (text.find(words, after), text.find(words)):
        if start >= 0:
            return start, start + len(words)
    loose = re.sub('["“”]', '["“”]', re.sub("['’‘]", "['’‘]", loosely(words)))
    match = re.search(loose, text, re.IGNORECASE)
    if match is not None:
        return match.span()
    wanted = frozenset(analyse(words))

    def shared(sentence: tuple[int, int]) -> int:
        start, end = sentence
        return len(wanted & frozenset(analyse(text[start:end])))

    best = max(sentences(text), key=shared)
    return best if wanted and 2 * shared(best) >= len(wanted) else None


def loosely(words: str) -> str:
    """A regular expression for some words with any white space between them."""
    return r"\s+".join(map(re.escape, words.split()))


def _statement(snapshot: Snapshot, episode: Episode, one: ExtractedEntity, span: tuple[int, int]) -> Entity:
    """The entity of one statement."""
    also = dict.fromkeys(subject_named(snapshot, name) for name in one.also)
    over_already = one.valid_until is not None and one.valid_until <= episode.at
    # A fact told when it is already over began at an unknown time before its end, not now.
    begins = one.valid_from or (_LONG_AGO if over_already else episode.at)
    subject = subject_named(snapshot, one.name)
    return said_in(
        episode,
        span,
        one.entity_type,
        one.name,
        subject=subject,
        also=tuple(key for key in also if key != subject),
        mode=one.mode,
        said_by=one.said_by,
        confidence=one.confidence,
        valid_from=begins,
        valid_until=one.valid_until if one.valid_until is not None and one.valid_until > begins else None,
    )


def _joined(one: Entity, other: Entity) -> Entity:
    """Two statements of the same words as one, about all their subjects."""
    also = dict.fromkeys((*one.also, other.subject, *other.also))
    return replace(one, also=tuple(key for key in also if key != one.subject))
