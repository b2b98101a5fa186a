"""Generate the plan of a world from a seed: stories about people, interleaved, with restarts and power cuts in between.

A story is a short sequence of steps about one person, for which the oracle knows the right state at every step. A world
interleaves several stories, keeping each one's order, so that stories meet only where they must not affect each other
(caches, locks, recovery, namespaces). Steps refer to others by number and are skipped when those are missing. So every
subset of a plan is a plan, which is what makes failures shrinkable. New draws use `rng.fork(name)`: they leave the
draws of earlier features as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from umi.sim.faults import FaultConfig, FaultType
from umi.sim.rng import DeterministicRng
from umi_lab.worlds import thing_stories
from umi_lab.worlds.expiring_story import passing_story
from umi_lab.worlds.leaving_story import Cast, leaving_story
from umi_lab.worlds.mixing import interleave
from umi_lab.worlds.origins_story import origins_story
from umi_lab.worlds.parts_story import parts_story
from umi_lab.worlds.retelling_story import retelling_story
from umi_lab.worlds.sayings import COUNTED, COUNTS, HARMLESS, IN_PASSING
from umi_lab.worlds.steps import SPACES, Kind, Plan, Step

PEOPLE: Final = (
    "Alice Bea Carl Dora Emil Fay Gus Hana Ida Jan Kim Lars Mona Nils Oda Pia Rolf Siri Tore Una Vera Wim Yara Zoe".split()  # noqa: SIM905
)
GUESTS: Final[dict[str, str]] = dict(
    zip(
        PEOPLE,
        "Anouk Bram Cleo Dirk Edda Falk Gerd Hugo Ines Jost Kaja Levi Maud Nele Otis Paco Quin Rune Saga Thea Ugo Veit Wies Xeno".split(),  # noqa: SIM905
        strict=True,
    )
)  # the second person in the stories of one person; must stay when that person is erased
HIDEOUTS: Final = "Zembla Ruritania Freedonia Syldavia Borduria Grustark Laputa Utopia".split()  # noqa: SIM905 - places that only deletable texts name
PLACES: Final = ("Lisbon", "Bergen", "Graz", "Lima", "Osaka", "Porto", "Tartu", "Galway")
FIRMS: Final = ("Acme", "Bolt", "Cargo", "Globex", "Initech", "Umbra", "Northwind", "Tideline")
PASTIMES: Final = ("hiking", "chess", "sailing", "opera", "baking", "karate")
SERVICES: Final = ("billing", "mailer")  # what facts are set of
FACTS: Final = ("database", "owner")
FACT_VALUES: Final = ("alpha", "beta", "gamma")
TALK: Final = ("the ferry", "a wool blanket", "the quarterly report", "an old camera", "the choir", "a jar of honey")

# By slot: texts that state a value, the values, and the question for it.
SLOTS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]] = {
    "works_at": (("{who} works at {what}.", "{who} now works at {what}."), FIRMS, "Where does {who} work?"),
    "lives_in": (("{who} lives in {what}.", "{who} moved to {what}."), PLACES, "Where does {who} live?"),
    "email": (
        ("{who}'s email is {what}.", "{who}'s email is now {what}."),
        tuple(f"{name}@example.org" for name in ("ada", "bix", "cyd", "dot", "elf")),
        "What is {who}'s email?",
    ),
}

_LEAVERS: Final = Cast(PEOPLE, PLACES, HIDEOUTS, {slot: values for slot, (_, values, _) in SLOTS.items()})


class _Teller:
    """Creates steps with new numbers and days."""

    def __init__(self, rng: DeterministicRng) -> None:
        self.rng = rng
        self._number = 0
        # Every day is used once, so that no two statements have the same time.
        self._days = rng.shuffled(range(1, 2_000))

    def day(self) -> int:
        return next(self._days)

    def step(self, kind: Kind, **fields: object) -> Step:
        self._number += 1
        return Step(self._number, kind, **fields)  # type: ignore[arg-type]

    def say(self, space: str, who: str, slot: str, value: str, *, day: int | None = None, phrase: int = 0) -> Step:
        texts = SLOTS[slot][0]
        text = texts[phrase % len(texts)].format(who=who, what=value)
        return self.step(
            Kind.SAY, space=space, who=who, slot=slot, value=value, text=text, day=self.day() if day is None else day
        )

    def ask(self, space: str, who: str, slot: str) -> Step:
        return self.step(Kind.ASK, space=space, who=who, slot=slot, text=SLOTS[slot][2].format(who=who))


# The installed model adapters. Without them a world's model is asked directly, so a seed's world depends on the installed extras.
ADAPTERS: Final = tuple(name for name in ("anthropic", "openai") if find_spec(name) is not None)

Story = Callable[[_Teller, str, str], list[Step]]


def _changes(teller: _Teller, space: str, who: str) -> list[Step]:
    """One slot with several values, stated in any order of time."""
    slot = teller.rng.choice(sorted(SLOTS))
    values = list(SLOTS[slot][1])
    told = [
        teller.say(space, who, slot, teller.rng.choice(values), phrase=teller.rng.next_int(0, 1))
        for _ in range(teller.rng.next_int(2, 4))
    ]
    if teller.rng.chance(0.3):  # the same words again, later: a new statement, not a repetition
        again = teller.step(Kind.SAY)
        told.append(replace(told[-1], number=again.number, day=told[-1].day + 2_000))
    return [*told[:2], teller.ask(space, who, slot), *told[2:], teller.ask(space, who, slot)]


def _in_passing(teller: _Teller, space: str, who: str) -> list[Step]:
    """A change mentioned in passing, and a text that resembles one and changes nothing."""
    slot = teller.rng.choice(sorted(IN_PASSING))
    first, second, third = sorted(teller.day() for _ in range(3))
    values = list(SLOTS[slot][1])
    teller.rng.shuffle(values)
    text = teller.rng.choice(IN_PASSING[slot]).format(who=who, what=values[1])
    changed = replace(teller.say(space, who, slot, values[1], day=second), text=text)
    resembling = HARMLESS[slot].format(who=who, what=values[2])
    return [
        teller.say(space, who, slot, values[0], day=first),
        changed,
        teller.ask(space, who, slot),
        teller.step(Kind.SAY, space=space, who=who, text=resembling, day=third),
        teller.ask(space, who, slot),
    ]


def _change_undone(teller: _Teller, space: str, who: str) -> list[Step]:
    """A change that is undone."""
    first, second = sorted((teller.day(), teller.day()))
    old, new = _two(teller, FIRMS)
    before = teller.say(space, who, "works_at", old, day=first)
    after = teller.say(space, who, "works_at", new, day=second, phrase=1)
    undo = teller.step(Kind.UNDO, space=space, who=who, refers=(after.number,))
    return [before, after, teller.ask(space, who, "works_at"), undo, teller.ask(space, who, "works_at")]


def _middle_undone(teller: _Teller, space: str, who: str) -> list[Step]:
    """A chain of three whose middle step is undone: the first must not hold again."""
    days = sorted(teller.day() for _ in range(3))
    values = list(PLACES)
    teller.rng.shuffle(values)
    told = [
        teller.say(space, who, "lives_in", value, day=day, phrase=1) for value, day in zip(values, days, strict=False)
    ]
    undo = teller.step(Kind.UNDO, space=space, who=who, refers=(told[1].number,))
    return [*told, undo, teller.ask(space, who, "lives_in")]


def _dispute(teller: _Teller, space: str, who: str) -> list[Step]:
    """Two statements that contradict each other, resolved or not."""
    first, second = sorted((teller.day(), teller.day()))
    pastime = teller.rng.choice(PASTIMES)
    told = [
        teller.step(Kind.SAY, space=space, who=who, slot="likes", value=value, text=text, day=day)
        for value, text, day in (
            (f"+{pastime}", f"{who} loves {pastime}.", first),
            (f"-{pastime}", f"{who} hates {pastime}.", second),
        )
    ]
    settle = teller.step(
        Kind.RESOLVE, space=space, who=who, refers=(told[1].number,), keep=teller.rng.choice(("new", "old", "both"))
    )
    return [*told, settle] if teller.rng.chance(0.6) else told


def _conclusions(teller: _Teller, space: str, who: str) -> list[Step]:
    """A chain or a diamond of conclusions from a statement that changes, and sometimes changes back by an undo."""
    first, second = sorted((teller.day(), teller.day()))
    old, new = _two(teller, PLACES)
    source = teller.say(space, who, "lives_in", old, day=first)
    made: list[Step] = []
    # A chain of up to three conclusions, or a diamond: two from the source and one from both.
    if teller.rng.chance(0.5):
        last = source
        for link in ("first", "second", "third")[: teller.rng.next_int(1, 3)]:
            last = _conclude(teller, space, who, f"{link} of a chain", (last.number,))
            made.append(last)
    else:
        sides = [_conclude(teller, space, who, f"side {side}", (source.number,)) for side in "ab"]
        made = [*sides, _conclude(teller, space, who, "top", tuple(side.number for side in sides))]
    change = teller.say(space, who, "lives_in", new, day=second, phrase=1)
    back = [teller.step(Kind.UNDO, space=space, who=who, refers=(change.number,))] if teller.rng.chance(0.5) else []
    return [source, *made, change, teller.ask(space, who, "lives_in"), *back, teller.ask(space, who, "lives_in")]


def _conclude(teller: _Teller, space: str, who: str, what: str, refers: tuple[int, ...]) -> Step:
    """A step that remembers a conclusion from earlier steps."""
    # The text must not state a fact of any slot.
    text = f"It follows that {who} would laugh at {teller.rng.choice(TALK)}, {what}."
    return teller.step(Kind.CONCLUDE, space=space, who=who, text=text, day=teller.day(), refers=refers)


def _detail(teller: _Teller, space: str, who: str) -> list[Step]:
    """A statement and a detail of it: both hold."""
    first, second = sorted((teller.day(), teller.day()))
    return [
        teller.step(Kind.SAY, space=space, who=who, slot="group", value="cats", text=f"{who} has two cats.", day=first),
        teller.step(
            Kind.SAY,
            space=space,
            who=who,
            slot="member",
            value="Miso",
            text=f"One of {who}'s cats is called Miso.",
            day=second,
        ),
    ]


def _repeated(teller: _Teller, space: str, who: str) -> list[Step]:
    """The same message again, and other content under its id."""
    said = teller.say(space, who, "works_at", teller.rng.choice(FIRMS))
    repeat = replace(said, number=teller.step(Kind.REPEAT).number, kind=Kind.REPEAT, refers=(said.number,))
    clash = replace(repeat, number=teller.step(Kind.CLASH).number, kind=Kind.CLASH, text=f"{who} sells umbrellas.")
    return [said, repeat, clash, teller.ask(space, who, "works_at")]


def _race(teller: _Teller, space: str, who: str) -> list[Step]:
    """Two writers state a slot at the same time."""
    # Other days are below 2,000, so the race is newer than everything else in this story.
    base = teller.say(space, who, "works_at", FIRMS[0], day=min(teller.day(), teller.day()))
    one, two = _two(teller, FIRMS[1:])
    race = teller.step(
        Kind.RACE,
        space=space,
        who=who,
        slot="works_at",
        value=f"{one}|{two}",
        text="works_at",
        day=teller.day() + 2_000,
    )
    return [base, race, teller.ask(space, who, "works_at")]


def _talk(teller: _Teller, space: str, who: str) -> list[Step]:
    """A text without facts, a question in the same words, and a question about something nobody said."""
    day = teller.day()
    text = f"{who} told a long tale about {teller.rng.choice(TALK)} and {teller.rng.choice(TALK)}."
    return [
        teller.step(Kind.SAY, space=space, who=who, text=text, day=day),
        teller.step(Kind.DEEP if teller.rng.chance(0.5) else Kind.ASK, space=space, who=who, text=text),
        teller.step(Kind.NONSENSE, space=space, text="Which zirconium quokka perplexed the xylophonist?"),
    ]


def _forgotten(teller: _Teller, space: str, who: str) -> list[Step]:
    """A chain of which one link is forgotten, sometimes with a conclusion from it, and sent again under its old id."""
    days = sorted(teller.day() for _ in range(3))
    values = [teller.rng.choice(HIDEOUTS), *_two(teller, PLACES)]
    teller.rng.shuffle(values)
    told = [
        teller.say(space, who, "lives_in", value, day=day, phrase=1) for value, day in zip(values, days, strict=True)
    ]
    gone = teller.rng.choice(told)
    # The undo leaves a reason that quotes the forgotten link.
    undo = teller.step(Kind.UNDO, space=space, who=who, refers=(told[1].number,))
    rest = [_conclude(teller, space, who, "after all", (gone.number,))] if teller.rng.chance(0.5) else []
    forget = teller.step(Kind.FORGET, space=space, who=who, refers=(gone.number,), count=teller.rng.next_int(0, 1))
    again = replace(gone, number=teller.step(Kind.REPEAT).number, kind=Kind.REPEAT, refers=(gone.number,))
    ask = teller.ask(space, who, "lives_in")
    before = [undo] if teller.rng.chance(0.3) else []
    return [*told, *before, *rest, forget, *([again] if teller.rng.chance(0.3) else []), ask]


def _erased(teller: _Teller, space: str, who: str) -> list[Step]:
    """A person is erased. A message that is also about somebody else keeps that part; conclusions may stay."""
    guest, hideout = GUESTS[who], teller.rng.choice(HIDEOUTS)
    told = teller.say(space, who, "email", teller.rng.choice(SLOTS["email"][1]))
    kin = teller.step(
        Kind.SAY, space=space, who=who, text=f"{who}'s sister {guest} lives in {hideout}.", day=teller.day()
    )
    shared = teller.step(
        Kind.SAY,
        space=space,
        who=guest,
        slot="email",
        value=teller.rng.choice(SLOTS["email"][1]),
        day=teller.day(),
    )
    shared = replace(shared, text=f"{who} lives in {hideout}. {guest}'s email is {shared.value}.")
    day = teller.day()
    text = f"It follows that {teller.rng.choice(TALK)} is due on day {day}."
    concluded = teller.step(Kind.CONCLUDE, space=space, who=guest, text=text, day=day, refers=(told.number,))
    erase = teller.step(Kind.ERASE, space=space, who=who, keep=teller.rng.choice(("stale", "erase")))
    return [told, kin, shared, concluded, erase, teller.ask(space, guest, "email")]


# The stories, with their relative frequency.
STORIES: Final[tuple[tuple[Story, float], ...]] = (
    (_changes, 3.0),
    (_change_undone, 2.0),
    (_middle_undone, 1.0),
    (_dispute, 2.0),
    (_conclusions, 3.0),
    (_detail, 1.5),
    (_repeated, 1.5),
    (_race, 1.5),
    (_talk, 1.5),
    (_forgotten, 2.0),
    (_erased, 1.5),
)


def _two(teller: _Teller, values: Sequence[str]) -> tuple[str, str]:
    mixed = list(values)
    teller.rng.shuffle(mixed)
    return mixed[0], mixed[1]


def make_plan(seed: int, steps_min: int = 40) -> Plan:
    """The plan of a seed: at least `steps_min` steps and one restart, and in about half of the worlds a power cut."""
    rng = DeterministicRng(seed).fork("plan")
    teller = _Teller(rng.fork("steps"))
    twins = rng.chance(0.15)
    people = list(PEOPLE)
    rng.shuffle(people)
    told: list[list[Step]] = []
    # At least three more steps are added below.
    while sum(map(len, told)) < steps_min - 3:
        # Each story has a person of its own.
        space, who = rng.choice(SPACES), people.pop()
        told.append(rng.weighted(STORIES)(teller, space, who))
        if rng.chance(0.3):  # the same name in the other namespace, where nothing may leak
            told.append(_changes(teller, SPACES[1 - SPACES.index(space)], who))
    reads = rng.fork("reads").chance(0.15)
    if reads:
        told += [_in_passing(teller, rng.fork(f"passing {number}").choice(SPACES), people.pop()) for number in range(2)]
    steps = interleave(rng, told)
    # Learning has its own namespace, so its steps may stand anywhere.
    lessons = _lessons(rng.fork("lessons"), teller)
    for step in lessons:
        steps.insert(rng.fork(f"lesson {step.number}").next_int(0, len(steps)), step)
    for kind in _interruptions(rng, twins=twins):
        step = teller.step(kind, count=rng.next_int(1, 60) if kind is Kind.CUT else 0)
        steps.insert(rng.next_int(1, len(steps)), step)
    counted = _counts(rng.fork("counts"), teller, people)
    steps = interleave(rng.fork("counted"), [steps, counted]) if counted else steps
    model = rng.chance(0.3)
    # Stories about things need a model that judges them.
    if model and not lessons:
        told_things = thing_stories.stories(rng.fork("of things"), teller, SPACES, people[-4:])
        anew = [[teller.step(Kind.REREAD)]] if rng.fork("anew").chance(0.3) else []
        steps = interleave(rng.fork("things"), [steps, *told_things, *anew])
    told_facts = _set_facts(rng.fork("set facts"), teller)
    steps = interleave(rng.fork("setting"), [steps, told_facts]) if told_facts else steps
    left = leaving_story(rng.fork("leaving"), teller, _LEAVERS)
    steps = interleave(rng.fork("leavers"), [steps, left]) if left else steps
    passing = passing_story(rng.fork("passing messages"), teller)
    steps = interleave(rng.fork("pass"), [steps, passing]) if passing else steps
    claims = origins_story(rng.fork("origins"), teller)
    steps = interleave(rng.fork("claims"), [steps, claims]) if claims else steps
    retold = retelling_story(rng.fork("retelling"), teller)
    steps = interleave(rng.fork("retold"), [steps, retold]) if retold else steps
    parted = parts_story(rng.fork("parts"), teller, _LEAVERS, TALK, GUESTS)
    steps = _with_contexts(rng.fork("contexts"), teller, steps)
    steps = interleave(rng.fork("parted"), [steps, parted]) if parted else steps
    faults = _faults(rng, twins=twins, model=model)
    embedder = rng.chance(0.6) or reads
    served = embedder and not reads and "openai" in ADAPTERS and rng.fork("served").chance(0.3)
    return Plan(
        seed=seed,
        steps=tuple(steps),
        faults=_over_the_wire(rng.fork("wire faults"), faults) if served else faults,
        embedder=embedder,
        model=model,
        twins=twins,
        learn=bool(lessons),
        order="seeded" if rng.chance(0.5) else "fifo",
        wire=rng.fork("wire").choice(("", *ADAPTERS)) if model else "",
        served=served,
        reads=reads,
    )


def _lessons(rng: DeterministicRng, teller: _Teller) -> list[Step]:
    """Steps of learning, in a third of the worlds: feedback, signals of providers, and rollbacks."""
    if not rng.chance(0.33):
        return []
    kinds = (*[Kind.JUDGE] * rng.next_int(2, 5), *[Kind.REPORT] * rng.next_int(1, 3), *[Kind.BACK] * rng.next_int(0, 2))
    return [teller.step(kind, count=rng.next_int(0, 9), keep="used" if rng.chance(0.5) else "") for kind in kinds]


def _counts(rng: DeterministicRng, teller: _Teller, people: Sequence[str]) -> list[Step]:
    """Counts without a slot in the product, in a third of the worlds: two people's counts, stated again in any order of time."""
    if not rng.chance(0.33):
        return []
    texts, values, questions = COUNTS
    space, days = rng.choice(SPACES), rng.shuffled(range(1, 2_000))
    steps: list[Step] = []
    for who in people[:2]:
        counts = list(values)
        rng.shuffle(counts)
        for number, value in enumerate(counts[: rng.next_int(2, 3)]):
            text = texts[number].format(who=who, what=value)
            steps.append(
                teller.step(Kind.SAY, space=space, who=who, slot=COUNTED, value=value, text=text, day=next(days))
            )
    rng.shuffle(steps)
    asked = [
        teller.step(Kind.ASK, space=space, who=who, slot=COUNTED, text=question.format(who=who))
        for who, question in zip(people[:2], questions, strict=True)
    ]
    return [*steps, *asked]


