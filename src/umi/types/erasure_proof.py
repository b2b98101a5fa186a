"""What must not be found in bytes any more, as keyed digests: enough to look for it anywhere, too little to read it.

A *gram* is a piece of lower-case UTF-8: a word, or a few words in a row. Of each gram a proof keeps its length, sixteen bits of a mixture of
its first bytes (so that whole files can be gone through at once) and a keyed BLAKE2b digest. Nobody can read a proof, but who
has one can test a guess: a short word is guessed in no time. A proof is to be kept like a list of passwords' digests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

GRAM_BYTES_MIN: Final = 4  # shorter ones occur in any bytes by chance
_GRAM_BYTES_MAX: Final = 120
_PREFIX_BYTES_MAX: Final = 8
_DIGEST_BYTES: Final = 8
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_WEAK_BITS: Final = 16
_WORD: Final = re.compile(r"[^\W_]+(?:['’\-.@][^\W_]+)*")
_RUN: Final = 3  # words
_ID: Final = re.compile(rb"[0-9a-f]{1,8}\Z")  # ids are full of these

Windows = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, order=True)
class NGramDigest:
    """One piece of text as a proof keeps it: `length` in bytes, `weak` 0..65535, `digest` in hex."""

    length: int
    weak: int
    digest: str


@dataclass(frozen=True)
class ErasureProof:
    """Of one erasure: `names` are those of the subject, which nothing said before may hold; `words` are the rest of what went."""

    salt: str
    names: tuple[NGramDigest, ...]
    words: tuple[NGramDigest, ...]

    @cached_property
    def _by_prefix(self) -> dict[int, dict[int, list[NGramDigest]]]:
        found: dict[int, dict[int, list[NGramDigest]]] = {}
        for gram in (*self.names, *self.words):
            of_length = found.setdefault(min(gram.length, _PREFIX_BYTES_MAX), {})
            of_length.setdefault(gram.weak, []).append(gram)
        return found

    def found_in(self, data: bytes) -> frozenset[NGramDigest]:
        """The grams that occur in these bytes, in any case of ASCII letters."""
        low = data.lower()
        return frozenset(gram for length in self._by_prefix for gram in self._found(low, length))

    def _found(self, low: bytes, length: int) -> Iterator[NGramDigest]:
        table = np.zeros(1 << _WEAK_BITS, dtype=np.bool_)
        wanted = self._by_prefix[length]
        table[list(wanted)] = True
        weak = _weak(low, length)
        seen: set[tuple[int, bytes]] = set()
        for place in np.flatnonzero(table[weak]).tolist():
            for gram in wanted[int(weak[place])]:
                piece = low[place : place + gram.length]
                if (gram.length, piece) not in seen:
                    seen.add((gram.length, piece))
                    if _digest(self.salt, piece) == gram.digest:
                        yield gram


def make_proof(salt: str, names: Iterable[str], words: Iterable[str]) -> ErasureProof:
    """The proof of what is to be gone.

    Args:
        salt: Random, in hex.
        names: Of the subject, as written in any case.
        words: Other pieces of text, as `pieces` makes them.
    """
    named = _grams(salt, names)
    return ErasureProof(salt, named, tuple(gram for gram in _grams(salt, words) if gram not in named))


def pieces(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The words of some texts, and their runs of three words as written (of a shorter text all of it), each once."""
    words: dict[str, None] = {}
    runs: dict[str, None] = {}
    for text in texts:
        places = [match.span() for match in _WORD.finditer(text)]
        words.update(dict.fromkeys(text[start:end] for start, end in places))
        for first in range(max(1, len(places) - _RUN + 1)) if places else ():
            last = places[min(first + _RUN, len(places)) - 1]
            runs[text[places[first][0] : last[1]]] = None
    return list(words), list(runs)


def _grams(salt: str, texts: Iterable[str]) -> tuple[NGramDigest, ...]:
    lows = {text.encode("utf-8", "surrogatepass").lower()[:_GRAM_BYTES_MAX] for text in texts}
    return tuple(sorted(_gram(salt, low) for low in sorted(lows) if len(low) >= GRAM_BYTES_MIN and not _ID.match(low)))


def _gram(salt: str, low: bytes) -> NGramDigest:
    weak = _weak(low, min(len(low), _PREFIX_BYTES_MAX))
    return NGramDigest(len(low), int(weak[0]), _digest(salt, low))


def _weak(low: bytes, length: int) -> npt.NDArray[np.uint16]:
    """For each place the mixed first bits of the `length` bytes from there on."""
    letters = np.frombuffer(low, dtype=np.uint8)
    count = max(0, len(letters) - length + 1)
    windows: Windows = np.zeros(count, dtype=np.uint64)
    for offset in range(length):
        windows |= letters[offset : offset + count].astype(np.uint64) << np.uint64(8 * offset)
    with np.errstate(over="ignore"):
        mixed = (windows * _MIX) >> np.uint64(64 - _WEAK_BITS)
    weak: npt.NDArray[np.uint16] = mixed.astype(np.uint16)
    return weak


def _digest(salt: str, low: bytes) -> str:
    return blake2b(low, digest_size=_DIGEST_BYTES, key=bytes.fromhex(salt)).hexdigest()


def chunked(parts: Iterable[bytes], size: int = 1 << 20) -> Iterator[bytes]:
    """Some parts as larger pieces, between which nothing is cut: a newline stands between two parts."""
    held: list[bytes] = []
    room = size
    for part in parts:
        held.append(part)
        room -= len(part)
        if room < 0:
            yield b"\n".join(held)
            held, room = [], size
    if held:
        yield b"\n".join(held)


def found_in_all(proof: ErasureProof, parts: Sequence[bytes] | Iterator[bytes]) -> frozenset[NGramDigest]:
    """The grams that occur in any of the parts."""
    found: frozenset[NGramDigest] = frozenset()
    for piece in chunked(parts):
        found |= proof.found_in(piece)
    return found
