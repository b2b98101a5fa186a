"""Messages to train the reader of short messages on: phrases of the first two banks and of lab/tools/evolution_*.txt, filled in.

Every example knows what kind of fact it speaks of, what it does with it, what is known when it is said, and the role of each token.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter

from umi._reading.grammar.statements import read_statements
from umi._reading.short_messages import spans
from umi._reading.short_messages.context import SLOTS
from umi._reading.short_messages.features import Taking, Token, take, tokens_of, with_known
from umi._reading.short_messages.spans import Sort
from umi.limits import SHORT_MESSAGE_CHARACTERS_MAX
from umi.sim.rng import DeterministicRng
from umi_lab.bench.phrases import DEVELOPMENT, TOPICS, Bank, Topic, load
from umi_lab.bench.state_words import MONTH_NAMES, Draw

HERE = Path(__file__).parent
VOICES = HERE / "voices"
BANKS = HERE / "banks"
AT = datetime(2026, 5, 1, tzinfo=UTC)
SHORT = {"s": "subject", "o": "old", "n": "new", "v": "value", "r": "source", "x": "other", "m": "month"}
CHOICE = re.compile(r"\[([^\[\]]*)\]")
KINDS = {
    "my_job": "job", "their_job": "job", "my_home": "home", "their_home": "home", "price": "price", "plan": "plan", "ticket": "assignee",
    "setting": "setting", "lead": "lead", "choice": "choice", "my_hobbies": "hobby", "their_languages": "language", "tools": "tool",
}  # fmt: skip
ACTS = {
    "stated": "state", "updated": "update", "corrected": "correct", "retracted": "retract", "dropped": "retract", "forgotten": "forget",
    "claimed": "claim", "detailed": "detail", "added": "add",
}  # fmt: skip
ROLES = {
    "stated": {"subject": "S", "value": "V"},
    "detailed": {"subject": "S", "value": "V"},
    "claimed": {"subject": "S", "value": "V", "source": "R"},
    "forgotten": {"subject": "S", "value": "O"},
    "updated": {"subject": "S", "new": "V", "old": "O"},
    "corrected": {"subject": "S", "new": "V", "old": "O"},
    "retracted": {"subject": "S", "old": "O"},
    "dropped": {"subject": "S", "old": "O"},
    "added": {"subject": "S", "new": "V"},
}
SMALL = re.compile(r"(?<![A-Za-z@'-])[a-z][a-z'-]+")
FIRST_PERSON = re.compile(r"\b(?:I|me|my|us|our|we)\b")
FACTS = {slot for slots in SLOTS.values() for slot in slots}
SUBJECTS = {
    "job": (Sort.NAME,), "home": (Sort.NAME,), "language": (Sort.NAME,), "choice": (Sort.CHOICE,),
    **dict.fromkeys(("price", "plan", "assignee", "setting", "lead", "tool"), (Sort.THING, Sort.ITEM)),
}  # fmt: skip
OTHERS_SHARE = 0.15  # of the messages are seen once more, taken to be about somebody else
SPEAKER_SHARE = 0.4  # of those about a person, taken to be about whoever says it
OTHERS_KNOWN_SHARE = 0.4  # of whom such a fact is known
OFF_TOPIC = {"aside", "concluded", "joined"}
SLOPPY = 0.08
SMALL_TALK = 0.17  # of the messages have some before, and of the messages have some after
WIDE = 0.5  # of the examples are filled with names of `evolution_names.txt`
KNOWN_SHARE = 0.8  # of the messages about a fact that was stated before, where it was read


@dataclass(frozen=True)
class Example:
    """One message. `phrase` names what it was made of; `taking` is it taken to speak of the fact that it is about; `others` the same, taken
    to be about whom it says no such thing of; `roles` are those of `taking`'s tokens."""

    phrase: str
    text: str
    kind: str
    act: str
    asks: bool
    tokens: tuple[Token, ...]
    taking: Taking
    roles: tuple[str, ...]
    others: tuple[Taking, ...] = ()


