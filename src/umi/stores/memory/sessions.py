"""The sessions of a namespace in memory."""

from __future__ import annotations

from datetime import UTC

from umi.stores.memory.space import Space
from umi.types.sessions import SessionInfo


class SessionReads:
    """The part of `umi.ports.Snapshot` about sessions."""

    _space: Space

    def sessions(self, *, after: str | None, limit: int) -> list[SessionInfo]:
        found: dict[str, SessionInfo] = {}
        for row in self._space.rows.values():
            one = row.episode
            if one.session is None or one.session <= (after or ""):
                continue
            at = one.at.astimezone(UTC)
            before = found.get(one.session) or SessionInfo(one.session, 0, at, at)
            found[one.session] = SessionInfo(
                one.session,
                before.episodes + 1,
                min(before.first_at, at),
                max(before.last_at, at),
                tuple(sorted({*before.speakers, *([one.speaker] if one.speaker else [])})),
            )
        return [found[name] for name in sorted(found)[:limit]]
