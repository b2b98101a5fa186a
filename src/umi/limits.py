"""Every limit, with its unit in its name. A value at the limit is accepted, one past it is refused."""

from __future__ import annotations

from typing import Final

from umi.invariants import check

# What a caller may hand in.
TEXT_BYTES_MAX: Final = 1_000_000
QUERY_BYTES_MAX: Final = 10_000
NAME_BYTES_MAX: Final = 256  # namespace, speaker, session, role, message id, idempotency key, subject
REASON_BYTES_MAX: Final = 1_024
METADATA_BYTES_MAX: Final = 64 * 1024  # as compact JSON
RECALL_LIMIT_DEFAULT: Final = 10
RECALL_LIMIT_MAX: Final = 1_000
LIST_LIMIT_DEFAULT: Final = 100
LIST_LIMIT_MAX: Final = 10_000
REMEMBER_MESSAGES_COUNT_MAX: Final = 1_000  # in one atomic remember; remember_many has no bound
DERIVED_FROM_COUNT_MAX: Final = 100
CONTEXT_TOKENS_MAX: Final = 1_000_000
ECHO_LINES_COUNT_MAX: Final = 10_000  # lines that recall handed out and that are not remembered again

# Bulk work.
BULK_BATCH_COUNT: Final = 128  # messages per transaction pair in remember_many
IMPORT_RECORD_BYTES_MAX: Final = 64 * 1024 * 1024  # one line, or one conversation of a JSON file, read at once
EMBED_BATCH_COUNT_MAX: Final = 32  # texts per run of the local model
EMBED_BATCH_TOKENS_MAX: Final = 4_096  # padded tokens per run: bounds its memory to about 100 MB
EMBED_DIMENSIONS_MAX: Final = 8_192

# Evolution (seeds 000 and 001).
EVOLUTION_EXISTING_ENTITIES_COUNT_MAX: Final = 10
EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT: Final = 0.3
EVOLUTION_SUPERSEDE_CONFIDENCE_MIN: Final = 0.6
CANDIDATES_PER_SLOT_COUNT_MAX: Final = 1_000  # statements about one subject's slot read in a write

# Retrieval (seed 004).
RRF_K: Final = 60
QUERY_VARIATIONS_COUNT_MAX: Final = 5
CANDIDATE_POOL_COUNT: Final = 400
TERM_CHARS_MAX: Final = 64  # a longer "word" is indexed by its beginning
STEM_CACHE_WORDS_COUNT_MAX: Final = 65_536

# Store.
STORE_BUSY_TIMEOUT_MS: Final = 10_000
STORE_CACHE_BYTES_DEFAULT: Final = 512 * 1024 * 1024
CHANGE_LOG_SEQUENCES_COUNT_MAX: Final = 65_536  # a search index older than this is rebuilt, not followed
DEADLINE_S_DEFAULT: Final = 30.0
OUTBOX_ATTEMPTS_COUNT_MAX: Final = 8
OUTBOX_DRAIN_COUNT: Final = 16  # deferred items that one remember finishes on the side

check(QUERY_BYTES_MAX <= TEXT_BYTES_MAX, "a query is a text")
check(REASON_BYTES_MAX >= NAME_BYTES_MAX, "a reason can quote a name")
check(RECALL_LIMIT_DEFAULT <= RECALL_LIMIT_MAX <= LIST_LIMIT_MAX, "recall returns no more than list may")
check(CANDIDATE_POOL_COUNT >= 10 * RECALL_LIMIT_DEFAULT, "the pool leaves room for hidden hits")
check(
    0 < EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT < EVOLUTION_SUPERSEDE_CONFIDENCE_MIN < 1, "flagged lies below acted on"
)
check(BULK_BATCH_COUNT <= REMEMBER_MESSAGES_COUNT_MAX, "a bulk batch is a legal remember")
