"""Forgetting and erasing: the transaction, then vectors for what is left of a message, then the file's bytes."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from umi._core import validate
from umi._core.text import forget_words
from umi._erasure import operations
from umi._erasure.operations import Taken
from umi.errors import InvalidInput, StoreError
from umi.ports import Snapshot
from umi.ports.text_reader import TextReader
from umi.types import ErasureCheck, ErasurePreview, ErasureReceipt
from umi.types.erasure_proof import ErasureProof, make_proof, pieces

if TYPE_CHECKING:
    from umi._engine.engine import Engine

log = logging.getLogger("umi")

DERIVED = ("stale", "erase")
_SALT_BYTES = 16


class Erasing(ABC):
    """The part of the facade that takes away what was remembered."""

    _name: str

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def forget(self, id: str) -> bool:  # noqa: A002 - the design's name
        """Take out one message or one statement for good: its words, terms, vector and index entries, and its bytes in the file.

        Of a message that says more than this statement the rest stays, with blanks in its place. What the statement had closed holds
        again, unless a later one closes it too; what was concluded from it is stale. The message's id is remembered as a digest, so
        that an import run again does not bring it back.

        Args:
            id: Of an entity or an episode.

        Returns:
            True if it was there.

        Raises:
            StoreError: When the store fails; nothing is taken then.
        """
        return await forget(self._open, validate.name(id, "id"))

    async def erase(self, subject: str, *, derived: str = "stale") -> ErasureReceipt:
        """Take out everything about a subject: what names it, what it said, and all that was made of it.

        A message that speaks of others too is cut down to what it says of them.

        Args:
            subject: A name, an alias or a subject's key.
            derived: What becomes of conclusions that do not name the subject: "stale" (kept, and not shown) or "erase".

        Raises:
            InvalidInput: For a subject outside its limits, or another `derived`.
            StoreError: When the store fails; nothing is taken then.
        """
        name, too = validate.name(subject, "subject"), _derived_too(derived)
        return await erase(self._open, self._name, name, derived_too=too)

    async def preview_erasure(self, subject: str, *, derived: str = "stale") -> ErasurePreview:
        """What `erase` would take now, with nothing taken.

        Raises:
            InvalidInput: As `erase`.
            StoreError: When the store cannot be read.
        """
        name, too = validate.name(subject, "subject"), _derived_too(derived)
        return await self._open.storage.read(lambda snapshot: operations.preview(snapshot, name, derived_too=too))

    async def verify_erasure(self, receipt: ErasureReceipt) -> ErasureCheck:
        """Look for what was erased in every byte of the store and in all that this namespace says today.

        Raises:
            StoreError: When the store cannot be read.
        """
        return await verify(self._open, receipt)


async def forget(engine: Engine, id_: str) -> bool:
    """Take out one message or statement; True if it was there."""
    entropy, now = engine.parts.entropy, engine.parts.clock.now()
    taken = await engine.storage.write(lambda tx: operations.forget(tx, entropy, now, id_, reader=_reader(engine)))
    if taken is None:
        return False
    await _finish(engine, taken)
    return True


async def erase(engine: Engine, name: str, subject: str, *, derived_too: bool) -> ErasureReceipt:
    """Take out all about a subject of the namespace `name`."""
    entropy, now = engine.parts.entropy, engine.parts.clock.now()
    taken = await engine.storage.write(
        lambda tx: operations.erase(tx, entropy, now, subject, derived_too=derived_too, reader=_reader(engine))
    )
    proof, clean = await _finish(engine, taken)
    return ErasureReceipt(
        id=entropy.new_id("era", now),
        namespace=name,
        at=now,
        deleted=taken.deleted,
        redacted=taken.redacted,
        stale=taken.stale,
        counts=dict(sorted(taken.counts.items())),
        pending=not clean,
        proof=proof,
    )


async def verify(engine: Engine, receipt: ErasureReceipt) -> ErasureCheck:
    """Hold a receipt against every byte of the store and against what the namespace says today."""
    examined = await engine.store.examine(receipt.proof)
    before, since = await engine.storage.read(partial(_still_said, receipt=receipt))
    return ErasureCheck(len(examined.raw - examined.live), before, since, await engine.store.unclean())


def _reader(engine: Engine) -> TextReader | None:
    return None if engine.parts.embedder is None else engine.parts.embedder.reader


def _derived_too(derived: str) -> bool:
    if derived not in DERIVED:
        raise InvalidInput(f"derived must be one of {', '.join(DERIVED)}, got {derived!r}")
    return derived == "erase"


async def _finish(engine: Engine, taken: Taken) -> tuple[ErasureProof, bool]:
    """What comes after the transaction. It is done and acknowledged: what a failing store keeps from being finished waits for `maintain`."""
    engine.let_go([*taken.deleted, *taken.redacted])
    try:
        words = await engine.storage.read(partial(operations.unsaid, texts=taken.texts))
        if taken.redacted:
            await engine.embed_again(taken.redacted)
    except StoreError as error:
        log.warning("taken away, and not all that follows is done: %s", error)
        words = tuple(pieces(taken.texts)[1])
    proof = make_proof(_salt(engine), taken.names, words)
    forget_words()
    if engine.parts.embedder is not None:
        engine.parts.embedder.forget_questions()
    return proof, await engine.clean_up(proof)


def _salt(engine: Engine) -> str:
    drawn = engine.parts.entropy.new_id("salt", engine.parts.clock.now())
    return blake2b(drawn.encode(), digest_size=_SALT_BYTES).hexdigest()


def _still_said(snapshot: Snapshot, receipt: ErasureReceipt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Episodes that say a name of the subject: those recorded before the erasure, and those since."""
    names = ErasureProof(receipt.proof.salt, receipt.proof.names, ())
    if not names.names:
        return (), ()
    said: dict[str, datetime] = {}
    for row, _ in snapshot.scan_episodes():
        episode = row.episode
        texts = (episode.content, episode.speaker, episode.session, episode.message_id, str(dict(episode.metadata)))
        if names.found_in("\n".join(text for text in texts if text).encode()):
            said[episode.id] = episode.recorded_at
    before = tuple(id_ for id_, at in said.items() if at <= receipt.at)
    return before, tuple(id_ for id_ in said if id_ not in before)
