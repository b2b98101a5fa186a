"""`Memory.recall`, `get`, `list`, `history` and `why`: what comes out of a memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, get_args

from umi import limits
from umi._core import validate
from umi._core.filters import read_filter
from umi._engine.several import read_names, recall_over
from umi._evolution.states import View
from umi._retrieval import Query, history
from umi.ports import Snapshot
from umi.types import (
    Change,
    Entity,
    EntityTypeLike,
    Episode,
    EpisodePage,
    Explanation,
    HistoryStep,
    Moment,
    Order,
    Page,
    RecallReceipt,
    SessionPage,
    Where,
)
from umi.types.periods import During

if TYPE_CHECKING:
    from umi._engine.engine import Engine


class Answering(ABC):
    """The methods of `umi.Memory` that read what was remembered."""

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def recall(
        self,
        query: str,
        *,
        limit: int = limits.RECALL_LIMIT_DEFAULT,
        deep: bool | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        time_range: tuple[Moment, Moment] | None = None,
        include_superseded: bool = False,
        min_score: float | None = None,
        max_tokens: int | None = None,
        explain: bool = False,
        task_id: str | None = None,
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
        namespaces: Iterable[str] | None = None,
    ) -> RecallReceipt:
        """The episodes that answer a question, best first, one hit each, with the state of the span that matched.

        Args:
            query: A question or keywords, 1 to 10,000 bytes.
            limit: At most this many hits, 1..1,000.
            deep: True searches variations of the query too, False never, None decides by the query.
            as_of: What held in the world at that moment, with all that is known today. A datetime with a timezone, or a text such as
                "2026-05-01T09:30Z"; so are the next two.
            known_at: What Umi knew at that moment.
            time_range: What held or was said within [from, to).
            include_superseded: Show superseded and stale memories too, marked as such.
            min_score: Least score, 0..1; None uses the calibrated threshold, stops where relevance falls off and may abstain, 0 takes all.
            max_tokens: Show the first hits whose lines in `as_context()`, dates and speakers included, take at most this many tokens of
                4 bytes each. A first line that is longer shows none.
            explain: Fill each hit's `legs`, and its `lesson` where learning is on.
            task_id: Your name for the task this serves, by which a later signal finds it.
            where: Only messages like `{"session": "monday", "metadata": {"priority": {"gte": 2}}}`; see `umi.Where`.
            types: Only statements of these kinds, such as `["preference"]`.
            namespaces: Search these instead of this one, such as `["alice", "team"]`, at most 16; `Hit.namespace` says where a hit is
                from. What is said in one changes nothing in another.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read; a failing model, embedder or leg of the search only degrades.
        """
        asked = Query(
            text=validate.text(query, "query", bytes_max=limits.QUERY_BYTES_MAX),
            limit=validate.count(limit, "limit", low=1, high=limits.RECALL_LIMIT_MAX),
            deep=None if deep is None else validate.flag(deep, "deep"),
            view=View(
                as_of=validate.optional_when(as_of, "as_of"),
                known_at=validate.optional_when(known_at, "known_at"),
                time_range=validate.time_range(time_range),
                include_superseded=validate.flag(include_superseded, "include_superseded"),
                where=read_filter(where, types),
                trust=self._open.parts.trust,
            ),
            min_score=validate.optional_fraction(min_score, "min_score"),
            max_tokens=validate.optional_count(max_tokens, "max_tokens", low=1, high=limits.CONTEXT_TOKENS_MAX),
            explain=validate.flag(explain, "explain"),
        )
        task = validate.optional_name(task_id, "task_id")
        if namespaces is not None:
            return await recall_over(self._open, read_names(namespaces), asked, task)
        return await self._open.recall(asked, task)

    async def get(self, id: str) -> Entity | Episode | None:  # noqa: A002 - the design's name
        """The entity or episode of that id, or None. The id that you gave a message finds its episode too.

        Raises:
            StoreError: When it cannot be read.
        """
        key = validate.name(id, "id")
        return await self._open.storage.read(partial(history.find, key=key, now=self._open.parts.clock.now()))

    async def sessions(self, *, limit: int = limits.LIST_LIMIT_DEFAULT, after: str | None = None) -> SessionPage:
        """The sessions of this namespace by name, a page at a time: how many messages, when, by whom.

        Args:
            limit: At most this many, 1..10,000.
            after: `SessionPage.next` of the page before, which is the name of its last session.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read.
        """
        validate.count(limit, "limit", low=1, high=limits.LIST_LIMIT_MAX)
        name = validate.optional_name(after, "after")
        return await self._open.storage.read(partial(history.sessions, after=name, limit=limit))

    async def list(
        self,
        *,
        limit: int = limits.LIST_LIMIT_DEFAULT,
        after: str | None = None,
        order: Order = "oldest",
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
    ) -> Page:
        """Entities in order of arrival, a page at a time, with the state of each.

        Args:
            limit: At most this many, 1..10,000.
            after: `Page.next` of the page before, asked for with the same order.
            order: "oldest" or "newest" first.
            where: Only those of messages like `{"session": "monday"}`; see `umi.Where`.
            types: Only those of these kinds.

        Raises:
            InvalidInput: When an argument is outside its limits, or for an `after` that no page gave.
            StoreError: When the rows cannot be read.
        """
        validate.count(limit, "limit", low=1, high=limits.LIST_LIMIT_MAX)
        newest = validate.one_of(order, "order", get_args(Order)) == "newest"
        kept = read_filter(where, types)
        now = self._open.parts.clock.now()
        look = partial(history.page, after=after, limit=limit, now=now, where=kept, newest=newest)
        return await self._open.storage.read(look)

    async def episodes(
        self,
        *,
        limit: int = limits.LIST_LIMIT_DEFAULT,
        after: str | None = None,
        order: Order = "oldest",
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
    ) -> EpisodePage:
        """Messages in order of arrival, a page at a time, word for word.

        Args:
            limit: At most this many, 1..10,000.
            after: `EpisodePage.next` of the page before, asked for with the same order.
            order: "oldest" or "newest" first.
            where: Only messages like `{"session": "monday"}`; see `umi.Where`.
            types: Only those with a statement of these kinds.

        Raises:
            InvalidInput: When an argument is outside its limits, or for an `after` that no page gave.
            StoreError: When the rows cannot be read.
        """
        validate.count(limit, "limit", low=1, high=limits.LIST_LIMIT_MAX)
        newest = validate.one_of(order, "order", get_args(Order)) == "newest"
        kept = read_filter(where, types)
        return await self._open.storage.read(
            partial(history.episodes, after=after, limit=limit, where=kept, newest=newest)
        )

    async def changes(self, after: int = 0, *, follow: bool = False) -> AsyncIterator[Change]:
        """What writes did in this namespace, oldest first: messages remembered, read, reworded and deleted, relations recorded.

        To go on later, keep the `sequence` of the last change and give it as `after`. A write may do several things, which share its
        sequence: keep it when a change with a higher one comes, or when the iteration ends, so that nothing is skipped.
        Changes by other processes are told too. `sequence()` is that of the last write.

        Args:
            after: Only what writes above this sequence did; 0 is from the beginning.
            follow: Wait for more at the end, looking four times a second, until the iteration is closed.

        Raises:
            InvalidInput: For an `after` below 0.
            StoreError: When the rows cannot be read.
        """
        sequence = validate.count(after, "after", low=0, high=limits.SEQUENCE_COUNT_MAX)
        while True:
            page = partial(_changes, after=sequence)
            found = await self._open.storage.read(page)
            for one in found:
                yield one
            if found:
                sequence = found[-1].sequence
            elif follow:
                await self._open.parts.clock.sleep(limits.CHANGES_POLL_S)
            else:
                return

    async def sequence(self) -> int:
        """The sequence of the last write of this namespace, from which `changes` goes on with what is new; 0 before the first.

        Raises:
            StoreError: When it cannot be read.
        """
        return await self._open.storage.read(lambda snapshot: snapshot.sequence)

    async def history(
        self,
        entity_id_or_subject: str,
        *,
        attribute: str | None = None,
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
        limit: int = limits.LIST_LIMIT_MAX,
        before: str | None = None,
        held: tuple[Moment, Moment] | None = None,
        known: tuple[Moment, Moment] | None = None,
    ) -> tuple[HistoryStep, ...]:
        """The chain of an entity, or all statements about a subject, oldest first, with reasons.

        Of a long history ask for the newest first: `limit` says how many, and the id of the first of them, given as `before`, leads
        to those before it, until there are none. `history_counts` says when its statements begin, and `held` or `known` give those of
        one time.

        Args:
            entity_id_or_subject: The id of an entity, or a subject's name or alias.
            attribute: Only this one, as in `facts`: every value that it had, and why it was set.
            where: Only what was said in messages like `{"speaker": "Alice"}`; see `umi.Where`.
            types: Only statements of these kinds.
            limit: At most so many, the newest; 1..10,000.
            before: The id of a statement: only what was said before it. An unknown one has nothing before it.
            held: Only what held at some time within [from, to), also what is superseded now; what names no beginning held from when
                it was said.
            known: Only what Umi knew at some time within [from, to): taken in before its end, and not known to be over before its beginning.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read. An unknown id or subject has no steps.
        """
        key, kept = validate.name(entity_id_or_subject, "entity id or subject"), read_filter(where, types)
        only, last = validate.optional_name(attribute, "attribute"), validate.optional_name(before, "before")
        most = validate.count(limit, "limit", low=1, high=limits.LIST_LIMIT_MAX)
        during = During(validate.time_range(held, "held"), validate.time_range(known, "known"))
        now = self._open.parts.clock.now()
        look = partial(
            history.history, key=key, now=now, where=kept, attribute=only, limit=most, before=last, during=during
        )
        return await self._open.storage.read(look)

    async def why(self, entity_id: str) -> Explanation:
        """Where an entity comes from, what it rests on, and what made it stand as it does.

        Args:
            entity_id: The id of an entity. That of a message, Umi's or the one that you gave it, stands for its only statement.

        Raises:
            NotFound: For an unknown id, or a message that waits to be read.
            InvalidInput: For a message with several statements; the error lists their ids.
        """
        return await self._open.why(validate.name(entity_id, "entity id"))


def _changes(snapshot: Snapshot, after: int) -> Sequence[Change]:
    return snapshot.changes(after, limits.CHANGES_PAGE_COUNT)
