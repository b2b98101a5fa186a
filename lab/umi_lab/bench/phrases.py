"""What people say when something changes: the shape of a phrase bank for `umi bench state`, and its check.

A bank is a TOML file beside this module, with one table per topic and one array of phrases per field:

    [their_job]
    stated = ["{subject} works at {value}.", "{subject}'s been with {value} for a while now.", ...]
    updated = ["{subject} left {old} and joined {new}.", ...]

For an author:
- Write what a person would type or say to an assistant: short and long, neat and sloppy, plain statements and things said in
  passing inside other news, with contractions, hedges and small talk. No two phrases of a field should share their frame; think of
  fifteen people, not of fifteen paraphrases. Do not look at how Umi reads sentences, and do not read the other banks.
- `TOPICS` says what each topic is about, who or what fills {subject}, and what a value looks like; `FIELDS` and `LIST_FIELDS` say for
  each field what a phrase has to do, how many are wanted at least, and which {names} it may and must hold.
- Every phrase has to be true and unmistakable to a careful reader with any subject and value put in: names of people of any
  gender ("they", or the name again), values of the kind shown. A phrase may be two or three sentences. It begins with a capital letter or
  a {name}; the first letter is made a capital when it is filled in.
- Time words in a change ("since Monday", "last week") reach back less than two weeks: a statement holds from about when it was said.
- Topics about "me" have no {subject}: the speaker says I and my. Everywhere else {subject} appears in every phrase, save where a field
  says otherwise; pronouns would be ambiguous between the other messages.
- `problems` lists what is missing or malformed: `python -m umi_lab.bench.phrases FILE` writes it out.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any, Final

from umi.errors import InvalidInput

FOLDER: Final = Path(__file__).parent
CHAIN_LENGTH: Final = 3  # conclusions from conclusions, in a `concluded` phrase


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of fact.

    `about` is "me" (the speaker), "person" or "thing". `grows`: several values hold at once, and a new one leaves the others.
    """

    name: str
    about: str
    means: str
    subject: str = ""
    value: str = ""
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A kind of phrase: what it does, how many are wanted, which names it must hold and which it may."""

    name: str
    least: int
    does: str
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    needs_subject: bool = True


TOPICS: Final = (
    Topic("my_job", "me", "the speaker's employer", value="Brightwell Logistics, Nordlicht, a firm's name"),
    Topic("my_home", "me", "the town where the speaker lives", value="Ghent, Osaka"),
    Topic("their_job", "person", "somebody's employer", "Priya, Tomasz: a first name", "Brightwell Logistics"),
    Topic("their_home", "person", "the town where somebody lives", "Priya, Tomasz: a first name", "Ghent, Osaka"),
    Topic("price", "thing", "what something costs", "the gym membership, the office rent", "$39, 1,250 euros, £18"),
    Topic(
        "plan", "thing", "the day of an event", "the offsite, the dentist appointment", "12 June, the 9th of October"
    ),
    Topic("ticket", "thing", "who has a piece of work", "PAY-482, the login bug, ticket 7731", "Priya: a first name"),
    Topic("setting", "thing", "a technical setting", "the request timeout of the billing API", "30 seconds, 8080, off"),
    Topic("lead", "thing", "who leads a team", "the data team, the choir: never 'my'", "Priya: a first name"),
    Topic(
        "choice", "thing", "the speaker's favourite, said as 'my {subject}'", "favourite café, go-to breakfast", "Luna"
    ),
    Topic("my_hobbies", "me", "what the speaker does in free time", value="pottery, rock climbing", grows=True),
    Topic("their_languages", "person", "languages that somebody speaks", "Priya", "Portuguese, Korean", grows=True),
    Topic(
        "tools", "thing", "tools that a project uses", "the website, the billing service", "Redis, Sentry", grows=True
    ),
)

FIELDS: Final = (
    Field("stated", 5, "says the fact, as it holds when it is said", ("value",)),
    Field("asked", 5, "asks for the fact as it is now; no value in it"),
    Field("asked_then", 3, "asks for the fact as it was in a month that is over: 'in {month}'", ("month",)),
    Field("updated", 6, "the world has changed: {new} holds from now on, {old} did until now", ("new",), ("old",)),
    Field("corrected", 5, "what was said before was wrong from the start; {new} is right", ("new",), ("old",)),
    Field(
        "retracted",
        5,
        "it holds no longer and nothing is known to have taken its place: quit with nothing new, moved away and nobody knows "
        "where, cancelled, off sale, unassigned, setting removed, stepped down without successor, no favourite any more",
        (),
        ("old",),
    ),
    Field("forgotten", 4, "asks the assistant to forget that fact, to delete it, not to keep it", ("value",)),
    Field(
        "claimed",
        4,
        "reports what {source} (a first name) says is so; two of these with other sources and values contradict each other, and "
        "neither is to be believed",
        ("source", "value"),
    ),
    Field(
        "detailed",
        4,
        "adds to the fact and leaves it as true as it was: since when, how, why, a reminder",
        (),
        ("value",),
    ),
    Field(
        "concluded",
        2,
        f"an array of {CHAIN_LENGTH} sentences: what an assistant notes as following from the fact, what follows from that, and "
        "what follows from that in turn; none would stand if the fact changed, and none says that anything has changed",
        (),
        ("value",),
    ),
    Field("joined", 2, "what an assistant notes as following from two conclusions about the subject together"),
    Field(
        "resembling",
        8,
        "shares words with the fact or with a change of it and leaves it as it was, whatever {value} is: others' wishes, plans that "
        "came to nothing, hearsay about {other} (another subject of the same kind), news about {value} itself, questions, the past",
        (),
        ("value", "other"),
        needs_subject=False,
    ),
    Field("aside", 6, "says something else about the same subject: other attributes that leave the fact as it was"),
)
LIST_FIELDS: Final = (
    Field("stated", 5, "says that {value} is one of them", ("value",)),
    Field("added", 6, "says that {new} has come to it; the others stay", ("new",)),
    Field("dropped", 4, "says that {old} is none of them any more; the others stay", ("old",)),
    Field("asked", 5, "asks for all of them; no value in it"),
    Field("resembling", 6, "as above", (), ("value", "other"), needs_subject=False),
    Field("aside", 5, "as above"),
)
_BY_NAME: Final = {topic.name: topic for topic in TOPICS}


@dataclass(frozen=True, slots=True)
class Bank:
    """The phrases of one author: topic -> field -> phrases. A `concluded` phrase is three sentences joined by newlines."""

    name: str
    phrases: Mapping[str, Mapping[str, tuple[str, ...]]]

    def of(self, topic: Topic, field: str) -> tuple[str, ...]:
        """The phrases of a topic's field."""
        return self.phrases[topic.name][field]

    def count(self, field: str) -> int:
        """How many phrases of that field all topics have together."""
        return sum(len(fields.get(field, ())) for fields in self.phrases.values())


