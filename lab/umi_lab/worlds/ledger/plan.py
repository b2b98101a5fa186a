"""Plans of small worlds: a dozen steps from a seed, each complete in itself, so that any subset of a plan is a plan.

Steps name messages and the steps that made a relation by number. A step whose reference is not there does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.ledger.apart import kinds
from umi_lab.worlds.ledger.model import VERDICTS
from umi_lab.worlds.ledger.sequels import Sequel, judged, read_again, sequel

Origin = Literal["user", "assistant", "tool", "document"]

STEPS_MIN: Final = 8
STEPS_MAX: Final = 18
_CHANGING: Final = ("say", "relate", "chain", "set_fact", "undo", "resolve", "forget")
_READ_AGAIN_AFTER: Final = 0.15  # share of these steps after which all messages are read again
_READ_AGAIN: Final = 0.15  # share of the worlds whose first messages are read again at once
_LEARNED_OF: Final = 0.7  # share of them in which a recall is judged before
# How sure a model is of a verdict: about where it is kept, and where it acts.
_CERTAIN: Final = ("0.29", "0.3", "0.31", "0.59", "0.6", "0.89", "0.9", "1.0")
NAMES: Final = ("Kiba", "Lomo", "Sedna")
SESSIONS: Final = (None, "dawn", "dusk")
ATTRIBUTES: Final = ("shelf", "badge")
TYPES: Final = ("note", "event", "task", "preference", "person", "location")
MODES: Final = ("asserted", "asserted", "planned", "planned", "wished", "hypothetical", "reported")
# Whose words may change what others said: mostly those of people and assistants.
_PEOPLE: Final[tuple[Origin, ...]] = ("user", "assistant")
TRUSTS: Final[tuple[tuple[Origin, ...], ...]] = (
    *[_PEOPLE] * 4, ("user",), ("user", "tool"), ("document", "assistant", "user", "tool"), ("document",), (),
)  # fmt: skip
_STEP_KINDS: Final = (
    ("say", 6.0), ("relate", 4.0), ("chain", 2.8), ("set_fact", 3.0), ("undo", 2.0), ("resolve", 1.2), ("repeat", 1.0), ("forget", 1.2),
    ("forget_where", 0.9), ("erase", 1.3), ("bulk", 1.0), ("restart", 0.8), ("maintain", 0.4), ("export", 0.8), ("changes", 0.6),
    ("switch", 0.6), ("reread", 0.2), ("backup", 0.9), ("clear", 0.5), ("echo", 4.0), ("judge", 2.4),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `number` is its place in the whole plan, `gap_us` the microseconds that pass before it."""

    number: int
    kind: str
    gap_us: int = 1_000_000
    arguments: dict[str, Any] = field(default_factory=dict, hash=False)

    def line(self) -> str:
        """The step as a line of a report."""
        told = " ".join(f"{name}={value!r}" for name, value in self.arguments.items() if value is not None)
        return f"#{self.number} {self.kind} {told}"


@dataclass(frozen=True, slots=True)
class SmallPlan:
    """What a small world does. `portions` are sizes by name, `store` is "sqlite" or "dict"."""

    seed: int
    store: str
    portions: dict[str, int] = field(hash=False)
    steps: tuple[Step, ...] = ()
    act_from: float = 0.6
    learn: bool = False
    trust: tuple[Origin, ...] = TRUSTS[0]
    beside: bool = False  # whether a second memory is open on the same file, and answers every other question

    def describe(self) -> str:
        """The settings in a few words."""
        return f"{self.store} store, {len(self.steps)} steps, portions {self.portions}"


def make_small(seed: int) -> SmallPlan:
    """The plan of a seed."""
    rng = DeterministicRng(seed).fork("ledger")
    draw = _Draw(rng)
    count = rng.next_int(STEPS_MIN, STEPS_MAX)
    steps = [draw.step(number) for number in range(count)]
    while draw.follows:
        steps.append(draw.step(len(steps)))
    for kind, given in kinds.drawn(rng):
        steps.append(Step(len(steps), kind, arguments=given))
    store = rng.choice(("sqlite", "sqlite", "sqlite", "dict"))
    act_from, learn = rng.choice((0.6, 0.6, 0.6, 0.9, 1)), rng.chance(0.6)
    beside = store == "sqlite" and rng.chance(0.4)
    trust = rng.fork("trust").choice(TRUSTS)
    return SmallPlan(seed, store, portions.drawn(rng), tuple(steps), act_from, learn, trust, beside)


