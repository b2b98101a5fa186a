"""What must not be found in bytes any more, as keyed digests: enough to look for it anywhere, too little to read it.

A *gram* is a piece of lower-case UTF-8: a word, or a few words in a row. Of each gram a proof keeps its length, sixteen bits of a mixture of
its first bytes (so that whole files can be gone through at once) and a keyed BLAKE2b digest. Nobody can read a proof, but who
has one can test a guess: a short word is guessed in no time. A proof is to be kept like a list of passwords' digests.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from umi.limits import ERASURE_DIGESTS_COUNT_MAX, ERASURE_PIECES_COUNT_MAX

GRAM_BYTES_MIN: Final = 4  # shorter ones occur in any bytes by chance
_GRAM_BYTES_MAX: Final = 120
_PREFIX_BYTES_MAX: Final = 8
_DIGEST_BYTES: Final = 8
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_WEAK_BITS: Final = 16
_WORD: Final = re.compile(r"[^\W_]+(?:['’\-.@][^\W_]+)*")
_RUN: Final = 3  # words
_SALT_BYTES_MAX: Final = 64  # of the key of BLAKE2b
_SALT: Final = re.compile(rf"(?:[0-9a-f]{{2}}){{1,{_SALT_BYTES_MAX}}}\Z")
_NO_BOUND: Final = "g"  # sorts after every hexadecimal digest
_SLACK_COUNT: Final = 16_384  # pieces above the bound that `Sample` holds for a while, so as to sort seldom
_PASSED_COUNT_MAX: Final = 65_536  # pieces that `Sample` remembers as added, so as not to compute their digests again
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
    """Of one erasure: `names` are those of the subject or the namespace, `words` and `runs` of words are the rest of what went.

    Of more than 4,096 words, and of more than as many runs, the proof holds a random sample. `words_count` and `runs_count`
    say how many there were; of a sample, about how many. In receipts of versions before they are 0, and `words` has both.
    """

    salt: str
    names: tuple[NGramDigest, ...]
    words: tuple[NGramDigest, ...]
    runs: tuple[NGramDigest, ...] = ()
    words_count: int = 0
    runs_count: int = 0

    @property
    def is_sample(self) -> bool:
        """Whether there were more pieces than the proof holds."""
        return self.words_count > len(self.words) or self.runs_count > len(self.runs)

    @property
    def fault(self) -> str | None:
        """What makes this no proof; None for one as `make_proof` makes it."""
        if not _SALT.match(self.salt):
            return f"its salt {self.salt!r:.80} is not 1 to {_SALT_BYTES_MAX} bytes in hex"
        for kind, grams in (("names", self.names), ("words", self.words), ("runs", self.runs)):
            # Receipts of versions before have runs among the words.
            if len(grams) > 2 * ERASURE_DIGESTS_COUNT_MAX:
                return f"it has {len(grams):,} {kind}, at most {2 * ERASURE_DIGESTS_COUNT_MAX:,} are possible"
            for one in grams:
                if not (GRAM_BYTES_MIN <= one.length <= _GRAM_BYTES_MAX and 0 <= one.weak < 1 << _WEAK_BITS):
                    return (
                        f"one of its {kind} has length {one.length} and weak {one.weak}; "
                        f"{GRAM_BYTES_MIN} to {_GRAM_BYTES_MAX} and 0 to {(1 << _WEAK_BITS) - 1} are possible"
                    )
        return None

    @cached_property
    def _by_prefix(self) -> dict[int, dict[int, list[NGramDigest]]]:
        found: dict[int, dict[int, list[NGramDigest]]] = {}
        for gram in (*self.names, *self.words, *self.runs):
            of_length = found.setdefault(min(gram.length, _PREFIX_BYTES_MAX), {})
            of_length.setdefault(gram.weak, []).append(gram)
        return found

    def found_in(self, data: bytes) -> frozenset[NGramDigest]:
        """The grams that occur in these bytes, in any case of ASCII letters."""
        return frozenset(gram for _, gram in self.places_in(data))

    def places_in(self, data: bytes) -> Iterator[tuple[int, NGramDigest]]:
        """Where grams begin in these bytes, in any case of ASCII letters."""
        low = data.lower()
        for length, windows in _windows(low, self._by_prefix):
            yield from self._places(low, length, windows)

    def _places(self, low: bytes, length: int, windows: Windows) -> Iterator[tuple[int, NGramDigest]]:
        wanted, weak = self._by_prefix[length], _weak(windows)
        digests: dict[bytes, str] = {}
        for place in np.flatnonzero(_table(wanted)[weak]).tolist():
            for gram in wanted[int(weak[place])]:
                piece = low[place : place + gram.length]
                if piece not in digests:
                    digests[piece] = _digest(self.salt, piece)
                if digests[piece] == gram.digest:
                    yield place, gram


class Sample:
    """Collects distinct pieces of text in bounded memory: all of them, or a random sample when there are too many.

    Kept are the pieces with the smallest digests. The digests are keyed with a random salt, so which these are depends on
    nothing but chance, and a piece that comes again changes nothing.

    Args:
        salt: Random, in hex.
        count_max: How many are kept.
    """

    def __init__(self, salt: str, count_max: int = ERASURE_PIECES_COUNT_MAX) -> None:
        self._salt = salt
        self._count_max = count_max
        self._kept: dict[str, bytes] = {}
        self._below = _NO_BOUND  # digests from here on are not kept
        self._passed: set[str] = set()  # pieces that came lately

    def add(self, texts: Iterable[str]) -> None:
        """Add pieces; those too short to be told from chance are left out."""
        for text in texts:
            if text in self._passed:
                continue
            if len(self._passed) >= _PASSED_COUNT_MAX:
                self._passed.clear()
            self._passed.add(text)
            low = text.encode("utf-8", "surrogatepass").lower()[:_GRAM_BYTES_MAX]
            if len(low) < GRAM_BYTES_MIN or _ID.match(low):
                continue
            digest = _digest(self._salt, low)
            if digest < self._below:
                self._kept[digest] = low
                if len(self._kept) > self._count_max + _SLACK_COUNT:
                    self._thin()

    def count(self) -> int:
        """How many distinct pieces were added; about how many when not all were kept."""
        self._thin()
        if self._below == _NO_BOUND:
            return len(self._kept)
        # The kept digests are a share of all possible ones, and so are the pieces of all that came.
        return len(self._kept) * (1 << 8 * _DIGEST_BYTES) // max(1, int(self._below, 16))

    def all_kept(self) -> Collection[bytes] | None:
        """Every piece that was added, in lower case; None when some were not kept."""
        self._thin()
        return self._kept.values() if self._below == _NO_BOUND else None

    def grams(self, count_max: int) -> tuple[NGramDigest, ...]:
        """The pieces with the smallest digests, at most so many, sorted."""
        self._thin()
        made = (_gram(self._salt, self._kept[digest]) for digest in sorted(self._kept)[:count_max])
        return tuple(sorted(made))

    def _thin(self) -> None:
        if len(self._kept) > self._count_max:
            smallest = sorted(self._kept)
            self._below = smallest[self._count_max]
            self._kept = {digest: self._kept[digest] for digest in smallest[: self._count_max]}


class Needles:
    """Finds any of many pieces in bytes, in any case of ASCII letters, whatever stands around them.

    Args:
        pieces: In lower case, none of them empty.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        by_prefix: dict[int, dict[int, list[bytes]]] = {}
        for piece in pieces:
            prefix = piece[:_PREFIX_BYTES_MAX]
            by_prefix.setdefault(len(prefix), {}).setdefault(int.from_bytes(prefix, "little"), []).append(piece)
        self._by_prefix = {
            length: (_table(_weak(np.array(list(wanted), dtype=np.uint64))), wanted)
            for length, wanted in by_prefix.items()
        }

    def found_in(self, data: bytes) -> bool:
        """Whether any of the pieces occurs in these bytes."""
        low = data.lower()
        for length, windows in _windows(low, self._by_prefix):
            table, wanted = self._by_prefix[length]
            for place in np.flatnonzero(table[_weak(windows)]).tolist():
                if any(low.startswith(piece, place) for piece in wanted.get(int(windows[place]), ())):
                    return True
        return False


