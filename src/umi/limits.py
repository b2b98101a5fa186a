"""Every limit, with its unit in its name. A value at the limit is accepted, one past it is refused."""

from __future__ import annotations

from typing import Final

# What a caller may hand in.
TEXT_BYTES_MAX: Final = 1_000_000
QUERY_BYTES_MAX: Final = 10_000
NAME_BYTES_MAX: Final = 256  # namespace, speaker, session, role, message id, idempotency key, subject
REASON_BYTES_MAX: Final = 1_024
FACT_VALUE_BYTES_MAX: Final = 4_096  # the value of `set_fact`
URL_BYTES_MAX: Final = 4_096  # the address of a store or of its replica
METADATA_BYTES_MAX: Final = 64 * 1024  # as compact JSON
METADATA_LEVELS_COUNT_MAX: Final = 64  # lists and objects inside each other
RECALL_LIMIT_DEFAULT: Final = 10
RECALL_LIMIT_MAX: Final = 1_000
LIST_LIMIT_DEFAULT: Final = 100
LIST_LIMIT_MAX: Final = 10_000
REMEMBER_MESSAGES_COUNT_MAX: Final = 1_000  # in one atomic remember; remember_many has no bound
DERIVED_FROM_COUNT_MAX: Final = 100
CONTEXT_TOKENS_MAX: Final = 1_000_000
RECALL_NAMESPACES_COUNT_MAX: Final = 16  # that one recall searches
WHERE_CONDITIONS_COUNT_MAX: Final = 32
WHERE_VALUES_COUNT_MAX: Final = 1_000  # in one "in" of `where=`
# A longer text is a label by its beginning, which is one character longer than any text that it can be compared with.
LABEL_CHARACTERS_MAX: Final = NAME_BYTES_MAX + 1
CONTEXT_TOKEN_BYTES: Final = 4  # of text that `max_tokens` counts as one token
CONTEXT_ANSWERS_COUNT_MAX: Final = 20  # hits on the question that `context` may show
CONTEXT_CHANGES_COUNT_MAX: Final = 10  # changes that it may show, the newest
CONTEXT_CHANGES_LOOKED_AT_COUNT: Final = 200  # statements that arrived last, looked through for changes
CONTEXT_CHANGES_DAYS_MAX: Final = 30  # before the newest statement; an older change is not lately
CONTEXT_LEFT_OUT_COUNT_MAX: Final = 100  # things left out that its receipt lists; more are counted
CONTEXT_SPEAKERS_LOOKED_AT_COUNT: Final = 100  # first statements, looked through for who speaks as "user"
ECHO_LINES_COUNT_MAX: Final = 10_000  # lines that recall handed out and that are not remembered again, of a namespace
ECHO_NAMESPACES_COUNT_MAX: Final = 1_024  # whose lines are kept, the last that were used

# Erasure.
ERASURE_DIGESTS_COUNT_MAX: Final = 4_096  # words in a proof, and as many runs of words; of more, a sample
ERASURE_PIECES_COUNT_MAX: Final = (
    262_144  # words, and runs, sought in bytes that no row uses; with more, any byte counts
)
EXPIRED_BATCH_COUNT: Final = 500  # messages deleted in one transaction when they have expired
ERASURE_SHOWN_COUNT_MAX: Final = 100  # messages in the preview of a namespace, and that a preview lists as left

SEQUENCE_COUNT_MAX: Final = 1 << 62
CHANGES_PAGE_COUNT: Final = 1_000  # that `changes` reads at once
ACTIVITY_DAYS_DEFAULT: Final = 30  # that `activity` counts, the last is today
ACTIVITY_DAYS_MAX: Final = 3_660
HISTORY_PARTS_COUNT_DEFAULT: Final = 100  # of equal length, in which `history_counts` counts
HISTORY_PARTS_COUNT_MAX: Final = 1_000
CHANGES_POLL_S: Final = 0.25  # between two looks for more, while it follows

