"""Random numbers that are a pure function of a seed: the same on every machine and in every release of Python.

The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). Streams are
separated by name. The stream "disk" of seed 7 gives the same numbers however much the stream "loop" was used, so
removing one fault from a run does not move the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, MutableSequence, Sequence
from typing import Any, Final, TypeVar

from umi._core.invariants import check

T = TypeVar("T")

_MASK: Final = (1 << 64) - 1
_GAMMA: Final = 0x9E3779B97F4A7C15  # SplitMix64's increment, the golden ratio in 64 bits
_UNIT: Final = 1.0 / (1 << 53)  # a float has 53 bits of fraction


class DeterministicRng:
    """A stream of random numbers.

    Args:
        seed: Any integer.
        stream: The path of the stream; set by `fork`.
    """

    __slots__ = ("_state", "seed", "stream")

    def __init__(self, seed: int, stream: str = "") -> None:
        self.seed = seed
        self.stream = stream
        self._state = int.from_bytes(hashlib.sha256(f"{seed}/{stream}".encode()).digest()[:8], "big")

    def __repr__(self) -> str:
        return f"DeterministicRng({self.seed}, {self.stream!r})"

    def fork(self, name: str) -> DeterministicRng:
        """The stream `name` below this one, from its beginning.

        It depends only on the seed and the path of names: two calls give two copies of one stream.
        """
        check(name and "/" not in name, f"a stream's name is a word without '/', not {name!r}")
        return DeterministicRng(self.seed, f"{self.stream}/{name}")

    def next_bits(self) -> int:
        """64 random bits, as an integer in [0, 2**64)."""
        self._state = state = (self._state + _GAMMA) & _MASK
        # The constants and shifts are SplitMix64's finaliser.
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return state ^ (state >> 31)

    def next_float(self) -> float:
        """A number in [0, 1), a multiple of 2**-53."""
        return (self.next_bits() >> 11) * _UNIT

    def next_int(self, low: int, high: int) -> int:
        """An integer in [low, high], both ends included; the span is at most 2**64."""
        span = high - low + 1
        check(0 < span <= 1 << 64, f"no integer between {low} and {high} can be drawn")
        return low + (self.next_bits() * span >> 64)  # scales 64 bits to the span without a modulo

    def uniform(self, low: float, high: float) -> float:
        """A number in [low, high)."""
        return low + (high - low) * self.next_float()

    def chance(self, probability: float) -> bool:
        """True with this probability. Always takes one number from the stream, so that probabilities do not shift later draws."""
        return self.next_float() < probability

    def choice(self, items: Sequence[T]) -> T:
        """One item of a non-empty sequence, all equally likely."""
        check(len(items), "nothing to choose from")
        return items[self.next_bits() * len(items) >> 64]

    def weighted(self, items: Sequence[tuple[T, float]]) -> T:
        """One of (item, weight) pairs, with probability proportional to its weight; weights are >= 0 and not all 0."""
        total = sum(weight for _, weight in items)
        check(total > 0, "no weight to choose by")
        left = self.next_float() * total
        for item, weight in items:
            left -= weight
            if left < 0:
                return item
        return next(item for item, weight in reversed(items) if weight > 0)  # rounding errors passed the last item

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle the items in place (Fisher-Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.next_bits() * (last + 1) >> 64
            items[last], items[other] = items[other], items[last]

    def shuffled(self, items: Sequence[T]) -> Iterator[T]:
        """The items in a random order, drawn lazily. Takes as many numbers from the stream as `shuffle`.

        The order is what `shuffle` leaves, read from the end, so a few of many items are had without shuffling all.
        """
        # A copy draws lazily, while this stream skips the numbers that a full shuffle would take.
        own = DeterministicRng(self.seed, self.stream)
        own._state = self._state
        self._state = (self._state + _GAMMA * max(0, len(items) - 1)) & _MASK
        return own._drawn(list(items))

    def _drawn(self, left: list[T]) -> Iterator[T]:
        while len(left) > 1:
            other = self.next_bits() * len(left) >> 64
            left[-1], left[other] = left[other], left[-1]
            yield left.pop()
        yield from left

    def next_bytes(self, count: int) -> bytes:
        """`count` random bytes."""
        words = b"".join(self.next_bits().to_bytes(8, "big") for _ in range((count + 7) // 8))
        return words[:count]
