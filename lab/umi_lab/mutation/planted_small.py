"""Planted faults in what small worlds compute for themselves: scores, contexts, what was learned, and what is followed.

They are hunted in small worlds (`tests/sim/test_small_planted.py`) and not by `umi bench mutants`, whose worlds are large.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._core import ranking, validate
from umi._engine import contexts, erasing
from umi._engine.engine import Engine
from umi._evolution import set_facts
from umi._evolution.relation_writer import RelationWriter
from umi._evolution.states import StateResolver
from umi._learning import credit, status
from umi._learning.boosts import Lessons
from umi._remember.apply import ReadingWriter
from umi._retrieval import context, profile, statement_scores
from umi._retrieval.snapshot_search import SnapshotSearch
from umi.stores.index import search_index
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.index.speakers import Speakers
from umi.stores.sql.erase import ErasingTransaction
from umi.stores.sql.read import SqlSnapshot
from umi.stores.sql.write import SqlTransaction
from umi_lab.mutation.planted import Mutation, edited, patched
from umi_lab.mutation.planted_orders import ORDERS
from umi_lab.mutation.planted_reach import REACH
from umi_lab.mutation.planted_sentences import SENTENCES
from umi_lab.mutation.planted_wide import WIDE

SCORES: Final[tuple[Mutation, ...]] = (
    Mutation(
        "length-forgotten",
        "A long message counts a word as much as a short one.",
        "umi._core.ranking.bm25",
        partial(patched, ranking, "BM25_B", 0.0),
    ),
    Mutation(
        "the-one-after-forgotten",
        "The words of the message after are not counted as near.",
        "umi.stores.index.term_counts.count_turns",
        partial(edited, search_index, "count_turns", "own + tf[earlier] + tf[later]", "own + tf[earlier]"),
    ),
    Mutation(
        "latest-of-equals-first",
        "Of two messages with the same score the one that arrived later stands first.",
        "umi._core.ranking._falling",
        partial(edited, ranking, "_falling", "+ 1) + places)", "+ 1) - places)"),
    ),
    Mutation(
        "size-of-everything",
        "A filtered search takes the whole namespace for what it looks through.",
        "umi.stores.index.search_index.NamespaceIndex.among",
        partial(edited, NamespaceIndex, "among", "int(np.count_nonzero(kept & self._alive.rows))", "len(self)"),
    ),
    Mutation(
        "opens-and-closes-exchanged",
        "The first message of a session counts as its last.",
        "umi._core.rerank.second_look",
        partial(
            edited,
            ranking,
            "second_look",
            "around.before == _NONE,\n        around.after == _NONE",
            "around.after == _NONE,\n        around.before == _NONE",
        ),
    ),
    Mutation(
        "wishes-are-facts",
        "What is only wished or supposed stands as high as what is so.",
        "umi._retrieval.statement_scores._Message.gain",
        partial(patched, statement_scores, "_UNREAL", 0.0),
    ),
    Mutation(
        "all-speakers-named",
        "A question that names everybody counts as naming somebody.",
        "umi.stores.index.speakers.Speakers.spoken",
        partial(edited, Speakers, "spoken", "0 < len(named) < speaking", "0 < len(named) <= speaking"),
    ),
    Mutation(
        "list-ends-at-the-cliff-itself",
        "A hit is left out where its score has just not yet fallen off.",
        "umi._core.ranking.falls_off",
        partial(patched, ranking, "CLIFF_SHARE", 0.4),
    ),
    Mutation(
        "never-unsure",
        "A question of which the best score is high is answered though the store seems to hold no answer.",
        "umi._retrieval.snapshot_search.SnapshotSearch._is_enough",
        partial(
            edited,
            SnapshotSearch,
            "_is_enough",
            "if first and ranking.answerable",
            "if not first and ranking.answerable",
        ),
    ),
    Mutation(
        "reasons-exchanged",
        "What is outdated is said to have too low a score.",
        "umi._retrieval.snapshot_search.SnapshotSearch.why_nothing",
        partial(edited, SnapshotSearch, "why_nothing", "if self._hidden_count:", "if self._hidden_count < 0:"),
    ),
    Mutation(
        "the-place-explained-is-another",
        "An explanation tells the parts of the place below.",
        "umi._core.ranking.Ranking.legs",
        partial(edited, ranking.Ranking, "legs", "self.parts[place]", "self.parts[place - 1]"),
    ),
    Mutation(
        "removed-words-still-count",
        "What is deleted goes on counting among the messages that all others are measured by.",
        "umi.stores.index.search_index.NamespaceIndex._unlink",
        partial(edited, NamespaceIndex, "_unlink", "self._total_length -= float(self._lengths.rows[place])", "pass"),
    ),
)

CONTEXTS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "profile-before-answers",
        "Room is given to the profile before what answers the question.",
        "umi._engine.contexts._context",
        partial(
            edited,
            contexts,
            "_context",
            "[*packing.answer_pieces(found.hits if found else ()), *around.pieces]",
            "[*around.pieces, *packing.answer_pieces(found.hits if found else ())]",
        ),
    ),
    Mutation(
        "nothing-behind-the-first-too-long",
        "Where a line finds no room, shorter ones behind it are not tried.",
        "umi._retrieval.context._fill",
        partial(edited, context, "_fill", "if tried < _SINGLE_TRIES_MAX", "if tried < 1"),
    ),
    Mutation(
        "sentences-cut-in-order",
        "Of a message that is too long the first sentences are kept, whatever was asked.",
        "umi._retrieval.context._by_relevance",
        partial(
            edited,
            context,
            "_by_relevance",
            "return -len(shared), not (span[0] < end and start < span[1]), span[0]",
            "return 0, False, span[0]",
        ),
    ),
    Mutation(
        "cut-takes-all-the-room",
        "A message that is cut takes all the room that is left.",
        "umi._retrieval.context._cut",
        partial(patched, context, "_SHARE_OF_CUT", 1),
    ),
    Mutation(
        "cut-not-marked-at-the-end",
        "Where the end of a message was cut off nothing says so.",
        "umi._retrieval.context._shortened",
        partial(edited, context, "_shortened", "if hit.content[before:].strip():", "if not hit.content:"),
    ),
    Mutation(
        "unneeded-profile-untold",
        "What is not shown because nothing answers the question is not told.",
        "umi._engine.contexts._context",
        partial(edited, contexts, "_context", "[*unneeded, *around.outdated]", "[*around.outdated]"),
    ),
    Mutation(
        "stale-is-not-outdated",
        "Of what is left out as outdated what rests on nothing any more is missing.",
        "umi._retrieval.profile._known",
        partial(
            edited,
            profile,
            "_known",
            "if one.state in (HitState.SUPERSEDED, HitState.STALE)",
            "if one.state is HitState.SUPERSEDED",
        ),
    ),
    Mutation(
        "facts-by-time-alone",
        "The facts of a profile stand in order of time, whatever their attribute.",
        "umi._retrieval.profile._order",
        partial(edited, profile, "_order", "fact.attribute, statement_order", "'', statement_order"),
    ),
)

FOLLOWING: Final[tuple[Mutation, ...]] = (
    Mutation(
        "deletions-untold",
        "Who follows a namespace is not told that a message is gone.",
        "umi.stores.sql.write.SqlTransaction._events_at",
        partial(
            edited,
            SqlTransaction,
            "_events_at",
            "enumerate(self._noted)",
            "enumerate(one for one in self._noted if one[0] is not ChangeKind.DELETED)",
        ),
    ),
    Mutation(
        "taken-back-untold",
        "Who follows a namespace is told of a relation when it is recorded, and not when it is taken back.",
        "umi.stores.sql.write.SqlTransaction.put_relation",
        partial(
            edited,
            SqlTransaction,
            "put_relation",
            "self._note(ChangeKind.RELATED, relation.id)",
            "relation.undone_at or self._note(ChangeKind.RELATED, relation.id)",
        ),
    ),
    Mutation(
        "cut-words-untold",
        "Who follows a namespace is not told that a part of a message was deleted.",
        "umi.stores.sql.erase.ErasingTransaction.rewrite_episode",
        partial(edited, ErasingTransaction, "rewrite_episode", "self._note(ChangeKind.REWORDED, episode.id)", "pass"),
    ),
    Mutation(
        "a-write-told-by-halves",
        "Where a page of changes ends within a write, the rest of that write is never told.",
        "umi.stores.sql.read.SqlSnapshot.changes",
        partial(edited, SqlSnapshot, "changes", "if len(found) == limit:", "if not limit:"),
    ),
    Mutation(
        "arrivals-told-backwards",
        "Of the messages of one call the last is told first.",
        "umi.stores.sql.read.SqlSnapshot.changes",
        partial(edited, SqlSnapshot, "changes", "ORDER BY v.sequence, v.place", "ORDER BY v.sequence, v.place DESC"),
    ),
)

IN_TIME: Final[tuple[Mutation, ...]] = (
    Mutation(
        "bare-by-arrival",
        "A message without statements is there from when it arrived, not from when it was said.",
        "umi._evolution.states.StateResolver._show_bare",
        partial(
            edited,
            StateResolver,
            "_show_bare",
            "episode.at > self._view.as_of",
            "episode.recorded_at > self._view.as_of",
        ),
    ),
    Mutation(
        "fact-set-and-undone-by-halves",
        "Who takes a set fact back leaves the links that were made again for it.",
        "umi._evolution.set_facts.is_by_set_fact",
        partial(edited, set_facts, "is_by_set_fact", "Detector.CALLER, Detector.RELINK", "Detector.CALLER"),
    ),
    Mutation(
        "undone-and-still-closed",
        "What a relation closed stays closed when the relation is taken back.",
        "umi._evolution.relation_writer.RelationWriter.undo",
        partial(edited, RelationWriter, "undo", "self._relink(undone)", "pass"),
    ),
    Mutation(
        "what-was-touched-not-sealed",
        "A write leaves the checksums of the rows that it changed as they were.",
        "umi.stores.sql.write.SqlTransaction._seal",
        partial(edited, SqlTransaction, "_seal", "for key in self._touched", "for key in ()"),
    ),
)

LEARNED: Final[tuple[Mutation, ...]] = (
    Mutation(
        "sources-credited-in-full",
        "What a hit was concluded from is credited as much as the hit.",
        "umi._learning.credit.share_of",
        partial(patched, credit, "DERIVED_DECAY", 1.0),
    ),
    Mutation(
        "every-place-alike",
        "What was shown last is credited as much as what was shown first.",
        "umi._learning.credit.share_of",
        partial(edited, credit, "share_of", "1.0 / (1 + share.place)", "1.0"),
    ),
    Mutation(
        "nothing-fades",
        "What was said of a memory long ago weighs as much as what is said today.",
        "umi._learning.credit.age_weight",
        partial(edited, credit, "age_weight", "return math.ldexp(_AGES[days], halves)", "return 1.0"),
    ),
    Mutation(
        "usual-too-soon",
        "A few judgements decide what is usual.",
        "umi._learning.credit._usual",
        partial(patched, credit, "USUAL_STRENGTH", 10.0),
    ),
    Mutation(
        "statements-not-moved",
        "What was learned moves messages, and not what a model read in them.",
        "umi._learning.boosts.Lessons.order_of",
        partial(edited, Lessons, "order_of", "self._factors.get(arrival, 1.0)", "1.0"),
    ),
    Mutation(
        "read-again-and-forgotten",
        "What was learned of a message is lost when it is read again.",
        "umi._remember.apply.ReadingWriter._read_again",
        partial(
            edited,
            ReadingWriter,
            "_read_again",
            "inherit(self._tx, episode.arrival, {old: group[0].id for old, group in carried.heirs.items() if group})",
            "self._tx.learned.forget([episode.arrival])",
        ),
    ),
    Mutation(
        "read-again-and-ends-as-before",
        "What was replaced keeps its end where what replaced it is read again with another beginning.",
        "umi._remember.apply.ReadingWriter._read_again",
        partial(edited, ReadingWriter, "_read_again", "*(row.source_id for row in carried.relations), ", ""),
    ),
    Mutation(
        "reset-and-still-told",
        "What a provider has said is told with the judgements that do not count any more.",
        "umi._learning.crediting.counting_pages",
        partial(edited, status, "counting_pages", "if row.version in counting", "if True"),
    ),
)

REFUSED: Final[tuple[Mutation, ...]] = (
    Mutation(
        "one-more-than-the-limit",
        "A number one past its limit is accepted.",
        "umi._core.validate.count",
        partial(edited, validate, "count", "low <= value <= high", "low <= value <= high + 1"),
    ),
    Mutation(
        "a-refusal-without-its-number",
        "A text that is too long is refused without the limit as a number.",
        "umi._core.validate.text",
        partial(edited, validate, "text", "limit=bytes_max, value=size", "value=size"),
    ),
)

CANCELLED: Final[tuple[Mutation, ...]] = (
    Mutation(
        "given-up-and-left-waiting",
        "What a cancelled call has stored and not read waits until somebody calls maintain.",
        "umi._engine.engine.Engine.may_be_given_up",
        partial(edited, Engine, "may_be_given_up", "self.expect_work()", "pass"),
    ),
    Mutation(
        "deletion-made-again-leaves-bytes",
        "A deletion that a cancelled call has made, made again, leaves its bytes in the file.",
        "umi._engine.erasing._forget",
        partial(edited, erasing, "_forget", "await engine.cleaned()", "pass"),
    ),
)

SMALL: Final[tuple[Mutation, ...]] = (
    *SCORES,
    *CONTEXTS,
    *LEARNED,
    *FOLLOWING,
    *IN_TIME,
    *REFUSED,
    *CANCELLED,
    *SENTENCES,
    *ORDERS,
    *REACH,
    *WIDE,
)
