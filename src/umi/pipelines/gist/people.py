"""People: where they work and live, what they speak."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from umi.pipelines.gist import frames, vocabulary
from umi.pipelines.gist.message import WEAK, About, Gist, Message, listed, named, opened, same, settle, turning
from umi.pipelines.gist.spans import Sort, Span
from umi.pipelines.language.lexicon import CALENDAR, KIN
from umi.pipelines.language.subjects import subject_key
from umi.types import Entity


def _subjects(message: Message, slots: tuple[str, ...]) -> list[tuple[Span | None, str, str]]:
    """Whom a message may be about, the likeliest first; None stands for the speaker."""
    names = message.sorted_out(Sort.NAME)
    live = message.mood.live
    known = [span for span in names if opened(message, subject_key(span.text), slots)]
    first_person = frames.SPEAKER.search(live) is not None
    of_mine = [old.value for old in opened(message, message.speaker[1], slots)]
    acting = [
        span
        for span in names
        if _acts(span, first_person=first_person) and not any(same(span.text, value) for value in of_mine)
    ]
    found: list[tuple[Span | None, str, str]] = [
        (span, span.text, subject_key(span.text)) for span in (*known, *acting)
    ]
    mine = opened(message, message.speaker[1], slots)
    if not found and (first_person or any(named(message, old) for old in mine)):
        found.append((None, *message.speaker))
    elif names and not found:
        persons = [
            span
            for span in names
            if not frames.PLACE_BEFORE.search(span.before)
            and not frames.GIVES_WORK.search(span.after)
            and not span.first
        ]
        if persons:
            found.append((persons[0], persons[0].text, subject_key(persons[0].text)))
        elif message.mood.source is None and all(frames.PLACE_BEFORE.search(span.before) for span in names):
            found.append((None, *message.speaker))  # "Still working for Nordlicht": nobody but the speaker is meant
    return found


def _acts(span: Span, *, first_person: bool) -> bool:
    if len(span.text.split()) > 2 or "&" in span.text or frames.GIVES_WORK.search(span.after):
        return False
    if span.first and re.match(r" (?!is\b|was\b|has\b|pays\b)[a-z]{3,}(?:s|ed)\b", span.after):
        return True
    if frames.PERSON_VERB.search(span.after) and not re.search(
        r"\b(?:at|in|with|joined|left|to|from|goodbye|hello|of|by|for|near)\s+$", span.before
    ):
        return True
    return (
        not first_person
        and bool(re.search(r"\b(?:from|of|about|for|met|saw|to|visited|with|called|and|confused)\s+$", span.before))
        and span.after[:1] in {":", ",", "", ".", ";", "!"}
    ) or (not first_person and bool(re.search(r"\b(?:met|saw|heard from|for|about|sent [\w ]+ to)\s+$", span.before)))


def read_person(message: Message) -> list[Gist]:
    """Where somebody works or lives, the speaker included."""
    if RELATIVES.search(message.mood.live):
        return []
    slots = tuple(frame.slot for frame in frames.PERSON_FRAMES)
    names = [span for span in message.sorted_out(Sort.NAME) if span.text.lower() not in CALENDAR]
    for span, name, subject in _subjects(message, slots):
        if subject:
            others = [one for one in names if one is not span and one.key != (span.key if span else "")]
            gists = _of_person(message, span, (name, subject), others)
            if gists:
                return gists
    return []


def _of_person(message: Message, span: Span | None, who: tuple[str, str], names: Sequence[Span]) -> list[Gist]:
    slots = tuple(frame.slot for frame in frames.PERSON_FRAMES)
    open_ones = opened(message, who[1], slots)
    values = tuple(one for one in names if _may_be_place(one, open_ones))
    told = message.around(values)  # where the values stand is what must speak of such a fact
    if _POINTING.search(told) or (message.mood.corrected and not values):
        told = message.mood.live
    if span is None and not _by_speaker(message, told, names, open_ones):
        return []
    scores = {frame.slot: len(frame.trigger.findall(told)) for frame in frames.PERSON_FRAMES}
    slot = _slot_of_person(scores, values, open_ones) or _weakly(values)
    if not slot:
        return []
    known = tuple(old for old in open_ones if old.slot == slot)
    weak = not scores[slot] and bool(_weakly(values))
    if not _tells(message, slot, values, known, spoken=bool(scores[slot]) or weak):
        return []
    gists = settle(message, About(*who, slot, values, known))
    again = any(same(one.text, old.value) for old in known for one in values)
    vague = not frames.CLEAR.search(message.mood.live) and not again
    unsure = vague or (weak and not any(one.ended for one in gists))
    return [replace(one, confidence=WEAK, ended=()) for one in gists] if unsure else gists


_POINTING: Final = re.compile(
    r"^(?:(?:no|wait|oops|sorry|actually|and)[, ]+)*(?:it|that|this)(?:'s| is| should| was)\b|^i meant\b|^make (?:that|it)\b|^[^.!?]{2,40} it is\b|^not ",
    re.IGNORECASE,
)


def _tells(message: Message, slot: str, values: Sequence[Span], known: Sequence[Entity], *, spoken: bool) -> bool:
    """Whether the message says something of the fact, beyond naming its value."""
    live = message.mood.live
    if not values:
        return bool(known) and _OVER[slot].search(live) is not None
    if slot == "lives_in" and _OTHERS_MOVE.search(live):
        return False
    fresh = [one for one in values if not any(same(one.text, old.value) for old in known)]
    leaving = bool(known) and not fresh and _LEAVING.search(live) is not None
    return spoken or leaving or (bool(fresh) and len(fresh) < len(values) and turning(message))


def _by_speaker(message: Message, told: str, names: Sequence[Span], known: Sequence[Entity]) -> bool:
    """Whether a sentence about nobody in particular is about who says it.

    Somebody else who is named would be whom it is about, so there may be one new name at most, and "I" or "my" must be said, or
    a value of the speaker's own.
    """
    new = {one.key for one in names if not any(same(one.text, old.value) for old in known)}
    if len(new) > 1:
        return False
    own = len(new) < len({one.key for one in names})
    if message.mood.source is not None:
        return _SPEAKING.search(told) is not None
    return own or frames.SPEAKER.search(told) is not None or (bool(names) and _unsaid(message))


_SPEAKING: Final = re.compile(r"\b(?:i|i'm|i've|my|mine)\b", re.IGNORECASE)


def _unsaid(message: Message) -> bool:
    """Whether the sentence leaves out who does it, as people do of themselves: "Still working for Nordlicht"."""
    return (
        re.match(r"(?:still|been|started|working|just|finally|got|first|back|now)\b", message.mood.live, re.IGNORECASE)
        is not None
    )


_LEAVING: Final = re.compile(
    r"\b(?:over|behind me|no longer|any ?more|any longer|for good|left|leaving|leaves|parted ways|done with|finished (?:at|with)|last day|history|farewell|unemployed|jobless|away from)\b",
    re.IGNORECASE,
)
_OVER: Final = {  # what says that it is over without naming what
    "works_at": re.compile(
        r"\b(?:quit (?:my|his|her|their|the) (?:job|post|position)|unemployed|jobless|retired|laid off|let go|sacked|fired|made redundant|between jobs|out of (?:a job|work|the job)|stopped working|no job|lost (?:my|his|her|their|the) (?:job|position)|(?:job|work)[- ]hunting|looking for (?:a new job|work|a job)|"
        r"gave up (?:my|his|her|their|the) job|not working|don't work|doesn't work|no longer (?:work\w*|employed|have a job|has a job)|resigned|contract (?:ran out|ended|expired)|handed in (?:my|his|her|their) (?:notice|badge|resignation)|no (?:longer an )?employer|sabbatical|career break|living off)\b",
        re.IGNORECASE,
    ),
    "lives_in": re.compile(
        r"\b(?:no home|homeless|between (?:homes|places|flats)|no fixed|moved out|moved away|(?:gave|given) up (?:my|the|our|his|her|their) (?:flat|apartment|house|place|home)|lease (?:is|was|has) (?:over|up|ended)|nomad\w*|(?:sleeping|living) on (?:sofas|couches|friends)|couch[- ]?surf\w*|no (?:new |permanent |forwarding )?address|"
        r"sold (?:my|the|our|his|her|their) (?:flat|apartment|house|place|home)|without a home|living out of|no longer (?:live|lives|have a home)|van life|on the road)\b",
        re.IGNORECASE,
    ),
}
_OTHERS_MOVE: Final = re.compile(
    r"\b(?:my|our) (?!(?:home|house|flat|place|family|address|new)\b)\w+ (?:has |have |just |is |was )?(?:moved|moving|relocat\w+|based)",
    re.IGNORECASE,
)
_WEAKLY: Final = re.compile(
    r"(?:\b(?:is|am|are|been)|'[ms]|'re)(?: (?:now|currently|still|already|back|over))* (at|with|in) $"
)


def _weakly(values: Sequence[Span]) -> str:
    for span in values:
        match = _WEAKLY.search(span.before)
        if match is not None:
            return "lives_in" if match[1] == "in" else "works_at"
    return ""


def _may_be_place(span: Span, known: Sequence[Entity]) -> bool:
    if any(same(span.text, old.value) for old in known):
        return True
    if not _stands_alone(span):
        return False
    return bool(frames.PLACE_BEFORE.search(span.before) or frames.GIVES_WORK.search(span.after))


def _stands_alone(span: Span) -> bool:
    """Whether no noun follows: not "LGBTQ youth"."""
    match = re.match(r"\s+([a-z][a-z'-]*)", span.after)
    if match is None or frames.GIVES_WORK.search(span.after) or frames.PERSON_VERB.search(span.after):
        return True
    word = match[1].partition("'")[0]
    return (
        word in vocabulary.NOUN_BREAKS
        or word in vocabulary.INFLECTED
        or word
        in {
            "mostly",
            "instead",
            "finally",
            "yet",
            "full",
            "part",
            "together",
            "next",
            "last",
            "only",
            "straight",
            "done",
        }
    )


def _slot_of_person(scores: dict[str, int], values: Sequence[Span], known: Sequence[Entity]) -> str:
    points = {slot: 2 * score for slot, score in scores.items()}
    for old in known:
        if any(same(span.text, old.value) for span in values):
            points[old.slot] += 5
    if not any(points.values()):
        return ""
    for span in values:
        if re.search(r"\bin (?:the )?$", span.before):
            points["lives_in"] += 1
        elif re.search(r"\b(?:at|for|by|with|joined) $", span.before) or "&" in span.text:
            points["works_at"] += 1
    best = max(points, key=lambda slot: (points[slot], slot))
    return best if points[best] >= 2 else ""


RELATIVES: Final = re.compile(
    r"(?:\b(?:my|our|his|her|their|your)|'s) (?:\w+ )?(?:"
    + "|".join(sorted(KIN - {"client", "family"}))
    + r")s?\b(?!')",
    re.IGNORECASE,
)


def read_language(message: Message) -> list[Gist]:
    """Which languages somebody speaks."""
    values = message.sorted_out(Sort.LANGUAGE)
    source = message.mood.source
    names = message.sorted_out(Sort.NAME) or ([source] if source is not None else [])
    if (
        not values
        or not names
        or not frames.LANGUAGE.trigger.search(message.mood.live)
        or _NOT_SPOKEN.search(message.mood.live)
    ):
        return []
    name = names[0]
    return listed(message, (name.text, subject_key(name.text)), "speaks", values)


_NOT_SPOKEN: Final = re.compile(
    r"\b(?:teach\w*|beautiful|translat\w+|colleague|hard to|who speaks|learning|food|restaurant|novel|film|cuisine|course in|sounds?|listen|subtitles?|gave up on|class(?:es)?|lessons in)\b",
    re.IGNORECASE,
)
