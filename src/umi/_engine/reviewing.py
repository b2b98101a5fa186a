"""`Memory.undecided`, `preview_undo` and `preview_forget`: what waits for a decision, what an undo would do, what would be forgotten."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from umi import limits
from umi._core import validate
from umi._core.invariants import check
from umi._erasure.previewing import preview_forget
from umi._evolution.relation_writer import RelationWriter
from umi._retrieval import reviewing
from umi.ports import Transaction
from umi.types import EvolutionRelation, ForgetPreview, UndecidedPage, UndoPreview

if TYPE_CHECKING:
    from umi._engine.engine import Engine


class Reviewing(ABC):
    """The methods of `umi.Memory` for somebody who looks changes through."""

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def undecided(self, *, limit: int = limits.LIST_LIMIT_DEFAULT, after: str | None = None) -> UndecidedPage:
        """Changes that wait for a decision, the newest first, a page at a time: open contradictions, and updates too unsure to act.

        `resolve` decides one: "new" lets the newer statement hold in place of the older one, "old" refuses it, "both" keeps both.
        Those that were recorded within one millisecond come in the order of their ids.

        Args:
            limit: At most this many, 1..10,000.
            after: `UndecidedPage.next` of the page before.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read.
        """
        validate.count(limit, "limit", low=1, high=limits.LIST_LIMIT_MAX)
        name = validate.optional_name(after, "after")
        now = self._open.parts.clock.now()
        return await self._open.storage.read(partial(reviewing.undecided, after=name, limit=limit, now=now))

    async def preview_forget(self, id: str) -> ForgetPreview:  # noqa: A002 - as in `forget`
        """Show what `forget` of a message or a statement would delete now, and what was concluded from it. Nothing is deleted.

        Args:
            id: The id of an entity or an episode, or the id that you gave a message.

        Raises:
            InvalidInput: For an id that is outside its limits.
            NotFound: For one that names nothing here.
        """
        return await self._open.storage.read(partial(preview_forget, id_=validate.name(id, "id")))

    async def preview_undo(self, relation_id: str) -> UndoPreview:
        """Show what `undo` of a relation would change now: which statements would hold again, and which no longer. Nothing is changed.

        It is tried in a transaction that is then taken back, so other writers wait for it as they wait for a write.

        Raises:
            NotFound: For an unknown relation.
            EvolutionError: When it was undone before.
        """
        key, parts = validate.name(relation_id, "relation id"), self._open.parts
        now, policy = parts.clock.now(), parts.policy

        def work(tx: Transaction) -> EvolutionRelation:
            return reviewing.try_undo(tx, RelationWriter(tx, parts.entropy, now, policy), key, now)

        tried: reviewing.Tried | None = None
        try:
            await self._open.storage.write(work)
        except reviewing.Tried as done:
            tried = done
        check(tried is not None, "an undo that was tried was kept")
        return tried.preview  # type: ignore[union-attr]
