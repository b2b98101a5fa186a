"""Runs about learning from outcomes: providers of every kind, files of signals, shared and derived hits, versions, deletions, time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from umi import FileSignalProvider, IntelligenceLoader, Router
from umi.config import Config
from umi.memory import Memory
from umi.signals import JUnitSignalProvider, PullRequestSignalProvider, seal
from umi.types import OutcomeLike, ProviderQualityWeights, QualityFactors, QualitySignal, VerdictLike
from umi_lab.worlds.recorded.bounds import bounded
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.ways.kit import Stage, broken, noted, noted_now, pause, runs, there, tried, view

_HALF_DAY: Final = timedelta(hours=12)
_THINGS: Final = (
    "lamp",
    "kettle",
    "ladder",
    "rug",
    "clock",
    "mirror",
    "oven",
    "bench",
    "radio",
    "shelf",
    "carpet",
    "fan",
)
_PLACES: Final = ("kitchen", "cellar", "attic", "garage", "office")
_OUTCOMES: Final[tuple[OutcomeLike, ...]] = ("success", "failure", "partial_success")
_VERDICTS: Final[tuple[VerdictLike | None, ...]] = (None, "approved", "rejected", None)


_NO_FUNCTION: Final[Any] = 7
_MORE: Final = (
    "",
    " And why?",
    " Tell Sam.",
    " Then look for the yellow paint in every corner.",
)  # to words that signals are matched by
_NO_NUMBER: Final[Any] = True


_LONG: Final = "Where is the kettle that Sam bought beside an old river market last autumn, together with green lamps, wooden chairs and yellow paint?"


class _Said:
    """A provider that gives what it was made with, or raises it."""

    def __init__(
        self, name: str, signals: object, weights: object = None, *, aside: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.name = name
        self.signals = signals
        self.weights = weights
        self.quarantined = aside

    def load_signals(self) -> Any:
        if isinstance(self.signals, Exception):
            raise self.signals
        return self.signals

    def quality_weights(self) -> Any:
        if isinstance(self.weights, Exception):
            raise self.weights
        return self.weights


def _signal(number: int, at: datetime, **more: Any) -> QualitySignal:
    factors = None
    if number % 2:
        factors = QualityFactors(
            *(None if (number + place) % 3 == 0 else (place + number % 4) / 12 for place in range(9))
        )
    given = {"human_verdict": _VERDICTS[number % 4], "quality_factors": factors} | more
    return QualitySignal(
        f"sig{number}", f"task {number}", _OUTCOMES[number % 3], (number % 11) / 10, at.isoformat(), **given
    )


async def _fill(memory: Memory) -> None:
    for place, thing in enumerate(_THINGS):
        for where in _PLACES[: 2 + place % 3]:
            await memory.remember(f"The {thing} is in the {where}.", session=where)
    await memory.remember("The kettle moved to the garage.")
    await memory.remember("The lamp is no longer in the attic.")


def _questions(count: int) -> list[str]:
    return [
        f"Where is the {_THINGS[number % 12]}?" if number % 3 else f"What is in the {_PLACES[number % 5]}?"
        for number in range(count)
    ]


async def _loaded(_stage: Stage) -> None:
    """What a loader gives of providers that are sound, broken, alike in name, or give what is none."""
    now = datetime.fromisoformat("2030-01-01T00:00:00+00:00")
    sound = [_signal(number, now - number * _HALF_DAY) for number in range(12)]
    faulty = [
        *sound[:2],
        "no signal",
        QualitySignal("", "task", "success", 0.5, now.isoformat()),
        QualitySignal("a", "task", "won", 0.5, now.isoformat()),
        QualitySignal("b", "task", "success", 1.5, now.isoformat()),
        QualitySignal("c", "task", "success", 0.5, "yesterday"),
        QualitySignal("d", "task", "success", 0.5, "2030-01-01T00:00:00"),
        QualitySignal("e", "task", "success", 0.5, now.isoformat(), human_verdict="maybe"),
        QualitySignal("f", "x" * 20_000, "success", 0.5, now.isoformat()),
        QualitySignal("g", "task", "success", 0.5, now.isoformat(), quality_factors=QualityFactors(tests_passing=2.0)),
        QualitySignal("h", "task", "success", _NO_NUMBER, now.isoformat()),
    ]
    weighed = [
        ProviderQualityWeights(1.0, 0.0, 0.0),
        ProviderQualityWeights(0, 0, 0),
        ProviderQualityWeights(-1.0, 2.0, 0.5),
    ]
    weighed += [ProviderQualityWeights(1_000_000.0, 1.0, 1.0), ProviderQualityWeights(1_000_001.0, 1.0, 1.0)]
    providers: list[_Said] = [_Said("sound", sound), _Said("faulty", faulty, aside=[("line 3", "torn")])]
    providers += [
        _Said("broken", broken("out of order")),
        _Said("weightless", sound, broken("no scales")),
        _Said("odd", 7),
        _Said("wordy", sound, "much"),
    ]
    providers += [_Said(f"weighed{place}", sound, weights) for place, weights in enumerate(weighed)]
    loader = IntelligenceLoader()
    note("load nothing", loader.load_grouped())
    for provider in (*providers, _Said("sound", ()), _Said("feedback", ()), _Said("", ()), _Said("n" * 300, ())):
        noted_now("register_provider", loader.register_provider, provider)
    note("provider_names", [*loader.provider_names, loader.provider_count])
    note("load_all_signals", loader.load_all_signals())
    note("load_grouped", loader.load_grouped())
    note("errors", loader.errors)
    with bounded({"SIGNALS_PER_PROVIDER_COUNT_MAX": 11, "SIGNAL_FAULTS_COUNT_MAX": 3}):
        note("load_grouped of few", [(one.name, len(one.signals)) for one in loader.load_grouped()])
        note("errors", loader.errors)


async def _files(stage: Stage) -> None:
    """Signals from files: lines, arrays, sealed ones, reports of tests and outcomes of pull requests, and what is none of these."""
    folder = stage.folder / "umi-files-x"
    folder.mkdir()
    now = stage.clock.now()
    async with stage.learning(stage.url("files"), embedder=stage.embedder()) as memory:
        await _fill(memory)
        recalls = [await memory.recall(asked, task_id=f"task{place % 5}") for place, asked in enumerate(_questions(20))]
    signals = [
        _signal(
            place,
            now - place * _HALF_DAY,
            recall_id=one.id if place % 2 else None,
            task_id=None if place % 3 else f"task{place % 5}",
        )
        for place, one in enumerate(recalls)
    ]
    records = [asdict(one) for one in signals]
    _write(folder, records)
    key = b"sixteen bytes at least"
    providers = [
        FileSignalProvider(folder),
        FileSignalProvider(folder / "a.jsonl", name="lines", weights=ProviderQualityWeights(0.2, 0.2, 0.6)),
        FileSignalProvider(folder / "d.json", name="no array"),
        FileSignalProvider(folder / "nowhere", name="nothing"),
        FileSignalProvider(folder, name="sealed", key=key),
        JUnitSignalProvider(folder / "e.xml", name="tests"),
        PullRequestSignalProvider(folder / "g.json", name="requests"),
    ]
    noted_now("a short key", FileSignalProvider, folder, key=b"short")
    noted_now("no path", FileSignalProvider, "")
    noted_now("seal", lambda: seal(folder / "b.json", key).read_text("ascii"))
    noted_now("seal of nothing", seal, folder / "nowhere", key)
    for provider in providers:
        noted_now(f"load_signals of {provider.name}", provider.load_signals)
        note("quarantined", provider.quarantined)
    loader = IntelligenceLoader(providers[:5])
    async with stage.learning(stage.url("files"), embedder=stage.embedder(), intelligence=loader) as memory:
        for _ in range(2):
            await tried(memory.learning.run(progress=lambda done, of: note("progress", (done, of))))
        await _learned(memory)
        (folder / "a.jsonl").write_text(
            "\n".join(json.dumps(one | {"outcome": "failure"}) for one in records[:6]), "utf-8"
        )
        await tried(memory.learning.run())
        await memory.learning.status()
        for asked in _questions(8):
            await memory.recall(asked, explain=True)


def _write(folder: Path, records: list[dict[str, Any]]) -> None:
    lines = [json.dumps(one) for one in records[:8]]
    (folder / "a.jsonl").write_text("\n".join([*lines, "", "{torn", "7", json.dumps({"id": "few"})]), "utf-8")
    (folder / "b.json").write_text("\ufeff" + json.dumps(records[8:14]), "utf-8")
    (folder / "c.json").write_text(json.dumps([*records[12:], {"id": "odd", "outcome": "success"}, None]), "utf-8")
    (folder / "d.json").write_text('{"id": 1}', "utf-8")
    (folder / "f.json").write_bytes(b"\xff\xfe")
    (folder / "e.xml").write_text(_REPORT, "utf-8")
    (folder / "g.json").write_text(json.dumps(_REQUESTS), "utf-8")
    (folder / "b.json.hmac").write_text("0" * 64, "ascii")


_REPORT: Final = """<testsuites><testsuite name="units" timestamp="2029-12-30T10:00:00+00:00" tests="3" time="1.5">
<testcase classname="shelf" name="holds" time="0.5"/><testcase classname="shelf" name="falls"><failure message="it fell"/></testcase>
<testcase classname="fan" name="turns"><skipped/></testcase></testsuite><testsuite name="none" tests="0"/></testsuites>"""
_REQUESTS: Final = [
    {
        "number": 7,
        "title": "Mend the fan",
        "merged": True,
        "state": "closed",
        "merged_at": "2029-12-30T10:00:00Z",
        "closed_at": "2029-12-30T10:00:00Z",
        "reviewDecision": "APPROVED",
    },
    {"number": 8, "title": "Move the rug", "state": "closed", "merged_at": None, "closed_at": "2029-12-31T10:00:00Z"},
    {"number": 9, "title": "Open still", "state": "open"},
    "none",
]


async def _learned(memory: Memory) -> None:
    """What was learned of every statement and message, and how answers are moved by it."""
    page = await memory.list(limit=60)
    for step in page.items[::3]:
        await tried(memory.learning.explain(step.entity.id))
        await tried(memory.learning.explain(step.entity.episode_id))
        await tried(memory.why(step.entity.id))
    await tried(memory.learning.explain("en_nowhere"))
    await memory.learning.status()


async def _shared(stage: Stage) -> None:
    """Hundreds of recalls that share their hits, judged at once, twice, otherwise, and for what was used."""
    async with stage.learning(stage.url("shared"), embedder=stage.embedder()) as memory:
        await _fill(memory)
        for place, asked in enumerate(_questions(70)):
            found = await memory.recall(asked, limit=3 + place % 6, task_id=f"t{place // 4}")
            used = None if place % 3 else [hit.id for hit in found.hits[place % 2 : 2]]
            outcome = _OUTCOMES[place % 7 % 3]
            score = None if place % 2 else (place % 5) / 4
            await tried(
                memory.feedback(
                    found.id, outcome=outcome, quality_score=score, human_verdict=_VERDICTS[place % 4], used=used
                )
            )
            if place % 10 == 0:
                await tried(
                    memory.feedback(
                        found.id, outcome=outcome, quality_score=score, human_verdict=_VERDICTS[place % 4], used=used
                    )
                )
                await tried(memory.feedback(found.id, outcome="failure", used=["en_nowhere"]))
                await tried(memory.feedback(found.id, outcome="failure", quality_score=0.9))
                await pause(86_400.0 * (place % 70))
            if place % 20 == 0:
                await memory.learning.run()
        await _learned(memory)
        for to in (1, 9, 0, 2, 3):
            await tried(memory.learning.rollback(to))
            await memory.recall("Where is the kettle?", explain=True)
        await memory.learning.reset()
        await pause(86_400.0 * 200)
        await tried(memory.learning.rollback(4))
        await _learned(memory)
        for asked in _questions(12):
            await memory.recall(asked, explain=True, limit=20)


async def _derived(stage: Stage) -> None:
    """Credit along derivations, and what becomes of it where messages are deleted, reread and erased."""
    async with stage.learning(stage.url("derived")) as memory:
        await _fill(memory)
        ids = [step.entity.id for step in (await memory.list(limit=40)).items]
        layers = [ids[:3]]
        for depth in range(5):
            made = [
                await memory.remember(
                    f"So the {_THINGS[depth]} needs care {n}.", derived_from=layers[-1][n : n + 2] or layers[-1][:1]
                )
                for n in range(3)
            ]
            layers.append([entity.id for receipt in made for entity in receipt.entities])
        recalls = []
        for depth in range(5):
            found = await memory.recall(f"So which {_THINGS[depth]} needs care?", task_id=f"care of Nora {depth}")
            recalls.append(found)
            await tried(memory.feedback(found.id, outcome=_OUTCOMES[depth % 2]))
        for layer in layers:
            for id_ in layer:
                await tried(memory.learning.explain(id_))
        await memory.forget(layers[1][0])
        await memory.learning.status()
        await tried(memory.reread())
        await memory.erase("Nora")
        late = await memory.recall("Which kettle needs care?", task_id="late")
        for hit in late.hits[:1]:
            await memory.forget(hit.episode.id)
        await tried(memory.feedback(late.id, outcome="success"))
        gone = await memory.recall("What is in the attic?", limit=2)
        for hit in gone.hits:
            await memory.forget(hit.episode.id)
        await tried(memory.feedback(gone.id, outcome="failure"))
        for layer in layers[1:]:
            for id_ in layer:
                await tried(memory.learning.explain(id_))
        rows = view(memory)
        note(
            "learned",
            await rows.read(lambda s: [s.learned.counts(), s.learned.versions(), list(s.learned.scan_beliefs())]),
        )
        note("signals", await rows.read(lambda s: s.learned.signals_after(-1, 99)))
        await _learned(memory)
        await memory.erase_namespace()
        await tried(memory.feedback(recalls[0].id, outcome="success"))
        await memory.learning.status()


async def _matched(stage: Stage) -> None:
    """Signals by task, by words and by decision, early and late, in several namespaces, of providers that disagree."""
    said: dict[str, list[QualitySignal]] = {"one": [], "two": [], "three": []}
    loader = IntelligenceLoader(
        [*(_Said(name, signals) for name, signals in said.items()), _Said("broken", broken("out"))]
    )
    with bounded(
        {
            "TRAJECTORIES_UNCREDITED_COUNT_MAX": 25,
            "TASK_TRAJECTORIES_COUNT_MAX": 3,
            "LEARN_BATCH_COUNT": 7,
            "TRAJECTORIES_FLUSH_COUNT": 4,
        }
    ):
        async with stage.learning(
            stage.url("matched"), embedder=stage.embedder(), intelligence=loader, config=Config()
        ) as memory:
            other = memory.switch("other")
            await _fill(memory)
            await _fill(other)
            recalls = [
                await (memory, other)[place % 2].recall(asked, task_id=f"task{place % 6}" if place % 3 else None)
                for place, asked in enumerate(_questions(60))
            ]
            await tried(
                memory.recall("Where is the oven?", namespaces=["default", "other", "third"], task_id="several")
            )
            now = stage.clock.now()
            for place, found in enumerate(recalls):
                for number, name in enumerate(said):
                    at = now + _HALF_DAY * (place % 9 - 4)
                    one = _signal(100 * number + place, at)
                    worded = QualitySignal(
                        one.id,
                        _questions(60)[place] + _MORE[place % 4],
                        one.outcome,
                        one.quality_score,
                        one.completed_at,
                        one.human_verdict,
                        one.quality_factors,
                    )
                    by_recall = _signal(100 * number + place, at, recall_id=found.id)
                    by_task = _signal(100 * number + place, at, task_id=f"task{place % 8}")
                    by_decision = _signal(100 * number + place, at, decision_id=f"dec{place}")
                    said[name].append((worded, by_recall, by_task, by_recall, by_decision)[(place + number) % 5])
            await memory.recall(_LONG)
            words = _LONG.split()
            ended = (now + _HALF_DAY).isoformat()
            for place in range(10):
                task = " ".join(words[place:])
                said["one"].append(QualitySignal(f"long{place}", task, "success", place / 10, ended))
            for space in (memory, other):
                for _ in range(2):
                    await tried(space.learning.run(progress=lambda done, of: note("progress", (done, of))))
                await _learned(space)
            await tried(memory.learning.run(progress=_NO_FUNCTION))
            await _of_routes(stage, memory, said["one"])
            await pause(400 * 86_400.0)
            await memory.learning.status()
            for asked in _questions(10):
                await memory.recall(asked, explain=True)
                await other.recall(asked, namespaces=["other", "default"], explain=True)


async def _of_routes(stage: Stage, memory: Memory, signals: list[QualitySignal]) -> None:
    """Signals about routed tasks."""
    models = {"fast": "small", "strong": "large"}
    async with Router.open(
        models, stage.url("matched"), embedder=None, clock=stage.clock, entropy=stage.entropy
    ) as router:
        for place in range(12):
            route = there(
                await noted("choose", router.choose(f"Fix the typo number {place} in the title", kind="edit"))
            )
            recall_id = signals[place].recall_id if place % 3 == 0 else None
            signals.append(_signal(900 + place, stage.clock.now(), decision_id=route.id, recall_id=recall_id))
            signals.append(_signal(950 + place % 5, stage.clock.now(), decision_id=route.id))
        await tried(memory.learning.run())
        await tried(memory.learning.run())
        await noted("status", router.status())
    await memory.learning.status()


OUTCOMES: Final = runs(
    outcomes_loaded=_loaded,
    outcomes_files=_files,
    outcomes_shared=_shared,
    outcomes_derived=_derived,
    outcomes_matched=_matched,
)
