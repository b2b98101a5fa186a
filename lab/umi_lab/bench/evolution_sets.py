"""The parts of `umi bench evolution` that need whole conversations: candidates, questions, supersessions to read, PrecisionMemBench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from umi._evolution.candidates import candidates
from umi.limits import LIST_LIMIT_MAX
from umi.memory import Memory
from umi.ports import Snapshot, Store
from umi.types import Entity, EvolutionRelation, EvolutionType, Message
from umi_lab.bench.datasets import Collection
from umi_lab.bench.evolution_data import Benchmark, Case, Change
from umi_lab.bench.intervals import Interval, share

Tell = Callable[[int], None]

_HITS_ALL: Final = 100


def plain_share(oks: Sequence[bool]) -> dict[str, float]:
    """A share with Wilson's interval, as plain values."""
    found: Interval = share(sum(oks), len(oks))
    return {"value": round(found.value, 4), "low": round(found.low, 4), "high": round(found.high, 4), "of": len(oks)}


# Is the older statement among those that the newer one is compared with?


Episodes = Mapping[str, str]  # by message id


async def store_apart(memory: Memory, changes: Sequence[Change], tell: Tell) -> list[tuple[Episodes, Episodes]]:
    """Remember each question's conversations in a namespace of its own, and all of them in one, relating nothing yet.

    Returns:
        For each question the ids of its episodes in the one and in the other.
    """
    stored: list[tuple[Episodes, Episodes]] = []
    for done, change in enumerate(changes, 1):
        both = []
        for name in (_own(change), _ALL):
            receipt = await memory.switch(name).remember(list(change.messages), track_evolution=False)
            ids = zip(change.messages, receipt.episode_ids, strict=True)
            both.append({str(message.id): episode for message, episode in ids})
        stored.append((both[0], both[1]))
        tell(done)
    return stored


_ALL: Final = "candidates-all"


def _own(change: Change) -> str:
    return f"candidates-{change.id}"


async def candidate_recall(
    store: Store, changes: Sequence[Change], stored: Sequence[tuple[Episodes, Episodes]]
) -> dict[str, Any]:
    """How often one of the old statement's entities is among the first ten candidates of one of the new statement's.

    Args:
        store: The store that `store_apart` filled.
        changes: The same as there.
        stored: What it returned.
    """
    own, among_all = [], []
    for change, (mine, everyones) in zip(changes, stored, strict=True):
        ids = mine[change.old], mine[change.new]
        own.append(await store.namespace(_own(change)).read(partial(_offered, ids=ids)))
        ids = everyones[change.old], everyones[change.new]
        among_all.append(await store.namespace(_ALL).read(partial(_offered, ids=ids)))
    return {
        "own conversations": plain_share([ok for ok, _ in own]),
        "all conversations in one store": plain_share([ok for ok, _ in among_all]),
        "candidates_each": round(sum(count for _, count in among_all) / max(1, len(among_all)), 1),
    }


def _offered(snapshot: Snapshot, ids: tuple[str, str]) -> tuple[bool, float]:
    old, new = ids
    offered = [candidates(snapshot, entity) for entity in snapshot.entities_of([new]).get(new, ())]
    found = any(one.episode_id == old for some in offered for one in some)
    return found, sum(len(some) for some in offered) / max(1, len(offered))


# Does the answer that holds come before the one that held?


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about what changed, and the places of the new and the old statement among the hits; None when not there."""

    change: Change
    new: int | None
    old: int | None

    @property
    def ok(self) -> bool:
        """Whether the new statement is there, above the old one if that is there too."""
        return self.new is not None and (self.old is None or self.new < self.old)


async def ask(memory: Memory, changes: Sequence[Change], tell: Tell) -> dict[str, list[Asked]]:
    """Remember each question's conversations in a namespace of its own, in the order of time, and ask."""
    found: dict[str, list[Asked]] = {"as anybody asks": [], f"first {_HITS_ALL}, whatever the score": []}
    for done, change in enumerate(changes, 1):
        apart = memory.switch(f"questions-{change.id}")
        await apart.remember_many(change.messages)
        for name, options in zip(found, ({}, {"limit": _HITS_ALL, "min_score": 0.0}), strict=True):
            hits = (await apart.recall(change.question, **options)).hits  # type: ignore[arg-type]
            ids = [hit.message_ids[0] for hit in hits]
            places = [ids.index(one) if one in ids else None for one in (change.new, change.old)]
            found[name].append(Asked(change, *places))
        tell(done)
    return found


# What was superseded, for a person to read.


@dataclass(frozen=True, slots=True)
class Supersession:
    """One statement that was closed, what closed it, and why."""

    place: str
    old: Entity
    new: Entity
    relation: EvolutionRelation

    def as_text(self) -> str:
        """The supersession in four lines."""
        what = f"{self.relation.confidence:.2f} {self.relation.reason}"
        lines = [f"{self.place}: {what}"]
        for name, entity in (("old", self.old), ("new", self.new)):
            said = f"{entity.at:%Y-%m-%d}" if entity.at else ""
            read = f"{entity.name} {'not ' if entity.negated else ''}{entity.slot} {entity.value}".strip()
            lines.append(f"  {name} {said} {entity.content!r} read as {read!r}")
        return "\n".join([*lines, "  verdict:"])


