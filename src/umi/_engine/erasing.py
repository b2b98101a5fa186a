"""`Memory.forget`, `erase` and `erase_namespace`: delete rows in one transaction, embed what is left of messages, clean the bytes.

What the rows are is decided in `umi._erasure`; how bytes are cleaned, in the store (ADR 12).
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, get_args

from umi._core import validate
from umi._core.filters import read_filter
from umi._engine.verifying import NAMESPACE, SESSION, SUBJECT, WHERE, verify
from umi._erasure import leaving, operations
from umi._erasure.operations import Taken
from umi.errors import InvalidInput, PreviewOutdated, StoreError
from umi.ports import Snapshot, Transaction
from umi.types import Derived, EntityTypeLike, ErasureCheck, ErasurePreview, ErasureReceipt, Where
from umi.types.erasure_proof import ErasureProof, make_search, pieces
from umi.types.filters import EVERYTHING, Filter

if TYPE_CHECKING:
    from umi._engine.engine import Engine

log = logging.getLogger("umi")

_OUTDATED = "something else would go by now than the preview showed, so nothing was erased: preview it again"
_SALT_BYTES = 16  # of the key of a proof's digests


class Erasing(ABC):
    """The methods of `umi.Memory` that delete what was remembered."""

    _name: str

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def forget(
        self,
        id: str | None = None,  # noqa: A002 - the design's name
        *,
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
    ) -> int:
        """Delete messages or statements for good: their words, terms, vectors and index entries, and their bytes in the file.

        One, by its id; or all messages of `where`; or, with `types`, all statements of these kinds in them. Give an id or a filter.

        If a message says more than such a statement, the rest stays, with spaces in place of the deleted words. What
        the statement had closed holds again, unless a later statement closes it too. Conclusions drawn from it become
        stale. A message's id is kept as a digest, so that an import that is run again does not bring it back.

        Args:
            id: The id of an entity or an episode, or the id that you gave a message.
            where: Messages like `{"metadata": {"ticket": 17}}`; see `umi.Where`. All go in one transaction.
            types: Kinds of statements.

        Returns:
            How many messages, or statements of these kinds, were deleted: 0 when there is none.

        Raises:
            InvalidInput: For an id and a filter, or neither, or one that is outside its limits.
            StoreError: When the store fails; nothing is deleted then.
        """
        chosen = read_filter(where, types)
        if (id is None) != bool(chosen):
            raise InvalidInput(
                "say what to forget: an id, or where= or types=, one of them; erase_namespace() forgets all"
            )
        if id is None:
            return await _forget(self._open, partial(operations.forget_where, where=chosen))
        return await _forget(self._open, partial(operations.forget, id_=validate.name(id, "id")))

    async def erase(
        self,
        subject: str | None = None,
        *,
        session: str | None = None,
        where: Where | None = None,
        derived: Derived = "stale",
        previewed: ErasurePreview | None = None,
    ) -> ErasureReceipt:
        """Delete everything about a subject, or every message of a session or of a filter, with everything derived from that.

        About a subject is what names it and what it said; a message that is about others too is cut down to what it says
        about them. The messages of a session or of a filter go whole, whoever they are about. Give one of the three. What is not
        known deletes nothing, and the receipt says so: `known` is False.

        Args:
            subject: A name, an alias or a subject's key.
            session: The name of a session; `sessions` lists them.
            where: Messages like `{"metadata": {"customer": "c-17"}}`; see `umi.Where`.
            derived: What becomes of conclusions that do not name the subject, or were not drawn in these messages: "stale" (kept,
                and not shown) or "erase".
            previewed: What `preview_erasure` showed. Where other messages would go by now, none does.

        Raises:
            InvalidInput: For none or several of them, one that is outside its limits, or an unknown `derived`.
            PreviewOutdated: When it is no longer as `previewed` showed it.
            StoreError: When the store fails; nothing is deleted then.
        """
        chosen = _one_of(subject, session, where)
        shown = _shown(previewed)
        return await erase(self._open, self._name, chosen, derived_too=_derived_too(derived), previewed=shown)

    async def preview_erasure(
        self,
        subject: str | None = None,
        *,
        session: str | None = None,
        where: Where | None = None,
        derived: Derived = "stale",
    ) -> ErasurePreview:
        """Show what `erase` would delete now, and what it would leave that may concern the subject; nothing is deleted.

        Raises:
            InvalidInput: As `erase`.
            StoreError: When the store cannot be read.
        """
        chosen, too = _one_of(subject, session, where), _derived_too(derived)
        return await self._open.storage.read(partial(_preview, chosen=chosen, derived_too=too))

    async def erase_namespace(self, *, previewed: ErasurePreview | None = None) -> ErasureReceipt:
        """Delete this namespace: every message and all that was made of it or noted beside it, and its name.

        All of it goes in one transaction: messages, statements, relations, aliases, waiting work, what was learned, decisions
        of routing, and the keys by which messages are known again, those of forgotten ones included. So nothing is kept
        of it, and an import that is run again brings its messages back. Other writers wait while the rows are deleted (figures: ADR 12).
        This memory stays usable: writing to it begins the namespace anew. A namespace that does not exist deletes nothing, and
        the receipt says so: `known` is False.

        Args:
            previewed: What `preview_namespace_erasure` showed. Where something else would go by now, nothing does.

        Raises:
            InvalidInput: For a `previewed` that is no preview.
            PreviewOutdated: When it is no longer as `previewed` showed it.
            StoreError: When the store fails; nothing is deleted then.
        """
        return await erase_namespace(self._open, self._name, _shown(previewed))

    async def preview_namespace_erasure(self) -> ErasurePreview:
        """Show what `erase_namespace` would delete now: how much of each kind, and the first messages.

        Raises:
            StoreError: When the store cannot be read.
        """
        return await self._open.storage.read(leaving.preview_namespace)

    async def verify_erasure(self, receipt: ErasureReceipt) -> ErasureCheck:
        """Search for what was erased in every byte of the store and in everything this namespace holds today.

        Raises:
            InvalidInput: For a receipt that no erasure gave.
            StoreError: When the store cannot be read.
        """
        return await verify(self._open, receipt)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is to be erased: a subject, or where it is None the messages of a filter. `kind` is the receipt's word for it."""

    kind: str
    subject: str | None = None
    where: Filter = EVERYTHING


