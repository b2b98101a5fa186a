"""Small worlds: they are green, repeat themselves, confirm what they claim to, and find planted bugs that their shrunk plans prove."""

import json

import pytest

from umi._evolution import set_facts
from umi._evolution.relation_writer import RelationWriter
from umi._evolution.states import StateResolver
from umi._reading.grammar import slot_matching
from umi._retrieval import answer_order
from umi.stores.sql.write import SqlTransaction
from umi_lab.mutation.planted import edited
from umi_lab.worlds.ledger.coverage import unconfirmed
from umi_lab.worlds.ledger.plan import make_small
from umi_lab.worlds.ledger.sweep import shrink_small, sweep_small
from umi_lab.worlds.ledger.world import run_small

WORLDS = range(80)


@pytest.fixture(scope="module")
def swept():
    return sweep_small(WORLDS)


def test_small_worlds_are_as_the_oracle_says(swept):
    assert swept.failures == {}
    assert swept.worlds == len(WORLDS)


def test_the_same_seed_gives_the_same_world():
    one, other = run_small(make_small(3)), run_small(make_small(3))
    assert (one.trace, one.tally.drawn) == (other.trace, other.tally.drawn)


def test_every_call_argument_and_field_is_drawn_and_confirmed(swept):
    assert unconfirmed(swept.tally) == []


@pytest.mark.parametrize(
    ("owner", "method", "before", "after"),
    [
        (StateResolver, "_in_time", "start > view.as_of", "start >= view.as_of"),
        (RelationWriter, "undo", "row.acted and row.part is None", "False"),
        (StateResolver, "_show_bare", "episode.at > self._view.as_of", "episode.recorded_at > self._view.as_of"),
        (set_facts, "undo", "Detector.CALLER, Detector.RELINK", "Detector.CALLER"),
        (answer_order, "newer_first", "if trusted:", "if not trusted:"),
        (slot_matching, "valid_from", "date.start < at", "date.start > at"),
        (SqlTransaction, "_seal", "for key in self._touched", "for key in ()"),
    ],
)
def test_a_planted_bug_is_found_and_its_shrunk_plan_passes_without_it(owner, method, before, after):
    with edited(owner, method, before, after):
        failed = next(found for seed in range(200) if (found := run_small(make_small(seed))).failure is not None)
        small = shrink_small(failed)
    assert len(small.plan.steps) <= len(failed.plan.steps)
    assert small.failure is not None
    assert run_small(small.plan).failure is None


def test_any_subset_of_a_plan_is_a_plan():
    plan = make_small(11)
    for place in range(len(plan.steps)):
        assert run_small(type(plan)(plan.seed, plan.store, plan.portions, plan.steps[place:])).failure is None


def test_a_step_names_what_it_does():
    told = [step.line() for step in make_small(0).steps]
    assert told[0].startswith("#0 say messages=")
    json.dumps([step.arguments for step in make_small(0).steps])
