"""The smallest world that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from umi._evolution import states
from umi.errors import InvalidInput
from umi.sim.faults import FaultConfig, FaultType
from umi.types import HitState
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.plan import make_plan
from umi_lab.worlds.saved import plan_from_json, plan_to_json, read_plan
from umi_lab.worlds.shrink import Shrunk, manner, shrink, with_sources
from umi_lab.worlds.steps import Kind, Plan, Step
from umi_lab.worlds.world import run_plan

FAULTS = tuple(FaultConfig(kind, probability=0.5) for kind in (FaultType.EmbeddingFail, FaultType.StorageSlow))


def plan_of(count: int) -> Plan:
    steps = tuple(Step(number, Kind.SAY, text=f"word {number}") for number in range(1, count + 1))
    return Plan(seed=1, steps=steps, faults=FAULTS, embedder=True, model=True, twins=True, order="seeded")


def shrunk(plan: Plan, fails: Callable[[Plan], str | None], runs_max: int = 500) -> Shrunk:
    """Shrink on a stand-in for worlds: a plan fails as the rule says."""

    def run(candidate: Plan) -> Outcome:
        return Outcome(candidate, failure=fails(candidate))

    return shrink(run(plan), runs_max=runs_max, run=run)


def numbers(plan: Plan) -> set[int]:
    return {step.number for step in plan.steps}


def test_only_what_the_failure_needs_is_left() -> None:
    needed = {3, 17, 38}
    found = shrunk(plan_of(40), lambda plan: "it broke" if needed <= numbers(plan) else None)
    assert numbers(found.plan) == needed
    assert (found.plan.faults, found.plan.order) == ((), "fifo")
    assert (found.plan.model, found.plan.twins, found.plan.embedder) == (False, False, False)


def test_faults_and_switches_stay_where_they_are_needed() -> None:
    def fails(plan: Plan) -> str | None:
        return "it broke" if FAULTS[1] in plan.faults and plan.model and plan.order == "seeded" else None

    found = shrunk(plan_of(10), fails)
    assert found.plan == Plan(seed=1, steps=(), faults=(FAULTS[1],), embedder=False, model=True, order="seeded")


def test_another_failure_is_not_the_failure() -> None:
    def fails(plan: Plan) -> str | None:
        if {5, 6} <= numbers(plan):
            return "#5 'a' was lost"
        return "#5 'a' was stored twice" if 5 in numbers(plan) else None

    assert numbers(shrunk(plan_of(20), fails).plan) == {5, 6}


def test_a_power_cut_is_moved_when_it_falls_elsewhere() -> None:
    """Each step is three changes of the disk; the cut must hit the second one of the last step, which is step 12."""
    plan = replace(plan_of(12), steps=(Step(100, Kind.CUT, count=35), *plan_of(12).steps))

    def fails(candidate: Plan) -> str | None:
        said = [step.number for step in candidate.steps if step.kind is Kind.SAY]
        cuts = [step.count for step in candidate.steps if step.kind is Kind.CUT]
        return "it broke" if said[-1:] == [12] and cuts == [3 * len(said) - 1] else None

    found = shrunk(plan, fails).plan
    assert len(found.steps) <= 5
    assert fails(found)


def test_what_a_world_draws_is_drawn_anew_when_a_step_is_gone() -> None:
    """A model's mood depends on the seed and on what is asked: with fewer steps, other seeds fail."""

    def fails(candidate: Plan) -> str | None:
        return "it broke" if candidate.model and (candidate.seed - 1) % 5 == (20 - len(candidate.steps)) % 5 else None

    assert len(shrunk(plan_of(20), fails).plan.steps) <= 5


def test_a_step_refers_to_no_more_than_the_failure_needs() -> None:
    steps = (Step(1, Kind.SAY), Step(2, Kind.SAY), Step(3, Kind.CONCLUDE, refers=(1, 2)))
    found = shrunk(Plan(1, steps), lambda plan: "it broke" if any(2 in step.refers for step in plan.steps) else None)
    assert found.plan.steps == (Step(2, Kind.SAY), Step(3, Kind.CONCLUDE, refers=(2,)))


def test_it_takes_no_more_runs_than_allowed() -> None:
    found = shrunk(plan_of(200), lambda plan: "it broke" if len(plan.steps) > 100 else None, runs_max=20)
    assert found.runs == 20
    assert found.outcome.failure == "it broke"


def test_a_world_that_does_not_fail_cannot_be_shrunk() -> None:
    with pytest.raises(InvalidInput, match="did not fail"):
        shrink(Outcome(plan_of(1)))


def test_steps_go_with_what_they_refer_to() -> None:
    said, concluded = Step(1, Kind.SAY), Step(2, Kind.CONCLUDE, refers=(1,))
    further = Step(3, Kind.CONCLUDE, refers=(2,))
    assert with_sources([concluded, further]) == ()
    assert with_sources([said, concluded, further]) == (said, concluded, further)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("#5 'Bea works at Bolt.' is stale, and must be current", '#19 "Bea\'s email" is stale, and must be current'),
        ("'x' was answered by #[]; true is [3]", "'y' was answered by #[7]; true is [4, 5]"),
        ("ent_01b8dac5b939524e has no time", "ent_ffb8dac5b9395240 has no time"),
        ("north was shown south-7: 'a'", "south was shown north-12: 'b'"),
        (
            "no progress in 60 tries of #3 say north Alice 'a' day 4",
            "no progress in 60 tries of #9 say south Bea 'b' day 1",
        ),
    ],
)
def test_numbers_names_and_quotations_do_not_matter(one: str, other: str) -> None:
    assert manner(one) == manner(other)


def test_words_matter() -> None:
    assert manner("#5 'a' is stale, and must be current") != manner("#5 'a' is current, and must be stale")
    assert manner("undeclared error StoreBusy: x") != manner("undeclared error StoreError: x")


@pytest.mark.slow
def test_a_planted_bug_shrinks_to_a_handful_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conclusions that never grow stale: a real fault in the product, found by worlds, told in five steps."""
    right = states.StateResolver._state

    def wrong(self: states.StateResolver, entity: object) -> HitState:
        state = right(self, entity)  # type: ignore[arg-type]
        return HitState.CURRENT if state is HitState.STALE else state

    assert run_plan(make_plan(0)).failure is None
    monkeypatch.setattr(states.StateResolver, "_state", wrong)
    failed = next(outcome for seed in range(100) if (outcome := run_plan(make_plan(seed))).failure)
    found = shrink(failed)
    assert len(found.plan.steps) <= 5, found.plan
    assert found.plan.faults == ()
    assert shrink(failed).plan == found.plan
    monkeypatch.undo()
    assert run_plan(found.plan).failure is None


@pytest.mark.parametrize("seed", range(20))
def test_a_saved_plan_is_the_same_plan(seed: int) -> None:
    plan = make_plan(seed)
    assert plan_from_json(plan_to_json(plan)) == plan


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"seed": 1, "steps": [{"kind": "dance"}]}', '{"seed": 1, "steps": [], "mood": 3}', "7"]
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="no saved plan"):
        read_plan(text)
