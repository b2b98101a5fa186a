"""`Memory.verify_erasure`: look for what a receipt says was erased, in every byte of the store and in what a namespace holds."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from umi._erasure.naming import stands_alone
from umi.errors import InvalidInput
from umi.ports import Snapshot
from umi.types import ErasureCheck, ErasureReceipt
from umi.types.erasure_proof import ErasureProof

if TYPE_CHECKING:
    from umi._engine.engine import Engine

SUBJECT: Final = "subject"
SESSION: Final = "session"
WHERE: Final = "where"
NAMESPACE: Final = "namespace"
_LOOKED_UP_COUNT: Final = 1_000  # ids in one look-up


async def verify(engine: Engine, receipt: ErasureReceipt) -> ErasureCheck:
    """See `umi.Memory.verify_erasure`."""
    if not isinstance(receipt, ErasureReceipt):
        raise InvalidInput(f"this is no receipt of an erasure: {type(receipt).__name__}")
    proof = receipt.proof
    fault = "its moment has no zone" if receipt.at.tzinfo is None else proof.fault
    if fault is not None:
        raise InvalidInput(f"this is no receipt of an erasure: {fault}")
    # A piece that some row holds today is no remainder of the erased text.
    examined = await engine.store.examine(proof)
    before, since = await engine.storage.read(partial(_still_said, receipt=receipt))
    found = examined.raw | examined.live
    kinds = {"names": proof.names, "words": proof.words, "runs": proof.runs}
    return ErasureCheck(
        remains=len(examined.raw - examined.live),
        said_before=before,
        said_since=since,
        pending=await engine.store.unclean(),
        searched={kind: len(grams) for kind, grams in kinds.items()},
        absent={kind: sum(gram not in found for gram in grams) for kind, grams in kinds.items()},
        is_sample=proof.is_sample,
        files_searched=examined.files_searched,
    )


def _still_said(snapshot: Snapshot, receipt: ErasureReceipt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of episodes that the erasure should have left none of, and of later ones that name the subject."""
    whole = receipt.selection == NAMESPACE
    said = _in_the_namespace(snapshot) if whole else _naming(snapshot, receipt)
    # A namespace may begin anew at the very moment of its erasure.
    before = dict.fromkeys(id_ for id_, at in said.items() if at < receipt.at or (at == receipt.at and not whole))
    # A deleted message has its old id and its old time when an export or a backup brings it back.
    for start in range(0, len(receipt.deleted), _LOOKED_UP_COUNT):
        before |= dict.fromkeys(snapshot.episodes(receipt.deleted[start : start + _LOOKED_UP_COUNT]))
    since = () if whole else tuple(id_ for id_ in said if id_ not in before)
    return tuple(before), since


def _in_the_namespace(snapshot: Snapshot) -> dict[str, datetime]:
    """Every episode, with when it was recorded."""
    return {row.episode.id: row.episode.recorded_at for row, _ in snapshot.scan_episodes()}


def _naming(snapshot: Snapshot, receipt: ErasureReceipt) -> dict[str, datetime]:
    """The episodes that contain a name of the subject as a word, with when each was recorded."""
    # Only the names: other words of the proof may be said again by right.
    names = ErasureProof(receipt.proof.salt, receipt.proof.names, ())
    if not names.names:
        return {}
    said: dict[str, datetime] = {}
    for row, _ in snapshot.scan_episodes():
        episode = row.episode
        texts = (episode.content, episode.speaker, episode.session, episode.message_id, str(dict(episode.metadata)))
        whole = "\n".join(text for text in texts if text).encode()
        if any(stands_alone(whole, place, place + gram.length) for place, gram in names.places_in(whole)):
            said[episode.id] = episode.recorded_at
    return said
