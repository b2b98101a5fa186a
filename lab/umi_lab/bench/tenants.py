"""Many small namespaces in one database, more than the indexes of which fit the bound: `umi bench tenants`."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from umi import limits
from umi._core.clock import SystemClock
from umi.bench.filling import fill_like, likely_vectors
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.bench.texts import turns
from umi.memory import Memory
from umi.ports import Matrix
from umi.providers.local import LocalEmbedder
from umi_lab.bench.app_processes import ordered, started
from umi_lab.bench.postgres import database
from umi_lab.bench.tenant_calls import BUSY_PERCENT, BUSY_SHARE, name

SECONDS_DEFAULT: Final = 60.0
CLIENTS_DEFAULT: Final = 1
POSTGRES: Final = "PostgreSQL: "  # before the name of each of its figures
_SEED: Final = 31
_TURN_WORDS: Final = 26
_FILLED_AT_ONCE: Final = limits.STORE_CONNECTIONS_COUNT_MAX  # namespaces
_SAMPLED_S: Final = 0.5  # between two looks at memory and locks
_MB: Final = 1e6
_BOUND_TIMES: Final = 1.01  # a look from outside may see a new index beside those that leave for it, one in each lane
_LOCKS: Final = "SELECT count(*) FROM pg_locks"
_RELATIONS: Final = "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i', 'p', 'I', 't')"
_LOCKS_MAX: Final = (
    "SELECT current_setting('max_locks_per_transaction')::bigint"
    " * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint)"
)
_clock = SystemClock()


async def measure(
    namespaces: int,
    memories: int,
    step: Step = lambda _what, _done, _of: None,
    *,
    clients: int = CLIENTS_DEFAULT,
    seconds: float = SECONDS_DEFAULT,
    postgres: bool = False,
    server: str | None = None,
) -> Report:
    """Fill namespaces, and recall from one after the other and remember in them: mostly in a few busy ones, as tenants are.

    Args:
        namespaces: How many.
        memories: In each.
        step: Told what is being done.
        clients: How many call at once, in one app process.
        seconds: How long they recall, and then remember.
        postgres: Measure a PostgreSQL database as well, after the SQLite file.
        server: A server of PostgreSQL to make a database on; None starts one.

    Returns:
        What the indexes hold of their bound, how often the one that was asked for was there, how many calls a second were answered and what one took, the
        memory of the app process, and what the namespaces cost the server in locks and relations.
    """
    machine = machine_facts()
    figures: list[Figure] = []
    embedder = LocalEmbedder()
    likely = await likely_vectors(embedder)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="umi-tenants-"))
        stores = {"": str(Path(folder) / "tenants.db")}
        if postgres:
            stores[POSTGRES] = stack.enter_context(database(server))
        for store, address in stores.items():
            watch = _Watch(stack.enter_context(_asked(address)) if store else None)
            async with Memory.open(address, embedder=embedder) as memory:
                relations, start = watch.asked(_RELATIONS), _clock.monotonic_s()
                await _fill(memory, likely, namespaces, memories, _said(step, f"{store}filling"))
                filled_s = _clock.monotonic_s() - start
                stored = (await memory.stats()).store_bytes
            made = [_filled(namespaces * memories, filled_s)]
            made += await _visits(address, namespaces, clients, seconds, watch, machine["cores"], _said(step, store))
            made.append(
                Figure("database", stored / _MB, "MB", detail={"bytes a memory": stored / (namespaces * memories)})
            )
            made += _server_figures(watch, relations)
            figures += [_named(store, figure, figures) for figure in made]
    notes = (
        f"{BUSY_PERCENT} % of the calls go to {BUSY_SHARE:.0%} of the namespaces; before, the index of each is made once, those of the busy ones last",
        f"{clients} client{'s' if clients > 1 else ''} in one app process, {seconds:g} s of recalls and then of remembers; a core: of the machine's, which app and server share",
        "filled beneath the facade with the vectors of like texts; local embedder and readers in the calls",
        "app's memory: resident, of the process; before: open, model and readers loaded, no index made",
    )
    return Report(f"{namespaces:,} namespaces of {memories:,} memories", tuple(figures), machine, notes)


@dataclass
class _Watch:
    """What is sampled while an app process works.

    `ask` answers a statement of the server with a number; None is a store without one.
    """

    ask: Callable[[str], int] | None
    locks: list[int] = field(default_factory=list)
    resident: list[float] = field(default_factory=list)  # MB

    def asked(self, statement: str) -> int:
        return 0 if self.ask is None else self.ask(statement)

    @asynccontextmanager
    async def over(self, pid: int, tell: Callable[[int, int], None], seconds: float) -> AsyncIterator[None]:
        """Look every half second until the work is done."""
        task = asyncio.create_task(self._look_on(pid, tell, seconds))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _look_on(self, pid: int, tell: Callable[[int, int], None], seconds: float) -> None:
        start = _clock.monotonic_s()
        while True:
            self.look(pid)
            tell(int(_clock.monotonic_s() - start), int(seconds))
            await asyncio.sleep(_SAMPLED_S)

    def look(self, pid: int) -> None:
        """Take one sample."""
        self.resident.append(_resident_mb(pid))
        if self.ask is not None:
            self.locks.append(self.ask(_LOCKS))


async def _fill(
    memory: Memory, likely: Matrix, namespaces: int, memories: int, tell: Callable[[str, int, int], None]
) -> None:
    said = turns(_SEED, namespaces * memories, _TURN_WORDS)
    numbers = iter(range(namespaces))

    async def some() -> None:
        for number in numbers:
            storage = memory.switch(name(number))._open.storage  # noqa: SLF001 - beneath the facade
            await fill_like(storage, likely, iter(list(islice(said, memories))), memories, lambda _done: None)
            tell(f" {namespaces:,} namespaces", number, namespaces)

    await asyncio.gather(*(some() for _ in range(_FILLED_AT_ONCE)))


async def _visits(
    address: str,
    namespaces: int,
    clients: int,
    seconds: float,
    watch: _Watch,
    cores: int,
    tell: Callable[[str, int, int], None],
) -> list[Figure]:
    with started(address, 1) as workers:
        pid = workers[0].pid
        watch.look(pid)

        async def done(doing: str, for_s: float, **order: Any) -> Any:
            async with watch.over(pid, lambda at, of: tell(doing, at, of), for_s):
                return (await asyncio.to_thread(ordered, workers, [{"namespaces": namespaces, **order}]))[0]

        made_s = await done("making indexes", 0, job="make_indexes")
        rest = {"job": "visit", "seconds": seconds, "clients": clients}
        recalled = await done("recalling", seconds, **rest | {"what": "recall"})
        told = await done("remembering", seconds, **rest | {"what": "remember"})
        watch.look(pid)
    found, missed = recalled["held"], recalled["made"]
    held = max(recalled["indexes"], told["indexes"])
    bound = _BOUND_TIMES * limits.STORE_CACHE_BYTES_DEFAULT / _MB
    before, *_, after = watch.resident
    return [
        Figure("indexes held", held[0] / _MB, "MB", limit=bound, detail={"namespaces": held[1], "of": namespaces}),
        Figure("app's memory", after, "MB", detail={"before": before, "max": max(watch.resident)}),
        Figure("an index made", made_s / namespaces * 1e3, "ms"),
        Figure("asked for and held", 100 * len(found) / max(1, len(found) + len(missed)), "%", more_is_better=True),
        _rate("recalls", recalled, cores),
        _times("recall where the index is held", found),
        _times("recall where it is made", missed),
        _rate("remembers", told, cores),
        _times("remember", [*told["held"], *told["made"]]),
    ]


def _filled(count: int, seconds: float) -> Figure:
    return Figure("filled", count / seconds, "/s", more_is_better=True, detail={"memories": count, "s": seconds})


def _rate(what: str, done: Mapping[str, Any], cores: int) -> Figure:
    count = len(done["held"]) + len(done["made"])
    rate = count / done["seconds"]
    detail = {"a core": rate / cores, "app's processor, ms a call": 1e3 * done["cpu_s"] / max(1, count)}
    return Figure(what, rate, "/s", more_is_better=True, detail=detail)


def _times(what: str, seconds: Sequence[float]) -> Figure:
    if not seconds:
        return Figure(what, 0.0, "ms", detail={"calls": 0})
    detail = {"p99": quantile(seconds, 0.99) * 1e3, "calls": len(seconds)}
    return Figure(what, quantile(seconds, 0.5) * 1e3, "ms", detail=detail)


def _server_figures(watch: _Watch, relations: int) -> list[Figure]:
    if watch.ask is None:
        return []
    before, room = watch.locks[0], watch.asked(_LOCKS_MAX)
    now = watch.asked(_RELATIONS)
    return [
        Figure(
            "locks held on the server, max", max(watch.locks), "", limit=room,
            detail={"at the start": before, "looks": len(watch.locks)},
        ),
        Figure("tables and indexes", now, "", detail={"before any namespace": relations}),
    ]  # fmt: skip


def _named(store: str, figure: Figure, before: Sequence[Figure]) -> Figure:
    """A figure with the store's name before it, and beside SQLite's if that was measured before."""
    known = {one.name: one.value for one in before}
    beside = known.get(figure.name) if store else None
    detail = {**figure.detail, **({"times SQLite's": figure.value / beside} if beside else {})}
    return Figure(
        f"{store}{figure.name}", figure.value, figure.unit, figure.limit, figure.more_is_better, detail=detail
    )


def _said(step: Step, before: str) -> Callable[[str, int, int], None]:
    return lambda what, done, of: step(f"{before}{what}", done, of)


@contextmanager
def _asked(url: str) -> Iterator[Callable[[str], int]]:
    """Answers statements of a database with a number, on a connection of its own."""
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(url, autocommit=True) as db:

        def ask(statement: str) -> int:
            row = db.execute(statement.encode()).fetchone()
            return int(row[0]) if row else 0

        yield ask


def _resident_mb(pid: int) -> float:
    """The memory of a process that is in RAM; 0 where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / _MB
