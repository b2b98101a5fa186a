"""Exports that are damaged, of another version or of another store, and files that are none."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from umi.errors import UmiError
from umi.memory import Memory
from umi.ports import EmbedderIdentity
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.embedder import IDENTITY, SimEmbedder
from umi.sim.rng import DeterministicRng
from umi.types import Message
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.recorded.bounds import bounded
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.refused import values
from umi_lab.worlds.recorded.refused.stores import folder
from umi_lab.worlds.recorded.refused.trying import asked, failing

_BROKEN: Final = ("\ud800", "a\0b")  # what no call takes as a text
_VALUES: Final[values.Values] = (
    None,
    "",
    "x",
    " ",
    0,
    -1,
    7,
    1.5,
    True,
    False,
    [],
    ["x"],
    [0, 1],
    [1],
    [5, 2],
    {},
    {"x": 1},
    "2030-01-01T00:00:00",
    "2030-01-01T00:00:00Z",
    1 << 40,
    1 << 63,
    *_BROKEN,
)
_MAXIMA: Final = {
    "arrival": ((1 << 40) - 1, 1 << 40, 1 << 62),
    "confidence": (0, 1, 1.1, -0.1, 1e308),
    "dimensions": (1, 63, 8_192),
    "mode": ("asserted", "wished"),
    "role": ("assistant",),
}
_LEFT_OUT: Final = {
    "episode": ("speaker", "session", "expires_at", "message_id", "metadata", "origin", "vectors"), "entity": ("negated", "also", "mode", "notes", "span", "valid_to"),
    "relation": ("acted", "part", "resolved", "resolved_at", "undone_at"), "outbox": ("again", "derived_from"),
}  # fmt: skip


class Renamed(SimEmbedder):
    """The same vectors under another name."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Not the one that others have."""
        return EmbedderIdentity("umi-sim-2", IDENTITY.dimensions, IDENTITY.digest)


def memory_of(
    clock: SimClock, url: str = "dict:", *, embedder: Any = None, namespace: str = "default", seed: int = 11
) -> Memory:
    """A memory that is not open yet."""
    return Memory.open(
        url, embedder=embedder, clock=clock, namespace=namespace, entropy=SimEntropy(DeterministicRng(seed))
    )


async def _written(clock: SimClock, *, every_namespace: bool = False) -> bytes:
    """An export that has lines of every kind."""
    saved, embedder = BytesIO(), SimEmbedder(clock, DeterministicRng(1))
    async with memory_of(clock, embedder=embedder) as memory:
        said = Message(
            "Robert (Bob) works at Acme.",
            speaker="Ada",
            session="s1",
            at=values.DAY,
            metadata={"n": 1, "nested": {"k": [1]}},
        )
        first = await memory.remember(said, idempotency_key="k1")
        await memory.remember(Message("I moved from Lisbon to Oslo.", speaker="Ada", at=values.LATER, id="m1"))
        await memory.set_fact("Ada", "database", "SQLite", reason="told")
        await memory.set_fact("Ada", "database", "Postgres")
        await memory.remember(
            "Bob is also known as Bobby.", derived_from=first.episode_ids, origin="document", ttl=86_400
        )
        await memory.remember("Ada likes tea.", read="later", derived_from=first.episode_ids)
        if every_namespace:
            await memory.switch("other").remember("It rains.")
        await memory.export(saved, every_namespace=every_namespace)
    return saved.getvalue()


async def _restored(clock: SimClock, content: bytes, *, look: bool = False, url: str = "dict:") -> None:
    async with memory_of(clock, url) as memory:
        taken = await asked(memory, "restore", BytesIO(content))
        if look or taken is not None:
            await asked(memory, "check")
            await asked(memory, "list" if look else "stats")


