"""What a new statement does to older ones, by rules: update, extend, contradict, or nothing.

Wrong supersession is worse than a missed one: a rule that is not sure gives a confidence below
`EVOLUTION_SUPERSEDE_CONFIDENCE_MIN`, which is recorded and acts on nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from umi._reading.grammar import value_comparison
from umi._reading.grammar.complements import preference_slot
from umi._reading.grammar.lexicon import NAME_STOPS, words
from umi._reading.grammar.predicates import VERBS
from umi._reading.grammar.slots import ENDS_ANYWHERE, base_slot, is_single, slot_words
from umi._reading.grammar.statements import Statement, read_statements
from umi._reading.grammar.subjects import subject_key
from umi._reading.grammar.tokens import tokenize
from umi._reading.grammar.values import COMPANY_FORMS, NUMBER_WORDS, narrower, singular, value_key
from umi._reading.short_messages.fact import NAMED
from umi.types import Entity, EntityType, EvolutionType
from umi.types.notes import SHORT_MESSAGES, ReaderNotes

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TURNS: Final = words("over event now back anymore nowadays actually correction instead") | {
    "any more",
    "no longer",
    "these days",
    "used to",
    "since then",
    "turns out",
    "i meant",
    "from now on",
    "rather than",
    "currently",
}
_MEMBERS: Final = frozenset({"called", "member"})
_HOLDINGS: Final = ("has_pet", "has_child", "has_sibling", "owns")
_EMPTY: Final = COMPANY_FORMS | VERBS | frozenset(NUMBER_WORDS)  # words that add nothing to a claim
_PLAIN: Final = 0.9  # factor without a word of change
_CLAIM_WORDS_MAX: Final = 12
_UNSURE: Final = 0.5
_LONG: Final = timedelta(days=5 * 366)
_REASON_VALUE_CHARACTERS_MAX: Final = 120
RECENT_EPISODES_COUNT: Final = 10  # how far back "one of them" reaches


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the new statement does to the existing one `related_id`; `confidence` 0..1."""

    related_id: str
    evolution_type: EvolutionType
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which existing statements a new one should be judged against.

    `pairs` are (subject, slot). `recent` is how many of the latest episodes before it to look into as well, whoever they
    are about; 0 for none. `subject` and `slots` are the pairs of the new statement's own subject.
    """

    subject: str
    pairs: tuple[tuple[str, str], ...]
    recent: int = 0

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots wanted of the statement's own subject."""
        return tuple(slot for subject, slot in self.pairs if subject == self.subject)


@dataclass(frozen=True, slots=True)
class _Claim:
    """An entity read for judging."""

    subject: str
    slot: str
    value: str
    negated: bool
    confidence: float
    ended: tuple[str, ...]
    cues: frozenset[str]
    owner: str
    noun: str
    content: str
    holds_from: datetime | None
    long_past: bool  # tells of something years before it was said
    source: str = ""  # who is quoted
    acting: float = 1.0  # how surely it changes what was known
    gist: bool = False  # read by its gist: what is over is what was known, named or not

    @property
    def described(self) -> str:
        """Anna as "sam's sister", the key she had before her name was known."""
        return f"{self.owner}'s {self.noun}" if self.owner and self.noun else self.subject

    @property
    def over(self) -> bool:
        return "over" in self.cues and self.negated

    @property
    def turns(self) -> bool:
        return bool(self.cues & _TURNS)


def judge(new: Entity, existing: Sequence[Entity]) -> list[Verdict]:
    """The relation of `new` to each of `existing`, the surest first; entities it does not touch are left out.

    Slots, where an entity has none, are read from its content with its name as subject, so entities made by hand work too.
    """
    claims = _claims(new)
    verdicts: list[Verdict] = []
    holder_found = False
    for old in existing:
        if old.id == new.id:
            continue
        found = [_judge(claim, before, old.id) for claim in claims for before in _claims(old)]
        best = max((one for one in found if one is not None), key=lambda one: one.confidence, default=None)
        if best is None:
            continue
        if any(claim.slot in _MEMBERS for claim in claims):  # "one of them" is one of the latest named
            if holder_found:
                continue
            holder_found = True
        verdicts.append(best)
    return sorted(verdicts, key=lambda one: -one.confidence)


def turns(new: Entity) -> bool:
    """Whether a statement has a word of change: now, no longer, instead."""
    return any(claim.turns or claim.ended for claim in _claims(new))


