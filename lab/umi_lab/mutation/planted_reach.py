"""Faults in what small worlds did not reach before: wishes of a call, times in questions, metadata, spellings, copies, factors, filters, moments, trust.

None of them is one of the bugs by whose classes the worlds were widened.
"""
# ruff: noqa: SLF001 - planted inside, as a real fault would be

from __future__ import annotations

import re
import unicodedata
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Final, Literal

from umi._core import text, validate
from umi._engine import files
from umi._engine.components import Components
from umi._erasure import operations
from umi._erasure.naming import Naming
from umi._evolution.trust import USUAL
from umi._learning import runs
from umi._remember import ingest
from umi._remember.apply import ReadingWriter
from umi._retrieval import period, slot_lookup
from umi.stores.sql import select
from umi.stores.sqlite import store
from umi_lab.mutation.planted import Mutation, Planted, edited, patched


def _normalised_less() -> Planted:
    """Letters are put together, and neither ligatures nor wide letters are taken apart."""

    def normalize(form: Literal["NFC", "NFD", "NFKC", "NFKD"], given: str) -> str:
        return unicodedata.normalize("NFC" if form == "NFKC" else form, given)

    return patched(text, "unicodedata", SimpleNamespace(normalize=normalize, combining=unicodedata.combining))


def _cut_at_marks() -> Planted:
    """A mark that no letter takes in ends a word."""
    marks = f"|[{text._marks()}]"
    return patched(text, "_TOKEN", re.compile(text._TOKEN.pattern.replace(marks, "")))


WISHES: Final[tuple[Mutation, ...]] = (
    Mutation(
        "unwanted-values-noticed",
        "What is told without relations is still noticed to tell an older value again.",
        "umi._remember.apply.ReadingWriter._write_reading",
        partial(
            edited,
            ReadingWriter,
            "_write_reading",
            "            self._notice(episode, entities)",
            "        if reading is None:\n            self._notice(episode, entities)",
        ),
    ),
    Mutation(
        "relations-after-all-once-put-off",
        "What is told without relations, and only read later, makes some.",
        "umi._remember.admission.put_off",
        partial(
            edited,
            ingest,
            "put_off",
            "outbox_item(episode, options)",
            "replace(outbox_item(episode, options), track_evolution=True)",
        ),
    ),
)

TIMES: Final[tuple[Mutation, ...]] = (
    Mutation(
        "this-month-is-last-year's",
        "A question for the month in which the newest statement was said means that of the year before.",
        "umi._retrieval.slot_lookup._end_of_month",
        partial(edited, slot_lookup, "_end_of_month", "newest.month >= month", "newest.month > month"),
    ),
    Mutation(
        "months-ahead-of-the-newest",
        "A month or day without a year may be one that lies ahead of the newest message.",
        "umi._retrieval.period._period",
        partial(edited, period, "_period", "past=True", "past=False"),
    ),
)

METADATA: Final[tuple[Mutation, ...]] = (
    Mutation(
        "deleted-words-stay-as-keys",
        "Metadata of which a key is a deleted word stays.",
        "umi._erasure.cutting.without_statements",
        partial(
            edited,
            operations,
            "without_statements",
            "texts_in(episode.metadata)",
            "texts_in([*episode.metadata.values()])",
        ),
    ),
    Mutation(
        "names-overlooked-below",
        "Metadata that names a subject within a list or a mapping stays when that is erased.",
        "umi._erasure.naming.Naming.stands_beside",
        partial(
            edited,
            Naming,
            "stands_beside",
            "*texts_in(episode.metadata)",
            "*episode.metadata, *(one for one in episode.metadata.values() if isinstance(one, str))",
        ),
    ),
)

SPELLINGS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "ligatures-are-letters",
        "A word with a ligature or a wide letter is not found by its plain spelling.",
        "umi._core.text.analyse",
        _normalised_less,
    ),
    Mutation("marks-end-words", "A combining mark ends a word.", "umi._core.text._TOKEN", _cut_at_marks),
)

COPIES: Final[tuple[Mutation, ...]] = (
    Mutation(
        "backup-over-a-file",
        "A backup takes the place of a file that is there.",
        "umi.stores.sqlite.backup.copy_database",
        partial(edited, store, "copy_database", "if final.exists():", "if final.is_dir():"),
    ),
    Mutation(
        "export-beside-the-old-one",
        "An export to a file that is there is dropped.",
        "umi._engine.files._sink",
        partial(edited, files, "_sink", "part.replace(path)", "path.exists() or part.replace(path)"),
    ),
)

JUDGED: Final[tuple[Mutation, ...]] = (
    Mutation(
        "nothing-is-not-assessed",
        "A factor of 0 counts as if it had not been assessed.",
        "umi.types.quality.factors_quality",
        partial(
            edited,
            import_module("umi.types.quality"),  # the package names a function so
            "factors_quality",
            "if (value := getattr(factors, name, None)) is not None",
            "if (value := getattr(factors, name, None))",
        ),
    ),
    Mutation(
        "what-was-gone-back-from-returns",
        "Going back to a version counts what came before it and had been left.",
        "umi._learning.crediting.counting_pages",
        partial(
            edited,
            runs,
            "counting_pages",
            "if row.version in counting",
            "if row.version <= max(counting, default=0)",
        ),
    ),
)

ASKED: Final[tuple[Mutation, ...]] = (
    Mutation(
        "upper-bounds-let-numbers-in",
        "A filter with an upper bound alone for texts lets numbers in.",
        "umi.stores.sql.select._tests",
        partial(edited, select, "_tests", "if low is None and isinstance(high, str):", "if low is None and not high:"),
    ),
    Mutation(
        "zones-of-texts-dropped",
        "A moment that is written as a text is taken for one in UTC, whatever its zone.",
        "umi._core.validate.when",
        partial(
            edited,
            validate,
            "when",
            "return given.astimezone(UTC)",
            "return given.replace(tzinfo=UTC) if isinstance(value, str) else given.astimezone(UTC)",
        ),
    ),
    Mutation(
        "usual-trust-for-all",
        "A memory trusts whom one trusts usually, and not whom its configuration names.",
        "umi._engine.components.Components.trust",
        partial(patched, Components, "trust", property(lambda _parts: USUAL)),
    ),
)

REACH: Final[tuple[Mutation, ...]] = (*WISHES, *TIMES, *METADATA, *SPELLINGS, *COPIES, *JUDGED, *ASKED)