def _set_facts(rng: DeterministicRng, teller: _Teller) -> list[Step]:
    """Facts set in any order of time, taken back, and looked at, in a third of the worlds."""
    if not rng.chance(0.33):
        return []
    space, who = rng.choice(SPACES), rng.choice(SERVICES)
    steps: list[Step] = []
    # Few days, so that facts often meet: late ones, several of one day, and ones between taken back ones.
    for _ in range(rng.next_int(4, 12)):
        slot = FACTS[rng.chance(0.2)]
        earlier = [one for one in steps if one.kind is Kind.SET]
        if earlier and rng.chance(0.35):
            steps.append(teller.step(Kind.UNSET, count=rng.choice(earlier).number))
        else:
            value, day = rng.choice(FACT_VALUES), rng.next_int(1, 12)
            steps.append(teller.step(Kind.SET, space=space, who=who, slot=slot, value=value, day=day))
        steps.append(teller.step(Kind.FACTS, space=space, who=who, slot=slot, day=rng.next_int(1, 12)))
    return steps


def _with_contexts(rng: DeterministicRng, teller: _Teller, steps: list[Step]) -> list[Step]:
    """In half of the worlds contexts about people, after something was said of them: with a question and without, in much room and little."""
    told = [step for step in steps if step.kind is Kind.SAY and step.slot in SLOTS]
    if not told or not rng.chance(0.5):
        return steps
    found = list(steps)
    for _ in range(rng.next_int(1, 4)):
        step = rng.choice(told)
        text = SLOTS[step.slot][2].format(who=step.who) if rng.chance(0.7) else ""
        tokens = rng.choice((40, 90, 200, 1_000))
        asked = teller.step(Kind.CONTEXT, space=step.space, who=step.who, text=text, count=tokens)
        found.insert(rng.next_int(steps.index(step) + 1, len(found)), asked)
    return found


