"""What people in a world say beside plain statements: changes told in passing, what only resembles one, and counts."""

from __future__ import annotations

from typing import Final

IN_PASSING: Final = {  # what only a reader of messages understands
    "works_at": ("We had cake because {who} had the first day in a new job at {what} yesterday.",),
}
HARMLESS: Final = {
    "works_at": "{who} once dreamed of a job at {what}, years ago, and nothing came of it.",
}
COUNTED: Final = "counted"  # the slot of what no slot of the product knows
COUNTS: Final = (
    ("{who} has visited {what} lighthouses so far.", "By now {who} has visited {what} lighthouses.", "{who} has visited {what} lighthouses by now."),
    ("four", "five", "6", "seven", "eight", "9"),
    ("How many lighthouses has {who} visited?", "Which lighthouses has {who} visited?"),
)  # fmt: skip
