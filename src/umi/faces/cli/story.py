"""The conversation that `umi demo` remembers: two people, half a year, and what an assistant concluded in between."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

NAMESPACE = "demo"
SUBJECT = "Alice"
MARCH = datetime(2026, 3, 15, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said. `concluded_from` names lines by their `key`, of which it is a conclusion."""

    key: str
    at: datetime
    speaker: str
    text: str
    concluded_from: tuple[str, ...] = ()
    role: str = "user"


def _on(month: int, day: int, hour: int, minute: int) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


STORY = (
    Line("hello", _on(1, 12, 18, 2), "Ravi", "Welcome to the book club, Alice! I work at Tata."),
    Line("acme", _on(1, 12, 18, 3), "Alice", "Thanks, Ravi! I work at Acme."),
    Line("berlin", _on(1, 12, 18, 4), "Alice", "I live in Berlin."),
    Line("hiking", _on(1, 12, 18, 6), "Alice", "I love hiking."),
    Line("cats", _on(1, 12, 18, 7), "Alice", "I have two cats."),
    Line(
        "commute", _on(1, 12, 18, 30), "assistant", "Alice can take the tram to the Acme office in Berlin.",
        concluded_from=("acme", "berlin"), role="assistant",
    ),
    Line("miso", _on(2, 20, 9, 15), "Alice", "One of the cats is called Miso."),
    Line("visit", _on(2, 20, 9, 20), "Alice", "I'm visiting Lisbon this weekend."),
    Line("left", _on(4, 8, 20, 40), "Alice", "Big news: I left Acme and joined StartupX."),
    Line("ravi", _on(4, 8, 20, 42), "Ravi", "Congratulations! I am reading a novel about a lighthouse keeper."),
    Line("moved", _on(5, 16, 11, 5), "Alice", "I moved to Lisbon."),
    Line("bolt", _on(6, 2, 8, 10), "Ravi", "I work at Bolt now, two evenings a week."),
    Line("knee", _on(6, 30, 19, 50), "Alice", "I hate hiking."),
)  # fmt: skip

# Questions, and how many hits an answer takes.
NOW_QUESTIONS = (
    ("Where does Alice work?", 1),
    ("Where does Alice live?", 1),
    ("What are Alice's cats called?", 3),
    ("Does Alice like hiking?", 2),
)
THEN_QUESTIONS = NOW_QUESTIONS[:2]
UNKNOWN_QUESTION = "Which blood type does Ravi's dentist have?"
# What is taken for a change of jobs and was a second one: its update is taken back.
MISTAKEN = "bolt"
MISTAKEN_QUESTION = "Where does Ravi work?"
CONCLUSION_QUESTION = "How can Alice get to the office?"
