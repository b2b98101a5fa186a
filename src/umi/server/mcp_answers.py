"""What the MCP tools answer: short records in a budget of tokens, and the same as text for a model to read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeVar

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from umi.limits import CONTEXT_TOKEN_BYTES
from umi.types import Entity, Episode, EvolutionRelation, HistoryStep, Hit, Origin
from umi.types.context import one_line
from umi.types.records import origin_mark

Row = TypeVar("Row", bound=BaseModel)

CURSOR_ROOM: Final = "_" * 64  # stands for a cursor while the rest of an answer is measured
_CUT: Final = " ..."
_CUT_TO_CHARACTERS_MIN: Final = 40
_REASON_BYTES_MAX: Final = 120
_CHANGES_COUNT_MAX: Final = 3  # of one statement, the newest
_WHO: Final = "Who put it there: user, assistant, tool or document."


class Recalled(BaseModel):
    """One message that answers."""

    id: str = Field(description="For history and forget.")
    said: str = Field(description="The message, word for word; cut where it ends with ' ...'.")
    at: str
    speaker: str | None = None
    state: str = Field(description="current, superseded, stale or disputed; empty of a whole message.")
    origin: str = Field(default=Origin.USER, description=_WHO)


class RecallAnswer(BaseModel):
    """What recall found in the namespace, best first."""

    namespace: str
    hits: list[Recalled]
    left_out: int = Field(default=0, description="Further hits that found no room in max_tokens.")
    abstained: bool = Field(description="Nothing stored is relevant enough.")
    why_abstained: str = ""
    degraded: list[str] = Field(default_factory=list, description="What failed and makes this answer poorer.")


class Noted(BaseModel):
    """A change that was noticed or made: the newer statement and the older one."""

    relation_id: str = Field(description="For undo.")
    kind: str
    old_id: str
    new_id: str
    reason: str
    flagged: bool = Field(default=False, description="Only claimed, such as by a document: both statements hold.")


class RememberAnswer(BaseModel):
    """What was kept. `stored` is False when it was known already."""

    namespace: str
    id: str
    stored: bool
    changes: list[Noted]
    waits: bool = Field(default=False, description="The text is safe; reading it waits for a model.")


class Step(BaseModel):
    """One statement, as it was said then and stands now."""

    id: str
    said: str
    at: str
    state: str
    origin: str = Field(default=Origin.USER, description=_WHO)
    changed_by: list[Noted] = Field(default_factory=list)


class HistoryAnswer(BaseModel):
    """Statements about a subject, oldest first."""

    namespace: str
    steps: list[Step]
    left_out: int = Field(default=0, description="Older steps that found no room in max_tokens.")


class UndoAnswer(BaseModel):
    """The change that was taken back."""

    namespace: str
    undone: Noted


class ForgetAnswer(BaseModel):
    """What was deleted, or would be: `deleted` is 0 for a preview."""

    namespace: str
    deleted: int
    would_delete: list[Recalled] = Field(default_factory=list)
    next_step: str = ""


def answer(made: BaseModel, text: str) -> CallToolResult:
    """An answer in both forms."""
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=made.model_dump(mode="json", by_alias=True)
    )


class Room:
    """What is left of a budget of tokens, four bytes each. Each row takes as much as the longer of its two forms, JSON and text.

    Args:
        max_tokens: The budget, for each form of the answer.
        made: The answer without its rows.
        head: Its text without its rows.
    """

    def __init__(self, max_tokens: int, made: BaseModel, head: str = "") -> None:
        self._left = max_tokens * CONTEXT_TOKEN_BYTES - max(json_bytes(made), len(f"{head}\n".encode()))
        self._is_untouched = True

    def take(self, row: Row) -> Row | None:
        """The row if there is room for it, else None. The first is cut if it must be."""
        size, said = _size(row), getattr(row, "said", "")
        while size > self._left and self._is_untouched and len(said) > _CUT_TO_CHARACTERS_MIN:
            # Signs that are escaped take more room than they had.
            said = cut(said, min(len(said.encode()) // 2, max(self._left, 0)))
            row = row.model_copy(update={"said": said})
            size = _size(row)
        if size > self._left:
            return None
        self._left -= size
        self._is_untouched = False
        return row


def within(rows: Iterable[Row], room: Room) -> list[Row]:
    """The first rows that find room."""
    kept: list[Row] = []
    for row in rows:
        taken = room.take(row)
        if taken is None:
            break
        kept.append(taken)
    return kept


def json_bytes(made: object) -> int:
    """How long something is as JSON, as a model may be shown it."""
    plain = made.model_dump(mode="json", by_alias=True) if isinstance(made, BaseModel) else made
    return len(json.dumps(plain, ensure_ascii=False).encode())


def _size(row: BaseModel) -> int:
    text = lines([row]) if isinstance(row, Recalled | Step) else ""
    text = changed("- ", "of", [row]) if isinstance(row, Noted) else text
    return max(json_bytes(row), len(text.encode())) + len(", ")


def cut(text: str, bytes_max: int) -> str:
    """A text, or its beginning with a mark that it is one."""
    raw = text.encode()
    if len(raw) <= bytes_max:
        return text
    return raw[: max(0, bytes_max - len(_CUT))].decode(errors="ignore") + _CUT


def hit_row(hit: Hit) -> Recalled:
    """A hit as a row."""
    return Recalled(
        id=hit.id,
        said=hit.content,
        at=hit.at.isoformat(),
        speaker=hit.speaker,
        state=hit.state,
        origin=hit.episode.origin,
    )


def found_row(found: Entity | Episode, source: Episode, state: str, bytes_max: int) -> Recalled:
    """A statement, or its whole message, as a row.

    Args:
        found: The statement or the message.
        source: The message.
        state: How the statement stands; empty of a message.
        bytes_max: What its words may take.
    """
    at = "" if found.at is None else found.at.isoformat()
    speaker, origin = source.speaker, source.origin
    return Recalled(id=found.id, said=cut(found.content, bytes_max), at=at, speaker=speaker, state=state, origin=origin)


def noted(relation: EvolutionRelation) -> Noted:
    """A relation as a row."""
    return Noted(
        relation_id=relation.id,
        kind=relation.evolution_type,
        old_id=relation.source_id,
        new_id=relation.target_id,
        reason=cut(relation.reason, _REASON_BYTES_MAX),
        flagged=relation.is_flagged and relation.resolved is None,
    )


def step_row(step: HistoryStep) -> Step:
    """A step of a history as a row, with what changed it."""
    mine = [noted(one) for one in step.evolutions if one.source_id == step.entity.id and one.undone_at is None]
    at = "" if step.entity.at is None else step.entity.at.isoformat()
    return Step(
        id=step.entity.id, said=step.entity.content, at=at, state=step.state, changed_by=mine[-_CHANGES_COUNT_MAX:]
    )


def lines(rows: Sequence[Recalled | Step]) -> str:
    """Rows as lines for a model: date, state, origin, speaker, text, id. Nothing that was remembered begins a line."""
    made = []
    for row in rows:
        state = "" if row.state in {"", "current"} else f" [{row.state}]"
        speaker = f"{one_line(row.speaker)}: " if isinstance(row, Recalled) and row.speaker else ""
        about = f"{origin_mark(Origin(row.origin))}{speaker}{one_line(row.said)}"
        changes = changed("    ", "by", row.changed_by) if isinstance(row, Step) else ""
        made.append(f"- {row.at[:10]}{state} {about} [{row.id}]{changes}")
    return "\n".join(made)


def changed(mark: str, side: Literal["by", "of"], notes: Sequence[Noted]) -> str:
    """Changes, a line each: by the newer statement, or of the older one."""
    made = []
    for one in notes:
        kind, both = (f"perhaps {one.kind}", "flagged only, both hold; ") if one.flagged else (one.kind, "")
        other = one.new_id if side == "by" else one.old_id
        made.append(f"\n{mark}{kind} {side} {other}: {both}{one_line(one.reason)} (undo {one.relation_id})")
    return "".join(made)
