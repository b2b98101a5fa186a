"""Memories that are not open, stores that are none, and parts that are unknown or answer badly."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from umi import IntelligenceLoader, diagnose, limits, open_embedder, open_llm, reembed
from umi.config import Config
from umi.errors import EmbedderBusy, EmbedderUnavailable, EmbeddingError, LLMError
from umi.memory import Memory
from umi.ports import EmbedderIdentity
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.embedder import SimEmbedder
from umi.sim.llm import SimLLM
from umi.sim.rng import DeterministicRng
from umi.types import Completion, Usage
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.refused import values
from umi_lab.worlds.recorded.refused.trying import asked, each, tried

_CALLS: Final[tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...]] = (
    ("remember", ("It rains.",), {}), ("remember_many", (["It rains."],), {}), ("recall", ("rain",), {}), ("context", (), {"max_tokens": 50}), ("get", ("m0",), {}),
    ("list", (), {}), ("episodes", (), {}), ("sessions", (), {}), ("undecided", (), {}), ("waiting", (), {}), ("changes", (), {}), ("sequence", (), {}),
    ("history", ("Ada",), {}), ("history_counts", ("Ada",), {}), ("activity", (), {}), ("facts", ("Ada",), {}), ("profile", ("Ada",), {}), ("why", ("ent_0",), {}),
    ("set_fact", ("Ada", "database", "SQLite"), {}), ("relate", ("a", "b", "update", "seen"), {}), ("resolve", ("rel_0",), {}), ("undo", ("rel_0",), {}),
    ("preview_undo", ("rel_0",), {}), ("preview_forget", ("m0",), {}), ("preview_erasure", ("Ada",), {}), ("preview_namespace_erasure", (), {}),
    ("forget", ("m0",), {}), ("erase", ("Ada",), {}), ("erase_namespace", (), {}), ("verify_erasure", (None,), {}), ("export", (BytesIO(),), {}),
    ("restore", (BytesIO(),), {}), ("feedback", ("rec_0",), {"outcome": "success"}), ("maintain", (), {}), ("work", (), {"idle_s": 0}), ("reread", (), {}),
    ("namespaces", (), {}), ("stats", (), {}), ("check", (), {}), ("backup", ("a\0b",), {}), ("switch", ("other",), {}), ("close", (), {}),
)  # fmt: skip


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for a while, whose name is left out of what is taken down."""
    with tempfile.TemporaryDirectory(prefix="umi-refused-") as name:
        yield Path(name)


async def _every(memory: Memory) -> None:
    for method, given, named in _CALLS:
        await asked(memory, method, *given, **named)
    tried("learning", lambda: memory.learning)


async def closed(clock: SimClock) -> None:
    """A memory that is not open yet, opened twice, closed, and a view of one that is closed."""
    with folder() as place:
        for url in ("dict:", f"sqlite:///{place}/a.db"):
            memory = Memory.open(
                url, embedder=None, clock=clock, entropy=SimEntropy(DeterministicRng(2)), config=Config(learn=True)
            )
            await _every(memory)
            async with memory:
                await memory.remember("It rains.")
                view, learning = memory.switch("other"), memory.learning
                await view.remember("It snows.")
                await asked(SimpleNamespace(enter=memory.__aenter__), "enter")
                await asked(SimpleNamespace(enter=view.__aenter__), "enter")
                await view.close()
                await _every(view)
                view = memory.switch("third")
            for one in (memory, view):
                await _every(one)
            for method, given in (("status", ()), ("run", ()), ("explain", ("m0",)), ("rollback", (0,)), ("reset", ())):
                await asked(learning, method, *given)
            for _ in range(2):
                await asked(memory, "close")


