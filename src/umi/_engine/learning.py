"""Learning as the facade hands it out: the background loop and what it can tell. `Memory.learning` is one of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from umi._core import validate
from umi._learning import Learner
from umi.limits import TRAJECTORY_SHOWN_COUNT_MAX
from umi.types import FeedbackReceipt, LearnStatus, Lesson, RunReceipt


class Learning:
    """What one memory learns from outcomes. Nothing here, and no run, ever changes a provider's weights."""

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
            InvalidInput: For a score outside 0..1, or an outcome or verdict of no known name.
            NotFound: For a recall that is not known here, or a hit that it did not show.
            IdempotencyConflict: When this recall was judged otherwise before.
        """
        key = validate.name(recall_id, "recall id")
        if used is not None:
            validate.count(len(used), "number of used", low=0, high=TRAJECTORY_SHOWN_COUNT_MAX)
            used = [validate.name(id_, "used") for id_ in used]
        score = validate.optional_fraction(quality_score, "quality_score")
        return await self._learner.feedback(key, outcome, score, human_verdict, used)

    async def run(self, *, progress: Callable[[int, int], None] | None = None) -> RunReceipt:
        """Load what the providers have, credit what is new, and seal it as a version.

        Broken off anywhere, it is resumed by running again; run twice, it changes nothing.

        Args:
            progress: Called with the signals done and the signals there are.

        Raises:
            StoreError: When the store fails; what was credited before is kept. A failing provider is among the faults of the receipt.
        """
        return await self._learner.run(progress or (lambda _done, _of: None))

    async def status(self) -> LearnStatus:
        """What was learned, from how many signals, and how rankings changed by it.

        Raises:
            StoreError: When the store cannot be read.
        """
        return await self._learner.status()

    async def explain(self, id: str) -> Lesson:  # noqa: A002 - as in `Memory.get`
        """What is behind the factor of an entity or an episode.

        Raises:
            NotFound: For an unknown id.
        """
        return await self._learner.explain(validate.name(id, "id"))

    async def rollback(self, to: int) -> LearnStatus:
        """Let exactly what counted when version `to` was sealed count again.

        What came later is kept, counts no more, and is not credited again when its source is read again; going to a later version
        brings it back.

        Raises:
            InvalidInput: For a version that was never sealed.
        """
        return await self._learner.roll_back(validate.count(to, "version", low=0, high=2**31))

    async def reset(self) -> LearnStatus:
        """Let nothing count: `rollback` to 0.

        Raises:
            StoreError: When the store fails.
        """
        return await self._learner.roll_back(0)
