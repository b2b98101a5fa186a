"""`Memory.context` and `Memory.profile`: what a prompt needs, packed into a budget, and what is known of one subject."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from umi import limits
from umi._core import validate
from umi._core.filters import read_filter
from umi._core.text import query_terms
from umi._evolution.states import View
from umi._retrieval import Query, changes
from umi._retrieval import context as packing
from umi._retrieval import profile as profiles
from umi.errors import InvalidInput
from umi.ports import Snapshot
from umi.types import Context, ContextSection, LeftOut, LeftOutReason, Moment, Profile, RecallReceipt, Where
from umi.types.filters import Filter

if TYPE_CHECKING:
    from umi._engine.engine import Engine
    from umi._learning.boosts import Lessons


class Contexts(ABC):
    """The methods of `umi.Memory` that write text for a prompt."""

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def context(
        self,
        query: str | None = None,
        *,
        max_tokens: int,
        profile: bool = True,
        changes: bool = True,
        about: str | None = None,
        where: Where | None = None,
        counter: Callable[[str], int] | None = None,
    ) -> Context:
        """What a prompt needs to know, packed: who it is about, what changed lately, and what answers the question.

        `str(context)` is one block of text for a system prompt: "" when nothing is relevant, and then `abstained` says so. Each line has its
        date and the id of the message behind it. What was remembered is data and may come from anyone: it stands between
        `<memory>` and `</memory>`, one line each, and cannot end that fence or begin a line.

        The same memory and question give the same bytes. What changes least stands first, so that a cache of prompts can reuse it: the
        profile, then changes, then answers in order of time. To keep the profile in front of every turn, ask for it once
        without a question, and ask each turn with `profile=False, changes=False`.

        Room is given to answers first, best first, then to the profile, then to changes. A line is whole or absent; a message
        that is too long is cut between sentences, " ... " marks where, or absent when no sentence fits that is about the question.
        `left_out` says what found no room.

        Args:
            query: The question or message to be answered, 1 to 10,000 bytes. None packs profile and changes alone.
            max_tokens: At most so many tokens in the whole text, headings and fence included; 1..1,000,000.
            profile: Whether the text begins with what is known of somebody.
            changes: Whether what changed within 30 days of the newest statement is shown, at most 10 changes.
            about: Whose profile; a name or an alias. Default: the first who spoke as "user".
            where: Only from messages like `{"role": "user"}`: answers, the profile and both sides of a change; see `umi.Where`. What other
                messages have ended is over all the same.
            counter: Gives the tokens of a text, as your model counts them. It need not be additive; every text that is
                returned was measured as a whole. Default: four bytes each, rounded up.

        Raises:
            InvalidInput: When an argument is outside its limits, or the counter gives no whole number of 0 or more.
            StoreError: When the rows cannot be read; a failing model, embedder or leg of the search only degrades.
        """
        asked = None if query is None else validate.text(query, "query", bytes_max=limits.QUERY_BYTES_MAX)
        wanted = _Wanted(
            validate.count(max_tokens, "max_tokens", low=1, high=limits.CONTEXT_TOKENS_MAX),
            _checked(counter),
            validate.optional_name(about, "about"),
            read_filter(where, None),
            profile=validate.flag(profile, "profile"),
            changes=validate.flag(changes, "changes"),
        )
        return await _context(self._open, asked, wanted)

    async def profile(self, subject: str, *, as_of: Moment | None = None, limit: int | None = None) -> Profile:
        """What is known of somebody or something, by kind: only what holds, each with its source. No model is asked.

        What a caller set, what the rules of grammar find in the words of a message, and what a model read when it was remembered. What
        is over, stale, wished, supposed or reported is left out, and so are past events and appointments. A denial says "not".
        `str(profile)` has one line for each fact.

        Args:
            subject: A name or an alias.
            as_of: What held at that moment; None is now.
            limit: At most so many facts of each kind, 1..10,000; `left_out` says how many more there are. Of every attribute the newest comes
                before a second one of any. None is all.

        Raises:
            InvalidInput: For a subject or a limit outside its bounds, or a moment without a zone.
            StoreError: When the rows cannot be read. An unknown subject has an empty profile.
        """
        name, moment = validate.name(subject, "subject"), validate.optional_when(as_of, "as_of")
        most = validate.optional_count(limit, "limit", low=1, high=limits.LIST_LIMIT_MAX)
        view = View(as_of=moment, now=self._open.parts.clock.now(), trust=self._open.parts.trust)
        return await self._open.storage.read(partial(profiles.profile, name=name, view=view, limit=most))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Validated arguments of a context."""

    tokens_max: int
    counter: packing.Counter
    about: str | None
    where: Filter
    profile: bool
    changes: bool


