"""Small faults that worlds alone let pass and that make a difference, read by hand: in families, each with the world that it asks for.

A fault is named as in `equivalents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi_lab.mutation.operators import Key, Place

FAMILIES: Final[Mapping[str, str]] = {
    "sentences": (
        "more of what people write: times of day, quotations, possessions, names, prices, two clauses in one sentence"
    ),
    "short messages": (
        "casual messages, questions and requests to forget on the edge of what the reader of short messages takes for a fact, with a fact known before"
    ),
    "order of hits": (
        "questions for which the right order of several hits is known, or their scores, or what of them fits in few tokens"
    ),
    "model": (
        "what a model is shown and what it costs: sizes, days and budgets of prompts, a deadline that has passed, older forms of an answer, work that fails twice"
    ),
    "embedder": (
        "an embedder that changes its dimensions, one that has to load first, one that embeds again what was cut, and a bulk import that ends early"
    ),
    "routing": ("tasks routed by the thousand, to one tier only, and a budget with prices"),
    "learning": ("signals of several providers, and of recalls that are deleted later, counted afterwards"),
    "erasure": (
        'the counts of an erasure, its proof over more words than it samples, what it finds by "my sister", what holds once a step between is gone, and reasons of relations searched for in the file'
    ),
    "changes in time": (
        "parts of statements that change, chains as long as their bound, statements read again, questions as of a day between two changes of a chain"
    ),
    "damage": (
        "damaged rows and exports, files of an earlier version or replaced while open, and writes refused half-way, with what the error names"
    ),
    "refusals": ("calls that are refused, with the words of the refusal and its fields, at the border of each limit"),
    "bounds": (
        "more than a log, a cache, a list of candidates or of namespaces holds, and a look at what was let go and at how often something was read or built"
    ),
    "several at once": (
        "namespaces that close while others go on learning, processes that write or delete while a file is opened, read or cleaned, a look at a file that `async with` has left, calls on what is closed"
    ),
    "other ways in": (
        "statements stored by callers, models named by an address, entities and rows made by hand, calls from threads, recalls from a replica, connections to a server"
    ),
}
_MEMBERS: Final[Mapping[str, tuple[Key, ...]]] = {
    "sentences": (
        (
            "_evolution/set_facts.py",
            "reasons",
            "is_set(one) and one.span is not None",
            "is_set(one) or one.span is not None",
            0,
        ),
        ("_reading/amounts.py", "_named", "tokens[last + 1].sort == 'number'", "tokens[last + 1].sort != 'number'", 0),
        ("_reading/amounts.py", "_number", "0.0", "1.0", 1),
        ("_reading/amounts.py", "_number", "place - 1", "place + 1", 1),
        ("_reading/grammar/clauses.py", "asserts", "False", "True", 1),
        ("_reading/grammar/complements.py", "_passive", "after in _AFTER_STATUS", "after not in _AFTER_STATUS", 0),
        ("_reading/grammar/complements.py", "_to_value", "0.85", "1.85", 1),
        (
            "_reading/grammar/predicates.py",
            "_step",
            "verb.past |= low in {'previously', 'formerly', 'once'}",
            "(left out)",
            0,
        ),
        (
            "_reading/grammar/predicates.py",
            "_work_rules",
            "_rule('end', 'works_at', org, 0.9, 'stopped quit finished', 'working (?:at|for|with) ')",
            "(left out)",
            0,
        ),
        ("_reading/grammar/subjects.py", "_item", "end - 1", "end + 1", 0),
        ("_reading/grammar/subjects.py", "_member", "end + 1", "end - 1", 1),
        ("_reading/grammar/values.py", "(module)", "2", "3", 0),
        ("_reading/value_mentions.py", "_of_sentence", "continue", "break", 1),
    ),
    "short messages": (
        ("_evolution/tracker.py", "evolve", "proposals += _forgotten(tx, new)", "(left out)", 0),
        ("_evolution/value_updates.py", "(module)", "0.3", "1.3", 0),
        ("_evolution/value_updates.py", "_best", "1e-06", "1.000001", 0),
        (
            "_reading/short_messages/predict.py",
            "_taken_of",
            "if named and (not meant):",
            "if not (named and (not meant)):",
            0,
        ),
        (
            "_reading/short_messages/spans.py",
            "_names",
            "end - index < _NAME_WORDS_MAX",
            "end - index <= _NAME_WORDS_MAX",
            0,
        ),
    ),
    "order of hits": (
        (
            "_retrieval/answer_order.py",
            "in_order",
            "top.hit is near[0] or _ids(near[0], top.hit) not in not_so",
            "top.hit is near[0] and _ids(near[0], top.hit) not in not_so",
            0,
        ),
        (
            "_retrieval/answer_order.py",
            "passage",
            "span[0] < whole[1] and whole[0] < span[1]",
            "span[0] < whole[1] or whole[0] < span[1]",
            0,
        ),
        (
            "_retrieval/context.py",
            "_cut",
            "used + (measured.tokens_max - used) // _SHARE_OF_CUT",
            "used - (measured.tokens_max - used) // _SHARE_OF_CUT",
            0,
        ),
        ("_retrieval/snapshot_search.py", "SnapshotSearch._rank", "vector is not None", "vector is None", 0),
        ("_retrieval/statement_scores.py", "(module)", "10.0", "11.0", 0),
    ),
    "model": (
        ("_reading/model/contracts.py", "read_relations", "'relations' not in parsed", "'relations' in parsed", 0),
        ("_reading/model/extraction.py", "place", "not wanted", "not not wanted", 0),
        ("_evolution/tracker.py", "EvolutionTracker._by_model", "relation is not None", "relation is None", 0),
        ("_reading/model/calls.py", "Asker._pay_and_call", "self._budget.reserve(about)", "(left out)", 0),
        ("_reading/model/calls.py", "Asker.ask", "asked_before + reask", "asked_before - reask", 0),
        (
            "_reading/model/contracts.py",
            "_mode",
            "value is None or (isinstance(value, str) and (not value.strip()))",
            "value is None and (isinstance(value, str) and (not value.strip()))",
            0,
        ),
        (
            "_reading/model/extraction.py",
            "may_acknowledge",
            "len(words) <= _ACKNOWLEDGING_WORDS_MAX",
            "len(words) < _ACKNOWLEDGING_WORDS_MAX",
            0,
        ),
        ("_reading/model/prompts.py", "_known_line", "False", "True", 0),
        (
            "_reading/model/prompts.py",
            "statement_line",
            "if begins is not None and entity.at is not None and (begins.date() != entity.at.astimezone(begins.tz",
            "if not (begins is not None and entity.at is not None and (begins.date() != entity.at.astimezone(begi",
            0,
        ),
    ),
    "embedder": (
        (
            "stores/index/quantised_vectors.py",
            "Windows.put",
            "self._owner.extend(np.repeat(documents, counts - 1))",
            "(left out)",
            0,
        ),
        ("stores/index/search_index.py", "NamespaceIndex.vector_candidates", "0", "1", 0),
        (
            "_core/guard.py",
            "GuardedEmbedder.prepare",
            "await call_port(lambda error: EmbedderUnavailable(f'the embedder failed: {error!r}'), self._inner.pr",
            "(left out)",
            0,
        ),
        ("_engine/engine.py", "Engine.maintain", "await self._claim_embedder()", "(left out)", 0),
        (
            "_remember/outbox.py",
            "OutboxWorker._vectors_of",
            "found |= {one.id: rows[0] for one, rows in zip(own, windows, strict=True)}",
            "(left out)",
            0,
        ),
        ("_remember/outbox.py", "OutboxWorker.writer", "self.claim(tx)", "(left out)", 0),
        ("stores/index/quantised_vectors.py", "_Rows.pad", "0", "1", 0),
    ),
    "routing": (
        ("_learning/routing/router.py", "TierRouter._accepted", "1.0 - accept", "1.0 + accept", 0),
        ("_learning/routing/classifier.py", "OutcomeClassifier.learn", "self._remember(decision)", "(left out)", 0),
        ("_learning/routing/complexity.py", "read", "(size - 3) / 2", "(size - 3) * 2", 0),
        ("_learning/routing/router.py", "RouteOptions.__post_init__", "0", "1", 0),
        (
            "_learning/routing/router.py",
            "TierRouter._accepted",
            "max(0.0, budget - self._spent) / (_LEAN_FROM * budget)",
            "max(0.0, budget - self._spent) * (_LEAN_FROM * budget)",
            0,
        ),
        ("types/routing_rows.py", "(module)", "False", "True", 2),
    ),
    "learning": (
        (
            "_learning/loader.py",
            "IntelligenceLoader.load_grouped",
            "self._errors.append(SignalFault(name, '', str(error)))",
            "(left out)",
            0,
        ),
        ("_learning/runs.py", "_targets", "near is None", "near is not None", 0),
        ("_learning/status.py", "(module)", "5", "6", 0),
        ("limits.py", "(module)", "150", "151", 1),
        ("stores/memory/learning.py", "MemoryLearned._drop_trajectory", "if left:", "if not left:", 0),
        (
            "stores/memory/learning.py",
            "MemoryLearned.signals_about",
            "row.version in counting and any((share.used or not row.used_only for share in mine))",
            "row.version in counting or any((share.used or not row.used_only for share in mine))",
            0,
        ),
    ),
    "erasure": (
        ("_erasure/leaving.py", "preview_namespace", "snapshot.sequence > 0", "snapshot.sequence >= 0", 0),
        ("_erasure/naming.py", "_possession", "noun if owner else ''", "noun if not owner else ''", 0),
        (
            "_erasure/operations.py",
            "_untaught",
            "{pair for episode in episodes.values() for pair in teachings(episode)} if known else set()",
            "{pair for episode in episodes.values() for pair in teachings(episode)} if not known else set()",
            0,
        ),
        ("_erasure/removal.py", "Removal._join", "if len(decided) < len(rows):", "if not len(decided) < len(rows):", 0),
        ("_erasure/removal.py", "Removal._unteach", "continue", "break", 0),
        (
            "types/receipts.py",
            "ErasureCheck.ok",
            "self.remains or self.said_before or self.pending",
            "self.remains and self.said_before and self.pending",
            0,
        ),
    ),
    "changes in time": (("_evolution/states.py", "(module)", "0", "1", 0),),
    "damage": (
        ("stores/sql/rows.py", "to_change", "4", "5", 0),
        ("stores/sqlite/schema.py", "(module)", "1433233713", "1433233714", 0),
        ("_archive/lines.py", "(module)", "1", "2", 1),
        (
            "stores/sql/rows.py",
            "to_entity",
            "checksum(claim) != crc or validity_checksum(id_, valid_to, invalidated_at) != validity_crc",
            "checksum(claim) != crc and validity_checksum(id_, valid_to, invalidated_at) != validity_crc",
            0,
        ),
        ("stores/sqlite/schema.py", "(module)", "1433233713", "1433233714", 0),
    ),
    "refusals": (
        ("_archive/restore.py", "Restore._take.work", "0", "1", 0),
        ("_core/filters.py", "_bounds", "1", "2", 0),
        (
            "_core/validate.py",
            "detection_options",
            "count(options.max_comparisons, 'max_comparisons', low=1, high=limits.EVOLUTION_EXISTING_ENTITIES_COU",
            "(left out)",
            0,
        ),
        (
            "errors.py",
            "LLMContextOverflow.__init__",
            "super().__init__(f'the prompt of {tokens} tokens is too long for the model')",
            "(left out)",
            0,
        ),
        (
            "errors.py",
            "LLMInvalidResponse.__init__",
            'super().__init__(f"the model\'s answer breaks the contract: {message}")',
            "(left out)",
            0,
        ),
        ("types/erasure_proof.py", "ErasureProof.fault", "(1 << _WEAK_BITS) - 1", "(1 << _WEAK_BITS) + 1", 0),
    ),
    "bounds": (
        ("stores/sql/write.py", "SqlTransaction._log", "not changes", "not not changes", 0),
        (
            "stores/sql/cache.py",
            "IndexCache._advance",
            "touched.isdisjoint(changed) and (not any((first <= key < end for key in touched)))",
            "touched.isdisjoint(changed) or not any((first <= key < end for key in touched))",
            0,
        ),
        ("_learning/learner.py", "Learner.run", "await self._storage.write(runs.prune)", "(left out)", 0),
        ("_retrieval/snapshot_search.py", "SnapshotSearch._looks", "portion * 2", "portion // 2", 0),
        ("stores/index/sign_codes.py", "SignCodes.drop", "self._signs is None", "self._signs is not None", 0),
        ("stores/index/sign_codes.py", "SignCodes.put_signs", "1", "2", 0),
        ("stores/index/term_counts.py", "_heaviest", "total >= enough", "total > enough", 0),
    ),
    "several at once": (
        (
            "_remember/ingest.py",
            "Ingest._repeated",
            "self._recalled_texts.forget((id_ for id_ in ids if id_ not in here))",
            "(left out)",
            0,
        ),
        ("stores/sqlite/store.py", "(module)", "0.02", "1.02", 0),
        ("stores/sqlite/store.py", "SqliteStore.backup", "self._require_open()", "(left out)", 0),
    ),
    "other ways in": (
        ("_core/loop_thread.py", "LoopThread.__init__", "self._thread.start()", "(left out)", 0),
        ("_engine/engine.py", "Engine._found", "stale_s is not None", "stale_s is None", 0),
        (
            "_engine/model_names.py",
            "open_llm",
            "if kind == 'anthropic' and model:",
            "if not (kind == 'anthropic' and model):",
            0,
        ),
        ("_evolution/candidates.py", "alike", "mine is None", "mine is not None", 0),
        ("_evolution/rules.py", "_claims", "one.slot == entity.slot", "one.slot != entity.slot", 1),
        (
            "_evolution/rules.py",
            "_claims",
            "one.slot == entity.slot and one.value == entity.value",
            "one.slot == entity.slot or one.value == entity.value",
            0,
        ),
        (
            "_evolution/tracker.py",
            "EvolutionTracker.find_and_detect",
            "options.max_comparisons + 1",
            "options.max_comparisons - 1",
            0,
        ),
        ("_reading/extract.py", "_uncovered", "0", "1", 5),
        ("_reading/grammar/statements.py", "_Reader._subject", "subject is None", "subject is not None", 0),
        ("limits.py", "(module)", "1024", "1025", 22),
        ("ports/store.py", "(module)", "0", "1", 0),
        ("stores/namespace_view.py", "NamespaceView.get.work", "windows is None", "windows is not None", 0),
        (
            "stores/namespace_view.py",
            "NamespaceView.search",
            "if isinstance(query, str):",
            "if not isinstance(query, str):",
            0,
        ),
        (
            "stores/namespace_view.py",
            "NamespaceView.store_entity.work",
            "entity.recorded_at or now",
            "entity.recorded_at and now",
            0,
        ),
        ("types/learning_rows.py", "(module)", "False", "True", 1),
        ("types/records.py", "(module)", "1", "2", 0),
        ("types/records.py", "(module)", "True", "False", 0),
        ("types/records.py", "(module)", "True", "False", 15),
    ),
}
_FAMILY_OF: Final[Mapping[Key, str]] = {key: name for name, keys in _MEMBERS.items() for key in keys}


def family(place: Place) -> str:
    """The family of a survivor; empty for one that nobody has read."""
    return _FAMILY_OF.get(place.key, "")
