"""Many worlds: sums, failures, what ends a sweep early, and the commands on top."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from umi._evolution import states
from umi.errors import InvalidInput
from umi.faces.cli.main import app
from umi.types import HitState
from umi_lab.worlds import sweep as sweeps
from umi_lab.worlds.plan import make_plan
from umi_lab.worlds.report import failure_text, markdown, outcome_text, sweep_text
from umi_lab.worlds.saved import plan_to_json
from umi_lab.worlds.steps import Plan
from umi_lab.worlds.sweep import Item, SweepReport, known_worlds, parse_worlds, sweep
from umi_lab.worlds.world import run_plan


@pytest.fixture
def stale_never(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: conclusions never grow stale."""
    right = states.StateResolver._state

    def wrong(self: states.StateResolver, entity: object) -> HitState:
        state = right(self, entity)  # type: ignore[arg-type]
        return HitState.CURRENT if state is HitState.STALE else state

    monkeypatch.setattr(states.StateResolver, "_state", wrong)


def umi_sim(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["sim", *arguments])
    return done.exit_code, done.output


def sums(report: SweepReport) -> dict[str, object]:
    told = report.as_json()
    for name in ("real_s", "jobs", "worlds_per_s_per_core"):
        told.pop(name)
    return told


def test_a_sweep_counts_what_its_worlds_did() -> None:
    alone = [run_plan(make_plan(seed)) for seed in range(3)]
    report = sweep(range(3), jobs=1, known=())
    assert report.failed == 0, sweep_text(report)
    assert report.totals.worlds == 3
    assert report.totals.steps == sum(len(outcome.plan.steps) for outcome in alone)
    assert report.totals.power_cuts == sum(outcome.power_cuts for outcome in alone) > 0
    assert report.totals.features == sum((outcome.features for outcome in alone[1:]), alone[0].features)
    assert report.totals.faults.total() == sum(outcome.faults.total() for outcome in alone) > 0
    assert report.totals.with_restart == 3
    assert report.totals.restarts == sum(outcome.restarts - 1 for outcome in alone), "the first opening is none"


@pytest.mark.slow
def test_processes_find_the_same_as_one() -> None:
    told: list[tuple[int, int, int]] = []
    apart = sweep(range(2), jobs=2, known=[3], progress=lambda *now: told.append(now))
    assert sums(apart) == sums(sweep(range(2), jobs=1, known=[3]))
    assert told[0] == (0, 3, 0)
    assert told[-1] == (3, 3, 0)
    assert apart.replayed == 1


@pytest.mark.slow
@pytest.mark.usefixtures("stale_never")
def test_a_failure_is_shrunk_and_told_with_what_replays_it() -> None:
    report = sweep(range(4), jobs=1, known=())
    assert report.failed == report.kinds.total() > 0
    assert len(report.failures) == len(report.kinds), "one of each kind"
    first = report.failures[0]
    assert first.shrunk is not None
    assert len(first.shrunk.steps) <= 5
    text = failure_text(first)
    assert text.startswith(f"seed {first.seed} fails: {first.failure}\n")
    assert all(step.line() in text for step in first.shrunk.steps)
    assert all(line in text for line in first.trace)
    assert 0 < len(first.trace) <= 12
    assert text.endswith(f"umi sim replay {first.seed} --shrink")
    assert text in sweep_text(report)
    assert text in markdown(report)


def test_the_first_of_a_kind_is_kept_in_whatever_order_worlds_come_back() -> None:
    report = SweepReport(range(0), 1)
    running = sweeps._Sweep(report, [], lambda *_: None, threading.Event())
    for position in (7, 3, 9):
        failure = sweeps.Failure(100 + position, f"#{position} is gone", position)
        running._take(sweeps._Chunk(sweeps.Totals(1), [failure]))
    running._take(sweeps._Chunk(sweeps.Totals(1), [sweeps.Failure(1, "something else", 1)]))
    assert [failure.seed for failure in report.failures] == [1, 103]
    assert report.kinds == {"#N is gone": 3, "something else": 1}


def test_a_harness_that_raises_is_a_failure_of_that_world() -> None:
    broken = Plan(5, (make_plan(0).steps[0],), faults=("no fault",))  # type: ignore[arg-type]
    report = sweep(range(2), jobs=1, known=[broken])
    assert report.totals.worlds == 3
    assert [failure.seed for failure in report.failures] == [5]
    assert "the simulation itself failed" in report.failures[0].failure


def test_a_world_that_hangs_is_a_failure() -> None:
    def world() -> None:
        with sweeps._bounded(0.05):
            while True:
                pass

    with pytest.raises(sweeps.WorldHangs, match="no end after"):
        world()


class Deadly(Plan):
    """A world that takes its process down as soon as it arrives there."""

    def __reduce__(self) -> tuple[object, ...]:
        return os._exit, (9,)


def test_a_process_that_dies_takes_only_its_world_along() -> None:
    report = sweep(range(3), jobs=2, known=[Deadly(77, ())], shrinking=False)
    assert report.totals.worlds == 4
    assert [(failure.seed, failure.failure) for failure in report.failures] == [(77, "the process died in this world")]


def test_a_sweep_can_be_stopped() -> None:
    stop = threading.Event()
    report = sweep(range(1000), jobs=1, known=(), stop=stop, progress=lambda done, *_: done and stop.set())
    assert report.interrupted
    assert 0 < report.totals.worlds < 1000
    assert "stopped early" in sweep_text(report)