def lists(*paths: Path) -> dict[tuple[str, ...], list[str]]:
    """Phrases by the words of the heading they stand under."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    heading: tuple[str, ...] = ()
    for line in [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]:
        if line.startswith("# ") and len(line.split()) <= 3:
            heading = tuple(line[2:].split())
        elif line.strip() and not line.startswith("#"):
            found[heading].append(line)
    return found


PHRASES = lists(HERE / "evolution_phrases.txt", HERE / "evolution_sayings.txt")
FRAMES = lists(HERE / "evolution_frames.txt")


NAMES = {
    sort: [name.strip() for line in lines_ for name in line.split(",")]
    for (sort,), lines_ in lists(HERE / "evolution_names.txt").items()
}
NAMED_BY = {
    "job": "firm",
    "home": "town",
    "tool": "tool",
    "assignee": "person",
    "lead": "person",
}  # the values of a kind
CALLED_BY = {
    "price": "price",
    "plan": "plan",
    "ticket": "ticket",
    "setting": "setting",
    "lead": "lead",
    "tools": "list",
}


def expand(template: str, rng: random.Random) -> str:
    """One of the texts that a template with choices stands for."""
    while (match := CHOICE.search(template)) is not None:
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    return re.sub(r" +", " ", template).replace(" ,", ",").replace(" .", ".").strip()


def around(phrase: str, rng: random.Random) -> str:
    """The phrase, one time in three with small talk before or after it."""
    phrase = sloppy(phrase, rng)
    before = rng.choice(PHRASES["around", "before"]) + " " if rng.random() < SMALL_TALK else ""
    after = " " + rng.choice(PHRASES["around", "after"]) if rng.random() < SMALL_TALK else ""
    if before and before[-2] not in ".!?:" and phrase[:1] != "{" and phrase[:2] not in {"I ", "I'"}:
        phrase = phrase[:1].lower() + phrase[1:]
    return before + phrase + after


def sloppy(phrase: str, rng: random.Random) -> str:
    """The phrase, one time in twelve without the apostrophes of contractions, and in small letters."""
    if rng.random() > SLOPPY:
        return phrase
    plain = re.sub(r"(?<=[a-z])'(?=(?:s|m|re|ve|t|d|ll) )", "", phrase)
    return re.sub(r"\bI\b", "i", plain[:1].lower() + plain[1:])


def _long(template: str) -> str:
    return re.sub(r"\{([sonvrxm])\}", lambda match: "{" + SHORT[match[1]] + "}", template)


def own_phrases(topic: str, field: str, count: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Pairs of (template, phrase), up to `count` of each template."""
    for template in PHRASES.get((topic, field), ()):
        for _ in range(min(count, 2 * len(CHOICE.findall(template)) + 1)):
            yield template, _long(expand(template, rng))
    if ("clause", topic) not in FRAMES:
        return
    for template in FRAMES.get((field,), ()) if (field, topic) != ("aside", "choice") else ():
        for _ in range(count):
            phrase = _framed(template, topic, field, rng)
            mine = topic in {"my_job", "my_home"}
            if ("{s}" in phrase) != mine or (field == "resembling" and not mine):
                yield f"{topic} {template}", _long(phrase[:1].upper() + phrase[1:])


def _framed(template: str, topic: str, field: str, rng: random.Random) -> str:
    phrase = expand(template, rng)
    holds = "{n}" if field in {"corrected", "updated"} else "{v}"
    held = "{o}" if field in {"corrected", "retracted"} else "{v}"
    for mark, value in (("{C}", holds), ("{P}", held)):
        phrase = phrase.replace(mark, expand(rng.choice(FRAMES["clause", topic]), rng).replace("{v}", value))
    phrase = phrase.replace("{W}", rng.choice(FRAMES["name", topic]))
    phrase = phrase.replace("{G}", expand(rng.choice(FRAMES["gerund", topic]), rng))
    return phrase.replace("{o}", "{v}") if field == "forgotten" else phrase


def small_words(banks: Sequence[Bank]) -> list[str]:
    """Words that stand small in the phrases of the banks and of this folder: at the beginning of a sentence they are no names."""
    some = [phrase for bank in banks for table in bank.phrases.values() for many in table.values() for phrase in many]
    some += [line for lists_ in (PHRASES, FRAMES) for lines in lists_.values() for line in lines]
    found: dict[str, None] = {}
    for text in some:
        plain = re.sub(r"\{\w+\}", " @ ", text.replace("’", "'"))
        found.update((match.group().rstrip("'"), None) for match in SMALL.finditer(plain))
    return sorted(word for word in found if len(word) > 1)


def told_banks() -> list[Bank]:
    """The bank for development, and those that were held out once and have been looked at since."""
    return [load(DEVELOPMENT), *(load(str(path)) for path in sorted(BANKS.glob("*.toml")))]


def voices() -> list[Bank]:
    """The phrases of this folder that have the shape of a bank, by those who speak."""
    tables = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(VOICES.glob("*.toml"))}
    return [
        Bank(
            name,
            {
                topic: {field: [_line(one) for one in some] for field, some in table.items()}
                for topic, table in tables_.items()
            },
        )
        for name, tables_ in tables.items()
    ]