@dataclass(frozen=True, slots=True)
class _Around:
    """What a context shows beside answers, read from one snapshot."""

    about: str
    pieces: tuple[packing.Piece, ...]
    outdated: tuple[LeftOut, ...]


async def _context(engine: Engine, query: str | None, wanted: _Wanted) -> Context:
    """See `Contexts.context`."""
    found: RecallReceipt | None = None
    lessons: Lessons | None = None
    view = View(where=wanted.where, now=engine.parts.clock.now(), trust=engine.parts.trust)
    if query is not None:
        asked = Query(query, limits.CONTEXT_ANSWERS_COUNT_MAX, view=View(where=wanted.where, trust=engine.parts.trust))
        found, lessons = await engine.search(asked)
        engine.recalled_texts.handed_out(found.hits)
    around = await engine.storage.read(lambda snapshot: _around(snapshot, wanted, view))
    if found is not None and not found.hits:
        engine.shown(found.id, (), lessons, None)
        items = [piece.item for piece in around.pieces]
        unneeded = packing.left_out(items, LeftOutReason.NOT_RELEVANT)
        return _receipt(Context(about=around.about), [*unneeded, *around.outdated], found)
    pieces = [*packing.answer_pieces(found.hits if found else ()), *around.pieces]
    terms = query_terms(query) if query is not None else []
    packed = packing.pack(pieces, around.about, wanted.tokens_max, wanted.counter, terms)
    without_room = packing.left_out(packed.without_room, LeftOutReason.BUDGET)
    context = Context(packed.text, packed.tokens, packed.items, about=around.about)
    context = _receipt(context, [*without_room, *around.outdated], found)
    if found is not None:
        # What found no room stays in the receipt, and is credited with nothing.
        held = {item.id for item in context.items if item.section == ContextSection.ANSWERS}
        engine.shown(found.id, [place for place in enumerate(found.hits) if place[1].id in held], lessons, None)
    if context.items:
        engine.recalled_texts.handed_out_packed(context)
    return context


def _around(snapshot: Snapshot, wanted: _Wanted, view: View) -> _Around:
    """The profile, the latest changes, and what no longer holds of the profile's subject."""
    about, pieces, outdated = "", list[packing.Piece](), list[LeftOut]()
    if wanted.profile:
        about = wanted.about or profiles.first_speaker(snapshot, limits.CONTEXT_SPEAKERS_LOOKED_AT_COUNT, wanted.where)
    if about:
        known = profiles.known(snapshot, about, view)
        pieces += packing.profile_pieces(profiles.grouped(about, known, ()))
        outdated = [
            LeftOut(ContextSection.PROFILE, LeftOutReason.OUTDATED, one.id, one.episode_id, one.at)
            for one in known.over
            if one.at is not None
        ]
    if wanted.changes:
        pieces += packing.change_pieces(changes.lately(snapshot, view))
    return _Around(about, tuple(pieces), tuple(outdated))


def _receipt(context: Context, left_out: list[LeftOut], found: RecallReceipt | None) -> Context:
    """A context with what it left out and the receipt of its question."""
    context = replace(
        context, left_out=tuple(left_out[: limits.CONTEXT_LEFT_OUT_COUNT_MAX]), left_out_count=len(left_out)
    )
    if found is None:
        return context
    return replace(
        context,
        recall=found,
        degraded=found.degraded,
        abstained=found.abstained,
        why_abstained=found.why_abstained,
    )


def _checked(counter: object) -> packing.Counter:
    """A counter whose answers are checked; the default one for None.

    Raises:
        InvalidInput: When it cannot be called.
    """
    if counter is None:
        return packing.default_counter
    if not callable(counter):
        raise InvalidInput(f"counter must be a function from a text to its tokens, got {type(counter).__name__}")

    def checked(text: str) -> int:
        counted = counter(text)
        if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
            raise InvalidInput(f"counter must give a whole number, 0 or more, and gave {counted!r}")
        return counted

    return checked
