"""The search index of one namespace, in RAM: postings of turns, links between neighbours, sessions, vectors.

Derived from committed rows and grown row by row; equal, answer for answer, to one rebuilt from the same rows. It counts
and measures, and scores nothing: `umi.ranking` does. Only turns have postings: the counts of a turn with its neighbours and of a
session are sums over them. Not safe for use by two threads at once: it lives on its store's worker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from umi.candidates import NO_KEYS, Keys, Surroundings, TermCounts, TextCandidates, VectorCandidates
from umi.errors import EmbedderMismatch
from umi.invariants import check
from umi.ports import Matrix, Vector
from umi.stores.postings import Postings
from umi.text import analyse
from umi.vectors import GrowingArray, cosines

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

_NONE: Final = -1
_NOBODY: Final = 0  # speaker code of a message without speaker
_DEAD_WINDOWS_MIN: Final = 64
_DENSE_SHARE: Final = 8
_COSINE_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class _Scan:
    """How near every document is to an embedding (its best window; -1 without vectors), and what that is like over those with vectors."""

    embedding: Vector
    best: Floats
    mean: float
    deviation: float


class NamespaceIndex:
    """Documents in order of arrival, their vectors whenever they come."""

    def __init__(self) -> None:
        self._postings = Postings()
        # One row per document, in order of arrival; a document's row number is its place.
        self._keys = GrowingArray(np.int64)
        self._alive = GrowingArray(np.bool_)
        self._words = GrowingArray(np.float32)
        self._traits = GrowingArray(np.int64)
        self._at = GrowingArray(np.float64)  # days since 1970
        self._lengths = GrowingArray(np.float32)
        self._around = GrowingArray(np.float32)  # length with neighbours
        self._previous = GrowingArray(np.int64)
        self._next = GrowingArray(np.int64)
        self._session = GrowingArray(np.int64)
        self._speaker = GrowingArray(np.int64)
        self._dead = 0
        # One row per session; a message without a session is one of its own.
        self._session_names: dict[str, int] = {}
        self._session_last = GrowingArray(np.int64)
        self._session_size = GrowingArray(np.int64)
        self._session_length = GrowingArray(np.float32)
        self._speakers: dict[str, int] = {"": _NOBODY}
        self._speakers_by_term: dict[str, list[int]] = {}
        self._speaker_size = GrowingArray(np.int64)
        self._speaker_size.append(0)
        # One row per window.
        self._vectors: GrowingArray | None = None
        self._owner = GrowingArray(np.int64)
        self._vectored = GrowingArray(np.bool_)
        self._dead_windows = 0
        self._vectored_count = 0
        self._is_one_window_each = True
        self._scan: _Scan | None = None  # of the last embedding: a search asks twice

    def __len__(self) -> int:
        return len(self._keys) - self._dead

    @property
    def bytes(self) -> int:
        """An estimate of the memory it takes, to within a third."""
        held = sum(column.nbytes for column in self._columns()) + (0 if self._vectors is None else self._vectors.nbytes)
        return held + self._postings.bytes

    # Growing.

    def add_document(
        self,
        key: int,
        terms: Sequence[str],
        words: int,
        session: str | None,
        speaker: str | None,
        traits: int = 0,
        at_days: float = 0.0,
    ) -> None:
        """Add a document at the end.

        Args:
            key: Its arrival; larger than every key before.
            terms: Its analysed line, repeats kept.
            words: Its words before stop words went.
            session: The conversation it belongs to, or None.
            speaker: Who said it, or None.
            traits: How it is worded, as of `umi.traits.read_traits`.
            at_days: When it was said, in days since 1970.
        """
        self._scan = None
        place = len(self._keys)
        check(place == 0 or key > int(self._keys.rows[-1]), f"document {key} arrives out of order")
        self._postings.add(place, terms)
        number = self._session_number(session)
        previous = int(self._session_last.rows[number])
        length = float(len(terms))
        for column, value in (
            (self._keys, key),
            (self._alive, True),
            (self._words, words),
            (self._traits, traits),
            (self._at, at_days),
            (self._lengths, length),
            (self._around, length),
            (self._previous, _NONE),
            (self._next, _NONE),
            (self._session, number),
            (self._speaker, self._speaker_number(speaker)),
            (self._vectored, False),
        ):
            column.append(value)
        self._session_size.rows[number] += 1
        self._session_length.rows[number] += length
        self._session_last.rows[number] = place
        self._link(previous, place, 1.0)

    def add_vectors(self, key: int, windows: Matrix) -> None:
        """Give a document its vectors, shape (windows, dimensions); replaces those it had.

        Raises:
            EmbedderMismatch: When the dimensions differ from those of the vectors here.
        """
        place = self._place(key)
        check(place is not None, f"vectors for document {key}, which is not here")
        if self._vectors is None:
            self._vectors = GrowingArray(np.float32, int(windows.shape[1]))
        self._require_dimensions(int(windows.shape[1]))
        self._drop_vectors(place or 0)
        self._scan = None
        self._is_one_window_each = self._is_one_window_each and len(windows) == 1
        self._vectors.extend(windows)
        self._owner.extend(np.full(windows.shape[0], place, dtype=np.int64))
        self._vectored.rows[place] = True
        self._vectored_count += 1

    def remove(self, *keys: int) -> None:
        """Forget documents, with their words; their neighbours become neighbours of each other. Unknown keys are ignored."""
        gone = np.zeros(len(self._keys), dtype=np.bool_)
        for key in keys:
            place = self._place(key)
            if place is not None:
                gone[place] = True
                self._unlink(place)
        if gone.any():
            self._scan = None
            self._postings.drop(gone)

    # Asking.

    def text_candidates(self, terms: Sequence[str], *, also: Keys = NO_KEYS) -> TextCandidates:
        """Every document that shares a term with the query in its turn or its neighbours, and those of `also`.

        Args:
            terms: The analysed query, without repeats.
            also: Keys whose statistics are wanted whatever they share.
        """
        found = [self._postings.of(term) for term in terms]
        term = np.repeat(np.arange(len(terms)), [len(turns) for turns, _ in found])
        turns = np.concatenate([turns for turns, _ in found]) if found else np.empty(0, dtype=np.int64)
        counts = np.concatenate([counts for _, counts in found]) if found else np.empty(0, dtype=np.float32)

        in_session, session_term, session_tf = _sums(
            self._session.rows[turns], term, counts, len(self._session_size), len(terms)
        )
        near, near_term, near_tf = self._neighbour_counts(turns, term, counts, len(terms))
        touched = np.zeros(len(self._keys), dtype=np.bool_)
        touched[near] = True
        touched[self._places(also)] = True
        places = np.flatnonzero(touched)
        row_of = np.empty(len(self._keys), dtype=np.int64)
        row_of[places] = np.arange(len(places))
        sessions = np.zeros(len(self._session_size), dtype=np.bool_)
        sessions[in_session] = True
        sessions[self._session.rows[places]] = True
        units = np.flatnonzero(sessions)
        unit_of = np.empty(len(self._session_size), dtype=np.int64)
        unit_of[units] = np.arange(len(units))
        alive = len(self)
        session_count = int(np.count_nonzero(self._session_size.rows))
        lengths, around = self._lengths.rows, self._around.rows
        total = float(lengths.sum(dtype=np.float64))
        return TextCandidates(
            keys=self._keys.rows[places],
            words=self._words.rows[places],
            spoken=self._spoken(terms, places),
            session_unit=unit_of[self._session.rows[places]],
            turn=_level(row_of[turns], term, counts, lengths[places], len(terms), total, alive),
            neighbours=_level(
                row_of[near], near_term, near_tf, around[places], len(terms), float(around.sum(dtype=np.float64)), alive
            ),
            session=_level(
                unit_of[in_session],
                session_term,
                session_tf,
                self._session_length.rows[units],
                len(terms),
                total,
                session_count,
            ),
        )

    def vector_candidates(self, embedding: Vector, *, also: Keys = NO_KEYS, pool: int) -> VectorCandidates:
        """The `pool` documents nearest to a vector, and those of `also` that have vectors.

        Args:
            embedding: Shape (dimensions,), L2-normalised.
            also: Keys whose cosine is wanted however far they are.
            pool: How many of the nearest; of equally near ones the first to arrive.

        Raises:
            EmbedderMismatch: When the embedding's dimensions are not those of the vectors here.
        """
        if self._vectors is None or not self._vectored_count:
            empty = np.empty(0, dtype=np.float32)
            return VectorCandidates(NO_KEYS, empty, empty, 0.0, 0.0, 0)
        self._require_dimensions(int(embedding.shape[0]))
        scan = self._scanned(embedding)
        chosen = np.zeros(len(self._keys), dtype=np.bool_)
        chosen[_nearest(scan.best, min(pool, self._vectored_count))] = True
        chosen[self._places(also)] = True
        rows = np.flatnonzero(chosen & self._vectored.rows)
        return VectorCandidates(
            keys=self._keys.rows[rows],
            cosine=np.round(scan.best[rows], _COSINE_DECIMALS),
            words=self._words.rows[rows],
            mean=scan.mean,
            deviation=scan.deviation,
            count=self._vectored_count,
        )

    def surroundings(self, keys: Keys) -> Surroundings:
        """Where documents stand, in the order asked for.

        Args:
            keys: Of documents that are here.
        """
        places = np.searchsorted(self._keys.rows, keys)
        previous = self._previous.rows[places]
        return Surroundings(
            traits=self._traits.rows[places],
            traits_before=np.where(previous == _NONE, 0, self._traits.rows[previous]),
            at=self._at.rows[places],
            session=self._session.rows[places],
            before=self._keys_at(previous),
            after=self._keys_at(self._next.rows[places]),
        )

    # Inside.

    def _unlink(self, place: int) -> None:
        previous, following = int(self._previous.rows[place]), int(self._next.rows[place])
        self._link(previous, place, -1.0)
        self._link(place, following, -1.0)
        self._link(previous, following, 1.0)
        number = int(self._session.rows[place])
        if following == _NONE:
            self._session_last.rows[number] = previous
        self._session_size.rows[number] -= 1
        self._session_length.rows[number] -= self._lengths.rows[place]
        if not self._session_size.rows[number]:
            self._session_names = {name: of for name, of in self._session_names.items() if of != number}
        self._leave_speaker(int(self._speaker.rows[place]))
        self._drop_vectors(place)
        for column in (self._lengths, self._around):
            column.rows[place] = 0
        self._alive.rows[place] = False
        self._dead += 1

    def _leave_speaker(self, number: int) -> None:
        """One message of a speaker is gone; with the last one the name goes too."""
        self._speaker_size.rows[number] -= 1
        if number == _NOBODY or self._speaker_size.rows[number]:
            return
        self._speakers = {name: of for name, of in self._speakers.items() if of != number}
        left = {term: [of for of in named if of != number] for term, named in self._speakers_by_term.items()}
        self._speakers_by_term = {term: named for term, named in left.items() if named}

    def _keys_at(self, places: Ints) -> Keys:
        if not len(places):
            return places
        keys: Keys = np.where(places == _NONE, _NONE, self._keys.rows[places])
        return keys

    def _columns(self) -> tuple[GrowingArray, ...]:
        return (
            *(
                self._keys,
                self._alive,
                self._words,
                self._traits,
                self._at,
                self._lengths,
                self._around,
                self._previous,
            ),
            *(self._next, self._session, self._speaker, self._session_last, self._session_size, self._session_length),
            *(self._owner, self._vectored),
        )

    def _session_number(self, session: str | None) -> int:
        number = (
            len(self._session_size) if session is None else self._session_names.get(session, len(self._session_size))
        )
        if number == len(self._session_size):
            self._session_last.append(_NONE)
            self._session_size.append(0)
            self._session_length.append(0)
            if session is not None:
                self._session_names[session] = number
        return number

    def _speaker_number(self, speaker: str | None) -> int:
        number = self._speakers.setdefault(speaker or "", len(self._speaker_size))
        if number == len(self._speaker_size):
            self._speaker_size.append(0)
            for term in analyse(speaker or "")[:1]:
                self._speakers_by_term.setdefault(term, []).append(number)
        self._speaker_size.rows[number] += 1
        return number

    def _link(self, earlier: int, later: int, sign: float) -> None:
        """Make two documents neighbours (sign 1), or take the one's length out of the other's surroundings (sign -1)."""
        if _NONE in (earlier, later):
            if sign > 0 and later != _NONE:
                self._previous.rows[later] = _NONE
            if sign > 0 and earlier != _NONE:
                self._next.rows[earlier] = _NONE
            return
        self._around.rows[earlier] += sign * self._lengths.rows[later]
        self._around.rows[later] += sign * self._lengths.rows[earlier]
        if sign > 0:
            self._next.rows[earlier], self._previous.rows[later] = later, earlier

    def _place(self, key: int) -> int | None:
        place = int(np.searchsorted(self._keys.rows, key))
        found = place < len(self._keys) and int(self._keys.rows[place]) == key and bool(self._alive.rows[place])
        return place if found else None

    def _places(self, keys: Keys) -> Ints:
        """Places of those keys that are here."""
        places: Ints = np.searchsorted(self._keys.rows, keys)
        places[places == len(self._keys)] = 0
        found: Ints = places[self._keys.rows[places] == keys]
        return found

    def _neighbour_counts(self, turns: Ints, term: Ints, counts: Floats, terms: int) -> tuple[Ints, Ints, Floats]:
        """Counts of each term in each turn together with the turn before and after it in its session."""
        before, after = self._previous.rows[turns], self._next.rows[turns]
        units = np.concatenate([turns, before, after])
        real = units != _NONE
        return _sums(units[real], np.tile(term, 3)[real], np.tile(counts, 3)[real], len(self._keys), terms)

    def _spoken(self, terms: Sequence[str], places: Ints) -> Floats:
        named = [number for term in terms for number in self._speakers_by_term.get(term, ())]
        named = [number for number in named if self._speaker_size.rows[number]]
        speaking = int(np.count_nonzero(self._speaker_size.rows[1:]))
        if not 0 < len(named) < speaking:
            return np.zeros(len(places), dtype=np.float32)
        table = np.full(len(self._speaker_size), -1.0, dtype=np.float32)
        table[_NOBODY] = 0.0
        table[named] = 1.0
        spoken: Floats = table[self._speaker.rows[places]]
        return spoken

    def _require_dimensions(self, dimensions: int) -> None:
        held = dimensions if self._vectors is None else int(self._vectors.rows.shape[1])
        if dimensions != held:
            raise EmbedderMismatch(f"a vector of {dimensions} dimensions does not compare with this store's of {held}")

    def _drop_vectors(self, place: int) -> None:
        if not self._vectored.rows[place] or self._vectors is None:
            return
        self._vectored.rows[place] = False
        self._vectored_count -= 1
        owned = self._owner.rows == place
        self._owner.rows[owned] = _NONE
        self._vectors.rows[owned] = 0
        self._dead_windows += int(np.count_nonzero(owned))
        if self._dead_windows > _DEAD_WINDOWS_MIN and 2 * self._dead_windows > len(self._owner):
            kept = self._owner.rows != _NONE
            self._vectors.replace(self._vectors.rows[kept])
            self._owner.replace(self._owner.rows[kept])
            self._dead_windows = 0

    def _scanned(self, embedding: Vector) -> _Scan:
        if self._scan is None or self._scan.embedding is not embedding:
            best = self._best_windows(embedding)
            real = best if self._vectored_count == len(best) else best[self._vectored.rows]
            mean = float(real.mean(dtype=np.float64))
            deviation = math.sqrt(max(0.0, float(np.square(real, dtype=np.float64).mean()) - mean * mean))
            self._scan = _Scan(embedding, best, mean, deviation)
        return self._scan

    def _best_windows(self, embedding: Vector) -> Floats:
        """The cosine of every document's best window, shape (documents,); -1 where there is none."""
        best = np.full(len(self._keys), -1.0, dtype=np.float32)
        if self._vectors is None:
            return best
        nearness = cosines(self._vectors.rows, embedding)
        owner = self._owner.rows
        if self._dead_windows:
            living = owner != _NONE
            owner, nearness = owner[living], nearness[living]
        if self._is_one_window_each:
            best[owner] = nearness
        else:
            np.maximum.at(best, owner, nearness)
        return best


