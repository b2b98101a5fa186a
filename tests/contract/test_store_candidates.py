"""The two legs of search as every store must answer them, after each way in which its rows can change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np
import pytest
from store_rows import DIMENSIONS, axis, entity, episode_row, windows

from umi._core.vectors import pack
from umi.errors import EmbedderMismatch, InvalidInput, NotFound
from umi.ports import EpisodeRow, Matrix, PackedVectors, Snapshot, StorageBackend, Store, Transaction
from umi.ports.candidates import TextCandidates, VectorCandidates
from umi.types import Entity, EntityType, VectorHit

Opener = Callable[[], Awaitable[Store]]

ALL = np.arange(100)


def words(*terms: str) -> Callable[[Snapshot], TextCandidates]:
    return lambda s: s.text_candidates(terms)


def near(number: int, pool: int = 10) -> Callable[[Snapshot], VectorCandidates]:
    return lambda s: s.vector_candidates(axis(number), also=np.empty(0, np.int64), pool=pool)


def _tf(candidates: TextCandidates) -> dict[tuple[int, int], float]:
    turn = candidates.turn
    units, terms, counts = turn.unit.tolist(), turn.term.tolist(), turn.tf.tolist()
    return {(int(candidates.keys[unit]), term): tf for unit, term, tf in zip(units, terms, counts, strict=True)}


async def _add(space: StorageBackend, *rows: EpisodeRow) -> None:
    await space.write(lambda tx: tx.add_episodes(rows))


async def test_text_candidates_carry_the_statistics_of_the_given_terms(alice: StorageBackend) -> None:
    rows = [
        EpisodeRow(episode_row(0, session="a").episode, ("cat", "cat", "dog"), 7),
        EpisodeRow(episode_row(1, session="a").episode, ("dog",), 2),
        EpisodeRow(episode_row(2, session="b").episode, ("bird", "fish"), 3),
        EpisodeRow(episode_row(3, session="b").episode, (), 1),
    ]
    await _add(alice, *rows)
    found = await alice.read(words("cat", "dog", "whale"))
    assert found.keys.tolist() == [0, 1]
    assert found.words.tolist() == [7, 2]
    assert _tf(found) == {(0, 0): 2.0, (0, 1): 1.0, (1, 1): 1.0}
    assert found.turn.length.tolist() == [3, 1]
    assert found.turn.df.tolist() == [1, 2, 0]
    assert (found.turn.count, found.turn.average_length) == (4, 1.5)
    assert (await alice.read(words("whale"))).keys.tolist() == []
    assert (await alice.read(words())).keys.tolist() == []


async def test_text_candidates_follow_appends_and_deletions(alice: StorageBackend) -> None:
    await _add(alice, episode_row(0, "cat one"), episode_row(1, "cat two", session="x"))
    assert (await alice.read(words("cat"))).keys.tolist() == [0, 1]
    await _add(alice, episode_row(2, "cat three", session="y"))
    assert (await alice.read(words("cat"))).keys.tolist() == [0, 1, 2]
    await alice.write(lambda tx: tx.delete_episode("ep_1"))
    found = await alice.read(words("cat"))
    assert (found.keys.tolist(), found.turn.df.tolist(), found.turn.count) == ([0, 2], [2.0], 2)
    await _add(alice, episode_row(3, "cat four", session="x"))
    assert (await alice.read(words("cat"))).keys.tolist() == [0, 2, 3]


@pytest.mark.parametrize("packed", [False, True])
async def test_vector_candidates_follow_appends_late_vectors_replacement_and_deletion(
    alice: StorageBackend, *, packed: bool
) -> None:
    def add(tx: Transaction, vectors: dict[str, Matrix]) -> None:
        if packed:
            tx.add_packed({id_: PackedVectors(DIMENSIONS, pack(rows)) for id_, rows in vectors.items()})
        else:
            tx.add_vectors(vectors)

    def first(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(3)])
        add(tx, {"ep_0": windows(0)})

    await alice.write(first)
    assert _cosines(await alice.read(near(0))) == {0: 1.0}
    await alice.write(lambda tx: add(tx, {"ep_2": windows(2, 0), "ep_1": windows(1)}))
    assert _cosines(await alice.read(near(0))) == {0: 1.0, 1: 0.0, 2: 1.0}
    assert (await alice.read(near(0))).count == 3
    await alice.write(lambda tx: add(tx, {"ep_2": windows(2)}))
    assert _cosines(await alice.read(near(0))) == {0: 1.0, 1: 0.0, 2: 0.0}
    await alice.write(lambda tx: tx.delete_episode("ep_0"))
    found = await alice.read(near(0))
    assert _cosines(found) == {1: 0.0, 2: 0.0}
    assert (found.mean, found.deviation, found.count) == (0.0, 0.0, 2)


def _cosines(found: VectorCandidates) -> dict[int, float]:
    return dict(zip(found.keys.tolist(), found.cosine.round(3).tolist(), strict=True))


async def test_vector_candidates_are_the_nearest_and_those_asked_for(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(DIMENSIONS)])
        vectors = np.eye(DIMENSIONS, dtype=np.float32)
        vectors[:, 0] += np.linspace(0, 1, DIMENSIONS, dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        tx.add_vectors({f"ep_{number}": vectors[number : number + 1] for number in range(DIMENSIONS - 1)})

    await alice.write(work)
    found = await alice.read(lambda s: s.vector_candidates(axis(0), also=np.array([1, 7, 99]), pool=2))
    assert found.keys.tolist() == [0, 1, 6]
    assert found.count == 7
    assert found.cosine[0] == pytest.approx(1.0, abs=1e-3)


async def test_a_vector_may_have_one_dimension(alice: StorageBackend) -> None:
    await _add(alice, episode_row(0), episode_row(1))
    one = np.ones((1, 1), np.float32)
    await alice.write(lambda tx: tx.add_vectors({"ep_0": one, "ep_1": -one}))
    found = await alice.read(lambda s: s.vector_candidates(one[0], pool=5))
    assert _cosines(found) == {0: 1.0, 1: -1.0}
    assert (await alice.read(lambda s: s.vectors(["ep_1"])))["ep_1"].tolist() == [[-1.0]]


async def test_a_vector_of_other_dimensions_is_refused_when_asked_with(alice: StorageBackend) -> None:
    await _add(alice, episode_row(0))
    await alice.write(lambda tx: tx.add_vectors({"ep_0": windows(0)}))
    with pytest.raises(EmbedderMismatch):
        await alice.read(lambda s: s.vector_candidates(np.ones(3, np.float32), also=ALL, pool=3))
    assert _cosines(await alice.read(near(0))) == {0: 1.0}


async def test_candidates_inside_a_write_are_as_of_the_last_commit_and_leave_no_trace(alice: StorageBackend) -> None:
    await _add(alice, episode_row(0, "cat"), episode_row(1, "cat"))
    await alice.write(lambda tx: tx.add_vectors({"ep_0": windows(0), "ep_1": windows(1)}))

    def work(tx: Transaction) -> list[int]:
        tx.add_episodes([episode_row(2, "cat")])
        tx.add_vectors({"ep_0": windows(5), "ep_2": windows(2)})
        tx.delete_episode("ep_1")
        tx.text_candidates(["cat"])
        tx.vector_candidates(axis(0), also=ALL, pool=9)
        raise KeyError

    with pytest.raises(KeyError):
        await alice.write(work)
    assert (await alice.read(words("cat"))).keys.tolist() == [0, 1]
    assert _cosines(await alice.read(near(0))) == {0: 1.0, 1: 0.0}
    # The same once an index is there already.
    with pytest.raises(KeyError):
        await alice.write(work)
    assert (await alice.read(words("cat"))).keys.tolist() == [0, 1]
    assert _cosines(await alice.read(near(0))) == {0: 1.0, 1: 0.0}


async def test_an_index_asked_after_many_changes_at_once_equals_a_new_one(opener: Opener) -> None:
    warm, writer = await opener(), await opener()
    rng = np.random.default_rng(5)
    vocabulary = [f"w{number}" for number in range(12)]
    space, arrival = writer.namespace("alice"), 0
    for _ in range(30):

        def work(tx: Transaction, start: int = arrival) -> None:
            for key in range(start, start + 4):
                terms = tuple(rng.choice(vocabulary, 5))
                tx.add_episodes([EpisodeRow(episode_row(key, session=f"s{key % 3}").episode, terms, 5)])
            for key in rng.integers(0, start + 4, 3).tolist():
                if tx.episodes([f"ep_{key}"]):
                    tx.add_vectors({f"ep_{key}": windows(*rng.integers(0, DIMENSIONS, 2).tolist())})
            tx.delete_episode(f"ep_{rng.integers(0, start + 4)}")

        await space.write(work)
        arrival += 4
        if rng.random() < 0.5:
            cold = await opener()
            for term in vocabulary[:4]:
                got = await warm.namespace("alice").read(words(term, "w5"))
                want = await cold.namespace("alice").read(words(term, "w5"))
                assert got.keys.tolist() == want.keys.tolist()
                assert _tf(got) == _tf(want)
                assert got.turn.df.tolist() == want.turn.df.tolist()
            for number in range(DIMENSIONS):
                a = await warm.namespace("alice").read(near(number))
                b = await cold.namespace("alice").read(near(number))
                assert (a.keys.tolist(), a.cosine.tolist(), a.count) == (b.keys.tolist(), b.cosine.tolist(), b.count)
                assert a.mean == pytest.approx(b.mean, abs=1e-6)
            await cold.close()
    assert await warm.check_integrity() == []
    await warm.close()
    await writer.close()


# The seeds' narrow methods.


def _made(content: str, **more: str) -> Entity:
    return Entity(EntityType.PERSON, content.split(maxsplit=1)[0], content, **more)  # type: ignore[arg-type]


async def test_a_search_by_words_leaves_out_what_only_stands_beside_a_match(alice: StorageBackend) -> None:
    rows = [episode_row(number, content) for number, content in enumerate(["Nothing.", "I like hiking.", "Nothing."])]
    made = [entity(number, id=f"e{number}") for number in range(3)]

    def work(tx: Transaction) -> None:
        tx.add_episodes(rows)
        tx.add_entities(made)

    await alice.write(work)
    assert [each.id for each in await alice.search("hiking", 5)] == ["e1"]


async def test_an_entity_made_by_hand_is_kept_found_and_deleted(alice: StorageBackend) -> None:
    works, likes = _made("Alice works at Acme"), _made("Bob likes hiking in Acme woods")
    assert await alice.store_entity(works) == works.id
    assert await alice.store_entity(likes) == likes.id
    kept = await alice.get_entity(works.id)
    assert kept is not None
    assert (kept.content, kept.entity_type, kept.name) == (works.content, works.entity_type, "Alice")
    assert kept.span == (0, len(works.content))
    assert kept.at == kept.valid_from == kept.recorded_at
    assert (await alice.read(lambda s: s.episodes([kept.episode_id])))[kept.episode_id].content == works.content
    assert [each.id for each in await alice.search("hiking", 5)] == [likes.id]
    assert {each.id for each in await alice.search("acme", 5)} == {works.id, likes.id}
    assert [each.id for each in await alice.search("acme hiking", 1)] == [likes.id]
    assert await alice.search("nothing here matches", 5) == []
    assert [each.id for each in await alice.list(limit=9)] == [works.id, likes.id]
    assert [each.id for each in await alice.list(limit=1)] == [works.id]
    assert await alice.count() == 2
    assert await alice.delete(works.id) is True
    assert await alice.delete(works.id) is False
    assert await alice.get_entity(works.id) is None
    assert await alice.count() == 1
    assert await alice.search("works", 5) == []


async def test_storing_an_entity_again_changes_nothing_and_another_claim_under_its_id_is_refused(
    alice: StorageBackend,
) -> None:
    await alice.store_entity(_made("Alice works at Acme", id="a"))
    await alice.store_entity(_made("Alice works at Acme", id="a"))
    assert await alice.count() == 1
    with pytest.raises(InvalidInput, match="says something else"):
        await alice.store_entity(_made("Alice works at StartupX", id="a"))
    with pytest.raises(NotFound):
        await alice.store_entity(entity("no such episode"))
    await _add(alice, episode_row(5, "Carol said it"))
    hers = entity(5, "Carol", id="hers")
    await alice.store_entity(hers)
    assert (await alice.read(lambda s: s.entities_of(["ep_5"])))["ep_5"][0].id == "hers"


async def test_vectors_by_id_of_an_entity_or_an_episode(alice: StorageBackend) -> None:
    for name in ("a", "b"):
        await alice.store_entity(_made(f"{name} thing", id=name))
    await _add(alice, episode_row(9))
    await alice.store("a", axis(0))
    await alice.store("b", axis(1))
    await alice.store("ep_9", axis(0) * 0.6 + axis(1) * 0.8)
    assert await alice.search(axis(0), 2) == [
        VectorHit("a", pytest.approx(1.0, abs=1e-3)),
        VectorHit("ep_9", pytest.approx(0.6, abs=1e-3)),
    ]
    assert [await alice.exists(each) for each in ("a", "ep_9", "no")] == [True, True, False]
    assert (await alice.get("b")).tolist() == axis(1).tolist()
    assert await alice.get("no") is None
    with pytest.raises(NotFound):
        await alice.store("no", axis(0))
    with pytest.raises(EmbedderMismatch):
        await alice.store("a", np.ones(3, np.float32))
    vectors = alice.vectors
    assert await vectors.count() == 3
    assert await vectors.delete("a") is True
    assert await vectors.delete("a") is False
    assert await vectors.delete("no") is False
    assert await vectors.count() == 2
    assert await alice.count() == 2
    assert [hit.id for hit in await alice.search(axis(0), 9)] == ["ep_9", "b"]
    assert [each.id for each in await alice.search("a thing", 9)] != []
    await alice.store("a", axis(3))
    assert (await alice.search(axis(3), 1))[0].id == "a"
    assert await alice.delete("ep_9") is True
    assert [hit.id for hit in await alice.search(axis(0), 9)] == ["a", "b"]


async def test_without_vectors_there_are_no_candidates(alice: StorageBackend) -> None:
    await _add(alice, episode_row(0, "cat one"))
    found = await alice.read(near(0))
    assert (len(found.keys), len(found.cosine), len(found.words), found.count) == (0, 0, 0, 0)
