"""What a small world asks about one subject: the facts that were set, and its profile with what the model read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.book import CURRENT, DISPUTED, STALE, SUPERSEDED, Look, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.plan import ATTRIBUTES, NAMES
from umi_lab.worlds.ledger.rules import may_change

_SURE: Final = 0.6  # what was read with less is in no profile
_GROUPS: Final = ("identity", "work", "places", "people", "preferences", "things", "plans", "other")
_GROUP_OF_TYPE: Final = {"person": "identity", "location": "places", "preference": "preferences"}


class Profiles:
    """Asks the memory of one world about its subjects."""

    def __init__(self, opened: OpenedMemory, journal: Journal) -> None:
        self._opened = opened
        self._book = journal.book
        self._compared = journal.compared

    async def facts(self, rng: DeterministicRng, as_of: datetime | None) -> None:
        """What was set and holds, as of a moment or now."""
        key = rng.choice(NAMES)
        look = Look(as_of=as_of, now=self._opened.clock.now())
        right = [one for one in self._book.about(key.lower()) if one.slot and one.subject == key.lower()]
        only = rng.choice((None, *ATTRIBUTES))
        right = [one for one in right if only is None or one.slot == f"attr:{only}"]
        right = [one for one in right if self._book.shown(one, look)]
        found = await self._opened.call("facts", key, attribute=only, as_of=as_of)
        self._require(f"facts of {key} {only} as of {as_of}", found, right, look)
        same("order of attributes", [fact.attribute for fact in found], sorted(fact.attribute for fact in found))

    async def profile(self, key: str, rng: DeterministicRng, as_of: datetime | None) -> None:
        """The facts that were set, what was read and still holds, and the plans that lie ahead; nothing else."""
        look = Look(as_of=as_of, now=self._opened.clock.now())
        found = await self._opened.call("profile", key, as_of=as_of)
        right = self.told(key.lower(), look)
        self._require(f"profile of {key} as of {as_of}", found.facts, right, look)
        same(f"order of the profile of {key}", [fact.entity.id for fact in found.facts], [one.id for one in right])
        self._compared.record("profile", found, {"name": key, "subject": key.lower(), "aliases": (), "left_out": {}})
        groups = {str(kind): sorted(fact.entity.id for fact in facts) for kind, facts in found.groups.items()}
        wanted: dict[str, list[str]] = {}
        for one in right:
            wanted.setdefault(group_of(one), []).append(one.id)
        same("groups of the profile", groups, {kind: sorted(ids) for kind, ids in wanted.items()})
        self._opened.tally.saw("Profile", {"groups": 0})
        limit = rng.choice((None, 1, 2))
        some = await self._opened.call("profile", key, as_of=as_of, limit=limit)
        rest = {kind: len(facts) - len(some.groups[kind]) for kind, facts in found.groups.items()}
        self._compared.record("profile", some, {"left_out": {kind: count for kind, count in rest.items() if count}})
        for kind, facts in found.groups.items():
            same(f"facts of {kind}", len(some.groups[kind]), min(len(facts), limit or len(facts)))
            _require_fair(facts, some.groups[kind])

    def told(self, key: str, look: Look) -> list[Statement]:
        """The statements of a profile in its order: by group, then by attribute, then by time."""
        found = [one for one in self._book.statements if self._is_told(one, key, look)]
        return sorted(found, key=lambda one: (_GROUPS.index(group_of(one)), attribute_of(one), one.order))

    def over(self, key: str, look: Look) -> list[Statement]:
        """The statements that would be in a profile if they held still, the newest first."""
        found = [one for one in self._book.statements if _is_of_profile(one, key)]
        found = [one for one in found if self._book.state(one, look) in (SUPERSEDED, STALE)]
        return sorted(found, key=lambda one: one.order, reverse=True)

    def _is_told(self, one: Statement, key: str, look: Look) -> bool:
        """Whether a profile has a statement."""
        if not self._book.shown(one, look) or self._book.state(one, look) not in (CURRENT, DISPUTED):
            return False
        if not _is_of_profile(one, key) or (one.mode == "planned" and not _lies_ahead(one, look)):
            return False
        if one.slot:
            return True
        claims = [link for link in self._book.links_of(one) if link.new is one and link.type == "update"]
        return not any(
            not link.acted and link.resolved is None and not may_change(link.old, link.new) for link in claims
        )

    def _require(self, what: str, found: Sequence[Any], right: Sequence[Statement], look: Look) -> None:
        same(what, sorted(fact.entity.id for fact in found), sorted(one.id for one in right))
        by_id = {one.id: one for one in right}
        for fact in found:
            one = by_id[fact.entity.id]
            fields = {
                "attribute": attribute_of(one),
                "value": one.value if one.slot else one.content,
                "negated": False,
                "state": self._book.state(one, look),
                "origin": one.said.origin,
                "reason": one.reason,
            }
            self._compared.record(what, fact, fields)
            self._opened.tally.saw("Fact", {"entity": 0})
            self._compared.entity(fact.entity, one)


def _is_of_profile(one: Statement, key: str) -> bool:
    """Whether a profile has a statement while it holds: what was set, what lasts, and plans."""
    if one.slot:
        return one.subject == key
    lasting = one.mode == "asserted" and one.entity_type not in ("event", "task")
    about = bool(one.subject) and key in (one.subject, *one.also)
    return about and one.confidence >= _SURE and (lasting or one.mode == "planned")


def _lies_ahead(one: Statement, look: Look) -> bool:
    """Whether it is a plan of which a time that it names is yet to come."""
    moment = look.as_of or look.now
    if one.mode != "planned" or moment is None:
        return False
    named = [at for at in (one.valid_from, one.valid_until) if at is not None and at != one.said.at]
    return any(at > moment for at in named)


def attribute_of(one: Statement) -> str:
    """Under which attribute a statement is told: what was set under its own, what was read under what it is about."""
    return str(one.metadata["attribute"]) if one.slot else one.name


def group_of(one: Statement) -> str:
    """The group of a profile that a statement belongs to."""
    if one.mode == "planned":
        return "plans"
    return "other" if one.slot else _GROUP_OF_TYPE.get(one.entity_type, "other")


def _require_fair(facts: Sequence[Any], some: Sequence[Any]) -> None:
    """Require of each attribute its newest facts, in their order, and of none two more than of another that has more."""
    ids = [fact.entity.id for fact in some]
    same("order of facts", ids, [fact.entity.id for fact in facts if fact.entity.id in ids])
    all_of, some_of = (Counter(fact.attribute for fact in each) for each in (facts, some))
    for name, count in all_of.items():
        of_it = [fact.entity.id for fact in facts if fact.attribute == name]
        same("the newest of an attribute", [one for one in of_it if one in ids], of_it[count - some_of[name] :])
        same("a share of each attribute", some_of[name] >= min(count, max(some_of.values(), default=0) - 1), True)  # noqa: FBT003
