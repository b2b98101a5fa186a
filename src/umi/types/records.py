"""The words of Umi as records: what goes in, what is kept, what comes out. All are immutable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any

from umi.types.choices import OriginLike
from umi.types.context_order import by_subject
from umi.types.kinds import ChangeKind, Degradation, Detector, EntityType, EvolutionType, HitState, Origin
from umi.types.learning import Lesson
from umi.types.modes import Mode, Nature
from umi.types.moment import Moment
from umi.types.notes import ReaderNotes

JSONObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One thing said.

    Args:
        content: The text, 1 to 1,000,000 bytes of UTF-8, not blank, no NUL.
        role: "user", "assistant", "system" or a role of your own.
        speaker: Who says it; the subject of "I". Defaults to the role.
        at: When it was said, a datetime with a timezone or a text such as "2026-05-01T09:30Z"; None is now.
        session: The conversation it belongs to; neighbours in a session give each other context.
        id: Your id. Within a namespace it is the idempotency key.
        metadata: JSON-able, at most 64 KiB, returned as given.
        origin: "user", "assistant", "tool" or "document": where the words come from. Defaults to what the role says.
        expires_at: From when on it is gone, timezone-aware; None is never.
    """

    content: str
    role: str = "user"
    speaker: str | None = None
    at: Moment | None = None
    session: str | None = None
    id: str | None = None
    metadata: JSONObject = field(default_factory=dict)
    origin: OriginLike | None = None
    expires_at: Moment | None = None


def origin_of(message: Message) -> Origin:
    """Where the words of a message come from: as it says, else as its role says."""
    return Origin.of_role(message.role) if message.origin is None else Origin(message.origin)


@dataclass(frozen=True, slots=True)
class Episode:
    """One message as stored: verbatim and immutable.

    `at` is when it was said, in the zone that the caller gave, `recorded_at` when Umi took it, `arrival` its place in the
    namespace (0, 1, 2, ...). `origin` is where the words come from. From `expires_at` on it is gone.
    """

    id: str
    content: str
    role: str
    speaker: str | None
    session: str | None
    at: datetime
    recorded_at: datetime
    arrival: int
    message_id: str | None = None
    metadata: JSONObject = field(default_factory=dict)
    origin: Origin = Origin.USER
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Entity:
    """One record of what a span of an episode says about one subject.

    `name` is the subject as written, `subject` its resolved key; `slot` (works_at, lives_in, likes, ...) and `value` are
    empty when the rules found none. `negated` is a denial ("no longer works at Acme", "hates hiking"). `span` is a
    half-open range of characters in the episode's content. `valid_from..valid_to` is world time, half-open;
    `recorded_at..invalidated_at` is when Umi knew. `valid_to` and `invalidated_at` are projections of the evolution rows.
    `at` and `arrival` are the episode's and give the order of statements.

    A model may say more: `also` are the keys of further subjects, `mode` is in which sense it was said, `said_by` who
    said it first where it is reported, `valid_until` when the text itself says that it stops holding. `notes` is what the
    local reader noted for the judge of changes; `metadata` is the caller's.

    Without an `id`, the id is a hash of the fields that say what is claimed and where, so equal input gives equal ids.
    """

    entity_type: EntityType
    name: str
    content: str
    _: KW_ONLY
    id: str = ""
    subject: str = ""
    slot: str = ""
    value: str = ""
    negated: bool = False
    confidence: float = 1.0
    episode_id: str = ""
    span: tuple[int, int] | None = None
    at: datetime | None = None
    arrival: int = -1
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    recorded_at: datetime | None = None
    invalidated_at: datetime | None = None
    metadata: JSONObject = field(default_factory=dict)
    also: tuple[str, ...] = ()
    mode: Mode = Mode.ASSERTED
    said_by: str = ""
    valid_until: datetime | None = None
    notes: ReaderNotes | None = None

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", self._hash())

    def _hash(self) -> str:
        said = [self.entity_type, self.name, self.content, self.subject, self.slot, self.value, self.negated]
        where = [self.episode_id, self.span]
        packed = json.dumps([said, where], ensure_ascii=False, separators=(",", ":"))
        return "ent_" + hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Relation:
    """An extracted link between two subjects: Alice works_at Acme."""

    subject: str
    predicate: str
    object: str
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """What an extractor read in one text (seed 001)."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class EvolutionRelation:
    """One step of evolution, from an older entity (`source_id`) to a newer one (`target_id`).

    `confidence` is 0..1. `acted` says whether an update closed the source's validity (below `Config.act_from` it is
    only flagged). `nature` says what kind of update or extension it is; `part` is the half-open range of characters of the
    source's content that it concerns, None for all of it. `resolved` is the side kept of a settled contradiction ("old",
    "new" or "both"). A relation with `undone_at` is history: it explains, and no longer acts.
    """

    id: str
    source_id: str
    target_id: str
    evolution_type: EvolutionType
    reason: str
    confidence: float
    created_at: datetime
    detector: Detector = Detector.RULES
    acted: bool = False
    resolved: str | None = None
    resolved_at: datetime | None = None
    undone_at: datetime | None = None
    nature: Nature = Nature.NONE
    part: tuple[int, int] | None = None

    @property
    def is_flagged(self) -> bool:
        """Whether it is an update that was noted and does not act: unless it was settled, both statements hold."""
        return self.evolution_type is EvolutionType.UPDATE and not self.acted


@dataclass(frozen=True, slots=True)
class DetectionOptions:
    """Bounds of one detection (seed 000): `min_confidence` 0..1, `max_comparisons` 1..10."""

    min_confidence: float = 0.3
    max_comparisons: int = 10


@dataclass(frozen=True, slots=True)
class DetectionResult:
    """The relation found and whether a model named it (False when the rules decided)."""

    relation: EvolutionRelation
    llm_used: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """What an operation spent on models."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One question to a model: `task` is data ("extract", "evolve", "rewrite"), never guessed from the prompt.

    `schema` is the JSON schema of the answer, for models that can be held to one; the prompt says it in words too.
    """

    prompt: str
    task: str = ""
    attempt: int = 0  # 1 when the first answer was refused
    schema: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer."""

    content: str
    usage: Usage = field(default_factory=Usage)
    decision_id: str = ""  # of the routing that chose the model, if any