async def _forget(engine: Engine, forget: Callable[..., operations.Forgotten]) -> int:
    """See `Erasing.forget`; `forget` is the operation."""
    now = engine.parts.clock.now()
    with engine.may_be_given_up():
        done = await engine.storage.write(lambda tx: forget(engine.removal(tx, now)))
        if done.count:
            await _finish(engine, done.taken)
        else:
            await engine.cleaned()  # a call that was given up may have deleted it
    return done.count


async def erase(
    engine: Engine, name: str, chosen: _Chosen, *, derived_too: bool, previewed: ErasurePreview | None
) -> ErasureReceipt:
    """See `Erasing.erase`; `name` is the namespace."""
    now = engine.parts.clock.now()

    def work(tx: Transaction) -> Taken:
        removal = engine.removal(tx, now)
        if previewed is not None:
            _check_same(previewed, _preview(tx, chosen, derived_too=derived_too))
        if chosen.subject is not None:
            return operations.erase(removal, chosen.subject, derived_too=derived_too)
        return operations.erase_messages(removal, chosen.where, derived_too=derived_too)

    learner = engine.learner if chosen.subject is not None else None
    if learner is not None and learner.notes_a_task:
        await learner.flush()  # what is not written yet could not be searched for the name
    with engine.may_be_given_up():
        taken = await engine.storage.write(work)
        proof, clean = await _finish(engine, taken)
    return ErasureReceipt(
        id=engine.parts.entropy.new_id("era", now),
        namespace=name,
        at=now,
        deleted=taken.deleted,
        redacted=taken.redacted,
        stale=taken.stale,
        counts=dict(sorted(taken.counts.items())),
        pending=not clean,
        proof=proof,
        selection=chosen.kind,
        known=bool(taken.deleted or taken.redacted or taken.counts),
    )


