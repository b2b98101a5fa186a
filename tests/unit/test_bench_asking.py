"""One collection asked through the facade, with the local embedder."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from umi.providers.local import LocalEmbedder
from umi_lab.bench.asking import CUT, OPTIONS, UMI, UMI_ALL, Asked, Job, ask_all, first_names, lines_of
from umi_lab.bench.baselines import BM25, COSINE, ROWS
from umi_lab.bench.datasets import Collection

AT = datetime(2024, 1, 1, tzinfo=UTC)
SAID = [
    ("Ana", "I bought a red kayak in Lisbon last week."),
    ("Ben", "Our cat Miso is afraid of the vacuum cleaner."),
    ("Ana", "My sister Clara teaches chemistry at a school in Porto."),
    ("Ben", "I am baking sourdough bread for the weekend."),
    ("Ana", "I moved to Ghent, next to the old harbour."),
]


def windows_of(collection: Collection) -> Job:
    lines = lines_of(collection)
    windows = dict(zip(lines, asyncio.run(LocalEmbedder().embed_many(lines)), strict=True))
    unanswerable = {"nonsense": ["zxcv qwer blorp?"], "unanswerable": ["What is the name of our cat?"]}
    return Job(collection, unanswerable, windows, LocalEmbedder)


@pytest.fixture
def job() -> Job:
    collection = Collection("set", "store")
    for place, (speaker, text) in enumerate(SAID):
        collection.add(f"m{place}", text, at=AT + timedelta(days=place), speaker=speaker, session="1")
    collection.ask("What did Ana buy in Lisbon?", frozenset(["m0"]), "kind")
    collection.ask("zzyzx frobnicate?", frozenset(["m3"]), "kind")
    return windows_of(collection)


def asked(job: Job) -> tuple[Asked, int]:
    steps: list[int] = []
    found = ask_all(job, lambda: steps.append(1))
    return found, len(steps)


def test_what_comes_out_of_a_store_is_noted(job: Job) -> None:
    found, steps = asked(job)
    assert steps == 4
    bought, unheard = found.outcomes
    assert set(bought.ranked) == {*ROWS, *OPTIONS}
    for row in (UMI, UMI_ALL, BM25, COSINE):
        assert bought.ranked[row][0] == "m0"
    assert not bought.refused
    assert bought.hits[0] == (bought.best[UMI], True)
    assert not any(relevant for _, relevant in bought.hits[1:])
    assert unheard.refused
    assert unheard.ranked[UMI] == ()
    assert len(unheard.ranked[UMI_ALL]) == len(SAID)
    assert 0 < unheard.best[UMI] < bought.best[UMI]
    nonsense, cat = found.refusals
    assert (nonsense.kind, nonsense.refused) == ("nonsense", True)
    assert (cat.kind, cat.refused) == ("unanswerable", False)
    assert 0 < nonsense.best[UMI] < cat.best[UMI]
    assert len(found.seconds["fast"]) + len(found.seconds["deep"]) == 2 * len(OPTIONS)
    assert len(found.seconds["deep"]) >= 2
    assert found.seconds["embedding"]


def test_a_session_is_found_once_by_its_first_hit() -> None:
    collection = Collection("set", "store", by_session=True)
    for place, (speaker, text) in enumerate([*SAID, ("Ana", "The red kayak from Lisbon leaks.")]):
        collection.add(f"m{place}", text, at=AT, speaker=speaker, session="kayaks" if place in {0, 5} else f"s{place}")
    collection.ask("What did Ana buy in Lisbon?", frozenset(["kayaks"]), "kind")
    (bought,) = ask_all(windows_of(collection), lambda: None).outcomes
    for row in (UMI_ALL, BM25, COSINE):
        assert bought.ranked[row][0] == "kayaks"
        assert len(bought.ranked[row]) == 5
    assert [relevant for _, relevant in bought.hits].count(True) == 2


def test_only_the_first_ten_names_count() -> None:
    assert first_names(["a", "b", "a", *"cdefghijkl"]) == tuple("abcdefghij")
    assert CUT == 10