def candidate_slots(new: Entity) -> Wanted:
    """Which statements to fetch for `judge(new, ...)`."""
    pairs: dict[tuple[str, str], None] = {}
    recent = 0
    for claim in _claims(new):
        if claim.slot in _MEMBERS:
            recent = RECENT_EPISODES_COUNT
            pairs.update(dict.fromkeys((claim.subject, slot) for slot in _HOLDINGS))
            continue
        for slot in _slots_touched(claim):
            pairs[(claim.subject, slot)] = None
            pairs[(claim.described, slot)] = None
        if claim.owner:
            for slot in _HOLDINGS:
                pairs[(claim.owner, slot)] = None
    return Wanted(new.subject or subject_key(new.name), tuple(pairs), recent)


def _slots_touched(claim: _Claim) -> list[str]:
    slots = [claim.slot]
    base, _, kind = claim.slot.partition(":")
    if kind and base in {"prefers", "uses"}:
        slots += [f"prefers:{kind}", f"uses:{kind}"]
    gone = list(claim.ended) + ([claim.value] if claim.negated or claim.slot == "likes" else [])
    if claim.over or claim.ended:
        slots += ENDS_ANYWHERE
    for value in gone:
        kind = preference_slot(value)
        if kind:
            slots += [kind, "prefers:" + kind.partition(":")[2]]
    return list(dict.fromkeys(slots))


@lru_cache(maxsize=2_048)
def _read(content: str, name: str, at: datetime) -> tuple[Statement, ...]:
    """An entity is judged against every later one of its slot; its words are read once."""
    return tuple(read_statements(content, speaker=name, at=at, subject=name))


def _claims(entity: Entity) -> list[_Claim]:
    if entity.entity_type is EntityType.NOTE and not entity.slot:
        return []  # its reader found no statement; reading it as if about its speaker would invent one
    subject = entity.subject or subject_key(entity.name)
    notes = entity.notes or ReaderNotes()
    if notes.reader == SHORT_MESSAGES or (entity.slot and notes.reader):
        return [_noted_claim(entity, subject, notes)]
    read = _read(entity.content, entity.name, entity.at or _EPOCH)
    if not entity.slot:
        return [
            _claim(entity, one, subject if one.subject == subject_key(entity.name) else one.subject) for one in read
        ]
    # A caller's own statement, or one of a version that kept no cues: its words are read for them.
    match = next((one for one in read if one.slot == entity.slot and one.value == entity.value), None)
    match = match or next((one for one in read if one.slot == entity.slot), None)
    if match is not None:
        notes = replace(notes, ended=notes.ended or match.ended, cues=match.cues)
    return [_noted_claim(entity, subject, notes)]


def _noted_claim(entity: Entity, subject: str, notes: ReaderNotes) -> _Claim:
    """The claim of a statement whose words of change, and what it ended, were noted when it was read."""
    return _Claim(
        subject=subject,
        slot=entity.slot,
        value=entity.value,
        negated=entity.negated,
        confidence=entity.confidence,
        ended=notes.ended,
        cues=frozenset(notes.cues),
        owner=notes.owner,
        noun=notes.noun,
        content=entity.content,
        holds_from=entity.valid_from,
        long_past=_long_past(entity.valid_from, entity.at),
        source=notes.source,
        acting=notes.acting,
        gist=notes.reader == SHORT_MESSAGES,
    )


def _claim(entity: Entity, read: Statement, subject: str) -> _Claim:
    return _Claim(
        subject=subject,
        slot=read.slot,
        value=read.value,
        negated=read.negated,
        confidence=min(entity.confidence, read.confidence),
        ended=read.ended,
        cues=frozenset(read.cues),
        owner=read.owner,
        noun=read.noun,
        content=entity.content,
        holds_from=entity.valid_from or read.valid_from,
        long_past=_long_past(read.valid_from, entity.at),
    )


def _long_past(begins: datetime | None, said: datetime | None) -> bool:
    return begins is not None and said is not None and said - begins > _LONG


def _memoir(new: _Claim, old: _Claim) -> bool:
    """Whether "I moved to Rome in 2015" is a story, since where somebody lives was told later than that."""
    told = new.long_past and "event" in new.cues
    return told and old.holds_from is not None and new.holds_from is not None and new.holds_from < old.holds_from


