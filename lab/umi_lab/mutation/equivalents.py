"""Small faults that were read by hand and make no difference that anybody could notice, each with the reason.

A change is named by its file, the function that it lies in, what the code says and what it would say, and how many before it in that
function read the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi_lab.mutation.operators import Key

EQUIVALENT: Final[Mapping[Key, str]] = {
    (
        "_retrieval/snapshot_search.py",
        "SnapshotSearch._statements",
        "standings.read(dict.fromkeys((one.episode.id for one in head)))",
        "(left out)",
        0,
    ): ("what is read ahead is read by the next call otherwise, with the same answer"),
    ("stores/index/quantised_vectors.py", "_Rows.pad", "missing > 0", "missing >= 0", 0): ("no rows more are none"),
    ("stores/sql/read.py", "SqlSnapshot.counts", "0", "1", 2): ("a count always gives a row"),
    ("errors.py", "InvalidInput.__init__", "super().__init__(*args)", "(left out)", 0): (
        "an exception keeps its arguments when it is made"
    ),
    (
        "_reading/short_messages/decode.py",
        "ValueParts.best",
        "max(fitting)[0] < _ROLE",
        "max(fitting)[0] <= _ROLE",
        0,
    ): ("a likelihood of a network is never exactly the bound"),
    ("_reading/grammar/statements.py", "_trim", "break", "continue", 0): (
        "the loop around it cuts what is left; the end differs only where four joining words follow one another"
    ),
    ("_reading/grammar/parsers.py", "clean", "break", "continue", 0): (
        "the loop around it goes on until nothing is left to cut"
    ),
    ("_evolution/states.py", "StateResolver.of", "self._effects.know(entities)", "(left out)", 0): (
        "what the caller has read is read a second time, with the same answer"
    ),
    ("ports/store.py", "(module)", "False", "True", 0): ("the default of a protocol's method, which no call uses"),
    ("ports/store.py", "(module)", "False", "True", 1): ("the default of a protocol's method, which no call uses"),
    ("stores/memory/rows.py", "MemorySnapshot.vectors", "1", "2", 0): (
        "stands for a message that is not there; no place is negative, so none has vectors either way"
    ),
    ("_reading/model/extraction.py", "(module)", "256", "257", 0): (
        "two ways to the same first candidates, of which one is faster when there are many"
    ),
    (
        "_evolution/tracker.py",
        "evolve",
        "writer.effects.load({end: None for p in likely for end in (p.source_id, p.target_id)})",
        "(left out)",
        0,
    ): ("reads ahead what is read one by one otherwise, with the same answer"),
    ("_learning/crediting.py", "_shares", "effects.load(frontier)", "(left out)", 0): (
        "reads ahead what is read one by one otherwise, with the same answer"
    ),
    ("stores/sql/crc.py", "blobs_checksum", "1", "2", 0): (
        "the checksum of what is no blob; no row has a negative one"
    ),
    (
        "_engine/engine.py",
        "Engine.maintain",
        "(waiting := (await self.storage.read(history.waiting_count))) > 0",
        "(waiting := (await self.storage.read(history.waiting_count))) >= 0",
        0,
    ): ("one more pass over work of which there is none"),
    (
        "_core/ranking.py",
        "weigh_evidence",
        "text is not None and len(text_keys)",
        "text is not None or len(text_keys)",
        0,
    ): ("without candidates by words the block adds nothing"),
    ("limits.py", "(module)", "65536", "65537", 0): ("a cache holds one word more, and nothing of what is found"),
    (
        "stores/index/term_counts.py",
        "(module)",
        "_ROUNDED / (2 * _NEIGHBOUR_SHARE)",
        "_ROUNDED * (2 * _NEIGHBOUR_SHARE)",
        0,
    ): ("a bound that excludes turns is lower than it need be, so that more are weighed, with the same choice"),
    (
        "_learning/routing/router.py",
        "TierRouter._tried",
        "_draw(self._options.seed, known.made) >= rate",
        "_draw(self._options.seed, known.made) > rate",
        0,
    ): ("differs only where a drawn real number equals the share to its last bit"),
    ("_evolution/relation_effects.py", "RelationEffects.know_new", "self._keep(entity.id, ())", "(left out)", 0): (
        "relations of new statements are read, of which there are none"
    ),
    (
        "_reading/model/extraction.py",
        "windows",
        "len(text.encode()) <= LLM_WINDOW_BYTES_MAX",
        "len(text.encode()) < LLM_WINDOW_BYTES_MAX",
        0,
    ): ("a text of exactly that size is left whole by the longer way as well"),
    ("_reading/grammar/subjects.py", "_named", "1", "2", 3): (
        "a possession needs a noun and a verb behind it, so that with one token left it is none either way"
    ),
    ("_learning/learner.py", "_credit_recall", "0", "1", 1): ("a place that crediting overwrites before it is stored"),
    ("stores/sql/read.py", "SqlSnapshot.counts", "0", "1", 3): (
        "the counts are one row without a table of their own, so there always is one"
    ),
    ("stores/sqlite/clean.py", "_unused", "0", "1", 0): ("no free block of a page begins within the page's header"),
    ("stores/sql/read.py", "read_head", "0", "1", 5): (
        "of a namespace that is not there, whose index is empty and of sequence 0, which both admit"
    ),
    ("stores/sqlite/store.py", "SqliteStore._try_locked", "0", "1", 0): (
        "a try waits a millisecond for the lock that is asked for again after one, with the same outcome"
    ),
    ("_learning/runs.py", "_row", "0", "1", 0): ("a place that crediting overwrites before it is stored"),
    ("stores/index/search_index.py", "NamespaceIndex.vector_candidates", "0.0", "1.0", 0): (
        "the mean of no cosines, which is weighed by their number, 0"
    ),
    ("_retrieval/history.py", "episodes", "1", "2", 0): (
        "one row more is read, and only whether there are more than asked for is looked at"
    ),
    ("_evolution/states.py", "StateResolver._successors", "self._effects.load(frontier)", "(left out)", 0): (
        "reads ahead what is read one by one otherwise, with the same answer"
    ),
    ("stores/sql/cache.py", "_Portion.__len__", "0", "1", 0): ("all columns are equally long"),
    ("_reading/model/extraction.py", "place", "start >= 0", "start > 0", 0): (
        "what stands at the very beginning is found there by the looser search as well, with the same end"
    ),
    ("_core/ranking.py", "(module)", "0.0", "1.0", 6): (
        "weighs a sign of the words, which is always 0 where only vectors answer"
    ),
    ("_reading/extract.py", "_uncovered", "1", "2", 0): (
        "no run has begun either way, since only whether it is negative is looked at"
    ),
    ("_core/ranking.py", "logistic", "50.0", "51.0", 0): (
        "beyond 50 a probability is 0 or 1 to 21 digits, and no score keeps or compares so many"
    ),
    ("stores/index/search_index.py", "NamespaceIndex.add_documents", "1", "2", 1): (
        "stands for no document before; no key is negative"
    ),
    ("_evolution/states.py", "StateResolver._read_ahead", "self.read(episodes)", "(left out)", 0): (
        "reads ahead what is read place by place otherwise, with the same answer"
    ),
    (
        "_evolution/states.py",
        "StateResolver.of",
        "self._effects.load((entity.id for entity in entities))",
        "(left out)",
        0,
    ): ("reads ahead what is read one by one otherwise, with the same answer"),
    (
        "_learning/crediting.py",
        "write_trajectories",
        "effects.load((id_ for one in seen for _, _, id_, _ in one.shown))",
        "(left out)",
        0,
    ): ("reads ahead what is read one by one otherwise, with the same answer"),
    (
        "_retrieval/snapshot_search.py",
        "SnapshotSearch._with_scores",
        "wanted <= scores.keys()",
        "wanted < scores.keys()",
        0,
    ): ("reads further down, and takes no score of a wanted hit from there"),
    ("_evolution/value_updates.py", "_best", "1.0", "2.0", 1): (
        "differs where at most two messages are known, which are both taken in any order"
    ),
    (
        "_evolution/value_features.py",
        "_same_value",
        "old.amount.number and new.amount.number",
        "old.amount.number or new.amount.number",
        0,
    ): ("a value without a number, or nought, has another key than a number as well"),
    ("_learning/routing/complexity.py", "tier_of", "complexity >= BALANCED_FROM", "complexity > BALANCED_FROM", 0): (
        "a complexity has six digits and is never a third"
    ),
    ("_engine/components.py", "_allowance", "0.0", "1.0", 0): (
        "without a price there is no budget of money, and what is multiplied by it is asked by nobody"
    ),
    ("_learning/learner.py", "Learner._stop_timer", "self._timer.cancel()", "(left out)", 0): (
        "a timer that goes off once more finds nothing to store, or stores it sooner"
    ),
    ("_learning/status.py", "_agreements", "fmean(others) > _EVEN", "fmean(others) >= _EVEN", 0): (
        "what is even was left out one line above"
    ),
    ("_remember/ingest.py", "Ingest._begin", "True", "False", 0): ("there is one list for each message"),
    ("_archive/reader.py", "Reader.require_whole", "1", "2", 1): (
        "only whether anything follows is looked at, not how much"
    ),
    ("_core/ranking.py", "weigh_evidence", "0", "1", 1): (
        "where there is a candidate there is at least one message, and without one nobody asks for the odds"
    ),
    ("_core/ranking.py", "weigh_evidence", "0", "1", 2): (
        "where there is a candidate there is at least one message, and without one nobody asks for the odds"
    ),
    ("stores/index/quantised_vectors.py", "Windows.__init__", "0", "1", 0): (
        "room that the first comparison fills or replaces"
    ),
    ("stores/index/search_index.py", "NamespaceIndex._hits", "True", "False", 0): (
        "the store answers each term that it is asked for"
    ),
    (
        "stores/sql/cache.py",
        "IndexCache._advance",
        "len(portion) >= _PORTION_COUNT",
        "len(portion) > _PORTION_COUNT",
        0,
    ): ("how much is given to an index at once, and nothing of what it holds"),
    ("stores/sql/blocks.py", "StoredRows.windows", "1", "2", 0): ("the width of no rows"),
    ("stores/index/term_counts.py", "Room.take", "0", "1", 0): ("both arrays are equally long"),
    ("stores/index/postings.py", "Postings.add", "True", "False", 0): ("counted terms have one end each"),
    ("stores/index/term_counts.py", "largest", "len(values) <= pool", "len(values) < pool", 0): (
        "the longer way gives all positions as well"
    ),
    ("stores/index/masks.py", "Masks.of", "len(self._masks) > _KEPT_COUNT", "len(self._masks) >= _KEPT_COUNT", 0): (
        "how many filters are kept, and nothing of what is found"
    ),
    (
        "stores/index/term_counts.py",
        "_reached",
        "len(values) <= 4 * _GROUPS_COUNT",
        "len(values) < 4 * _GROUPS_COUNT",
        0,
    ): ("two ways to a lower bound, one of them faster"),
    ("stores/index/term_counts.py", "_reached", "4", "5", 0): ("two ways to a lower bound, one of them faster"),
    ("stores/index/term_counts.py", "_reached", "pool > _GROUPS_COUNT", "pool >= _GROUPS_COUNT", 0): (
        "two ways to a lower bound, one of them faster"
    ),
    ("_reading/grammar/dates.py", "_iso", "0", "1", 0): ("the three parts of such a day are always there"),
    ("_reading/short_messages/decode.py", "_scaled", "likely >= bound", "likely > bound", 0): (
        "differs only where a real number equals the bound to its last bit"
    ),
    ("_reading/short_messages/classifier.py", "_Head.judge", "logits - logits.max()", "logits + logits.max()", 0): (
        "what all logits are shifted by cancels out in the shares"
    ),
    ("_reading/grammar/coreference.py", "Mentions.__init__", "0", "1", 0): (
        "only differences between the numbers of sentences count"
    ),
    ("stores/index/speakers.py", "Speakers.__init__", "0", "1", 0): ("how many messages nobody spoke is never asked"),
    ("stores/index/term_counts.py", "Room.take", "1", "2", 0): ("one more number of working memory than is handed out"),
    ("stores/sql/cache.py", "IndexCache._advance", "not len(entry.index)", "not not len(entry.index)", 0): (
        "only when memory is reserved: columns grow by themselves"
    ),
    ("stores/sql/cache.py", "(module)", "0", "1", 0): (
        "a namespace that is not there has no messages that blocks could hold"
    ),
    (
        "stores/sql/rows.py",
        "quotable",
        "len(text) <= _QUOTED_CHARACTERS_MAX",
        "len(text) < _QUOTED_CHARACTERS_MAX",
        0,
    ): ("a statement reads the same kept or quoted from its message"),
    ("ports/store.py", "(module)", "0", "1", 0): ("every row that Umi makes says its traits"),
    ("stores/memory/rows.py", "MemoryTransaction.remove_vectors", "1", "2", 0): ("no message has either number"),
    ("stores/namespace_view.py", "_by_vector", "True", "False", 0): ("two columns of one answer are equally long"),
    ("_erasure/naming.py", "(module)", "4", "5", 0): (
        "of the characters read on either side only the nearest is looked at"
    ),
}
