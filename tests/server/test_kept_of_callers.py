"""What a server keeps of its callers is bounded, and what it is started with makes sense."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from umi import SystemClock, SystemEntropy, limits
from umi.errors import InvalidInput, StoreError, StoreUnavailable
from umi.server.access import Grant, Use
from umi.server.buckets import Buckets
from umi.server.keys import KeyRing
from umi.server.problems import Refused
from umi.server.settings import Settings
from umi.server.tally import Tally


class Still(SystemClock):
    """A clock that a test puts forward."""

    at_s = 0.0

    def now(self) -> datetime:
        return datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=self.at_s)

    def monotonic_s(self) -> float:
        return self.at_s


def test_of_many_callers_the_one_that_was_quiet_longest_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SERVER_NAMESPACES_COUNT_MAX", 2)
    buckets = Buckets(Still(), 1)
    for caller in "aabbca":  # c takes the place of a, and a that of b
        buckets.take(caller)
    buckets.take("c")
    with pytest.raises(Refused):
        buckets.take("c")


def test_a_tally_keeps_as_many_days_and_namespaces_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SERVER_NAMESPACES_COUNT_MAX", 2)
    monkeypatch.setattr(limits, "ACTIVITY_DAYS_MAX", 3)
    tally = Tally(clock := Still())
    days = []
    for _ in range(5):
        tally.note(Use(action="recall", namespace="alice"), 200)
        days.append(clock.now().date())
        clock.at_s += 86_400
    assert {day: dict(one)["recalled"] for day, one in tally.of("alice").items()} == dict.fromkeys(days[-3:], 1)
    for name in ("bob", "alice", "cy"):
        tally.note(Use(action="context", namespace=name), 200)
    assert (len(tally.of("alice")), len(tally.of("bob")), len(tally.of("cy"))) == (3, 0, 1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"port": 65_536}, "port is 65536"),
        ({"deadline_s": 0}, "deadline must be a positive"),
        ({"deadline_s": float("nan")}, "deadline must be a positive"),
        ({"requests_per_s": -1}, "the rate must be"),
        ({"requests_per_s": float("nan")}, "the rate must be"),
        ({"public_url": "http://[x"}, "is no URL"),
        ({"public_url": "memory.example"}, "memory.example"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(told)):
        Settings(**given)


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_only_addresses_of_this_machine_need_no_key(host: str, own: bool) -> None:
    assert Settings(host=host).is_loopback is own


def test_keys_that_cannot_be_kept_are_refused_by_name(tmp_path: Path) -> None:
    clock = Still()
    with pytest.raises(StoreUnavailable, match="make one with `umi keys create`"):
        KeyRing(tmp_path / "none", clock)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        KeyRing(tmp_path, clock)
    (tmp_path / "other").write_bytes(b"no database" * 100)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        KeyRing(tmp_path / "other", clock)
    ring = KeyRing(tmp_path / "keys", clock, create=True)
    with pytest.raises(InvalidInput, match="a key needs a grant"):
        ring.create(SystemEntropy(), "x", [], None)
    with pytest.raises(InvalidInput, match="the limit is 256"):
        ring.create(SystemEntropy(), "x" * 257, [Grant.parse("a=read")], None)
    assert ring.all() == []
    _, token = ring.create(SystemEntropy(), "x", [Grant.parse("a=read")], None)
    other = apsw.Connection(str(tmp_path / "keys"))
    other.execute("BEGIN IMMEDIATE")
    ring._db.set_busy_timeout(0)
    assert ring.verify(token) is not None, "its use cannot be noted, and it opens all the same"
    with pytest.raises(StoreError, match="cannot be written"):
        ring.revoke(ring.all()[0].id)
    other.close()
    ring.close()