DEVELOPMENT: Final = "development"  # may be looked at and fitted to
HELD_OUT: Final = "held_out"  # written without sight of how Umi reads; nothing is fitted to it


def path_of(name: str) -> Path:
    """Where a bank is kept: `DEVELOPMENT` and `HELD_OUT` beside this module, any other in the TOML file that is named."""
    return FOLDER / f"phrases_{name}.toml" if name in {DEVELOPMENT, HELD_OUT} else Path(name)


def load(name: str) -> Bank:
    """The bank of that name, or in the file of that name.

    Raises:
        InvalidInput: When there is no such bank, or it is not as it should be.
    """
    path = path_of(name)
    if not path.is_file():
        raise InvalidInput(
            f"there is no phrase bank {name!r}: give {DEVELOPMENT}, {HELD_OUT} or the path of a TOML file"
        )
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    found = problems(tables)
    if found:
        raise InvalidInput(f"{path.name}: {found[0]}; {len(found)} problems in all")
    return Bank(
        path.stem.removeprefix("phrases_"),
        {topic: {key: _joined(value) for key, value in table.items()} for topic, table in tables.items()},
    )


def fill(phrase: str, names: Mapping[str, str]) -> str:
    """The phrase with its names filled in and a capital letter in front."""
    text = phrase.format_map(names)
    return text[:1].upper() + text[1:]


def problems(tables: Mapping[str, Any]) -> list[str]:
    """What is wrong with a bank, in words; empty when nothing is."""
    found = [f"[{name}] is no topic" for name in tables if name not in _BY_NAME]
    for topic in TOPICS:
        table = tables.get(topic.name, {})
        fields = LIST_FIELDS if topic.grows else FIELDS
        known = {field.name for field in fields}
        found += [f"[{topic.name}] {name} is no field" for name in table if name not in known]
        for field in fields:
            found += _problems_of(topic, field, table.get(field.name, []))
    return found


def _problems_of(topic: Topic, field: Field, phrases: Sequence[Any]) -> Iterator[str]:
    where = f"[{topic.name}] {field.name}"
    if len(phrases) < field.least:
        yield f"{where}: {len(phrases)} phrases, {field.least} wanted"
    seen: dict[str, None] = {}
    for phrase in phrases:
        sentences = phrase if field.name == "concluded" else [phrase]
        if field.name == "concluded" and (not isinstance(phrase, list) or len(phrase) != CHAIN_LENGTH):
            yield f"{where}: {phrase!r} is not {CHAIN_LENGTH} sentences"
            continue
        for sentence in sentences:
            yield from (f"{where}: {sentence!r} {what}" for what in _faults(topic, field, sentence))
            if sentence in seen:
                yield f"{where}: {sentence!r} is there twice"
            seen[sentence] = None


def _faults(topic: Topic, field: Field, sentence: str) -> Iterator[str]:
    try:
        names = [name for _, name, _, _ in Formatter().parse(sentence) if name is not None]
    except ValueError as error:
        yield f"cannot be read: {error}"
        return
    subject = () if topic.about == "me" else ("subject",)
    must = (*field.must, *(subject if field.needs_subject else ()))
    yield from (f"lacks {{{name}}}" for name in must if name not in names)
    yield from (f"may not hold {{{name}}}" for name in names if name not in (*must, *field.may, *subject))
    if not sentence.strip() or "\n" in sentence:
        yield "is blank or has more than one line"


def _joined(phrases: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    return tuple(phrase if isinstance(phrase, str) else "\n".join(phrase) for phrase in phrases)


def main(arguments: Sequence[str]) -> int:
    """Write out what is wrong with the TOML file that is named; 1 when anything is."""
    found = problems(tomllib.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    sys.stdout.write("".join(f"{line}\n" for line in found) or "nothing is wrong\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
