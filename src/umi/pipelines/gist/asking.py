"""Which fact of whom a question asks for, by what it names and the words of that kind of fact."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from umi.pipelines.gist import frames, spans
from umi.pipelines.gist.own import choice_slot
from umi.pipelines.gist.spans import Sort, Span
from umi.pipelines.language.lexicon import KIN, MONTHS, words
from umi.pipelines.language.subjects import subject_key

_I: Final = re.IGNORECASE
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CHARACTERS_MAX: Final = 200
_ASKS: Final = re.compile(
    r"\?\s*$|^(?:(?:ok|okay|hey|so|and|please|quick(?:ly)?|sorry|hi|hello|well|wait),? )*(?:who|whom|whose|what|when|where|which|how|remind|tell|list|name|give|show|do you|can you|could you|surprise|i need|i forgot|i've forgotten|any idea|"
    r"refresh|look up|check|help|let me know|i'm|i want|i'd like|got|in (?:january|february|march|april|may|june|july|august|september|october|november|december)\b)",
    _I,
)
_NOT_ONE_FACT: Final = re.compile(
    r"^why\b|\bwhy (?:does|do|did|is|are|was)\b|\bhow (?:many|often|long|far|come|did|was the|hard|easy|good|bad)\b|\bhow much (?!(?:is|are|was|were|does|do|did|am|would|should|for|money|will)\b)|\bwho (?:else )?(?:works|worked|lives|lived|speaks|spoke|moved)\b|\bshould (?:i|we) (?!(?:block|put|ping|ask|write|contact|pay|budget|send|use|set|save|keep|expect|visit|mark|reserve)\b)|"
    r"\bwhat (?:does|do|did) (?!i\b)\w+ (?:think|say|like|love|hate|feel|want|need)\b|\bwhat do you think\b|\bany(?:one|body) \b.*\?$|\b(?:before|after|first|originally|used to|previously)\b",
    _I,
)
_MONTH: Final = re.compile(
    r"[, ]*\b(?:(?:back|way back|as|sometime) )?(?:in|during|of|around|for|over|throughout|by) (?:the month of |early |mid-?|late |the (?:start|end|middle) of )?(january|february|march|april|may|june|july|august|september|october|november|december)\b(?! \d)[, ]*"
    r"|\b(january|february|march|april|may|june|july|august|september|october|november|december)(?:'s)\b ",
    _I,
)
_WHEN: Final = re.compile(
    r"\b(?:when|what (?:day|date|time)|which (?:day|date)|on what|the (?:date|day)|date (?:of|for)|day (?:of|for|should|is|was)|calendar|block|dates?|schedule[d]?|how soon|what's the date)\b",
    _I,
)
_PRICE: Final = re.compile(
    r"\b(?:how much|costs?|pric\w+|pay|paying|paid|(?<!in )charg\w+|fees?|rates?|budget|set (?:me|us) back|bill|expens\w+|spend(?:ing)?|owe|what am i paying)\b",
    _I,
)
_WHO: Final = re.compile(
    r"\b(?:who|whom|who's|whose|who'd|assignee|assigned|leader|lead|leads|head|in charge|owner|responsible|person|contact|boss of|name of the (?:person|head|lead|leader|one))\b",
    _I,
)
_TOOLS: Final = re.compile(
    r"\b(?:tools?|toolbox|toolkit|stack|tech(?:nolog(?:y|ies))?|built (?:with|on)|runs? on|us(?:e|es|ing) (?:in|for|on|with)|(?:do|does) [\w' ]+ (?:use|rely on|depend on)|depend\w* on|rel(?:y|ies) on|components?|dependenc\w+|made of|under the hood|powers?|behind|consist\w* of|librar\w+|part of|software|services|systems|integrat\w+)\b",
    _I,
)
_VALUE: Final = re.compile(
    r"\b(?:what|what's|which|value|set to|current|configured|setting|how (?:long|high|big|large|many|is|are)|at what|remind|tell)\b",
    _I,
)
_JOB: Final = re.compile(
    r"\b(?:where (?:does|do|did|am|is|was|'s|were)\b.{0,40}\b(?:work|working|employed|job|employ)|work(?:s|ed|ing)? (?:for|at|these|now)|where [\w' ]+ works|employer|employs|employed|employ|company|firm|workplace|payroll|organi[sz]ation|business|pays (?:me|my|him|her|them|\w+'s)|paycheck|place of work|day job|job at|jobs?)\b",
    _I,
)
_HOME: Final = re.compile(
    r"\b(?:where (?:does|do|did|am|is|was|'s|were)\b.{0,40}\b(?:live|living|based|home|reside|residing|located|settled|call home|staying)|where [\w' ]+ lives|city|town|home|residence|live in|based in|living in|lives|home address|hometown|postcode|visit)\b",
    _I,
)
_SPEAKS: Final = re.compile(r"\b(?:languages?|speaks?|spoke|fluent|tongues?)\b", _I)
_HOBBY: Final = re.compile(
    r"\b(?:hobb(?:y|ies)|free time|spare time|pastimes?|weekends?|am i into|for fun|leisure|interests|off work|time off|outside (?:of )?work|i like doing|unwind|relax)\b",
    _I,
)
_FILLER: Final = words(
    "a an the is are was were be been am do does did has have had can could would will should may i i'm i've i'd me my we our us you your it its it's that's that this these those "
    "who who's whom whose what what's when when's where where's which how and or so ok okay hey hi hello please again now currently current today these days right moment at in on of for to with from by as if "
    "remind tell know say said told remember recall forgot forgotten forget look up check give name list show quick quickly question need want let let's just still ever get got there here one ones any idea "
    "doing place filling fill form writing write card budget debugging put down actually exactly anyway sorry wait help refresh memory surprise thing things by way again present nowadays lately "
    "once more about then also be due go goes going look looking supposed back moment's officially real really day mind between you're not never mentioned mention asked asking wondering anything whats whos"
)
_ROLES: Final = ("attr:assignee", "attr:lead", "attr:owner", "attr:manager")


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose fact, the slots of which any may answer, and the month (1 to 12; 0 for now) that it is asked of.

    `exact`: the question holds nothing beside the subject, the words of such a fact and what questions are made of.
    """

    subject: str
    slots: tuple[str, ...]
    month: int = 0
    exact: bool = False