@dataclass(frozen=True, slots=True)
class VectorHit:
    """One neighbour of a vector: cosine in -1..1 (seed 004)."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class RememberReceipt:
    """What one `remember` did.

    `deferred` are ids of episodes that this call stored and did not finish: a model or an embedder failed, or `read="later"` was
    asked for. They are found by their words, and wait (`Memory.waiting`) until `maintain`, `work` or a later `remember` finishes them.
    `replayed` is True when every message was known by its idempotency key and nothing was written. `forgotten` are the
    keys of those that were forgotten or erased earlier: what comes under such a key is not kept again.
    """

    episode_ids: tuple[str, ...]
    entities: tuple[Entity, ...]
    evolutions: tuple[EvolutionRelation, ...]
    deferred: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    usage: Usage = field(default_factory=Usage)
    replayed: bool = False
    forgotten: tuple[str, ...] = ()

    @property
    def superseded(self) -> tuple[str, ...]:
        """Ids of entities that this remember closed."""
        mine = {entity.id for entity in self.entities}
        return tuple(
            relation.source_id
            for relation in self.evolutions
            if relation.evolution_type is EvolutionType.UPDATE and relation.acted and relation.target_id in mine
        )


@dataclass(frozen=True, slots=True)
class BulkReceipt:
    """What one `remember_many` did, in counts; `deferred` is as in `RememberReceipt`."""

    messages: int
    entities: int
    evolutions: int
    replayed: int
    deferred: int
    degraded: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class MaintainReceipt:
    """What one `maintain` or `work` did: texts finished, and those that wait now, whichever call deferred them.

    `waiting` lists the first hundred with the last reason of each, `waiting_count` counts all.
    `unclean` is True while bytes of something deleted are kept in the file by somebody who still reads it.
    """

    completed: int
    waiting: tuple[OutboxItem, ...]
    waiting_count: int
    degraded: tuple[Degradation, ...] = ()
    unclean: bool = False


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """Work that an episode still needs: whatever of entities, evolution and vectors is not there yet; with `again` it is to be read anew."""

    episode_id: str
    arrival: int
    attempts: int = 0
    reason: str = ""
    derived_from: tuple[str, ...] = ()
    extract_entities: bool = True
    track_evolution: bool = True
    again: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """One episode that answers, by the span that matched.

    `id` is the matching entity's, or the episode's while its extraction is deferred. `content` is the whole message, word for word; when
    part of it is over, what is left of it, the pieces joined by " ... ". `matched` is the half-open range of characters of the
    message that answers. `score` is the probability that the hit is relevant when `calibrated`, else only an order. `legs` (with `explain=True`) names what
    each leg and prior gave, and `lesson` what
    outcomes have taught about it: with learning on, hits stand in order of the odds of their score times the lesson's factor. `newer_than` are the ids
    of what tells the same thing as it was before, as far as somebody thinks so: hits below, and such as are left out of this answer
    (`include_superseded=True` shows them). `namespace` is the one it was found in.
    """

    id: str
    content: str
    score: float
    state: HitState
    episode: Episode
    entity: Entity | None = None
    evolutions: tuple[EvolutionRelation, ...] = ()
    calibrated: bool = True
    legs: Mapping[str, float] = field(default_factory=dict)
    lesson: Lesson | None = None
    matched: tuple[int, int] | None = None
    newer_than: tuple[str, ...] = ()
    namespace: str = ""

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The caller's own ids of the messages behind this hit."""
        return (self.episode.message_id,) if self.episode.message_id is not None else ()

    @property
    def at(self) -> datetime:
        """When it was said."""
        return self.episode.at

    @property
    def speaker(self) -> str | None:
        """Who said it."""
        return self.episode.speaker

    @property
    def origin(self) -> Origin:
        """Where its words come from."""
        return self.episode.origin