# Bulk work.
BULK_BATCH_COUNT: Final = 128  # messages per transaction pair in remember_many
IMPORT_RECORD_BYTES_MAX: Final = 64 * 1024 * 1024  # one line, or one conversation of a JSON file, read at once
RESTORE_BATCH_COUNT: Final = 512  # lines of an export per transaction
RESTORE_BATCH_BYTES_MAX: Final = 4 * 1024 * 1024  # and no more than this once the last of them is read
EMBED_BATCH_COUNT_MAX: Final = 32  # texts per run of the local model
EMBED_BATCH_TOKENS_MAX: Final = 4_096  # tokens per run
EMBED_DIMENSIONS_MAX: Final = 8_192
EMBED_WINDOW_BYTES_MAX: Final = 1_500  # of a text per vector of a served model: the smallest of them read 512 tokens
EMBED_REQUEST_TEXTS_COUNT_MAX: Final = 64  # windows in one request to a server
EMBED_QUERY_TIMEOUT_S: Final = 5.0  # of a question to a server of embeddings; a recall goes on by words after that
EMBED_KEPT_COUNT_MAX: Final = 256  # vectors of questions that are asked again
EMBED_RETRIES_COUNT_MAX: Final = 2  # of a batch, after a busy or unreachable server

# Evolution (seeds 000 and 001).
EVOLUTION_EXISTING_ENTITIES_COUNT_MAX: Final = 10
EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT: Final = 0.3
EVOLUTION_SUPERSEDE_CONFIDENCE_MIN: Final = 0.6
EVOLUTION_UNSURE_COUNT_MAX: Final = (
    20  # relations of a new statement that do not act; of more the surest, then the newest
)
CANDIDATES_PER_SLOT_COUNT_MAX: Final = 1_000  # statements about one subject's slot read in a write
RETROACTIVE_MESSAGES_COUNT_MAX: Final = 30  # read again when a change names what was never read as a statement

# The same told again with another value.
RETOLD_CHARACTERS_MAX: Final = 4_000  # of a message, read for values
RETOLD_SENTENCE_CHARACTERS_MAX: Final = 400
RETOLD_TELLINGS_COUNT_MAX: Final = 16  # of one message
RETOLD_TERMS_COUNT_MAX: Final = 24  # of one message, looked up
RETOLD_MESSAGES_COUNT_MAX: Final = 8  # that share most with it, read again

# Reading without a model.
ENTITIES_PER_MESSAGE_COUNT_MAX: Final = 200  # what is beyond shares the last note
SENTENCE_CHARACTERS_MAX: Final = 2_000  # a longer sentence is a note: nobody speaks like that, and it bounds the work
SHORT_MESSAGE_CHARACTERS_MAX: Final = 320  # a longer message is read clause by clause only
SHORT_MESSAGE_SENTENCES_COUNT_MAX: Final = 4
READ_AT_ONCE_CHARACTERS_MAX: Final = 32_000  # a longer message is stored before it is embedded and read

# Retrieval (seed 004).
RRF_K: Final = 60
QUERY_VARIATIONS_COUNT_MAX: Final = 5
CANDIDATE_POOL_COUNT: Final = 400
ANSWER_PLACES_COUNT_MAX: Final = 50  # of a ranking, read for what bears on a fact that is asked for
TEXT_POOL_COUNT: Final = 1_000  # turns that share words with a query, of which statistics are read
STATEMENT_CANDIDATES_COUNT: Final = 24  # of a query, looked at by what a model read in them
ANSWER_READER_THREADS_COUNT_MAX: Final = 4  # that read the first hits of one recall
ANSWER_READER_HITS_COUNT: Final = 4  # first hits of a recall that the answer reader looks at
ANSWER_READER_SCORE_RATIO_MIN: Final = 0.15  # score of the first hit below which nothing is read: what is below it rarely answers, and reading takes as long as the rest of a recall
KNOWN_SPEAKERS_COUNT_MAX: Final = (
    1_024  # names in questions of which a namespace notes whether somebody of that name speaks in it
)
SUCCESSORS_STEPS_COUNT_MAX: Final = 64  # from an outdated statement that matches to what took its place
REFINED_CANDIDATES_COUNT: Final = 150  # of a query, looked at a second time
TERM_CHARS_MAX: Final = 64  # a longer "word" is indexed by its beginning
STEM_CACHE_WORDS_COUNT_MAX: Final = 65_536

