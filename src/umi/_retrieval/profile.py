"""What is known of one subject: its facts as of a moment, how sure they are, and their kinds. No model is asked.

Two sources are sound enough to be told as a fact. A statement with an attribute, if a caller set it, or if the clause
reader, whose rules are grammar, reads the same in these words: the reader of short messages alone only guesses. And a
statement that a model read, in its own words. Everything else that was said is left to recall.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from umi._evolution import set_facts
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import statement_order
from umi._evolution.states import HIDDEN, StatementState, StateResolver, View
from umi._evolution.trust import Trust
from umi._evolution.untrusted_claims import untrusted_claims
from umi._evolution.visible_text import held_text
from umi._reading.extract import subject_named
from umi._reading.grammar.slots import base_slot
from umi._reading.grammar.statements import Statement, iter_statements
from umi._reading.grammar.values import value_key
from umi._retrieval.statement_scores import is_read
from umi.limits import EVOLUTION_SUPERSEDE_CONFIDENCE_MIN, LIST_LIMIT_MAX
from umi.ports import Snapshot, Source
from umi.types import Entity, EntityType, Episode, Fact, HitState, Mode, Profile, ProfileKind
from umi.types.filters import Filter
from umi.types.notes import GRAMMAR
from umi.types.zones import statement_in_zone

_KINDS: Final[tuple[tuple[ProfileKind, str], ...]] = (
    (
        ProfileKind.IDENTITY,
        "name age birthday origin email phone address weight height speaks is_a relationship attr:nickname attr:nationality",
    ),
    (ProfileKind.WORK, "works_at role studies studies_at attr:manager attr:salary attr:income"),
    (ProfileKind.PLACES, "lives_in location located_in visited attr:timezone"),
    (ProfileKind.PEOPLE, "married_to partner knows has_child has_sibling attr:best_friend"),
    (ProfileKind.PREFERENCES, "likes prefers diet drinks eats allergic_to hobby plays learns habit"),
    (ProfileKind.THINGS, "owns drives uses uses_for has_pet"),
    (ProfileKind.PLANS, "scheduled_at due"),
)
_KIND_OF: Final = {slot.replace("_", " "): kind for kind, slots in _KINDS for slot in slots.split()}
# Of what a model read, which has no slots: the kind by the type of its subject.
_KIND_OF_TYPE: Final = {
    EntityType.PERSON: ProfileKind.IDENTITY,
    EntityType.ORGANIZATION: ProfileKind.WORK,
    EntityType.PROJECT: ProfileKind.WORK,
    EntityType.LOCATION: ProfileKind.PLACES,
    EntityType.PREFERENCE: ProfileKind.PREFERENCES,
}
# What happens once, and what is to be done, is over at an unknown time.
_PASSING: Final = frozenset({EntityType.EVENT, EntityType.TASK})
_STATUS: Final = "status"  # passes soon, and its end is seldom said: told only where a caller set it
_MEMBERS: Final = frozenset({"called", "member"})  # "one of them is called Miso": of whom it is said is not read
_DATED: Final = frozenset({"scheduled_at", "due"})  # slots that are over once their date is


@dataclass(frozen=True, slots=True)
class Known:
    """What holds of a subject, and its statements that no longer do."""

    subject: str
    facts: tuple[Fact, ...]
    over: tuple[Entity, ...] = ()


def by_attribute(snapshot: Snapshot, name: str, view: View, attribute: str | None = None) -> tuple[Fact, ...]:
    """What holds of a subject by attribute, in order of attribute; see `umi.Memory.facts`."""
    said = snapshot.statements(subject_named(snapshot, name), limit=LIST_LIMIT_MAX)
    wanted = set_facts.is_of(attribute) if attribute is not None else lambda one: bool(one.slot)
    return _known(snapshot, [one for one in said if wanted(one) and one.mode is Mode.ASSERTED], view)[0]


def known(snapshot: Snapshot, name: str, view: View) -> Known:
    """What is known of a subject, of the view's messages: facts by attribute, what a model read of it, and plans."""
    subject = subject_named(snapshot, name)
    said = [
        one
        for one in snapshot.statements(subject, limit=LIST_LIMIT_MAX, where=view.where)
        if _may_be_told(one, subject)
    ]
    moment = view.as_of or view.now
    facts, over = _known(snapshot, said, view)
    return Known(subject, tuple(fact for fact in facts if not _is_past(fact.entity, moment)), over)


