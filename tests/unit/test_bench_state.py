"""The state suite: its banks are whole, its histories are what they say, and its marks tell right from wrong."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import umi
from umi.errors import InvalidInput
from umi.faces.cli.main import app
from umi_lab.bench import phrases, state
from umi_lab.bench.state_histories import DISTRACTORS_LEAST, Ask, History, Kind, Purpose, Said, make
from umi_lab.bench.state_run import Measure, Result, run

TOLD = Path(__file__).parents[2] / "lab" / "tools" / "banks"  # held out once, and looked at since
BANKS = [phrases.DEVELOPMENT, phrases.HELD_OUT, *(str(path) for path in sorted(TOLD.glob("*.toml")))]
TOPICS = {topic.name: topic for topic in phrases.TOPICS}


# Banks.


@pytest.mark.parametrize("name", BANKS)
def test_a_bank_is_whole_and_has_fifteen_phrasings_of_each_change(name: str) -> None:
    bank = phrases.load(name)
    for change in ("updated", "corrected", "retracted", "forgotten", "claimed", "added", "concluded"):
        assert bank.count(change) >= 15, change


def test_what_is_wrong_with_a_bank_is_said() -> None:
    tables = tomllib.loads(phrases.path_of(phrases.DEVELOPMENT).read_text("utf-8"))
    assert phrases.problems(tables) == []
    tables["weather"] = {}
    tables["my_job"]["mood"] = []
    tables["my_job"]["asked"] = ["Where do I work, {value}?"]
    tables["price"]["updated"][0] = "It went up to {new}."
    tables["price"]["updated"][1] = tables["price"]["updated"][2]
    tables["price"]["stated"][0] = "{subject} costs {value"
    tables["plan"]["concluded"] = [["{subject} is near."]]
    found = "\n".join(phrases.problems(tables))
    for part in (
        "[weather] is no topic",
        "[my_job] mood is no field",
        "[my_job] asked: 1 phrases, 5 wanted",
        "may not hold {value}",
        "lacks {subject}",
        "is there twice",
        "cannot be read",
        "is not 3 sentences",
    ):
        assert part in found


def test_an_unknown_bank_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"give development, held_out or the path of a TOML file"):
        phrases.load("first")


# Histories.


@pytest.mark.parametrize("name", BANKS)
def test_histories_are_the_same_for_a_seed_and_hold_what_they_promise(name: str) -> None:
    bank = phrases.load(name)
    for number in range(100):
        history = make(bank, 0, number)
        assert make(bank, 0, number) == history
        keys = [said.key for said in history.said]
        assert len(set(keys)) == len(keys)
        assert sum(said.is_distractor for said in history.said) >= DISTRACTORS_LEAST
        assert [said.at for said in history.said] == sorted(said.at for said in history.said)
        assert not [said.text for said in history.said if "{" in said.text or "\n" in said.text]
        assert history.asks
        named = {*history.over, *history.stale, *history.claims, *history.items, *history.changes, *history.same_kind}
        assert named <= set(keys)
        place = {key: at for at, key in enumerate(keys)}
        assert all(place[source] < place[said.key] for said in history.said for source in said.sources)
        assert all(place[old] < place[history.changes[-1]] for old in history.over if history.changes)
    assert make(bank, 1, 0) != make(bank, 0, 0)


def test_ten_histories_are_one_of_each_kind_and_fifty_keep_the_shares() -> None:
    bank = phrases.load(phrases.DEVELOPMENT)
    kinds = [make(bank, 0, number).kind for number in range(50)]
    assert sorted(kinds[:10]) == sorted(Kind)
    assert kinds.count(Kind.UPDATE) == 10
    assert kinds.count(Kind.DIAMOND) == 3


def test_conclusions_are_three_deep_and_diamonds_have_two_sources() -> None:
    bank = phrases.load(phrases.DEVELOPMENT)
    found = {kind: [h for h in (make(bank, 0, n) for n in range(100)) if h.kind is kind] for kind in Kind}
    for history in found[Kind.CHAIN]:
        sources = {said.key: said.sources for said in history.said if said.sources}
        assert [sources[key] for key in history.stale[1:]] == [(key,) for key in history.stale[:-1]]
        assert len(history.stale) == 3
    assert all(any(len(said.sources) == 2 for said in history.said) for history in found[Kind.DIAMOND])
    alone = [h for h in found[Kind.DIAMOND] if sum(":stated" in s.key for s in h.said) == 2]
    assert alone, "some diamonds rest on a second fact that stays"


# Marks.


def day(month: int) -> datetime:
    return datetime(2026, month, 5, 9, tzinfo=UTC)


def told(kind: Kind, *texts: tuple[str, str]) -> History:
    history = History(0, kind, TOPICS["their_job"])
    history.said = [Said(key, text, day(place + 1)) for place, (key, text) in enumerate(texts)]
    return history


async def marks(history: History, tmp_path: Path) -> dict[Measure, tuple[int, int]]:
    async with umi.Memory.open(str(tmp_path / "m.db"), embedder=None) as memory:
        result = await run(memory, history)
    return {mark.measure: (mark.hits, mark.of) for mark in result.marks}


async def test_a_change_that_is_noticed_is_right_in_every_way(tmp_path: Path) -> None:
    history = told(
        Kind.CHAIN,
        ("s0:stated", "Alice works at Acme."),
        ("s1:concluded", "Alice can open the lab."),
        ("d0", "Bob works at Acme."),
        ("s2:updated", "Alice left Acme and joined StartupX."),
    )
    history.said[1] = Said("s1:concluded", "Alice can open the lab.", day(2), ("s0:stated",))
    history.over, history.changes, history.stale = {"s0:stated"}, ["s2:updated"], ["s1:concluded"]
    history.expect(umi.EvolutionType.UPDATE, "s0:stated", "s2:updated")
    asked = "Where does Alice work?"
    history.asks = [
        Ask(Purpose.NOW, asked, frozenset({"s2:updated"}), frozenset({"s0:stated", "s1:concluded"})),
        Ask(Purpose.THEN, asked, frozenset({"s0:stated"}), as_of=day(3)),
    ]
    assert await marks(history, tmp_path) == {
        Measure.WRONG: (0, 2),
        Measure.HIDDEN: (0, 2),
        Measure.ACTED: (1, 1),
        Measure.LEAK: (0, 1),
        Measure.CURRENT: (1, 1),
        Measure.AS_OF: (1, 1),
        Measure.CASCADE: (1, 1),
        Measure.CASCADE_GIVEN: (1, 1),
        Measure.UNDO: (1, 1),
        Measure.UPDATE_PRECISION: (1, 1),
        Measure.UPDATE_RECALL: (1, 1),
    }


async def test_a_change_that_nobody_notices_leaks(tmp_path: Path) -> None:
    history = told(Kind.UPDATE, ("s0:stated", "Alice works at Acme."), ("s1:updated", "Zork blip StartupX, Alice!"))
    history.over, history.changes = {"s0:stated"}, ["s1:updated"]
    history.expect(umi.EvolutionType.UPDATE, "s0:stated", "s1:updated")
    history.asks = [
        Ask(Purpose.NOW, "Where does Alice work?", frozenset({"s1:updated"}), frozenset({"s0:stated"})),
        Ask(Purpose.GONE, "Where does Alice work?", frozenset(), frozenset({"s0:stated"})),
    ]
    found = await marks(history, tmp_path)
    assert found[Measure.ACTED] == found[Measure.CURRENT] == found[Measure.ABSENCE_GONE] == (0, 1)
    assert found[Measure.LEAK] == (1, 1)
    assert found[Measure.UPDATE_RECALL] == (0, 1)
    assert Measure.UPDATE_PRECISION not in found


async def test_hiding_what_still_holds_is_a_wrong_supersession(tmp_path: Path) -> None:
    history = told(Kind.DETAIL, ("s0:stated", "Alice works at Acme."), ("d0", "Alice left Acme and joined StartupX."))
    history.asks = [Ask(Purpose.NEVER, "Who painted the harbour?")]
    found = await marks(history, tmp_path)
    assert found[Measure.WRONG] == (1, 1)
    assert found[Measure.HIDDEN] == (1, 2)
    assert found[Measure.UPDATE_PRECISION] == (0, 1)
    assert found[Measure.ABSENCE_NEVER] == (1, 1)


async def test_facts_of_the_kind_asked_for_are_no_answer_to_what_was_never_said(tmp_path: Path) -> None:
    history = told(Kind.NEVER_SAID, ("d0", "Bob works at Acme."), ("d1", "Alice likes hiking."))
    history.same_kind = {"d0"}
    history.asks = [Ask(Purpose.NEVER, "Where does Bob work?")]
    assert (await marks(history, tmp_path))[Measure.ABSENCE_NEVER] == (0, 1)


async def test_contradictions_lists_and_requests_to_forget(tmp_path: Path) -> None:
    history = told(
        Kind.ADDITION,
        ("s0:stated", "Alice speaks Korean."),
        ("s1:added", "Alice also speaks Dutch."),
        ("s2:x", "Forget it."),
    )
    history.items, history.request, history.over = ["s0:stated", "s1:added"], "s2:x", {"s0:stated"}
    history.asks = [
        Ask(Purpose.ALL, "Which languages does Alice speak?", frozenset(history.items)),
        Ask(Purpose.DISPUTED, "Which languages does Alice speak?", frozenset(history.items)),
    ]
    found = await marks(history, tmp_path)
    assert found[Measure.KEPT] == found[Measure.KEPT_SHOWN] == (1, 1)
    assert found[Measure.DISPUTED] == (0, 1)
    assert found[Measure.DELETION_ALL] == (0, 1)


# Rates.


def results(*hits: int) -> tuple[Result, ...]:
    from umi_lab.bench.state_run import Mark

    return tuple(
        Result(n, "update", "price", "updated", (Mark(Measure.CURRENT, hit, 1, "" if hit else "no"),), ("said",))
        for n, hit in enumerate(hits)
    )


def test_rates_have_intervals_and_aims() -> None:
    report = state.BankReport(phrases.HELD_OUT, results(1, 1, 1, 0))
    rate = report.rate(Measure.CURRENT)
    assert rate is not None
    assert (rate[0].value, rate[1]) == (0.75, 4)
    assert rate[0].low < 0.75 < rate[0].high
    assert report.rate(Measure.AS_OF) is None
    assert state.missed([report])
    assert not state.missed([state.BankReport("development", results(0))])
    whole = state.BankReport(phrases.HELD_OUT, results(1, 1))
    perfect = whole.rate(Measure.CURRENT)
    assert perfect is not None
    assert perfect[0].low < perfect[0].high == 1
    assert not state.missed([whole])
    plain = json.loads(json.dumps(report.as_json()))
    assert plain["rates"]["current fact first"]["ok"] is False
    assert plain["by_topic"]["price"]["current fact first"]["of"] == 4
    assert [line for line in report.misses() if "* current fact first: no" in line]


async def test_no_histories_are_refused() -> None:
    with pytest.raises(InvalidInput, match="histories"):
        await state.measure(["development"], histories=0)


@pytest.mark.slow
def test_the_command_tells_ten_histories_and_writes_the_misses(tmp_path: Path) -> None:
    target = tmp_path / "misses.txt"
    arguments = ["--bank", "development", "--histories", "10", "--failures", str(target), "--json"]
    done = CliRunner().invoke(app, ["bench", "state", *arguments])
    assert done.exit_code == 0, done.output
    bank = json.loads(done.output)["data"]["banks"]["development"]
    assert bank["histories"] == 10
    assert bank["rates"]["wrong supersession"]["rate"] <= 0.5
    for measure in (Measure.CURRENT, Measure.LEAK, Measure.AS_OF, Measure.CASCADE, Measure.DELETION, Measure.ABSENCE):
        assert bank["rates"][measure.value]["of"] >= 1, measure
    assert target.read_text("utf-8").count("==") >= 1
