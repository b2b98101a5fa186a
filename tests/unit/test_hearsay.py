"""What hearsay, details of one of several, and statements made by hand do to older statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from reading import FRIDAY, verdicts

from umi._evolution.rules import judge
from umi.types import Entity, EntityType, EvolutionType

BOB = "Bob says Alice works at Acme."


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (BOB, "Carol says Alice works at Globex.", ("contradict", 0.5, "works at: Acme or Globex; carol says so")),
        (BOB, "Carol says Alice works at Acme.", ("extend", 0.5, "works at Acme: carol says so")),
        ("Alice works at Acme.", "Carol says Alice works at Globex.", None),
        (BOB, "Alice works at Globex.", None),
        (BOB, "Alice does not work at Acme.", None),
        (BOB, "Alice no longer works at Acme.", ("update", 0.9, "works at: Acme -> no longer; said 'no longer'")),
        (BOB, "Alice left Acme.", ("update", 0.85, "works at: Acme -> no longer; said 'left'")),
        (BOB, "Alice quit her job.", ("update", 0.75, "works at: Acme -> no longer; said 'quit'")),
    ],
)
def test_hearsay_is_disputed_by_hearsay_and_ended_by_a_first_hand_word_of_change(
    old: str, new: str, verdict: tuple[str, float, str] | None
) -> None:
    found = [(str(one.evolution_type), one.confidence, one.reason) for one in verdicts(old, new)]
    assert found == ([] if verdict is None else [verdict])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Alice has two cats.", "Alice has a few cats."),  # no number
        ("Alice has a cat.", "One is called Miso."),  # not several
        ("Alice has two cats.", "One of Alice's friends is called Zed."),
        ("Alice has two cats.", "One of my favourites is called Ola."),
        ("I speak Greek.", "I also speak Greek."),
        ("I don't have a dog.", "My dog is a beagle."),
    ],
)
def test_what_says_nothing_of_the_older_one_is_left_alone(old: str, new: str) -> None:
    assert verdicts(old, new) == []


@pytest.mark.parametrize(
    ("new", "name"),
    [
        ("The other one is called Kiki.", "Kiki"),
        ("One of Alice's cats is called Momo.", "Momo"),
        ("One of the cats is called Nina.", "Nina"),
        ("One of them is called Olga.", "Olga"),
    ],
)
def test_each_of_several_is_one_of_them(new: str, name: str) -> None:
    (verdict,) = verdicts("Alice has two cats.", new)
    assert (verdict.evolution_type, verdict.reason) == (EvolutionType.EXTEND, f"one of 'two cats': {name}")


def test_a_statement_made_by_hand_has_the_words_of_change_that_its_text_has() -> None:
    told: dict[str, Any] = {"subject": "alice", "slot": "works_at", "at": FRIDAY}
    old = Entity(EntityType.PERSON, "Alice", "Alice works at Acme.", value="Acme", **told)
    later = replace(old, id="", content="Alice left Acme and joined Globex.", value="Globex")
    plain = replace(old, id="", content="Alice works at Globex.", value="Globex")
    found = [(one.confidence, one.reason) for new in (later, plain) for one in judge(new, [old])]
    assert found == [(1.0, "works at: Acme -> Globex; said 'Acme' is over"), (0.9, "works at: Acme -> Globex")]
