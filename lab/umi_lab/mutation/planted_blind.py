"""Five more planted faults, chosen and written without sight of the checks that should find them.

They were picked from the design and the product's own code alone: what would a tired engineer get wrong here, and who would
be harmed. Nobody tunes them to what the simulated worlds look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from umi._evolution import candidates, relation_writer, tracker
from umi._evolution.relation_writer import RelationWriter
from umi._remember.apply import Work
from umi._remember.outbox import OutboxWorker
from umi._remember.recalled_text import RecalledTexts
from umi._retrieval import history
from umi.errors import UmiError
from umi.ports import Matrix, Transaction
from umi.stores.namespace_view import StoreTransaction
from umi.stores.sql.store import SqlStore
from umi.types import Entity, Episode, EvolutionRelation, Message, OutboxItem
from umi_lab.mutation.planted import Mutation, patched

T = TypeVar("T")


@contextmanager
def _late_statement_wins() -> Iterator[None]:
    """Harm: importing last year's chat after this year's makes last year's job the current one."""

    def by_recording(entity: Entity) -> tuple[datetime, int, tuple[int, int]]:
        when = entity.recorded_at or entity.at or datetime.min.replace(tzinfo=UTC)
        return when, entity.arrival, entity.span or (0, 0)

    with ExitStack() as stack:
        for module in (relation_writer, tracker, candidates, history):
            stack.enter_context(patched(module, "statement_order", by_recording))
        yield


@contextmanager
def _echo_swallows_user() -> Iterator[None]:
    """Harm: a user who confirms, or goes back to, what they were just reminded of is thanked and not remembered."""
    repeated = RecalledTexts.repeated

    def of_any_role(
        self: RecalledTexts, message: Message, here: Mapping[str, Episode] | None = None
    ) -> tuple[str, ...]:
        return repeated(self, replace(message, role="assistant"), here)

    with patched(RecalledTexts, "repeated", of_any_role):
        yield


@contextmanager
def _commit_in_finally() -> Iterator[None]:
    """Harm: a remember that is refused half-way keeps the half it had, such as a message's id without the message."""

    def write(self: SqlStore, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        db, head, cache = self._db, self._head_to_write(namespace), self._lanes.of(namespace).cache
        transaction = self._transaction(db, namespace, head, cache)
        try:
            return work(transaction)
        finally:
            if transaction.conclude():
                db.execute("COMMIT")
            transaction.end()

    with patched(SqlStore, "_write", write):
        yield


@contextmanager
def _undo_without_relink() -> Iterator[None]:
    """Harm: undoing the middle step of Acme, Globex, Initech leaves Acme and Initech both current."""

    def nothing(self: RelationWriter, row: EvolutionRelation) -> None:
        """Take no notice of what came after."""

    with patched(RelationWriter, "_relink", nothing):
        yield


@contextmanager
def _deferral_forgets_wishes() -> Iterator[None]:
    """Harm: a conclusion whose model was down loses its sources, and never becomes stale with them."""

    def defer(
        _worker: OutboxWorker, tx: Transaction, work: Work, vectors: Mapping[str, Matrix] | None, error: UmiError
    ) -> None:
        episode, item = work
        if vectors:
            tx.add_vectors(vectors)
        if not tx.entities_of([episode.id]):
            tx.put_outbox(OutboxItem(episode.id, episode.arrival, attempts=item.attempts + 1, reason=str(error)))

    with patched(OutboxWorker, "_defer", defer):
        yield


BLIND: Final[tuple[Mutation, ...]] = (
    Mutation(
        "late-statement-wins",
        "Statements are put in order of when they were recorded, not of when they were said.",
        "umi._evolution.relation_writer.statement_order",
        _late_statement_wins,
    ),
    Mutation(
        "echo-swallows-user",
        "What a user says is dropped as an echo when it repeats a line that recall handed out.",
        "umi._remember.recalled_text.RecalledTexts.repeated",
        _echo_swallows_user,
    ),
    Mutation(
        "commit-in-finally",
        "A write whose closure raises commits what it had written before.",
        "umi.stores.sql.store.SqlStore._write",
        _commit_in_finally,
    ),
    Mutation(
        "undo-without-relink",
        "Undo of a middle step opens the old value again beside the newest one.",
        "umi._evolution.relation_writer.RelationWriter._relink",
        _undo_without_relink,
    ),
    Mutation(
        "deferral-forgets-options",
        "Work put off because its model failed is kept without derived_from, extract_entities and track_evolution.",
        "umi._remember.outbox.OutboxWorker._defer",
        _deferral_forgets_wishes,
    ),
)