class Findable(Protocol):
    """What can be looked for in bytes: an `ErasureProof`, or `Needles`."""

    def found_in(self, data: bytes) -> object:
        """True or not empty when it occurs in these bytes."""
        ...


def make_proof(
    salt: str,
    names: Iterable[str],
    words: Iterable[str] | Sample,
    runs: Iterable[str] | Sample = (),
    *,
    count_max: int = ERASURE_DIGESTS_COUNT_MAX,
) -> ErasureProof:
    """The proof of what is to be gone.

    Args:
        salt: Random, in hex; that of the samples, where these are given.
        names: Of the subject, as written in any case.
        words: Words, as `pieces` makes them.
        runs: Runs of words, as `pieces` makes them.
        count_max: How many words and how many runs the proof holds; of more, a random sample.
    """
    return make_search(salt, names, words, runs, count_max=count_max)[0]


def make_search(
    salt: str,
    names: Iterable[str],
    words: Iterable[str] | Sample,
    runs: Iterable[str] | Sample = (),
    *,
    count_max: int = ERASURE_DIGESTS_COUNT_MAX,
) -> tuple[ErasureProof, Needles | None]:
    """As `make_proof`, with what finds every single piece, not only those of the proof; None when these are too many."""
    named, alone, together = (_sampled(salt, texts) for texts in (names, words, runs))
    grams = named.grams(count_max)
    kept, kept_runs = alone.grams(count_max), together.grams(count_max)
    counts = [
        # Each piece stands in a proof once. In a sample nobody can tell how many do already.
        (tuple(gram for gram in some if gram not in before), sample.count() if len(some) < sample.count() else 0)
        for some, sample, before in ((kept, alone, frozenset(grams)), (kept_runs, together, frozenset((*grams, *kept))))
    ]
    (kept, words_count), (kept_runs, runs_count) = counts
    proof = ErasureProof(salt, grams, kept, kept_runs, words_count or len(kept), runs_count or len(kept_runs))
    held = [sample.all_kept() for sample in (named, alone, together)]
    whole = [some for some in held if some is not None]
    return proof, Needles(chain.from_iterable(whole)) if len(whole) == len(held) else None


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