def _judge(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    if new.slot in _MEMBERS:
        return _of_a_group(new, old, old_id)
    if new.owner and new.owner == old.subject and old.slot in _HOLDINGS:
        return _of_a_holding(new, old, old_id)
    if old.subject not in {new.subject, new.described}:
        return None
    if new.source or old.source:
        return _of_hearsay(new, old, old_id)
    for rule in (_ends, _turns, _replaces, _counts, _adds, _grows):
        verdict = rule(new, old, old_id)
        if verdict is not None:
            return verdict
    return None


def _of_hearsay(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """What others say is so ends nothing: it agrees, or both stand in dispute, until somebody says it at first hand."""
    if new.slot != old.slot or new.negated or old.negated or not is_single(new.slot):
        return _ends(new, old, old_id) if not new.source else None
    if not (new.source and old.source):
        return _refuted(new, old, old_id)
    if _same(new.value, old.value):
        return _verdict(
            EvolutionType.EXTEND, _HEARD, f"{slot_words(new.slot)} {_short(new.value)}: said by others too", old_id
        )
    reason = f"{slot_words(new.slot)}: {_short(old.value)} or {_short(new.value)}; {new.source or old.source} says so"
    return _verdict(EvolutionType.CONTRADICT, _HEARD, reason, old_id)


def _refuted(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """What somebody says at first hand, with a word of change, ends what was only heard of; hearsay says nothing against it."""
    if new.source or _same(new.value, old.value) or not (new.turns or new.ended or "event" in new.cues):
        return None
    return _verdict(EvolutionType.UPDATE, new.confidence, _change(old, new), old_id)


def _verdict(kind: EvolutionType, confidence: float, reason: str, old_id: str) -> Verdict:
    return Verdict(old_id, kind, round(min(1.0, confidence), 3), reason)


def _sure(new: _Claim, old: _Claim) -> float:
    return min(new.confidence, new.acting, old.confidence)


def _same(one: str, other: str) -> bool:
    return bool(one) and (value_key(one) == value_key(other) or narrower(one, other))


def _ends(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """The new one says that the old value is over: "left Acme", "sold the car", "switched from tea"."""
    reachable = old.slot == new.slot or base_slot(old.slot) in ENDS_ANYWHERE
    if old.negated or not reachable:
        return None
    ended = () if _memoir(new, old) and NAMED not in new.cues else new.ended
    for gone in ended:
        if _same(gone, old.value) and not (not new.negated and _same(new.value, old.value)):
            return _verdict(EvolutionType.UPDATE, _met(new, old, gone), _change(old, new), old_id)
    if not new.over:
        return None
    if not new.value and old.slot == new.slot:
        return _verdict(EvolutionType.UPDATE, _sure(new, old), _change(old, new), old_id)
    if _same(new.value, old.value) and _related(new.slot, old.slot):
        return _verdict(EvolutionType.UPDATE, _sure(new, old), _change(old, new), old_id)
    return None


def _met(new: _Claim, old: _Claim, gone: str) -> float:
    """How sure it is that `gone` is over: naming just the value that is known makes up for a name typed in lower case."""
    if NAMED in new.cues:
        return min(new.confidence, new.acting) if old.confidence >= _READ else _sure(new, old)
    named = value_key(gone) == value_key(old.value) and min(new.confidence, old.confidence) >= _NEARLY
    return max(_sure(new, old), _NAMED) if named and not new.gist else _sure(new, old)


_HEARD: Final = 0.5
_NEARLY: Final = 0.55
_READ: Final = 0.35  # a statement that was read so surely is borne out when its value is named again
_NAMED: Final = 0.7
_FAMILIES: Final = (
    frozenset({"works_at", "lives_in", "studies_at"}),
    frozenset({"likes", "prefers", "drinks", "eats", "plays", "uses", "habit"}),
    frozenset({"owns", "drives", "uses"}),
)


def _related(one: str, other: str) -> bool:
    return one == other or any(base_slot(one) in family and base_slot(other) in family for family in _FAMILIES)


def _turns(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """The same value with the other polarity: a change when words of change say so, else a contradiction."""
    if new.slot != old.slot or new.negated == old.negated or value_key(new.value) != value_key(old.value):
        return None
    polarity = f"{slot_words(new.slot)} {_short(new.value)}: {'no' if old.negated else 'yes'} -> {'no' if new.negated else 'yes'}"
    if new.turns or old.over:
        return _verdict(EvolutionType.UPDATE, _sure(new, old), polarity + _said(new), old_id)
    return _verdict(
        EvolutionType.CONTRADICT, _sure(new, old) * _PLAIN, polarity + "; both claimed, no word of change", old_id
    )


def _same_slot(new: _Claim, old: _Claim) -> bool:
    """The same slot, or, for a switch, the same kind of thing preferred and used."""
    if new.slot == old.slot:
        return True
    bases = {base_slot(new.slot), base_slot(old.slot)}
    return new.turns and bases == {"prefers", "uses"} and new.slot.partition(":")[2] == old.slot.partition(":")[2] != ""


def _replaces(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """Another value in a slot that holds one."""
    if not _same_slot(new, old) or not is_single(new.slot) or new.negated or old.negated:
        return None
    relation = value_comparison.values(new.slot, new.value, old.value)
    if relation is value_comparison.Comparison.DIFFERENT:
        sure = min(_sure(new, old), _UNSURE if NAMED in new.cues else 1.0)  # what it names as over is another value
        if "also" in new.cues:
            return None
        if not new.turns and not new.ended:
            sure *= _PLAIN
            if (
                base_slot(new.slot) == "uses"
                or base_slot(new.slot) == "uses_for"
                or not value_comparison.plausible(new.slot, new.value, old.value)
            ):
                sure = min(sure, _UNSURE)
            if value_comparison.levels_differ(new.slot, new.value, old.value):
                return None
        if _memoir(new, old):
            sure = min(sure, _UNSURE)
        return _verdict(EvolutionType.UPDATE, sure, _change(old, new), old_id)
    if relation is value_comparison.Comparison.DETAIL and new.slot == "role" and "event" in new.cues:
        return _verdict(EvolutionType.UPDATE, _sure(new, old), _change(old, new), old_id)
    if relation is value_comparison.Comparison.DETAIL:
        return _verdict(
            EvolutionType.EXTEND,
            _sure(new, old) * _PLAIN,
            f"{slot_words(new.slot)}: {_short(old.value)}, in detail {_short(new.value)}",
            old_id,
        )
    return None


def _counts(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """Another number of the same: "two cats" and "three cats"."""
    if new.slot != old.slot or new.slot not in _HOLDINGS or new.negated or old.negated or "also" in new.cues:
        return None
    one, other = value_key(new.value).split(), value_key(old.value).split()
    if len(one) != 2 or len(other) != 2 or one[1] != other[1] or one[0] == other[0]:
        return None
    if not (one[0].isdigit() and other[0].isdigit()):
        return None
    return _verdict(EvolutionType.UPDATE, _sure(new, old) * (1 if new.turns else _PLAIN), _change(old, new), old_id)


def _adds(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """The same claim with more said."""
    if new.slot != old.slot or new.negated != old.negated or not _same(new.value, old.value):
        return None
    if len(value_key(new.value).split()) < len(value_key(old.value).split()):
        return None
    if len(_words(new.content)) > _CLAIM_WORDS_MAX:
        return None  # a long sentence says other things too
    more = sorted(_words(new.content) - _words(old.content) - _EMPTY)
    if not more:
        return None
    return _verdict(
        EvolutionType.EXTEND,
        _sure(new, old) * _PLAIN,
        f"{slot_words(new.slot)} {_short(new.value)}: adds '{' '.join(more[:6])}'",
        old_id,
    )


def _grows(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """One more of a list: "Mia also speaks Greek"."""
    if new.slot != old.slot or is_single(new.slot) or "also" not in new.cues or new.negated or old.negated:
        return None
    if new.slot not in _LISTS or _same(new.value, old.value):
        return None
    reason = f"{slot_words(new.slot)}: {_short(old.value)}, and {_short(new.value)}"
    return _verdict(EvolutionType.EXTEND, _sure(new, old) * _PLAIN, reason, old_id)


_LISTS: Final = frozenset({"hobby", "speaks", "uses"})


def _words(text: str) -> set[str]:
    tokens = tokenize(text, 0, min(len(text), 2_000))
    return {singular(low) for low in tokens.low if len(low) > 2 and low[0].isalnum() and low not in NAME_STOPS}


def _of_a_group(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """As in "One is called Miso" after "Alice has two cats"."""
    if old.slot not in _HOLDINGS or old.negated:
        return None
    words = value_key(old.value).split()
    several = bool(words) and (words[0].isdigit() or old.value.lower().endswith("s"))
    if not several:
        return None
    return _verdict(
        EvolutionType.EXTEND, min(_sure(new, old), 0.8), f"one of '{_short(old.value)}': {_short(new.value)}", old_id
    )


def _of_a_holding(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """As in "My dog is a beagle" after "I have a dog"."""
    if old.negated or not new.noun:
        return None
    held, named = value_key(old.value).split(), value_key(new.noun).split()
    if not held or not named or held[-1] != named[-1]:
        return None
    return _verdict(
        EvolutionType.EXTEND,
        _sure(new, old) * _PLAIN,
        f"about '{_short(old.value)}': {slot_words(new.slot)} {_short(new.value)}",
        old_id,
    )


def _short(value: str) -> str:
    return value if len(value) <= _REASON_VALUE_CHARACTERS_MAX else value[: _REASON_VALUE_CHARACTERS_MAX - 1] + "…"


def _change(old: _Claim, new: _Claim) -> str:
    after = "no longer" if new.negated else _short(new.value)
    return f"{slot_words(old.slot)}: {_short(old.value)} -> {after}{_said(new)}"


def _said(new: _Claim) -> str:
    if new.ended:
        return f"; said '{_short(new.ended[0])}' is over"
    words = sorted(new.cues - {"over", "event", "also"})
    return f"; said '{words[0]}'" if words else ""