async def erase_namespace(engine: Engine, name: str, previewed: ErasurePreview | None) -> ErasureReceipt:
    """See `Erasing.erase_namespace`; `name` is the namespace."""
    entropy, now, salt = engine.parts.entropy, engine.parts.clock.now(), _salt(engine)

    def work(tx: Transaction) -> leaving.Contents:
        if previewed is not None:
            _check_same(previewed, leaving.preview_namespace(tx))
        return leaving.erase_namespace(tx, salt, found)

    # Read without the write lock, for which all writers of the file wait.
    found = await engine.storage.read(partial(leaving.contents, salt=salt))
    if found.sequence:
        found = await engine.storage.write(work)
    elif previewed is not None and previewed.known:
        raise PreviewOutdated(_OUTDATED)
    engine.forget_all()
    engine.forget_words()
    clean = await engine.clean_up(found.needles) if found.sequence else await engine.cleaned()
    return ErasureReceipt(
        id=entropy.new_id("era", now),
        namespace=name,
        at=now,
        deleted=(),
        redacted=(),
        stale=(),
        counts=found.counts,
        pending=not clean,
        proof=found.proof,
        selection=NAMESPACE,
        known=found.sequence > 0,
    )


def _one_of(subject: str | None, session: str | None, where: Where | None) -> _Chosen:
    """What a caller names.

    Raises:
        InvalidInput: When it is nothing or more than one thing, or outside its limits.
    """
    named = ((SUBJECT, subject), (SESSION, session), (WHERE, where))
    given = [what for what, value in named if value is not None]
    filter_ = read_filter(where if session is None else {"session": validate.name(session, "session")}, None)
    if len(given) != 1 or (subject is None and not filter_):
        raise InvalidInput(
            f"say what to erase: a subject, session=... or where=..., one of them, got {' and '.join(given) or 'none'};"
            " a whole namespace goes with erase_namespace()"
        )
    return _Chosen(given[0], validate.optional_name(subject, "subject"), filter_)


def _preview(snapshot: Snapshot, chosen: _Chosen, *, derived_too: bool) -> ErasurePreview:
    if chosen.subject is None:
        return operations.preview_messages(snapshot, chosen.where, derived_too=derived_too)
    return operations.preview(snapshot, chosen.subject, derived_too=derived_too)


def _shown(previewed: object) -> ErasurePreview | None:
    if previewed is None or isinstance(previewed, ErasurePreview):
        return previewed
    raise InvalidInput(f"previewed is no preview of an erasure: {type(previewed).__name__}")


def _check_same(previewed: ErasurePreview, found: ErasurePreview) -> None:
    """Compare what a preview showed with what would go.

    Raises:
        PreviewOutdated: When it is not the same.
    """
    shown, going = (
        ([one.id for one in each.deleted], [one.id for one in each.redacted], dict(each.counts))
        for each in (previewed, found)
    )
    if shown != going:
        raise PreviewOutdated(_OUTDATED)


def _derived_too(derived: str) -> bool:
    return validate.one_of(derived, "derived", get_args(Derived)) == "erase"


async def _finish(engine: Engine, taken: Taken) -> tuple[ErasureProof, bool]:
    """Do what follows the transaction: caches, vectors for cut messages, the proof, and the file's bytes.

    The deletion is committed and acknowledged at this point. What fails here because of the store is completed by
    `maintain`.

    Returns:
        The proof, and whether the file is clean.
    """
    # Texts that recall has returned must not stand for deleted episodes.
    engine.recalled_texts.forget([*taken.deleted, *taken.redacted])
    try:
        # Words that other messages still contain cannot be searched for in the file.
        words, runs = await engine.storage.read(partial(operations.unsaid, texts=taken.texts))
        if taken.redacted:
            await engine.embed_again(taken.redacted)
    except StoreError as error:
        log.warning("taken away, and not all that follows is done: %s", error)
        # Without the index nobody knows which single words are still said; runs of three words are searched for.
        words, runs = (), tuple(pieces(taken.texts)[1])
    proof, needles = make_search(_salt(engine), taken.names, words, runs)
    engine.forget_words()
    return proof, await engine.clean_up(needles)


def _salt(engine: Engine) -> str:
    drawn = engine.parts.entropy.new_id("salt", engine.parts.clock.now())
    return blake2b(drawn.encode(), digest_size=_SALT_BYTES).hexdigest()
