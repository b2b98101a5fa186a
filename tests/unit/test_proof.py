"""Proofs: found wherever the words are, unreadable, and never by chance alone."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi.types import erasure_proof
from umi.types.erasure_proof import GRAM_BYTES_MIN, Sample, chunked, found_in_all, make_proof, make_search, pieces

SALT = "ab" * 16


@given(st.text(min_size=1, max_size=60), st.binary(max_size=200), st.binary(max_size=200))
def test_what_is_there_is_found_whatever_stands_around_it(word: str, before: bytes, after: bytes) -> None:
    low = word.encode("utf-8", "surrogatepass").lower()
    proof = make_proof(SALT, [word], [])
    found = proof.found_in(before + low.upper().lower() + after)
    told = len(low) >= GRAM_BYTES_MIN and (len(low) > 8 or not set(low) <= set(b"0123456789abcdef"))
    assert len(found) == told


def test_case_does_not_hide_it() -> None:
    proof = make_proof(SALT, ["Anneliese"], ["cuckoo clock"])
    assert proof.found_in(b"userANNELIESEsession") == frozenset(proof.names)
    assert proof.found_in(b"the Cuckoo Clock") == frozenset(proof.words)
    assert proof.found_in(b"annelies") == frozenset()
    assert proof.found_in(b"") == frozenset()


def test_random_bytes_hold_none_of_it() -> None:
    rng = random.Random(3)
    proof = make_proof(SALT, ["Anneliese"], [f"{rng.random()}"[2:14] for _ in range(200)])
    assert proof.found_in(rng.randbytes(300_000)) == frozenset()


def test_nothing_of_it_can_be_read_and_another_salt_gives_other_digests() -> None:
    proof, other = make_proof(SALT, ["Anneliese"], []), make_proof("cd" * 16, ["Anneliese"], [])
    assert "anneliese" not in repr(proof).lower()
    assert proof.names[0].digest != other.names[0].digest


def test_pieces_are_words_and_runs_of_three() -> None:
    words, runs = pieces(["Ann's cat, Rex, sleeps.", "Bo!", ""])
    assert words == ["Ann's", "cat", "Rex", "sleeps", "Bo"]
    assert runs == ["Ann's cat, Rex", "cat, Rex, sleeps", "Bo"]


def test_what_any_id_may_hold_proves_nothing() -> None:
    assert make_proof(SALT, ["1866", "Beada", "Beadle"], ["1866-7"]).names == make_proof(SALT, ["beadle"], []).names


def test_a_name_is_no_word_too() -> None:
    proof = make_proof(SALT, ["Anneliese"], ["anneliese", "clock"])
    assert len(proof.names) == len(proof.words) == 1


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_parts_are_searched_whole(size: int) -> None:
    proof = make_proof(SALT, ["needle"], [])
    parts = [b"hay" * 5, b"a needle here", b"hay"]
    assert b"needle" in b"".join(chunked(iter(parts), size))
    assert found_in_all(proof, parts) == frozenset(proof.names)
    assert found_in_all(proof, [b"nee", b"dle"]) == frozenset(), "two rows make no word"


def test_of_too_many_pieces_a_proof_holds_a_random_sample_and_says_so() -> None:
    texts = [f"quokka{number:05}" for number in range(5_000)]
    proof = make_proof(SALT, ["Anneliese"], texts, [f"{text} ate figs" for text in texts[:90]], count_max=100)
    assert (len(proof.names), len(proof.words), len(proof.runs)) == (1, 100, 90)
    assert (proof.is_sample, proof.runs_count) == (True, 90)
    assert 3_500 < proof.words_count < 6_500
    other = make_proof("cd" * 16, ["Anneliese"], texts, count_max=100)
    both = [text for text in texts if proof.found_in(text.encode()) and other.found_in(text.encode())]
    assert len(both) < 20, "chance decides which"


def test_a_sample_is_the_same_whatever_the_order_and_however_often_a_piece_comes() -> None:
    texts = [f"quokka{number:05}" for number in range(2_000)]
    sample = Sample(SALT, 50)
    for text in texts[::-1] * 2:
        sample.add([text])
    assert sample.grams(50) == make_proof(SALT, [], texts, count_max=50).words
    assert sample.all_kept() is None


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=5), st.integers(0, 4), st.binary(max_size=99))
def test_needles_find_what_a_proof_finds(words: list[str], place: int, around: bytes) -> None:
    proof, needles = make_search(SALT, [], words)
    assert needles is not None
    data = around + words[place % len(words)].encode("utf-8", "surrogatepass") + around
    for some in (data, around, b""):
        assert needles.found_in(some) == bool(proof.found_in(some))


def test_needles_are_not_mistaken_for_other_bytes_and_none_is_overlooked() -> None:
    """Sixteen bits of each place are compared first: of 400,000 random bytes some thousand have those of a piece."""
    rng = random.Random(5)
    words = ["".join(rng.choices("qxyz", k=rng.randint(12, 20))) for _ in range(200)]
    _, needles = make_search(SALT, [], words)
    assert needles is not None
    noise = rng.randbytes(400_000).lower()
    assert not needles.found_in(noise)
    assert not needles.found_in(noise + " ".join(word[:9] for word in words).encode())
    assert all(needles.found_in(noise[: 5 * at] + word.upper().encode() + noise[:9]) for at, word in enumerate(words))


def test_needles_find_every_piece_beyond_the_sample_of_the_proof() -> None:
    texts = [f"quokka{number:05}" for number in range(9_000)]
    proof, needles = make_search(SALT, [], texts, [f"{text} ate figs" for text in texts])
    assert needles is not None
    assert proof.is_sample
    assert all(needles.found_in(f"user{text.upper()}session".encode()) for text in texts[::50])
    assert not needles.found_in(b"".join(f"quokk{number:06}".encode() for number in range(9_000)))


def test_too_many_pieces_have_no_needles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure_proof, "_SLACK_COUNT", 10)
    sample = Sample(SALT, 20)
    sample.add(f"quokka{number:05}" for number in range(100))
    assert make_search(SALT, [], sample)[1] is None


def test_all_of_a_few_pieces_is_no_sample() -> None:
    proof = make_proof(SALT, ["Anneliese"], ["anneliese", "clock", "cat"], ["cuckoo clock", "clock"], count_max=2)
    assert (len(proof.words), len(proof.runs), proof.words_count, proof.runs_count) == (1, 1, 1, 1)
    assert not proof.is_sample


def test_a_proof_that_nobody_made_is_told_from_one() -> None:
    proof = make_proof(SALT, ["Anneliese"], ["cuckoo clock"])
    assert proof.fault is None
    gram = proof.names[0]
    for wrong in (
        replace(proof, salt="none"),
        replace(proof, salt="ab" * 65),
        replace(proof, names=(replace(gram, length=-1),)),
        replace(proof, words=(replace(gram, length=10**9),)),
        replace(proof, runs=(replace(gram, weak=1 << 16),)),
        replace(proof, runs=(gram,) * 10_000),
    ):
        assert wrong.fault is not None
