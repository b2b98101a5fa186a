"""Faults in what small worlds have reached lately.

These are damaged exports, values that look alike, previews and credit through conclusions of conclusions, borders of times, several namespaces
at once, people named by a relation, what callers hand in themselves, and words that are said or read twice. None of them is one of the bugs by whose classes the worlds were widened.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from umi import blocking
from umi._archive import restore
from umi._archive.reader import Reader
from umi._archive.restore import Restore
from umi._core import filters as reading_filters
from umi._engine import answering, model_names
from umi._engine.overview import Overview
from umi._erasure import previewing
from umi._evolution.states import StateResolver
from umi._evolution.tracker import EvolutionTracker
from umi._learning import crediting
from umi._reading.grammar import subjects
from umi._reading.grammar.lexicon import MANY_KIN
from umi._reading.model import extraction
from umi._remember.recalled_text import RecalledTexts
from umi._retrieval import history, reviewing
from umi.stores.namespace_view import NamespaceView
from umi.stores.sql import periods as sql_periods
from umi.types import filters, periods
from umi_lab.mutation.planted import Mutation, edited, patched

EXPORTS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "the-file-after-is-another",
        "A restore that was broken off goes on with another export, if what was restored has as many bytes there.",
        "umi._archive.restore.Restore._skip",
        partial(
            edited, Restore, "_skip", "reader.end != note.end or reader.digest != note.digest", "reader.end != note.end"
        ),
    ),
    Mutation(
        "a-line-end-too-few",
        "An export of which the last line end is missing is taken for whole.",
        "umi._archive.reader.Reader._next",
        partial(edited, Reader, "_next", 'if not line.endswith(b"\\n"):', 'if not line.endswith((b"\\n", b"}")):'),
    ),
    Mutation(
        "the-line-before-is-named",
        "Where a field of a row is wrong, the line before it is named.",
        "umi._archive.restore._located",
        partial(
            edited, restore, "_located", "rows[0].number, rows[-1].number", "rows[0].number - 1, rows[-1].number - 1"
        ),
    ),
)

ALIKE: Final[tuple[Mutation, ...]] = (
    Mutation(
        "one-of-a-kind-in-a-list",
        "Of values in a list that Python takes for equal, such as 1 and True, only one is looked for.",
        "umi._core.filters._among",
        partial(
            edited,
            reading_filters,
            "_among",
            "{(kind(one), one): one for one in values}",
            "{one: one for one in values}",
        ),
    ),
    Mutation(
        "labels-alike-are-one",
        "Of values in a list in metadata that Python takes for equal one alone is compared.",
        "umi.types.filters.labels_of",
        partial(edited, filters, "labels_of", "(METADATA + key, kind(one), one)", "(METADATA + key, float, one)"),
    ),
)

PREVIEWS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "previews-look-two-steps-ahead",
        "What forgetting would leave without support is shown for two steps of conclusions alone.",
        "umi._erasure.previewing._unsupported",
        partial(edited, previewing, "_unsupported", "while layer:", "for _ in range(2):"),
    ),
    Mutation(
        "undone-two-steps-ahead",
        "What an undo would change is shown for two steps of conclusions alone.",
        "umi._retrieval.reviewing._touched",
        partial(edited, reviewing, "_touched", "steps_count=LIST_LIMIT_MAX", "steps_count=2"),
    ),
)

CREDIT: Final[tuple[Mutation, ...]] = (
    Mutation(
        "the-longest-way-counts",
        "What a hit rests on at once and through others is credited by the longer way.",
        "umi._learning.crediting._shares",
        partial(
            edited, crediting, "_shares", "if source not in below and source != entity_id", "if source != entity_id"
        ),
    ),
    Mutation(
        "credit-ends-a-step-early",
        "What a hit rests on through two conclusions is not credited.",
        "umi._learning.crediting._shares",
        partial(edited, crediting, "_shares", "range(1, DERIVED_DEPTH + 1)", "range(1, DERIVED_DEPTH)"),
    ),
)


BORDERS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "the-last-moment-is-left-out",
        "What begins at the last moment before a range ends is not in the range.",
        "umi.types.periods._meets",
        partial(
            edited, periods, "_meets", "start < wanted[1] and", "start < wanted[1] - timedelta(microseconds=1) and"
        ),
    ),
    Mutation(
        "over-and-still-there",
        "What was over at the moment at which a range begins is in the range.",
        "umi.stores.sql.periods.during",
        partial(edited, sql_periods, "during", "{end} > ?)", "{end} >= ?)"),
    ),
    Mutation(
        "days-begin-late",
        "The first moment of a day counts for the day before.",
        "umi._engine.overview.Overview.activity",
        partial(
            edited,
            Overview,
            "activity",
            "last = moment.astimezone(UTC).date()",
            "last = (moment - timedelta(microseconds=1)).astimezone(UTC).date()",
        ),
    ),
)

SEVERAL: Final[tuple[Mutation, ...]] = (
    Mutation(
        "no-room-is-no-answer",
        "Where what several namespaces answer has no room, it is said that nothing answers.",
        "umi._engine.several.recall_over",
        partial(edited, answering, "recall_over", "abstained=not merged", "abstained=not hits"),
    ),
    Mutation(
        "best-of-what-is-shown",
        "The best score of several namespaces is that of those that have a hit.",
        "umi._engine.several.recall_over",
        partial(
            edited,
            answering,
            "recall_over",
            "for one in found if one.best_score is not None",
            "for one in found if one.hits",
        ),
    ),
)

KIN: Final[tuple[Mutation, ...]] = (
    Mutation(
        "neighbours-are-names",
        "Somebody's neighbour or cousin stands for whoever was the first to be named so.",
        "umi._reading.grammar.lexicon.MANY_KIN",
        partial(patched, subjects, "MANY_KIN", MANY_KIN - {"neighbour", "neighbor", "cousin", "roommate"}),
    ),
    Mutation(
        "one-of-many-bosses",
        "What is said of somebody's boss or wife changes nothing without a word of change.",
        "umi._reading.grammar.lexicon.UNIQUE_KIN",
        partial(patched, subjects, "UNIQUE_KIN", frozenset[str]()),
    ),
)

CALLERS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "itself-takes-a-place",
        "A detection counts the new statement among those that it compares it with.",
        "umi._evolution.tracker.EvolutionTracker.detect",
        partial(
            edited,
            EvolutionTracker,
            "detect",
            "for entity in existing_entities if entity.id != new_entity.id][: options.max_comparisons]",
            "for entity in existing_entities[: options.max_comparisons] if entity.id != new_entity.id]",
        ),
    ),
    Mutation(
        "an-id-says-two-things",
        "A caller may store another claim under an id that is there; the first one stays.",
        "umi.stores.namespace_view.NamespaceView.store_entity",
        partial(
            edited, NamespaceView, "store_entity", "if _claim(kept) != _claim(entity):", "if kept.name != entity.name:"
        ),
    ),
    Mutation(
        "facts-to-come-hold-at-once",
        "A fact that is set from a moment to come holds at once.",
        "umi._evolution.states.StateResolver._is_to_come",
        partial(edited, StateResolver, "_is_to_come", "start > view.now", "start < view.now"),
    ),
    Mutation(
        "replaced-before-its-time",
        "A value is over at once that a fact replaces which is still to come.",
        "umi._evolution.states.StateResolver._ends_later",
        partial(edited, StateResolver, "_ends_later", "entity.valid_to <= now", "entity.valid_to > now"),
    ),
    Mutation(
        "listings-of-no-moment",
        "Listings and histories tell states as if no statement ran out and every fact had begun.",
        "umi._retrieval.history._steps",
        partial(edited, history, "_steps", "View(include_superseded=True, now=now)", "View(include_superseded=True)"),
    ),
    Mutation(
        "a-slash-too-many",
        "The address of a model's server may end in a slash, which stays in it.",
        "umi._engine.model_names._server",
        partial(edited, model_names, "_server", "{url.rstrip('/')}/v1", "{url}/v1"),
    ),
    Mutation(
        "one-view-for-all",
        "Without await, a memory seen from another namespace is still seen from its own.",
        "umi.blocking.Memory.switch",
        partial(edited, blocking.Memory, "switch", "self._twin.switch(namespace)", "self._twin"),
    ),
)

REPEATED: Final[tuple[Mutation, ...]] = (
    Mutation(
        "cut-elsewhere-and-still-shown",
        "What another memory cut out of a message counts as shown by it, and is dropped when it is said again.",
        "umi._remember.recalled_text.RecalledTexts.repeated",
        partial(edited, RecalledTexts, "repeated", "_stands(one, here)", "one.episode_id in here"),
    ),
    Mutation(
        "one-place-for-a-phrase",
        "A phrase that a model reads twice in one message is found twice in one place.",
        "umi._reading.model.extraction.statements",
        partial(edited, extraction, "statements", "max(after, span[1])", "max(after, span[0])"),
    ),
    Mutation(
        "the-second-subject-is-dropped",
        "Of two people about whom a model reads the same words only the first is kept.",
        "umi._reading.model.extraction._joined",
        partial(edited, extraction, "_joined", "(*one.also, other.subject, *other.also)", "(*one.also, *other.also)"),
    ),
    Mutation(
        "periods-exchanged-without-await",
        "Without await, history takes the period in which something was known for that in which it held.",
        "umi.blocking.Memory.history",
        partial(edited, blocking.Memory, "history", "held=held", "held=known"),
    ),
    Mutation(
        "expires-for-ever-without-await",
        "Without await, a message with a time to live never expires.",
        "umi.blocking.Memory.remember",
        partial(edited, blocking.Memory, "remember", "ttl=ttl", "ttl=None"),
    ),
)

WIDE: Final[tuple[Mutation, ...]] = (
    *EXPORTS, *ALIKE, *PREVIEWS, *CREDIT, *BORDERS, *SEVERAL, *KIN, *CALLERS, *REPEATED,
)  # fmt: skip