async def stores(clock: SimClock) -> None:
    """Addresses and files that are no store of Umi, or of another version, and files that go while they are open."""
    with folder() as place:
        _make(place)
        names = (
            "good.db",
            "newer.db",
            "newest.db",
            "other.db",
            "marked.db",
            "text.db",
            "byte.db",
            "empty.db",
            "inner",
            "none/x.db",
            "loop",
            "damaged.db",
            "header.db",
            "noname.db",
        )
        urls = [
            *(f"sqlite:///{place}/{name}" for name in names),
            f"{place}/good.db",
            f"{place}/good.db?vfs=nothing",
            ":memory:",
            ":memory:?vfs=nothing",
            "dict:",
            "sqlite:///:memory:",
        ]
        wrong = (
            "mysql://h/d",
            "sqlite://x",
            "http://h",
            "x://y",
            "",
            "sqlite:///",
            "/" + "x" * limits.URL_BYTES_MAX,
            5,
            None,
            b"umi.db",
            ["umi.db"],
            Path(place / "good.db"),
        )
        for url in (*urls, *wrong):
            await _opened(clock, url)
        await _opened(clock, "dict:", config=Config(read_url="postgresql://h/d"))
        await _opened(clock, "dict:", config=Config(read_url="umi.db"))
        for name in values.NAMES:
            await _opened(clock, "dict:", namespace=name)
        parts: tuple[dict[str, Any], ...] = ({"llm": 5}, {"llm": {}}, {"embedder": 5}, {"intelligence": 5})
        for part in (*parts, {"intelligence": IntelligenceLoader()}):
            await _opened(clock, "dict:", **part)
        for more in ("config", "clock", "entropy"):
            await _opened(clock, "dict:", **{more: "other"})
        for length in (200, 300):  # the second is longer than a file's name may be
            await _opened(clock, f"{place}/{'x' * length}")
        await _gone(clock, place)