# Models (seed 002).
LLM_PROMPT_BYTES_MAX: Final = 100_000
LLM_RESPONSE_BYTES_MAX: Final = 50_000
LLM_LATENCY_MS_MIN: Final = 50  # of a simulated answer
LLM_LATENCY_MS_MAX: Final = 2_000
LLM_LATENCY_MS_DEFAULT: Final = 100
LLM_WINDOW_BYTES_MAX: Final = 24_000  # text per extraction call
LLM_CALL_TIMEOUT_S: Final = 20.0
LLM_CONCURRENT_CALLS_COUNT_MAX: Final = 8  # to one model at once, from one Memory
LLM_ANSWER_TOKENS_MAX: Final = 8_192  # asked of a server, thoughts included, so that a babbling model comes to an end
LLM_RETRIES_COUNT_MAX: Final = 2  # after a timeout, a rate limit or an unreachable service
LLM_REASKS_COUNT_MAX: Final = 1  # after an answer that breaks the contract
LLM_BACKOFF_BASE_S: Final = 0.5
LLM_BACKOFF_MAX_S: Final = 8.0
LLM_BREAKER_FAILURES_COUNT: Final = 5  # in a row, before the model is left to rest
LLM_BREAKER_REST_S: Final = 30.0
LLM_ENTITIES_COUNT_MAX: Final = 100  # taken from one answer
LLM_SUBJECTS_COUNT_MAX: Final = 16  # further ones of one statement
LLM_RELATIONS_COUNT_MAX: Final = 200
LLM_EVOLVE_ENTITIES_COUNT_MAX: Final = 100  # new statements in one evolution call
LLM_MEMORY_CHARACTERS_MAX: Final = 200  # of one statement in a prompt
LLM_CANDIDATES_BYTES: Final = 2_400  # of existing statements in an evolution prompt for one new statement
LLM_CANDIDATES_MORE_BYTES: Final = 600  # for each further one
LLM_BEFORE_COUNT_MAX: Final = 3  # messages before the one that is read, given as context
LLM_BEFORE_CHARACTERS_MAX: Final = 200  # of each of them
LLM_KNOWN_COUNT_MAX: Final = 8  # statements that an extraction prompt shows as known
LLM_KNOWN_CHARACTERS_MAX: Final = 100  # of each of them
LLM_EVOLVE_ROUNDS_COUNT_MAX: Final = 3  # detections before a moving target is deferred

# Store.
STORE_BUSY_TIMEOUT_MS: Final = 10_000
STORE_STATEMENT_MS_MAX: Final = (
    300_000  # of PostgreSQL: a statement that takes longer is cancelled, and a transaction that idles as long
)
STORE_CONNECTIONS_COUNT_MAX: Final = 4  # of one open store to PostgreSQL; each serves its share of the namespaces
STORE_CACHE_BYTES_DEFAULT: Final = 512 * 1024 * 1024
STORE_INDEXES_COUNT_MAX: Final = (
    4_096  # search indexes kept by one open store; the least recently used are built again when asked for
)
CATCH_UP_COUNT: Final = 4_096  # episodes that a search index takes in before others get their turn
CATCH_UP_PAUSE_S: Final = 1.0  # after a recall: a search index that was brought up to date then can lack little
CHANGE_LOG_SEQUENCES_COUNT_MAX: Final = 65_536  # a search index older than this is rebuilt, not followed
DEADLINE_S_DEFAULT: Final = 30.0
OUTBOX_ATTEMPTS_COUNT_MAX: Final = 8
OUTBOX_DRAIN_COUNT: Final = 16  # waiting texts that one remember finishes on the side
OUTBOX_WAITING_COUNT_MAX: Final = 10_000  # texts that may wait to be read before `read="later"` reads some itself
WORK_PAUSE_S: Final = 0.5  # of a worker that found nothing to do
REREAD_CHANGES_COUNT_MAX: Final = 1_000  # changes that a receipt of `reread` lists; more are counted
EMBED_DEADLINE_S: Final = (
    30.0  # of a short batch of texts, retries included, and of a question to an embedder that the caller made
)

