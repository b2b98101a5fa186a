"""Things: prices, days, settings, who has or leads them, what they are built with."""

from __future__ import annotations

import re
from typing import Final

from umi.pipelines.gist import frames, vocabulary
from umi.pipelines.gist.frames import Frame
from umi.pipelines.gist.message import (
    ASSIGNS,
    LEADS,
    THING_ENDS,
    THING_SLOTS,
    About,
    Gist,
    Message,
    listed,
    named,
    opened,
    over,
    settle,
)
from umi.pipelines.gist.spans import Sort, Span


def read_thing(message: Message) -> list[Gist]:
    """What a thing costs, when it takes place, what it is set to, who has or leads it; or that this is over."""
    things = message.sorted_out(Sort.ITEM, Sort.THING)
    known = [span for span in things if opened(message, span.key, (*THING_SLOTS, "uses"))]
    items = [span for span in things if span.sort is Sort.ITEM]
    for thing in [*known, *items, *things][:3]:
        gists = _of_thing(message, thing)
        if gists:
            return gists
    return []


def _of_thing(message: Message, thing: Span) -> list[Gist]:
    live = message.mood.live
    for frame, spoiled in (
        (frames.PRICE, frames.NOT_PRICE),
        (frames.PLAN, frames.NOT_PLAN),
        (frames.SETTING, frames.NOT_SETTING),
    ):
        values = tuple(message.sorted_out(*frame.values))
        known = tuple(opened(message, thing.key, (frame.slot,)))
        if frame is frames.SETTING and not known and " of " not in thing.key:
            continue
        if values and frame.trigger.search(live) and not spoiled.search(live):
            return settle(message, About(_plain(thing), thing.key, frame.slot, values, known))
    return _held(message, thing) or _thing_over(message, thing)


def _plain(thing: Span) -> str:
    return re.sub(r"^(?:the|our) ", "", thing.text, flags=re.IGNORECASE)


def _held(message: Message, thing: Span) -> list[Gist]:
    """Who has or leads a thing."""
    live = message.mood.live
    names = tuple(span for span in message.sorted_out(Sort.NAME) if len(span.text.split()) <= 3)
    known = opened(message, thing.key, ("attr:lead", "attr:assignee"))
    team = thing.key.split(" of ")[0].split()[-1:] and thing.key.split()[-1] in vocabulary.TEAM_HEADS
    frame: Frame | None = None
    if known:
        frame = frames.LEAD if known[0].slot == "attr:lead" else frames.TASK
    elif (team or thing.sort is not Sort.ITEM) and re.search(LEADS, live) and not re.search(ASSIGNS, live):
        frame = frames.LEAD
    elif thing.sort is Sort.ITEM or re.search(ASSIGNS, live):
        frame = frames.TASK
    if frame is None or not names or not (known or _holds_people(thing)):
        return []
    spoiled = frames.NOT_LEAD if frame is frames.LEAD else frames.NOT_TASK
    trigger = frame.trigger if frame is frames.LEAD else frames.TASK_SAID
    if not any(named(message, one) for one in known) and not trigger.search(live):
        return []
    if spoiled.search(live) and not message.mood.corrected and message.mood.source is None:
        return []
    about = About(_plain(thing), thing.key, frame.slot, names, tuple(one for one in known if one.slot == frame.slot))
    return settle(message, about)


def _holds_people(thing: Span) -> bool:
    """A team, a numbered item, or a thing of more than one word: "the support" is none."""
    words = thing.key.split()
    return thing.sort is Sort.ITEM or len(words) > 1 or words[-1] in vocabulary.TEAM_HEADS


def read_tools(message: Message) -> list[Gist]:
    """What a thing is built with."""
    for thing in message.sorted_out(Sort.THING)[:2]:
        gists = _tool(message, thing)
        if gists:
            return gists
    return []


_PLACES: Final = re.compile(r"\b(?:lake|party|phone|weather|keys|first|panel|crew|door|piano|weekend|dog|mail|notes)\b")


def _tool(message: Message, thing: Span) -> list[Gist]:
    live = message.mood.live
    if thing.key.split()[-1] in vocabulary.FACT_NOUNS or _PLACES.search(thing.key):
        return []
    names = message.sorted_out(Sort.NAME)
    if not names or not frames.TOOL.trigger.search(live) or frames.NOT_TOOL.search(live):
        return []
    return listed(message, (_plain(thing), thing.key), "uses", names)


def _thing_over(message: Message, thing: Span) -> list[Gist]:
    """As in "The offsite is cancelled": nothing of a kind is said but that it is over."""
    if not THING_ENDS.search(message.mood.live) or not message.mood.ended:
        return []
    known = opened(message, thing.key, THING_SLOTS)
    people = {"attr:lead", "attr:assignee"}
    personal = re.search(
        r"\b(?:nobody|no one|vacan\w+|unassigned|owner\w*|lead\w*|head|stepp\w+|in charge|assign\w*|working on|pile|pool|backlog|queue|helm|looking for)\b",
        message.mood.live,
        re.IGNORECASE,
    )
    chosen = [one for one in known if (one.slot in people) is bool(personal)] or known
    return [over(About(_plain(thing), thing.key, one.slot, (), ()), one.value) for one in chosen]
