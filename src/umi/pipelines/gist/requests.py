"""What is to be forgotten."""

from __future__ import annotations

from umi.pipelines.gist import frames
from umi.pipelines.gist.message import FORGET, PERSON_SLOTS, THING_SLOTS, WEAK, Gist, Message, named, opened
from umi.pipelines.gist.own import choice_slot
from umi.pipelines.gist.spans import Sort
from umi.pipelines.language.subjects import subject_key
from umi.pipelines.language.values import value_key


def read_request(message: Message) -> list[Gist]:
    """A request closes what it names: a value that is known of somebody or something that it names."""
    subjects: dict[str, str] = {}
    for span in message.spans:
        if span.sort in {Sort.THING, Sort.ITEM, Sort.NAME}:
            subjects[span.key if span.sort is not Sort.NAME else subject_key(span.text)] = span.text
    if frames.SPEAKER.search(message.mood.live) or message.sorted_out(Sort.CHOICE):
        subjects[message.speaker[1]] = message.speaker[0]
    slots = (
        *THING_SLOTS,
        *PERSON_SLOTS,
        "uses",
        "hobby",
        "likes",
        *(choice_slot(span.key) for span in message.sorted_out(Sort.CHOICE)),
    )
    hits = [
        (subject, name, old)
        for subject, name in subjects.items()
        for old in opened(message, subject, slots)
        if named(message, old)
    ]
    others = [hit for hit in hits if hit[0] != message.speaker[1]]
    hits = others or hits
    triggers = {frame.slot: frame.trigger for frame in (*frames.PERSON_FRAMES,)}
    fitting = [hit for hit in hits if hit[2].slot in triggers and triggers[hit[2].slot].search(message.mood.live)]
    chosen = fitting if len({hit[2].slot for hit in hits}) > 1 and fitting else hits
    done: dict[tuple[str, str, str], Gist] = {}
    for subject, name, old in chosen:
        gist = Gist(name, subject, old.slot, old.value, (old.value,), negated=True, cues=("over", "event", FORGET))
        done.setdefault((subject, old.slot, value_key(old.value)), gist)
    if not done:  # the fact was never read: its words are looked for (`umi.pipelines.evolve`)
        return [Gist(*message.speaker, "", "", confidence=WEAK, cues=(FORGET,))]
    return list(done.values())