def _line(phrase: str | list[str]) -> str:
    return phrase if isinstance(phrase, str) else "\n".join(phrase)


def of_bank(bank: Bank, fills: int) -> list[Example]:
    """The examples of a phrase bank."""
    found: list[Example] = []
    for topic in TOPICS:
        for field, some in bank.phrases.get(topic.name, {}).items():
            for phrase in some:
                for place in range(fills):
                    rng = random.Random(f"{bank.name} {phrase} {place}")
                    line = rng.choice(phrase.split("\n"))
                    if _is_clear(field, line):
                        found.append(_example(topic, field, phrase, around(line, rng) if place else line, rng))
    return found


def of_own(count: int) -> list[Example]:
    """The examples of this folder's phrases."""
    rng = random.Random("own phrases")
    found: list[Example] = []
    for topic in TOPICS:
        for field in (*ROLES, "resembling", "aside", "asked", "asked_then"):
            own = own_phrases(topic.name, field, count, rng)
            found += [
                _example(topic, field, template, around(phrase, rng), rng)
                for template, phrase in own
                if _is_clear(field, phrase)
            ]
    for template in (*PHRASES["chat", "none"], *PHRASES["question", "none"]):
        found += _chat(template, 2 * count, rng)
    return found


def of_chats(path: Path, count: int) -> list[Example]:
    """Short turns that users of LongMemEval's development half say: chat in which, as far as rules can tell, no such fact is stated.

    Args:
        path: longmemeval_oracle.json (MIT licence).
        count: How many at most; those of knowledge updates are left out.
    """
    turns: dict[str, None] = {}
    for item in json.loads(path.read_text(encoding="utf-8")):
        if item["question_type"] != "knowledge-update":
            turns.update(
                (turn["content"], None) for one in item["haystack_sessions"] for turn in one if turn["role"] == "user"
            )
    rng = random.Random("chats")
    found = []
    for text in rng.sample(list(turns), len(turns)):
        stated = {one.slot for one in read_statements(text, speaker="user", at=AT)}
        if len(text) <= SHORT_MESSAGE_CHARACTERS_MAX and not stated & FACTS:
            tokens = tuple(tokens_of(text, spans.find(text, AT)))
            taking = take(text, spans.find(text, AT), rng.choice(sorted(KINDS.values())), -1, ())
            found.append(
                Example(
                    text, text, "none", "none", asks=False, tokens=tokens, taking=taking, roles=("0",) * len(tokens)
                )
            )
    return found[:count]


def _is_clear(field: str, phrase: str) -> bool:
    """Whether it can be told what a phrase does: "Priya quit" leaves Tomasz where he was, and is a change of Priya's."""
    return (
        field != "resembling"
        or "{other}" not in phrase
        or "{subject}" in phrase
        or FIRST_PERSON.search(phrase) is not None
    )


def _chat(template: str, count: int, rng: random.Random) -> Iterator[Example]:
    for _ in range(count):
        draw = Draw(DeterministicRng(rng.getrandbits(40)))
        names = {
            "person": draw.person() if rng.random() < WIDE else rng.choice(NAMES["person"]),
            "town": draw.values(_topic("my_home"), "", 1)[0] if rng.random() < WIDE else rng.choice(NAMES["town"]),
            "firm": draw.values(_topic("my_job"), "", 1)[0] if rng.random() < WIDE else rng.choice(NAMES["firm"]),
            "money": draw.values(_topic("price"), "", 1)[0],
            "date": draw.values(_topic("plan"), "", 1)[0],
            "number": str(rng.randint(2, 400)),
        }
        text = expand(template, rng).format_map(names)
        asks = text.endswith("?")
        found = spans.find(text, AT, asking=asks)
        tokens = tuple(tokens_of(text, found))
        taking = take(text, found, rng.choice(sorted(KINDS.values())), -1, ())
        yield Example(template, text, "none", "none", asks, tokens, taking, ("0",) * len(tokens))


def _topic(name: str) -> Topic:
    return next(topic for topic in TOPICS if topic.name == name)


