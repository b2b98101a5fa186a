"""Made-up talk with a realistic vocabulary: the same seed gives the same texts on every machine."""

# ruff: noqa: SIM905 - word lists are easier to read and to extend as text

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from umi.types import Message

T = TypeVar("T")

_FIRST = (
    "Alice Ben Chloe Dmitri Elena Farid Grace Hana Ivan Jonas Keiko Leo Maya Nadia Oscar Priya Quentin Rosa Samir Tara "
    "Umar Vera Wanda Xavier Yusuf Zoe Anton Bianca Carlos Daphne Emil Freya Gustav Helen Ines Jamal Karim Lucia Marta"
).split()
_LAST = (
    "Adler Barros Castellano Dvorak Eriksson Fontaine Garcia Hoffmann Ibrahim Jansen Kowalski Lindqvist Moreau Nakamura "
    "Okafor Petrov Quiroga Rossi Silva Tanaka Ueda Vasquez Weber Xu Yilmaz Zhang Abbott Brennan Chowdhury Delgado"
).split()
_PLACES = (
    "Lisbon Porto Bergen Kraków Leipzig Utrecht Ghent Bologna Valencia Toulouse Graz Basel Tartu Aarhus Galway Leeds "
    "Bristol Seattle Denver Austin Toronto Montréal Oaxaca Bogotá Lima Santiago Nairobi Accra Osaka Kyoto Busan Taipei"
).split()
_FIRMS = (
    "Northwind,Bluebird Analytics,Harbor Foods,Cedar Robotics,Lumen Press,Quarry Labs,Tideline,Oakridge Clinic,"
    "Summit Rail,Papertrail,Fernway Energy,Kite & Sons,Marlow Studios,Orchard Bank,Silverline Transit,Vantage Maps"
).split(",")
_THINGS = (
    "the garden fence,a second-hand bicycle,the quarterly report,my grandmother's recipe,the kitchen tiles,a pottery class,"
    "the school concert,our tax return,the ferry timetable,a broken laptop,the rehearsal room,a jar of honey,"
    "the translation,an old camera,the choir,a wool blanket,the allotment,the piano,the guest list,a long novel,"
    "the insurance claim,the hiking boots,the vegetable stall,a sourdough starter,the physics exam,the night train"
).split(",")
_DEEDS = (
    "finished,started,postponed,talked about,paid for,asked about,forgot,cleaned up,showed me,sold,borrowed,"
    "looked after,wrote down,picked up,complained about,brought back,gave away,planned"
).split(",")
_WHEN = (
    "this morning,last night,on Tuesday,over the weekend,before lunch,after the storm,during the holidays,"
    "at the last minute,in the end,two weeks ago,yesterday afternoon,on the way home"
).split(",")
_FEELING = (
    "it went better than I expected,nobody was really surprised,we laughed about it for ages,it cost more than planned,"
    "I would do it again,the children loved every minute,it still needs some work,I am quite proud of it,"
    "the neighbours helped a lot,it rained the whole time,we were home before dark,that was a relief"
).split(",")
_FILLER = (
    "and honestly,so far,as usual,for once,to be fair,by the way,all in all,at least,of course,in any case,"
    "more or less,one way or another"
).split(",")
_FACTS = (
    "{name} works at {firm} in {place}",
    "{name} moved to {place}",
    "{name} likes {thing}",
    "{name} is visiting {place}",
    "{name} left {firm}",
)
_TALK = "{name} {deed} {thing} {when}"
_QUESTIONS = (
    "Where does {name} work?",
    "Who {deed} {thing}?",
    "What happened to {thing} {when}?",
    "Who was in {place} with {name}?",
    "Did anyone from {firm} mention {thing}?",
    "When did {name} go to {place}?",
)
_SYLLABLES = "bla dre fli gno hux jup kwi lorb mip nazz ost plim quar riff skoo thren ulp vost wib xan yub zorg".split()
_KEYS = "asdf qwer zxcv uiop hjkl bnm dfgh wert poiu lkjh mnbv ghjk tyui vbnm erty".split()
_BEASTS = "crocodile,glass giraffe,tame volcano,brass octopus,invisible horse,second submarine,paper dragon".split(",")
_REALMS = "the moon base,my underwater castle,the kingdom of spoons,the third volcano,my space elevator".split(",")
_NONSENSE = (
    "{keys} {keys} {keys}",
    "{keys} {word} {keys} {word}",
    "What is the {word} of a {word}?",
    "How do I {word} the {word} before it can {word}?",
    "Why did the {word} {word} its {word}?",
    "Which {word} has the most {word}?",
    "When did my {beast} conquer {realm}?",
    "How much does my {beast} weigh in {word}s?",
    "Who taught my {beast} to sing in {realm}?",
    "What is the password of {realm}?",
)
_FACT_SHARE_PERCENT = 15
_SESSION_TURNS_COUNT = 24
_SPEAKERS_PER_SESSION = 2
_START = datetime(2024, 1, 1, 8, tzinfo=UTC)