def month_of(question: str) -> tuple[int, str]:
    """The month that a question about the past names ("in March"), and the question without it."""
    match = _MONTH.search(question)
    if match is None or not re.search(
        r"\b(?:was|were|did|had|used|back|then|led|ran|been|worked|lived)\b", question, _I
    ):
        return 0, question
    rest = f"{question[: match.start()]} {question[match.end() :]}".strip(" ,")
    return MONTHS[(match[1] or match[2]).lower()], rest


def read(question: str) -> Asked | None:
    """What fact a question asks for, or None when it asks for no single kind of fact of a single subject."""
    if len(question) > _CHARACTERS_MAX:
        return None
    month, rest = month_of(question)
    if not _ASKS.search(question) or _NOT_ONE_FACT.search(rest):
        return None
    found = spans.find(rest, _EPOCH, asking=True)
    names = [span for span in found if span.sort is Sort.NAME]
    things = [span for span in found if span.sort in {Sort.THING, Sort.ITEM}]
    choices = [span for span in found if span.sort is Sort.CHOICE]
    if choices:
        slot = choice_slot(choices[0].key)
        return _asked(rest, choices[0], "", (slot,), month) if slot and not names else None
    if things and not names:
        thing = ([span for span in things if span.sort is Sort.ITEM] or things)[-1]
        return _asked(rest, thing, thing.key, _of_thing(f"{rest[: thing.start]} {rest[thing.end :]}"), month)
    if len(names) > 1 or _kin(rest) or (not names and not frames.SPEAKER_JOB.search(rest)):
        return None
    subject = subject_key(names[0].text) if names else ""
    return _asked(rest, names[0] if names else None, subject, _of_person(rest, mine=not names), month)


