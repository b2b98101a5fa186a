"""Planted faults of forgetting and erasing: something is left, something comes back, or what rested on it is not put right."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._erasure import cutting
from umi._erasure import operations as erase
from umi._erasure.removal import Removal
from umi._remember.apply import ReadingWriter
from umi.stores.sql.write import SqlTransaction
from umi.stores.sqlite import clean, opening
from umi_lab.mutation.planted import Mutation, Planted, both, edited, patched

_TABLES: Final = '("mentions", "entities", "outbox", "vectors", "terms", "episodes")'


def _nothing(owner: type, method: str) -> Planted:
    """A method that does nothing any more."""
    return patched(owner, method, lambda *_args, **_more: None)


def _log_kept() -> Planted:
    return patched(clean, "_log_is_empty", lambda _db: True)


def _freed_bytes_kept() -> Planted:
    settings = opening._SETTINGS.replace("secure_delete = ON", "secure_delete = OFF")  # noqa: SLF001 - a fault sits inside
    return both(
        patched(opening, "_SETTINGS", settings),
        edited(clean, "_rewritten", '        db.execute("VACUUM")\n', "        pass\n"),
    )


ERASURES: Final[tuple[Mutation, ...]] = (
    Mutation(
        "terms-left",
        "Forgetting a message leaves its terms.",
        "umi.stores.sql.write.SqlTransaction.delete_episode",
        partial(edited, SqlTransaction, "delete_episode", _TABLES, _TABLES.replace('"terms", ', "")),
    ),
    Mutation(
        "vector-left",
        "Forgetting a message leaves its vectors.",
        "umi.stores.sql.write.SqlTransaction.delete_episode",
        partial(edited, SqlTransaction, "delete_episode", _TABLES, _TABLES.replace('"vectors", ', "")),
    ),
    Mutation(
        "alias-left",
        "Erasing a person leaves the aliases that name them.",
        "umi._erasure.removal.Removal.remove_aliases",
        partial(_nothing, Removal, "remove_aliases"),
    ),
    Mutation(
        "reason-left",
        "A reason goes on quoting what was forgotten.",
        "umi._erasure.removal.Removal.blank_reasons",
        partial(_nothing, Removal, "blank_reasons"),
    ),
    Mutation(
        "log-left",
        "The write-ahead log is left as it is after an erasure.",
        "umi.stores.sqlite.clean._log_is_empty",
        _log_kept,
    ),
    Mutation(
        "freed-bytes-left",
        "What is freed in the file is neither overwritten nor written anew.",
        "umi.stores.sqlite.clean._rewritten",
        _freed_bytes_kept,
    ),
    Mutation(
        "cache-answers-on",
        "Indexes in memory, of this and of other processes, are not told that a message was forgotten.",
        "umi.stores.sql.write.SqlTransaction.delete_episode",
        partial(edited, SqlTransaction, "delete_episode", "        self._touch(key)\n", ""),
    ),
    Mutation(
        "cut-not-made",
        "A message that speaks of others too is kept whole.",
        "umi._erasure.cutting.blanked",
        partial(patched, cutting, "blanked", lambda text, _kept: text),
    ),
    Mutation(
        "conclusion-left-fresh",
        "What was concluded from something forgotten holds on.",
        "umi._erasure.removal.Removal._mark_source_deleted",
        partial(_nothing, Removal, "_mark_source_deleted"),
    ),
    Mutation(
        "waiting-conclusion-left-fresh",
        "A conclusion that waited while its source was forgotten never learns of it.",
        "umi._remember.apply.ReadingWriter._derive",
        partial(edited, ReadingWriter, "_derive", "            if not found:", "            if False:"),
    ),
    Mutation(
        "old-value-comes-back",
        "The middle of a chain is forgotten, and what it had closed holds again beside what came later.",
        "umi._erasure.removal.Removal._close_again",
        partial(_nothing, Removal, "_close_again"),
    ),
    Mutation(
        "key-left-out",
        "A message that is sent again after it was forgotten is kept again.",
        "umi._erasure.removal.Removal._bury",
        partial(
            edited,
            Removal,
            "_bury",
            'ReplayRow(tombstone(row.key), "", tuple(left))',
            "ReplayRow(row.key + '!', \"\", left)",
        ),
    ),
    Mutation(
        "conclusions-left-behind",
        "Erasing a person with what was concluded from them leaves the conclusions.",
        "umi._erasure.operations._concluded",
        partial(patched, erase, "_concluded", lambda _tx, _cuts: []),
    ),
)
