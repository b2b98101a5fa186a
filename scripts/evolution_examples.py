"""Messages to train the reader of short messages on: phrases of the first two banks and of scripts/evolution_*.txt, filled in.

Every example knows what kind of fact it speaks of, what it does with it, what is known when it is said, and the role of each token.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter

from umi.bench import phrases
from umi.bench.phrases import TOPICS, Topic
from umi.bench.state_words import MONTH_NAMES, Draw
from umi.limits import GIST_CHARACTERS_MAX
from umi.pipelines.gist import spans
from umi.pipelines.gist.cues import signs
from umi.pipelines.gist.marks import Token, marked, situation, tokens_of, with_known
from umi.pipelines.gist.trained import SLOTS
from umi.pipelines.language.statements import read_statements
from umi.sim.rng import DeterministicRng

HERE = Path(__file__).parent
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
OFF_TOPIC = {"aside", "concluded", "joined"}
KNOWN_SHARE = 0.8  # of the messages about a fact that was stated before, where it was read


@dataclass(frozen=True)
class Example:
    """One message. `phrase` names what it was made of, so that no phrase is on both sides of a split."""

    phrase: str
    text: str
    kind: str
    act: str
    asks: bool
    tokens: tuple[Token, ...]
    marked: tuple[Token, ...]
    roles: tuple[str, ...]
    met: tuple[str, ...] = ()


def lists(path: Path) -> dict[tuple[str, ...], list[str]]:
    """Phrases by the words of the heading they stand under."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    heading: tuple[str, ...] = ()
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and len(line.split()) <= 3:
            heading = tuple(line[2:].split())
        elif line.strip() and not line.startswith("#"):
            found[heading].append(line)
    return found


PHRASES = lists(HERE / "evolution_phrases.txt")
FRAMES = lists(HERE / "evolution_frames.txt")


def expand(template: str, rng: random.Random) -> str:
    """One of the texts that a template with choices stands for."""
    while (match := CHOICE.search(template)) is not None:
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    return re.sub(r" +", " ", template).replace(" ,", ",").replace(" .", ".").strip()


def _long(template: str) -> str:
    return re.sub(r"\{([sonvrxm])\}", lambda match: "{" + SHORT[match[1]] + "}", template)