def _asked(question: str, span: Span | None, subject: str, slots: tuple[str, ...], month: int) -> Asked | None:
    if not slots:
        return None
    rest = question if span is None else f"{question[: span.start]} {question[span.end :]}"
    rest = rest.replace("’", "'").lower().replace("'s ", " ")
    for pattern in _WORDS[slots[0]]:
        rest = pattern.sub(" ", rest)
    left = [word for word in re.findall(r"[a-z][a-z'-]*", rest) if word not in _FILLER]
    return Asked(subject, slots, month, exact=not left)


def _kin(question: str) -> bool:
    return any(re.search(rf"\b(?:my|his|her|their|'s) {word}s?\b", question, _I) for word in _RELATIVES)


_RELATIVES: Final = tuple(sorted(KIN - {"boss", "client"}))


def _of_thing(question: str) -> tuple[str, ...]:
    if _PRICE.search(question):
        return ("costs",)
    if _WHEN.search(question):
        return ("scheduled_at", "due")
    if _WHO.search(question):
        return _ROLES
    if _TOOLS.search(question) and not re.search(r"\b(?:value|set to|setting)\b", question, _I):
        return ("uses",)
    return ("attr:value",) if _VALUE.search(question) else ()


def _of_person(question: str, *, mine: bool) -> tuple[str, ...]:
    if _SPEAKS.search(question):
        return ("speaks",)
    if mine and _HOBBY.search(question):
        return ("hobby", "likes", "plays")
    if _JOB.search(question):
        return ("works_at",)
    if _HOME.search(question):
        return ("lives_in", "location")
    return ()


_TRIGGERS: Final = {
    "works_at": frames.JOB.trigger,
    "lives_in": frames.HOME.trigger,
    "costs": _PRICE,
    "speaks": frames.LANGUAGE.trigger,
    "hobby": _HOBBY,
}


_OF_ROLES: Final = (
    _WHO,
    frames.LEAD.trigger,
    frames.TASK_SAID,
    re.compile(r"\b(?:work|ping|talk to|ask|signature|sign|handed|given|doing|fix|on)\b", _I),
)
_WORDS: Final = defaultdict(
    tuple[re.Pattern[str], ...],
    {
        "works_at": (_JOB, frames.JOB.trigger),
        "lives_in": (_HOME, frames.HOME.trigger),
        "costs": (_PRICE, re.compile(r"\b(?:much|they|month|monthly|year|per|expensive)\b", _I)),
        "scheduled_at": (
            _WHEN,
            re.compile(
                r"\b(?:take place|taking place|tak(?:e|ing)|place|planned|happen\w*|having|have|held|set|save|mark|moved|booked|fixed|starts?|agreed|settle[d]?|due)\b",
                _I,
            ),
        ),
        "attr:value": (
            _VALUE,
            re.compile(
                r"\b(?:set|value|use[ds]?|using|run(?:ning)?|config\w*|level|at|production|prod|configured)\b", _I
            ),
        ),
        "attr:assignee": _OF_ROLES,
        "uses": (_TOOLS, re.compile(r"\b(?:use[ds]?|made|running|all)\b", _I)),
        "speaks": (_SPEAKS, re.compile(r"\b(?:use|write|talk|all)\b", _I)),
        "hobby": (_HOBBY, re.compile(r"\b(?:like|love|enjoy|spend|time|all)\b", _I)),
    },
)


def triggers(slots: tuple[str, ...]) -> re.Pattern[str] | None:
    """The words that a fact in these slots is told with, where there is a list of them."""
    return next((_TRIGGERS[slot] for slot in slots if slot in _TRIGGERS), None)