def _sums(units: Ints, term: Ints, counts: Floats, unit_count: int, terms: int) -> tuple[Ints, Ints, Floats]:
    """Add up counts per pair of unit and term: the different pairs and their sums, in order of unit and term."""
    pairs = units * terms + term
    if len(pairs) * _DENSE_SHARE < unit_count * terms:
        found, where = np.unique(pairs, return_inverse=True)
        sums = np.bincount(where, weights=counts, minlength=len(found))
    else:  # most pairs occur: cheaper to count into all of them than to sort
        every = np.bincount(pairs, weights=counts, minlength=unit_count * terms)
        found = np.flatnonzero(every)
        sums = every[found]
    return found // max(1, terms), found % max(1, terms), sums.astype(np.float32)


def _level(
    unit: Ints, term: Ints, tf: Floats, length: Floats, terms: int, total_length: float, count: int
) -> TermCounts:
    return TermCounts(
        unit=unit,
        term=term,
        tf=tf,
        length=length,
        df=np.bincount(term, minlength=terms).astype(np.float32),
        average_length=total_length / count if count else 0.0,
        count=count,
    )


def _nearest(nearness: Floats, pool: int) -> Ints:
    """Places of the `pool` largest; of equal ones the first."""
    if len(nearness) <= pool:
        return np.arange(len(nearness))
    if pool < 1:
        return np.empty(0, dtype=np.int64)
    edge = np.partition(nearness, len(nearness) - pool)[len(nearness) - pool]
    above = np.flatnonzero(nearness > edge)
    level = np.flatnonzero(nearness == edge)[: pool - len(above)]
    return np.concatenate([above, level])