def _example(topic: Topic, field: str, phrase: str, line: str, rng: random.Random) -> Example:
    draw = Draw(DeterministicRng(rng.getrandbits(40)))
    subject = draw.subject(topic)
    old, new, never = draw.values(topic, subject, 3)
    source, other = draw.person(), draw.person() if topic.about == "me" else draw.subject(topic)
    if rng.random() < WIDE:
        people = iter(rng.sample(NAMES["person"], 8))
        source = next(people)
        if topic.about != "thing":
            subject, other = subject and next(people), next(people)
        elif topic.name in CALLED_BY:
            subject, other = rng.sample(NAMES[CALLED_BY[topic.name]], 2)
        if (sort := NAMED_BY.get(KINDS[topic.name])) is not None:
            old, new, never = (next(people) if sort == "person" else one for one in rng.sample(NAMES[sort], 3))
    names = {
        "subject": subject,
        "old": old,
        "new": new,
        "value": rng.choice((old, old, new, never)) if field == "resembling" else old,
        "never": never,
        "source": source,
        "other": other,
        "month": rng.choice(MONTH_NAMES),
    }
    text, places = _filled(line, names)
    asks = field.startswith("asked")
    found = spans.find(text, AT, asking=asks)
    held = [] if asks else _known(topic, field, names, rng)
    kind = "none" if field in OFF_TOPIC else KINDS[topic.name]
    known, _ = with_known(text, found, held)
    taking = take(text, found, KINDS[topic.name], _subject_at(topic, known, places, rng), held)
    roles = tuple(_role(token, places, ROLES.get(field, {})) for token in taking.tokens)
    others = () if asks else tuple(_of_others(topic, text, found, places, names, rng))
    tokens = tuple(tokens_of(text, found))
    return Example(phrase, text, kind, ACTS.get(field, "none"), asks, tokens, taking, roles, others)


def _subject_at(
    topic: Topic, found: Sequence[spans.Span], places: Sequence[tuple[str, int, int]], rng: random.Random
) -> int:
    """Where the one is named whose fact it is; where nobody is, somebody whose it is not."""
    if topic.about == "me":
        return -1
    at = next(((start, end) for name, start, end in places if name == "subject"), None)
    if at is not None:
        return next((span.start for span in found if span.start < at[1] and at[0] < span.end), -1)
    named = [span.start for span in found if span.sort in SUBJECTS.get(KINDS[topic.name], ())]
    return rng.choice(named) if named else -1


def _of_others(
    topic: Topic,
    text: str,
    found: Sequence[spans.Span],
    places: Sequence[tuple[str, int, int]],
    names: Mapping[str, str],
    rng: random.Random,
) -> Iterator[Taking]:
    """The same message taken to be about whoever it says no such fact of."""
    kind = KINDS[topic.name]
    taken = [(start, end) for name, start, end in places if name in {"subject", "other"}]
    wrong = [
        span.start
        for span in found
        if span.sort in SUBJECTS.get(kind, ())
        and not any(span.start < end and start < span.end for start, end in taken)
    ]
    chosen = [rng.choice(wrong)] if wrong and rng.random() < OTHERS_SHARE else []
    if topic.about == "person" and kind != "language" and rng.random() < SPEAKER_SHARE:
        chosen.append(-1)
    for start in chosen:
        held = [names[rng.choice(("old", "new", "value"))]] if rng.random() < OTHERS_KNOWN_SHARE else []
        yield take(text, found, kind, start, held)


def _known(topic: Topic, field: str, names: Mapping[str, str], rng: random.Random) -> list[str]:
    """What is known of the fact when the message comes: as `settle` knows it, days as ISO dates."""
    drawn = rng.random()
    if field in {"stated", "claimed"}:  # the same again, another value without a word of change, or nothing
        same = names["value"] if field == "stated" else names["new"]
        held = [same] if drawn < 0.3 else [names["never"]] if drawn < 0.5 else []
    elif field == "added":
        held = [names["new"] + " x"] if drawn < 0.3 else []
    else:  # what it ends; something else, where a change was missed; or nothing
        held = [names["old"]] if drawn < KNOWN_SHARE else [names["never"]] if drawn < 0.9 else []
    if topic.name != "plan":
        return held
    return [span.text for value in held for span in spans.find(value, AT)]


def _filled(phrase: str, names: Mapping[str, str]) -> tuple[str, list[tuple[str, int, int]]]:
    """The phrase filled in, and where each name went: (name, start, end)."""
    text, places = "", []
    for literal, name, _, _ in Formatter().parse(phrase):
        text += literal
        if name is not None:
            places.append((name, len(text), len(text) + len(names[name])))
            text += names[name]
    return text[:1].upper() + text[1:], places


def _role(token: Token, places: Sequence[tuple[str, int, int]], roles: Mapping[str, str]) -> str:
    for name, start, end in places:
        if token.start < end and start < token.end and name in roles:
            return roles[name]
    return "0"