def own_phrases(topic: str, field: str, count: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Pairs of (template, phrase), up to `count` of each template."""
    for template in PHRASES.get((topic, field), ()):
        for _ in range(min(count, 2 * len(CHOICE.findall(template)) + 1)):
            yield template, _long(expand(template, rng))
    if ("clause", topic) not in FRAMES:
        return
    for template in FRAMES.get((field,), ()):
        for _ in range(count):
            phrase = _framed(template, topic, field, rng)
            if "{s}" in phrase or topic in {"my_job", "my_home"} or field == "resembling":
                yield f"{topic} {template}", _long(phrase[:1].upper() + phrase[1:])


def _framed(template: str, topic: str, field: str, rng: random.Random) -> str:
    phrase = expand(template, rng)
    holds = "{n}" if field in {"corrected", "updated"} else "{v}"
    held = "{o}" if field == "corrected" else "{v}"
    for mark, value in (("{C}", holds), ("{P}", held)):
        phrase = phrase.replace(mark, expand(rng.choice(FRAMES["clause", topic]), rng).replace("{v}", value))
    phrase = phrase.replace("{W}", rng.choice(FRAMES["name", topic]))
    phrase = phrase.replace("{G}", expand(rng.choice(FRAMES["gerund", topic]), rng))
    return phrase.replace("{o}", "{v}") if field == "forgotten" else phrase


def small_words() -> list[str]:
    """Words that stand small in the phrases of the first two banks and of this folder: at the beginning of a sentence they are no names."""
    some = [
        phrase
        for bank in ("first", "second")
        for table in phrases.load(bank).phrases.values()
        for many in table.values()
        for phrase in many
    ]
    some += [line for lists_ in (PHRASES, FRAMES) for lines in lists_.values() for line in lines]
    found: dict[str, None] = {}
    for text in some:
        plain = re.sub(r"\{\w+\}", " @ ", text.replace("’", "'"))
        found.update((match.group().rstrip("'"), None) for match in SMALL.finditer(plain))
    return sorted(word for word in found if len(word) > 1)


def of_bank(name: str, fills: int) -> list[Example]:
    """The examples of a phrase bank."""
    bank = phrases.load(name)
    found: list[Example] = []
    for topic in TOPICS:
        for field, some in bank.phrases[topic.name].items():
            for phrase in some:
                for place in range(fills):
                    rng = random.Random(f"{name} {phrase} {place}")
                    line = rng.choice(phrase.split("\n"))
                    if _is_clear(field, line):
                        found.append(_example(topic, field, phrase, line, rng))
    return found


def of_own(count: int) -> list[Example]:
    """The examples of this folder's phrases."""
    rng = random.Random("own phrases")
    found: list[Example] = []
    for topic in TOPICS:
        for field in (*ROLES, "resembling", "aside", "asked", "asked_then"):
            own = own_phrases(topic.name, field, count, rng)
            found += [
                _example(topic, field, template, phrase, rng) for template, phrase in own if _is_clear(field, phrase)
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
        if len(text) <= GIST_CHARACTERS_MAX and not stated & FACTS:
            tokens = tuple(tokens_of(text, spans.find(text, AT)))
            met = (*situation(rng.choice(sorted(KINDS.values())), (), spans.find(text, AT), frozenset()), *signs(text))
            found.append(
                Example(
                    text,
                    text,
                    "none",
                    "none",
                    asks=False,
                    tokens=tokens,
                    marked=tokens,
                    roles=("0",) * len(tokens),
                    met=met,
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
            "person": draw.person(),
            "town": draw.values(_topic("my_home"), "", 1)[0],
            "firm": draw.values(_topic("my_job"), "", 1)[0],
            "money": draw.values(_topic("price"), "", 1)[0],
            "date": draw.values(_topic("plan"), "", 1)[0],
            "number": str(rng.randint(2, 400)),
        }
        text = expand(template, rng).format_map(names)
        tokens = tuple(tokens_of(text, spans.find(text, AT)))
        asked = spans.find(text, AT, asking=True)
        also = (*situation(rng.choice(sorted(KINDS.values())), (), asked, frozenset()), *signs(text))
        if text.endswith("?"):
            tokens = tuple(tokens_of(text, asked))
        yield Example(template, text, "none", "none", text.endswith("?"), tokens, tokens, ("0",) * len(tokens), also)


def _topic(name: str) -> Topic:
    return next(topic for topic in TOPICS if topic.name == name)


def _example(topic: Topic, field: str, phrase: str, line: str, rng: random.Random) -> Example:
    draw = Draw(DeterministicRng(rng.getrandbits(40)))
    subject = draw.subject(topic)
    old, new, never = draw.values(topic, subject, 3)
    names = {
        "subject": subject,
        "old": old,
        "new": new,
        "value": rng.choice((old, old, new, never)) if field == "resembling" else old,
        "source": draw.person(),
        "other": draw.person() if topic.about == "me" else draw.subject(topic),
        "month": rng.choice(MONTH_NAMES),
    }
    text, places = _filled(line, names)
    asks = field.startswith("asked")
    found = spans.find(text, AT, asking=asks)
    held = [] if asks else _known(topic, field, names, rng)
    known, at = with_known(text, found, held)
    tokens = tuple(tokens_of(text, known))
    act = ACTS.get(field, "none")
    kind = "none" if field in OFF_TOPIC else KINDS[topic.name]
    roles = tuple(_role(token, places, ROLES.get(field, {})) for token in tokens)
    met = (*situation(KINDS[topic.name], held, known, at), *signs(text))
    return Example(phrase, text, kind, act, asks, tuple(tokens_of(text, found)), tuple(marked(tokens, at)), roles, met)


def _known(topic: Topic, field: str, names: Mapping[str, str], rng: random.Random) -> list[str]:
    """What is known of the fact when the message comes: as `settle` knows it, days as ISO dates."""
    if field == "stated":
        held = [names["value"]] if rng.random() < 0.3 else []
    elif field == "claimed":
        held = [names["new"]] if rng.random() < 0.3 else []
    elif field == "added":
        held = [names["new"] + " x"] if rng.random() < 0.3 else []
    else:
        held = [names["old"]] if rng.random() < KNOWN_SHARE else []
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
