"""What every store keeps and gives back, row by row."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from store_rows import axis, entity, episode_row, later, relation, seed, windows

from umi._core.invariants import InvariantError
from umi.errors import EmbedderMismatch
from umi.ports import EmbedderIdentity, ReplayRow, Snapshot, StorageBackend, Store, Transaction
from umi.types import Detector, Entity, EntityType, EvolutionType, NamespaceInfo, OutboxItem


async def test_an_episode_comes_back_as_it_was_given(alice: StorageBackend) -> None:
    given = episode_row(
        0,
        "Miso は猫です 🐈 O'Neil\nsecond line",
        session=None,
        speaker="Alice",
        at=datetime(1999, 12, 31, 23, 59, 59, 999_999, timezone(timedelta(hours=9))),
        message_id="m-1",
        metadata={"b": [1, 2.5, None, {"ü": True}], "a": "é"},
    )
    await alice.write(lambda tx: tx.add_episodes([given]))
    found = await alice.read(lambda s: (s.episodes(["ep_0"]), s.episodes_at([0])))
    assert found == ({"ep_0": given.episode}, {0: given.episode})
    assert found[0]["ep_0"].at.utcoffset() == timedelta(hours=9)
    assert list(found[0]["ep_0"].metadata) == ["b", "a"]


@pytest.mark.parametrize(
    "content",
    [
        "x" * 1_000_000,
        "猫" * 333_333,
        "e\u0301 \u00e9 \u200d \ufeff \U0010ffff",
        "line\r\nfeed\ttab \x01",
        'O\'Neil "q" ; DROP TABLE',
    ],
    ids=["ascii-1MB", "cjk-1MB", "odd", "control", "quotes"],
)
async def test_texts_come_back_character_for_character(alice: StorageBackend, content: str) -> None:
    await alice.write(lambda tx: tx.add_episodes([episode_row(0, content)]))
    await alice.write(lambda tx: tx.add_entities([entity(0, content, id="e")]))
    assert (await alice.read(lambda s: s.episodes(["ep_0"])))["ep_0"].content == content
    assert (await alice.read(lambda s: s.entities(["e"])))["e"].content == content
    assert unicodedata.is_normalized("NFC", content) or content == "e\u0301 \u00e9 \u200d \ufeff \U0010ffff"


async def test_an_entity_comes_back_with_its_episodes_time_and_arrival(alice: StorageBackend) -> None:
    given = Entity(
        EntityType.TASK,
        "Alice",
        "No longer works at Acme",
        subject="alice",
        slot="works_at",
        value="acme",
        negated=True,
        confidence=0.123456789,
        episode_id="ep_4",
        span=(3, 26),
        valid_from=later(-100),
        valid_to=later(100),
        recorded_at=later(1),
        invalidated_at=later(2),
        metadata={"k": ["v"]},
    )

    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(4)])
        tx.add_entities([given])

    await alice.write(work)
    found = (await alice.read(lambda s: s.entities([given.id])))[given.id]
    assert found == replace(given, at=later(4), arrival=4)


async def test_metadata_of_a_caller_is_not_shared(alice: StorageBackend) -> None:
    metadata = {"list": [1]}
    await alice.write(lambda tx: tx.add_episodes([episode_row(0, metadata=metadata)]))
    metadata["list"].append(2)
    first = (await alice.read(lambda s: s.episodes(["ep_0"])))["ep_0"]
    first.metadata["list"].append(3)
    assert (await alice.read(lambda s: s.episodes(["ep_0"])))["ep_0"].metadata == {"list": [1]}


async def test_lookups_leave_out_what_is_not_here(alice: StorageBackend) -> None:
    await seed(alice)

    def work(s: Snapshot) -> list[object]:
        found = s.episodes_at([0, 99, -1])
        return [
            s.episodes(["ep_1", "no", "ep_1"]),
            found,
            s.entities(["e2", "no"]),
            s.relations(["no"]),
            s.replays(["no"]),
        ]

    episodes, at, entities, relations, replays = await alice.read(work)
    assert (list(episodes), list(at), list(entities), relations, replays) == (["ep_1"], [0], ["e2"], {}, {})
    nothing = await alice.read(
        lambda s: [
            s.episodes([]),
            s.episodes_at([]),
            s.entities([]),
            s.entities_of([]),
            s.relations_of([]),
            s.replays([]),
        ]
    )
    assert nothing == [{}] * 6


async def test_entities_of_an_episode_stand_in_order_of_span(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(0), episode_row(1), episode_row(2)])
        spans = {"none": None, "second": (9, 12), "first": (0, 4), "inner": (0, 2)}
        tx.add_entities([entity(1, id=name, span=span) for name, span in spans.items()])
        tx.add_entities([entity(0, id="other")])

    await alice.write(work)
    await alice.write(lambda tx: tx.add_entities([entity(1, id="late", span=(5, 6))]))
    found = await alice.read(lambda s: s.entities_of(["ep_1", "ep_2", "ep_0", "no"]))
    assert {key: [each.id for each in value] for key, value in found.items()} == {
        "ep_0": ["other"],
        "ep_1": ["inner", "first", "late", "second", "none"],
    }


async def test_statements_are_newest_first_by_time_then_arrival_then_span(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes(
            [
                episode_row(0, at=later(50)),
                episode_row(1, at=later(10)),
                episode_row(2, at=later(50)),
                episode_row(3, at=later(20)),
            ]
        )
        lives = {"slot": "lives_in"}
        works = {"slot": "works_at"}
        tx.add_entities(
            [
                entity(0, id="a", **works),
                entity(1, id="b", **works),
                entity(2, id="c2", span=(7, 9), **works),
                entity(2, id="c1", span=(1, 2), **works),
                entity(3, id="d", **lives),
                entity(3, id="bob", subject="bob", **works),
            ]
        )

    await alice.write(work)

    async def ids(subject: str, slot: str | None, limit: int = 10) -> list[str]:
        def look(s: Snapshot) -> list[Entity]:
            pair = (subject, slot or "")
            return s.statements(subject, limit=limit) if slot is None else s.statements_in([pair], limit=limit)[pair]

        return [each.id for each in await alice.read(look)]

    assert await ids("alice", "works_at") == ["c2", "c1", "a", "b"]
    assert await ids("alice", None) == ["c2", "c1", "a", "d", "b"]
    assert await ids("alice", "works_at", 3) == ["c2", "c1", "a"]
    assert await ids("alice", None, 4) == ["c2", "c1", "a", "d"]
    assert await ids("bob", "works_at") == ["bob"]
    assert await ids("alice", "") == []
    assert await ids("carol", None) == []


async def test_listing_goes_page_by_page_over_every_entity_once(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(4)])
        spans = [(0, 1), (2, 3), (4, 5)]
        tx.add_entities(
            [entity(number, id=f"e{number}{i}", span=span) for number in (3, 0, 2) for i, span in enumerate(spans)]
        )

    await alice.write(work)
    everything = [f"e{number}{i}" for number in (0, 2, 3) for i in range(3)]
    for size in (1, 2, 3, 4, 9, 100):
        seen: list[str] = []
        after = None
        while page := await alice.read(lambda s: s.list_entities(after=after, limit=size)):  # noqa: B023
            assert len(page) <= size
            seen += [each.id for _, each in page]
            after = page[-1][0]
        assert seen == everything


async def test_a_cursor_survives_deletion_of_what_it_points_at(alice: StorageBackend) -> None:
    await seed(alice)
    page = await alice.read(lambda s: s.list_entities(after=None, limit=2))
    await alice.write(lambda tx: tx.delete_episode("ep_1"))
    rest = await alice.read(lambda s: s.list_entities(after=page[-1][0], limit=5))
    assert [each.id for _, each in rest] == ["e2"]


async def test_a_made_up_cursor_shows_nothing_of_another_namespace(store: Store, alice: StorageBackend) -> None:
    await seed(alice)
    for name in ("bob", "carol", "dave"):
        await seed(store.namespace(name))
    mine = await alice.read(lambda s: s.list_entities(after=None, limit=99, newest=True))
    for shift in range(8):
        beyond = (shift + 1 << 40) + 5
        for newest in (False, True):
            found = await alice.read(lambda s: s.list_entities(after=(beyond, 0), limit=99, newest=newest))  # noqa: B023
            assert found in ([], mine)
            said = await alice.read(lambda s: s.list_episodes(after=beyond, limit=99, newest=newest))  # noqa: B023
            assert len(said) in {0, 3}


async def test_relations_are_found_from_both_ends_in_order(alice: StorageBackend) -> None:
    await seed(alice)
    rows = [
        relation("e0", "e1", "r2", created_at=later(5)),
        relation("e1", "e2", "r1", created_at=later(5), evolution_type=EvolutionType.CONTRADICT, undone_at=later(9)),
        relation("e2", "e1", "r0", created_at=later(6), acted=True, resolved="new", resolved_at=later(7)),
        relation("e0", "e2", "r9", created_at=later(1), evolution_type=EvolutionType.DERIVE),
    ]

    def work(tx: Transaction) -> None:
        for row in rows:
            tx.put_relation(row)

    await alice.write(work)
    found = await alice.read(lambda s: s.relations_of(["e1", "e0", "no"]))
    assert {key: [row.id for row in value] for key, value in found.items()} == {
        "e1": ["r1", "r2", "r0"],
        "e0": ["r9", "r2"],
    }
    assert await alice.read(lambda s: s.relations(["r0", "r1"])) == {"r0": rows[2], "r1": rows[1]}
    assert dict((await alice.read(lambda s: s.counts())).evolutions) == {"derive": 1, "update": 2}


async def test_putting_a_relation_again_replaces_it(alice: StorageBackend) -> None:
    await seed(alice)
    first = relation("e0", "e1")
    undone = replace(first, undone_at=later(3), detector=Detector.CALLER)
    moved = replace(first, target_id="e2")
    await alice.write(lambda tx: tx.put_relation(first))
    await alice.write(lambda tx: tx.put_relation(undone))
    assert await alice.read(lambda s: s.relations_of(["e0", "e1"])) == {"e0": (undone,), "e1": (undone,)}
    await alice.write(lambda tx: tx.put_relation(moved))
    assert await alice.read(lambda s: s.relations_of(["e0", "e1", "e2"])) == {"e0": (moved,), "e2": (moved,)}


async def test_validity_is_set_and_taken_back(alice: StorageBackend) -> None:
    await seed(alice)
    await alice.write(lambda tx: tx.set_validity("e0", later(3), later(4)))
    closed = await alice.read(lambda s: s.entities(["e0", "e1"]))
    assert (closed["e0"].valid_to, closed["e0"].invalidated_at) == (later(3), later(4))
    assert (closed["e1"].valid_to, closed["e1"].invalidated_at) == (None, None)
    await alice.write(lambda tx: tx.set_validity("e0", None, None))
    opened = (await alice.read(lambda s: s.entities_of(["ep_0"])))["ep_0"][0]
    assert (opened.valid_to, opened.invalidated_at) == (None, None)


async def test_the_first_owner_of_an_alias_keeps_it(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_alias("ali", "alice")
        tx.add_alias("a. smith", "alice")
        tx.add_alias("ali", "bob")

    await alice.write(work)
    await alice.write(lambda tx: tx.add_alias("ali", "carol"))
    found = await alice.read(
        lambda s: (
            s.subjects_of(["ali"]).get("ali"),
            s.subjects_of(["no"]).get("no"),
            s.aliases("alice"),
            s.aliases("bob"),
        )
    )
    assert found == ("alice", None, ("a. smith", "ali"), ())


async def test_replays_come_back_by_key(alice: StorageBackend) -> None:
    rows = [ReplayRow("k1", "d1", ("ep_0", "ep_1")), ReplayRow("k2", "d2", ())]

    def work(tx: Transaction) -> None:
        for row in rows:
            tx.add_replay(row)

    await alice.write(work)
    assert await alice.read(lambda s: s.replays(["k2", "k1", "k3"])) == {"k1": rows[0], "k2": rows[1]}


async def test_the_outbox_is_in_order_of_arrival_and_bounded(alice: StorageBackend) -> None:
    await seed(alice, 4)
    items = {
        number: OutboxItem(
            f"ep_{number}", number, number, f"why {number}", ("e0",) * number, bool(number % 2), not number % 2
        )
        for number in (3, 0, 2)
    }

    def work(tx: Transaction) -> None:
        for item in items.values():
            tx.put_outbox(item)

    await alice.write(work)
    assert await alice.read(lambda s: s.outbox(10)) == [items[0], items[2], items[3]]
    assert await alice.read(lambda s: s.outbox(2)) == [items[0], items[2]]
    again = replace(items[0], attempts=7, reason="again")
    await alice.write(lambda tx: tx.put_outbox(again))
    await alice.write(lambda tx: tx.remove_outbox("ep_2"))
    await alice.write(lambda tx: tx.remove_outbox("ep_1"))
    assert await alice.read(lambda s: s.outbox(10)) == [again, items[3]]
    assert (await alice.read(lambda s: s.counts())).waiting == 2


async def test_deleting_an_episode_takes_all_that_hangs_on_it(alice: StorageBackend) -> None:
    await seed(alice)

    def work(tx: Transaction) -> None:
        tx.add_vectors({"ep_0": windows(0), "ep_1": windows(1)})
        tx.put_relation(relation("e0", "e1", "in"))
        tx.put_relation(relation("e1", "e2", "out"))
        tx.put_relation(relation("e0", "e2", "other"))
        tx.put_outbox(OutboxItem("ep_1", 1))
        tx.add_replay(ReplayRow("k", "d", ("ep_1",)))

    await alice.write(work)
    assert await alice.write(lambda tx: tx.delete_episode("ep_1")) is True
    assert await alice.write(lambda tx: tx.delete_episode("ep_1")) is False

    def look(s: Snapshot) -> list[object]:
        return [
            s.episodes(["ep_1"]),
            s.episodes_at([1]),
            s.entities(["e1"]),
            s.entities_of(["ep_1"]),
            s.relations(["in", "out"]),
            s.relations_of(["e1"]),
            s.outbox(9),
            list(s.text_candidates(["number"]).keys),
            list(s.vector_candidates(axis(1), also=np.array([1]), pool=9).keys),
            [each.id for each in s.statements("alice", limit=9)],
            [each.id for _, each in s.list_entities(after=None, limit=9)],
        ]

    assert await alice.read(look) == [{}, {}, {}, {}, {}, {}, [], [0, 2], [0], ["e2", "e0"], ["e0", "e2"]]
    counts = await alice.read(lambda s: s.counts())
    assert (counts.episodes, counts.entities, counts.vectors, counts.waiting) == (2, 2, 1, 0)
    assert dict(counts.evolutions) == {"update": 1}
    assert list(await alice.read(lambda s: s.relations_of(["e0"]))) == ["e0"]
    assert await alice.read(lambda s: s.replays(["k"])), (
        "a known key stays known, or a forgotten text would be stored again"
    )


async def test_an_arrival_is_never_given_out_twice(alice: StorageBackend) -> None:
    await seed(alice, 2)
    await alice.write(lambda tx: tx.delete_episode("ep_1"))
    assert await alice.write(lambda tx: tx.next_arrival()) == 2

    def work(tx: Transaction) -> int:
        tx.add_episodes([episode_row(tx.next_arrival(), name="new")])
        return tx.next_arrival()

    assert await alice.write(work) == 3
    with pytest.raises(InvariantError, match="arrival"):
        await alice.write(lambda tx: tx.add_episodes([episode_row(1, name="again")]))


async def test_counts_are_of_one_namespace(store: Store, alice: StorageBackend) -> None:
    await seed(alice, 3)
    bob = store.namespace("bob")
    await seed(bob, 1)
    await alice.write(lambda tx: tx.add_vectors({"ep_0": windows(0, 1, 2)}))
    await alice.write(lambda tx: tx.put_outbox(OutboxItem("ep_2", 2)))
    counts, others = await alice.read(lambda s: s.counts()), await bob.read(lambda s: s.counts())
    assert (counts.episodes, counts.entities, counts.vectors, counts.waiting) == (3, 3, 1, 1)
    assert (others.episodes, others.entities, others.vectors, others.waiting) == (1, 1, 0, 0)
    assert await store.namespaces() == [NamespaceInfo("alice", 3, 3), NamespaceInfo("bob", 1, 1)]


async def test_the_same_ids_in_two_namespaces_do_not_meet(store: Store, alice: StorageBackend) -> None:
    bob = store.namespace("bob")
    for space, word in ((alice, "apple"), (bob, "banana")):

        def work(tx: Transaction, word: str = word) -> None:
            tx.add_episodes([episode_row(0, f"{word} pie"), episode_row(1, f"more {word}")])
            tx.add_entities([entity(0, word, id="e0", slot="likes"), entity(1, word, id="e1", slot="likes")])
            tx.add_vectors({"ep_0": windows(0 if word == "apple" else 1)})
            tx.put_relation(replace(relation("e0", "e1"), reason=word))
            tx.add_alias("al", word)
            tx.add_replay(ReplayRow("k", word, ("ep_0",)))
            tx.put_outbox(OutboxItem("ep_1", 1, reason=word))

        await space.write(work)

    def look(s: Snapshot) -> list[object]:
        return [
            s.episodes(["ep_0"])["ep_0"].content.split()[0],
            s.episodes_at([0])[0].content.split()[0],
            s.entities(["e0"])["e0"].content,
            s.entities_of(["ep_0"])["ep_0"][0].content,
            [each.content for each in s.statements("alice", limit=9)],
            [each.content for each in s.statements_in([("alice", "likes")], limit=9)["alice", "likes"]],
            [each.content for _, each in s.list_entities(after=None, limit=9)],
            s.relations(["rel_1"])["rel_1"].reason,
            [[row.reason for row in rows] for rows in s.relations_of(["e0", "e1"]).values()],
            s.subjects_of(["al"]).get("al"),
            s.aliases("apple"),
            s.aliases("banana"),
            s.replays(["k"])["k"].digest,
            [item.reason for item in s.outbox(9)],
            list(s.text_candidates(["appl", "banana"]).keys),
            [round(float(x), 3) for x in s.vector_candidates(axis(0), also=np.array([0]), pool=9).cosine],
        ]

    def expected(word: str, cosine: float) -> list[object]:
        aliases = [("al",), ()] if word == "apple" else [(), ("al",)]
        return [
            *[word] * 4,
            *[[word, word]] * 3,
            word,
            [[word], [word]],
            word,
            *aliases,
            word,
            [word],
            [0, 1],
            [cosine],
        ]

    assert await alice.read(look) == expected("apple", 1.0)
    assert await bob.read(look) == expected("banana", 0.0)

    def spoil(tx: Transaction) -> None:
        tx.set_validity("e0", later(1), None)
        tx.put_relation(replace(relation("e1", "e0"), reason="turned"))
        tx.remove_outbox("ep_1")
        tx.delete_episode("ep_1")

    await bob.write(spoil)
    assert await alice.read(look) == expected("apple", 1.0)
    assert (await alice.read(lambda s: s.entities(["e0"])))["e0"].valid_to is None


async def test_a_namespace_that_was_only_read_does_not_exist(store: Store) -> None:
    ghost = store.namespace("ghost")
    assert ghost.namespace == "ghost"
    found = await ghost.read(
        lambda s: [
            s.sequence,
            s.episodes(["x"]),
            s.list_entities(after=None, limit=5),
            s.outbox(5),
            s.counts().episodes,
        ]
    )
    assert found == [0, {}, [], [], 0]
    assert list((await ghost.read(lambda s: s.text_candidates(["x"]))).keys) == []
    assert await ghost.write(lambda tx: tx.next_arrival()) == 0
    assert await store.namespaces() == []


async def test_an_embedders_identity_is_kept_and_another_refused(store: Store, alice: StorageBackend) -> None:
    mine = EmbedderIdentity("minilm", 8, "abc")
    assert await store.embedder_identity() is None
    await store.set_embedder_identity(mine)
    await store.set_embedder_identity(mine)
    assert await store.embedder_identity() == mine
    for other in (replace(mine, name="x"), replace(mine, dimensions=9), replace(mine, digest="y")):
        with pytest.raises(EmbedderMismatch, match="minilm"):
            await store.set_embedder_identity(other)
    assert await store.embedder_identity() == mine
    await seed(alice)
    with pytest.raises(EmbedderMismatch, match="dimensions"):
        await alice.write(lambda tx: tx.add_vectors({"ep_0": windows(0)[:, :4]}))


async def test_another_embedder_takes_over_and_everything_waits_for_its_vectors(
    store: Store, alice: StorageBackend
) -> None:
    await seed(alice)
    await store.set_embedder_identity(EmbedderIdentity("minilm", 8, "abc"))
    await alice.write(lambda tx: tx.add_vectors({"ep_0": windows(0), "ep_1": windows(1)}))
    before = await alice.read(lambda snapshot: (snapshot.sequence, snapshot.counts()))
    found = await alice.read(lambda snapshot: snapshot.vector_candidates(windows(0)[0], also=(), pool=10))
    assert len(found.keys)
    other = EmbedderIdentity("other", 4, "xyz")
    assert await store.replace_embedder(other) == before[1].episodes
    assert await store.embedder_identity() == other
    sequence, counts = await alice.read(lambda snapshot: (snapshot.sequence, snapshot.counts()))
    assert sequence == before[0] + 1
    assert (counts.vectors, counts.waiting, counts.entities) == (0, before[1].episodes, before[1].entities)
    assert await store.check_integrity() == []
    await alice.write(lambda tx: tx.add_vectors({"ep_0": windows(0)[:, :4]}))
    found = await alice.read(lambda snapshot: snapshot.vector_candidates(windows(0)[0][:4], also=(), pool=10))
    assert len(found.keys) == 1