def _interruptions(rng: DeterministicRng, *, twins: bool) -> list[Kind]:
    kinds = [Kind.RESTART, Kind.MAINTAIN]
    if not twins:
        if rng.chance(0.6):
            # Only the simulated disk can lose power; two processes share a real file.
            kinds += [Kind.CUT] * rng.next_int(1, 3)
        if rng.chance(0.2):
            kinds.append(Kind.KILL)
    return kinds


# Probabilities are per call. A world has either no faults or three of these.
_DISK_FAULTS: Final = (
    (FaultType.StorageWriteFail, 0.01, "disk_write"),
    (FaultType.StorageReadFail, 0.1, "disk_read"),
    (FaultType.StorageSyncFail, 0.02, "disk_sync"),
    (FaultType.StorageFull, 0.02, "disk_write"),
    (FaultType.StorageSlow, 0.05, "disk_write"),
    (FaultType.PowerCut, 0.01, "disk_sync"),
    (FaultType.TornWrite, 0.003, "disk_write"),
)
_EMBEDDING_FAULTS: Final = tuple(
    (kind, 0.15, operation)
    for kind in FaultType
    if kind.startswith("Embedding")
    for operation in ("embed_many", "embed")
)
_MODEL_FAULTS: Final = (
    *((kind, 0.1, "llm_complete") for kind in FaultType if kind.startswith("Llm")),
    *((kind, 0.1, "network_request") for kind in FaultType if kind.startswith("Network")),
)