class _Draws:
    """An endless supply of numbers that only the seed decides."""

    def __init__(self, *seed: object) -> None:
        self._seed = repr(seed).encode()
        self._round = 0
        self._numbers: list[int] = []

    def below(self, bound: int) -> int:
        """A number in 0..bound-1."""
        if not self._numbers:
            digest = hashlib.sha256(self._seed + self._round.to_bytes(8, "big")).digest()
            self._numbers = [int.from_bytes(digest[at : at + 4], "big") for at in range(0, 32, 4)]
            self._round += 1
        return self._numbers.pop() % bound

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.below(len(choices))]


def _filled(pattern: str, draws: _Draws) -> str:
    return pattern.format(
        name=f"{draws.pick(_FIRST)} {draws.pick(_LAST)}",
        firm=draws.pick(_FIRMS),
        place=draws.pick(_PLACES),
        thing=draws.pick(_THINGS),
        deed=draws.pick(_DEEDS),
        when=draws.pick(_WHEN),
    )


def sentence(seed: int, index: int, words: int) -> str:
    """One sentence of exactly `words` words (at least 8): some state a fact, most are talk."""
    draws = _Draws("sentence", seed, index)
    fact = draws.below(100) < _FACT_SHARE_PERCENT
    parts = _filled(draws.pick(_FACTS) if fact else _TALK, draws).split()
    while len(parts) < words:
        parts[-1] += ","
        parts += f"{draws.pick(_FILLER)} {draws.pick(_FEELING)}".split()
    return " ".join(parts[:words]).rstrip(",") + "."


def question(seed: int, index: int) -> str:
    """One question in natural language about that talk."""
    draws = _Draws("question", seed, index)
    return _filled(draws.pick(_QUESTIONS), draws)


def nonsense(seed: str, index: int) -> str:
    """One question that no store answers: keys struck at random, invented words, or what nobody has."""
    draws = _Draws("nonsense", seed, index)
    words = {"word": lambda: "".join(draws.pick(_SYLLABLES) for _ in range(2 + draws.below(2)))}
    choices = {"keys": _KEYS, "beast": _BEASTS, "realm": _REALMS}
    makers = words | {name: lambda given=given: draws.pick(given) for name, given in choices.items()}
    return re.sub(r"\{(\w+)\}", lambda hole: makers[hole[1]](), draws.pick(_NONSENSE))


def pick(seed: str, index: int, choices: Sequence[T]) -> T:
    """One of the choices, which only the seed and the index decide."""
    return _Draws("pick", seed, index).pick(choices)


def below(seed: str, index: int, bound: int) -> int:
    """A number in 0..bound-1, which only the seed and the index decide."""
    return _Draws("below", seed, index).below(bound)


def turns(seed: int, count: int, words: int) -> Iterator[Message]:
    """A conversation of `count` turns of `words` words, in sessions of two speakers, with times and ids."""
    for index in range(count):
        session = index // _SESSION_TURNS_COUNT
        draws = _Draws("speakers", seed, session)
        speakers = [draws.pick(_FIRST) for _ in range(_SPEAKERS_PER_SESSION)]
        yield Message(
            content=sentence(seed, index, words),
            speaker=speakers[index % _SPEAKERS_PER_SESSION],
            session=f"session-{seed}-{session}",
            at=_START + timedelta(minutes=7 * index),
            id=f"turn-{seed}-{index}",
        )
