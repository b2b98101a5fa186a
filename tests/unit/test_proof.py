"""Proofs: found wherever the words are, unreadable, and never by chance alone."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi.types.erasure_proof import GRAM_BYTES_MIN, chunked, found_in_all, make_proof, pieces

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
