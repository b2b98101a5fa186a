"""Small faults that worlds alone let pass and that make a difference, read by hand: in families, each with the world that it asks for.

A fault is named as in `equivalents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi_lab.mutation.operators import Key, Place

FAMILIES: Final[Mapping[str, str]] = {
    "sentences": (
        "more of what people write: dates with a time, quotations, possessions, names, two clauses in one sentence"
    ),
    "short messages": (
        "casual messages and questions on the edge of what the reader of short messages takes for a fact, with a fact known before"
    ),
    "order of hits": ("questions for which the right order of several hits is known, or their scores"),
    "model": (
        "what a model is shown and what it costs: sizes, days and budgets of prompts, a deadline that has passed, older forms of an answer"
    ),
    "embedder": ("an embedder that changes its dimensions, and a bulk import that ends early"),
    "routing": ("tasks routed by the thousand, and a budget with prices"),
    "learning": ("signals of several providers, and of recalls that are deleted later, counted afterwards"),
    "erasure": (
        "the counts of an erasure, its proof over more words than it samples, and reasons of relations searched for in the file"
    ),
    "changes in time": (
        "parts of statements that change, chains as long as their bound, questions as of a day between two changes of a chain"
    ),
    "damage": ("damaged rows and exports, and files of an earlier version, with what the error names"),
    "refusals": ("calls that are refused, with the words of the refusal and its fields, at the border of each limit"),
    "bounds": (
        "more than a log, a cache or a list of namespaces holds, and a look at what was let go and how often an index was built"
    ),
    "several namespaces": ("namespaces that close while others go on learning"),
    "other ways in": ("statements stored by callers, models named by an address, entities made by hand"),
}
_MEMBERS: Final[Mapping[str, tuple[Key, ...]]] = {
    "sentences": (
        ("_reading/amounts.py", "_of_head", "1", "2", 2),
        ("_reading/extract.py", "(module)", "0.5", "1.5", 0),
        (
            "_reading/extract.py",
            "_uncovered",
            "runs < ENTITIES_PER_MESSAGE_COUNT_MAX // 2 - 1",
            "runs <= ENTITIES_PER_MESSAGE_COUNT_MAX // 2 - 1",
            0,
        ),
        (
            "_reading/grammar/clauses.py",
            "asserts",
            "first in {'have', 'had'} and tokens.at(opening + 1) in VERBS",
            "first in {'have', 'had'} or tokens.at(opening + 1) in VERBS",
            0,
        ),
        (
            "_reading/grammar/complements.py",
            "_passive",
            "state and _has_status(subject, state[0])",
            "state or _has_status(subject, state[0])",
            0,
        ),
        ("_reading/grammar/complements.py", "owner_of", "1", "2", 0),
        (
            "_reading/grammar/complements.py",
            "read_be",
            "subject.kind in {Kind.PRONOUN, Kind.PET}",
            "subject.kind not in {Kind.PRONOUN, Kind.PET}",
            0,
        ),
        ("_reading/grammar/dates.py", "_with_clock", "begin + timedelta(hours=1)", "begin - timedelta(hours=1)", 0),
        ("_reading/grammar/parsers.py", "acquaintance", "1", "2", 1),
        ("_reading/grammar/parsers.py", "iso_of", "1", "2", 1),
        ("_reading/grammar/parsers.py", "role", "0", "1", 1),
        (
            "_reading/grammar/parsers.py",
            "when",
            "begin - 8 <= span.span[0] <= begin + 4 or span.span[0] <= begin < span.span[1]",
            "begin - 8 <= span.span[0] <= begin + 4 and span.span[0] <= begin < span.span[1]",
            0,
        ),
        ("_reading/grammar/slot_matching.py", "read", "not verb.negated", "not not verb.negated", 0),
        ("_reading/grammar/statements.py", "_Reader._statements", "0", "1", 2),
        ("_reading/grammar/subjects.py", "_described", "index + 1", "index - 1", 5),
        ("_reading/grammar/subjects.py", "_first_person", "index + 1", "index - 1", 1),
        ("_reading/grammar/subjects.py", "_possessed", "begin += 1", "(left out)", 0),
        (
            "_reading/grammar/tokens.py",
            "_is_end",
            "len(mark) > 1 or not following.islower()",
            "len(mark) > 1 and (not following.islower())",
            0,
        ),
    ),
    "short messages": (
        (
            "_evolution/value_features.py",
            "_may_be_planned",
            "habit or ('moved' in new.signs and _SCHEDULED & old.weights.keys()) or _SCHEDULED & old.weights.keys",
            "habit and ('moved' in new.signs and _SCHEDULED & old.weights.keys()) and _SCHEDULED & old.weights.ke",
            0,
        ),
        ("_evolution/value_features.py", "features", "'then' in old.signs", "'then' not in old.signs", 0),
        (
            "_reading/extract.py",
            "_adds",
            "if fact.acting < _FIRM <= same[0].confidence and same[0].negated == fact.negated:",
            "if not (fact.acting < _FIRM <= same[0].confidence and same[0].negated == fact.negated):",
            0,
        ),
        (
            "_reading/short_messages/decode.py",
            "_claimed",
            "if told == whose.subject or judged.likely('claim') < judged.bounds.claims:",
            "if not (told == whose.subject or judged.likely('claim') < judged.bounds.claims):",
            0,
        ),
        ("_reading/short_messages/predict.py", "_taken_of", "named and (not meant)", "named or not meant", 0),
        ("_reading/short_messages/question_reader.py", "(module)", "0.6", "1.6", 0),
        ("_reading/short_messages/spans.py", "_begins_name", "False", "True", 1),
        (
            "_reading/short_messages/word_classes.py",
            "_forms",
            "lemma + 'es' if lemma.endswith(('s', 'sh', 'ch', 'x', 'o')) else lemma + 's'",
            "lemma + 'es' if not lemma.endswith(('s', 'sh', 'ch', 'x', 'o')) else lemma + 's'",
            0,
        ),
        (
            "_retrieval/newest_value.py",
            "AskedAmount._counts",
            "amount.unit in _NAMELESS",
            "amount.unit not in _NAMELESS",
            0,
        ),
    ),
    "order of hits": (
        ("_core/ranking.py", "(module)", "0.666", "1.666", 0),
        ("_core/rerank.py", "_best_of_session", "np.maximum.at(best, session, column)", "(left out)", 0),
        (
            "_retrieval/context.py",
            "_cut",
            "measured.tokens(chosen) if chosen else 0",
            "measured.tokens(chosen) if not chosen else 0",
            0,
        ),
        ("_retrieval/question_wording.py", "as_told.own", "0", "1", 0),
        ("_retrieval/slot_lookup.py", "Answer.admits", "if self.admits_all:", "if not self.admits_all:", 0),
        ("_retrieval/slot_lookup.py", "_end_of_month", "1", "2", 2),
        (
            "stores/index/search_index.py",
            "NamespaceIndex.add_documents",
            "self._link_to_sessions(first, sessions)",
            "(left out)",
            0,
        ),
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
        ("_reading/model/contracts.py", "read_relations", "len(new_ids) == 1", "len(new_ids) != 1", 0),
        ("_reading/model/extraction.py", "place", "match is not None", "match is None", 0),
        (
            "_reading/model/prompts.py",
            "statement_line",
            "entity.valid_from.date() != entity.at.date()",
            "entity.valid_from.date() == entity.at.date()",
            0,
        ),
        ("limits.py", "(module)", "200", "201", 3),
    ),
    "embedder": (
        ("_engine/engine.py", "Engine.remember_many", "one.embedding.cancel()", "(left out)", 0),
        (
            "stores/index/search_index.py",
            "NamespaceIndex.vector_candidates",
            "windows.require(int(embedding.shape[0]))",
            "(left out)",
            0,
        ),
    ),
    "routing": (
        ("_learning/routing/complexity.py", "read", "4.5", "5.5", 0),
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
            "stores/sql/learning.py",
            "SqlLearned.forget",
            "self._execute(f'DELETE FROM matches WHERE ns = ? AND trajectory IN {_THESE}', (self._ns, gone))",
            "(left out)",
            0,
        ),
        ("types/learning_rows.py", "(module)", "0.0", "1.0", 0),
    ),
    "erasure": (
        (
            "_erasure/removal.py",
            "Removal._note",
            "self.texts.update(dict.fromkeys((row.reason for row in touching)))",
            "(left out)",
            0,
        ),
        ("_erasure/removal.py", "Removal._reread", "1", "2", 0),
        ("stores/sql/erase.py", "ErasingTransaction.rewrite_episode", "self._touched.add(place.key)", "(left out)", 0),
        ("types/erasure_proof.py", "make_search", "runs_count or len(kept_runs)", "runs_count and len(kept_runs)", 0),
        ("types/erasure_proof.py", "pieces", "len(places) - _RUN + 1", "len(places) - _RUN - 1", 0),
    ),
    "changes in time": (
        ("_evolution/states.py", "(module)", "0", "1", 0),
        ("_evolution/states.py", "StateResolver._successors", "found.update(dict.fromkeys(frontier))", "(left out)", 0),
        ("_evolution/states.py", "_meets_part", "bool(inside) or not rest", "bool(inside) and (not rest)", 0),
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
        ("stores/sql/rows.py", "to_outbox", "0", "1", 0),
        ("stores/sqlite/schema.py", "(module)", "1433233713", "1433233714", 0),
    ),
    "refusals": (
        ("_core/validate.py", "ahead", "expires_at <= now", "expires_at < now", 0),
        ("_engine/erasing.py", "_one_of", "' and '.join(given) or 'none'", "' and '.join(given) and 'none'", 0),
        ("_retrieval/history.py", "_only_statement", "not found", "not not found", 0),
        ("errors.py", "LLMServiceUnavailable.__init__", "super().__init__(message)", "(left out)", 0),
    ),
    "bounds": (
        ("_remember/recalled_text.py", "RecalledByNamespace.of", "self._texts.popitem(last=False)", "(left out)", 0),
        ("stores/sql/cache.py", "IndexCache._keep", "len(self._entries) > 1", "len(self._entries) >= 1", 0),
        ("stores/sql/write.py", "SqlTransaction._log", "not changes", "not not changes", 0),
    ),
    "several namespaces": (("_engine/engine.py", "Engine.finish", "name == self._name", "name != self._name", 1),),
    "other ways in": (
        (
            "_engine/model_names.py",
            "_server",
            "os.environ.get(OTHERS_KEY) or NO_KEY",
            "os.environ.get(OTHERS_KEY) and NO_KEY",
            0,
        ),
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
