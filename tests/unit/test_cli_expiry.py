"""`umi remember --expires-at` and `--ttl`: until when a message is kept, and that it is gone then."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from test_cli import BAD_INPUT, NOTHING, Umi


@pytest.fixture
def cli(tmp_path: Path) -> Umi:
    return Umi(tmp_path)


def test_it_is_there_until_its_time_and_gone_from_then_on(cli: Umi) -> None:
    cli("remember", "The cat sleeps in the garden.")
    kept = cli.data("remember", "The door code is 4711.", "--ttl", "2.5s")
    assert "4711" in cli("recall", "What is the door code?")
    time.sleep(2.6)
    assert "4711" not in cli("recall", "What is the door code?", "--min-score", "0")
    cli("show", kept["episode_ids"][0], code=NOTHING)
    assert [one["entity"]["content"] for one in cli.data("list")["items"]] == ["The cat sleeps in the garden."]
    assert [one["kind"] for one in cli.data("changes")][-1] == "deleted"


def test_the_moment_is_shown_wherever_the_message_is_shown_in_full(cli: Umi) -> None:
    said = ("remember", "I am in Rome.", "--speaker", "Ann", "--key", "k", "--expires-at")
    assert "expires 2190-03-01 08:30:00" in cli(*said, "2190-03-01T09:30+01:00")
    receipt = cli.data(*said, "2190-04-01")
    assert receipt["replayed"], "the same words under the same key, whenever they expire"
    assert "expires 2190-03-01 08:30:00" in cli(*said, "2190-04-01"), "what holds is what was stored"
    (message,) = receipt["episode_ids"]
    assert cli.data("show", message)["expires_at"] == "2190-03-01T08:30:00+00:00"
    (statement,) = [one["entity"]["id"] for one in cli.data("list")["items"]]
    for shown in (cli("show", message), cli("show", statement), cli("why", statement)):
        assert shown.count("2190-03-01 08:30:00") == 1
    (hit,) = cli.data("recall", "Where is Ann?", "--min-score", "0")["hits"]
    assert hit["episode"]["expires_at"] == "2190-03-01T08:30:00+00:00"
    never = cli.data("remember", "I am tall.", "--speaker", "Ann")["episode_ids"][0]
    assert "expires" not in cli("show", never)
    assert cli.data("show", never)["expires_at"] is None


@pytest.mark.parametrize(
    ("ttl", "lasts"),
    [
        ("90", timedelta(seconds=90)),
        ("90s", timedelta(seconds=90)),
        ("1.5m", timedelta(minutes=1.5)),
        ("12h", timedelta(hours=12)),
        (" 30 d ", timedelta(days=30)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_a_duration_counts_from_now(cli: Umi, ttl: str, lasts: timedelta) -> None:
    before = datetime.now(UTC)
    (message,) = cli.data("remember", "Tea at four.", "--ttl", ttl, "--embedder", "none")["episode_ids"]
    expires_at = datetime.fromisoformat(cli.data("show", message)["expires_at"])
    assert before + lasts <= expires_at <= datetime.now(UTC) + lasts


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--ttl", "soon"], "12h"),
        (["--ttl", "1h30m"], "12h"),
        (["--ttl", "-5"], "12h"),
        (["--ttl", ""], "12h"),
        (["--ttl", "1M"], "12h"),
        (["--ttl", "0s"], "above 0"),
        (["--ttl", "9" * 400], "seconds"),
        (["--ttl", "9000000w"], "year 9999"),
        (["--ttl", "1h", "--expires-at", "2190-01-01"], "not both"),
        (["--expires-at", "2020-01-01"], "has passed"),
        (["--expires-at", "tomorrow"], "--expires-at"),
    ],
)
def test_a_moment_that_is_none_stores_nothing(cli: Umi, given: list[str], told: str) -> None:
    shown = cli("remember", "Tea at four.", *given, code=BAD_INPUT)
    assert shown.startswith("umi: ")
    assert told in shown
    assert cli.data("list")["items"] == []
