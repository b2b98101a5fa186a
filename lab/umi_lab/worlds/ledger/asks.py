"""What a small world asks after each step, and what each answer must be.

Everything that is stored is compared after every step. Beside that a few questions are drawn, at, one microsecond before and after the
borders at which something begins, ends or becomes known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi.types import Entity
from umi_lab.worlds.ledger.answers import Answers
from umi_lab.worlds.ledger.book import DISPUTED, STALE, US, Look, Said, Statement
from umi_lab.worlds.ledger.contexts import Contexts
from umi_lab.worlds.ledger.expected import Wrong, same, tokens_of
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.lessons import Lessons
from umi_lab.worlds.ledger.model import ITEM
from umi_lab.worlds.ledger.opened import OpenedMemory, part_of
from umi_lab.worlds.ledger.plan import ATTRIBUTES, NAMES
from umi_lab.worlds.ledger.profiles import Profiles
from umi_lab.worlds.ledger.questions import Questions
from umi_lab.worlds.ledger.recalls import Recalls
from umi_lab.worlds.ledger.reviews import Reviews

_QUESTIONS: Final = 4  # after each step
_SCORED: Final = 1  # of them such as are compared with the oracle's own search
_WHERES: Final = (
    None, {"session": "dawn"}, {"role": {"in": ["tool", "document"]}}, {"metadata": {"level": {"gte": 2, "lt": 3}}},
    {"metadata": {"tags": "a"}}, {"speaker": {"exists": False}}, {"origin": "user"}, {"speaker": "Kiba", "role": "user"},
)  # fmt: skip
_TYPES: Final = (None, None, ["event"], ["note", "task"])


class Asks:
    """Asks the memory of one world."""

    def __init__(self, opened: OpenedMemory, journal: Journal) -> None:
        self._opened = opened
        self._journal = journal
        self._book = journal.book
        self._compared = journal.compared
        self._reviews = Reviews(opened, journal)
        self._profiles = Profiles(opened, journal)
        self._answers = Answers(opened, journal)
        self._questions = Questions(opened, journal)
        self._lessons = Lessons(opened, journal)
        self._contexts = Contexts(opened, journal, self._profiles, self._questions)
        self._recalls = Recalls(opened, journal, self._answers, self._questions)

    async def everything(self) -> None:
        """Compare all messages, statements and relations, and the counts."""
        book, call = self._book, self._opened.call
        await self._journal.adopt_all()
        found = await call("list", limit=10_000)
        self._compared.steps("the list", found.items, book.arrived())
        page = await call("episodes", limit=10_000)
        said = sorted(book.said, key=lambda one: one.arrival)
        same("the messages", [one.id for one in page.items], [one.id for one in said])
        for episode, one in zip(page.items, said, strict=True):
            self._compared.episode(episode, one)
        await self._counts()
        stale = [one for one in book.statements if book.state(one) == STALE]
        if stale:  # the one said last mostly rests on the others
            await self._explained(stale[-1])
        await self._journal.follow(
            "ledger"
        )  # the other is not read here: what has expired there stays until somebody asks

    async def _counts(self) -> None:
        book = self._book
        found = await self._opened.call("stats")
        states = Counter(book.state(one) for one in book.statements)
        right = {
            "namespace": "ledger",
            "episodes": len(book.said),
            "entities": len(book.statements),
            "vectors": 0,
            "states": dict(states),
            "waiting": 0,
            "embedder": None,
            "evolutions": dict(Counter(link.type for link in book.links if link.undone_at is None)),
        }
        self._compared.record("stats", found, {**right, "sequence": await self._opened.memory.sequence()})
        same("whether the store has bytes", found.store_bytes > 0, self._opened.plan.store != "dict")
        same("whether the index has bytes", found.cache_bytes >= 0, True)  # noqa: FBT003
        possible = {"no_embedder", *(["model_failed"] if self._opened.model.has_failed else [])}
        same("what was degraded", set(found.degradations) <= possible, True)  # noqa: FBT003
        self._opened.tally.saw("Stats", {"store_bytes": 0, "cache_bytes": 0, "degradations": 0})

    async def some(self, rng: DeterministicRng) -> None:
        """Ask a few questions drawn from the seed."""
        kinds = (
            self._pages, self._episode_pages, self._recall_one, self._recall_all, self._recall_one, self._recall_all,
            self._recall_around, self._recall_ranges, self._history, self._history, self._history_counts, self._why, self._facts, self._get,
            self._sessions, self._profile, self._profile, self._contexts.some, self._contexts.some, self._contexts.changes, self._elsewhere, self._agreeing, self._agreeing, self._agreeing, self._answers.some,
            self._reviews.undecided, self._reviews.activity,
        )  # fmt: skip
        if any(link.undone_at is None and not link.acted for link in self._book.links):
            await self._reviews.undecided(rng.fork("undecided"))
        await self._recall_gone(rng.fork("gone"))
        for place in range(_QUESTIONS):
            await rng.choice(kinds)(rng.fork(str(place)))
        await self._lessons.some(rng.fork("lessons"))
        for place in range(_SCORED):
            asked = rng.fork(f"scored{place}")
            await self._questions.some(asked, self._look(asked) if asked.chance(0.5) else self._today)
        if self._opened.plan.beside and rng.chance(0.5):  # so that the next step finds the indexes of both up to date
            await self._elsewhere(rng)

    # Listings.

    async def _pages(self, rng: DeterministicRng) -> None:
        """Pages of any size, in both orders, with a filter, give everything once."""
        where, types, order = rng.choice(_WHERES), rng.choice(_TYPES), rng.choice(("oldest", "newest"))
        right = [one for one in self._book.arrived() if passes(where or {}, one.said) and _is(one, types)]
        right = right[::-1] if order == "newest" else right
        found, after, size = [], None, part_of(len(right), rng)
        for _ in range(len(right) + 1):
            page = await self._opened.call("list", limit=size, after=after, order=order, where=where, types=types)
            found += page.items
            after = page.next
            if after is None:
                break
            same("size of a page that is not the last", len(page.items), size)
        self._compared.steps(f"list {order} {where} {types}", found, right)
        self._opened.tally.saw("Page", {"items": 0, "next": 0})

    async def _episode_pages(self, rng: DeterministicRng) -> None:
        """As `_pages`, of messages."""
        where, types, order = rng.choice(_WHERES), rng.choice(_TYPES), rng.choice(("oldest", "newest"))
        right = sorted(self._book.said, key=lambda one: one.arrival, reverse=order == "newest")
        right = [said for said in right if passes(where or {}, said)]
        right = [said for said in right if types is None or any(_is(one, types) for one in self._book.of(said))]
        size, given = part_of(len(right), rng), {"order": order, "where": where, "types": types}
        found = await self._opened.paged("episodes", size, len(right) + 1, **given)
        same(f"episodes {order} {where} {types}", [one.id for one in found], [said.id for said in right])
        self._opened.tally.saw("EpisodePage", {"items": 0, "next": 0})

    async def _sessions(self, rng: DeterministicRng) -> None:
        """Sessions by name, with their counts and times."""
        groups: dict[str, list[Said]] = {}
        for said in self._book.said:
            if said.session is not None:
                groups.setdefault(said.session, []).append(said)
        found = await self._opened.paged("sessions", part_of(len(groups), rng), len(groups) + 1)
        same("the sessions", [one.name for one in found], sorted(groups))
        for one in found:
            mine = groups[one.name]
            right = {
                "name": one.name,
                "episodes": len(mine),
                "first_at": min(said.at for said in mine),
                "last_at": max(said.at for said in mine),
                "speakers": tuple(sorted({said.speaker for said in mine if said.speaker is not None})),
            }
            self._compared.record("session", one, right)
        self._opened.tally.saw("SessionPage", {"items": 0, "next": 0})

    async def _get(self, rng: DeterministicRng) -> None:
        """A row by each of its ids."""
        if not self._book.statements:
            same("get of an unknown id", await self._opened.call("get", "nothing"), None)
            return
        one = rng.choice(self._book.statements)
        found = await self._opened.call("get", one.id)
        if not isinstance(found, Entity):
            raise Wrong(f"get of {one.content!r} is {found!r}")
        self._compared.entity(found, one)
        for name in (one.said.id, one.said.message_id):
            if name is not None:
                self._compared.episode(await self._opened.call("get", name), one.said)

    # What was said of somebody, and why it stands so.

    async def _history(self, rng: DeterministicRng) -> None:
        where, types = (rng.choice(_WHERES), rng.choice(_TYPES)) if rng.chance(0.4) else (None, None)
        if self._book.statements and rng.chance(0.4):
            one = rng.choice(self._book.statements)
            key, right = one.id, self._book.chain(one)
        else:
            key = rng.choice(NAMES)
            right = self._book.about(key.lower())
        beside: dict[str, Any] = {}
        facts = [one for one in self._book.statements if one.slot]
        if facts and rng.chance(0.5):
            one = rng.choice(facts)
            key, right, where, types = one.name, self._book.about(one.subject), None, None
            beside["attribute"] = one.metadata["attribute"]
        elif rng.chance(0.1):
            beside["attribute"] = rng.choice(ATTRIBUTES)
        if beside:
            right = [one for one in right if one.slot == f"attr:{beside['attribute']}"]
        right = [one for one in right if passes(where or {}, one.said) and _is(one, types)]
        beside |= {axis: self._span(rng) if rng.chance(0.2) else None for axis in ("held", "known")}
        right = [one for one in right if self._book.met(one, beside["held"], beside["known"])]
        what = f"history of {key} {where} {types} {beside}"
        found = await self._opened.call("history", key, where=where, types=types, **beside)
        self._compared.steps(what, found, right)
        # The same in windows: the newest, then those before, until nothing is left.
        size, left = part_of(len(right), rng), right
        while right:
            found = await self._opened.call("history", key, where=where, types=types, limit=size, **beside)
            same(f"{what} in windows of {size}", [step.entity.id for step in found], [one.id for one in left[-size:]])
            if not left:
                break
            left = left[:-size]
            beside["before"] = found[0].entity.id

    async def _history_counts(self, rng: DeterministicRng) -> None:
        """Each statement about a subject is counted once on each axis, in the part in which it begins."""
        key, parts = rng.choice(NAMES), rng.choice((1, 3, 1_000))
        right = self._book.about(key.lower())
        found = await self._opened.call("history_counts", key, parts=parts)
        axes = {"held": [self._book.began(one) for one in right], "known": [one.said.recorded_at for one in right]}
        self._compared.record("counts of a history", found, {"count": len(right)})
        for axis, moments in axes.items():
            told = getattr(found, axis)
            same(f"whether {axis} is counted", told is not None, bool(moments))
            if moments:
                length = (max(moments) - min(moments)) // parts + US
                counts = Counter((moment - min(moments)) // length for moment in moments)
                ends = {"first": min(moments), "last": max(moments)}
                self._compared.record(axis, told, {**ends, "counts": tuple(counts[part] for part in range(parts))})
        self._opened.tally.saw("HistoryCounts", {"held": 0, "known": 0})

    async def _why(self, rng: DeterministicRng) -> None:
        book = self._book
        if not book.statements:
            return
        await self._explained(rng.choice(book.statements))

    async def _explained(self, one: Statement) -> None:
        book, found = self._book, await self._opened.call("why", one.id)
        self._compared.entity(found.entity, one)
        self._compared.episode(found.episode, one.said)
        self._compared.links("why", found.evolutions, book.all_links_of(one))
        same("what it rests on", [each.id for each in found.derived_from], [each.id for each in book.sources(one)])
        same("what rests on it", [each.id for each in found.supports], [each.id for each in book.conclusions(one)])
        causes = sorted(link.id for link in book.causes(one))
        same("why it is stale", [each.id for each in found.stale_because], causes)
        self._compared.record("why", found, {"state": book.state(one)})
        if not self._opened.plan.learn:
            self._compared.record("why", found, {"lesson": None})
        names = ("entity", "episode", "evolutions", "derived_from", "supports", "stale_because")
        self._opened.tally.saw("Explanation", dict.fromkeys(names))

    async def _facts(self, rng: DeterministicRng) -> None:
        await self._profiles.facts(rng, self._border(rng) if rng.chance(0.6) else None)

    async def _profile(self, rng: DeterministicRng) -> None:
        """Of anybody as of any border; mostly of somebody with a plan, around the times between which it lay ahead."""
        ahead = [one for one in self._book.statements if one.mode == "planned" and one.valid_until is not None]
        if ahead and rng.chance(0.6):
            one = rng.choice(ahead)
            border = rng.choice((one.said.at, one.valid_until or one.said.at))
            await self._profiles.profile(one.name, rng, border + rng.choice((-1, 0, 1)) * US)
            return
        await self._profiles.profile(rng.choice(NAMES), rng, self._border(rng) if rng.chance(0.6) else None)

    # Questions.

    def _border(self, rng: DeterministicRng) -> datetime:
        """A moment at, just before or just after a border."""
        borders = sorted(set(self._book.borders())) or [self._opened.clock.now()]
        borders = [border for border in borders if border.year > 1] or [self._opened.clock.now()]
        return rng.choice(borders) + rng.choice((-1, 0, 1)) * US

    def _span(self, rng: DeterministicRng) -> tuple[datetime, datetime] | None:
        """A time between two borders; None where they are the same, since an empty one is refused."""
        ends = sorted((self._border(rng), self._border(rng)))
        return (ends[0], ends[1]) if ends[0] < ends[1] else None

    def _look(self, rng: DeterministicRng) -> Look:
        look = {
            "as_of": self._border(rng) if rng.chance(0.35) else None,
            "known_at": self._border(rng) if rng.chance(0.35) else None,
        }
        span = self._span(rng) if rng.chance(0.25) else None
        return Look(look["as_of"], look["known_at"], span, rng.chance(0.4), self._moment(look["known_at"]))

    def _moment(self, known_at: datetime | None) -> datetime:
        """When an answer was given: what has run out by then, and what is to come, is as it was then."""
        now = self._opened.clock.now()
        return now if known_at is None else min(now, known_at)

    @property
    def _today(self) -> Look:
        return Look(now=self._opened.clock.now())

    async def _recall(self, query: str, look: Look, **beside: Any) -> Any:
        arguments = {"as_of": look.as_of, "known_at": look.known_at, "time_range": look.time_range}
        given = {name: value for name, value in arguments.items() if value is not None}
        given |= {
            "limit": 1_000,
            "min_score": 0.0,
            "deep": False,
            "include_superseded": look.include_superseded,
        } | beside
        found = await self._opened.call("recall", query, **given)
        self._questions.compare(found, query, look, given)
        return found

    async def _agreeing(self, rng: DeterministicRng) -> None:
        """Questions that are asked again in another way."""
        await self._recalls.agreeing(rng, self._look(rng) if rng.chance(0.6) else self._today)

    async def _recall_one(self, rng: DeterministicRng) -> None:
        """The word that one statement alone has finds it, unless it is hidden."""
        # What is only wished or supposed stands behind what else its message says.
        real = [
            one
            for one in self._book.statements
            if one.mode not in ("wished", "hypothetical") or len(self._book.of(one.said)) == 1
        ]
        worded = [one for one in real if ITEM.search(one.content) and not one.slot]
        if not worded:
            return
        one, look = rng.choice(worded), self._look(rng)
        if any(link.old.said is link.new.said is one.said for link in self._book.links):
            return  # which of two statements of one message that dispute each other is shown is a matter of ranking
        others = [link for link in self._book.links if link.new.said is one.said and link.new is not one]
        denied = [link for link in self._book.links if link.old.said is one.said and link.old is not one]
        if any(link.type in ("update", "contradict") for link in others) or any(
            link.type == "contradict" or (link.type == "update" and not link.acted) for link in denied
        ):
            return  # the message may also be found as what replaced, denies or is denied by another, and shows then that
        word = ITEM.search(one.content)
        explained = rng.chance(0.3)
        found = await self._recall(word[0] if word else "", look, explain=explained)
        self._answers.receipt(found, known_at=look.known_at)
        hits = [hit for hit in found.hits if hit.episode.id == one.said.id]
        shown = self._book.shown(one, look) and (one.said.recorded_at <= (look.known_at or one.said.recorded_at))
        whole = self._book.of(one.said)
        if not shown:
            wrong = [hit for hit in hits if hit.entity is not None and hit.entity.id == one.id]
            same(f"hits that show the hidden {one.content!r} from {look}", len(wrong), 0)
            return
        same(f"hits on {one.content!r} from {look}", len(hits), 1)
        self._hit(hits[0], one, look, whole, explained=explained)

    def _hit(self, hit: Any, one: Statement, look: Look, whole: Sequence[Statement], *, explained: bool) -> None:
        book = self._book
        same(f"statement of the hit of {one.content!r}", hit.entity.id, one.id)
        self._compared.entity(hit.entity, one, look)
        self._compared.episode(hit.episode, one.said)
        fields: dict[str, Any] = {"state": book.state(one, look), "namespace": "ledger", "id": one.id}
        if look.include_superseded or all(book.shown(each, look) for each in whole):
            fields["content"] = one.said.content
        self._compared.record(f"hit {one.content!r} from {look}", hit, fields)
        self._compared.links("the hit", hit.evolutions, book.links_of(one, look.known_at), look.known_at)
        self._answers.hit(hit, explained=explained)
        hidden = [] if look.include_superseded else [each for each in whole if not book.shown(each, look)]
        same("hidden words in a hit", [each.content for each in hidden if each.content in hit.content], [])
        self._opened.tally.saw("Hit", {"entity": 0, "episode": 0, "evolutions": 0})

    async def _recall_all(self, rng: DeterministicRng) -> None:
        """A word that all messages share finds exactly those of which something is shown."""
        word = rng.choice(("logged", "logged", *ATTRIBUTES))
        await self._found_from(self._look(rng), word, rng.choice(_WHERES), rng.choice(_TYPES))

    async def _recall_gone(self, rng: DeterministicRng) -> None:
        """What was cut out of a message is not found by its word."""
        gone = [match[0] for words in self._journal.cut_words if (match := ITEM.search(words))]
        # Where another message names it, that is found, or what replaced that.
        gone = [word for word in gone if not any(word in said.content for said in self._book.said)]
        if not gone:
            return
        word = rng.choice(gone)
        for _ in range(1 + self._opened.plan.beside):  # of each memory
            found = await self._recall(word, self._today, explain=rng.chance(0.3))
            same(f"messages found by {word!r}, which none has", [hit.content for hit in found.hits], [])

    async def _recall_around(self, rng: DeterministicRng) -> None:
        """As `_recall_all`, as known at, just before and just after each moment of a change."""
        links = [link for link in self._book.links if link.undone_at or link.resolved_at] or self._book.links
        if not links:
            return
        link, as_of = rng.choice(links), self._border(rng) if rng.chance(0.3) else None
        moments = [at for at in (link.created_at, link.resolved_at, link.undone_at) if at is not None]
        for known_at in sorted({at + shift * US for at in moments for shift in (-1, 0, 1)}):
            await self._found_from(Look(as_of, known_at, now=self._moment(known_at)), "logged")

    async def _recall_ranges(self, rng: DeterministicRng) -> None:
        """Ranges that begin or end at, just before and just after the moment at which something began or was over."""
        ended = [one for one in self._book.statements if self._book.validity(one)[0] is not None]
        if not self._book.statements:
            return
        one = rng.choice(ended or self._book.statements)
        border = rng.choice([at for at in (self._book.validity(one)[0], one.valid_from) if at is not None])
        if border.year < 2:
            return
        word = one.slot.removeprefix("attr:") or "logged"
        for at in (border - US, border, border + US):
            for span in ((at, at + timedelta(days=1)), (at - timedelta(days=1), at)):
                await self._found_from(Look(time_range=span, now=self._opened.clock.now()), word)

    async def _found_from(self, look: Look, word: str, where: Any = None, types: Sequence[str] | None = None) -> None:
        """A word finds exactly the messages of which a statement with it is shown."""
        book = self._book
        right = []
        for said in book.said:
            shown = [one for one in book.of(said) if _is(one, types) and book.shown(one, look)]
            early = look.known_at is not None and said.recorded_at > look.known_at
            if shown and not early and passes(where or {}, said) and any(word in one.content for one in shown):
                right.append(said)
        found = await self._recall(word, look, where=where, types=types)
        hits = [hit for hit in found.hits if word in hit.episode.content]
        what = f"messages with {word!r} found from {look} where {where} types {types}"
        same(what, sorted(hit.episode.id for hit in hits), sorted(said.id for said in right))
        for hit in hits:
            mine = [one for one in book.statements if one.id == hit.entity.id and book.shown(one, look)]
            same("the statement of the hit is shown", len(mine), 1)
            # The hit shows the whole message: one disputed statement in it makes it disputed.
            beside = [book.state(one, look) for one in book.of(mine[0].said) if book.shown(one, look)]
            right_state = hit.state if hit.state == DISPUTED in beside else book.state(mine[0], look)
            same(f"state of {mine[0].content!r} from {look}", hit.state, right_state)
        same("abstained", found.abstained, not found.hits)
        fields: dict[str, Any] = {
            "query": word,
            "degraded": ("no_embedder",),
            "deep_search_used": False,
            "query_variations": (),
        }
        self._compared.record("recall", found, fields)
        self._answers.receipt(found, known_at=look.known_at)
        self._opened.tally.saw("RecallReceipt", {"hits": 0, "abstained": 0})

    async def _elsewhere(self, rng: DeterministicRng) -> None:
        """Asked with another namespace, the hits of this one are the same, and say where they are from."""
        found = await self._opened.call(
            "recall", "logged", limit=1_000, min_score=0.0, deep=False, namespaces=["ledger", "elsewhere"]
        )
        here = await self._recall("logged", self._today)
        mine = [hit.id for hit in found.hits if hit.namespace == "ledger"]
        same("hits of this namespace among others", sorted(mine), sorted(hit.id for hit in here.hits))
        if rng.chance(0.5):
            return
        room = rng.next_int(10, 120)
        some = await self._opened.call(
            "recall",
            "logged",
            limit=1_000,
            min_score=0.0,
            deep=False,
            namespaces=["ledger", "elsewhere"],
            max_tokens=room,
        )
        same(
            "hits of both within a room",
            [hit.id for hit in some.hits],
            [hit.id for hit in found.hits][: len(some.hits)],
        )
        same("a room for both", tokens_of(some.as_context()) <= room, True)  # noqa: FBT003


def _is(one: Statement, types: Sequence[str] | None) -> bool:
    return types is None or one.entity_type in types