@dataclass(frozen=True, slots=True)
class RecallReceipt:
    """What one `recall` found and how.

    `abstained` is True when the store holds nothing relevant enough; `why_abstained` then says why, in words. `best_score` is that of the
    best candidate, shown or not; None where there was none. `stale_s` is how old, in seconds, what a replica answered from may be at
    most; None where the store itself answered.
    """

    id: str
    query: str
    hits: tuple[Hit, ...]
    abstained: bool = False
    degraded: tuple[Degradation, ...] = ()
    deep_search_used: bool = False
    query_variations: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    best_score: float | None = None
    why_abstained: str = ""
    stale_s: float | None = None

    def as_context(self) -> str:
        """The hits as lines for a prompt: date, speaker, text, and the state where it is not current.

        Lines about one subject stand together, oldest first; the subject of the best hit comes first.
        """
        return "\n".join(context_line(hit) for hit in by_subject(self.hits))


def context_line(hit: Hit) -> str:
    """One hit as a line for a prompt."""
    state = "" if hit.state is HitState.CURRENT else f" [{hit.state}]"
    speaker = f"{hit.speaker}: " if hit.speaker else ""
    return f"- {hit.at:%Y-%m-%d}{state} {origin_mark(hit.origin)}{speaker}{hit.content}"


def origin_mark(origin: Origin) -> str:
    """What a line for a prompt says of words that no person and no assistant wrote: "(document) "."""
    return f"({origin}) " if origin in (Origin.TOOL, Origin.DOCUMENT) else ""


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One statement of a chain, oldest first, with its state today and the relations that touch it.

    What has named its own end is superseded from then on, and what a fact replaces that is set from a later moment on is current
    until then; the fact is so, too, and its `valid_from` says from when. `reason` is why `set_fact` set it; "" of what was read in talk.
    """

    entity: Entity
    state: HitState
    evolutions: tuple[EvolutionRelation, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """What holds of a subject in one attribute. `negated` says that the value does not hold ("does not like tea").

    `attribute` is as the caller named it in `set_fact`, else Umi's own name for what was read; `entity` is the statement, with its
    source in `episode_id` and `span`. `state` is current, or disputed while a contradiction is open. `origin` is where the words come
    from. `reason` is why it was set; "" of what was read in talk.
    """

    attribute: str
    value: str
    negated: bool
    entity: Entity
    state: HitState
    origin: Origin = Origin.USER
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an entity is known and stands as it does: source episode, what it rests on, what changed it."""

    entity: Entity
    state: HitState
    episode: Episode
    evolutions: tuple[EvolutionRelation, ...]
    derived_from: tuple[Entity, ...] = ()
    supports: tuple[Entity, ...] = ()
    stale_because: tuple[EvolutionRelation, ...] = ()
    lesson: Lesson | None = None  # where learning is on and has an opinion


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing; give `next` back as `after` for the following one, None after the last."""

    items: tuple[HistoryStep, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """One page of messages; give `next` back as `after` for the following one, None after the last."""

    items: tuple[Episode, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a write did. `sequence` is that of the write; `id` names a message, or the relation of "related"."""

    sequence: int
    kind: ChangeKind
    id: str


@dataclass(frozen=True, slots=True)
class NamespaceInfo:
    """A namespace and how much it holds."""

    name: str
    episodes: int
    entities: int


@dataclass(frozen=True, slots=True)
class Stats:
    """What a namespace holds and what has happened to it in this process. `waiting` counts the texts that are not finished yet."""

    namespace: str
    episodes: int
    entities: int
    vectors: int
    evolutions: Mapping[str, int]
    states: Mapping[str, int]
    waiting: int
    embedder: str | None
    sequence: int
    store_bytes: int
    cache_bytes: int
    degradations: Mapping[str, int] = field(default_factory=dict)