def profile(snapshot: Snapshot, name: str, view: View, limit: int | None = None) -> Profile:
    """See `umi.Memory.profile`."""
    found = known(snapshot, name, view)
    return grouped(name, found, snapshot.aliases(found.subject), limit)


def grouped(name: str, found: Known, aliases: Sequence[str], limit: int | None = None) -> Profile:
    """The facts of a subject by kind, at most so many of each."""
    kinds: dict[ProfileKind, list[Fact]] = {kind: [] for kind in ProfileKind}
    for fact in found.facts:
        kinds[kind_of(fact.entity)].append(fact)
    groups = {kind: _first(facts, limit) for kind, facts in kinds.items() if facts}
    left_out = {kind: len(kinds[kind]) - len(kept) for kind, kept in groups.items() if len(kept) < len(kinds[kind])}
    return Profile(name, found.subject, tuple(alias for alias in aliases if alias != found.subject), groups, left_out)


def _first(facts: Sequence[Fact], limit: int | None) -> tuple[Fact, ...]:
    """So many of the facts of a kind, in their order: the newest of every attribute, then the second of each, and so on."""
    if limit is None or len(facts) <= limit:
        return tuple(facts)
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, int]] = []
    for place in reversed(range(len(facts))):  # in order of attribute, then of time
        ranked.append((seen[facts[place].attribute], -place))
        seen[facts[place].attribute] += 1
    return tuple(facts[-place] for _, place in sorted(sorted(ranked)[:limit], key=lambda one: -one[1]))


def kind_of(entity: Entity) -> ProfileKind:
    """The group of a profile that a statement belongs to."""
    if entity.mode is Mode.PLANNED:
        return ProfileKind.PLANS
    if not entity.slot:
        return _KIND_OF_TYPE.get(entity.entity_type, ProfileKind.OTHER)
    if entity.slot.startswith("favourite_"):
        return ProfileKind.PREFERENCES
    whole, base = entity.slot.replace("_", " "), base_slot(entity.slot).replace("_", " ")
    return _KIND_OF.get(whole) or _KIND_OF.get(base, ProfileKind.OTHER)


def first_speaker(snapshot: Snapshot, statements_max: int, where: Filter) -> str:
    """Who is the first to speak as "user": the speaker's name, else the role; "" when nobody is among the first statements."""
    listed = snapshot.list_entities(after=None, limit=statements_max, where=where)
    first = [one for _, one in listed if not set_facts.is_set(one)]
    episodes = snapshot.episodes(one.episode_id for one in first)
    spoken = (episodes[one.episode_id] for one in first if one.episode_id in episodes)
    return next((one.speaker or one.role for one in spoken if one.role == "user"), "")


def _may_be_told(one: Entity, subject: str) -> bool:
    """Whether a statement may be part of a profile at all, while it holds."""
    if one.slot:
        return one.mode is Mode.ASSERTED and one.slot not in _MEMBERS
    about = subject in (one.subject, *one.also)
    told = one.mode is Mode.PLANNED or (one.mode is Mode.ASSERTED and one.entity_type not in _PASSING)
    return about and told and is_read([one]) and one.confidence >= EVOLUTION_SUPERSEDE_CONFIDENCE_MIN


def _known(snapshot: Snapshot, said: Sequence[Entity], view: View) -> tuple[tuple[Fact, ...], tuple[Entity, ...]]:
    """Of some statements those that a view shows and that are sound, as facts, and those that no longer hold, newest first."""
    effects = RelationEffects(snapshot)
    standings = StateResolver(snapshot, view, effects).of(said)
    shown = [one for one in standings if one.shown and one.state not in HIDDEN]
    sure = _sure(snapshot, [one.entity for one in shown])
    telling = _believed(snapshot, [one for one in shown if one.entity.id in sure], view.trust)
    reasons = set_facts.reasons(snapshot, (one.entity for one, _ in telling))
    told = (
        _fact(
            one,
            effects.parts_over(one.entity.id, view.as_of) if one.evolutions else (),
            source,
            reasons.get(one.entity.id, ""),
        )
        for one, source in telling
    )
    facts = sorted((fact for fact in told if fact.value), key=_order)
    over = [one.entity for one in standings if one.state in (HitState.SUPERSEDED, HitState.STALE)]
    return tuple(facts), tuple(sorted(over, key=statement_order, reverse=True))