async def supersessions(
    memory: Memory, name: str, conversations: Sequence[Collection], tell: Tell
) -> list[Supersession]:
    """Remember each conversation of a set in a namespace of its own, in order of time; every acted update that stands."""
    found: list[Supersession] = []
    for done, conversation in enumerate(conversations, 1):
        apart = memory.switch(f"{name}-{conversation.name}")
        told = sorted(conversation.messages, key=lambda one: str(one.at))  # every set names times, in UTC
        await apart.remember_many(told)
        entities: dict[str, Entity] = {}
        acted: dict[str, EvolutionRelation] = {}
        after: str | None = None
        while True:
            page = await apart.list(limit=LIST_LIMIT_MAX, after=after)
            for step in page.items:
                entities[step.entity.id] = step.entity
                acted.update((row.id, row) for row in step.evolutions if _closes(row))
            if page.next is None:
                break
            after = page.next
        found += [
            Supersession(f"{name} {conversation.name}", entities[row.source_id], entities[row.target_id], row)
            for row in acted.values()
        ]
        tell(done)
    return found


def _closes(row: EvolutionRelation) -> bool:
    return row.acted and row.undone_at is None and row.evolution_type is EvolutionType.UPDATE


# PrecisionMemBench: the harness keeps pinned facts, open questions and persona itself; the memory answers the rest.


@dataclass(frozen=True, slots=True)
class Judged:
    """One case: what the memory showed, what was wanted, and what failed, "" when nothing did."""

    case: Case
    shown: tuple[str, ...]
    failed: str


async def precision_cases(memory: Memory, bench: Benchmark, tell: Tell) -> list[Judged]:
    """Every case, judged as its harness does.

    A belief is told as its name, aliases and content, when it was made, in the namespace of its user and scope; nothing says that it
    is superseded but its words. A recall at default settings is asked in every scope of the case; hits that are pinned
    are left out, relations bring their participants. A case passes when exactly the wanted beliefs are left.
    """
    for belief in sorted(bench.beliefs.values(), key=lambda one: (one["created_at"], one["_id"])):
        for scope in belief["scope"]:
            said = Message(_as_text(belief), at=_moment(belief["created_at"]), id=belief["_id"])
            await memory.switch(_namespace(belief["user_id"], scope)).remember(said)
    found = []
    for done, case in enumerate(bench.cases, 1):
        found.append(await _judge(memory, bench, case))
        tell(done)
    return found


_USER: Final = "test-user"
_OPEN_QUESTION: Final = "open_question"


async def _judge(memory: Memory, bench: Benchmark, case: Case) -> Judged:
    mine = [one for one in bench.beliefs.values() if one["user_id"] == _USER and set(one["scope"]) & set(case.scopes)]
    pinned = [one["_id"] for one in mine if _is_pinned(one) and not one["superseded_by"]][: case.budget]
    questions = [
        one["_id"] for one in mine if one["pinned"] and one["type"] == _OPEN_QUESTION and not one["resolved_at"]
    ]
    room = case.budget - len(pinned)
    shown = (await _relevant(memory, bench, case, pinned))[: max(0, room)]
    wanted = case.expect["relevantBeliefs"]["shouldOnlyInclude"]
    failed = [f"missing {name}" for name in wanted if name not in shown]
    failed += [f"noise {name}" for name in shown if name not in wanted]
    for key, there in (("pinnedFacts", pinned), ("openQuestions", questions)):
        expect = case.expect.get(key, {})
        failed += [f"{key} lacks {name}" for name in expect.get("mustInclude", ()) if name not in there]
        failed += [f"{key} holds {name}" for name in expect.get("mustExclude", ()) if name in there]
    return Judged(case, tuple(shown), "; ".join(failed))


async def _relevant(memory: Memory, bench: Benchmark, case: Case, pinned: Sequence[str]) -> list[str]:
    if not case.query.strip() or case.budget == 0:
        return []
    ranked = []
    for scope in case.scopes:
        hits = (await memory.switch(_namespace(_USER, scope)).recall(case.query, limit=case.budget)).hits
        ranked.append([hit.message_ids[0] for hit in hits if hit.message_ids[0] not in pinned])
    depth = max(map(len, ranked), default=0)
    in_turns = [ids[rank] for rank in range(depth) for ids in ranked if rank < len(ids)]
    found = list(dict.fromkeys(in_turns))[: case.budget]
    for name in list(found):
        for other in bench.beliefs[name].get("participants") or ():
            belief = bench.beliefs.get(other)
            inside = belief is not None and belief["user_id"] == _USER and set(belief["scope"]) & set(case.scopes)
            if belief is not None and inside and belief["type"] != _OPEN_QUESTION and other not in (*found, *pinned):
                found.append(other)
    return found


def _is_pinned(belief: Mapping[str, Any]) -> bool:
    return bool(belief["pinned"]) and belief["type"] != _OPEN_QUESTION and not belief["resolved_at"]


def _as_text(belief: Mapping[str, Any]) -> str:
    names = [str(belief["canonical_name"]).replace("_", " "), *belief["aliases"]]
    return f"{', '.join(names)}: {belief['content']}"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _namespace(user: str, scope: str) -> str:
    return f"{user}/{scope}"
