"""Texts of the stories besides plain statements: changes mentioned in passing, texts that only look like one, and counts."""

from __future__ import annotations

from typing import Final

IN_PASSING: Final = {  # by slot; only the reader of short messages understands these
    "works_at": ("We had cake because {who} had the first day in a new job at {what} yesterday.",),
}
# By slot, texts that resemble a change and change nothing.
HARMLESS: Final = {
    "works_at": "{who} once dreamed of a job at {what}, years ago, and nothing came of it.",
}
COUNTED: Final = "counted"  # the worlds' name for counts, for which the product has no slot
# Texts to state a count in, the counts, and questions for it.
COUNTS: Final = (
    ("{who} has visited {what} lighthouses so far.", "By now {who} has visited {what} lighthouses.", "{who} has visited {what} lighthouses by now."),
    ("four", "five", "6", "seven", "eight", "9"),
    ("How many lighthouses has {who} visited?", "Which lighthouses has {who} visited?"),
)  # fmt: skip
