"""Pairs that resemble a change and are none: another subject, another slot, a plan, a question, a story, hearsay."""

from __future__ import annotations

import pytest
from reading import supersedes, verdicts

PAIRS = [
    ("Alice works at Acme.", "Ravi works at Tata."),
    ("I live in Porto.", "I'm visiting Lisbon this weekend."),
    ("Invoice 78 is open.", "Invoice 77 is paid."),
    ("I live in Porto.", "My brother moved to Berlin."),
    ("Alice works at Acme.", "Alice used to live next to Acme."),
    ("Alice works at Acme.", "Does Alice work at StartupX?"),
    ("I live in Porto.", "If I moved to Rome, I'd learn Italian."),
    ("Alice works at Acme.", "Alice's sister joined StartupX."),
    ("I live in Porto.", "I might move to Berlin next year."),
    ("I live in Porto.", "I'm thinking of moving to Berlin."),
    ("I live in Porto.", "I want to live in Tokyo some day."),
    ("I live in Porto.", "I dreamed that I moved to Mars."),
    ("I live in Porto.", "I used to live in Rome."),
    ("I live in Porto.", "I lived in Rome for two years as a child."),
    ("I live in Porto.", "Bob said he moved to Berlin."),
    ("I live in Porto.", "My office moved to Lisbon."),
    ("I work at Acme.", "I have an interview at StartupX tomorrow."),
    ("I work at Acme.", "I applied for a job at StartupX."),
    ("I work at Acme.", "StartupX offered me a job."),
    ("I work at Acme.", "I also work at the library on Saturdays."),
    ("I work at Acme.", "I worked at Globex before college."),
    ("I work at Acme.", "I almost joined StartupX."),
    ("I work at Acme.", "I joined a gym last week."),
    ("I work at Acme.", "I joined Netflix yesterday to watch one show with my kids."),
    ("I work at Acme.", "My husband works at StartupX."),
    ("I work at Acme.", "I work with Bob from StartupX."),
    ("I work at Acme.", "I work from home on Fridays."),
    ("I work at Acme.", "I'm working on the StartupX proposal."),
    ("Alice works at Acme.", "Alice left the house at noon."),
    ("Alice works at Acme.", "Alice left her keys at StartupX."),
    ("Tom is 29 years old.", "Tom's brother is 31 years old."),
    ("Tom is 29 years old.", "Tom is 5 minutes late."),
    ("Tom is 29 years old.", "Tom is turning 30 next month."),
    ("The Pro plan costs $20.", "The Basic plan costs $10."),
    ("The Pro plan costs $20.", "The Pro plan would cost $25 with support."),
    ("The Pro plan costs $20.", "They are considering raising the Pro plan to $25."),
    ("The Pro plan costs $20 per month.", "The Pro plan costs $200 per year."),
    ("The Pro plan costs $20.", "I paid $25 for dinner."),
    ("Ticket 42 is open.", "Ticket 43 was closed."),
    ("Ticket 42 is open.", "We should close ticket 42 soon."),
    ("Ticket 42 is open.", "Has ticket 42 been closed?"),
    ("Ticket 42 is open.", "Ticket 42 was not closed."),
    ("Order 12 is pending.", "Order 12 will be shipped on Monday."),
    ("Project Apollo is on hold.", "Project Artemis is done."),
    ("I prefer tea.", "I prefer window seats."),
    ("I prefer tea.", "My wife prefers coffee."),
    ("I prefer tea.", "Would you prefer coffee?"),
    ("I prefer tea.", "I drank coffee this morning."),
    ("I love hiking.", "Bob hates hiking."),
    ("I love hiking.", "I hate hiking boots."),
    ("My favourite colour is blue.", "My favourite food is sushi."),
    ("My favourite colour is blue.", "Her favourite colour is green."),
    ("My name is Jon.", "My dog's name is Rex."),
    ("My name is Jon.", "My middle name is Paul."),
    ("My sister Anna lives in Rome.", "My sister Beth lives in Oslo."),
    ("I have a dog.", "I sold the car."),
    ("I speak German.", "I'm learning Spanish."),
    ("The meeting is on Friday.", "The party is on Saturday."),
    ("The budget meeting is on Friday.", "The design meeting is on Monday."),
    ("I live in Porto.", '"I moved to Berlin for love and stayed for the bread", the singer told the paper.'),
    ("I live in Porto.", "In the movie, I moved to Berlin."),
    ("I live in Portugal.", "I live in Porto."),
    ("I'm allergic to peanuts.", "I'm allergic to cats."),
    ("I own a Honda.", "I own a Tesla."),
    ("My email is sam@home.example.", "Bob's email is bob@work.example."),
    ("I live in Porto.", "When I moved to Lisbon, I knew nobody."),
    ("I live in Porto.", "Bob and Carol visited. He moved to Berlin."),
    ("I live in Porto.", "We moved to Slack at work."),
    ("I live in Porto.", "I moved to the marketing team."),
    ("I live in Porto.", "We moved to Kubernetes last year."),
    ("Alice works at Acme.", "Alice works at Acme Corp."),
    ("Alice is a nurse.", "Alice is a mother of two."),
    ("Alice lives in Paris.", "Alice lives in a small flat."),
    ("My friend lives in Rome.", "My friend lives in Oslo."),
    ("The rent is $1,500.", "The deposit is $3,000."),
    ("I use Python.", "I use Rust."),
    ("I use VS Code for Python.", "I use Vim for notes."),
    ("I'm married to Pat.", "Kim married Lee."),
    ("I play tennis.", "I play chess."),
    ("I wake up at 7am.", "I woke up at 5am today."),
    ("I work at Acme.", "Imagine I worked at Google."),
    ("I work at Acme.", "I wish I worked at Google."),
    ("I work at Acme.", "My boss thinks I joined Globex."),
    ("I work at Acme.", "You work at Globex."),
    ("I work at Acme.", "Someone said that I quit Acme."),
    ("Alice works at Acme.", "Alice hasn't left Acme."),
    ("Alice works at Acme.", "Alice will leave Acme in May."),
    ("Alice works at Acme.", "Alice never left Acme."),
]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=[new for _, new in PAIRS])
def test_supersedes_nothing(old: str, new: str) -> None:
    assert [verdict for verdict in verdicts(old, new) if supersedes(verdict)] == []


def test_the_table_is_long_enough() -> None:
    assert len(set(PAIRS)) >= 40


def test_the_old_statements_are_understood() -> None:
    """A pair whose old half fills no slot would pass for the wrong reason."""
    from reading import entities

    silent = {old for old, _ in PAIRS if not any(entity.slot for entity in entities(old))}
    assert silent <= set()
