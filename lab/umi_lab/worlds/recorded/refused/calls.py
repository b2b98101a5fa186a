"""Methods of a memory, of its learning and of a router, tried with values inside and outside their limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from umi import limits
from umi.config import Config
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.rng import DeterministicRng
from umi.types import EVOLUTION_TYPES, Message
from umi.types.erasure_proof import ErasureProof, NGramDigest
from umi_lab.worlds.recorded.refused import values
from umi_lab.worlds.recorded.refused.trying import Table, ask, asked, failing

DAYS: Final = timedelta(days=1)
SAID: Final = (
    "I work at Acme.", "I live in Lisbon.", "I like hiking.", "Bob works at Globex.", "I work at Initech now.", "I moved to Oslo.", "Bob hates tea.",
)  # fmt: skip


@asynccontextmanager
async def told(clock: SimClock, url: str = "dict:", **settings: Any) -> AsyncIterator[Memory]:
    """A memory that was told a few things by Ada."""
    entropy = SimEntropy(DeterministicRng(7))
    async with Memory.open(url, embedder=None, clock=clock, entropy=entropy, config=Config(**settings)) as memory:
        for place, text in enumerate(SAID):
            at, session = values.DAY + place * DAYS, f"s{place % 2}"
            one = Message(text, speaker="Ada", at=at, session=session, id=f"m{place}", metadata={"n": place})
            await memory.remember(one)
        yield memory


async def going_in(clock: SimClock) -> None:
    """What is remembered."""
    async with told(clock) as memory:
        good = {"content": "Ada has a cat."}
        contents: Sequence[object] = (
            *values.NAMES[:-4], ["a", ""], ["a", None], [["a"]], {"content": "x", "colour": "red"}, {"content": None}, {"role": "user"},
            {"content": "x", 5: 6}, ("It rains.", {"content": "It snows."}), {"It", "rains"}, Message(""), Message("x", role=""), [Message("x"), 5],
            ["x"] * (limits.REMEMBER_MESSAGES_COUNT_MAX + 1), "x" * (limits.TEXT_BYTES_MAX + 1), bytearray(b"x"), "\u200b",
        )  # fmt: skip
        await ask(memory, [("remember", good, {"content": contents, **_defaults()})])
        ids = [step.entity.id for step in (await memory.list()).items]
        await ask(memory, [("remember", good, _options(ids))])
        for two in ({"expires_at": values.LATER, "ttl": 5}, {"idempotency_key": "k1"}, {"idempotency_key": "k1"}):
            await asked(memory, "remember", "It is late.", **two)
        for content in ("It is early.", ["It is late.", "It is early."]):
            await asked(memory, "remember", content, idempotency_key="k1")
        known: tuple[list[Any], ...] = (
            [{"content": "I work at Acme.", "id": "m0"}],
            [{"content": "Otherwise.", "id": "m0"}],
            [Message("a b", id="d"), Message("a c", id="d")],
            [Message("a b", id="e"), Message("a b", id="e")],
        )
        for messages in known:
            await asked(memory, "remember", messages)
            await asked(memory, "remember_many", messages)
        await asked(memory, "remember", ["x"] * limits.REMEMBER_MESSAGES_COUNT_MAX, extract_entities=False)
        await _many(memory)


def _defaults() -> dict[str, Sequence[object]]:
    return {
        "at": values.MOMENTS,
        "speaker": values.NAMES,
        "role": values.NAMES,
        "session": values.NAMES,
        "metadata": values.METADATA,
        "origin": values.words("user", "assistant", "tool", "document"),
        "expires_at": values.MOMENTS,
    }


def _options(ids: list[str]) -> dict[str, Sequence[object]]:
    most = limits.DERIVED_FROM_COUNT_MAX
    spans = (
        timedelta(),
        timedelta(microseconds=1),
        timedelta(days=-1),
        timedelta.max,
        0,
        0.0,
        1e-7,
        1,
        60.5,
        -1,
        1e300,
        values.VAST,
        "5",
        True,
    )
    return {
        "ttl": (*spans, None, float("nan"), float("inf"), [5]),
        "idempotency_key": values.NAMES,
        "extract_entities": values.FLAGS,
        "track_evolution": values.FLAGS,
        "derived_from": (
            None,
            "m0",
            b"m0",
            ids[:1],
            ids[:2] * 2,
            [*ids, "nobody"],
            [""],
            [None],
            [5],
            {"m0"},
            {"m0": 1},
            5,
            [],
            ids[:1] * most,
            ["m"] * (most + 1),
        ),
        "read": values.words("now", "later"),
    }


async def _many(memory: Memory) -> None:
    ends = ["It is dry.", ""]
    await ask(
        memory,
        [
            (
                "remember_many",
                {"messages": ["It is wet."]},
                {"messages": (*values.KINDS, "text", Message("x"), (), iter(["a"]), ends, [[]])},
            )
        ],
    )
    for progress in (None, 5, "x", len, failing):
        await asked(memory, "remember_many", ["It is mild."], progress=progress)

    async def coming() -> AsyncIterator[object]:
        yield "It is grey."
        yield {"content": "x", "colour": "red"}

    await asked(memory, "remember_many", coming())


async def corrected(clock: SimClock) -> None:
    """What the caller knows better: facts and relations."""
    async with told(clock) as memory:
        page = await memory.list()
        ids = [step.entity.id for step in page.items]
        fact = {"subject": "Ada", "attribute": "database", "value": "SQLite"}
        longest = values.texts(limits.FACT_VALUE_BYTES_MAX)
        tried_with = {
            "subject": (*values.NAMES, "?!", "..."),
            "attribute": values.NAMES,
            "value": longest,
            "at": values.MOMENTS,
        }
        await ask(memory, [("set_fact", fact, {**tried_with, "reason": values.texts(limits.REASON_BYTES_MAX)})])
        await ask(
            memory,
            [
                (
                    "set_fact",
                    fact,
                    {"attribute": ("employer", "works at", "?!"), "value": ("SQLite", " SQLite ", "Postgres")},
                )
            ],
        )
        reasons = values.texts(limits.REASON_BYTES_MAX)
        kinds = sorted(EVOLUTION_TYPES)
        related = {"old_id": ids[0], "new_id": ids[3], "type": "extend", "reason": "seen"}
        for type_ in values.words(*kinds):
            await asked(memory, "relate", ids[1], ids[2], type_, "seen")
        await ask(
            memory,
            [
                (
                    "relate",
                    related,
                    {
                        "old_id": (*values.NAMES[:20], *values.UNKNOWN, ids[3]),
                        "new_id": (*values.UNKNOWN, None, 5, ids[0]),
                    },
                )
            ],
        )
        await ask(memory, [("relate", related, {"reason": reasons})])
        for old, new in ((ids[3], ids[0]), (ids[0], ids[0]), (ids[2], ids[4]), (ids[4], ids[2]), (ids[1], ids[4])):
            for type_ in kinds:
                await asked(memory, "relate", old, new, type_, "seen")
        await _settled(memory)


async def _settled(memory: Memory) -> None:
    found = [one for step in (await memory.list()).items for one in (await memory.why(step.entity.id)).evolutions]
    relations = list(dict.fromkeys(one.id for one in found))
    for keep in values.words("new", "old", "both"):
        await asked(memory, "resolve", relations[0], keep)
    for method in ("resolve", "preview_undo", "undo", "why"):
        for one in (*values.NAMES, *values.UNKNOWN):
            await asked(memory, method, one)
    for one in relations:
        for method, given in (
            ("resolve", (one, "both")),
            ("resolve", (one, "old")),
            ("preview_undo", (one,)),
            ("undo", (one,)),
            ("undo", (one,)),
        ):
            await asked(memory, method, *given)
        for method in ("preview_undo", "resolve"):
            await asked(memory, method, one)


async def asked_of(clock: SimClock) -> None:
    """What is recalled and looked up."""
    async with told(clock) as memory:
        lists = {
            "limit": values.counts(1, limits.LIST_LIMIT_MAX),
            "after": (*values.NAMES, "1", "0:0", "-1", "1_000", "\u0661", "9" * 30),
        }
        ordered = {**lists, "order": values.words("oldest", "newest")}
        who = {"subject": values.NAMES, "as_of": values.MOMENTS}
        table: Table = [
            ("recall", {"query": "Where does Ada work?"}, _recalls()),
            ("context", {"query": "Where does Ada work?", "max_tokens": 200}, _contexts()),
            ("context", {"max_tokens": 60}, {"about": values.NAMES[:14]}),
            ("get", {"id": "m0"}, {"id": (*values.NAMES, *values.UNKNOWN)}),
            ("list", {"limit": 2}, ordered),
            ("episodes", {"limit": 2}, ordered),
            ("sessions", {"limit": 1}, lists),
            ("undecided", {"limit": 1}, lists),
            ("waiting", {}, {"limit": values.counts(1, limits.LIST_LIMIT_MAX)}),
            ("changes", {}, {"after": values.counts(0, limits.SEQUENCE_COUNT_MAX)}),
            ("history", {"entity_id_or_subject": "Ada"}, _histories()),
            ("history_counts", {"subject": "Ada"}, {"subject": values.NAMES, "parts": values.counts(1, limits.HISTORY_PARTS_COUNT_MAX)}),
            ("activity", {"days": 2}, {"days": values.counts(1, limits.ACTIVITY_DAYS_MAX), "until": values.MOMENTS}),
            ("facts", {"subject": "Ada"}, {**who, "attribute": (*values.NAMES, "employer", "works at")}),
            ("profile", {"subject": "Ada"}, {**who, "limit": values.counts(1, limits.LIST_LIMIT_MAX)}),
            ("switch", {"namespace": "other"}, {"namespace": values.NAMES}),
            ("work", {"idle_s": 0.0}, {"idle_s": (0, 0.001, -1, -0.001, float("nan"), float("inf"), "1", [1], -values.VAST, 1 << 1_100), "progress": (5, "x", len)}),
            ("reread", {}, {"progress": (5, "x", failing)}),
        ]  # fmt: skip
        await ask(memory, table)
        for method in ("namespaces", "stats", "check", "sequence", "maintain"):
            await asked(memory, method)


def _recalls() -> dict[str, Sequence[object]]:
    most = limits.RECALL_NAMESPACES_COUNT_MAX
    names = [f"n{place}" for place in range(most + 1)]
    return {
        "query": (*values.texts(limits.QUERY_BYTES_MAX), "?", "the"),
        "limit": values.counts(1, limits.RECALL_LIMIT_MAX),
        "deep": (True, False, None, 0, "yes"),
        "as_of": values.MOMENTS,
        "known_at": values.MOMENTS,
        "time_range": values.RANGES,
        "include_superseded": values.FLAGS,
        "min_score": values.FRACTIONS,
        "max_tokens": values.counts(1, limits.CONTEXT_TOKENS_MAX),
        "explain": values.FLAGS,
        "task_id": values.NAMES,
        "namespaces": (None, [], ["default"], ["default", "default"], ["other"], names[:most], names, "default", b"default", {"default": 1}, 5, [""], [None], [["a"]]),
    }  # fmt: skip


def _contexts() -> dict[str, Sequence[object]]:
    counters = (
        None,
        len,
        5,
        "len",
        lambda _: -1,
        lambda _: 0,
        lambda _: True,
        lambda _: 1.5,
        lambda _: None,
        lambda text: len(text) // 4,
        failing,
    )
    return {
        "query": values.texts(limits.QUERY_BYTES_MAX),
        "max_tokens": values.counts(1, limits.CONTEXT_TOKENS_MAX),
        "profile": values.FLAGS,
        "changes": values.FLAGS,
        "about": values.NAMES,
        "counter": counters,
    }


def _histories() -> dict[str, Sequence[object]]:
    return {
        "entity_id_or_subject": (*values.NAMES, *values.UNKNOWN, "m0"),
        "attribute": (*values.NAMES, "employer"),
        "limit": values.counts(1, limits.LIST_LIMIT_MAX),
        "before": (*values.NAMES, "1", "0:0", "9" * 30),
        "held": values.RANGES,
        "known": values.RANGES,
    }


async def filtered(clock: SimClock) -> None:
    """Filters, with every method that takes them."""
    async with told(clock) as memory:
        both = {"where": values.WHERES, "types": values.TYPES}
        few = {
            "where": (values.WHERES[8], {"session": "s1"}, {"origin": {"in": ["user"]}}, 5, {"a": 1}),
            "types": values.TYPES[1:9],
        }
        only = {"where": few["where"]}
        table: Table = [
            ("episodes", {"limit": 3}, both),
            ("recall", {"query": "Ada", "limit": 2}, few),
            ("list", {"limit": 1}, few),
            ("history", {"entity_id_or_subject": "Ada", "limit": 1}, few),
            ("context", {"query": "Ada", "max_tokens": 20}, only),
            ("preview_erasure", {}, only),
            ("forget", {}, {"where": ({}, {"session": "s9"}, 5, None), "types": ([], ["x"], "preference")}),
        ]
        await ask(memory, table)


async def taken_away(clock: SimClock) -> None:
    """What is forgotten and erased, and receipts of it."""
    async with told(clock) as memory:
        receipt = await memory.erase("Bob")
        await ask(
            memory,
            [
                (
                    "forget",
                    {"id": "nobody"},
                    {"id": (*values.NAMES, *values.UNKNOWN), "where": ({"session": "s9"}, None, {})},
                )
            ],
        )
        await asked(memory, "forget")
        await asked(memory, "forget", "m1", where={"session": "s1"}, types=["preference"])
        chosen: tuple[dict[str, object], ...] = (
            {}, {"subject": None}, {"subject": "Ada", "session": "s1"}, {"session": "s1", "where": {"session": "s1"}},
            {"subject": "Ada", "session": "s1", "where": {"role": "user"}}, {"where": {}}, {"where": 5}, {"session": 5}, {"session": ""}, {"subject": ""},
            {"subject": 5}, {"where": {"metadata": {"n": 4}}}, {"session": "s9"},
        )  # fmt: skip
        for method in ("preview_erasure", "erase"):
            for given in chosen:
                await asked(memory, method, **given)
            await ask(
                memory,
                [(method, {"subject": "Nobody"}, {"subject": values.NAMES, "derived": values.words("stale", "erase")})],
            )
        await ask(memory, [("preview_forget", {"id": "m1"}, {"id": (*values.NAMES, *values.UNKNOWN)})])
        gram = NGramDigest(5, 7, "00" * 8)
        sound = ErasureProof("ab" * 16, (gram,), (gram,), (gram,), 1, 1)
        grams = [replace(gram, **one) for one in _GRAMS]
        proofs = [replace(sound, salt=salt) for salt in ("", "ab", "a", "AB", "zz", "ab" * 64, "ab" * 65, "ab\n")]
        for one in grams:
            proofs += [replace(sound, names=(one,)), replace(sound, words=(one,)), replace(sound, runs=(one,))]
        proofs += [
            replace(sound, words=(gram,) * count)
            for count in (2 * limits.ERASURE_DIGESTS_COUNT_MAX, 2 * limits.ERASURE_DIGESTS_COUNT_MAX + 1)
        ]
        for proof in proofs:
            await asked(memory, "verify_erasure", replace(receipt, proof=proof))
        for other in (
            receipt,
            replace(receipt, at=values.DAY.replace(tzinfo=None)),
            replace(receipt, selection="other"),
            *values.KINDS,
        ):
            await asked(memory, "verify_erasure", other)
        for method in ("preview_namespace_erasure", "erase_namespace", "erase_namespace", "check", "list"):
            await asked(memory, method)


_GRAMS: Final[tuple[dict[str, Any], ...]] = (
    {"length": 4}, {"length": 3}, {"length": 120}, {"length": 121}, {"length": -1}, {"weak": 0}, {"weak": 65_535}, {"weak": 65_536}, {"weak": -1},
    {"digest": ""}, {"digest": "0" * 15}, {"digest": "0" * 17}, {"digest": "zz" * 8}, {"digest": "AB" * 8},
)  # fmt: skip