def _faults(rng: DeterministicRng, *, twins: bool, model: bool) -> tuple[FaultConfig, ...]:
    """The faults of a world: none in one of five worlds, else three entries of the tables above."""
    if rng.chance(0.2):
        return ()
    # Faults of parts that this world has.
    possible = [*_EMBEDDING_FAULTS, *(_MODEL_FAULTS if model else ()), *(() if twins else _DISK_FAULTS)]
    rng.shuffle(possible)
    return tuple(
        FaultConfig(kind, probability=chance, operations=(operation,)) for kind, chance, operation in possible[:3]
    )


def _over_the_wire(rng: DeterministicRng, faults: tuple[FaultConfig, ...]) -> tuple[FaultConfig, ...]:
    """The faults of a world with a served embedder: often the network fails too.

    Wrong dimensions are removed. A client that learns a server's dimensions from its first answer cannot know that this
    answer was wrong.
    """
    kept = tuple(fault for fault in faults if fault.fault_type is not FaultType.EmbeddingWrongDimensions)
    kind = rng.choice([kind for kind in FaultType if kind.startswith("Network")])
    broken = FaultConfig(kind, probability=0.1, operations=("network_request",))
    known = any(fault.fault_type is kind for fault in kept)
    return (*kept, broken) if not known and rng.chance(0.5) else kept