def _sure(snapshot: Snapshot, said: Sequence[Entity]) -> frozenset[str]:
    """Ids of those statements that are sound enough to be told as facts."""
    guessed = [one for one in said if one.slot and not _is_sound(one)]
    episodes = snapshot.episodes(one.episode_id for one in guessed) if guessed else {}
    doubtful = [one.id for one in guessed if not _is_read_alike(snapshot, one, episodes.get(one.episode_id))]
    weak = [one.id for one in said if one.slot and one.confidence < EVOLUTION_SUPERSEDE_CONFIDENCE_MIN]
    return frozenset(one.id for one in said) - frozenset(doubtful) - frozenset(weak)


def _is_sound(one: Entity) -> bool:
    """Whether a statement with an attribute needs no second reading: a caller set it, or the clause reader read it."""
    return set_facts.is_set(one) or (one.notes is not None and one.notes.reader == GRAMMAR and one.slot != _STATUS)


def _is_read_alike(snapshot: Snapshot, one: Entity, episode: Episode | None) -> bool:
    """Whether the clause reader, too, reads this value of this subject in the message."""
    if episode is None or one.slot == _STATUS:
        return False
    read = iter_statements(episode.content, speaker=episode.speaker, role=episode.role, at=episode.at)
    return any(_says_the_same(snapshot, statement, one) for statement in read)


def _says_the_same(snapshot: Snapshot, read: Statement, one: Entity) -> bool:
    if value_key(read.value) != value_key(one.value) or read.negated != one.negated:
        return False
    return one.subject in {read.subject, *snapshot.subjects_of([read.subject]).values()}


def _is_past(one: Entity, moment: datetime | None) -> bool:
    """Whether a plan or an appointment lies before a moment."""
    if moment is None:
        return False
    if one.mode is Mode.PLANNED:
        # Of a plan that names no time nobody says when it is over, so only one whose time lies ahead is told.
        named = [time for time in (one.valid_from, one.valid_until) if time is not None and time != one.at]
        return not any(time > moment for time in named)
    return base_slot(one.slot) in _DATED and _day_before(one.value, moment)


def _day_before(value: str, moment: datetime) -> bool:
    try:
        return date.fromisoformat(value[:10]) < moment.date()
    except ValueError:
        return False


def _believed(snapshot: Snapshot, shown: Sequence[StatementState], trust: Trust) -> list[tuple[StatementState, Source]]:
    """What is told of these statements, each with its source: of an attribute that somebody trusted speaks of, nobody else's word."""
    untrusted = untrusted_claims(snapshot, shown, trust)
    telling = [one for one in shown if one.entity.id not in untrusted]
    sources = snapshot.sources(one.entity.episode_id for one in telling)
    known = [(one, sources[one.entity.episode_id]) for one in telling if one.entity.episode_id in sources]
    settled = {(one.entity.subject, one.entity.slot) for one, source in known if source.origin in trust.origins}
    return [
        (one, source)
        for one, source in known
        if source.origin in trust.origins or not one.entity.slot or (one.entity.subject, one.entity.slot) not in settled
    ]


def _fact(standing: StatementState, over: Sequence[tuple[int, int]], source: Source, reason: str) -> Fact:
    """A statement as a fact; `over` are its parts that no longer hold."""
    one, origin = statement_in_zone(standing.entity, source.zone), source.origin
    if one.slot:
        return Fact(set_facts.attribute_of(one), one.value, one.negated, one, standing.state, origin, reason)
    # What a model read is told in the words of the message that still hold, under what it is about.
    words = held_text(one.content, over, ())
    return Fact(one.name, words, one.negated, one, standing.state, origin)


def _order(fact: Fact) -> tuple[str, object]:
    return fact.attribute, statement_order(fact.entity)
