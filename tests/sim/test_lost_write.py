"""A write that the disk acknowledges and never makes: what worlds ask of a store that cannot undo it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest

from umi.sim.loop import run as run_in_virtual_time
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.plan import make_plan
from umi_lab.worlds.steps import Plan
from umi_lab.worlds.world import World, run_plan


def _small(seed: int) -> Plan:
    plan = make_plan(seed)
    return replace(plan, steps=plan.steps[:10], twins=False, model=False, faults=())


@pytest.mark.parametrize("seed", [36, 39, 48, 50, 52, 56])  # whose afterlife loses a write
def test_a_lost_write_is_reported_or_costs_only_what_was_said_since(seed: int) -> None:
    outcome = run_plan(_small(seed))
    assert outcome.failure is None
    assert outcome.faults["LostWrite"] <= 1
    assert sum("lost write: " in line for line in outcome.trace) == 1


class _Checked(World):
    """A world whose afterlife is the check itself."""

    async def _afterlife(self) -> None:
        await self.open()
        said = {message.id: message.content for _, message in self.messages.values()}
        last = next(reversed(said))
        missing = await self.checks.nothing_untrue({**said, "north-77": "This was lost."})
        assert missing == ["north-77"]
        for wrong in ({**said, last: f"{said[last]} And more."}, {id_: said[id_] for id_ in said if id_ != last}):
            with pytest.raises(Violation, match="what nobody said"):
                await self.checks.nothing_untrue(wrong)


def test_what_is_missing_is_counted_and_what_nobody_said_is_a_violation() -> None:
    with ExitStack() as stack:
        world = _Checked(_small(1), stack)
        run_in_virtual_time(world.live(), seed=1, clock=world.clock)
        assert world.outcome.failure is None
