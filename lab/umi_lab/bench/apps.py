"""Several app processes on one PostgreSQL, and on one SQLite file: `umi bench apps`.

How many recalls and remembers they do together, on one namespace and on many, and whether one shows at once what another has written. Each
process has its own embedder and its own indexes, as apps have; server and apps share the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from umi.bench.filling import fill_like, likely_vectors
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.bench.texts import turns
from umi.memory import Memory
from umi.providers.local import LocalEmbedder
from umi_lab.bench.app_processes import Worker, ordered, started
from umi_lab.bench.postgres import database

APPS_DEFAULT: Final = (1, 2, 4)
SECONDS_DEFAULT: Final = 8.0
ONE: Final = "one namespace"
MANY: Final = "16 namespaces"
WRITES_DEFAULT: Final = 200
SQLITE: Final = "SQLite: "  # before the name of each of its figures
_SEED: Final = 41
_TURN_WORDS: Final = 26
_ONE_COUNT: Final = 2_000  # messages
_EACH_COUNT: Final = 200
_NAMESPACES: Final[Mapping[str, tuple[str, ...]]] = {ONE: ("one",), MANY: tuple(f"many-{n}" for n in range(16))}


async def measure(
    apps: Sequence[int] = APPS_DEFAULT,
    seconds: float = SECONDS_DEFAULT,
    server: str | None = None,
    *,
    clients: int = 0,
    writes: int = WRITES_DEFAULT,
    step: Step = lambda _what, _done, _of: None,
) -> Report:
    """Start so many app processes, one number after the other, and count what they do.

    Args:
        apps: Numbers of processes.
        seconds: How long they recall, and then remember, on one namespace and on many.
        server: A server of PostgreSQL to make a database on; None starts one.
        clients: How many call at once, all processes together, at least one in each; 0 is one in each.
        writes: How many one process makes while the others watch.
        step: Told what is being done.
    """
    machine = machine_facts()
    figures: list[Figure] = []
    with database(server) as url, TemporaryDirectory(prefix="umi-apps-") as folder:
        stores = {SQLITE: str(Path(folder) / "apps.db"), "": url}
        step("filling", 0, 0)
        for address in stores.values():
            await _fill(address)
        for count in sorted(apps):
            for store, address in stores.items():
                step(f"{store}{count} app processes", 0, 0)
                with started(address, count) as workers:
                    rates = await asyncio.to_thread(_rates, workers, seconds, max(1, clients // count))
                    figures += _rate_figures(store, count, rates, figures, machine["cores"])
                    if count > 1 and not store:
                        figures += _fresh_figures(
                            count, *await asyncio.to_thread(_watched, workers, f"fresh-{count}", writes)
                        )
    notes = (
        f"{clients or 'as many'} clients{'' if clients else ' as processes'}; a core: of the machine's, which apps and server share",
        f"{ONE}: {_ONE_COUNT:,} messages; {MANY}: {_EACH_COUNT} each, all asked by every process; local embedder, in each process",
        "late: recalls that began after a write of another process was acknowledged, and did not show it",
        "shown after: from the acknowledgement to the end of the first recall of each other process that shows it; a recall's own time is in it",
    )
    return Report("App processes on one PostgreSQL, and on one SQLite file", tuple(figures), machine, notes)


async def _fill(url: str) -> None:
    embedder = LocalEmbedder()
    likely = await likely_vectors(embedder, 200)
    async with Memory.open(url, embedder=embedder) as memory:
        for names, count in ((_NAMESPACES[ONE], _ONE_COUNT), (_NAMESPACES[MANY], _EACH_COUNT)):
            for place, name in enumerate(names):
                storage = memory.switch(name)._open.storage  # noqa: SLF001 - beneath the facade
                await fill_like(storage, likely, turns(_SEED + place, count, _TURN_WORDS), count, lambda _done: None)


def _rates(workers: Sequence[Worker], seconds: float, clients: int) -> dict[tuple[str, str], float]:
    """Calls a second of all together, by job and namespaces."""
    found = {}
    for where, names in _NAMESPACES.items():
        for job in ("recall", "remember"):
            order = {"job": job, "namespaces": names, "seconds": seconds, "clients": clients}
            ordered(workers, [{**order, "seconds": seconds / 8}] * len(workers))  # builds the indexes
            found[job, where] = sum(ordered(workers, [order] * len(workers))) / seconds
    return found


def _rate_figures(
    store: str, count: int, rates: Mapping[tuple[str, str], float], before: Sequence[Figure], cores: int
) -> list[Figure]:
    known = {figure.name: figure.value for figure in before}
    made = []
    for (job, where), rate in rates.items():
        rest = f"{job}s, {where}"
        others = {"times one process": f"{store}1 app, {rest}", "times SQLite's": f"{SQLITE}{_apps(count)}, {rest}"}
        detail = {"a core": rate / cores} | {what: rate / known[one] for what, one in others.items() if known.get(one)}
        made.append(Figure(f"{store}{_apps(count)}, {rest}", rate, "/s", more_is_better=True, detail=detail))
    return made


def _apps(count: int) -> str:
    return f"{count} app{'s' if count > 1 else ''}"


Seen = Sequence[tuple[float, float, int]]


def _watched(workers: Sequence[Worker], namespace: str, count: int) -> tuple[list[float], list[Seen]]:
    """One process writes and the others recall: when each write was acknowledged, and what each recall saw."""
    rest = {"namespace": namespace, "count": count}
    acknowledged, *seen = ordered(workers, [{"job": "write", **rest}, *[{"job": "watch", **rest}] * (len(workers) - 1)])
    return acknowledged, seen


def _fresh_figures(count: int, acknowledged: Sequence[float], seen: Sequence[Seen]) -> list[Figure]:
    late, shown = lateness(acknowledged, seen)
    recalls = sum(map(len, seen))
    times = {name: quantile(shown, part) * 1e3 for name, part in (("p99", 0.99), ("max", 1.0))} if shown else {}
    times["a recall, p50"] = quantile([ended - begun for each in seen for begun, ended, _ in each], 0.5) * 1e3
    return [
        Figure(
            f"{_apps(count)}, late recalls", len(late), "", limit=0,
            detail={"of": recalls, "writes": len(acknowledged), "late by at most, ms": max(late, default=0.0) * 1e3},
        ),
        Figure(f"{_apps(count)}, shown after, p50", quantile(shown or [0.0], 0.5) * 1e3, "ms", detail=times),
    ]  # fmt: skip


def lateness(acknowledged: Sequence[float], seen: Sequence[Seen]) -> tuple[list[float], list[float]]:
    """How old what recalls missed was, and how long each write took to be shown.

    Args:
        acknowledged: When write 0, 1, ... was acknowledged, in seconds.
        seen: Of each process that watches, when a recall began and ended, and the newest write that it showed, -1 for none.

    Returns:
        For each recall that did not show a write which was acknowledged before it began, the seconds since the first such write; and for each write and
        process the seconds until the end of the first recall that showed it or a newer one, at least 0.
    """
    late, shown = [], []
    for recalls in seen:
        late += [
            begun - acknowledged[newest + 1]
            for begun, _, newest in recalls
            if newest + 1 < len(acknowledged) and acknowledged[newest + 1] < begun
        ]
        for number, at in enumerate(acknowledged):
            ends = (ended for _, ended, newest in recalls if newest >= number)
            first = next(ends, None)
            if first is not None:
                shown.append(max(0.0, first - at))
    return late, shown
