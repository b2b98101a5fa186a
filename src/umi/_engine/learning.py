"""`Memory.learning`: run the background loop, inspect what was learned, and go back to earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from itertools import islice

from umi._core import validate
from umi._learning import Learner
from umi.errors import InvalidInput
from umi.limits import TRAJECTORY_SHOWN_COUNT_MAX
from umi.types import FeedbackReceipt, LearnStatus, Lesson, RunReceipt


class Learning:
    """What one memory learns from outcomes. Neither this nor any run changes a provider's weights."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    async def feedback(
        self,
        recall_id: str,
        outcome: str,
        quality_score: float | None,
        human_verdict: str | None,
        used: Sequence[str] | None,
    ) -> FeedbackReceipt:
        """See `Memory.feedback`.

        Raises:
            InvalidInput: For a score outside 0..1, or an unknown outcome or verdict.
            NotFound: For a recall that is not known here, or a hit that it did not show.
            IdempotencyConflict: When this recall was judged differently before.
        """
        key = validate.name(recall_id, "recall id")
        used = None if used is None else _ids(used)
        score = validate.optional_fraction(quality_score, "quality_score")
        return await self._learner.feedback(key, outcome, score, human_verdict, used)

    async def run(self, *, progress: Callable[[int, int], None] | None = None) -> RunReceipt:
        """Load the signals of all providers, credit the new ones, and seal them as a version.

        An interrupted run is completed by running again. Running again without new signals changes nothing.

        Args:
            progress: Called with the number of signals done and the number in all.

        Raises:
            InvalidInput: When `progress` cannot be called.
            StoreError: When the store fails; what was credited before is kept. A failing provider is among the faults
                of the receipt.
        """
        validate.progress(progress)
        return await self._learner.run(progress or (lambda _done, _of: None))

    async def status(self) -> LearnStatus:
        """What was learned, from how many signals, and how it changed rankings.

        Raises:
            StoreError: When the store cannot be read.
        """
        return await self._learner.status()

    async def explain(self, id: str) -> Lesson:  # noqa: A002 - as in `Memory.get`
        """The lesson of an entity or an episode: its factor, and the evidence behind it.

        Raises:
            NotFound: For an unknown id.
        """
        return await self._learner.explain(validate.name(id, "id"))

    async def rollback(self, to: int) -> LearnStatus:
        """Make exactly the signals count that counted when version `to` was sealed.

        Later signals are kept but no longer count, and reading their source again does not credit them again. A
        rollback to a later version makes them count again.

        Raises:
            InvalidInput: For a version that was never sealed.
        """
        return await self._learner.roll_back(validate.count(to, "version", low=0, high=2**31))

    async def reset(self) -> LearnStatus:
        """Make no signal count: `rollback` to version 0.

        Raises:
            StoreError: When the store fails.
        """
        return await self._learner.roll_back(0)


def _ids(used: object) -> list[str]:
    """What a caller names as used, as a list of ids.

    Raises:
        InvalidInput: When it is no list of ids, or longer than what a recall shows.
    """
    # A text is a sequence too, of letters.
    if isinstance(used, str | bytes) or not isinstance(used, Iterable):
        raise InvalidInput(f"used must be a list of ids of hits, got {type(used).__name__}; write used=[id]")
    # One more than the limit is enough to know that there are too many; an iterator may be endless.
    given = list(islice(used, TRAJECTORY_SHOWN_COUNT_MAX + 1))
    number = len(used) if isinstance(used, Sized) else len(given)
    # A trajectory keeps no more hits than this.
    validate.count(number, "number of used", low=0, high=TRAJECTORY_SHOWN_COUNT_MAX)
    return [validate.name(id_, "used") for id_ in given]
