"""The search index of one namespace, in RAM: postings of turns, links between neighbours, sessions, speakers and vectors.

It is derived from committed rows and grows with them; its answers equal those of an index rebuilt from the same rows.
It counts and measures but scores nothing, which `umi._core.ranking` does. Only turns have postings: counts of a turn
with its neighbours, and of a session, are sums over turns. Not safe for use by two threads at once; it lives on its
store's worker thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from umi import limits
from umi._core.invariants import InvariantError, check
from umi._core.vectors import GrowingArray
from umi.ports import Matrix, Vector
from umi.ports.candidates import (
    NO_KEYS,
    Eligible,
    Flags,
    Keys,
    Surroundings,
    TermCounts,
    TextCandidates,
    VectorCandidates,
    union,
)
from umi.stores.index.documents import Documents, Names
from umi.stores.index.masks import Masks, Matching
from umi.stores.index.postings import Postings
from umi.stores.index.quantised_vectors import Windows
from umi.stores.index.sign_codes import SignCodes, Signs, in_sample
from umi.stores.index.speakers import Speakers
from umi.stores.index.stored import KeyedWindows, PlaceTable, Stored
from umi.stores.index.term_counts import (
    KEPT_TIMES,
    Entries,
    Reaches,
    Room,
    choose,
    count_sessions,
    count_turns,
)
from umi.types.filters import Filter

_FEW_COUNT: Final = 1_024  # documents that a filter keeps, up to which all of them are candidates
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

_NONE: Final = -1  # no neighbour
_COSINE_DECIMALS: Final = 6  # rounded, so that all machines agree
_OBJECTS_BYTES: Final = 6 * 1024  # of an empty index: some fifty Python objects, measured with tracemalloc


class NamespaceIndex:
    """Documents in order of arrival. Their vectors may be added at any later time.

    Args:
        is_compact: For a namespace that is too large to keep: of vectors only signs are kept, and of what lies in sealed
            blocks no postings. Both are read from the database where needed, see `reads`.
    """

    def __init__(self, *, is_compact: bool = False) -> None:
        self.is_compact = is_compact
        self._stored: Stored | None = None
        self._is_settled = True  # what was read last was committed
        self._sealed = 0  # documents whose postings are in the database; they are the first
        self._place_of: PlaceTable | None = None  # of sealed documents
        self._sampled_every = 1  # of arrivals, one in so many belongs to the sample of vectors
        self._postings = Postings()
        # One row per document, in order of arrival. A document's row number is called its place.
        self._keys = GrowingArray(np.int64)
        self._alive = GrowingArray(np.bool_)
        self._words = GrowingArray(np.float32)
        self._traits = GrowingArray(np.int64)
        self._at = GrowingArray(np.float64)  # days since 1970
        self._lengths = GrowingArray(np.float32)
        self._around = GrowingArray(np.float32)  # length including the neighbours'
        self._previous = GrowingArray(np.int64)
        self._next = GrowingArray(np.int64)
        self._session = GrowingArray(np.int64)
        self._speaker = GrowingArray(np.int64)
        self._dead = 0
        # One row per session. A message without a session forms a session of its own.
        self._session_names: dict[str, int] = {}
        self._session_last = GrowingArray(np.int64)
        self._session_size = GrowingArray(np.int64)
        self._session_length = GrowingArray(np.float32)
        self._speakers = Speakers()
        self._windows = SignCodes(self._windows_of, self._is_sampled) if is_compact else Windows()
        self._room = Room()
        self._reaches = Reaches()
        self._masks = Masks()
        # Whole numbers, so these sums are exact in any order.
        self._total_length = self._total_around = 0.0

    def __len__(self) -> int:
        return len(self._keys) - self._dead

    @property
    def bytes(self) -> int:
        """An estimate of the memory it takes, accurate to about a third."""
        parts = (self._windows, self._postings, self._room, self._masks, self._place_of)
        held = sum(part.bytes for part in parts if part is not None)
        return _OBJECTS_BYTES + sum(column.nbytes for column in self._columns()) + held

    def reads(self, stored: Stored, *, is_settled: bool = True) -> Self:
        """The index, which reads what it has not kept from there until this is called again.

        Args:
            stored: Where it reads.
            is_settled: Whether all that lies there is committed. What was read of anything else is not kept beyond it.
        """
        if isinstance(self._windows, SignCodes) and not (is_settled and self._is_settled):
            self._windows.forget()
        self._stored, self._is_settled = stored, is_settled
        return self

    # Growing.

    def sample(self, arrivals_count: int) -> None:
        """Choose of which documents vectors are kept whole, if the namespace has had so many messages."""
        every = 1
        while arrivals_count > every * limits.SAMPLED_COUNT_MAX:
            every *= 2
        if every != self._sampled_every:
            self._sampled_every = every
            if isinstance(self._windows, SignCodes):
                self._windows.thin_out()

    def add_sealed(self, documents: Documents, signed: Keys, signs: Signs, dimensions: int) -> None:
        """Add the documents of a sealed block, of which postings and vectors stay in the database.

        Args:
            documents: As for `add_documents`, with the counts of their terms.
            signed: The document of each window; those of one document together.
            signs: Of each window, as of `signs_of`.
            dimensions: Of the windows.
        """
        self.add_documents(documents)
        self._sealed, self._place_of = len(self._keys), None
        if not isinstance(self._windows, SignCodes) or not len(signed):
            return
        self._windows.put_signs(self._places(signed), signs, dimensions)
        keys = np.unique(signed)
        sampled = keys[in_sample(keys, self._sampled_every)]
        if len(sampled):
            self._windows.put_sample(self._windows_of(self._places(sampled)))

    def seal(self, until: int) -> None:
        """Drop the postings of documents that arrived before: they are in the database now."""
        sealed = int(np.searchsorted(self._keys.rows, until))
        if self.is_compact and sealed > self._sealed:
            gone = np.zeros(len(self._keys), dtype=np.bool_)
            gone[self._sealed : sealed] = True
            self._postings.drop(gone)
            self._sealed, self._place_of = sealed, None

    def expect(self, count: int) -> None:
        """Reserve memory for `count` more documents. Growing in steps would copy everything each time."""
        for column in self._per_document():
            column.reserve(count)
        self._windows.expect(count)

    def add_documents(self, documents: Documents) -> None:
        """Add documents at the end. Their keys must be larger than all keys before."""
        first, count = len(self._keys), len(documents.keys)
        if not count:
            return
        keys = np.array(documents.keys, dtype=np.int64)
        latest = int(self._keys.rows[-1]) if first else -1
        # Keys are searched by bisection, so they must stay ascending.
        check(keys[0] > latest and bool((np.diff(keys) > 0).all()), f"document {keys[0]} arrives out of order")
        lines = documents.lines
        sizes = lines if isinstance(lines, np.ndarray) else self._postings.add(first, lines)
        sessions = self._session_numbers(documents.sessions)
        lengths = sizes.astype(np.float32)
        none = np.full(count, _NONE)
        for column, values in (
            (self._keys, keys),
            (self._alive, np.ones(count)),
            (self._words, np.array(documents.words)),
            (self._traits, np.array(documents.traits)),
            (self._at, np.array(documents.at_days)),
            (self._lengths, lengths),
            (self._around, lengths),
            (self._previous, none),
            (self._next, none),
            (self._session, sessions),
            (self._speaker, self._speakers.add(documents.speakers)),
        ):
            column.extend(values)
        self._windows.add_documents(count)
        np.add.at(self._session_size.rows, sessions, 1)
        np.add.at(self._session_length.rows, sessions, lengths)
        total = float(lengths.sum(dtype=np.float64))
        self._total_length += total
        self._total_around += total
        self._link_to_sessions(first, sessions)

    def add_vectors(self, keys: Keys, counts: Ints, windows: Matrix) -> None:
        """Add vectors to documents; replaces those they had.

        Args:
            keys: Documents of this index, without repeats.
            counts: How many windows each has, 1 or more.
            windows: The windows in the order of the keys, shape (sum of counts, dimensions), rows of unit length.

        Raises:
            EmbedderMismatch: When the dimensions differ from those of the stored vectors.
        """
        places = self._places(keys)
        check(len(places) == len(keys), f"vectors for documents {keys[:3]} ..., of which some are not here")
        self._windows.put(places, counts, windows)

    def remove(self, *keys: int) -> None:
        """Remove documents with their words; their neighbours become neighbours of each other. Unknown keys are ignored."""
        gone = np.zeros(len(self._keys), dtype=np.bool_)
        for key in keys:
            place = self._place(key)
            if place is not None:
                gone[place] = True
                self._unlink(place)
        # Once for all removed documents, since every posting is looked at.
        if gone.any():
            self._postings.drop(gone)
            self._reaches.forget()
            self._masks.forget()

    # Queries.

    def kept_by(self, filter_: Filter, sequence: int, matching: Matching) -> Flags | None:
        """For each document whether a filter keeps it; None where it keeps all. See `Masks.of`."""
        return self._masks.of(filter_, self._keys.rows, sequence, matching) if filter_ else None

    def among(self, keys: Keys, kept: Flags | None) -> Eligible:
        """For each of these documents whether a filter keeps it, and how many it keeps in all."""
        if kept is None:
            return Eligible(np.ones(len(keys), dtype=np.bool_), len(self))
        return Eligible(kept[np.searchsorted(self._keys.rows, keys)], int(np.count_nonzero(kept & self._alive.rows)))

    def text_candidates(
        self, terms: Sequence[str], *, also: Keys = NO_KEYS, kept: Flags | None = None
    ) -> TextCandidates:
        """Statistics of the documents that share a term with the query in their turn or its neighbours, and of those in `also`.

        If there are more than `TEXT_POOL_COUNT`, those with the most and rarest of the terms are chosen. With a filter, the
        best of those that it keeps are chosen too. The neighbours of each come with it: they tell how good it is, so that the
        order of the first hits does not depend on how many candidates there are.

        Args:
            terms: The analysed query, without repeats.
            also: Keys of documents to include whatever they share.
            kept: The documents that a filter keeps, as of `kept_by`.
        """
        hits = self._hits(terms)
        before, after = self._previous.rows, self._next.rows
        few = self._few(kept)
        among = kept if few is None else None
        pool = limits.TEXT_POOL_LARGE_COUNT if self.is_compact else limits.TEXT_POOL_COUNT
        chosen, reach = choose(terms, hits, before, after, pool, self._room, self._reaches, among)
        # What the vector leg has found gets its word statistics too.
        places = union(chosen, self._places(also)) if len(also) else chosen
        best = few if few is not None else places if kept is None else places[kept[places]]
        around = np.concatenate([before[best], after[best]])
        places = union(union(places, best), around[around != _NONE])
        sessions, session_unit = np.unique(self._session.rows[places], return_inverse=True)
        turn, near = count_turns(hits, places, before, after, reach, self._room)
        whole = count_sessions(hits, sessions, self._session.rows, len(self._session_size))
        # Removed documents keep their rows, and do not count.
        alive = len(self)
        session_count = int(np.count_nonzero(self._session_size.rows))
        return TextCandidates(
            keys=self._keys.rows[places],
            words=self._words.rows[places],
            spoken=self._speakers.spoken(terms, self._speaker.rows[places]),
            session_unit=session_unit,
            turn=_level(turn, self._lengths.rows[places], self._total_length, alive),
            neighbours=_level(near, self._around.rows[places], self._total_around, alive),
            session=_level(whole, self._session_length.rows[sessions], self._total_length, session_count),
        )

    def vector_candidates(
        self, embedding: Vector, *, also: Keys = NO_KEYS, pool: int, kept: Flags | None = None
    ) -> VectorCandidates:
        """The `pool` documents nearest to a vector, and those in `also` that have vectors.

        Args:
            embedding: Shape (dimensions,), L2-normalised.
            also: Keys of documents to include however far they are.
            pool: How many of the nearest; of equally near ones the first to arrive.
            kept: The documents that a filter keeps, of which the nearest are given too, four times the pool.

        Raises:
            EmbedderMismatch: When the embedding's dimensions differ from those of the stored vectors.
        """
        windows = self._windows
        if not windows.documents:
            empty = np.empty(0, dtype=np.float32)
            return VectorCandidates(NO_KEYS, empty, empty, 0.0, 0.0, 0)
        windows.require(int(embedding.shape[0]))
        near = windows.compare(embedding)
        # Chosen by the rough comparison; their cosines are computed exactly below.
        places = windows.nearest(near, pool)
        if kept is not None and pool:
            few = self._few(kept)
            best = few if few is not None else windows.nearest(near, KEPT_TIMES * pool, kept)
            places = union(places, best)
        if len(also):
            places = union(places, self._places(also))
        places = places[windows.known[places]]
        return VectorCandidates(
            keys=self._keys.rows[places],
            cosine=np.round(windows.exactly(places, embedding), _COSINE_DECIMALS),
            words=self._words.rows[places],
            mean=near.mean,
            deviation=near.deviation,
            count=windows.documents,
        )

    def surroundings(self, keys: Keys) -> Surroundings:
        """Where documents stand and how they are worded, in the order asked for.

        Args:
            keys: Documents of this index.
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

    def speakers(self, terms: Iterable[str]) -> frozenset[str]:
        """Those of the terms that name somebody who said something here."""
        return self._speakers.named_in(terms)

    # Helpers.

    def _hits(self, terms: Sequence[str]) -> list[tuple[Ints, Floats]]:
        """For each term the documents that contain it, ascending, and how often each does."""
        here = [self._postings.of(term) for term in terms]
        if self._stored is None or not self._sealed:
            return here
        if self._place_of is None:
            self._place_of = PlaceTable(self._keys.rows[: self._sealed])
        found = []
        for (keys, times), (turns, counts) in zip(self._stored.postings(terms), here, strict=True):
            places = self._place_of.of(keys)
            if not self._is_settled:
                # Blocks are sealed at the end of a transaction: what this one has deleted is still in their postings.
                there = np.flatnonzero((places != _NONE) & self._alive.rows[places])
                places, times = places[there], times[there]  # noqa: PLW2901
            if len(turns):
                places, times = np.concatenate([places, turns]), np.concatenate([times, counts])  # noqa: PLW2901
            found.append((places, times))
        return found

    def _windows_of(self, places: Ints) -> KeyedWindows:
        """The windows of documents, from the database."""
        if self._stored is None:
            raise InvariantError("a compact index was asked without a database to read from")
        found = self._stored.windows(self._keys.rows[places])
        return found._replace(keys=np.searchsorted(self._keys.rows, found.keys))

    def _is_sampled(self, places: Ints) -> Flags:
        return in_sample(self._keys.rows[places], self._sampled_every)

    def _few(self, kept: Flags | None) -> Ints | None:
        """The places of all documents that a filter keeps, if they are few; None where they are many, or there is no filter."""
        if kept is None or np.count_nonzero(kept) > _FEW_COUNT:
            return None
        return np.flatnonzero(kept & self._alive.rows)

    def _link_to_sessions(self, first: int, sessions: Ints) -> None:
        """Link each document from `first` on to the one before it in its session, and update lengths with neighbours."""
        latest = self._session_last.rows
        # Grouped by session, and within a session still in order of arrival.
        order = np.argsort(sessions, kind="stable")
        grouped = sessions[order]
        starts = np.flatnonzero(np.concatenate([[True], grouped[1:] != grouped[:-1]]))
        ahead = np.concatenate([[_NONE], order[:-1] + first])
        ahead[starts] = latest[grouped[starts]]
        latest[grouped] = order + first  # numpy keeps the last of several values for one session
        before = np.empty(len(sessions), dtype=np.int64)
        before[order] = ahead
        later = np.flatnonzero(before != _NONE)
        earlier = before[later]
        later += first
        self._previous.rows[later] = earlier
        self._next.rows[earlier] = later
        lengths, around = self._lengths.rows, self._around.rows
        around[later] += lengths[earlier]
        around[earlier] += lengths[later]
        self._total_around += float(lengths[earlier].sum(dtype=np.float64) + lengths[later].sum(dtype=np.float64))

    def _unlink(self, place: int) -> None:
        """Remove one document from its session, speaker, vectors and totals; its postings are removed by `remove`."""
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
            # The last message of the session is gone; its name must not stay in RAM.
            self._session_names = {name: of for name, of in self._session_names.items() if of != number}
        self._speakers.leave(int(self._speaker.rows[place]))
        self._windows.drop(place)
        self._total_length -= float(self._lengths.rows[place])
        self._total_around -= float(self._around.rows[place])
        self._alive.rows[place] = False
        self._dead += 1

    def _keys_at(self, places: Ints) -> Keys:
        if not len(places):
            return places
        keys: Keys = np.where(places == _NONE, _NONE, self._keys.rows[places])
        return keys

    def _per_document(self) -> tuple[GrowingArray, ...]:
        said = (self._keys, self._alive, self._words, self._traits, self._at, self._lengths, self._around)
        return (*said, self._previous, self._next, self._session, self._speaker)

    def _columns(self) -> tuple[GrowingArray, ...]:
        return (*self._per_document(), self._session_last, self._session_size, self._session_length)

    def _session_numbers(self, names: Names) -> Ints:
        """The numbers of these sessions; adds rows for new ones. A document without a session is one of its own."""
        count = known = len(self._session_size)
        numbers = []
        for name in names.distinct:
            number = self._session_names.setdefault(name, count)
            numbers.append(number)
            count += number == count
        found = np.array([*numbers, _NONE])[names.of]
        alone = np.flatnonzero(names.of == _NONE)
        found[alone] = count + np.arange(len(alone))
        new = np.zeros(count + len(alone) - known)
        self._session_last.extend(new + _NONE)
        self._session_size.extend(new)
        self._session_length.extend(new)
        return found

    def _link(self, earlier: int, later: int, sign: float) -> None:
        """Link two documents as neighbours (sign 1), or only subtract their lengths from each other's surroundings (sign -1)."""
        if _NONE in (earlier, later):
            if sign > 0 and later != _NONE:
                self._previous.rows[later] = _NONE
            if sign > 0 and earlier != _NONE:
                self._next.rows[earlier] = _NONE
            return
        self._around.rows[earlier] += sign * self._lengths.rows[later]
        self._around.rows[later] += sign * self._lengths.rows[earlier]
        self._total_around += sign * float(self._lengths.rows[earlier] + self._lengths.rows[later])
        if sign > 0:
            self._next.rows[earlier], self._previous.rows[later] = later, earlier

    def _place(self, key: int) -> int | None:
        """The place of a key, or None when the document is not here."""
        place = int(np.searchsorted(self._keys.rows, key))
        found = place < len(self._keys) and int(self._keys.rows[place]) == key and bool(self._alive.rows[place])
        return place if found else None

    def _places(self, keys: Keys) -> Ints:
        """The places of those keys that are here."""
        if not len(self):
            return np.empty(0, dtype=np.int64)
        places: Ints = np.searchsorted(self._keys.rows, keys)
        # A key beyond the last one: any valid row will do, the comparison below drops it.
        places[places == len(self._keys)] = 0
        found: Ints = places[(self._keys.rows[places] == keys) & self._alive.rows[places]]
        return found


def _level(entries: Entries, length: Floats, total_length: float, count: int) -> TermCounts:
    return TermCounts(
        unit=entries.unit,
        term=entries.term,
        tf=entries.tf,
        length=length,
        df=entries.df,
        average_length=total_length / count if count else 0.0,
        count=count,
    )
