"""`@umi.testing.simulate`: a user's own test in many worlds, under pytest and without it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest

import umi
import umi.testing
from umi._core.clock import SystemClock
from umi.errors import InvalidInput, StoreError, StoreUnavailable
from umi.testing import FaultConfig, FaultType, World, simulate

AGENT = Path(__file__).resolve().parents[1] / "docs_src" / "test_agent.py"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "test-your-agent.md"

SAMPLE = """
import pytest
import umi.testing

ran = []

@pytest.fixture
def answer():
    return 42

@umi.testing.simulate(seeds=5)
async def test_counts(world):
    ran.append(world.seed)

@umi.testing.simulate(seeds=50)
async def test_unlucky(world):
    await world.sleep(60)
    await world.cut_power()
    assert world.rng.next_int(0, 9) != 3

class TestInAClass:
    @umi.testing.simulate(seeds=2)
    @pytest.mark.parametrize("more", [1, 2])
    async def test_with_fixtures(self, answer, world, more):
        assert answer + more > 42 and world.memory

@umi.testing.simulate(seeds=2)
def test_plain(world):
    assert world.clock.monotonic_s() == world.rng.stream.count("nothing")

def test_last():
    print("RAN", ran)
"""


def pytest_on(folder: Path, source: str, *options: str) -> str:
    (folder / "test_sample.py").write_text(source, "utf-8")
    plugin = [] if "umi.pytest_plugin" in _entry_points() else ["-p", "umi.pytest_plugin"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        "-s",
        "-q",
        *plugin,
        *options,
    ]
    done = subprocess.run([*command, "test_sample.py"], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _entry_points() -> list[str]:
    from importlib.metadata import entry_points

    return [entry.value for entry in entry_points(group="pytest11")]


def test_a_failure_names_its_seed_and_the_command_that_replays_it(tmp_path: Path) -> None:
    output = pytest_on(tmp_path, SAMPLE)
    assert "1 failed, 5 passed" in output
    assert "RAN [0, 1, 2, 3, 4]" in output
    seed = re.search(r"umi: seed (\d+) after 60\.\d+ virtual seconds; faults: none", output)
    assert seed
    assert "power cut" in output
    assert f"pytest test_sample.py::test_unlucky --umi-seed={seed[1]}" in output
    again = pytest_on(tmp_path, SAMPLE, "--umi-seed", seed[1])
    assert f"umi: seed {seed[1]} after" in again
    assert f"RAN [{seed[1]}]" in again
    other = pytest_on(tmp_path, SAMPLE, f"--umi-seed={int(seed[1]) + 1}")
    assert "6 passed" in other


def test_the_number_of_seeds_is_overridden(tmp_path: Path) -> None:
    assert "RAN [0, 1]\n" in pytest_on(tmp_path, SAMPLE, "--umi-seeds=2")
    assert "invalid" in pytest_on(tmp_path, SAMPLE, "--umi-seeds=0")


def test_a_world_without_simulate_says_what_to_do(tmp_path: Path) -> None:
    assert "decorate the test with @umi.testing.simulate" in pytest_on(tmp_path, "def test_it(world):\n    pass\n")


def test_a_run_without_a_simulated_test_imports_nothing_of_umi(tmp_path: Path) -> None:
    source = "import sys\n\ndef test_it():\n    print(sorted(name for name in sys.modules if name.startswith('umi')))\n"
    assert "['umi', 'umi.pytest_plugin']\n" in pytest_on(tmp_path, source)


def test_the_agent_of_the_tutorial_is_really_tested(tmp_path: Path) -> None:
    """Without the id that makes a repeat harmless, its power cut test fails, as the page shows it."""
    source = AGENT.read_text("utf-8")
    broken = source.replace("umi.Message(text, id=message_id)", "umi.Message(text)")
    assert broken != source
    output = pytest_on(tmp_path, broken)
    assert "1 failed, 1 passed" in output
    assert "AssertionError: assert 5 == 4" in output
    report = PAGE.read_text("utf-8").split("```console\n")[1].split("```")[0].replace("test_agent.py", "test_sample.py")
    for line in report.splitlines()[1:]:
        assert line.removeprefix("E").strip() in output


@simulate(seeds=1, faults=[FaultConfig(FaultType.LlmTimeout, count_max=60)], model=False)
async def two_hours(world: World) -> None:
    for _ in range(60):
        with pytest.raises(umi.LLMError):
            await world.llm.complete("Where does Alice work?")
    assert (await world.llm.complete("Where does Alice work?")).content
    assert world.clock.monotonic_s() > 2 * 3600


def test_two_hours_of_timeouts_take_less_than_a_second() -> None:
    clock = SystemClock()
    start = clock.monotonic_s()
    two_hours()
    assert clock.monotonic_s() - start < 1


def test_seeds_run_once_each_and_past_failures_first() -> None:
    seen: list[int] = []

    @simulate(seeds=3, first=10, also=[99, 11])
    async def sees(world: World) -> None:
        seen.append(world.seed)

    sees()
    assert seen == [99, 11, 10, 12]


def test_a_seed_decides_everything() -> None:
    seen: list[tuple[object, ...]] = []

    @simulate(seeds=4, temper=umi.sim.Temper(hostile=((umi.sim.Hostility.REFUSAL, 0.5),)))
    async def lives(world: World) -> None:
        receipt = await world.memory.remember("Alice works at Acme.")
        answer = (await world.llm.complete("Extract entities: Alice")).content
        await world.sleep(world.rng.uniform(0, 10))
        seen.append((receipt.episode_ids, answer, world.clock.monotonic_s(), world.disk.image_hash()))

    lives()
    lives()
    assert seen[:4] == seen[4:]
    assert len(set(seen)) == 4


def test_a_memory_survives_what_the_world_does_to_it() -> None:
    @simulate(seeds=5, model=False)
    async def survives(world: World) -> None:
        before = world.memory
        await before.remember("Alice works at Acme.")
        for again in (world.restart, world.kill, world.cut_power):
            memory = await again()
            assert memory is world.memory is not before
            assert (await memory.recall("Where does Alice work?", min_score=0)).hits
        world.disk.arm_power_cut(1)
        with pytest.raises(StoreError):
            await world.memory.remember("Alice lives in Lisbon.")
        await world.restart()
        assert (await world.memory.stats()).episodes == 1

    survives()


def test_a_memory_has_the_configuration_of_its_test_also_after_each_restart() -> None:
    @simulate(seeds=1, config=umi.Config(learn=True), model=False)
    async def learns(world: World) -> None:
        await world.memory.remember("Alice works at Acme.")
        for again in (world.restart, world.kill, world.cut_power):
            found = await world.memory.recall("Where does Alice work?", min_score=0)
            await world.memory.feedback(found.id, outcome="success")
            await again()
        assert (await world.memory.learning.status()).counts.signals == 3

    learns()

    @simulate(seeds=1, model=False)
    async def learns_nothing(world: World) -> None:
        with pytest.raises(InvalidInput, match="learning is off"):
            _ = world.memory.learning

    learns_nothing()


@pytest.mark.parametrize("model", [True, False])
def test_the_worlds_own_model_invents_relations_and_rules_do_not(model: bool) -> None:
    noticed = shown = 0

    @simulate(seeds=6, first=22, model=model)
    async def concludes(world: World) -> None:
        nonlocal noticed, shown
        for text in ("Alice works at Acme.", "Alice lives in Lisbon.", "Alice has two cats."):
            await world.memory.remember(text)
        noticed += sum((await world.memory.stats()).evolutions.values())
        found = await world.memory.recall("Where does Alice live?")
        shown += any("Lisbon" in hit.content for hit in found.hits)

    concludes()
    assert (noticed > 0, shown == 6) == (model, not model)


def test_only_a_power_cut_cuts_the_power() -> None:
    @simulate(seeds=1)
    async def is_hit(world: World) -> None:
        await world.restart()
        await world.kill()
        assert world.disk.power_cuts_count == 0
        await world.cut_power()
        assert world.disk.power_cuts_count == 1

    is_hit()


def test_several_tasks_may_find_the_machine_down_and_restart_it() -> None:
    @simulate(seeds=5)
    async def both(world: World) -> None:
        world.disk.cut_power()
        await asyncio.gather(world.restart(), world.cut_power(), world.restart())
        await world.memory.remember("Alice lives in Rome.")

    both()


def test_tasks_go_on_in_an_order_of_the_seed() -> None:
    def orders(order: Literal["fifo", "seeded"]) -> set[tuple[int, ...]]:
        seen: set[tuple[int, ...]] = set()

        @simulate(seeds=5, order=order)
        async def mixes(world: World) -> None:
            came: list[int] = []

            async def come(number: int) -> None:
                came.append(number)

            await asyncio.gather(*map(come, range(6)))
            seen.add(tuple(came))

        mixes()
        return seen

    assert orders("fifo") == {tuple(range(6))}
    assert len(orders("seeded")) > 1


DISK_FAULTS = [
    FaultType.StorageReadFail, FaultType.StorageWriteFail, FaultType.StorageSyncFail, FaultType.StorageFull, FaultType.PowerCut,
]  # fmt: skip


def test_a_store_that_never_opens_is_an_error_that_names_the_way_out() -> None:
    @simulate(seeds=1, faults=[FaultConfig(FaultType.StorageWriteFail)])
    async def never(world: World) -> None:
        raise AssertionError

    said = (
        r"60 tries: .*failed.*register them inside the test, world\.faults\.register\(\.\.\.\), or give them after=200"
    )
    with pytest.raises(StoreUnavailable, match=said) as caught:
        never()
    assert isinstance(caught.value.__cause__, StoreError)


@pytest.mark.parametrize("fault", DISK_FAULTS)
def test_both_ways_out_let_a_store_be_made_and_then_fail(fault: FaultType) -> None:
    @simulate(seeds=1, faults=[FaultConfig(fault, after=200)], model=False)
    async def fails_later(world: World) -> None:
        with pytest.raises(StoreError):  # noqa: PT012 - whichever call the 201st is in
            for number in range(400):
                await world.memory.remember(f"Room {number} is free.")
                await world.restart() if fault is FaultType.StorageReadFail else None
        assert world.faults.fired[fault]

    fails_later()

    @simulate(seeds=1, model=False)
    async def fails_at_once(world: World) -> None:
        world.faults.register(FaultConfig(fault))
        if fault is FaultType.StorageReadFail:
            with pytest.raises(StoreUnavailable, match=r"or end them before it is opened again: world\.faults\.stop"):
                await world.restart()
        else:
            with pytest.raises(StoreError):
                await world.memory.remember("Room 1 is free.")
        assert world.faults.fired[fault]

    fails_at_once()


def test_endless_waiting_is_an_error() -> None:
    @simulate(seeds=1)
    async def waits(world: World) -> None:
        await asyncio.Event().wait()

    with pytest.raises(umi.sim.Deadlock) as error:
        waits()
    assert any("--umi-seed=0" in note for note in error.value.__notes__)


def test_wrong_use_is_refused() -> None:
    with pytest.raises(InvalidInput, match="seeds"):
        simulate(seeds=0)
    with pytest.raises(InvalidInput, match="simulate\\(seeds=200\\)"):
        simulate(test_wrong_use_is_refused)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no argument 'world'"):
        simulate()(lambda: None)

    async def steps(world: World) -> AsyncIterator[int]:
        yield world.seed

    def plain(world: World) -> Iterator[int]:
        yield world.seed

    for never_run in (steps, plain):
        with pytest.raises(InvalidInput, match="has a `yield`"):
            simulate()(never_run)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"faults": FaultConfig(FaultType.LlmTimeout)}, r"faults is a list of FaultConfig, .*not FaultConfig\("),
        ({"faults": [FaultType.LlmTimeout]}, "faults is a list of FaultConfig, .*not <FaultType.LlmTimeout"),
        ({"temper": 0.5}, "temper is a Temper or None, not 0.5"),
        ({"config": {"learn": True}}, "config is a Config or None, not {'learn': True}"),
        ({"order": "lifo"}, "order is 'seeded' or 'fifo', not 'lifo'"),
        ({"embedder": "no"}, "embedder must be True or False, got 'no'"),
        ({"model": None}, "model must be True or False, got None"),
        ({"virtual_s_max": float("nan")}, "virtual_s_max must be a number of seconds, 0 or more, got nan"),
        ({"steps_count_max": 0}, "steps_count_max is 0, it must lie in 1.."),
        ({"also": 3}, "also a list of seeds, whole numbers, not 0 and 3"),
        ({"first": "0"}, "first is a seed .*not '0'"),
    ],
)
def test_a_wrong_setting_is_named_where_it_is_written(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        simulate(**wrong)  # type: ignore[arg-type]


@simulate(seeds=1)
async def test_no_world_sleeps_for_no_number_of_seconds(world: World) -> None:
    for seconds in (float("nan"), float("inf"), -1.0, "60"):
        with pytest.raises(InvalidInput, match="seconds must be a number of seconds, 0 or more"):
            await world.sleep(seconds)  # type: ignore[arg-type]
