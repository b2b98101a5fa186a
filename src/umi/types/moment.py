"""How a caller writes a moment."""

from __future__ import annotations

from datetime import datetime

Moment = datetime | str
"""A moment: a timezone-aware datetime, or ISO 8601 text with a zone ("2026-05-01T09:30Z"). A text without one is refused."""