class _Draw:
    """Draws steps, knowing what the steps before said."""

    def __init__(self, rng: DeterministicRng) -> None:
        self._rng = rng
        self._said: list[tuple[int, int, int]] = []  # step, message, number of statements
        self._makers: list[int] = []  # steps that may have made a relation
        self._disputes: list[int] = []  # those that made a contradiction
        self._replacing: tuple[int, int, int] | None = None  # the newer side of the last update
        self._words = 0
        self._judged = ""  # of the step that is drawn: its last verdict, the word of the sentence and its name
        self._again = ""  # the same, of which the next sentence is to say that again
        self.follows: Sequel = []  # steps that must come next

    def step(self, number: int) -> Step:
        gap = self._rng.choice((1, 1_000, 1_000_000, 86_400_000_000))
        if self.follows:
            kind, given = self.follows.pop(0)
            return Step(number, kind, gap, given)
        kind = self._rng.weighted(_STEP_KINDS) if number > 2 and not self._again else "say"
        arguments: Callable[[int], dict[str, Any]] = getattr(self, f"_{kind}", lambda _number: {})
        self._judged = ""
        given = arguments(number)
        self.follows = sequel(self._rng, number, kind, given)
        if kind in _CHANGING and self._rng.fork(f"again{number}").chance(_READ_AGAIN_AFTER):
            self.follows = [
                *self.follows,
                *read_again(self._rng.fork(f"after{number}"), number + len(self.follows) + 1),
            ]
        if given.get("root") and self._said:
            kind, given, self.follows = "say", *self._concluded_before(number, given)
        if number == 0 and self._rng.chance(_READ_AGAIN):
            # At once, so that what was learned of the first messages is what their second reading inherits.
            learned = [("judge", self._judge(number))] if self._rng.chance(_LEARNED_OF) else []
            self.follows = [*learned, ("reread", {})]
        if self._judged:
            self._makers.append(number)
            self.follows = self.follows or judged(self._rng, number)
            # What changed another is changed in turn, in the same way. Drawn freely, that is too rare to be tested.
            self._again = self._judged if self._rng.chance(0.5) else ""
        return Step(number, kind, gap, given)

    def _sentence(self) -> str:
        rng = self._rng
        self._words += 1
        said, name = {}, rng.choice(NAMES)
        if rng.chance(0.6):
            said["type"] = rng.choice(TYPES)
        if rng.chance(0.3):
            said["mode"] = rng.choice(MODES)
        if rng.chance(0.25):
            said["from"] = f"2029-12-{rng.next_int(1, 20):02d}"
        if rng.chance(0.7 if said.get("mode") == "planned" else 0.2):  # plans are over by themselves
            said["until"] = f"20{rng.choice((29, 30))}-12-{rng.next_int(10, 28):02d}"
        if rng.chance(0.25):
            said["also"] = rng.choice(NAMES)
        if self._again or (self._words > 2 and rng.chance(0.3)):
            word = self._words - rng.choice((1, 1, 2, 3, 5))
            # A model is shown what is about the same, above all.
            verdict, old, name = (self._again or f"{rng.choice(VERDICTS)} item{max(word, 1)} {name}").split()
            said[verdict] = old
            if rng.chance(0.4):
                said["certain"] = rng.choice(_CERTAIN)
            self._judged, self._again = f"{verdict} item{self._words} {name}", ""
        if rng.chance(0.2):
            said["sure"] = rng.choice(("0.5", "0.59", "0.6", "0.9"))
        told = f" ({' '.join(f'{key}={value}' for key, value in said.items())})" if said else ""
        return f"{name} logged item{self._words}{told}."

    def _message(self, number: int, place: int) -> dict[str, Any]:
        rng = self._rng
        sentences = [self._sentence() for _ in range(rng.choice((1, 1, 2, 3)))]
        self._said.append((number, place, len(sentences)))
        role = rng.choice(("user", "user", "user", "assistant", "tool", "document", "critic"))
        at_days = rng.choice((None, None, 0, 1, 2, 5, 5, 20, 20))
        # Only what was said before can be changed, so who changes something mostly speaks last.
        changes = any(
            f" {verdict}=" in sentence or f"({verdict}=" in sentence for sentence in sentences for verdict in VERDICTS
        )
        at_days = None if changes and rng.chance(0.7) else at_days
        return {
            "content": " ".join(sentences),
            "role": role,
            "speaker": rng.choice((None, *NAMES)),
            "session": rng.choice(SESSIONS),
            "at_days": at_days,
            "zone_h": rng.choice((0, 0, 5, -8)),
            "own_id": rng.chance(0.5),
            "metadata": {"level": rng.choice((1, 2, 3, 2.5, "2", True)), "tags": ["a", "b"][: rng.next_int(0, 2)]}
            if rng.chance(0.5)
            else {},
            "origin": rng.choice((None, None, None, "document", "user", "assistant", "tool")),
            "expires_s": rng.choice((None, None, None, None, None, None, 1, 90_000)),
        }

    def _say(self, number: int) -> dict[str, Any]:
        rng = self._rng
        derived = [self._statement() for _ in range(rng.choice((0, 0, 0, 1, 2)))] if self._said else []
        given = {
            "messages": [self._message(number, place) for place in range(rng.choice((1, 1, 1, 2, 3)))],
            "call_key": rng.chance(0.3),
            "later": rng.chance(0.4 if derived else 0.25),
            "between": rng.choice(
                (None, None, "restart", "recall", "recall and restart", *(["erase"] * 4 * bool(derived)))
            ),
            "by": rng.choice(("work", "worker", "maintain")),
            "extract": not rng.chance(0.1),
            "track": not rng.chance(0.2),
            "derived": derived,
            "whole_source": rng.chance(0.5),
            "form": rng.choice(("message", "mapping", "arguments", "arguments")),
        }
        return given | (self._waiting(number) if given["later"] else {})

    def _waiting(self, number: int) -> dict[str, Any]:
        """What becomes of messages while they wait: somebody tries to read them in vain, or carries them elsewhere with all or a part."""
        rng = self._rng.fork(f"waiting{number}")
        wishes: dict[str, bool] = rng.choice(({}, {}, {"track": False}, {"extract": False}))
        carried = rng.choice((None, {}, {}, {"session": "dawn"}, {"role": "user"}))
        return {**wishes, "in_vain": rng.chance(0.4), "carried": carried}

    def _bulk(self, number: int) -> dict[str, Any]:
        return {
            "messages": [self._message(number, place) | {"own_id": True} for place in range(self._rng.next_int(1, 4))]
        }

    def _statement(self) -> tuple[int, int, int]:
        """The step, message and place of a statement said before."""
        number, message, count = self._rng.choice(self._said[-8:])
        return number, message, self._rng.next_int(0, count - 1)

    def _another(self, one: tuple[int, int, int]) -> tuple[int, int, int]:
        """Mostly another statement than this: what is related with itself is refused."""
        found = self._statement()
        return found if found != one else self._statement()

    def _maker(self) -> tuple[int, int]:
        """A step that may have made relations, and which of them."""
        return self._rng.choice(self._makers[-4:] or [0]), self._rng.next_int(0, 2)

    def _relate(self, number: int) -> dict[str, Any]:
        self._makers.append(number)
        kind = self._rng.weighted((("update", 3.0), ("contradict", 3.0), ("derive", 2.5), ("extend", 1.0)))
        if kind == "contradict":
            self._disputes.append(number)
        # At times a chain: what replaced another is replaced itself. Drawn freely, that is too rare to be tested.
        chained = kind == "update" and self._replacing is not None and self._rng.chance(0.5)
        old = self._replacing if chained and self._replacing else self._statement()
        new = self._another(old)
        if kind == "update":
            self._replacing = new
        # Mostly earlier to later, at times the other way round, at times again.
        return {
            "old": old,
            "new": new,
            "other": self._another(old),
            "third": self._another(old),
            "type": kind,
            "turn": not self._rng.chance(0.15),
            "again": self._rng.chance(0.2),
        }

    def _chain(self, number: int) -> dict[str, Any]:
        self._makers.append(number)
        every = [(step, message, place) for step, message, count in self._said[-8:] for place in range(count)]
        found, count = list(self._rng.shuffled(every)), self._rng.choice((3, 3, 4))
        # Each takes the place of the one before, or is concluded from it, mostly in another message.
        kind = self._rng.fork(f"chain{number}").choice(("update", "derive"))
        if kind == "derive":
            found = list({(step, message): (step, message, place) for step, message, place in found}.values())
        return {"of": found[:count], "type": kind}

    def _undo(self, number: int) -> dict[str, Any]:
        made = self._maker()
        self._makers.append(number)
        return {"made": made, "again": self._rng.chance(0.2)}

    def _resolve(self, _number: int) -> dict[str, Any]:
        # Mostly of a contradiction: few other relations can be settled.
        made = (self._disputes[-1], 0) if self._disputes and self._rng.chance(0.7) else self._maker()
        return {"made": made, "keep": self._rng.choice(("new", "old", "both")), "again": self._rng.chance(0.2)}

    def _set_fact(self, number: int) -> dict[str, Any]:
        rng = self._rng
        self._makers.append(number)
        return {
            "subject": rng.choice(NAMES),
            "attribute": rng.choice(ATTRIBUTES),
            "value": rng.choice(("red", "teal", "grey")),
            "at_days": rng.choice((None, None, 0, 3, 3, 9)),
            "reason": rng.choice((None, "as agreed")),
            "again": rng.chance(0.3),
        }

    def _repeat(self, _number: int) -> dict[str, Any]:
        rng = self._rng
        return {"step": rng.choice(self._said)[0], "other": rng.chance(0.3), "beside": rng.chance(0.3)}

    def _echo(self, number: int) -> dict[str, Any]:
        """Somebody's own words beside what was just recalled."""
        rng = self._rng
        given = {
            "what": self._statement(), "role": rng.choice(("assistant", "tool")), "said": self._sentence(),
            "call_key": not rng.chance(0.3), "first": rng.chance(0.5), "alone": rng.chance(0.3),
            "kept": rng.choice((None, None, "gone", "gone", "user")),
            "through": rng.choice(("recall", "recall", "prompt", "context")), "mark": rng.choice(("", "", "> ", "- ")),
            "lines": self._lines(number), "spoken_by": rng.fork(f"spoken{number}").choice(("assistant", "assistant", "tool", "system", "user")),
            "forgotten": rng.fork(f"forgotten{number}").choice(("quote", "quoted")),
        }  # fmt: skip
        self._said.append((number, 0, 1))
        return given

    def _lines(self, number: int) -> list[dict[str, Any]]:
        """Lines of one message: most of them were shown before, some are new."""
        rng, found = self._rng.fork(f"lines{number}"), []
        alone = rng.chance(0.2)  # without a new one
        for _ in range(rng.next_int(2, 4)):
            step, message, count = rng.choice(self._said[-8:])
            what = (step, message, rng.next_int(0, count - 1)) if alone or rng.chance(0.6) else None
            through, mark = rng.choice(("recall", "prompt", "context")), rng.choice(("", "> ", "* ", "2. ", "> - "))
            found.append({"what": what, "through": through, "mark": mark, "gap": rng.choice(("", "\n", "  "))})
        return found

    def _judge(self, _number: int) -> dict[str, Any]:
        rng = self._rng
        return {
            "where": rng.choice(("here", "here", "there", "both")),
            "used": rng.choice((None, "none", "first")),
            "outcome": rng.choice(("success", "partial_success", "failure")),
            "human_verdict": rng.choice((None, "approved", "rejected")),
            "quality_score": rng.choice((None, 0.25)),
            "restart": rng.chance(0.4),
            "otherwise": rng.choice((None, "used", "outcome", "human_verdict", "quality_score")),
            "reset": rng.chance(0.5),
            "more": rng.choice((0, 0, 3, 6)),
        }

    def _clear(self, _number: int) -> dict[str, Any]:
        return {"of": self._rng.choice((("here",), ("here", "there"), ("there", "here"), ("there",)))}

    def _forget(self, number: int) -> dict[str, Any]:
        self._makers.append(number)
        return {
            "what": self._statement(),
            "by": self._rng.choice(("statement", "statement", "episode", "own id")),
            "again": self._rng.chance(0.3),
        }

    def _forget_where(self, _number: int) -> dict[str, Any]:
        if self._rng.chance(0.3):
            return {"where": None, "types": self._rng.choice((["location"], ["person", "task"]))}
        return {
            "where": self._rng.choice(
                (
                    {"session": "dawn"},
                    {"metadata": {"level": {"gte": 3}}},
                    {"metadata": {"tags": "b"}},
                    {"role": "tool"},
                )
            )
        }

    def _erase(self, number: int) -> dict[str, Any]:
        rng = self._rng
        hows: tuple[dict[str, Any], ...] = (
            {"session": "dusk"},
            {"session": "dawn"},
            {"where": {"metadata": {"level": 1}}},
            {"where": {"role": "user", "session": "dawn"}},
        )
        how = rng.choice(hows)
        derived, brought_back = rng.choice(("stale", "erase")), rng.chance(0.4)
        # Of all that rests on one message, through any number of conclusions, where there is such a message.
        return {**how, "derived": derived, "brought_back": brought_back, "root": rng.fork(f"root{number}").chance(0.4)}

    def _concluded_before(self, number: int, erased: dict[str, Any]) -> tuple[dict[str, Any], Sequel]:
        """A conclusion, then one or two of which each rests on the one before, then an erasure of what all rest on."""
        told = [{**self._say(number), "derived": [self._statement()]}]
        more = range(number, number + self._rng.next_int(1, 2))
        told += [{**self._say(place + 1), "derived": [(place, 0, 0)]} for place in more]
        self._judged = ""
        return told[0], [*(("say", one) for one in told[1:]), ("erase", erased)]

    def _export(self, _number: int) -> dict[str, Any]:
        rng = self._rng
        return {
            "where": rng.choice(
                (None, None, {"session": "dawn"}, {"metadata": {"level": {"gte": 2}}}, {"role": "user"})
            ),
            "types": rng.choice((None, None, None, ["event"], ["note", "task"])),
            "every_namespace": rng.chance(0.3),
        }

    def _switch(self, _number: int) -> dict[str, Any]:
        return {"said": self._sentence(), "expires_s": self._rng.choice((None, None, 1, 1, 90_000))}
