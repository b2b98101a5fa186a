"""What a model says of statements and relations, and further subjects, are kept alike by every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from store_rows import entity, episode_row, later, relation, seed

from umi.ports import EpisodesRead, Snapshot, StorageBackend, Store, Transaction
from umi.types import Entity, Mode, Nature


@pytest.mark.parametrize("mode", Mode)
async def test_what_a_model_said_of_a_statement_comes_back(alice: StorageBackend, mode: Mode) -> None:
    until = datetime(2027, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    given = entity(0, id="e", also=("bob", "ボブ 🐈", "it's"), mode=mode, said_by="Ольга", valid_until=until)
    plain = entity(0, "plain", id="p", span=(6, 9))

    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(0)])
        tx.add_entities([given, plain])

    await alice.write(work)
    found = await alice.read(lambda s: s.entities(["e", "p"]))
    assert found["e"] == replace(given, at=later(0), arrival=0)
    assert found["e"].mode is mode
    assert found["e"].valid_until is not None
    assert found["e"].valid_until.tzinfo is UTC
    assert (found["p"].also, found["p"].mode, found["p"].said_by) == ((), Mode.ASSERTED, "")
    assert found["p"].valid_until is None


@pytest.mark.parametrize("nature", Nature)
@pytest.mark.parametrize("part", [None, (0, 1), (3, 17)])
async def test_what_a_model_said_of_a_relation_comes_back(
    alice: StorageBackend, nature: Nature, part: tuple[int, int] | None
) -> None:
    await seed(alice)
    given = relation("e0", "e1", nature=nature, part=part)
    await alice.write(lambda tx: tx.put_relation(given))
    assert await alice.read(lambda s: s.relations_of(["e0", "e1"])) == {"e0": (given,), "e1": (given,)}
    found = (await alice.read(lambda s: s.relations(["rel_1"])))["rel_1"]
    assert found == given
    assert found.nature is nature
    changed = replace(given, undone_at=later(3))
    await alice.write(lambda tx: tx.put_relation(changed))
    assert await alice.read(lambda s: s.relations(["rel_1"])) == {"rel_1": changed}


async def test_a_statement_is_found_by_each_of_its_subjects_among_the_others_in_order_of_time(
    store: Store, alice: StorageBackend
) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes(
            [
                episode_row(0, at=later(50)),
                episode_row(1, at=later(10)),
                episode_row(2, at=later(50)),
                episode_row(3, at=later(20)),
            ]
        )
        tx.add_entities(
            [
                entity(0, id="a", subject="lamp", also=("alice", "rug")),
                entity(1, id="b"),
                entity(2, id="c2", subject="boat", span=(7, 9), also=("alice",)),
                entity(2, id="c1", span=(1, 2), also=("alice", "rug")),  # its own subject once more
                entity(3, id="d", subject="lamp", slot="has", also=("rug", "rug")),
            ]
        )

    await alice.write(work)
    await store.namespace("bob").write(work)  # the same subjects of somebody else

    async def ids(subject: str, slot: str | None = None, limit: int = 10) -> list[str]:
        def look(s: Snapshot) -> list[Entity]:
            pair = (subject, slot or "")
            return s.statements(subject, limit=limit) if slot is None else s.statements_in([pair], limit=limit)[pair]

        return [each.id for each in await alice.read(look)]

    async def before(last: str, limit: int = 10) -> list[str]:
        found = await alice.read(lambda s: s.statements("alice", limit=limit, before=last))
        return [each.id for each in found]

    everything = ["c2", "c1", "a", "b"]
    assert [await ids("alice", limit=limit) for limit in range(1, 6)] == [everything[:limit] for limit in range(1, 6)]
    for at, last in enumerate(everything):
        assert await before(last) == everything[at + 1 :]
        assert await before(last, limit=1) == everything[at + 1 : at + 2]
    assert await before("nobody") == []
    assert await ids("rug") == ["c1", "a", "d"]
    assert await ids("rug", limit=1) == ["c1"]
    assert await ids("lamp") == ["a", "d"]
    assert await ids("lamp", "has") == ["d"]
    assert await ids("rug", "has") == [], "a slot is of the subject"
    assert await ids("carol") == []
    assert (await alice.read(lambda s: s.counts())).entities == 5


async def test_with_a_deleted_episode_its_further_subjects_go(store: Store, alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(3)])
        tx.add_entities([entity(number, id=f"e{number}", subject="lamp", also=("rug",)) for number in range(3)])

    await alice.write(work)
    await store.namespace("bob").write(work)
    await alice.write(lambda tx: tx.delete_episode("ep_1"))

    def look(s: Snapshot) -> list[list[str]]:
        return [[each.id for each in s.statements(subject, limit=9)] for subject in ("lamp", "rug")]

    assert await alice.read(look) == [["e2", "e0"]] * 2
    assert await store.namespace("bob").read(look) == [["e2", "e1", "e0"]] * 2
    for number in (0, 2):
        await alice.write(lambda tx, n=number: tx.delete_episode(f"ep_{n}"))
    assert await alice.read(look) == [[], []]
    assert await store.check_integrity() == []


async def test_many_slots_in_one_look_are_what_each_gives_alone(store: Store, alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(40)])
        tx.add_entities(
            [
                entity(number, id=f"e{number}", subject=f"s{number % 4}", slot=f"slot{number % 5}", span=(0, 1))
                for number in range(40)
            ]
        )

    await alice.write(work)
    await store.namespace("bob").write(work)
    pairs = [
        (f"s{number % 5}", f"slot{number % 9}") for number in range(45)
    ]  # more than one query holds; many are empty

    def look(s: Snapshot) -> None:
        together = s.statements_in(pairs, limit=1)
        assert list(together) == list(dict.fromkeys(pairs))
        assert together == {pair: s.statements_in([pair], limit=1)[pair] for pair in pairs}
        everything = s.statements_in(pairs, limit=9)
        assert everything == {pair: s.statements_in([pair], limit=9)[pair] for pair in pairs}
        assert sum(map(len, everything.values())) == 40
        assert s.statements_in([], limit=9) == {}

    await alice.read(look)


async def test_the_newest_come_first_and_never_more_than_wanted(store: Store, alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number, at=later(9 - number)) for number in range(4)])
        tx.add_entities([entity(number, id=f"e{number}{i}", span=(i, i + 1)) for number in (3, 0, 2) for i in range(3)])

    assert await alice.read(lambda s: s.list_entities(after=None, limit=3, newest=True)) == []
    await alice.write(work)
    await store.namespace("bob").write(work)

    async def newest(limit: int) -> list[str]:
        page = await alice.read(lambda s: s.list_entities(after=None, limit=limit, newest=True))
        return [one.id for _, one in page]

    everything = ["e32", "e31", "e30", "e22", "e21", "e20", "e02", "e01", "e00"]
    for limit in (1, 2, 4, 9, 100):
        assert await newest(limit) == everything[:limit]
    await alice.write(lambda tx: tx.delete_episode("ep_3"))
    assert await newest(2) == ["e22", "e21"]


async def test_episodes_with_what_is_said_of_them_come_in_one_reading(alice: StorageBackend) -> None:
    await seed(alice)
    await alice.write(lambda tx: tx.put_relation(relation("e0", "e2")))

    def work(s: Snapshot) -> tuple[object, object]:
        found = s.read_at([2, 0, 99, -1])
        entities = s.entities_of(one.id for one in found.episodes.values())
        relations = s.relations_of(one.id for mine in entities.values() for one in mine)
        return found, EpisodesRead(s.episodes_at([0, 2]), entities, relations)

    read, one_by_one = await alice.read(work)
    assert read == one_by_one
    assert read.episodes.keys() == {0, 2}
    assert {name: [row.id for row in rows] for name, rows in read.relations.items()} == {
        "e0": ["rel_1"],
        "e2": ["rel_1"],
    }
    assert await alice.read(lambda s: s.read_at([])) == EpisodesRead({}, {}, {})


async def test_what_had_ended_before_a_moment_can_be_left_out(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(4)])
        tx.add_entities([entity(number, id=f"e{number}", slot="has") for number in range(4)])
        tx.set_validity("e0", later(1), later(5))
        tx.set_validity("e1", later(2), later(5))
        tx.set_validity("e2", later(0), later(5))  # it never held

    await alice.write(work)
    pair = ("alice", "has")

    async def ids(moment: float | None, limit: int = 9) -> list[str]:
        begins = None if moment is None else later(moment)
        found = await alice.read(lambda s: s.statements_in([pair, ("bob", "has")], limit=limit, open_from=begins))
        assert found["bob", "has"] == []
        return [each.id for each in found[pair]]

    assert await ids(None) == await ids(0) == ["e3", "e2", "e1", "e0"], "nothing had ended"
    assert await ids(1) == ["e3", "e2", "e1"], "at its end it no longer holds"
    assert await ids(2) == ["e3", "e2"], "said at that moment, though it never held"
    assert await ids(2.5) == ["e3"]
    assert await ids(90) == ["e3"], "what is open stays, however old"
    assert await ids(1, limit=2) == ["e3", "e2"]
