"""Judgement by rules of what a new statement does to an older one: update, extend, contradict, or nothing (ADR 0005).

A wrong supersession is worse than a missed one: an unsure rule gives a confidence below
`EVOLUTION_SUPERSEDE_CONFIDENCE_MIN`, which is recorded and does not act.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from umi._reading.grammar import value_comparison
from umi._reading.grammar.complements import preference_slot
from umi._reading.grammar.dates import recurring
from umi._reading.grammar.lexicon import KINDS, NAME_STOPS, words
from umi._reading.grammar.predicates import VERBS
from umi._reading.grammar.slots import ENDS_ANYWHERE, base_slot, is_single, slot_words
from umi._reading.grammar.statements import Statement, read_statements
from umi._reading.grammar.subjects import subject_key
from umi._reading.grammar.tokens import tokenize
from umi._reading.grammar.values import COMPANY_FORMS, NUMBER_WORDS, narrower, singular, value_key
from umi._reading.short_messages.fact import NAMED
from umi.types import Entity, EntityType, EvolutionType
from umi.types.notes import SHORT_MESSAGES, ReaderNotes

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)  # stands for an unknown time
# Words of change. With one, a new value is taken as a change; without, it may be a second opinion or another case.
_TURNS: Final = words("over event now back again anymore nowadays actually correction instead") | {
    "any more", "any longer", "no longer", "these days", "used to", "since then", "turns out", "i meant", "from now on", "rather than", "currently",
}  # fmt: skip
_MEMBERS: Final = frozenset({"called", "member"})  # slots of "one of them"
_HOLDINGS: Final = ("has_pet", "has_child", "has_sibling", "owns")
_EMPTY: Final = COMPANY_FORMS | VERBS | frozenset(NUMBER_WORDS)  # words that add no detail
_PLAIN: Final = 0.9  # factor on the confidence without a word of change
_CLAIM_WORDS_MAX: Final = 12  # of a statement that may add detail; a longer one says other things too
_UNSURE: Final = 0.5  # confidence that is recorded and does not act
_LONG: Final = timedelta(days=5 * 366)  # five years: what is told as that long past is a story
_REASON_VALUE_CHARACTERS_MAX: Final = 120
RECENT_EPISODES_COUNT: Final = 10  # searched for what "one of them" refers to


@dataclass(frozen=True, slots=True)
class Verdict:
    """The relation of a new statement to the existing one `related_id`; `confidence` 0..1."""

    related_id: str
    evolution_type: EvolutionType
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The existing statements that a new one should be judged against.

    `pairs` are (subject, slot). With `recent` > 0, all statements of so many episodes before it as well.
    """

    pairs: tuple[tuple[str, str], ...]
    recent: int = 0


@dataclass(frozen=True, slots=True)
class _Claim:
    """A statement in the form in which the rules judge it."""

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
    long_past: bool  # it began years before it was said
    source: str = ""  # who is quoted
    acting: float = 1.0  # probability that it changes what was known
    by_short_reader: bool = False  # then `ended` are known values, named in the message or not

    @property
    def described(self) -> str:
        """The key under which Anna was known before her name was, such as "sam's sister"."""
        return f"{self.owner}'s {self.noun}" if self.owner and self.noun else self.subject

    @property
    def over(self) -> bool:
        return "over" in self.cues and self.negated

    @property
    def turns(self) -> bool:
        return bool(self.cues & _TURNS)


