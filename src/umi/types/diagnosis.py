"""What was found where a store keeps its rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        what: Its name, such as "durability".
        ok: Whether it is as it should be.
        detail: What was found, and what to do about it.
    """

    what: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a database server says about itself.

    Args:
        findings: One for each thing that was looked at.
        ready: Whether there are tables that this version of Umi can open without a change to them.
    """

    findings: tuple[Finding, ...]
    ready: bool
