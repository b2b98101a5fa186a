"""A support desk: four workers answer tickets of many customers from one file, and what a customer told one of them all of them know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import umi

WORKERS = 4
KEPT = timedelta(days=2 * 365)


@dataclass(frozen=True)
class Ticket:
    number: int
    customer: str
    text: str
    at: str


TICKETS = (
    Ticket(1, "Ada", "My order 1207 has not arrived. I live in Berlin.", "2026-03-02T09:00Z"),
    Ticket(2, "Bob", "I would like a refund for order 1311.", "2026-03-02T09:05Z"),
    Ticket(3, "Ada", "I moved to Lisbon, please send it there.", "2026-03-09T10:00Z"),
    Ticket(4, "Cleo", "The charger of my laptop is broken.", "2026-03-09T11:00+02:00"),
    Ticket(5, "Dan", "How long is the warranty?", "2026-03-10T08:00Z"),
    Ticket(6, "Bob", "The refund for order 1311 has arrived, thank you.", "2026-03-12T08:30Z"),
    Ticket(3, "Ada", "I moved to Lisbon, please send it there.", "2026-03-09T10:00Z"),  # the mail server sent it twice
)


class Desk:
    """What the workers share: one open memory, a namespace for each customer and one for what the desk itself knows."""

    def __init__(self, memory: umi.Memory) -> None:
        self._memory = memory
        self.handled: dict[int, str] = {}
        self.twice: list[int] = []

    async def learn(self, rule: str) -> None:
        """Keep what holds for every customer."""
        await self._memory.remember(umi.Message(rule, origin="document"))

    async def take(self, ticket: Ticket, worker: str) -> None:
        """Keep the ticket, note who has it, and look up what is known of the customer and to the desk."""
        name, number, theirs = ticket.customer, ticket.number, self._memory.switch(ticket.customer)
        labels = {"ticket": number, "order": "order" in ticket.text}
        message = umi.Message(ticket.text, speaker=name, at=ticket.at, id=f"ticket-{number}", metadata=labels)
        if (await self._patiently(theirs, message)).replayed:
            self.twice.append(ticket.number)
            return
        await self._memory.set_fact(f"ticket {number}", "worker", worker, at=ticket.at)
        found = await theirs.recall(f"{name}: {ticket.text}", namespaces=[name, "desk"], limit=5, max_tokens=300)
        self.handled[ticket.number] = found.as_context()

    @staticmethod
    async def _patiently(memory: umi.Memory, message: umi.Message) -> umi.RememberReceipt:
        for wait_s in (0.1, 0.5, 2.0):
            try:
                return await memory.remember(message, ttl=KEPT)
            except umi.StoreBusy:
                await asyncio.sleep(wait_s)
        return await memory.remember(message, ttl=KEPT)

    async def orders(self, customer: str, since: int = 0) -> list[str]:
        """What a customer wrote about orders, in this ticket and later ones."""
        where: umi.Where = {"metadata": {"order": True, "ticket": {"gte": since}}}
        return [step.entity.content for step in (await self._memory.switch(customer).list(where=where)).items]

    async def address(self, customer: str, at: umi.Moment | None = None) -> str | None:
        """Where a customer lives, or lived."""
        facts = await self._memory.switch(customer).facts(customer, attribute="lives in", as_of=at)
        return facts[0].value if facts else None

    async def leave(self, customer: str) -> bool:
        """Erase a customer who asks for it; whether nothing is left of them."""
        theirs = self._memory.switch(customer)
        return (await theirs.verify_erasure(await theirs.erase_namespace())).ok


@asynccontextmanager
async def open_desk(path: str, embedder: str | None) -> AsyncGenerator[Desk, None]:
    async with umi.Memory.open(path, namespace="desk", embedder=embedder) as memory:
        yield Desk(memory)


async def work(desk: Desk, name: str, tickets: asyncio.Queue[Ticket]) -> None:
    while not tickets.empty():
        await desk.take(tickets.get_nowait(), name)


async def main(path: str = "desk.db", embedder: str | None = "local", tickets: Sequence[Ticket] = TICKETS) -> None:
    waiting: asyncio.Queue[Ticket] = asyncio.Queue()
    for ticket in tickets:
        waiting.put_nowait(ticket)
    async with open_desk(path, embedder) as desk:
        await desk.learn("The warranty is two years.")
        async with asyncio.TaskGroup() as group:
            for number in range(WORKERS):
                group.create_task(work(desk, f"worker {number + 1}", waiting))
        print("handled:", sorted(desk.handled), "twice:", desk.twice)
        print("Dan is told of the warranty:", "two years" in desk.handled[5])
        print("Ada lives in", await desk.address("Ada"), "and lived in", await desk.address("Ada", "2026-03-05T00:00Z"))
        print("Bob's orders:", await desk.orders("Bob", since=3))
        print("Bob erased:", await desk.leave("Bob"), await desk.orders("Bob"))
        try:
            await desk.address("")
        except umi.UmiError as error:
            print("refused:", error.code)


if __name__ == "__main__":
    asyncio.run(main())
