"""What requests may say. Lengths and ranges are Umi's own (docs/limits.md) and checked there; here are names and types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from umi import limits

Moment = Annotated[
    str,
    Field(
        description="ISO 8601 with a zone.", json_schema_extra={"format": "date-time"}, examples=["2026-05-01T09:30Z"]
    ),
]
Where = Annotated[
    dict[str, Any],
    Field(
        description='Only messages like {"session": "monday", "metadata": {"priority": {"gte": 2}}}; see the reference.',
        examples=[{"session": "monday"}],
    ),
]
Kind = Literal["person", "organization", "project", "topic", "location", "preference", "task", "event", "note"]
Kinds = list[Kind]


class Body(BaseModel):
    """A request's body: a field that is not known is refused, since it is probably misspelt."""

    model_config = ConfigDict(extra="forbid")


class MessageBody(Body):
    """One thing said."""

    content: str = Field(description="The text, 1 to 1,000,000 bytes.", examples=["I live in Berlin."])
    role: str | None = Field(default=None, description='"user" (the default), "assistant", ...')
    speaker: str | None = Field(default=None, description='Who says it: the subject of "I".', examples=["alice"])
    at: Moment | None = Field(default=None, description="When it was said. Default: now.")
    session: str | None = Field(default=None, description="The conversation it belongs to.")
    id: str | None = Field(default=None, description="Your id; the same id and content again stores nothing.")
    metadata: dict[str, Any] | None = Field(default=None, description="Yours, at most 64 KiB as JSON.")
    origin: Literal["user", "assistant", "tool", "document"] | None = None
    expires_at: Moment | None = Field(default=None, description="From this moment on it is gone.")


class RememberBody(Body):
    """One message, in `content`, or several as one atomic unit, in `messages`. The other fields of a message then stand for those without."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"content": "I live in Berlin.", "speaker": "alice"}]},
    )

    content: str | None = Field(default=None, description="The text of one message.")
    messages: list[MessageBody] | None = Field(
        default=None, description=f"Several messages, at most {limits.REMEMBER_MESSAGES_COUNT_MAX:,}."
    )
    id: str | None = Field(default=None, description="Your id of the one message.")
    origin: Literal["user", "assistant", "tool", "document"] | None = Field(
        default=None,
        description="Where the words come from. Default: what the role says. What tools and documents say replaces nothing.",
    )
    role: str | None = None
    speaker: str | None = None
    at: Moment | None = None
    session: str | None = None
    metadata: dict[str, Any] | None = None
    expires_at: Moment | None = None
    ttl_s: float | None = Field(default=None, description="Instead of `expires_at`: seconds from now.")
    extract_entities: bool = Field(default=True, description="False keeps the text as one note.")
    track_evolution: bool = Field(default=True, description="False records no relation to older memories.")
    derived_from: list[str] = Field(default_factory=list, description="Ids of what this was concluded from.")
    read: Literal["now", "later"] = Field(
        default="now", description='"later" answers when the text is durable, and a worker reads it.'
    )


class RecallBody(Body):
    """A question."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": "Where does alice live?", "limit": 5}]}
    )

    query: str = Field(description="A question or keywords, 1 to 10,000 bytes.")
    limit: int = Field(default=limits.RECALL_LIMIT_DEFAULT, description="At most so many hits, 1..1,000.")
    deep: bool | None = Field(
        default=None, description="Search variations of the query too; null decides by the query."
    )
    as_of: Moment | None = Field(default=None, description="What held in the world at that moment.")
    known_at: Moment | None = Field(default=None, description="What was known at that moment.")
    time_range: tuple[Moment, Moment] | None = Field(default=None, description="What held or was said in [from, to).")
    include_superseded: bool = False
    min_score: float | None = Field(default=None, description="Least score, 0..1; 0 takes all, null may abstain.")
    max_tokens: int | None = Field(default=None, description="Only the first hits whose lines fit, 4 bytes a token.")
    explain: bool = False
    task_id: str | None = None
    where: Where | None = None
    types: Kinds | None = None
    namespaces: list[str] | None = Field(default=None, description="Search these instead; the key must read them all.")


class ContextBody(Body):
    """What to pack for a prompt."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": "Where does alice live?", "max_tokens": 800}]}
    )

    query: str | None = Field(default=None, description="The question; without one, profile and changes alone.")
    max_tokens: int = Field(description="Of the whole text, 4 bytes each; 1..1,000,000.")
    profile: bool = Field(default=True, description="Begin with what is known of somebody.")
    changes: bool = Field(default=True, description="Show what changed lately.")
    about: str | None = Field(default=None, description="Whose profile. Default: the first who spoke as user.")
    where: Where | None = None


class FactBody(Body):
    """The value of an attribute."""

    value: str = Field(description="Plain text, 1 to 4,096 bytes.", examples=["PostgreSQL"])
    at: Moment | None = Field(default=None, description="Since when it holds. Default: now.")
    reason: str | None = Field(default=None, description="Why; at most 1,024 bytes.")


class FeedbackBody(Body):
    """How the task ended that a recall served."""

    recall_id: str = Field(description="The `id` of the recall's answer.")
    outcome: Literal["success", "partial_success", "failure"]
    quality_score: float | None = Field(default=None, description="Your own measure, 0..1.")
    human_verdict: Literal["approved", "rejected"] | None = None
    used: list[str] | None = Field(default=None, description="Ids of the hits that were really used.")


class RelateBody(Body):
    """How a newer statement relates to an older one."""

    old_id: str
    new_id: str
    type: Literal["update", "extend", "derive", "contradict"]
    reason: str = Field(description="Why; 1 to 1,024 bytes.")


class ResolveBody(Body):
    """Which side of a contradiction holds."""

    keep: Literal["new", "old", "both"] = "new"


class ForgetBody(Body):
    """An id, or a filter: one of them."""

    id: str | None = Field(default=None, description="Of a statement or a message, or your own id of a message.")
    where: Where | None = None
    types: Kinds | None = Field(default=None, description="Only statements of these kinds.")


class ErasureBody(Body):
    """What to erase: a subject, a session, the messages of a filter, or everything; one of them."""

    subject: str | None = Field(default=None, description="A name, an alias or a subject's key.", examples=["alice"])
    session: str | None = None
    where: Where | None = None
    everything: bool = Field(default=False, description="The whole namespace; needs the right to administer.")
    derived: Literal["stale", "erase"] = Field(
        default="stale", description="What becomes of conclusions that do not name the subject."
    )


class ConfirmBody(ErasureBody):
    """What a preview showed, and its `confirm`."""

    confirm: str = Field(description="From the preview of the same erasure.")