def _sealed(lines: Sequence[bytes]) -> bytes:
    """Lines of an export with the last line that belongs to them."""
    body = b"".join(lines)
    end = {"end": {"lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()}}
    return body + json.dumps(end, separators=(",", ":")).encode() + b"\n"


async def damaged(clock: SimClock) -> None:
    """Lines that are cut, left out, doubled, swapped, or no lines of an export."""
    whole = await _written(clock, every_namespace=True)
    lines = whole.splitlines(keepends=True)
    for place, line in enumerate(lines):
        body = lines[:place] + lines[place + 1 :]
        for parts in (lines[:place], [*lines[:place], line[: len(line) // 2]], [*lines[:place], line[:-1]], body):
            await _restored(clock, b"".join(parts))
        if place < len(lines) - 1:
            swapped = [*lines[:place], lines[place + 1], line, *lines[place + 2 :]]
            await _restored(clock, b"".join(swapped))
            for parts in (
                lines[:place] + lines[place + 1 : -1],
                swapped[:-1],
                [*lines[: place + 1], line, *lines[place + 1 : -1]],
            ):
                await _restored(clock, _sealed(parts), look=True)
        for other in (
            b"\n",
            b"{}\n",
            b"[]\n",
            b"null\n",
            b"no\n",
            b'{"a":1}\n',
            b'{"episode":5,"end":6}\n',
            b'{"episode":[]}\n',
            b'{"alias":{}}\n',
            b"\xff\n",
            b"[" * 2_000 + b"\n",
        ):
            await _restored(
                clock,
                _sealed([*lines[:place], other, *lines[place + 1 : -1]])
                if place % 3 == 0
                else b"".join([*lines[:place], other]),
            )
    for more in (b"\n", b"x", lines[0], lines[-1]):
        await _restored(clock, whole + more)
    for changed in (
        whole.replace(b"Acme", b"Bolt"),
        whole.replace(b"\n", b"\r\n"),
        whole[1:],
        b"\xef\xbb\xbf" + whole,
        whole.decode().encode("utf-16"),
    ):
        await _restored(clock, changed, look=True)
    longest = max(map(len, lines))
    for most in (longest, longest - 1, 1):
        with bounded({"IMPORT_RECORD_BYTES_MAX": most}):
            await _restored(clock, whole)


async def fields_of_ends(clock: SimClock) -> None:
    """Each field of the first and the last line and of those of namespaces, left out or with other values."""
    await _fields(clock, ("umi_export", "namespace", "end"))


async def fields_of_messages(clock: SimClock) -> None:
    """Each field of the lines of messages."""
    await _fields(clock, ("episode",))


async def fields_of_statements(clock: SimClock) -> None:
    """Each field of the lines of statements."""
    await _fields(clock, ("entity",))


async def fields_of_others(clock: SimClock) -> None:
    """Each field of the other lines."""
    await _fields(clock, ("relation", "alias", "replay", "outbox"))


async def broken_texts(clock: SimClock) -> None:
    """Fields with texts that SQLite, or nobody, can keep, restored into SQLite."""
    lines = (await _written(clock)).splitlines(keepends=True)
    for place, kind in _fullest(lines):
        told = json.loads(lines[place])[kind]
        for name in told if kind != "end" else ():
            for value in _BROKEN:
                note("changed", f"{kind}.{name}")
                changed = [*lines[:place], _line(kind, {**told, name: value}), *lines[place + 1 : -1]]
                await _restored(clock, _sealed(changed), url=":memory:")


async def _fields(clock: SimClock, kinds: Sequence[str]) -> None:
    lines = (await _written(clock)).splitlines(keepends=True)
    for place, kind in _fullest(lines):
        if kind in kinds:
            for line in _changed(kind, json.loads(lines[place])[kind]):
                note("changed", line.decode())
                changed = [*lines[:place], line, *lines[place + 1 : -1]]
                await _restored(clock, b"".join(changed) if kind == "end" else _sealed(changed))


def _fullest(lines: Sequence[bytes]) -> Iterator[tuple[int, str]]:
    """The longest line of each kind."""
    found: dict[str, int] = {}
    for place, line in enumerate(lines):
        (kind,) = json.loads(line)
        if kind not in found or len(line) > len(lines[found[kind]]):
            found[kind] = place
    for kind, place in found.items():
        yield place, kind


def _changed(kind: str, told: dict[str, Any]) -> Iterator[bytes]:
    inner = {
        "embedder": ("name", "dimensions", "digest"),
        "vectors": ("dimensions", "windows"),
        "notes": tuple(told.get("notes", ())),
    }
    for name in (*told, "unknown"):
        yield _line(kind, {key: one for key, one in told.items() if key != name})
        for value in (*_VALUES, *_MAXIMA.get(name, ())) if name in told else (5,):
            yield _line(kind, {**told, name: value})
    for name in (one for one in _LEFT_OUT.get(kind, ()) if one not in told):
        for value in _VALUES:
            yield _line(kind, {**told, name: value})
    for name, within in inner.items():
        for key in within if name in told else ():
            yield _line(kind, {**told, name: {one: value for one, value in told[name].items() if one != key}})
            for value in (*_VALUES, "AAAA", "AAA=", "A", "@@@@", *_MAXIMA.get(key, ())):
                yield _line(kind, {**told, name: {**told[name], key: value}})


def _line(kind: str, told: object) -> bytes:
    return json.dumps({kind: told}, separators=(",", ":")).encode() + b"\n"


class _Broken(BytesIO):
    """A stream on a disk that fails."""

    def write(self, _: Any) -> int:
        """Fail."""
        raise OSError(28, "No space left on device")

    def readline(self, _: int | None = -1) -> bytes:
        """Fail."""
        raise OSError(5, "Input/output error")


async def moved(clock: SimClock) -> None:
    """Where exports are written, where they come from, and what they are restored into."""
    whole, every = await _written(clock), await _written(clock, every_namespace=True)
    with folder() as place:
        _files(place, whole)
        async with memory_of(clock, f"sqlite:///{place}/told.db") as memory:
            await memory.remember(["It rains.", "It snows."])
            names = (
                "new.jsonl",
                "old.jsonl",
                "empty",
                "text.txt",
                "inner",
                "missing/new.jsonl",
                "loop",
                "told.db",
                "link",
                "a\0b",
                "x" * 150,
                "old.jsonl.part",
            )
            targets = [f"{place}/{name}" for name in names]
            for target in (*targets, Path(targets[0]), *values.KINDS, "", StringIO(), _Broken(), bytearray()):
                await asked(memory, "export", target)
                await asked(memory, "restore", target)
            for target in (
                f"{place}/told.db",
                f"{place}/copy.db",
                f"{place}/copy.db",
                f"{place}/inner",
                f"{place}/missing/x",
                *values.KINDS,
                "",
                "a\0b",
            ):
                await asked(memory, "backup", target)
            for length in (252, 300):  # of a name that is too long with its ending, or at all
                for method in ("backup", "export"):
                    await asked(
                        SimpleNamespace(**{f"{method} to a long name": partial(_to, memory, method)}),
                        f"{method} to a long name",
                        place / ("x" * length),
                    )
            for target in (BytesIO(), f"{place}/newest"):
                for progress in (5, "x", failing):
                    await asked(memory, "export", target, progress=progress)
                await asked(
                    memory, "export", target, every_namespace="no", where={"session": "s1"}, types=["preference"]
                )
            await asked(memory, "backup", f"{place}/copy2.db", progress=5)
        async with memory_of(clock) as memory:
            await asked(memory, "backup", f"{place}/copy3.db")
    await _conflicts(clock, whole, every)


async def _to(memory: Memory, method: str, path: Path) -> None:
    """As a method does, without what it says: that is cut at a length which depends on the folder."""
    call: Any = inspect.unwrap(getattr(Memory, method))
    try:
        await call(memory, f"{path}")
    except UmiError as error:
        note("refused", type(error).__name__)


def _files(place: Path, whole: bytes) -> None:
    (place / "old.jsonl").write_bytes(whole)
    (place / "empty").write_bytes(b"")
    (place / "text.txt").write_text("no export", "utf-8")
    (place / "inner").mkdir()
    (place / "loop").symlink_to(place / "loop")
    (place / "link").symlink_to(place / "old.jsonl")


@asynccontextmanager
async def _full(clock: SimClock, **more: Any) -> AsyncIterator[Memory]:
    async with memory_of(clock, **more) as memory:
        await memory.remember("It rains.")
        yield memory


async def _conflicts(clock: SimClock, whole: bytes, every: bytes) -> None:
    header = b'{"umi_export":{"version":1,"scope":"namespace","embedder":{}}}\n'
    for content in (
        header,
        _sealed([header]),
        *(header.replace(b"1", version) for version in (b"2", b"0", b'"1"', b"1.0", b"true", b"null")),
    ):
        await _restored(clock, content, look=True)
    for embedder in (SimEmbedder(clock, DeterministicRng(1)), Renamed(clock, DeterministicRng(1))):
        for content in (whole, every):
            async with memory_of(clock, embedder=embedder) as memory:
                await asked(memory, "restore", BytesIO(content))
            async with _full(clock, embedder=embedder) as memory:
                await asked(memory, "restore", BytesIO(content))
                await asked(memory.switch("new"), "restore", BytesIO(content))
                await asked(memory, "erase_namespace")
                await asked(memory, "restore", BytesIO(content))
    async with _full(clock) as memory:
        page = await memory.episodes()
        await memory.forget(page.items[0].id)
        await asked(memory, "restore", BytesIO(whole))
    await _unfinished(clock, whole, every)


async def _unfinished(clock: SimClock, whole: bytes, every: bytes) -> None:
    """Restores that do not come to their end, and what goes on from there."""
    with portions.applied({"RESTORE_BATCH_COUNT": 2}):
        for content, other in ((whole, every), (every, whole), (whole, whole.replace(b"Acme", b"Bolt"))):
            async with memory_of(clock) as memory:
                cut = content[: 3 * len(content) // 4]
                for one in (cut, other, cut):
                    await asked(memory, "restore", BytesIO(one))
                    await asked(memory, "check")
                await asked(memory.switch("third"), "restore", BytesIO(other))
                await asked(memory, "restore", BytesIO(content))
                await asked(memory, "check")
                await asked(memory, "restore", BytesIO(content))
            async with memory_of(clock) as memory:
                await asked(memory, "restore", BytesIO(cut), progress=failing)
                await asked(memory, "remember", "It rains.")
                await asked(memory, "restore", BytesIO(content))
