"""What takes away: other words, other entities, aliases, keys; and no index remembers what was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from store_rows import entity, episode_row, relation

from umi.errors import NotFound
from umi.ports import ReplayRow, Snapshot, StorageBackend, Store, Transaction
from umi.types import Mode, Nature
from umi.types.erasure_proof import make_proof

SALT = "00" * 16


async def _two(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(0, "ferry gull"), episode_row(1, "ferry harbour")])
        tx.add_entities([entity(0, id="e0"), entity(0, id="e1", span=(6, 10)), entity(1, id="e2")])
        tx.add_vectors({"ep_0": np.eye(1, 8, dtype=np.float32)})
        tx.put_relation(relation("e0", "e2", "rel_a"))
        tx.put_relation(relation("e1", "e2", "rel_b"))
        tx.add_replay(ReplayRow("message:m0", "digest", ("ep_0",)))
        tx.add_replay(ReplayRow("call:k", "digest", ("ep_0", "ep_1")))
        tx.add_alias("al", "alice")

    await alice.write(work)


def _keys(snapshot: Snapshot, term: str) -> list[int]:
    return [int(key) for key in snapshot.text_candidates([term]).keys]


async def test_other_words_in_an_episodes_place(alice: StorageBackend) -> None:
    await _two(alice)
    assert await alice.read(lambda s: _keys(s, "gull")) == [0, 1]  # one session
    new = episode_row(0, "     heron", session=None)
    await alice.write(lambda tx: tx.rewrite_episode(new))

    def look(snapshot: Snapshot) -> tuple[object, ...]:
        return (
            snapshot.episodes(["ep_0"])["ep_0"].content,
            _keys(snapshot, "gull"),
            _keys(snapshot, "heron"),
            dict(snapshot.vectors(["ep_0"])),
            sorted(entity.id for entity in snapshot.entities_of(["ep_0"])["ep_0"]),
        )

    assert await alice.read(look) == ("     heron", [], [0], {}, ["e0", "e1"])


async def test_words_of_an_unknown_episode_are_refused(alice: StorageBackend) -> None:
    with pytest.raises(NotFound):
        await alice.write(lambda tx: tx.rewrite_episode(episode_row(0)))


async def test_other_entities_take_relations_along_or_let_them_go(alice: StorageBackend) -> None:
    await _two(alice)
    e1 = (await alice.read(lambda s: s.entities(["e1"])))["e1"]
    await alice.write(lambda tx: tx.replace_entities("ep_0", {"e1": replace(e1, id="f1", subject="bo")}))

    def look(snapshot: Snapshot) -> tuple[object, ...]:
        of = snapshot.relations_of(["e0", "e1", "f1", "e2"])
        return (
            [one.id for one in snapshot.entities_of(["ep_0"])["ep_0"]],
            {id_: [row.id for row in rows] for id_, rows in of.items()},
            [one.id for one in snapshot.statements("bo", limit=9)],
            [one.id for one in snapshot.statements("alice", limit=9)],
        )

    assert await alice.read(look) == (["f1"], {"f1": ["rel_b"], "e2": ["rel_b"]}, ["f1"], ["e2"])
    await alice.write(lambda tx: tx.replace_entities("ep_0", {}))
    assert await alice.read(lambda s: (s.entities_of(["ep_0"]), s.relations_of(["e2"]))) == ({}, {})


async def test_other_entities_have_other_further_subjects(alice: StorageBackend) -> None:
    await _two(alice)
    e0, e1 = (await alice.read(lambda s: s.entities(["e0", "e1"]))).values()
    given = {"e0": replace(e0, also=("lamp", "rug")), "e1": replace(e1, also=("lamp",))}
    await alice.write(lambda tx: tx.replace_entities("ep_0", given))

    def look(snapshot: Snapshot) -> list[list[str]]:
        return [[one.id for one in snapshot.statements(key, limit=9)] for key in ("alice", "lamp", "rug", "boat")]

    assert await alice.read(look) == [["e2", "e1", "e0"], ["e1", "e0"], ["e0"], []]
    given = {"e1": replace(e1, id="f1", subject="boat", also=("rug",), said_by="Bo", mode=Mode.REPORTED)}
    await alice.write(lambda tx: tx.replace_entities("ep_0", given))
    assert await alice.read(look) == [["e2"], [], ["f1"], ["f1"]]
    assert await alice.read(lambda s: s.statements("rug", limit=9)) == [given["e1"]]

    def fails(tx: Transaction) -> None:
        tx.replace_entities("ep_0", {})
        raise NotFound("nothing of it")

    with pytest.raises(NotFound):
        await alice.write(fails)
    assert await alice.read(look) == [["e2"], [], ["f1"], ["f1"]]
    await alice.write(lambda tx: tx.replace_entities("ep_0", {}))
    assert await alice.read(look) == [["e2"], [], [], []]


async def test_a_relation_that_moves_along_keeps_its_nature_and_part(alice: StorageBackend) -> None:
    await _two(alice)
    e1 = (await alice.read(lambda s: s.entities(["e1"])))["e1"]
    given = relation("e1", "e2", "rel_c", nature=Nature.ENDED, part=(2, 4))
    await alice.write(lambda tx: tx.put_relation(given))
    await alice.write(lambda tx: tx.replace_entities("ep_0", {"e1": replace(e1, id="f1")}))
    moved = replace(given, source_id="f1")
    assert await alice.read(lambda s: s.relations(["rel_c"])) == {"rel_c": moved}
    reworded = replace(moved, reason="")
    await alice.write(lambda tx: tx.reword_relation(reworded))
    assert await alice.read(lambda s: s.relations(["rel_c"])) == {"rel_c": reworded}


async def test_aliases_and_keys(alice: StorageBackend) -> None:
    await _two(alice)
    await alice.write(lambda tx: tx.remove_aliases(["al", "nobody"]))
    assert await alice.read(lambda s: s.subjects_of(["al"]).get("al")) is None
    rows = await alice.write(lambda tx: tx.replays_of(["ep_0"]))
    assert [row.key for row in rows] == ["call:k", "message:m0"]
    assert [row.key for row in await alice.write(lambda tx: tx.replays_of(["ep_1"]))] == ["call:k"]
    await alice.write(lambda tx: tx.replace_replay("call:k", ReplayRow("gone:x", "", ("ep_1",))))
    found = await alice.read(lambda s: s.replays(["call:k", "gone:x", "message:m0"]))
    assert sorted(found) == ["gone:x", "message:m0"]
    assert found["gone:x"].episode_ids == ("ep_1",)


async def test_an_error_takes_every_such_change_back(alice: StorageBackend) -> None:
    await _two(alice)
    before = await alice.read(lambda s: (list(s.scan_episodes()), list(s.scan_entities()), list(s.scan_relations())))

    def work(tx: Transaction) -> None:
        tx.rewrite_episode(episode_row(0, "other"))
        tx.replace_entities("ep_0", {})
        tx.remove_aliases(["al"])
        tx.replace_replay("call:k", ReplayRow("gone:x", "", ()))
        raise NotFound("nothing of it")

    with pytest.raises(NotFound):
        await alice.write(work)
    after = await alice.read(lambda s: (list(s.scan_episodes()), list(s.scan_entities()), list(s.scan_relations())))
    assert after == before
    assert await alice.read(lambda s: (s.subjects_of(["al"]).get("al"), sorted(s.replays(["call:k", "gone:x"])))) == (
        "alice",
        ["call:k"],
    )
    assert await alice.read(lambda s: _keys(s, "gull")) == [0, 1]


async def test_a_store_is_clean_again_after_cleaning(store: Store, alice: StorageBackend) -> None:
    await _two(alice)
    assert not await store.unclean()
    await alice.write(lambda tx: tx.delete_episode("ep_0"))
    proof = make_proof(SALT, [], ["gull"])
    assert await store.clean(proof)
    assert not await store.unclean()
    assert await store.examine(proof) == await store.examine(make_proof(SALT, [], []))


async def test_a_proof_is_found_while_the_words_are_there(store: Store, alice: StorageBackend) -> None:
    await _two(alice)
    proof = make_proof(SALT, ["GULL"], ["harbour"])
    assert (await store.examine(proof)).live == frozenset((*proof.names, *proof.words))


async def test_an_entity_keeps_what_it_quotes_of_a_message_that_gets_other_words(alice: StorageBackend) -> None:
    said = "é 🦭 harbour"

    def add(tx: Transaction) -> None:
        tx.add_episodes([episode_row(0, said), episode_row(1, f"{'gull ' * 1_000}{said}")])
        tx.add_entities([entity(0, id="e0", span=(2, 11), content="🦭 harbour"), entity(0, id="e1", content="a seal")])

    await alice.write(add)
    end = 5_000 + len(said)
    later = [entity(0, id="e2", span=(0, 3), content="é 🦭"), entity(1, id="e3", span=(5_002, end), content=said[2:])]
    await alice.write(lambda tx: tx.add_entities(later))
    told = {"e0": "🦭 harbour", "e1": "a seal", "e2": "é 🦭", "e3": said[2:]}

    def contents(snapshot: Snapshot) -> dict[str, str]:
        return {id_: one.content for id_, one in snapshot.entities([*told, "e4", "e5"]).items()}

    assert await alice.read(contents) == told

    def reword(tx: Transaction) -> None:
        assert tx.episodes(["ep_0"])["ep_0"].content == said
        tx.rewrite_episode(episode_row(0, "- ferry gull!"))
        tx.add_entities(
            [entity(0, id="e4", span=(0, 1), content="é"), entity(0, id="e5", span=(2, 7), content="ferry")]
        )

    await alice.write(reword)
    assert await alice.read(contents) == {**told, "e4": "é", "e5": "ferry"}
