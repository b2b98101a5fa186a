"""`Memory.set_fact` and `Memory.facts`: what a caller knows for certain, and what is known of a subject by attribute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from umi import limits
from umi._core import validate
from umi._evolution import set_facts
from umi._evolution.relation_writer import RelationWriter
from umi._evolution.states import View
from umi._reading.extract import said_in, subject_named
from umi._reading.grammar.slots import type_of_slot
from umi._reading.grammar.subjects import subject_key
from umi._remember.admission import RememberOptions, admit, drafted, put_off
from umi._remember.apply import WrittenReading, recollect
from umi._remember.outbox import Outcome
from umi._retrieval.profile import by_attribute
from umi.errors import InvalidInput
from umi.ports import Transaction
from umi.types import Entity, EntityType, Episode, Fact, Message, Moment, RememberReceipt

if TYPE_CHECKING:
    from umi._engine.engine import Engine


class Facts(ABC):
    """The methods of `umi.Memory` about facts by attribute."""

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def set_fact(
        self, subject: str, attribute: str, value: str, *, at: Moment | None = None, reason: str | None = None
    ) -> RememberReceipt:
        """Set one attribute of a subject, as the caller knows it: nothing is inferred, and no model is asked.

        The value supersedes the older one of the same attribute; the history keeps both. One given with an earlier `at` goes
        to its place in the past. The same value again, while it holds, stores nothing and gives the first receipt,
        `replayed`. `undo` of the relation in `evolutions` brings the older value back; `forget` deletes one.

        Args:
            subject: Who or what it is about: "Alice", "api". 1 to 256 bytes.
            attribute: Which of its properties: "employer", "database". 1 to 256 bytes. What Umi reads in talk under another
                name ("works at") is superseded too. What a model read belongs to no attribute, so nothing of it is superseded.
            value: The value, in plain text. 1 to 4,096 bytes.
            at: Since when it holds: a datetime with a timezone, or a text such as "2026-05-01T09:30Z". Default: now. Until a moment
                that is still to come, what it replaces holds.
            reason: Why; kept word for word behind the value, and as the reason of the change. At most 1,024 bytes.

        Raises:
            InvalidInput, StoreError: When an argument is outside its limits, or the store fails; nothing is stored.
        """
        told = _Told(
            validate.name(subject, "subject"),
            validate.name(attribute, "attribute"),
            validate.text(value, "value", bytes_max=limits.FACT_VALUE_BYTES_MAX).strip(),
            "" if reason is None else validate.text(reason, "reason", bytes_max=limits.REASON_BYTES_MAX).strip(),
        )
        if not subject_key(told.subject):
            raise InvalidInput(f"subject {subject!r} names nobody: give a name with letters or digits")
        return await set_fact(self._open, told, None if at is None else validate.in_zone(at, "at"))

    async def facts(
        self, subject: str, *, attribute: str | None = None, as_of: Moment | None = None
    ) -> tuple[Fact, ...]:
        """What holds of a subject by attribute, each with its source, in order of attribute: what was set, and what was read.

        What is over, stale, wished or planned is left out; `history` has it. So is what was read with too little certainty: a fact
        read in talk is told when the rules of grammar find it in the words of the message. What a model read has no attribute, and is left
        out too. A denial is `negated`.

        Args:
            subject: A name or an alias.
            attribute: Only this one, by the name that `set_fact` takes or that a `Fact` has: "database", "employer", "works at".
            as_of: What held at that moment, as in `recall`; None is now.

        Raises:
            InvalidInput: For a subject or an attribute outside its limits, or a moment without a zone.
            StoreError: When the rows cannot be read. An unknown subject has no facts.
        """
        name, view = validate.name(subject, "subject"), View(as_of=validate.optional_when(as_of, "as_of"))
        view = replace(view, now=self._open.parts.clock.now(), trust=self._open.parts.trust)
        only = validate.optional_name(attribute, "attribute")
        return await self._open.storage.read(partial(by_attribute, name=name, view=view, attribute=only))


@dataclass(frozen=True, slots=True)
class _Told:
    """A validated fact."""

    subject: str
    attribute: str
    value: str
    reason: str

    @property
    def statement(self) -> str:
        """The fact as one line of text."""
        return f"{self.subject}, {self.attribute}: {self.value}"

    @property
    def content(self) -> str:
        """The message that keeps the fact and its reason."""
        return set_facts.content_of(self.statement, self.reason)


async def set_fact(engine: Engine, told: _Told, at: datetime | None) -> RememberReceipt:
    """See `Facts.set_fact`: the text, the fact and its relations in one transaction; its vector after it."""
    parts, now = engine.parts, engine.parts.clock.now()

    def work(tx: Transaction) -> tuple[Episode | None, WrittenReading]:
        if parts.embedder is not None:
            tx.claim_embedder(parts.embedder.identity)
        place = (subject_named(tx, told.subject), set_facts.slot_of(told.attribute))
        others = tx.statements_in([place], limit=limits.LIST_LIMIT_MAX, open_from=at or now).get(place, [])
        same = set_facts.repeated(told.value, at or now, others)
        if same is not None:
            return None, recollect(tx, [same.episode_id])
        (episode,) = admit(
            tx, now, [drafted(Message(told.content, at=at), parts.entropy, now)], RememberOptions()
        ).fresh
        entity = _entity(episode, told, place)
        tx.add_entities([entity])
        set_facts.place(RelationWriter(tx, parts.entropy, now, parts.policy), entity, others, told.reason)
        if parts.embedder is not None:
            put_off(tx, [episode], RememberOptions())  # its vector is made after the commit
        return episode, recollect(tx, [episode.id])

    with engine.may_be_given_up():
        episode, written = await engine.storage.write(work)
        outcome = await engine.embed_read([episode]) if episode is not None else Outcome()
    return RememberReceipt(
        episode_ids=(written.entities[0].episode_id,),
        entities=written.entities,
        evolutions=written.evolutions,
        deferred=tuple(outcome.waiting),
        degraded=tuple(outcome.degraded),
        replayed=episode is None,
    )


def _entity(episode: Episode, told: _Told, place: tuple[str, str]) -> Entity:
    """The statement that a fact is kept as; `place` is its subject and slot."""
    subject, slot = place
    span = (0, len(told.statement))
    kind = type_of_slot(slot, EntityType.NOTE)
    about = {"subject": subject, "slot": slot, "value": told.value, "metadata": {set_facts.ATTRIBUTE: told.attribute}}
    return said_in(episode, span, kind, told.subject, **about)