# Large namespaces (ADR 26). Another STORE_BLOCK_COUNT needs a step of the schema that deletes all blocks.
STORE_BLOCKS_FROM_COUNT: Final = 32_768  # messages from which on a namespace has blocks
STORE_BLOCK_COUNT: Final = 4_096  # messages of a block
STORE_BLOCKS_SEALED_COUNT: Final = 2  # by one write, at most
INDEX_MESSAGE_BYTES: Final = 1_200  # of a message in a search index that keeps everything in RAM, about
TEXT_POOL_LARGE_COUNT: Final = 500  # `TEXT_POOL_COUNT` of an index that reads vectors from the database
SIGNS_ALIKE_COUNT: Final = 8_192  # messages with the most signs alike, of which the nearest are looked for
SIGNS_COMPARED_COUNT: Final = 1_000  # of these, whose vectors are read and compared exactly
SAMPLED_COUNT_MAX: Final = 16_384  # messages whose vectors are kept whole beside the signs

# Learning from outcomes (seed 003).
SIGNAL_FILE_BYTES_MAX: Final = 10 * 1024 * 1024
SIGNALS_PER_PROVIDER_COUNT_MAX: Final = 10_000  # in one load
SIGNAL_DESCRIPTION_BYTES_MAX: Final = 16 * 1024
SIGNAL_FAULTS_COUNT_MAX: Final = (
    1_000  # records set aside by one load that are told with their reason; more are counted
)
PROVIDERS_COUNT_MAX: Final = 64  # in one loader
TRAJECTORY_SHOWN_COUNT_MAX: Final = 20  # hits of one recall that can be credited, from the first on
TRAJECTORY_SOURCES_COUNT_MAX: Final = 16  # of one hit, along derive edges
TRAJECTORIES_IN_RAM_COUNT_MAX: Final = 1_024  # a ring: what is not written by then is lost, and only credit with it
TRAJECTORIES_FLUSH_COUNT: Final = 64  # recalls per batch written
TRAJECTORIES_FLUSH_S: Final = 1.0  # a smaller batch is written then, so that other processes find it
TRAJECTORIES_UNCREDITED_COUNT_MAX: Final = 100_000  # of a namespace; older ones that no signal named go
TASK_TRAJECTORIES_COUNT_MAX: Final = 16  # recalls of one task that share a signal, the newest
TEXT_MATCH_TRAJECTORIES_COUNT_MAX: Final = 4_096  # the newest, looked through for a signal without an id
LEARN_SIGNALS_SHOWN_COUNT: Final = 5  # behind a lesson, the newest
LEARN_BATCH_COUNT: Final = 1_000  # signals per transaction of a run
LEARN_EVIDENCE_COUNT_MAX: Final = 16.0  # of one provider about one memory, in signals of today
LEARN_EVIDENCE_ALONE_COUNT_MAX: Final = 4.0  # where several providers are known and the others say nothing
LEARN_HALF_LIFE_DAYS: Final = 90  # of a signal
LEARN_WEIGHT_RATIO_MAX: Final = 1_000_000  # of a group of quality factors; sums of greater ones leave a float's range
LEARN_RERANKED_COUNT_MAX: Final = 150  # candidates that learning may move

