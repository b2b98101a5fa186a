"""How many simulated worlds a core runs: `umi bench sim`."""

from __future__ import annotations

from collections.abc import Callable

from umi.bench.report import Figure, Report, machine_facts

Step = Callable[[str, int, int], None]  # what is being done, how much of it is done, how much there is


def measure(seeds: int, step: Step = lambda _what, _done, _of: None) -> Report:
    """Run the worlds of the first seeds in this process, one after the other.

    Args:
        seeds: How many.
        step: Told how far it is, for a progress display.

    Returns:
        Worlds per second, and what a world is: operations, restarts, power cuts.
    """
    from umi_lab.worlds.sweep import sweep  # noqa: PLC0415 - the simulation is loaded only when it is run

    machine = machine_facts()
    found = sweep(
        range(seeds), jobs=1, known=(), shrinking=False, progress=lambda done, of, _failed: step("worlds", done, of)
    )
    totals = found.totals
    worlds = max(1, totals.worlds)
    figures = (
        Figure("worlds per core", found.worlds_per_s_per_core, "worlds/s", limit=25, more_is_better=True),
        Figure("operations in a world", totals.steps / worlds, "", limit=40, more_is_better=True),
        Figure("worlds with a restart", 100 * totals.with_restart / worlds, "%", limit=100, more_is_better=True),
        Figure("worlds with a power cut", 100 * totals.with_power_cut / worlds, "%", limit=50, more_is_better=True),
        Figure("worlds that failed", found.failed, "", limit=0),
    )
    notes = (f"seeds 0 to {seeds - 1}; {totals.virtual_s / 3600:,.1f} hours of virtual time",)
    return Report("Simulated worlds", figures, machine, notes)
