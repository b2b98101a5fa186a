"""`Memory.forget` and `Memory.erase`: delete rows in one transaction, embed what is left of messages, clean the file's bytes.

What the rows are is decided in `umi._erasure`; how bytes are cleaned, in the store (ADR 12).
"""

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
from umi._reading.value_mentions import mentions as value_mentions
from umi.errors import InvalidInput, StoreError
from umi.ports import Snapshot
from umi.ports.text_reader import TextReader
from umi.types import ErasureCheck, ErasurePreview, ErasureReceipt
from umi.types.erasure_proof import ErasureProof, make_proof, pieces

if TYPE_CHECKING:
    from umi._engine.engine import Engine

log = logging.getLogger("umi")

DERIVED = ("stale", "erase")  # what may become of conclusions from erased messages
_SALT_BYTES = 16  # of the key of a proof's digests


class Erasing(ABC):
    """The methods of `umi.Memory` that delete what was remembered."""

    _name: str

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def forget(self, id: str) -> bool:  # noqa: A002 - the design's name
        """Delete one message or one statement for good: its words, terms, vector and index entries, and its bytes in the file.

        If the message says more than this statement, the rest stays, with spaces in place of the deleted words. What
        the statement had closed holds again, unless a later statement closes it too. Conclusions drawn from it become
        stale. The message's id is kept as a digest, so that an import that is run again does not bring it back.

        Args:
            id: The id of an entity or an episode.

        Returns:
            True if it existed.

        Raises:
            StoreError: When the store fails; nothing is deleted then.
        """
        return await forget(self._open, validate.name(id, "id"))

    async def erase(self, subject: str, *, derived: str = "stale") -> ErasureReceipt:
        """Delete everything about a subject: what names it, what it said, and everything derived from that.

        A message that is about others too is cut down to what it says about them.

        Args:
            subject: A name, an alias or a subject's key.
            derived: What becomes of conclusions that do not name the subject: "stale" (kept, and not shown) or "erase".

        Raises:
            InvalidInput: For a subject outside its limits, or an unknown `derived`.
            StoreError: When the store fails; nothing is deleted then.
        """
        name, too = validate.name(subject, "subject"), _derived_too(derived)
        return await erase(self._open, self._name, name, derived_too=too)

    async def preview_erasure(self, subject: str, *, derived: str = "stale") -> ErasurePreview:
        """Show what `erase` would delete now; nothing is deleted.

        Raises:
            InvalidInput: As `erase`.
            StoreError: When the store cannot be read.
        """
        name, too = validate.name(subject, "subject"), _derived_too(derived)
        return await self._open.storage.read(lambda snapshot: operations.preview(snapshot, name, derived_too=too))

    async def verify_erasure(self, receipt: ErasureReceipt) -> ErasureCheck:
        """Search for what was erased in every byte of the store and in everything this namespace holds today.

        Raises:
            StoreError: When the store cannot be read.
        """
        return await verify(self._open, receipt)


async def forget(engine: Engine, id_: str) -> bool:
    """See `Erasing.forget`."""
    entropy, now = engine.parts.entropy, engine.parts.clock.now()
    taken = await engine.storage.write(lambda tx: operations.forget(tx, entropy, now, id_, reader=_reader(engine)))
    if taken is None:
        return False
    await _finish(engine, taken)
    return True


async def erase(engine: Engine, name: str, subject: str, *, derived_too: bool) -> ErasureReceipt:
    """See `Erasing.erase`; `name` is the namespace."""
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
    """See `Erasing.verify_erasure`."""
    # A piece that some row holds today is no remainder of the erased text.
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
    """Do what follows the transaction: caches, vectors for cut messages, the proof, and the file's bytes.

    The deletion is committed and acknowledged at this point. What fails here because of the store is completed by
    `maintain`.

    Returns:
        The proof, and whether the file is clean.
    """
    # Texts that recall has returned must not stand for deleted episodes.
    engine.let_go([*taken.deleted, *taken.redacted])
    try:
        # Words that other messages still contain cannot be searched for in the file.
        words = await engine.storage.read(partial(operations.unsaid, texts=taken.texts))
        if taken.redacted:
            await engine.embed_again(taken.redacted)
    except StoreError as error:
        log.warning("taken away, and not all that follows is done: %s", error)
        # Without the index nobody knows which single words are still said; runs of three words are searched for.
        words = tuple(pieces(taken.texts)[1])
    proof = make_proof(_salt(engine), taken.names, words)
    # RAM holds words too: cached stems and embeddings of questions.
    # Caches of this process that are keyed by texts or words of messages.
    forget_words()
    value_mentions.cache_clear()
    if engine.parts.embedder is not None:
        engine.parts.embedder.forget_questions()
    return proof, await engine.clean_up(proof)


def _salt(engine: Engine) -> str:
    drawn = engine.parts.entropy.new_id("salt", engine.parts.clock.now())
    return blake2b(drawn.encode(), digest_size=_SALT_BYTES).hexdigest()


def _still_said(snapshot: Snapshot, receipt: ErasureReceipt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of episodes that contain a name of the subject: those recorded up to the erasure, and later ones."""
    # Only the names: other words of the proof may be said again by right.
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
