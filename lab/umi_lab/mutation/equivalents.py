"""Small faults that were read by hand and make no difference that anybody could notice, each with the reason.

A change is named by its file, the function that it lies in, what the code says and what it would say, and how many before it in that
function read the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi_lab.mutation.operators import Key

EQUIVALENT: Final[Mapping[Key, str]] = {
    ("_reading/grammar/statements.py", "_trim", "break", "continue", 0): (
        "the loop around it cuts what is left; the end differs only where four joining words follow one another"
    ),
    ("_reading/grammar/parsers.py", "clean", "break", "continue", 0): (
        "the loop around it goes on until nothing is left to cut"
    ),
    ("_retrieval/search.py", "_Search._visible", "2", "3", 1): (
        "how much is read at a time, and nothing of what is found"
    ),
    ("_evolution/states.py", "StateResolver.of", "self._effects.know(entities)", "(left out)", 0): (
        "what the caller has read is read a second time, with the same answer"
    ),
    ("stores/sqlite_read.py", "read_head", "0", "1", 3): (
        "of a namespace that is not there; nothing carries its number, so nothing is looked up with it"
    ),
    ("stores/bound.py", "another_embedder", "12", "13", 0): "a message shows one more digit of a checksum",
    ("ports/store.py", "(module)", "False", "True", 0): ("the default of a protocol's method, which no call uses"),
    ("ports/store.py", "(module)", "False", "True", 1): ("the default of a protocol's method, which no call uses"),
    ("stores/memory/rows.py", "MemorySnapshot.vectors", "1", "2", 0): (
        "stands for a message that is not there; no place is negative, so none has vectors either way"
    ),
    ("stores/index/quantised_vectors.py", "(module)", "1", "2", 0): (
        "marks the owner of a removed window and is only compared with itself; no place is negative"
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
}
