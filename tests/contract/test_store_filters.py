"""What `where=` and `types=` select: the same messages and statements in every store, as the filter itself says of each message."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta, timezone
from typing import Any

import numpy as np
import pytest
from store_rows import NOON, axis, entity, episode_row, later, relation, seed, windows

from umi._core.filters import read_filter
from umi.ports import Snapshot, StorageBackend, Store, Transaction
from umi.ports.candidates import NO_KEYS
from umi.types import ChangeKind, Entity, EntityType, Origin
from umi.types.filters import Filter

_WORDS = ("cat", "dog", "bird", "fish")
_VALUES: tuple[Any, ...] = (1, 1.0, 2, 2.5, "1", "2", "red", "", True, False, None, [1, "red"], [], {"a": 1}, 1 << 70)


@dataclass
class _Told:
    """The rows of a namespace, as they were written."""

    rows: dict[int, Any]
    entities: dict[int, list[Entity]]

    def wanted(self, where: Filter) -> list[int]:
        """The arrivals that a filter selects, by reading every message."""
        found = [n for n, row in self.rows.items() if where.admits(row.episode)]
        return [n for n in found if not where.types or any(where.takes(one) for one in self.entities.get(n, ()))]


def _told(seed: int, count: int = 60) -> _Told:
    draw = random.Random(seed)
    rows, entities = {}, {}
    for number in range(count):
        metadata = {key: draw.choice(_VALUES) for key in draw.sample(("a", "b", "c d"), draw.randint(0, 3))}
        rows[number] = episode_row(
            number,
            " ".join(draw.choices(_WORDS, k=3)),
            session=draw.choice((None, "s1", "s2")),
            speaker=draw.choice((None, "Ann", "Bo")),
            metadata=metadata,
            origin=draw.choice(list(Origin)),
        )
        kinds = draw.choices((EntityType.NOTE, EntityType.PREFERENCE, EntityType.EVENT), k=draw.randint(0, 2))
        entities[number] = [_of_kind(kind, number, place) for place, kind in enumerate(kinds)]
    return _Told(rows, entities)


def _of_kind(kind: EntityType, number: int, place: int) -> Entity:
    plain = entity(number, f"{kind} {number} {place}", id=f"e{number}.{place}", span=(place, place + 1))
    return Entity(**{name: getattr(plain, name) for name in plain.__slots__} | {"entity_type": kind})


async def _write(space: StorageBackend, told: _Told) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes(list(told.rows.values()))
        tx.add_entities([one for group in told.entities.values() for one in group])
        tx.add_vectors({row.episode.id: windows(n % 8) for n, row in told.rows.items()})

    await space.write(work)


FILTERS: tuple[tuple[dict[str, Any] | None, list[str] | None], ...] = (
    ({"session": "s1"}, None),
    ({"speaker": {"in": ["Ann", "Zoe"]}}, None),
    ({"speaker": {"exists": False}}, None),
    ({"role": "user", "session": {"exists": True}}, None),
    ({"role": "assistant"}, None),
    ({"origin": {"in": ["tool", "document"]}}, None),
    ({"metadata": {"a": 1}}, None),
    ({"metadata": {"a": "1"}}, None),
    ({"metadata": {"a": True}}, None),
    ({"metadata": {"a": {"in": [1, "red", False]}}}, None),
    ({"metadata": {"a": {"gt": 1}}}, None),
    ({"metadata": {"a": {"gte": 1, "lt": 2.5}}}, None),
    ({"metadata": {"a": {"gt": "1"}}}, None),
    ({"metadata": {"b": {"lte": "red"}, "a": {"exists": True}}}, None),
    ({"metadata": {"c d": {"exists": False}}}, None),
    ({"metadata": {"nowhere": 1}}, None),
    (None, ["preference"]),
    ({"session": "s2"}, ["event", "note"]),
)


@pytest.mark.parametrize("number", range(len(FILTERS)))
async def test_every_store_selects_what_the_filter_says(store: Store, alice: StorageBackend, number: int) -> None:
    where, told = read_filter(*FILTERS[number]), _told(number)
    await store.namespace("bob").write(lambda tx: tx.add_episodes([episode_row(0, "cat", session="s1")]))
    await _write(alice, told)
    await _agrees(alice, told, where)
    # It goes on agreeing after what changes the rows: more messages, fewer, and other statements of a message.
    for gone in (3, 17, 40):
        await alice.write(lambda tx, gone=gone: tx.delete_episode(f"ep_{gone}"))  # type: ignore[misc]
        del told.rows[gone]
    await _agrees(alice, told, where)
    more = _told(number + 100, 90)
    more.rows = {n: row for n, row in more.rows.items() if n >= 60}
    more.entities = {n: group for n, group in more.entities.items() if n >= 60}
    await _write(alice, more)
    told.rows |= more.rows
    told.entities |= more.entities
    await _agrees(alice, told, where)
    place = next(n for n, group in told.entities.items() if group and n in told.rows)
    await alice.write(lambda tx: tx.replace_entities(f"ep_{place}", {}))
    told.entities[place] = []
    await _agrees(alice, told, where)


async def _agrees(space: StorageBackend, told: _Told, where: Filter) -> None:
    wanted = told.wanted(where)
    statements = [one.id for n in wanted for one in told.entities.get(n, ()) if where.takes(one)]

    def look(s: Snapshot) -> None:
        assert [row.episode.arrival for row, _ in s.scan_episodes(where)] == wanted
        everything = [one.id for n in wanted for one in told.entities.get(n, ())]
        assert [one.id for one in s.scan_entities(where)] == everything
        assert _pages(s, where, newest=False) == statements
        assert _pages(s, where, newest=True) == statements[::-1]
        about = s.statements("alice", limit=1_000, where=where)
        assert sorted(one.id for one in about) == sorted(statements)
        assert _arrivals(s, where, newest=False) == wanted
        assert _arrivals(s, where, newest=True) == wanted[::-1]
        keys = np.array(sorted(told.rows), dtype=np.int64)
        kept = s.among(keys, where)
        assert (keys[kept.flags].tolist(), kept.count) == (wanted, len(wanted))
        text = s.text_candidates(["cat"], where=where).keys
        near = s.vector_candidates(axis(0), pool=1, where=where).keys
        assert set(wanted) <= set(text.tolist()), "few enough to be looked at all"
        assert set(wanted) <= set(near.tolist())

    await space.read(look)


def _pages(s: Snapshot, where: Filter, *, newest: bool) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        page = s.list_entities(after=after, limit=7, where=where, newest=newest)
        found += [one.id for _, one in page]
        if len(page) < 7:
            return found
        after = page[-1][0]


def _arrivals(s: Snapshot, where: Filter, *, newest: bool) -> list[int]:
    found: list[int] = []
    while page := s.list_episodes(after=found[-1] if found else None, limit=7, where=where, newest=newest):
        assert len(page) <= 7
        found += [one.arrival for one in page]
    return found


async def test_a_filter_that_keeps_many_gives_the_best_of_those(alice: StorageBackend) -> None:
    """Of a filter's messages the nearest are candidates, although nearer ones that it leaves out would fill the pool."""
    count = 3_000
    rows = [episode_row(n, "cat", session="far" if n % 2 else "near") for n in range(count)]
    await alice.write(lambda tx: tx.add_episodes(rows))
    await alice.write(lambda tx: tx.add_vectors({f"ep_{n}": windows(1 if n % 2 else 0) for n in range(count)}))
    where = read_filter({"session": "far"}, None)
    found = await alice.read(lambda s: s.vector_candidates(axis(0), also=NO_KEYS, pool=5, where=where))
    assert sum(key % 2 for key in found.keys.tolist()) >= 5
    plain = await alice.read(lambda s: s.vector_candidates(axis(0), also=NO_KEYS, pool=5))
    assert not any(key % 2 for key in plain.keys.tolist())


