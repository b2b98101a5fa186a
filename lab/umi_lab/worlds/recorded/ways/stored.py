"""Runs about statements that callers make and store: the port of the store, facts, relations, detection, extraction and retrieval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from umi import DetectionOptions, DualRetriever, EntityExtractor, EvolutionTracker
from umi.memory import Memory
from umi.sim.embedder import text_vector
from umi.sim.storage import SimStorage
from umi.types import Entity, EntityType, Keep, Mode, Origin, ReaderNotes
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.ways.kit import Stage, look, noted, noted_now, runs, there, tried, view

_AT: Final = datetime(2029, 5, 1, 9, 30, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_SAID: Final = (
    "Sam lives in Oslo.",
    "Sam moved to Bergen.",
    "Sam works at Initech.",
    "Sam now works at Globex.",
    "Ada likes tea.",
    "Ada doesn't like tea anymore.",
    "Ada's dog is called Rex.",
    "I am allergic to peanuts. My sister is Nora and she lives in Rome.",
    "The deadline of Apollo is 4 June 2029.",
    "The deadline of Apollo was moved to 11 June 2029.",
    "Bob is 41 years old and plays chess.",
    "Actually, Bob is 42.",
)


def made() -> list[Entity]:
    """Statements made by hand: some with nothing but what is needed, one with every field, and some that replace each other."""
    every = Entity(
        EntityType.PREFERENCE,
        "Vera prefers rye",
        "Vera prefers rye bread since May",
        id="en_every",
        subject="vera",
        slot="prefers",
        value="rye bread",
        negated=False,
        confidence=0.75,
        at=_AT,
        valid_from=_AT - 30 * _DAY,
        valid_to=None,
        recorded_at=_AT + _DAY,
        metadata={"source": "form", "page": 3},
        also=("lomo", "ada"),
        mode=Mode.PLANNED,
        said_by="vera",
        valid_until=_AT + 60 * _DAY,
        notes=ReaderNotes("grammar", ("now",), ("oats",), ("2029-05-01/2029-05-02",), "vera", "bread", "ada", 0.5),
    )
    cities = [
        Entity(
            EntityType.LOCATION,
            f"Vera lives in {city}",
            f"Vera lives in {city}.",
            id=f"en_city{number}",
            subject="vera",
            slot="lives in",
            value=city,
            at=_AT + number * _DAY,
            valid_from=_AT + number * _DAY,
        )
        for number, city in enumerate(("Lima", "Quito", "Lima", "Bogota"))
    ]
    bare = Entity(EntityType.NOTE, "rain", "It rained on Tuesday.", id="en_bare")
    denied = Entity(
        EntityType.PREFERENCE,
        "Vera",
        "Vera does not want rye.",
        id="en_not",
        subject="vera",
        slot="prefers",
        value="rye bread",
        negated=True,
    )
    return [every, *cities, bare, denied]


async def _port(stage: Stage) -> None:
    for url in ("dict:", stage.url("port")):
        async with stage.memory(url, embedder=stage.embedder()) as memory:
            await _through_port(memory)
            await look(
                memory,
                ("vera", "lomo", "rain"),
                questions=("Where does Vera live?", "What does Vera prefer?", "rain on Tuesday"),
            )
            await memory.maintain()
            await look(memory, ("vera",), questions=("Which bread does Vera want?",))


async def _through_port(memory: Memory) -> None:
    rows = view(memory)
    said = await memory.remember("Vera told Ada that rye is fine.", speaker="Ada")
    for one in made():
        await noted("store_entity", rows.store_entity(one))
        await noted("store_entity again", rows.store_entity(one))
    other = Entity(EntityType.NOTE, "rain", "It rained on Friday.", id="en_bare")
    await noted("store_entity otherwise", rows.store_entity(other))
    hung = Entity(EntityType.NOTE, "rye", "rye is fine", id="en_hung", episode_id=said.episode_ids[0], span=(15, 26))
    await noted("store_entity of an episode", rows.store_entity(hung))
    lost = Entity(EntityType.NOTE, "lost", "lost", id="en_lost", episode_id="ep_nowhere")
    await noted("store_entity of no episode", rows.store_entity(lost))
    vectors = rows.vectors
    for id_ in ("en_every", "en_city0", "en_bare", "en_hung", "en_nowhere", said.episode_ids[0]):
        await noted("get_entity", rows.get_entity(id_))
        await noted("store", vectors.store(id_, text_vector(id_.replace("_", " ") + " rye bread")))
        await noted("exists", vectors.exists(id_))
        kept = await vectors.get(id_)
        note("get", None if kept is None else kept.tolist()[:12])
    await noted("store of another size", vectors.store("en_every", text_vector("rye")[:100]))
    for limit in (1, 2, 3, 5, 50):
        for words in ("Vera", "rye bread", "lives in Lima", "nothing of this", "it rained"):
            await noted("search", rows.search(words, limit=limit))
        await noted("search by vector", vectors.search(text_vector("rye bread"), limit=limit))
        await noted("list", rows.list(limit=limit))
    await noted("count", rows.count())
    await noted("count of vectors", vectors.count())
    for id_ in ("en_bare", "en_bare", "en_nowhere", said.episode_ids[0]):
        await noted("delete vectors", vectors.delete(id_))
    await noted("count of vectors", vectors.count())
    for id_ in ("en_city1", "en_city1", "en_hung", "en_nowhere"):
        await noted("delete", rows.delete(id_))
    await noted("count", rows.count())
    await noted("search", rows.search("rye bread", limit=9))


async def _snapshot(stage: Stage) -> None:
    """What the rows give to those who read them in one snapshot."""
    async with stage.memory(stage.url("rows"), embedder=stage.embedder()) as memory:
        for place, text in enumerate(_SAID):
            await memory.remember(
                text, speaker=("Sam", "Ada")[place % 2], session=f"s{place % 3}", at=_AT + place * _DAY
            )
        rows = view(memory)
        ids = [episode.id for episode in (await memory.episodes()).items]

        await rows.read(lambda snapshot: _note_rows(snapshot, ids))


def _note_rows(s: Any, ids: list[str]) -> None:
    ask = {
        "counts": (),
        "relations_of": ([],),
        "sources": (ids,),
        "read_at": (range(4),),
        "days": (_AT - 400 * _DAY, _AT + 900 * _DAY),
        "subjects_of": (["sam", "ada", "me", "sister", "nobody"],),
        "aliases": ("sam",),
        "speakers": (["sam", "ada", "bob", "oslo"],),
        "first_expiry": (),
        "restoring": (),
    }
    for name, given in ask.items():
        note(name, getattr(s, name)(*given))
    for subject in ("sam", "ada", "bob", "apollo"):
        for limit in (1, 3, 99):
            note("statements", s.statements(subject, limit=limit))
            note(
                "statements_in",
                sorted(s.statements_in([(subject, "lives in"), (subject, "works at")], limit=limit).items()),
            )
        note("periods", s.periods(subject, 4))
    for newest in (False, True):
        for limit in (1, 5, 99):
            page = s.list_entities(after=None, limit=limit, newest=newest)
            note("list_entities", page)
            note("list_entities after", s.list_entities(after=page[-1][0], limit=3, newest=newest))
            note("list_episodes", s.list_episodes(after=limit, limit=limit, newest=newest))
    for what in ("scan_episodes", "scan_entities", "scan_relations", "scan_aliases", "scan_replays", "scan_outbox"):
        note(what, list(getattr(s, what)()))
    for after in (0, 1, 5, 99):
        note("changes", s.changes(after, 3))
    for terms in (["oslo"], ["tea", "dog"], ["sam", "work"], ["zzz"]):
        found = s.text_candidates(terms)
        note(
            "text_candidates",
            [found.keys.tolist(), found.words.tolist(), found.spoken.tolist(), found.session_unit.tolist()],
        )
        for level in (found.turn, found.neighbours, found.session):
            told = (level.unit, level.term, level.tf, level.length, level.df)
            note("level", [*(one.tolist() for one in told), level.average_length, level.count])
        near = s.vector_candidates(text_vector(" ".join(terms)), pool=3)
        note(
            "vector_candidates",
            [near.keys.tolist(), near.cosine.tolist(), near.words.tolist(), near.mean, near.deviation, near.count],
        )
        around = s.surroundings(found.keys)
        places = (around.traits, around.traits_before, around.at, around.session, around.before, around.after)
        note("surroundings", [one.tolist() for one in places])


async def _facts(stage: Stage) -> None:
    """Facts that callers set, relations that they state, and contradictions that they settle."""
    async with stage.memory(stage.url("facts")) as memory:
        for place, (subject, attribute, value) in enumerate(
            (
                ("Ada", "city", "Oslo"),
                ("Ada", "city", "Bergen"),
                ("Ada", "city", "Bergen"),
                ("Ada", "City ", "oslo"),
                ("Ada", "pet", "a dog"),
                ("ada", "shoe size", "39"),
                ("Apollo", "deadline", "2029-06-04"),
                ("Apollo", "deadline", "2029-06-11"),
                ("", "city", "Oslo"),
                ("Ada", "", "Oslo"),
                ("Ada", "city", ""),
            )
        ):
            at = _AT + (20 - place) * _DAY if place % 4 == 3 else _AT + place * _DAY
            await tried(
                memory.set_fact(subject, attribute, value, at=at, reason="told at the desk" if place % 2 else None)
            )
            for attribute_ in (None, attribute or "city"):
                await tried(memory.facts("Ada", attribute=attribute_))
        for day in range(-1, 24, 3):
            await memory.facts("Ada", as_of=_AT + day * _DAY)
            await memory.profile("Ada", as_of=_AT + day * _DAY, limit=1 + day % 3)
        await _relate(memory)
        await look(
            memory,
            ("Ada", "Apollo", "Sam", "Bob"),
            questions=("Where does Ada live?", "What is the deadline of Apollo?"),
        )


# Places of an older and a newer statement, and how they relate.
_RELATED: Final[tuple[tuple[int, int, Any], ...]] = (
    (0, 4, "update"),
    (4, 0, "update"),
    (1, 1, "extend"),
    (2, 5, "contradict"),
    (3, 6, "derive"),
    (5, 7, "extend"),
    (6, 8, "contradict"),
    (0, 4, "update"),
    (0, 4, "contradict"),
    (7, 9, "nothing"),
)

_KEEPS: Final[tuple[Keep, ...]] = ("old", "new", "both")


async def _relate(memory: Memory) -> None:
    receipts = [await memory.remember(text, at=_AT + place * _DAY, speaker="Kim") for place, text in enumerate(_SAID)]
    ids = [entity.id for receipt in receipts for entity in receipt.entities]
    for place, (old, new, kind) in enumerate(_RELATED):
        said: Any = kind
        made_ = await tried(memory.relate(ids[old], ids[new], said, "told so"))
        if made_ is not None:
            await tried(memory.preview_undo(made_.id))
            for keep in (_KEEPS[place % len(_KEEPS)], "new"):
                await tried(memory.resolve(made_.id, keep))
            await tried(memory.why(ids[new]))
            if place % 2:
                await tried(memory.undo(made_.id))
                await tried(memory.undo(made_.id))
            await tried(memory.history(ids[old]))
    await tried(memory.relate(ids[0], "en_nowhere", "update", "told so"))
    await tried(memory.resolve("rel_nowhere"))


async def _tracking(stage: Stage) -> None:
    """Relations that a tracker detects among statements made by hand, and read by the extractor."""
    async with stage.memory() as memory:
        rows = view(memory)
        tracker = EvolutionTracker(None, rows)
        extractor = EntityExtractor()
        read: list[Entity] = []
        for place, text in enumerate(_SAID):
            for at in (_AT + place * _DAY, None):
                found = await noted("extract", extractor.extract(text, speaker="Sam" if place % 2 else None, at=at))
            for number, entity in enumerate(there(found).entities):
                known = Entity(
                    entity.entity_type,
                    entity.name,
                    entity.content,
                    id=f"en_{place}_{number}",
                    subject=entity.subject,
                    slot=entity.slot,
                    value=entity.value,
                    negated=entity.negated,
                    at=_AT + place * _DAY,
                    arrival=place,
                    valid_from=_AT + place * _DAY,
                    notes=entity.notes,
                )
                read.append(known)
        for options in (None, DetectionOptions(0.0, 1), DetectionOptions(0.8, 3), DetectionOptions(0.95, 10)):
            for place, new in enumerate([*read, *made()]):
                await noted("detect", tracker.detect(new, read[:place], options))
                await noted("detect backwards", tracker.detect(new, read[place::-1], options))
        for one in [*made(), *read]:
            await noted("find_and_detect", tracker.find_and_detect(one))
            await rows.store_entity(one)
            await noted("find_and_detect when stored", tracker.find_and_detect(one, DetectionOptions(0.3, 4)))
        await noted("detect without an id", tracker.detect(Entity(EntityType.NOTE, "a", "b", id=""), read))
        for answer in _ANSWERS:
            noted_now("parse_response", tracker.parse_response, answer, "en_1_0")
        note("failures", tracker.failures)


_ANSWERS: Final = (
    "",
    "none",
    '{"type": "none"}',
    '{"type": "update", "related_id": "en_0_0", "reason": "moved", "confidence": 0.9}',
    'Sure: {"type": "Contradict", "related_id": "en_0_0", "reason": "", "confidence": 1.4} I hope that helps.',
    '{"type": "same", "related_id": "en_0_0", "confidence": 0.3, "part": "all of it"}',
    '{"type": "ended", "related_id": "en_0_0", "reason": "over", "confidence": "high"}',
    '{"type": "correct", "related_id": "en_0_0", "reason": 7}',
    '{"type": "derive", "related_id": null}',
    '{"type": "replaces", "related_id": "en_0_0"}',
    "[1, 2]",
)


async def _retrieved(stage: Stage) -> None:
    """Searches by a retriever made by hand, over one store and over two."""
    storage = SimStorage(stage.clock, stage.rng)
    for place, one in enumerate([*made(), *(_plain(place, text) for place, text in enumerate(_SAID))]):
        await storage.store_entity(one)
        if place % 3:
            await storage.vectors.store(one.id, text_vector(one.content))
    embedder = stage.embedder()
    for vector, by in ((None, None), (storage, embedder), (storage.vectors, embedder), (storage.vectors, None)):
        retriever = DualRetriever(None, by, vector, storage)
        for limit in (1, 4, 30):
            for question in (
                "Where does Sam live?",
                "Vera",
                "rye bread and tea",
                "who works at Globex",
                "nothing like that",
                "",
            ):
                await noted("fast_search", retriever.fast_search(question, limit))
                await noted("deep_search", retriever.deep_search(question, limit))
    lists = [made()[:3], made()[2:5], list(reversed(made()))]
    for limit in (1, 2, 3, 4, 7, 20):
        note("rrf_merge", [one.id for one in retriever.rrf_merge(lists, limit)])
        note("rrf_merge of one", [one.id for one in retriever.rrf_merge(lists[:1], limit)])


def _plain(place: int, text: str) -> Entity:
    return Entity(EntityType.NOTE, text.partition(" ")[0], text, id=f"en_plain{place}", at=_AT + place * _DAY)


async def _trusted(stage: Stage) -> None:
    """Statements of every origin about one thing, planned, dated, and said of it by others."""
    async with stage.memory(stage.url("trust")) as memory:
        for place, origin in enumerate((*Origin, *Origin)):
            for text in (
                f"Lena lives in {_CITIES[place]}.",
                f"Lena plans to move to {_CITIES[-place - 1]} in June 2029.",
            ):
                await memory.remember(text, origin=origin, at=_AT + place * _DAY, speaker="Lena" if place % 3 else None)
        page = await memory.undecided(limit=2)
        while page.items:
            for one in page.items:
                await tried(memory.resolve(one.relation.id, ("old", "new", "both")[len(one.relation.id) % 3]))
            if page.next is None:
                break
            page = await memory.undecided(limit=2, after=page.next)
        for day in range(-1, 40, 4):
            await memory.facts("Lena", as_of=_AT + day * _DAY)
        await look(memory, ("Lena",), questions=("Where does Lena live?", "Where will Lena move?"))


_CITIES: Final = ("Oslo", "Rome", "Lima", "Cairo", "Quito", "Turin", "Delhi", "Bern")

STORED: Final = runs(
    stored_port=_port,
    stored_rows=_snapshot,
    stored_facts=_facts,
    stored_tracking=_tracking,
    stored_retrieved=_retrieved,
    stored_trusted=_trusted,
)
