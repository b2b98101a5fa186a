"""The bodies of mem0's requests, and each as the call that it stands for."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from umi._compat.mem0.records import Addition, Correction, Listing, Search, Unchanged, ids_of

_TOP_K_DEFAULT: Final = 10


class Given(BaseModel):
    """A request's body. Fields that are not known are taken, as mem0's server takes them; the header `Umi-Ignored` of the answer names them."""

    model_config = ConfigDict(extra="allow")

    def ignored(self) -> list[str]:
        """The fields that were given and do nothing here."""
        return sorted(self.model_extra or {})


class AddBody(Given):
    """What to remember, and whose it is."""

    messages: list[dict[str, Any]] | dict[str, Any] | str
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    filters: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    infer: bool | None = None
    timestamp: float | str | None = None
    expiration_date: str | None = None

    def call(self) -> Addition:
        """The call. The ids of owners come from the body or from its filters."""
        return Addition(
            messages=self.messages,
            metadata=self.metadata,
            infer=self.infer is not False,
            timestamp=self.timestamp,
            expiration_date=self.expiration_date,
            **ids_of(dict(self)),
        )


class ListBody(Given):
    """Whose memories to list."""

    filters: dict[str, Any] = Field(default_factory=dict)
    start_date: str | None = None
    end_date: str | None = None
    show_expired: bool | None = None
    fields: list[str] | None = None

    def call(self) -> Listing:
        """The call."""
        return Listing(
            filters=self.filters,
            start_date=self.start_date,
            end_date=self.end_date,
            show_expired=bool(self.show_expired),
            fields=self.fields,
        )


class SearchBody(Given):
    """A question, and whose memories may answer."""

    query: str
    filters: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] | None = None
    top_k: int | None = None
    threshold: float | None = None
    fields: list[str] | None = None
    show_expired: bool | None = None
    latest_only: bool | None = None

    def call(self) -> Search:
        """The call."""
        return Search(
            query=self.query,
            filters=self.filters | ({"metadata": self.metadata} if self.metadata else {}),
            top_k=_TOP_K_DEFAULT if self.top_k is None else self.top_k,
            threshold=self.threshold,
            fields=self.fields,
            show_expired=bool(self.show_expired),
            latest_only=self.latest_only is not False,
        )


class UpdateBody(Given):
    """What to change of a memory; what is not given stays."""

    text: str | None = None
    metadata: dict[str, Any] | None = None
    timestamp: float | str | None = None
    expiration_date: str | None = None

    def call(self) -> Correction:
        """The call."""
        expires = self.expiration_date if "expiration_date" in self.model_fields_set else Unchanged.UNCHANGED
        return Correction(text=self.text, metadata=self.metadata, timestamp=self.timestamp, expiration_date=expires)


class BatchItem(UpdateBody):
    """One memory of several."""

    memory_id: str


class BatchBody(Given):
    """Several memories."""

    memories: list[BatchItem]