# What writes did, and what expires.


async def test_changes_are_told_in_order_and_from_where_one_left_off(store: Store, alice: StorageBackend) -> None:
    await alice.write(lambda tx: tx.add_episodes([episode_row(0), episode_row(1)]))
    await store.namespace("bob").write(lambda tx: tx.add_episodes([episode_row(0)]))
    await alice.write(lambda tx: tx.add_entities([entity(0, id="e0")]))
    await alice.write(lambda tx: tx.delete_episode("ep_0"))

    def seen(changes: Sequence[Any]) -> list[tuple[ChangeKind, str]]:
        return [(one.kind, one.id) for one in changes]

    everything = await alice.read(lambda s: s.changes(0, 100))
    told = seen(everything)
    assert told[:2] == [(ChangeKind.REMEMBERED, "ep_0"), (ChangeKind.REMEMBERED, "ep_1")]
    assert (ChangeKind.DELETED, "ep_0") in told
    assert [one.sequence for one in everything] == sorted(one.sequence for one in everything)
    first = everything[0].sequence
    assert seen(await alice.read(lambda s: s.changes(0, 1))) == told[:2], "a write is never cut in two"
    assert seen(await alice.read(lambda s: s.changes(first, 100))) == told[2:]
    last = everything[-1].sequence
    assert await alice.read(lambda s: s.changes(last, 100)) == []