# Routing tasks to models.
ROUTE_TEXT_CHARACTERS_MAX: Final = 20_000  # of a task, read for its complexity; of a longer one both ends
ROUTE_BIAS_RATIO_MAX: Final = 0.25  # by which feedback corrects a complexity
ROUTE_DECISIONS_COUNT_MAX: Final = 20_000  # of a namespace; the oldest go, and what they taught
ROUTE_PRUNE_COUNT: Final = 1_000  # beyond that before they do, together
ROUTE_NEIGHBOURS_COUNT: Final = 64  # judged tasks like a new one that are looked at
ROUTE_EXPLORE_RATIO_MAX: Final = 0.1  # of all decisions may try another tier than the best

# Simulation.
SIM_VIRTUAL_S_MAX: Final = 366 * 24 * 3600.0  # of one run
SIM_STEPS_COUNT_MAX: Final = 10_000_000  # callbacks of one run

# Server.
SERVER_BODY_BYTES_MAX: Final = 8 * 1024 * 1024  # of a request; an import may be longer
SERVER_ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024  # about, of a list, recall or preview: these end earlier and say so
SERVER_HEADER_BYTES_MAX: Final = 32 * 1024  # of the request line and headers together
SERVER_IMPORT_BYTES_MAX: Final = 8 * 1024 * 1024 * 1024  # of one export that is brought back
SERVER_HEAD_S: Final = 15.0  # for the request line and headers to come
SERVER_IDLE_S: Final = 75  # between two requests of a connection; proxies keep theirs for up to 60
SERVER_PAUSE_S: Final = 30.0  # between two parts of an upload
SERVER_CONNECTIONS_COUNT_MAX: Final = 1_024  # open at once
SERVER_DEADLINE_S: Final = 60.0  # of one request, streams excepted
SERVER_REQUESTS_PER_S_DEFAULT: Final = 200.0  # by one key; twice as many at once
SERVER_KEY_DAYS_MAX: Final = 36_500  # until a key ends, where it does
SERVER_STREAMS_COUNT_MAX: Final = 128  # of changes at once
SERVER_HEARTBEAT_S: Final = 15.0  # between signs of life in a stream where nothing happens
SERVER_STOP_S: Final = 30.0  # to finish requests under way after SIGTERM
SERVER_NAMESPACES_COUNT_MAX: Final = 1_024  # kept ready; of more, the least recently used go
SERVER_REQUESTS_COUNT_MAX: Final = 256  # under way at once; more are told to come again
JWT_BYTES_MAX: Final = 16 * 1024  # of a JSON Web Token that a client sends
JWT_LEEWAY_S: Final = 30.0  # by which the issuer's clock may differ
JWT_GRANTS_COUNT_MAX: Final = 256  # in the claims of one token
JWKS_BYTES_MAX: Final = 256 * 1024  # of a key set
JWKS_KEYS_COUNT_MAX: Final = 100  # in one key set
JWKS_FETCH_S: Final = 5.0  # for a key set to come
JWKS_FETCH_INTERVAL_S: Final = 10.0  # at least, between two fetches of a key set
JWKS_REFRESH_S: Final = 600.0  # after which a key set is fetched again, in the background
JWKS_AGE_S_MAX: Final = 3_600.0  # of a key set that is still used while a new one cannot be fetched
MEM0_PAGE_COUNT_MAX: Final = 1_000  # memories on one page of mem0's API
MEM0_SCAN_COUNT_MAX: Final = 100_000  # messages of one owner that a listing of it goes through
MEM0_FILTER_LEVELS_COUNT_MAX: Final = 8  # of AND, OR and NOT within each other
MCP_ANSWER_TOKENS_DEFAULT: Final = 2_000  # of what a tool answers, four bytes each
MCP_ANSWER_TOKENS_MIN: Final = 400
MCP_ANSWER_TOKENS_MAX: Final = 20_000