def _make(place: Path) -> None:
    def made(name: str, *script: str) -> None:
        with closing(sqlite3.connect(place / name)) as db:
            for line in script:
                db.execute(line)
            db.commit()

    mark = f"PRAGMA application_id = {0x556D6931}"
    made("newer.db", mark, "PRAGMA user_version = 1000")
    made("newest.db", mark, "PRAGMA user_version = 2147483647")
    made("other.db", "CREATE TABLE t (a)")
    made("marked.db", "PRAGMA application_id = 5")
    made("noname.db", "PRAGMA user_version = 5")
    (place / "text.db").write_text("This is no database. " * 100, "utf-8")
    (place / "byte.db").write_bytes(b"x")
    (place / "empty.db").write_bytes(b"")
    (place / "inner").mkdir()
    (place / "loop").symlink_to(place / "loop")
    made("damaged.db", mark, "CREATE TABLE t (a)")
    (place / "header.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4_080)


async def _opened(clock: SimClock, url: Any, /, **more: Any) -> None:
    async def enter() -> None:
        entropy = SimEntropy(DeterministicRng(2))
        async with Memory.open(url, **{"embedder": None, "clock": clock, "entropy": entropy, **more}) as memory:
            await memory.remember("It rains.")
            note("opened", await memory.stats())

    said = f"opened {ascii(str(url).rpartition('/')[2])[:30]}"
    await asked(SimpleNamespace(**{said: enter}), said)


async def _gone(clock: SimClock, place: Path) -> None:
    """A file that is taken away, or replaced, while it is open."""
    for replaced in (False, True):
        path = place / f"gone-{replaced}.db"
        memory = await Memory.open(f"{path}", embedder=None, clock=clock, entropy=SimEntropy(DeterministicRng(2)))
        await memory.remember("It rains.")
        path.rename(place / "away.db")
        if replaced:
            path.write_bytes(b"")
        for method, given in (
            ("remember", ("It snows.",)),
            ("recall", ("rain",)),
            ("list", ()),
            ("check", ()),
            ("export", (BytesIO(),)),
            ("maintain", ()),
        ):
            await asked(memory, method, *given)
        await asked(memory, "close")


async def parts(clock: SimClock) -> None:
    """Names of models and embedders, what asks a server, and embedders and models that answer badly."""
    names = (
        "",
        " ",
        "gpt",
        "openai",
        "openai:",
        "anthropic:",
        "anthropic",
        "ollama:",
        "http:",
        "https:",
        "ftp://h/v1#m",
        "Openai:x",
        "LOCAL",
        "local ",
        "fastembed:",
        "fastembed",
        ":x",
        "x" * 200,
    )
    model = SimLLM(1, clock=clock)
    tiers: tuple[Any, ...] = (
        {},
        {"fast": "gpt"},
        {"quick": model},
        {"fast": model, "quick": model, "slow": model},
        {"fast": 5},
        {"fast": model},
        {"fast": model, "strong": model},
    )
    each("open_llm", open_llm, (*names, *tiers, model, *values.KINDS, SimpleNamespace(complete=5)))
    each(
        "open_embedder",
        open_embedder,
        (
            *names,
            *values.KINDS[1:],
            SimEmbedder(clock, DeterministicRng(1)),
            SimpleNamespace(embed=len),
            SimpleNamespace(embed=5, embed_many=5),
        ),
    )
    url = "postgresql://h/d"
    calls = SimpleNamespace(diagnose=diagnose, reembed=reembed)
    for one in (
        "umi.db",
        "sqlite:///x",
        "",
        " ",
        "mysql://h",
        "Postgresql://h",
        5,
        b"x",
        "a\0b",
        url + "x" * limits.URL_BYTES_MAX,
    ):
        await asked(calls, "diagnose", one)
        await asked(calls, "diagnose", url, read_url=one or "umi.db")
        if one not in ("umi.db", "sqlite:///x", "Postgresql://h"):
            await asked(calls, "reembed", one, SimEmbedder(clock, DeterministicRng(1)))
    for embedder in (None, 5, "gpt", ""):
        await asked(calls, "reembed", "dict:", embedder)
    await _answers(clock)
    await _completions(clock)


class _Answering:
    """An embedder that gives what it was made with."""

    def __init__(self, answer: Any, many: Any = None, dimensions: Any = 4) -> None:
        self._answer = answer
        self._many = many
        self.identity = EmbedderIdentity("given", dimensions, "0" * 64)

    async def embed(self, _: str) -> Any:
        """One vector."""
        return self._given(self._answer)

    async def embed_many(self, texts: Sequence[str]) -> Any:
        """A matrix for each text."""
        return self._given([self._answer] * len(texts) if self._many is None else self._many)

    def _given(self, answer: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer


async def _answers(clock: SimClock) -> None:
    sound = [1.0, 0.0, 0.0, 0.0]
    given: list[tuple[Any, ...]] = [
        (one,)
        for one in (
            sound,
            [sound],
            [sound, sound],
            [1, 0, 0],
            [0, 0, 0, 0],
            [float("nan"), 0, 0, 1],
            [float("inf"), 0, 0, 1],
            [],
            None,
            "x",
            5,
        )
    ]
    given += [
        (one,)
        for one in (
            ["a"] * 4,
            [[sound]],
            np.zeros((0, 4)),
            [1e-30] * 4,
            {"a": 1},
            [*sound[:3], "x"],
            [True, False, True, True],
        )
    ]
    several: values.Values = ([], [sound], [sound, sound, sound], None, 5, "xx", {})
    given += [(sound, many) for many in several]
    given += [
        (error,)
        for error in (
            EmbeddingError("no"),
            EmbedderUnavailable("none"),
            EmbedderBusy("busy", 0.5),
            EmbedderBusy("busy", 1e6),
            ValueError("odd"),
            LLMError.Timeout(),
        )
    ]
    given += [
        (sound, None, dimensions)
        for dimensions in (
            1,
            0,
            -1,
            limits.EMBED_DIMENSIONS_MAX,
            limits.EMBED_DIMENSIONS_MAX + 1,
            5,
            True,
            "4",
            4.0,
            None,
        )
    ]
    for one in given:
        await _with_embedder(clock, one)


async def _completions(clock: SimClock) -> None:
    for answer in (
        "",
        "{}",
        "no",
        "[]",
        '{"entities": 5}',
        '{"entities": [{"type": "nothing"}]}',
        5,
        None,
        LLMError.RateLimit("slow", 2.0),
        LLMError.NotConfigured("no key"),
        ValueError("odd"),
    ):
        await _opened(clock, "dict:", llm=_model(answer))


def _model(answer: Any) -> Any:
    async def complete(_: object) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, int) else Completion(answer, Usage(1, 2, 3))

    return SimpleNamespace(complete=complete)


async def _with_embedder(clock: SimClock, given: tuple[Any, ...]) -> None:
    async def enter() -> None:
        embedder: Any = _Answering(*given)
        async with Memory.open(
            "dict:", embedder=embedder, clock=clock, entropy=SimEntropy(DeterministicRng(2))
        ) as memory:
            await memory.remember(["It rains.", "It snows."])
            await memory.recall("rain")
            await memory.waiting()

    await asked(SimpleNamespace(embedder=enter), "embedder")
