"""What the runs of `ways` share: a memory in a folder and in virtual time, calls that may fail, what other calls give, and small bounds."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from umi.config import Config
from umi.errors import UmiError
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.embedder import SimEmbedder
from umi.sim.loop import run as run_virtually
from umi.sim.rng import DeterministicRng
from umi.stores.namespace_view import NamespaceView
from umi.stores.sqlite import store as _sqlite  # noqa: F401 - loaded before `bounded` changes a limit
from umi.types import Message
from umi_lab.worlds.recorded.listening import note

T = TypeVar("T")
AT: Final = datetime(2029, 6, 1, 12, tzinfo=UTC)  # when the first of `homes` is said
_CITIES: Final = ("Oslo", "Rome", "Lima", "Bern", "Cairo", "Quito", "Delhi", "Turin")
_SEED: Final = 11
_YEARS_S: Final = 20 * 366 * 86_400.0  # of virtual time, at most


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a run takes place."""

    folder: Path
    clock: SimClock
    rng: DeterministicRng
    entropy: SimEntropy

    def url(self, name: str) -> str:
        """The address of a file in the folder."""
        return f"sqlite:///{self.folder}/{name}.db"

    def embedder(self) -> SimEmbedder:
        """The simulated embedder."""
        return SimEmbedder(self.clock, self.rng)

    def memory(self, url: str = "dict:", **chosen: Any) -> Memory:
        """A memory of words alone, or with what is chosen."""
        return Memory.open(url, **({"embedder": None, "clock": self.clock, "entropy": self.entropy} | chosen))

    def learning(self, url: str = "dict:", **chosen: Any) -> Memory:
        """A memory that learns from outcomes."""
        return self.memory(url, **({"config": Config(learn=True)} | chosen))


Story = Callable[[Stage], Coroutine[Any, Any, None]]
"""A run: what is done on a stage."""


def staged(story: Story) -> None:
    """Run a story in a folder of its own, in virtual time."""
    clock, rng = SimClock(), DeterministicRng(_SEED)
    with tempfile.TemporaryDirectory(prefix="umi-ways-") as folder:
        stage = Stage(Path(folder), clock, rng, SimEntropy(rng.fork("ids")))
        run_virtually(story(stage), seed=_SEED, clock=clock, virtual_s_max=_YEARS_S)


def homes(count: int, *, ids: bool = True) -> list[Message]:
    """So many messages, one a day, of where one of three people lives."""
    names = ("Ada", "Bob", "Eve")
    return [
        Message(
            f"{names[place % 3]} lives in {_CITIES[place % 8]}.",
            at=AT + timedelta(days=place),
            session=f"s{place % 2}",
            id=f"m{place}" if ids else None,
        )
        for place in range(count)
    ]


async def tried(call: Awaitable[T]) -> T | None:
    """What a call of a memory gives, which is taken down; None where it fails."""
    try:
        return await call
    except (UmiError, _BrokenError):
        return None


async def noted(what: str, call: Awaitable[T]) -> T | None:
    """As `tried`, of a call that nobody else takes down."""
    try:
        found = await call
    except (UmiError, _BrokenError) as error:
        note(what, error)
        return None
    note(what, found)
    return found


def noted_now(what: str, call: Callable[..., T], *given: Any, **named: Any) -> T | None:
    """As `noted`, of a call that does not wait."""
    try:
        found = call(*given, **named)
    except (UmiError, _BrokenError) as error:
        note(what, error)
        return None
    note(what, found)
    return found


def there(found: T | None) -> T:
    """What a call gave that does not fail in any run.

    Raises:
        TypeError: When it did fail.
    """
    if found is None:
        raise TypeError("the run cannot go on")
    return found


class _BrokenError(Exception):
    """What parts made for a run raise: no error of the product."""


def broken(why: str) -> Exception:
    """An error as somebody else's code raises it."""
    return _BrokenError(why)


def view(memory: Memory, namespace: str = "default") -> NamespaceView:
    """The rows of a namespace, as those see them who use the store's port."""
    found = memory._open.store.namespace(namespace)  # noqa: SLF001 - nothing public gives the store of an open memory
    if not isinstance(found, NamespaceView):
        raise TypeError(f"a store gives views, got {type(found).__name__}")
    return found


async def pause(seconds: float) -> None:
    """Let virtual time pass."""
    await asyncio.sleep(seconds)


async def look(memory: Memory, subjects: tuple[str, ...] = (), *, questions: tuple[str, ...] = ()) -> None:
    """What a memory holds: lists, histories, explanations, and answers."""
    page = await memory.list(limit=200)
    await memory.episodes(limit=200)
    for step in page.items:
        await tried(memory.why(step.entity.id))
    for subject in subjects:
        await tried(memory.history(subject))
        await tried(memory.facts(subject))
        await tried(memory.profile(subject))
    for question in questions:
        await tried(memory.recall(question, include_superseded=True))
    await memory.undecided()
    await memory.waiting()
    await memory.check()


Runs = dict[str, Callable[[], None]]


def runs(**stories: Story) -> Runs:
    """Runs by name, each on a stage of its own."""
    return {name.replace("_", "-"): partial(staged, story) for name, story in stories.items()}
