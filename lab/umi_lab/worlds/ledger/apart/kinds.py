"""Steps of a small world that use memories of their own: the ledger stays as it is, so nothing is asked of it after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.apart import (
    borders,
    callers,
    cancelled_calls,
    copies,
    damages,
    intervals,
    kin,
    leftovers,
    lineages,
    model_names,
    months,
    repeats,
    sheets,
    signals,
    spaces,
    spellings,
    wheres,
    wishes,
    wordings,
)
from umi_lab.worlds.ledger.apart.phrases import told

_Drawn = Callable[[DeterministicRng], dict[str, Any]]


def _plain(rng: DeterministicRng) -> dict[str, Any]:
    return {"tales": told(rng.fork("plain")), "cases": sheets.drawn(rng.fork("sheet"))}


def _borders(rng: DeterministicRng) -> dict[str, Any]:
    return {"places": borders.asked_in(rng.fork("borders"))}


def _untracked(rng: DeterministicRng) -> dict[str, Any]:
    return {"cases": wishes.drawn(rng.fork("wishes"))}


def _dated(rng: DeterministicRng) -> dict[str, Any]:
    return {"facts": months.facts(rng.fork("facts")), "near": months.near(rng.fork("near"))}


def _leftovers(rng: DeterministicRng) -> dict[str, Any]:
    drawn = rng.fork("leftovers")
    if drawn.chance(0.6):
        return {"cases": leftovers.forgotten(drawn), "derived": None}
    return {"cases": leftovers.of_subject(drawn), "derived": drawn.choice(("stale", "erase"))}


# The kinds of these steps, each with the share of worlds that take it, and what draws its arguments.
_KINDS: Final[dict[str, tuple[float, _Drawn]]] = {
    "plain": (1.0, _plain),
    "borders": (1.0, _borders),
    "untracked": (0.5, _untracked),
    "dated": (0.5, _dated),
    "leftovers": (0.5, _leftovers),
    "copied": (0.3, lambda rng: copies.drawn(rng.fork("copies"))),
    "signalled": (0.4, lambda rng: signals.drawn(rng.fork("signals"))),
    "filtered": (0.5, lambda rng: wheres.drawn(rng.fork("wheres"))),
    "spelled": (0.5, lambda rng: spellings.drawn(rng.fork("spellings"))),
    "damaged": (0.35, lambda rng: damages.drawn(rng.fork("damages"))),
    "alike": (0.2, lambda rng: wheres.alike(rng.fork("alike"))),
    "ranged": (0.2, lambda rng: intervals.drawn(rng.fork("intervals"))),
    "several": (0.22, lambda rng: spaces.drawn(rng.fork("spaces"))),
    "kin": (0.28, lambda rng: {"cases": kin.drawn(rng.fork("kin"))}),
    "stored": (0.2, lambda rng: callers.rows(rng.fork("rows"))),
    "detected": (0.25, lambda rng: callers.options(rng.fork("options"))),
    "models": (0.4, lambda rng: model_names.drawn(rng.fork("models"))),
    "attributes": (0.3, lambda rng: callers.attributes(rng.fork("attributes"))),
    "blocked": (0.2, lambda rng: callers.calls(rng.fork("calls"))),
    "previewed": (0.3, lambda rng: lineages.drawn(rng.fork("previews"))),
    "repeated": (0.3, lambda rng: {"cases": repeats.drawn(rng.fork("repeats"))}),
    "wordings": (0.25, lambda rng: {"cases": wordings.drawn(rng.fork("wordings"))}),
    "taught": (0.3, lambda rng: lineages.judged(rng.fork("lineages"))),
    "cancelled": (0.3, lambda rng: cancelled_calls.drawn(rng.fork("cancelled"))),
}
APART: Final = frozenset(_KINDS)


def drawn(rng: DeterministicRng) -> list[tuple[str, dict[str, Any]]]:
    """The steps of one world, with their arguments."""
    return [(kind, draw(rng)) for kind, (share, draw) in _KINDS.items() if rng.fork(f"whether {kind}").chance(share)]
