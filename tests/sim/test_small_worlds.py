"""Small worlds: they are green, repeat themselves, confirm what they claim to, and find planted bugs that their shrunk plans prove."""

import json

import pytest

from umi._evolution.states import StateResolver
from umi._reading.grammar import slot_matching
from umi._retrieval import answer_order
from umi_lab.mutation.planted import edited
from umi_lab.worlds.ledger.coverage import unconfirmed, universe
from umi_lab.worlds.ledger.plan import make_small
from umi_lab.worlds.ledger.sweep import SmallReport, shrink_small, sweep_small
from umi_lab.worlds.ledger.world import run_small
from umi_lab.worlds.recorded import record
from umi_lab.worlds.recorded.listening import listening
from umi_lab.worlds.recorded.record import Heard
from umi_lab.worlds.sweep import quiet

WORLDS = range(60)  # as many as the record holds; all that there is to draw is drawn by then
# Of these so few that together they still draw everything. When worlds have changed, the slow test below says which to take.
FEW = (5, 17, 22, 23, 27, 35, 37, 45, 51, 52, 57, 58)


RUNS_COUNT = 12  # to shrink one


@pytest.fixture(scope="module", params=[FEW, pytest.param(WORLDS, marks=pytest.mark.slow)], ids=["few", "all"])
def seeds(request):
    return request.param


@pytest.fixture(scope="module")
def ran(seeds):
    """By seed how each world ended, and what all its calls gave."""
    found = {}
    for seed in seeds:
        with quiet(), listening() as lines:
            outcome = run_small(make_small(seed))
        found[seed] = outcome, Heard(tuple(lines), outcome.failure)
    return found


@pytest.fixture(scope="module")
def swept(ran):
    report = SmallReport()
    for outcome, _ in ran.values():
        report.note(outcome)
    return report


def test_small_worlds_are_as_the_oracle_says(swept, seeds):
    assert swept.failures == {}
    assert swept.worlds == len(seeds)


def test_small_worlds_answer_as_they_did(ran):
    recorded = record.read()
    assert {f"small:{seed}" for seed in WORLDS} == {name for name in recorded if name.startswith("small:")}
    assert [seed for seed, (_, heard) in ran.items() if heard.sum != recorded[f"small:{seed}"]] == [], record.REMEDY


def test_processes_tell_the_same_as_one():
    apart, alone = sweep_small(range(2), jobs=2), sweep_small(range(2))
    assert (apart.worlds, apart.failures) == (alone.worlds, alone.failures) == (2, {})
    assert apart.tally.drawn == alone.tally.drawn


def test_the_same_seed_gives_the_same_world():
    one, other = run_small(make_small(3)), run_small(make_small(3))
    assert (one.trace, one.tally.drawn) == (other.trace, other.tally.drawn)


def test_every_call_argument_and_field_is_drawn_and_confirmed(swept, ran):
    assert unconfirmed(swept.tally) == [], f"the few that draw everything: {_enough(ran)}"


@pytest.mark.slow
def test_the_few_draw_as_much_as_all(ran):
    few = SmallReport()
    for seed in FEW:
        few.note(ran[seed][0])
    assert unconfirmed(few.tally) == [], f"take these: {_enough(ran)}"


def _enough(ran):
    """Worlds that together confirm all that any of these do: each time the one that adds most."""
    confirmed = {seed: {name for name, count in out.tally.confirmed.items() if count} for seed, (out, _) in ran.items()}
    left, chosen = set(universe()) & set().union(*confirmed.values()), []
    while left:
        chosen.append(max(confirmed, key=lambda seed: len(confirmed[seed] & left)))
        left -= confirmed[chosen[-1]]
    return sorted(chosen)


@pytest.mark.parametrize(
    ("owner", "method", "before", "after"),
    [
        (StateResolver, "_in_time", "start > view.as_of", "start >= view.as_of"),
        pytest.param(answer_order, "newer_first", "if trusted:", "if not trusted:", marks=pytest.mark.slow),
        pytest.param(slot_matching, "valid_from", "date.start < at", "date.start > at", marks=pytest.mark.slow),
    ],
)
def test_a_planted_bug_is_found_and_its_shrunk_plan_passes_without_it(owner, method, before, after):
    with edited(owner, method, before, after):
        failed = next(found for seed in range(200) if (found := run_small(make_small(seed))).failure is not None)
        small = shrink_small(failed, runs_count=RUNS_COUNT)
    assert len(small.plan.steps) <= len(failed.plan.steps)
    assert small.failure is not None
    assert run_small(small.plan).failure is None


def test_any_subset_of_a_plan_is_a_plan():
    plan = make_small(11)
    for place in range(0, len(plan.steps), 3):
        assert run_small(type(plan)(plan.seed, plan.store, plan.portions, plan.steps[place:])).failure is None


def test_a_step_names_what_it_does():
    told = [step.line() for step in make_small(0).steps]
    assert told[0].startswith("#0 say messages=")
    json.dumps([step.arguments for step in make_small(0).steps])