def _sampled(salt: str, texts: Iterable[str] | Sample) -> Sample:
    if isinstance(texts, Sample):
        return texts
    made = Sample(salt)
    made.add(texts)
    return made


def _gram(salt: str, low: bytes) -> NGramDigest:
    ((_, windows),) = _windows(low, [min(len(low), _PREFIX_BYTES_MAX)])
    return NGramDigest(len(low), int(_weak(windows)[0]), _digest(salt, low))


def _weak(windows: Windows) -> npt.NDArray[np.uint16]:
    """The mixed first bits of each."""
    with np.errstate(over="ignore"):
        mixed = (windows * _MIX) >> np.uint64(64 - _WEAK_BITS)
    weak: npt.NDArray[np.uint16] = mixed.astype(np.uint16)
    return weak


def _table(weak: Collection[int] | npt.NDArray[np.uint16]) -> npt.NDArray[np.bool_]:
    """Which mixed first bits are looked for."""
    table = np.zeros(1 << _WEAK_BITS, dtype=np.bool_)
    table[list(weak)] = True
    return table


def _windows(low: bytes, lengths: Iterable[int]) -> Iterator[tuple[int, Windows]]:
    """For each length, shortest first, the `length` bytes from each place on, as a number, the first byte lowest."""
    letters = np.frombuffer(low, dtype=np.uint8)
    windows: Windows = np.zeros(len(letters), dtype=np.uint64)
    done = 0
    for length in sorted(lengths):
        for offset in range(done, length):
            later = letters[offset:].astype(np.uint64)
            windows = windows[: len(later)] | (later << np.uint64(8 * offset))
        done = length
        yield length, windows


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