def _heed_interrupts() -> None:
    """A run in the background hands down that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _wait_for_workers(pid: int, count: int) -> None:
    """Wait until a process has started so many others: on a busy machine that takes many seconds."""
    for _ in range(600):
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
        if len(children.stdout.split()) >= count:
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} started no {count} workers within a minute")


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal here")
def test_ctrl_c_ends_a_sweep_with_what_is_known() -> None:
    command = [sys.executable, "-m", "umi", "sim", "sweep", "--seeds", "5000", "--jobs", "2", "--json"]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - one thread
    )
    try:
        _wait_for_workers(running.pid, 2)
        threading.Timer(1.0, running.send_signal, [signal.SIGINT]).start()
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
    told = json.loads(out)
    assert (running.returncode, told["status"]) == (130, "interrupted"), err
    assert told["data"]["interrupted"]
    assert "Traceback" not in err


HOLDING = """
import fcntl, sys, time
from umi_lab.worlds.sweep import processes

def hold(path):
    with open(path, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write("held")
        held.flush()
        time.sleep(60)

if __name__ == "__main__":
    with processes(1) as pool:
        pool.submit(hold, sys.argv[1]).result()
"""


def test_workers_end_with_whoever_asked_for_them(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    script, path = tmp_path / "holding.py", tmp_path / "held"
    script.write_text(HOLDING)
    asking = subprocess.Popen([sys.executable, str(script), str(path)])
    while not (path.exists() and path.read_text()):
        assert asking.poll() is None
        time.sleep(0.05)
    asking.kill()
    asking.wait()
    with path.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as soon as the worker has ended; in a minute it would by itself
    assert time.time() - path.stat().st_mtime < 50


def test_jobs_are_at_least_one() -> None:
    with pytest.raises(InvalidInput, match="jobs"):
        sweep(range(1), jobs=0)


def test_known_worlds_are_seeds_and_plans() -> None:
    plan = make_plan(4)
    text = f"# a comment\n\n12  # lost a # write\n-3\n{json.dumps(plan_to_json(plan))}  # twice\n"
    assert parse_worlds(text) == (12, -3, plan)
    with pytest.raises(InvalidInput, match="line 1"):
        parse_worlds("seed twelve")


def test_past_failures_do_not_fail_any_more() -> None:
    past: tuple[Item, ...] = known_worlds()
    report = sweep(range(0), jobs=1, known=past)
    assert report.totals.worlds == len(past)
    assert report.failed == 0, sweep_text(report)


def test_a_report_has_its_tables() -> None:
    page = markdown(sweep(range(1), jobs=1, known=()))
    for part in ("| seeds | 0 to 0 |", "| worlds run | 1 |", "## Faults that fired", "## Features confirmed", "None."):
        assert part in page


# The commands.


def test_run_shows_a_world() -> None:
    code, output = umi_sim("run", "3", "--trace")
    outcome = run_plan(make_plan(3))
    assert code == 0
    assert outcome_text(outcome, trace=True) in output
    assert outcome.trace[-1] in output
    code, output = umi_sim("run", "3", "--json")
    assert (code, json.loads(output)["data"]["trace_hash"]) == (0, outcome.trace_hash)


@pytest.mark.usefixtures("stale_never")
def test_a_failure_is_replayed_shrunk_saved_and_replayed_from_the_file(tmp_path: Path) -> None:
    seed = next(seed for seed in range(100) if run_plan(make_plan(seed)).failure)
    file = tmp_path / "plan.json"
    code, output = umi_sim("replay", str(seed), "--shrink", "--save", str(file), "--json")
    told = json.loads(output)
    assert (code, told["status"]) == (1, "failed")
    assert len(told["data"]["steps"]) <= 5
    assert json.loads(file.read_text("utf-8")) == told["data"]["plan"]
    code, output = umi_sim("replay", str(file))
    assert code == 1
    assert all(step in output for step in told["data"]["steps"])
    assert umi_sim("run", str(seed))[0] == 1


def test_what_holds_is_replayed_with_exit_code_zero() -> None:
    code, output = umi_sim("replay", "3")
    assert (code, "nothing was violated" in output) == (0, True)


def test_a_world_that_is_neither_seed_nor_plan_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    assert umi_sim("replay", str(tmp_path / "none.json"))[0] == 2
    assert umi_sim("replay", str(tmp_path / "bad.json"))[0] == 2
    assert umi_sim("replay", "3", "--save", str(tmp_path / "no" / "folder.json"))[0] == 2


def test_sweep_writes_its_report(tmp_path: Path) -> None:
    page = tmp_path / "sweep.md"
    code, output = umi_sim("sweep", "--seeds", "1", "--start", "5", "--jobs", "1", "--report", str(page), "--json")
    told = json.loads(output)
    assert (code, told["status"], told["data"]["seeds"]["first"]) == (0, "ok", 5)
    assert page.read_text("utf-8").startswith("# Sweep")


@pytest.mark.slow
@pytest.mark.usefixtures("stale_never")
def test_a_sweep_with_failures_leaves_with_one() -> None:
    code, output = umi_sim("sweep", "--seeds", "1", "--jobs", "1")
    assert code == 1
    assert "replay: umi sim replay" in output


def test_the_bench_counts_worlds() -> None:
    done = CliRunner().invoke(app, ["bench", "sim", "--seeds", "4", "--json"])
    figures = {figure["name"]: figure["value"] for figure in json.loads(done.output)["data"]["figures"]}
    assert figures["worlds per core"] > 0
    assert figures["operations in a world"] >= 40
    assert figures["worlds with a restart"] == 100


def test_the_command_line_does_not_load_the_simulation() -> None:
    code = "import sys, umi.faces.cli.main\nprint(sorted(name for name in sys.modules if name.startswith('umi.sim')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