async def test_a_change_is_told_of_each_kind_of_write_and_once_by_one_write(alice: StorageBackend) -> None:
    await seed(alice)
    last = (await alice.read(lambda s: s.changes(0, 100)))[-1].sequence
    one = relation("e0", "e1")

    def twice(tx: Transaction) -> None:
        for reason in ("said", "said so"):
            tx.put_relation(replace(one, reason=reason))

    writes: tuple[tuple[Callable[[Transaction], object], list[tuple[ChangeKind, str]]], ...] = (
        (twice, [(ChangeKind.RELATED, one.id)]),
        (lambda tx: tx.reword_relation(replace(one, reason="")), [(ChangeKind.RELATED, one.id)]),
        (lambda tx: tx.add_entities([entity(2, id="e9")]), [(ChangeKind.READ, "ep_2")]),
        (lambda tx: tx.replace_entities("ep_2", {}), [(ChangeKind.READ, "ep_2")]),
        (lambda tx: tx.replace_entities("ep_1", {"e1": entity(1, id="f1")}), [(ChangeKind.READ, "ep_1")]),
        (lambda tx: tx.rewrite_episode(episode_row(2, "[redacted]")), [(ChangeKind.REWORDED, "ep_2")]),
        (lambda tx: tx.add_vectors({"ep_2": windows(0)}), []),
        (lambda tx: tx.add_alias("al", "alice"), []),
        (lambda tx: tx.delete_episode("ep_0"), [(ChangeKind.DELETED, "ep_0")]),
        (lambda tx: tx.delete_episode("nobody"), []),
    )
    for write, told in writes:
        await alice.write(write)
        found = await alice.read(lambda s, last=last: s.changes(last, 100))
        assert [(change.kind, change.id) for change in found] == told
        last = found[-1].sequence if found else last


async def test_namespaces_with_something_expired_are_named(store: Store) -> None:
    soon, just = later(5), timedelta(microseconds=1)
    for name, at in (("bob", soon), ("alice", soon), ("carl", later(50)), ("dora", None)):
        await store.namespace(name).write(lambda tx, at=at: tx.add_episodes([episode_row(0, expires_at=at)]))
    assert await store.namespaces_with_expired(soon - just) == []
    assert await store.namespaces_with_expired(soon) == ["alice", "bob"]
    await store.namespace("bob").write(lambda tx: tx.delete_episode("ep_0"))
    assert await store.namespaces_with_expired(soon) == ["alice"]


async def test_what_expires_is_named_by_its_moment(alice: StorageBackend) -> None:
    assert await alice.read(lambda s: s.first_expiry()) is None
    soon, late = later(5), later(50)
    rows = [
        episode_row(0, expires_at=late),
        episode_row(1),
        episode_row(2, expires_at=soon),
        episode_row(3, expires_at=soon + timedelta(microseconds=1)),
    ]
    await alice.write(lambda tx: tx.add_episodes(rows))
    assert await alice.read(lambda s: s.first_expiry()) == soon
    just = timedelta(microseconds=1)
    assert await alice.read(lambda s: s.expired(soon - just, 9)) == []
    assert await alice.read(lambda s: s.expired(soon, 9)) == ["ep_2"]
    assert await alice.read(lambda s: s.expired(NOON + timedelta(days=1), 2)) == ["ep_2", "ep_3"]
    await alice.write(lambda tx: tx.delete_episode("ep_2"))
    assert await alice.read(lambda s: s.first_expiry()) == soon + just


async def test_sources_are_those_of_the_episodes(alice: StorageBackend) -> None:
    there = NOON.astimezone(timezone(timedelta(hours=9)))
    given = [episode_row(0), episode_row(1, origin=Origin.DOCUMENT), episode_row(2, origin=Origin.TOOL, at=there)]
    await alice.write(lambda tx: tx.add_episodes(given))
    ids = [row.episode.id for row in given]
    sources, episodes = await alice.read(lambda s: (s.sources([*ids, "no"]), s.episodes(ids)))
    assert sources == {id_: (episodes[id_].origin, episodes[id_].at.tzinfo) for id_ in ids}
    assert [sources[id_].origin for id_ in ids] == [Origin.USER, Origin.DOCUMENT, Origin.TOOL]
    assert [sources[id_].zone.utcoffset(None) for id_ in ids] == [timedelta(), timedelta(), timedelta(hours=9)]
