"""What the steps of a small world do to the memory and to the oracle's book, and what the receipts must say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from umi_lab.worlds.ledger.apart.attributes import Attributes
from umi_lab.worlds.ledger.apart.blocking_calls import BlockingCalls
from umi_lab.worlds.ledger.apart.cancelled import Cancelled
from umi_lab.worlds.ledger.apart.copied_files import CopiedFiles
from umi_lab.worlds.ledger.apart.damaged_exports import DamagedExports
from umi_lab.worlds.ledger.apart.dated_questions import DatedQuestions
from umi_lab.worlds.ledger.apart.deleted_metadata import DeletedMetadata
from umi_lab.worlds.ledger.apart.derived_lessons import DerivedLessons
from umi_lab.worlds.ledger.apart.detections import Detections
from umi_lab.worlds.ledger.apart.filtered import Filtered
from umi_lab.worlds.ledger.apart.kinfolk import Kinfolk
from umi_lab.worlds.ledger.apart.named_models import NamedModels
from umi_lab.worlds.ledger.apart.plain_words import PlainWords
from umi_lab.worlds.ledger.apart.previewed import Previewed
from umi_lab.worlds.ledger.apart.ranged import Ranged
from umi_lab.worlds.ledger.apart.read_wordings import ReadWordings
from umi_lab.worlds.ledger.apart.refusals import Refusals
from umi_lab.worlds.ledger.apart.repeated_words import RepeatedWords
from umi_lab.worlds.ledger.apart.several_spaces import SeveralSpaces
from umi_lab.worlds.ledger.apart.signalled import Signalled
from umi_lab.worlds.ledger.apart.spelled_words import SpelledWords
from umi_lab.worlds.ledger.apart.stored_rows import StoredRows
from umi_lab.worlds.ledger.apart.untracked import Untracked
from umi_lab.worlds.ledger.echoes import Echoes
from umi_lab.worlds.ledger.judgements import Judgements
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.relations import Relations
from umi_lab.worlds.ledger.rereading import Rereading
from umi_lab.worlds.ledger.upkeep import Upkeep


class Acts(
    Echoes,
    Rereading,
    Relations,
    Upkeep,
    Judgements,
    PlainWords,
    Refusals,
    Untracked,
    DatedQuestions,
    SpelledWords,
    DeletedMetadata,
    CopiedFiles,
    Signalled,
    Filtered,
    DamagedExports,
    Previewed,
    DerivedLessons,
    Ranged,
    SeveralSpaces,
    Kinfolk,
    StoredRows,
    Detections,
    NamedModels,
    Attributes,
    BlockingCalls,
    RepeatedWords,
    ReadWordings,
    Cancelled,
):
    """Does the steps of one world."""

    async def do(self, step: Step) -> None:
        """Do one step."""
        act: Callable[[Step], Awaitable[None]] = getattr(self, f"_{step.kind}")
        await act(step)