def judge(new: Entity, existing: Sequence[Entity]) -> list[Verdict]:
    """The relations of `new` to `existing`, the surest first; entities that it does not affect are left out.

    Entities without a slot are read by the clause reader, with their name as subject, so entities made by hand work
    too.
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
        if any(claim.slot in _MEMBERS for claim in claims):  # "one of them" refers to one group, the first that fits
            if holder_found:
                continue
            holder_found = True
        verdicts.append(best)
    return sorted(verdicts, key=lambda one: -one.confidence)


def turns(new: Entity) -> bool:
    """Whether a statement has a word of change (now, no longer, instead) or ends a value."""
    return any(claim.turns or claim.ended for claim in _claims(new))


def candidate_slots(new: Entity) -> Wanted:
    """The statements to load for `judge(new, ...)`."""
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
    return Wanted(tuple(pairs), recent)


def _slots_touched(claim: _Claim) -> list[str]:
    """The slots in which a claim may change older statements."""
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


def _claims(entity: Entity) -> list[_Claim]:
    """The claims of an entity; none for a note."""
    if entity.entity_type is EntityType.NOTE and not entity.slot:
        return []  # its reader found no statement; read as if about its speaker it might seem to make one
    subject = entity.subject or subject_key(entity.name)
    notes = entity.notes or ReaderNotes()
    if notes.reader == SHORT_MESSAGES or (entity.slot and notes.reader):
        return [_noted_claim(entity, subject, notes)]
    read = read_statements(entity.content, speaker=entity.name, at=entity.at or _EPOCH, subject=entity.name)
    if not entity.slot:
        return [
            _claim(entity, one, subject if one.subject == subject_key(entity.name) else one.subject) for one in read
        ]
    # Made by a caller, or by a version that stored no cues: its text is read for them.
    match = next((one for one in read if one.slot == entity.slot and one.value == entity.value), None)
    match = match or next((one for one in read if one.slot == entity.slot), None)
    if match is not None:
        notes = replace(notes, ended=notes.ended or match.ended, cues=match.cues)
    return [_noted_claim(entity, subject, notes)]


def _noted_claim(entity: Entity, subject: str, notes: ReaderNotes) -> _Claim:
    """The claim of a statement whose reader stored notes: words of change, ended values."""
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
        by_short_reader=notes.reader == SHORT_MESSAGES,
    )


def _claim(entity: Entity, read: Statement, subject: str) -> _Claim:
    """The claim of a statement read just now."""
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
    """Whether something began more than five years before it was said."""
    return begins is not None and said is not None and said - begins > _LONG


def _memoir(new: _Claim, old: _Claim) -> bool:
    """Whether "I moved to Rome in 2015" is a story of the past: a home is known that began later."""
    told = new.long_past and "event" in new.cues
    return told and old.holds_from is not None and new.holds_from is not None and new.holds_from < old.holds_from


def _at_other_times(new: _Claim, old: _Claim) -> bool:
    """Whether one is so on some days only ("on Fridays I work at Acme") and the other on others or always, so that both hold."""
    if new.ended or new.cues & {"event", "over"}:
        return False
    return bool((recurring(new.content) ^ recurring(old.content)) - recurring(f"{new.value} {old.value}"))


def _judge(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """The verdict of the first rule that applies."""
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
    """The verdict when one side is hearsay, which ends nothing: it agrees, or is disputed until confirmed."""
    if new.slot != old.slot or new.negated or old.negated or not is_single(new.slot):
        # How unsure what somebody said is makes it no less sure that it is over.
        return _ends(new, replace(old, confidence=1.0), old_id) if not new.source else None
    if not (new.source and old.source):
        return _refuted(new, old, old_id)
    if _same(new.value, old.value):
        reason = f"{slot_words(new.slot)} {_short(new.value)}: {new.source} says so"
        return _verdict(EvolutionType.EXTEND, _HEARD, reason, old_id)
    reason = f"{slot_words(new.slot)}: {_short(old.value)} or {_short(new.value)}; {new.source} says so"
    return _verdict(EvolutionType.CONTRADICT, _HEARD, reason, old_id)


def _refuted(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """A first-hand statement with a word of change ends hearsay; hearsay never ends a first-hand statement."""
    if new.source or _same(new.value, old.value) or not (new.turns or new.ended or "event" in new.cues):
        return None
    return _verdict(EvolutionType.UPDATE, new.confidence, _change(old, new), old_id)


def _verdict(kind: EvolutionType, confidence: float, reason: str, old_id: str) -> Verdict:
    return Verdict(old_id, kind, round(min(1.0, confidence), 3), reason)


def _sure(new: _Claim, old: _Claim) -> float:
    """The confidence of a verdict: that of its weakest part."""
    return min(new.confidence, new.acting, old.confidence)


def _same(one: str, other: str) -> bool:
    """Whether two values agree, one maybe with more detail."""
    return bool(one) and (value_key(one) == value_key(other) or narrower(one, other))


def _ends(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """The new statement says that the old value is over: "left Acme", "sold the car", "switched from tea"."""
    reachable = old.slot == new.slot or base_slot(old.slot) in ENDS_ANYWHERE
    if old.negated or not reachable:
        return None
    ended = () if _memoir(new, old) and NAMED not in new.cues else new.ended
    for gone in ended:
        if _same(gone, old.value) and not (not new.negated and _same(new.value, old.value)):
            return _verdict(EvolutionType.UPDATE, _met(new, old, gone), _change(old, new), old_id)
    whatever_it_was = not new.value and old.slot == new.slot
    is_over = new.over and (whatever_it_was or (_same(new.value, old.value) and _related(new.slot, old.slot)))
    return _verdict(EvolutionType.UPDATE, _sure(new, old), _change(old, new), old_id) if is_over else None


def _met(new: _Claim, old: _Claim, gone: str) -> float:
    """The confidence that `gone` is over.

    A message that names exactly the known value is trusted more, even if its names are typed in lower case.
    """
    if NAMED in new.cues:
        return min(new.confidence, new.acting) if old.confidence >= _READ else _sure(new, old)
    named = value_key(gone) == value_key(old.value) and min(new.confidence, old.confidence) >= _NEARLY
    return max(_sure(new, old), _NAMED) if named and not new.by_short_reader else _sure(new, old)


_HEARD: Final = 0.5  # confidence of verdicts on hearsay: does not act
_NEARLY: Final = 0.55  # least confidence of both statements for `_NAMED` to apply
_READ: Final = 0.35  # a statement of this confidence is confirmed when its value is named again
_NAMED: Final = 0.7  # confidence when the known value is named exactly
# Slots whose values may be ended by a statement in another one of the group: "quit coffee" ends "drinks coffee".
_FAMILIES: Final = (
    frozenset({"works_at", "lives_in", "studies_at"}),
    frozenset({"likes", "prefers", "drinks", "eats", "plays", "uses", "habit"}),
    frozenset({"owns", "drives", "uses"}),
)


def _related(one: str, other: str) -> bool:
    """Whether two slots are the same or of one family."""
    return one == other or any(base_slot(one) in family and base_slot(other) in family for family in _FAMILIES)


def _turns(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """The same value with opposite polarity: an update with a word of change, else a contradiction."""
    if new.slot != old.slot or new.negated == old.negated or value_key(new.value) != value_key(old.value):
        return None
    polarity = f"{slot_words(new.slot)} {_short(new.value)}: {'no' if old.negated else 'yes'} -> {'no' if new.negated else 'yes'}"
    if new.turns or old.over:
        return _verdict(EvolutionType.UPDATE, _sure(new, old), polarity + _said(new), old_id)
    return _verdict(
        EvolutionType.CONTRADICT, _sure(new, old) * _PLAIN, polarity + "; both claimed, no word of change", old_id
    )


def _same_slot(new: _Claim, old: _Claim) -> bool:
    """The same slot; for a switch, also a preference and a tool of the same kind."""
    if new.slot == old.slot:
        return True
    bases = {base_slot(new.slot), base_slot(old.slot)}
    return new.turns and bases == {"prefers", "uses"} and new.slot.partition(":")[2] == old.slot.partition(":")[2] != ""


def _may_both_hold(slot: str) -> bool:
    """Whether two values of a slot may hold beside each other: two tools, or preferences in things of no known kind ("solo activities")."""
    base, _, kind = slot.partition(":")
    return base in {"uses", "uses_for"} or (base == "prefers" and kind not in KINDS)


def _replaces(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """Another value in a single-valued slot."""
    if not _same_slot(new, old) or not is_single(new.slot) or new.negated or old.negated:
        return None
    relation = value_comparison.values(new.slot, new.value, old.value)
    if relation is value_comparison.Comparison.DIFFERENT:
        sure = min(_sure(new, old), _UNSURE if NAMED in new.cues else 1.0)  # it ends another value by name
        if "also" in new.cues or _at_other_times(new, old):
            return None
        if not new.turns and not new.ended:
            sure *= _PLAIN
            if _may_both_hold(new.slot) or not value_comparison.plausible(new.slot, new.value, old.value):
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
    """Another number of the same things: "two cats", then "three cats"."""
    if new.slot != old.slot or new.slot not in _HOLDINGS or new.negated or old.negated or "also" in new.cues:
        return None
    one, other = value_key(new.value).split(), value_key(old.value).split()
    if len(one) != 2 or len(other) != 2 or one[1] != other[1] or one[0] == other[0]:
        return None
    if not (one[0].isdigit() and other[0].isdigit()):
        return None
    return _verdict(EvolutionType.UPDATE, _sure(new, old) * (1 if new.turns else _PLAIN), _change(old, new), old_id)


def _adds(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """The same claim with more detail."""
    if new.slot != old.slot or new.negated != old.negated or not _same(new.value, old.value):
        return None
    if len(value_key(new.value).split()) < len(value_key(old.value).split()):
        return None
    if len(_words(new.content)) > _CLAIM_WORDS_MAX:
        return None
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
    """Another item of a list: "Mia also speaks Greek"."""
    if new.slot != old.slot or is_single(new.slot) or "also" not in new.cues or new.negated or old.negated:
        return None
    if new.slot not in _LISTS or _same(new.value, old.value):
        return None
    reason = f"{slot_words(new.slot)}: {_short(old.value)}, and {_short(new.value)}"
    return _verdict(EvolutionType.EXTEND, _sure(new, old) * _PLAIN, reason, old_id)


_LISTS: Final = frozenset({"hobby", "speaks", "uses"})  # slots that are lists


def _words(text: str) -> set[str]:
    tokens = tokenize(text, 0, min(len(text), 2_000))
    return {singular(low) for low in tokens.low if len(low) > 2 and low[0].isalnum() and low not in NAME_STOPS}


def _of_a_group(new: _Claim, old: _Claim, old_id: str) -> Verdict | None:
    """A detail of one of a group: "One is called Miso" after "Alice has two cats"."""
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
    """A detail of a possession: "My dog is a beagle" after "I have a dog"."""
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
