"""Small faults that worlds alone let pass and that make a difference, read by hand: in families, each with the world that it asks for.

A fault is named as in `equivalents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi_lab.mutation.operators import Key, Place
from umi_lab.mutation.survivors_reading import READING

FAMILIES: Final[Mapping[str, str]] = {
    "sentences": (
        "more of what people write: times of day, quotations, possessions, names, prices, two clauses in one sentence"
    ),
    "short messages": (
        "casual messages and questions on the edge of what the reader of short messages takes for a fact, with a fact known before"
    ),
    "order of hits": ("questions for which the right order of several hits is known, or their scores"),
    "model": (
        "what a model is shown and what it costs: sizes, days and budgets of prompts, a deadline that has passed, older forms of an answer, work that fails twice"
    ),
    "embedder": (
        "an embedder that changes its dimensions, one that embeds again what was cut, and a bulk import that ends early"
    ),
    "routing": ("tasks routed by the thousand, and a budget with prices"),
    "learning": ("signals of several providers, and of recalls that are deleted later, counted afterwards"),
    "erasure": (
        "the counts of an erasure, its proof over more words than it samples, and reasons of relations searched for in the file"
    ),
    "changes in time": (
        "parts of statements that change, chains as long as their bound, statements read again, questions as of a day between two changes of a chain"
    ),
    "damage": (
        "damaged rows and exports, files of an earlier version or replaced while open, and writes refused half-way, with what the error names"
    ),
    "refusals": ("calls that are refused, with the words of the refusal and its fields, at the border of each limit"),
    "bounds": (
        "more than a log, a cache or a list of namespaces holds, and a look at what was let go and how often an index was built"
    ),
    "several at once": (
        "namespaces that close while others go on learning, processes that write while a file is cleaned, a look at a file that `async with` has left, calls on what is closed"
    ),
    "other ways in": (
        "statements stored by callers, models named by an address, entities and rows made by hand, calls from threads"
    ),
}
_MEMBERS: Final[Mapping[str, tuple[Key, ...]]] = {
    **READING,
    "order of hits": (
        ("_core/ranking.py", "(module)", "0.666", "1.666", 0),
        ("_core/rerank.py", "_at", "places == _NONE", "places != _NONE", 0),
        ("_core/rerank.py", "_best_of_session", "np.maximum.at(best, session, column)", "(left out)", 0),
        ("_core/text.py", "count_words", "2", "3", 0),
        (
            "_reading/value_mentions.py",
            "_names",
            "capital and (not inside) and place and (tokens[place - 1].sort != 'end') and stem(token.low) and (to",
            "capital or not inside or place or (tokens[place - 1].sort != 'end') or stem(token.low) or (token.low",
            0,
        ),
        (
            "_retrieval/context.py",
            "_cut",
            "measured.tokens(chosen) if chosen else 0",
            "measured.tokens(chosen) if not chosen else 0",
            0,
        ),
        ("_retrieval/question_wording.py", "as_told.own", "0", "1", 0),
        ("_retrieval/slot_lookup.py", "_end_of_month", "1", "2", 2),
        ("_retrieval/snapshot_search.py", "SnapshotSearch._feedback", "0", "1", 1),
        (
            "stores/index/search_index.py",
            "NamespaceIndex.add_documents",
            "self._link_to_sessions(first, sessions)",
            "(left out)",
            0,
        ),
        ("stores/index/term_counts.py", "_among", "len(turns) - 1", "len(turns) + 1", 0),
    ),
    "model": (
        (
            "_evolution/candidates.py",
            "alike",
            "mine is None or mine.id != new.episode_id",
            "mine is None and mine.id != new.episode_id",
            0,
        ),
        ("_reading/model/calls.py", "Asker._pay_and_call", "self._budget.settle(about, sent, got)", "(left out)", 0),
        ("_reading/model/calls.py", "Asker._require_patience", "self._left_s(meter)", "(left out)", 0),
        (
            "_reading/model/contracts.py",
            "read_extraction",
            "fields.get('relations') is not None",
            "fields.get('relations') is None",
            0,
        ),
        ("_reading/model/contracts.py", "read_relations", "len(new_ids) == 1", "len(new_ids) != 1", 0),
        ("_reading/model/extraction.py", "place", "match is not None", "match is None", 0),
        (
            "_reading/model/prompts.py",
            "statement_line",
            "entity.valid_from.date() != entity.at.date()",
            "entity.valid_from.date() == entity.at.date()",
            0,
        ),
        (
            "_remember/outbox.py",
            "OutboxWorker._defer",
            "if item.again or not tx.entities_of([episode.id]):",
            "if not (item.again or not tx.entities_of([episode.id])):",
            0,
        ),
        ("limits.py", "(module)", "200", "201", 3),
    ),
    "embedder": (
        (
            "_core/guard.py",
            "GuardedEmbedder._with_retries",
            "self._entropy.uniform() * limits.LLM_BACKOFF_BASE_S",
            "self._entropy.uniform() // limits.LLM_BACKOFF_BASE_S",
            0,
        ),
        ("_engine/engine.py", "Engine.remember_many", "one.embedding.cancel()", "(left out)", 0),
        ("_engine/erasing.py", "_finish", "if taken.redacted:", "if not taken.redacted:", 0),
        (
            "stores/index/search_index.py",
            "NamespaceIndex.vector_candidates",
            "windows.require(int(embedding.shape[0]))",
            "(left out)",
            0,
        ),
    ),
    "routing": (
        (
            "_learning/routing/classifier.py",
            "(module)",
            "PRIOR_AT_EDGE / (1.0 - PRIOR_AT_EDGE)",
            "PRIOR_AT_EDGE * (1.0 - PRIOR_AT_EDGE)",
            0,
        ),
        ("_learning/routing/complexity.py", "read", "4.5", "5.5", 0),
        ("_learning/routing/complexity.py", "read", "5", "6", 0),
        (
            "_learning/routing/knowledge.py",
            "Knowledge.follow",
            "count > ROUTE_DECISIONS_COUNT_MAX + ROUTE_PRUNE_COUNT",
            "count >= ROUTE_DECISIONS_COUNT_MAX + ROUTE_PRUNE_COUNT",
            0,
        ),
        ("_learning/routing/router.py", "TierRouter._accepted", "0.0", "1.0", 1),
    ),
    "learning": (
        ("_learning/runs.py", "_embedded", "0", "1", 0),
        (
            "_learning/status.py",
            "_agreements",
            "counts.setdefault(name, []).append((mine > _EVEN) == (fmean(others) > _EVEN))",
            "(left out)",
            0,
        ),
        (
            "stores/memory/learning.py",
            "MemoryLearned._keep",
            "self._log.put(rows.of_arrival.setdefault(share.arrival, {}), kept.id, None)",
            "(left out)",
            0,
        ),
        (
            "stores/sql/learning.py",
            "SqlLearned.forget",
            "self._execute(f'DELETE FROM matches WHERE ns = ? AND trajectory IN {_THESE}', (self._ns, gone))",
            "(left out)",
            0,
        ),
        ("types/learning_rows.py", "(module)", "0.0", "1.0", 0),
    ),
    "erasure": (
        ("_erasure/cutting.py", "_is_said", "True", "False", 0),
        (
            "_erasure/operations.py",
            "unsaid",
            "alone += [stem for word in alone for stem in stems[word]]",
            "(left out)",
            0,
        ),
        ("_erasure/operations.py", "unsaid", "if terms:", "if not terms:", 0),
        (
            "_erasure/removal.py",
            "Removal._note",
            "self.texts.update(dict.fromkeys((row.reason for row in touching)))",
            "(left out)",
            0,
        ),
        ("_erasure/removal.py", "Removal._reread", "1", "2", 0),
        ("stores/sql/erase.py", "ErasingTransaction.rewrite_episode", "self._touched.add(place.key)", "(left out)", 0),
        ("types/erasure_proof.py", "Sample.all_kept", "self._below == _NO_BOUND", "self._below != _NO_BOUND", 0),
        ("types/erasure_proof.py", "make_search", "runs_count or len(kept_runs)", "runs_count and len(kept_runs)", 0),
        ("types/erasure_proof.py", "pieces", "len(places) - _RUN + 1", "len(places) - _RUN - 1", 0),
    ),
    "changes in time": (
        ("_evolution/states.py", "(module)", "0", "1", 0),
        ("_evolution/states.py", "StateResolver._successors", "found.update(dict.fromkeys(frontier))", "(left out)", 0),
        ("_evolution/states.py", "_meets_part", "bool(inside) or not rest", "bool(inside) and (not rest)", 0),
        (
            "_evolution/tracker.py",
            "evolve",
            "p.evolution_type is EvolutionType.UPDATE",
            "p.evolution_type is not EvolutionType.UPDATE",
            1,
        ),
        ("_remember/apply.py", "ReadingWriter._close_twins", "over <= begun", "over < begun", 0),
        (
            "_remember/apply.py",
            "ReadingWriter._read_again",
            "self._tx.replace_entities(episode.id, {})",
            "(left out)",
            0,
        ),
        ("_retrieval/changes.py", "value_before", "1", "2", 0),
    ),
    "damage": (
        (
            "_archive/lines.py",
            "_whole",
            "not isinstance(value, int) or isinstance(value, bool) or value < 0",
            "not isinstance(value, int) and isinstance(value, bool) and (value < 0)",
            0,
        ),
        (
            "stores/memory/rows.py",
            "MemoryTransaction._put",
            "self._undo.append(partial(table.pop, key))",
            "(left out)",
            0,
        ),
        ("stores/sql/rows.py", "to_outbox", "0", "1", 0),
        ("stores/sqlite/schema.py", "(module)", "1433233713", "1433233714", 0),
        (
            "stores/sqlite/store.py",
            "SqliteStore._illegible",
            "self._connection is not None",
            "self._connection is None",
            0,
        ),
        ("stores/sqlite/store.py", "SqliteStore._require_same_file", "self._vfs is not None", "self._vfs is None", 0),
    ),
    "refusals": (
        (
            "_core/filters.py",
            "_types",
            "not isinstance(one, str) or one not in known",
            "not isinstance(one, str) and one not in known",
            0,
        ),
        ("_core/validate.py", "ahead", "expires_at <= now", "expires_at < now", 0),
        (
            "_engine/contexts.py",
            "_checked.checked",
            "if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:",
            "if not (isinstance(counted, bool) or not isinstance(counted, int) or counted < 0):",
            0,
        ),
        ("_engine/erasing.py", "_one_of", "' and '.join(given) or 'none'", "' and '.join(given) and 'none'", 0),
        ("_remember/admission.py", "admit", "_require_sources(tx, options.derived_from)", "(left out)", 0),
        ("_retrieval/history.py", "_only_statement", "not found", "not not found", 0),
        ("errors.py", "LLMServiceUnavailable.__init__", "super().__init__(message)", "(left out)", 0),
        ("errors.py", "LLMTimeout.__init__", "super().__init__(message)", "(left out)", 0),
    ),
    "bounds": (
        ("_remember/recalled_text.py", "RecalledByNamespace.of", "self._texts.popitem(last=False)", "(left out)", 0),
        ("limits.py", "(module)", "1.0", "2.0", 0),
        ("stores/sql/cache.py", "IndexCache.__contains__", "ns in self._entries", "ns not in self._entries", 0),
        ("stores/sql/cache.py", "IndexCache._keep", "len(self._entries) > 1", "len(self._entries) >= 1", 0),
        (
            "stores/sql/cache.py",
            "IndexCache.current",
            "if self._advance(entry, execute, head, touched):",
            "if not self._advance(entry, execute, head, touched):",
            0,
        ),
        ("stores/sql/write.py", "SqlTransaction._log", "not changes", "not not changes", 0),
    ),
    "several at once": (
        ("_engine/engine.py", "Engine.finish", "name == self._name", "name != self._name", 1),
        ("memory.py", "Memory.__aexit__", "await self.close()", "(left out)", 0),
        ("stores/sql/store.py", "SqlStore._run", "self._require_open()", "(left out)", 0),
        (
            "stores/sqlite/store.py",
            "SqliteStore._try_clean",
            "self._db.set_busy_timeout(self._busy_timeout_ms)",
            "(left out)",
            0,
        ),
    ),
    "other ways in": (
        (
            "_core/loop_thread.py",
            "LoopThread.each",
            "isinstance(work, AsyncGenerator) and (not self.stopped)",
            "isinstance(work, AsyncGenerator) or not self.stopped",
            0,
        ),
        ("_engine/files.py", "_sink", "part.replace(path)", "(left out)", 0),
        (
            "_engine/model_names.py",
            "_server",
            "os.environ.get(OTHERS_KEY) or NO_KEY",
            "os.environ.get(OTHERS_KEY) and NO_KEY",
            0,
        ),
        ("ports/store.py", "(module)", "0", "1", 0),
        ("stores/namespace_view.py", "NamespaceView.delete.work", "episode_id is not None", "episode_id is None", 0),
        (
            "stores/namespace_view.py",
            "NamespaceView.store_entity.work",
            "entity.valid_from or said",
            "entity.valid_from and said",
            0,
        ),
        ("types/records.py", "(module)", "1", "2", 0),
    ),
}
_FAMILY_OF: Final[Mapping[Key, str]] = {key: name for name, keys in _MEMBERS.items() for key in keys}


def family(place: Place) -> str:
    """The family of a survivor; empty for one that nobody has read."""
    return _FAMILY_OF.get(place.key, "")
